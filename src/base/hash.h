/* SPDX-License-Identifier: Apache-2.0 */
/* Things found by a hash, in time that does not grow with their number: a link stands in each. */
#ifndef KILN_BASE_HASH_H
#define KILN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct kiln__hash_link {
    struct kiln__hash_link *next;
    uint64_t hash;
} kiln__hash_link;

/* {0} is empty. */
typedef struct kiln__hash {
    kiln__hash_link **buckets; /* NULL: there is the first alone */
    kiln__hash_link *first;
    size_t capacity, count; /* capacity: a power of two, or 0 */
} kiln__hash;

/* Never fails: without memory for more buckets the chains get longer. */
void kiln__hash_add(kiln__hash *hash, kiln__hash_link *link, uint64_t value);
void kiln__hash_remove(kiln__hash *hash, kiln__hash_link *link);
/* The link added last of those with the value, and the one added before it; NULL after the last. */
kiln__hash_link *kiln__hash_find(const kiln__hash *hash, uint64_t value);
kiln__hash_link *kiln__hash_next(const kiln__hash_link *link);
void kiln__hash_free(kiln__hash *hash); /* the buckets; the links are their owners' */
/* The same, and each link is destroyed before. */
void kiln__hash_clear(kiln__hash *hash, void destroy(kiln__hash_link *link));

#endif

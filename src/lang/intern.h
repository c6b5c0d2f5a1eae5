/* Equal things once: the index of a key, given in the order of first appearance. */
#ifndef KILN_LANG_INTERN_H
#define KILN_LANG_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct kiln__key {
    uint64_t words[4];
} kiln__key;

typedef struct kiln__intern {
    kiln__arena *arena;
    kiln__key *keys;
    uint32_t count, capacity;
    uint32_t *slots; /* index + 1, 0 where empty; twice capacity of them */
} kiln__intern;

/* The key of an operation: payload is what its union holds, bit by bit. */
kiln__key kiln__key_of(uint32_t op, uint32_t extra, const uint32_t args[3], uint64_t payload);
/* Index of the key, a new one if it was not there (count grew then). False without memory. */
bool kiln__intern_add(kiln__intern *intern, const kiln__key *key, uint32_t *index);
/* items with room for at least one more than count, doubled when full; NULL without memory. */
void *kiln__grow(kiln__arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t item_size);

#endif

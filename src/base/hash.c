/* SPDX-License-Identifier: Apache-2.0 */
/* Chains in buckets, which double when there are more links than buckets. */
#include "base/hash.h"

#include <stdlib.h>

static kiln__hash_link **bucket_of(kiln__hash *hash, uint64_t value) {
    return hash->capacity > 0 ? &hash->buckets[value & (hash->capacity - 1)] : &hash->first;
}

static void put(kiln__hash *hash, kiln__hash_link *link) {
    kiln__hash_link **bucket = bucket_of(hash, link->hash);
    link->next = *bucket;
    *bucket = link;
}

static void grow(kiln__hash *hash) {
    kiln__hash larger = {.capacity = hash->capacity > 0 ? 2 * hash->capacity : 64, .count = hash->count};
    larger.buckets = calloc(larger.capacity, sizeof *larger.buckets);
    if (larger.buckets == NULL) return;
    for (size_t i = 0; i < (hash->capacity > 0 ? hash->capacity : 1); i++) {
        kiln__hash_link **bucket = bucket_of(hash, i), *reversed = NULL;
        while (*bucket != NULL) { /* turned around, so that the last stays first */
            kiln__hash_link *link = *bucket;
            *bucket = link->next;
            link->next = reversed;
            reversed = link;
        }
        while (reversed != NULL) {
            kiln__hash_link *link = reversed;
            reversed = link->next;
            put(&larger, link);
        }
    }
    free(hash->buckets);
    *hash = larger;
}

void kiln__hash_add(kiln__hash *hash, kiln__hash_link *link, uint64_t value) {
    if (hash->count >= hash->capacity) grow(hash);
    link->hash = value;
    put(hash, link);
    hash->count++;
}

void kiln__hash_remove(kiln__hash *hash, kiln__hash_link *link) {
    kiln__hash_link **at = bucket_of(hash, link->hash);
    while (*at != link) at = &(*at)->next;
    *at = link->next;
    hash->count--;
}

kiln__hash_link *kiln__hash_find(const kiln__hash *hash, uint64_t value) {
    kiln__hash_link *link = hash->capacity > 0 ? hash->buckets[value & (hash->capacity - 1)] : hash->first;
    while (link != NULL && link->hash != value) link = link->next;
    return link;
}

kiln__hash_link *kiln__hash_next(const kiln__hash_link *link) {
    const uint64_t value = link->hash;
    kiln__hash_link *next = link->next;
    while (next != NULL && next->hash != value) next = next->next;
    return next;
}

void kiln__hash_free(kiln__hash *hash) {
    free(hash->buckets);
    *hash = (kiln__hash){0};
}

static void destroy_chain(kiln__hash_link *link, void destroy(kiln__hash_link *link)) {
    while (link) {
        kiln__hash_link *next = link->next;
        destroy(link);
        link = next;
    }
}

void kiln__hash_clear(kiln__hash *hash, void destroy(kiln__hash_link *link)) {
    if (hash->capacity == 0) destroy_chain(hash->first, destroy);
    for (size_t i = 0; i < hash->capacity; i++) destroy_chain(hash->buckets[i], destroy);
    kiln__hash_free(hash);
}

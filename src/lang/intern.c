/* Equal things once: an open hash table from keys to indices, growing in an arena. */
#include "lang/intern.h"

#include <string.h>

kiln__key kiln__key_of(uint32_t op, uint32_t extra, const uint32_t args[3], uint64_t payload) {
    return (kiln__key){{(uint64_t)op << 32 | extra, (uint64_t)args[0] << 32 | args[1], args[2], payload}};
}

void *kiln__grow(kiln__arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t item_size) {
    if (count < *capacity) return items;
    uint32_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *grown = kiln__arena_alloc(arena, larger, item_size);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, items, count * item_size);
    *capacity = larger;
    return grown;
}

static uint32_t hash_key(const kiln__key *key) {
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ key->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 16);
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *find_slot(const kiln__intern *intern, const kiln__key *key) {
    uint32_t mask = intern->capacity * 2 - 1, at = hash_key(key) & mask;
    while (intern->slots[at] != 0 && memcmp(&intern->keys[intern->slots[at] - 1], key, sizeof *key) != 0)
        at = (at + 1) & mask;
    return &intern->slots[at];
}

static bool enlarge(kiln__intern *intern) {
    uint32_t before = intern->capacity;
    kiln__key *keys = kiln__grow(intern->arena, intern->keys, intern->count, &intern->capacity, sizeof *keys);
    if (keys == NULL) return false;
    intern->keys = keys;
    if (intern->capacity == before) return true;
    intern->slots = kiln__arena_alloc(intern->arena, intern->capacity * (size_t)2, sizeof *intern->slots);
    if (intern->slots == NULL) {
        *intern = (kiln__intern){.arena = intern->arena};
        return false;
    }
    for (uint32_t i = 0; i < intern->count; i++) *find_slot(intern, &intern->keys[i]) = i + 1;
    return true;
}

bool kiln__intern_add(kiln__intern *intern, const kiln__key *key, uint32_t *index) {
    if (!enlarge(intern)) return false;
    uint32_t *slot = find_slot(intern, key);
    if (*slot == 0) {
        intern->keys[intern->count++] = *key;
        *slot = intern->count;
    }
    *index = *slot - 1;
    return true;
}

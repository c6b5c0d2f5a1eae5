/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once, taken from the system in blocks.
 * A request too large for a block gets one of its own. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 4096

typedef struct kiln__arena_block {
    struct kiln__arena_block *next;
    size_t used, size;
    max_align_t data[];
} kiln__arena_block;

static kiln__arena_block *block_create(size_t size) {
    if (size > SIZE_MAX - sizeof(kiln__arena_block)) return NULL;
    kiln__arena_block *block = calloc(1, sizeof *block + size);
    if (block != NULL) block->size = size;
    return block;
}

void *kiln__arena_alloc(kiln__arena *arena, size_t count, size_t size) {
    size_t bytes, aligned;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, _Alignof(max_align_t) - 1, &aligned))
        return NULL;
    aligned -= aligned % _Alignof(max_align_t);
    if (aligned == 0) aligned = _Alignof(max_align_t);

    kiln__arena_block *head = arena->head;
    if (head == NULL || head->size - head->used < aligned) {
        kiln__arena_block *block = block_create(aligned > BLOCK_SIZE ? aligned : BLOCK_SIZE);
        if (block == NULL) return NULL;
        block->next = head;
        arena->head = head = block;
    }
    void *memory = (char *)head->data + head->used;
    head->used += aligned;
    return memory;
}

char *kiln__arena_copy(kiln__arena *arena, const char *text, size_t length) {
    if (length == SIZE_MAX) return NULL;
    char *copy = kiln__arena_alloc(arena, length + 1, 1);
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

void kiln__arena_free(kiln__arena *arena) {
    kiln__arena_block *block = arena->head;
    arena->head = NULL;
    while (block != NULL) {
        kiln__arena_block *next = block->next;
        free(block);
        block = next;
    }
}

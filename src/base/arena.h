/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once: what a program, a problem or a source is made of. */
#ifndef KILN_BASE_ARENA_H
#define KILN_BASE_ARENA_H

#include <stddef.h>

typedef struct kiln__arena {
    struct kiln__arena_block *head;
} kiln__arena;

/* Zeroed, aligned for any type; NULL if memory ran out or count * size overflows. A {NULL} arena is empty. */
void *kiln__arena_alloc(kiln__arena *arena, size_t count, size_t size);
/* A NUL-ended copy of length bytes. */
char *kiln__arena_copy(kiln__arena *arena, const char *text, size_t length);
void kiln__arena_free(kiln__arena *arena);

#endif

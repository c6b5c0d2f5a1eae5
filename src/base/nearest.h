/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest of some names to a misspelt one. */
#ifndef KILN_BASE_NEAREST_H
#define KILN_BASE_NEAREST_H

#include <stddef.h>

#define KILN__NEAREST_LENGTH 63 /* longer names are near to nothing */

typedef struct kiln__nearest {
    const char *word; /* the misspelt one */
    size_t word_length;
    const char *name; /* the nearest so far; NULL while nothing is near; need not end in NUL */
    size_t length;
    unsigned distance; /* insertions, deletions, replacements and swaps of neighbours; case does not count */
} kiln__nearest;

/* Strings stay the caller's. */
kiln__nearest kiln__nearest_begin(const char *word, size_t length);
void kiln__nearest_consider(kiln__nearest *nearest, const char *name, size_t length);

/* Writes "; did you mean 'NAME'?", or "" where nothing is near or no letter of the misspelt name would be left. */
void kiln__nearest_tell(const kiln__nearest *nearest, char out[96]);

#endif

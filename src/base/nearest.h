/* SPDX-License-Identifier: Apache-2.0 */
/* The name that a misspelt one was probably meant to be. */
#ifndef KILN_BASE_NEAREST_H
#define KILN_BASE_NEAREST_H

#include <stddef.h>

enum { KILN__NEAREST_LENGTH = 63 }; /* bytes of names that are compared; longer ones are near nothing */

typedef struct kiln__nearest {
    const char *wanted;
    size_t wanted_length;
    const char *name; /* NULL while nothing is near; need not end in NUL */
    size_t length;
    unsigned distance; /* what a nearer one is below */
} kiln__nearest;

/* A third of the name may be wrong: beyond that names have little to do with each other. */
kiln__nearest kiln__nearest_begin(const char *wanted, size_t length);
/* other becomes the nearest if it is nearer than those before it: fewer insertions, deletions, replacements and swaps
 * of neighbours turn one into the other. Case does not count. */
void kiln__nearest_consider(kiln__nearest *nearest, const char *other, size_t length);
/* Writes "; did you mean 'NAME'?", or "" where nothing is near or no letter of it would be left. */
void kiln__nearest_tell(const kiln__nearest *nearest, char out[96]);

#endif

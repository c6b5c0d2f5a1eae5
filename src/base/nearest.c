/* SPDX-License-Identifier: Apache-2.0 */
/* The edit distance between names, in three rows of its table. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same(char a, char b) { return lower(a) == lower(b); }

static unsigned least_of(unsigned a, unsigned b) { return a < b ? a : b; }

/* Both at most KILN__NEAREST_LENGTH long. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    /* of the first i bytes of a, and of one and two fewer, and the first k of b */
    uint8_t rows[3][KILN__NEAREST_LENGTH + 1];
    for (size_t i = 0; i <= a_length; i++) {
        uint8_t *row = rows[i % 3];
        const uint8_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        for (size_t k = 0; k <= b_length; k++) {
            unsigned least = (unsigned)(i + k);
            if (i > 0 && k > 0) {
                unsigned replaced = above[k - 1] + (same(a[i - 1], b[k - 1]) ? 0u : 1u);
                least = least_of(least_of(above[k], row[k - 1]) + 1, replaced);
            }
            bool swapped = i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]);
            if (swapped) least = least_of(least, before[k - 2] + 1u);
            row[k] = (uint8_t)least;
        }
    }
    return rows[a_length % 3][b_length];
}

kiln__nearest kiln__nearest_begin(const char *word, size_t length) {
    /* A third of the name may be wrong, beyond that the names have little to do with each other. */
    unsigned limit = length < 6 ? 2 : 1 + (unsigned)length / 3;
    return (kiln__nearest){.word = word, .word_length = length, .distance = limit};
}

void kiln__nearest_consider(kiln__nearest *nearest, const char *name, size_t length) {
    if (length == 0 || length > KILN__NEAREST_LENGTH || nearest->word_length > KILN__NEAREST_LENGTH) return;
    unsigned distance = edit_distance(nearest->word, nearest->word_length, name, length);
    if (distance >= nearest->distance) return;
    nearest->name = name;
    nearest->length = length;
    nearest->distance = distance;
}

void kiln__nearest_tell(const kiln__nearest *nearest, char out[96]) {
    out[0] = '\0';
    if (nearest->name && nearest->distance < nearest->word_length)
        snprintf(out, 96, "; did you mean '%.*s'?", (int)nearest->length, nearest->name);
}

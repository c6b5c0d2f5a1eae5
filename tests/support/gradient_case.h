/* SPDX-License-Identifier: Apache-2.0 */
/* Derived gradients on the CPU reference, against central differences of the program in double precision. */
#ifndef KILN_TESTS_GRADIENT_CASE_H
#define KILN_TESTS_GRADIENT_CASE_H

#include "kiln/kiln.h"

/* A tensor of a case: its name is one letter, which also says how its values are drawn: x, w, b, u, v, r, c in
 * (-2, 2); p in (0.5, 2); t probabilities in (0.1, 1); i, j integers from 0 to the columns - 1. */
typedef struct gradient_tensor {
    char name;
    int rank;
    int64_t sizes[4];
} gradient_tensor;

typedef struct gradient_case {
    const char *text;
    gradient_tensor inputs[5]; /* ended by a name of 0 */
    const char *wrt;           /* NULL: all */
    const char *saved;
    const char *axes; /* "0", "all"; NULL: the last */
    uint32_t seed;
} gradient_case;

/* Compares each element of each gradient. NULL where all are near; else a sentence, which stays until the next call.
 * refused: if not NULL, the status of a gradient that is refused, or that Kiln does not bind, which is then no failure.
 */
const char *gradient_check(kiln_context *context, const gradient_case *c, kiln_status *refused);
/* The same against the gradients that another program gives, whose outputs are called as the derived one's. */
const char *gradient_compare(kiln_context *context, const gradient_case *c, const char *written);

#endif

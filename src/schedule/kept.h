/* SPDX-License-Identifier: Apache-2.0 */
/* Values of elements that are computed once: the first pass over a row that needs them keeps them for those after it.
 */
#ifndef KILN_SCHEDULE_KEPT_H
#define KILN_SCHEDULE_KEPT_H

#include "lang/ir.h"
#include "problem/problem.h"

/* Passes are numbered: the phases, then that of the outputs. */
typedef struct kiln__kept {
    bool *value;          /* per instruction: it is kept ... */
    unsigned char *first; /* ... by this pass; later ones load it */
    int count;            /* of kept values, of 4 bytes each */
} kiln__kept;

/* Those that take at least so many machine instructions to compute again. Both arrays are of the caller, of an entry
 * for each instruction. KILN_E_MEMORY. */
kiln_status kiln__kept_find(const kiln__ir *ir, const kiln__problem *problem, int least_weight, kiln__kept *kept);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The problem that all shapes of a program and its types have in common: what a kernel that serves any of them is made
 * for. Extents, strides and alignments are not known, nor which inputs have columns: one that has none is read with a
 * stride of 0. Where nothing is reduced all dimensions may be columns. */
#ifndef KILN_PROBLEM_ANY_SHAPE_H
#define KILN_PROBLEM_ANY_SHAPE_H

#include "problem/problem.h"

/* Whether the program's outputs let every input have columns, in which case *ir is typed as if. False where an output
 * stores what inputs come to that have one value for each row: kernels then know which those are. */
bool kiln__any_shape_has_columns(const kiln__ir *ir, const kiln__problem *exact);

/* exact: of the call. all_columns: every input is taken to have columns, else those of the call that have. *ir is typed
 * for that. KILN_E_UNSUPPORTED with a sentence where no kernel serves any shape. */
kiln_status kiln__any_shape_problem(const kiln__ir *ir, const kiln__problem *exact, bool all_columns,
                                    kiln__problem *out);

/* KILN_E_UNSUPPORTED, as above; *ir may be typed for the call. */
kiln_status kiln__any_shape_check(const kiln__ir *ir, const kiln__problem *exact);

#endif

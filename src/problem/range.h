/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of columns whose rows share a kernel: how many columns there are, where rows lie and where memory is aligned
 * are told at the launch, and the kernel has room for the most columns of its range. */
#ifndef KILN_PROBLEM_RANGE_H
#define KILN_PROBLEM_RANGE_H

#include "problem/problem.h"

#define KILN__MOST_RANGED_COLUMNS (1 << 30) /* of rows that are in a range */

/* exact: of the call. The range ends where kiln_range_end says. KILN_E_UNSUPPORTED with a sentence where no kernel
 * serves a range. */
kiln_status kiln__range_problem(const kiln__ir *ir, const kiln__problem *exact, kiln__problem *out);

#endif

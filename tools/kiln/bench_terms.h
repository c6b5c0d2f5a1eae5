/* SPDX-License-Identifier: Apache-2.0 */
/* How far a right result may be from the reference where sums cancel. */
#ifndef KILN_TOOL_BENCH_TERMS_H
#define KILN_TOOL_BENCH_TERMS_H

#include "lang/ir.h"

/* Makes of a program the one that computes, in the place of each output, the size that a sum in it would have if the
 * signs of its terms were random: the root of the sum of its terms' squares, propagated from the sum to the output.
 * Roundings of the terms and of what they add up to are in proportion to it, however near 0 the sum happens to be. 0
 * where an output has no sums. *any: some output has. KILN_E_MEMORY. */
kiln_status bench_terms_make(kiln__ir *ir, bool *any);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators tests can call by name with whatever tensors they have. */
#ifndef KILN_TESTS_CALLED_OPS_H
#define KILN_TESTS_CALLED_OPS_H

#include "lang/ops.h"

/* Not those that want an axis, a type, a lambda, a seed, a literal, a row's own integer, or a table that is read in no
 * other way.
 */
static inline bool op_takes_any_tensors(kiln__op op) {
    const bool own_form = op == KILN__OP_INDEX || op == KILN__OP_SIZE || op == KILN__OP_UNIFORM ||
                          op == KILN__OP_STOCHASTIC || op == KILN__OP_REDUCE_USER || op == KILN__OP_REDUCE_KTH;
    return kiln__op_describe(op)->name[0] != '\0' && !own_form && op != KILN__OP_ROWS && op != KILN__OP_FIRST;
}

#endif

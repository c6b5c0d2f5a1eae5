/* SPDX-License-Identifier: Apache-2.0 */
/* How many machine instructions an operator is. */
#ifndef KILN_SCHEDULE_WEIGHTS_H
#define KILN_SCHEDULE_WEIGHTS_H

#include "lang/ir.h"
#include "problem/problem.h"

/* What a call weighs: arguments moved, and registers kept across it, which takes the compiler as long again. */
#define KILN__CALL_WEIGHT 12

/* Whether the operator is more instructions than a call of it, for arguments of the type; narrow: where every output's
 * type hides the last bits. */
bool kiln__op_is_heavy(kiln__op op, kiln__ctype type, bool narrow);

/* Whether a second copy of the operator costs nothing, as the compiler sees that it is the same: not of what is read,
 * nor of functions with loops. */
bool kiln__repeats_freely(kiln__op op);

/* Whether each element has a value of its own of the instruction (flat: whether it is no constant). */
bool kiln__is_of_element(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst);

typedef struct kiln__weighing {
    const kiln__ir *ir;
    const kiln__problem *problem;
    bool narrow; /* as kiln__outputs_are_narrow tells */
    bool calls;  /* functions of many instructions are called: a call weighs the same, whatever it calls, and what is
                  * called, each function once, is not counted */
} kiln__weighing;

/* Of one instruction of the program, insts = ir->insts, or of a combine. */
int64_t kiln__weigh_instruction(const kiln__weighing *weighing, const kiln__inst *insts, uint32_t inst);

#endif

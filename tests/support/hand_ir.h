/* SPDX-License-Identifier: Apache-2.0 */
/* Typed programs made by hand, so that tests of the reference depend on neither parser nor typing. */
#ifndef KILN_TESTS_HAND_IR_H
#define KILN_TESTS_HAND_IR_H

#include "lang/ir.h"

#define HAND_IR_MAX 64

typedef struct hand_ir {
    kiln__ir ir;
    kiln__inst insts[HAND_IR_MAX];
    kiln__inst bodies[4][HAND_IR_MAX];
    kiln__combine combines[4];
} hand_ir;

void hand_ir_start(hand_ir *program);

/* Each adds an instruction and returns its index. Whether it is per element, its phase and whether it is constant
 * follow from its arguments. */
uint32_t hand_input(hand_ir *program, kiln_type storage, bool per_element);
uint32_t hand_scalar(hand_ir *program, kiln__ctype type);
uint32_t hand_float(hand_ir *program, kiln__ctype type, double value);
uint32_t hand_int(hand_ir *program, kiln__ctype type, int64_t value);
uint32_t hand_index(hand_ir *program, int axis, bool per_element);
uint32_t hand_size(hand_ir *program, int axis);
uint32_t hand_count(hand_ir *program);
uint32_t hand_uniform(hand_ir *program, uint32_t seed, uint32_t offset);
uint32_t hand_unary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a);
uint32_t hand_binary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a, uint32_t b);
uint32_t hand_ternary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a, uint32_t b, uint32_t c);
uint32_t hand_round_to(hand_ir *program, kiln_type storage, uint32_t a);
uint32_t hand_reduce(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a);
/* reduce((a, b) -> a * factor op b, x, identity), which depends on the order. */
uint32_t hand_reduce_scaled(hand_ir *program, kiln__op op, kiln__ctype type, int factor, uint32_t x, int identity);
void hand_output(hand_ir *program, kiln_type storage, uint32_t inst);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Typed programs made by hand: constructors of instructions. */
#include "hand_ir.h"

#include <stdlib.h>
#include <string.h>

void hand_ir_start(hand_ir *program) {
    memset(program, 0, sizeof *program);
    program->ir.insts = program->insts;
    program->ir.combines = program->combines;
    program->ir.float_type = KILN__F64;
    program->ir.text = "";
}

static uint32_t add(hand_ir *program, kiln__inst inst) {
    if (program->ir.count == HAND_IR_MAX) abort();
    inst.constant = inst.constant && !inst.per_element;
    for (int i = 0; i < inst.arg_count; i++) {
        const kiln__inst *arg = &program->insts[inst.args[i]];
        inst.per_element = inst.per_element || (arg->per_element && !kiln__op_is_reduction(inst.op));
        if (arg->phase > inst.phase) inst.phase = arg->phase;
    }
    if (kiln__op_is_reduction(inst.op)) inst.phase++;
    if (inst.phase > program->ir.phase_count) program->ir.phase_count = inst.phase;
    program->insts[program->ir.count] = inst;
    return program->ir.count++;
}

uint32_t hand_input(hand_ir *program, kiln_type storage, bool per_element) {
    kiln__inst inst = {.op = KILN__OP_INPUT, .type = kiln__type_compute(storage), .per_element = per_element};
    inst.u.input = program->ir.input_count;
    program->ir.input_types[program->ir.input_count++] = storage;
    return add(program, inst);
}

uint32_t hand_scalar(hand_ir *program, kiln__ctype type) {
    kiln__inst inst = {.op = KILN__OP_SCALAR, .type = type, .constant = true};
    inst.u.scalar = program->ir.scalar_count;
    program->ir.scalar_types[program->ir.scalar_count++] = type;
    return add(program, inst);
}

uint32_t hand_float(hand_ir *program, kiln__ctype type, double value) {
    kiln__inst inst = {.op = KILN__OP_FLOAT, .type = type, .constant = true};
    inst.u.f64 = value;
    return add(program, inst);
}

uint32_t hand_int(hand_ir *program, kiln__ctype type, int64_t value) {
    kiln__inst inst = {.op = KILN__OP_INT, .type = type, .constant = true};
    inst.u.i64 = value;
    return add(program, inst);
}

uint32_t hand_index(hand_ir *program, int axis, bool per_element) {
    kiln__inst inst = {.op = KILN__OP_INDEX, .type = KILN__I64, .per_element = per_element};
    inst.u.axis = axis;
    return add(program, inst);
}

uint32_t hand_size(hand_ir *program, int axis) {
    kiln__inst inst = {.op = KILN__OP_SIZE, .type = KILN__I64, .constant = true};
    inst.u.axis = axis;
    return add(program, inst);
}

uint32_t hand_count(hand_ir *program) {
    return add(program, (kiln__inst){.op = KILN__OP_COUNT, .type = KILN__F64, .constant = true});
}

uint32_t hand_uniform(hand_ir *program, uint32_t seed, uint32_t offset) {
    return add(
        program,
        (kiln__inst){
            .op = KILN__OP_UNIFORM, .type = KILN__F32, .arg_count = 2, .args = {seed, offset}, .per_element = true});
}

uint32_t hand_unary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a) {
    return add(program, (kiln__inst){.op = op, .type = type, .arg_count = 1, .args = {a}});
}

uint32_t hand_binary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a, uint32_t b) {
    return add(program, (kiln__inst){.op = op, .type = type, .arg_count = 2, .args = {a, b}});
}

uint32_t hand_ternary(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a, uint32_t b, uint32_t c) {
    return add(program, (kiln__inst){.op = op, .type = type, .arg_count = 3, .args = {a, b, c}});
}

uint32_t hand_round_to(hand_ir *program, kiln_type storage, uint32_t a) {
    kiln__inst inst = {.op = KILN__OP_ROUND_TO, .type = program->insts[a].type, .arg_count = 1, .args = {a}};
    inst.u.storage = storage;
    return add(program, inst);
}

uint32_t hand_reduce(hand_ir *program, kiln__op op, kiln__ctype type, uint32_t a) {
    return hand_unary(program, op, type, a);
}

uint32_t hand_reduce_scaled(hand_ir *program, kiln__op op, kiln__ctype type, int factor, uint32_t x, int identity) {
    uint32_t k = program->ir.combine_count++;
    kiln__inst *body = program->bodies[k];
    body[0] = (kiln__inst){.op = KILN__OP_PARAM, .type = type};
    body[1] = (kiln__inst){.op = KILN__OP_PARAM, .type = type};
    body[1].u.param = 1;
    body[2] =
        (kiln__inst){.op = kiln__ctype_is_float(type) ? KILN__OP_FLOAT : KILN__OP_INT, .type = type, .constant = true};
    if (kiln__ctype_is_float(type))
        body[2].u.f64 = factor;
    else
        body[2].u.i64 = factor;
    body[3] = (kiln__inst){.op = KILN__OP_MUL, .type = type, .arg_count = 2, .args = {0, 2}};
    body[4] = (kiln__inst){.op = op, .type = type, .arg_count = 2, .args = {3, 1}};
    program->combines[k] = (kiln__combine){body, 5, 4, type, identity, identity};
    kiln__inst inst = {.op = KILN__OP_REDUCE_USER, .type = type, .arg_count = 1, .args = {x}};
    inst.u.reducer = k;
    return add(program, inst);
}

void hand_output(hand_ir *program, kiln_type storage, uint32_t inst) {
    program->ir.output_types[program->ir.output_count] = storage;
    program->ir.outputs[program->ir.output_count++] = inst;
}

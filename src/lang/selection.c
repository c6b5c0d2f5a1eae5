/* SPDX-License-Identifier: Apache-2.0 */
/* What phases of selections and of scans are. Selections find their value bit by bit, so that a type of fewer bits
 * takes fewer passes over the row. */
#include "lang/ir.h"

/* A type that holds all values of the storage type, and whose order of values kernels know. */
static kiln_type ordered_type(kiln_type stored) {
    switch (stored) {
    case KILN_E4M3:
    case KILN_E5M2:
    case KILN_E2M1: return KILN_F16;
    case KILN_E8M0: return KILN_BF16;
    default: return stored;
    }
}

kiln_type kiln__selection_type(const kiln__ir *ir, const kiln__inst *selection) {
    static const kiln_type computed[KILN__CTYPES] = {
        [KILN__F32] = KILN_F32, [KILN__F64] = KILN_F64, [KILN__I32] = KILN_I32,   [KILN__I64] = KILN_I64,
        [KILN__U32] = KILN_U32, [KILN__U64] = KILN_U64, [KILN__BOOL] = KILN_BOOL,
    };
    const kiln__inst *of = &ir->insts[selection->args[0]];
    if (of->op == KILN__OP_INPUT) return ordered_type(ir->input_types[of->u.input]);
    if (of->op == KILN__OP_ROUND_TO) return ordered_type(of->u.storage);
    return computed[of->type];
}

int kiln__phase_passes(const kiln__ir *ir, uint32_t phase) {
    int passes = 1;
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (!kiln__op_selects(inst->op) || inst->phase != phase + 1) continue;
        const kiln_type type = kiln__selection_type(ir, inst);
        const int bits = type == KILN_BOOL ? 1 : 8 * (int)kiln_type_size(type);
        if (bits > passes) passes = bits;
    }
    return passes;
}

int kiln__ir_passes(const kiln__ir *ir) {
    int passes = 0;
    for (uint32_t phase = 0; phase < ir->phase_count; phase++) passes += kiln__phase_passes(ir, phase);
    return passes;
}

/* Whether a phase (0: any) has an operator of the kind. */
static bool has(const kiln__ir *ir, bool (*is)(kiln__op op), uint32_t phase) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (is(ir->insts[i].op) && (phase == 0 || ir->insts[i].phase == phase)) return true;
    return false;
}

static bool selects(kiln__op op) { return kiln__op_selects(op); }
static bool is_order(kiln__op op) { return kiln__op_is_order(op); }
static bool scans(kiln__op op) { return op == KILN__OP_REDUCE_BEFORE; }

bool kiln__phase_selects(const kiln__ir *ir, uint32_t phase) { return has(ir, selects, phase + 1); }
bool kiln__ir_selects(const kiln__ir *ir) { return has(ir, selects, 0); }
bool kiln__phase_scans(const kiln__ir *ir, uint32_t phase) { return has(ir, scans, phase + 1); }
bool kiln__ir_scans(const kiln__ir *ir) { return has(ir, scans, 0); }
bool kiln__ir_sorts(const kiln__ir *ir) { return has(ir, is_order, 0); }

static bool is_extremum(const kiln__inst *inst) {
    const kiln__op op = inst->op == KILN__OP_BLOCK_REDUCE ? (kiln__op)inst->u.block.op : inst->op;
    return op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_MIN;
}

/* Whether it holds something beside a row's or a block's extremum: its elements, mostly. */
static bool compares_with_extremum(const kiln__ir *ir, const kiln__inst *inst) {
    if (kiln__op_describe(inst->op)->rule != KILN__RULE_COMPARE) return false;
    return is_extremum(&ir->insts[inst->args[0]]) || is_extremum(&ir->insts[inst->args[1]]);
}

bool kiln__ir_finds_values(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op == KILN__OP_ORDER && inst->u.order.first) return true;
        if (compares_with_extremum(ir, inst)) return true;
    }
    return kiln__ir_selects(ir);
}

kiln__inst kiln__combining(const kiln__inst *inst) {
    kiln__inst combining = *inst;
    if (inst->op == KILN__OP_REDUCE_BEFORE || inst->op == KILN__OP_SCAN) combining.op = (kiln__op)inst->u.block.op;
    return combining;
}

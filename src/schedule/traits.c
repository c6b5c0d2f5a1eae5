/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/traits.h"

#include "base/types.h"
#include "problem/online.h"
#include "schedule/cost.h"
#include "schedule/schedule.h"

static void count_operand(const kiln__operand *operand, kiln__traits *t) {
    const int size = (int)kiln_type_size(operand->type);
    if (kiln__is_read_later(operand) || !operand->own_columns) return; /* of a block's value a column has but a part */
    if (operand->output) {
        t->output_bytes += size;
        t->outputs++;
    } else if (operand->follows_rows) {
        t->input_bytes += size;
        t->inputs++;
    } else {
        t->invariant_bytes += size;
        t->invariants++;
        return;
    }
    t->widest = (int)kiln__greatest(t->widest, size);
    if (!t->narrowest || size < t->narrowest) t->narrowest = size;
}

static void count_instruction(const kiln__inst *inst, kiln__traits *t) {
    const bool wide = kiln__ctype_is_wide(inst->type);
    t->finds_columns |= kiln__op_is_arg(inst->op);
    /* A selection has its bound and what it found beside the count. */
    const int values = kiln__op_selects(inst->op) ? 3 : kiln__reduction_values(inst->op);
    if (kiln__op_is_reduction(inst->op)) t->carried += values * (wide ? 2 : 1);
}

kiln_status kiln__traits_find(const kiln__ir *ir, const kiln__problem *problem, kiln__traits *out) {
    *out =
        (kiln__traits){.phases = (int)ir->phase_count, .ordered = problem->ordered, .online = kiln__online_phase(ir)};
    out->passes = kiln__ir_passes(ir);
    out->one_launch = kiln__ir_selects(ir);
    out->one_launch |= kiln__ir_scans(ir);
    out->stores_early = !out->one_launch && kiln__stores_early(ir, problem);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) count_operand(&problem->operands[o], out);
    for (uint32_t i = 0; i < ir->count; i++) count_instruction(&ir->insts[i], out);
    /* Online, columns are combined in any order, and no phase's elements need the other's first. Of a single column
     * what is made of the first phase is a value of the row. */
    if (kiln__waits(problem) || out->ordered || problem->cols == 1) out->online = -1;
    out->plain = !(out->ordered | out->one_launch);
    return kiln__weigh(ir, problem, &out->reduce_weight, &out->output_weight, &out->row_weight);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values of all rows: each column, or a row's one value, is reduced from row to row. */
#include "ref/run.h"

kiln__inst kiln__ref_reduction_of(const kiln__inst *inst) {
    kiln__inst reduction = {.op = (kiln__op)inst->u.block.op, .type = inst->type, .arg_count = 1};
    reduction.args[0] = inst->args[0];
    reduction.u.reducer = inst->u.block.reducer;
    return reduction;
}

static size_t columns_of(const kiln__ref_run_state *run, const kiln__inst *inst) {
    return inst->per_element && run->col_count > 0 ? (size_t)run->col_count : 1;
}

bool kiln__ref_across_make(kiln__ref_run_state *run) {
    const kiln__ir *ir = run->ir;
    run->across = kiln__arena_alloc(&run->arena, ir->count, sizeof *run->across);
    for (uint32_t i = 0; i < ir->count && run->across != NULL; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op != KILN__OP_ACROSS_REDUCE) continue;
        const kiln__inst reduction = kiln__ref_reduction_of(inst);
        const size_t columns = columns_of(run, inst);
        run->across[i] = kiln__arena_alloc(&run->arena, columns, sizeof **run->across);
        if (run->across[i] == NULL) return false;
        for (size_t c = 0; c < columns; c++)
            kiln__ref_reduce_start(&reduction, ir->combines, run->own_types, &run->across[i][c]);
    }
    return run->across != NULL;
}

void kiln__ref_across_add(const kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n) {
    const kiln__inst *inst = &run->ir->insts[index];
    const kiln__inst reduction = kiln__ref_reduction_of(inst);
    const kiln__ref_value *values = run->values[inst->args[0]];
    for (size_t i = 0; i < n; i++)
        kiln__ref_reduce_add(run->ir, &reduction, run->combine_values, &values[i], 1,
                             &run->across[index][inst->per_element ? col + (int64_t)i : 0]);
}

static void evaluate(kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n) {
    const kiln__inst *inst = &run->ir->insts[index];
    kiln__ref_value *out = run->values[index];
    if (inst->op == KILN__OP_INPUT) {
        kiln__ref_load_input(run, inst, col, n, out);
    } else if (inst->op == KILN__OP_ACROSS_REDUCE) {
        const kiln__inst reduction = kiln__ref_reduction_of(inst);
        for (size_t i = 0; i < n; i++)
            out[i] = kiln__ref_reduce_finish(&reduction, &run->across[index][inst->per_element ? col + (int64_t)i : 0]);
    } else {
        kiln__ref_eval(run->ir->insts, index, run->values, n);
    }
    if (run->own_types) kiln__ref_narrow(inst->type, out, n);
}

/* Whether the value is made when the rows are done, of all of them or of what they share; of columns: where there are.
 */
static bool is_later(const kiln__inst *inst, bool columns) {
    return (inst->across || (inst->row_invariant && !inst->constant)) && (columns || !inst->per_element);
}

static void finish_columns(kiln__ref_run_state *run, bool per_element, int64_t col, size_t n) {
    const kiln__ir *ir = run->ir;
    for (uint32_t i = 0; i < ir->count; i++)
        if (is_later(&ir->insts[i], per_element)) evaluate(run, i, col, n);
    for (uint32_t o = 0; o < ir->output_count; o++) {
        const kiln__inst *value = &ir->insts[ir->outputs[o]];
        if (value->across && value->per_element == per_element) kiln__ref_store_output(run, o, col, n);
    }
}

void kiln__ref_across_finish(kiln__ref_run_state *run) {
    uint32_t any = 0;
    while (any < run->ir->count && !run->ir->insts[any].across) any++;
    if (any == run->ir->count) return;
    for (uint32_t i = 0; i < run->ir->input_count; i++) kiln__ref_view_set_row(&run->inputs[i], 0);
    for (uint32_t o = 0; o < run->ir->output_count; o++) kiln__ref_view_set_row(&run->outputs[o], 0);
    for (int64_t col = 0; col < run->col_count; col += (int64_t)run->width) {
        const int64_t left = run->col_count - col;
        finish_columns(run, true, col, left < (int64_t)run->width ? (size_t)left : run->width);
    }
    finish_columns(run, false, 0, 1);
}

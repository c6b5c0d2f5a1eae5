/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/any_shape.h"

#include <string.h>

#include "base/checked.h"

/* What is weighed where a number of columns is asked for. */
#define TYPICAL_COLUMNS 4096
#define MOST_SORTED (1LL << 28)

static bool combines_counts(const kiln__ir *ir) {
    for (uint32_t c = 0; c < ir->combine_count; c++)
        for (uint32_t i = 0; i < ir->combines[c].count; i++)
            if (ir->combines[c].insts[i].op == KILN__OP_COUNT) return true;
    return false;
}

static bool has_odd_blocks(const kiln__problem *p) {
    bool odd = false;
    for (int i = 0; i < p->block_count; i++) odd |= p->blocks[i] % 2;
    for (int o = 0; o < p->input_count + p->output_count; o++) odd |= p->operands[o].run % 2;
    return odd;
}

kiln_status kiln__any_shape_check(const kiln__ir *ir, const kiln__problem *p) {
    const struct {
        bool has;
        const char *what;
    } missing[] = {
        {p->lengths && p->offsets < 0 && p->cols == 1, "lengths of rows of one column"},
        {p->across && (p->ordered || kiln__ir_scans(ir)), "values of all rows, and columns combined in their order"},
        {kiln__has_blocks(p) && (p->ordered || kiln__ir_scans(ir)),
         "values of blocks within rows, whose columns are combined in their order"},
        {kiln__ir_sorts(ir) && p->across, "rows that are sorted, and values of all rows"},
        {kiln__ir_sorts(ir) && p->cols > MOST_SORTED, "rows that are sorted, of more than 2^28 columns"},
        {p->packed && has_odd_blocks(p), "tensors of two elements to a byte, and blocks of an odd number"},
        {combines_counts(ir), "a combine that asks for the number of columns"},
    };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (missing[i].has)
            return kiln__fail(KILN_E_UNSUPPORTED, "no kernel serves any shape of '%s', which has %s", ir->text,
                              missing[i].what);
    return KILN_OK;
}

static void add_blocks(int64_t block, int64_t *run) {
    if (block) *run = *run ? kiln__common_multiple(*run, block) : block;
}

/* The fewest columns that are whole blocks of all sizes. */
static int64_t find_run(const kiln__ir *ir, const kiln__problem *problem) {
    int64_t run = 0;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) add_blocks(problem->operands[o].run, &run);
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_BLOCK_REDUCE || ir->insts[i].op == KILN__OP_BLOCK_COUNT)
            add_blocks(ir->insts[i].domain, &run);
    return run;
}

/* So many neighbouring columns share a value of the operand. Of an axis of one column it is the blocks'. */
static int64_t run_of(const kiln__ir *ir, const kiln__problem *exact, int o) {
    if (o < exact->input_count) return ir->input_runs[o];
    const kiln__operand *known = &exact->operands[o];
    const int64_t run = kiln__stored_run(ir, &ir->insts[ir->outputs[o - exact->input_count]]);
    const bool shared = run && run != KILN__RUN_OF_ROW && ir->uneven.columns;
    return shared && (known->run || exact->uneven_columns == 1) ? run : 0;
}

/* Whether the output has a value for each column; flat: of elementwise programs they all have. */
static bool output_has_columns(const kiln__ir *ir, const kiln__problem *exact, int output) {
    return ir->insts[ir->outputs[output]].per_element || exact->operands[exact->input_count + output].per_element;
}

bool kiln__any_shape_has_columns(const kiln__ir *ir, const kiln__problem *exact) {
    for (int o = 0; o < exact->output_count && exact->cols != 1; o++) {
        const kiln__operand *known = &exact->operands[exact->input_count + o];
        if (output_has_columns(ir, exact, o) != known->per_element) return false;
        if (known->run && !run_of(ir, exact, exact->input_count + o)) return false;
    }
    return true;
}

kiln_status kiln__any_shape_problem(const kiln__ir *ir, const kiln__problem *exact, bool all_columns,
                                    kiln__problem *out) {
    const int tensors = exact->input_count + exact->output_count;
    memset(out, 0, sizeof *out);
    out->any_shape = true;
    out->layout = KILN__LAYOUT_INNER;
    out->outer_rank = out->inner_rank = 1;
    out->outer[0] = out->rows = KILN__OPEN_ROWS;
    out->inner[0] = out->cols = out->longest = TYPICAL_COLUMNS;
    out->wide = true;
    out->flat_positions = exact->layout == KILN__LAYOUT_FLAT;
    out->read = exact->read;
    out->taken = exact->taken;
    out->later = exact->later;
    out->tables = exact->tables;
    out->lengths = exact->lengths;
    out->offsets = exact->offsets;
    out->last_axis = exact->last_axis;
    out->ordered = exact->ordered || kiln__ir_scans(ir); /* which one column has none of */
    out->sorted = kiln__ir_sorts(ir);
    out->first = exact->first;
    out->packed = exact->packed;
    out->least_vector = exact->packed ? 2 : 1;
    out->most_vector = 16;
    out->input_count = exact->input_count;
    out->output_count = exact->output_count;
    out->position_count = exact->position_count;
    memcpy(out->position_axes, exact->position_axes, sizeof out->position_axes);
    for (int o = 0; o < tensors + out->position_count; o++) {
        const kiln__operand *known = &exact->operands[o];
        kiln__operand *operand = &out->operands[o];
        *operand = (kiln__operand){.type = known->type, .output = known->output, .follows_rows = true, .alignment = 1};
        operand->per_element = operand->output ? output_has_columns(ir, exact, o - out->input_count)
                                               : o >= tensors || all_columns || known->per_element;
        operand->run = o < tensors ? run_of(ir, exact, o) : 0;
        if (known->run && !operand->run)
            return kiln__fail(
                KILN_E_UNSUPPORTED,
                "no kernel serves any shape of '%s', which has an output of one value for blocks of two sizes",
                ir->text);
        operand->per_element |= operand->run != 0;
        operand->across = known->across;
        operand->first = known->first;
        operand->own_columns = operand->per_element && !operand->run && !operand->across && !operand->first;
        operand->taken = known->taken;
        operand->packed_rows = known->packed_rows;
        if (known->table.rows) operand->table = (kiln__indexed_rows){1, 1}; /* whichever: a launch tells */
        out->columns_out |= operand->output && operand->per_element;
    }
    kiln__find_reductions(ir, out);
    out->block_run = find_run(ir, out);
    return kiln__any_shape_check(ir, out);
}

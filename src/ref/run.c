/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the rows of a space: one pass for each phase and one that ends in the outputs, block of columns by
 * block of columns. Per-element values are not kept from one pass to the next: each pass evaluates again what its
 * reductions or outputs depend on, so that memory does not grow with the row. */
#include <string.h>

#include "ref/run.h"
#include "ref/special.h"

/* What a pass does with an instruction: evaluates it once before the columns, or at each of them, or reduces it. */
enum role { SKIP, ROW, ELEMENT, REDUCTION, ACROSS };

static void assign_roles(const kiln__ref_run_state *run, uint32_t pass, uint8_t *roles) {
    const kiln__ir *ir = run->ir;
    for (uint32_t o = 0; o < ir->output_count && pass == ir->phase_count; o++)
        if (run->per_element[o]) roles[ir->outputs[o]] = ELEMENT;
    /* From the last to the first: by then an instruction knows whether a later one needs it at each column. */
    for (uint32_t i = ir->count; i-- > 0;) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op == KILN__OP_REDUCE_BEFORE)
            roles[i] = SKIP; /* there is one thread */
        else if (kiln__op_is_reduction(inst->op))
            roles[i] = inst->phase == pass + 1 ? REDUCTION : SKIP;
        else if (inst->across)
            roles[i] = inst->op == KILN__OP_ACROSS_REDUCE && pass == ir->phase_count ? ACROSS : SKIP;
        else if (inst->constant)
            roles[i] = SKIP;
        else if (!run->flat && !inst->per_element)
            roles[i] = inst->phase == pass ? ROW : SKIP;
        if (kiln__op_is_order(inst->op)) continue; /* the row is sorted before the pass */
        for (int k = 0; k < inst->arg_count && roles[i] >= ELEMENT; k++) roles[inst->args[k]] = ELEMENT;
    }
}

/* Repeats a block's first value over the whole block. */
static void spread(const kiln__ref_run_state *run, uint32_t index) {
    kiln__ref_value *values = run->values[index];
    for (size_t i = 1; i < run->width; i++) values[i] = values[0];
}

static void evaluate_constant(const kiln__ref_run_state *run, uint32_t index) {
    const kiln__inst *inst = &run->ir->insts[index];
    kiln__ref_value *out = run->values[index];
    switch ((int)inst->op) {
    case KILN__OP_FLOAT:
    case KILN__OP_INT:
    case KILN__OP_BOOL: out->i64 = inst->u.i64; break; /* the 64 bits of either kind */
    case KILN__OP_COUNT:
        out->i64 = run->count;
        if (kiln__ctype_is_float(inst->type)) out->f64 = (double)run->count;
        break;
    case KILN__OP_SIZE: out->i64 = run->sizes[inst->u.axis]; break;
    case KILN__OP_ROWS_OF: out->i64 = run->tables[inst->u.input].rows; break;
    case KILN__OP_SCALAR:
        out->i64 = run->scalars[inst->u.scalar].value.i64;
        if (inst->type == KILN__I32) out->i64 = (int32_t)out->i64;
        break;
    default: kiln__ref_eval(run->ir->insts, index, run->values, 1);
    }
    if (run->own_types) kiln__ref_narrow(inst->type, out, 1);
    spread(run, index);
}

/* What is evaluated at a time are whole blocks, but for the last ones of an axis. */
static void evaluate_blocks(const kiln__ref_run_state *run, uint32_t index, size_t n) {
    const kiln__inst *inst = &run->ir->insts[index];
    const kiln__inst reduction = kiln__ref_reduction_of(inst);
    kiln__ref_accumulator *accumulator = &run->accumulators[index];
    kiln__ref_value *out = run->values[index];
    for (size_t first = 0; first < n; first += inst->domain) {
        const size_t end = first + inst->domain < n ? first + inst->domain : n;
        kiln__ref_reduce_start(&reduction, run->ir->combines, run->own_types, accumulator);
        kiln__ref_reduce_add(run->ir, &reduction, run->combine_values, run->values[inst->args[0]] + first, end - first,
                             accumulator);
        const kiln__ref_value value = kiln__ref_reduce_finish(&reduction, accumulator);
        for (size_t i = first; i < end; i++) out[i] = value;
    }
}

static void evaluate_scan(const kiln__ref_run_state *run, uint32_t index, size_t n) {
    const kiln__inst reduction = kiln__combining(&run->ir->insts[index]);
    kiln__ref_accumulator *accumulator = &run->accumulators[index];
    for (size_t i = 0; i < n; i++) {
        kiln__ref_reduce_add(run->ir, &reduction, run->combine_values, run->values[reduction.args[0]] + i, 1,
                             accumulator);
        run->values[index][i] = kiln__ref_reduce_finish(&reduction, accumulator);
    }
}

/* The columns of the sorted row that stand at n places, or their values. */
static void evaluate_order(const kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n) {
    const kiln__inst *inst = &run->ir->insts[index];
    const bool values = inst->op == KILN__OP_SORTED;
    const uint32_t by = values ? inst->args[1] : index;
    const int64_t *order = run->accumulators[by].order + col;
    const kiln__ref_value *row = run->accumulators[kiln__carries(run->ir, inst) ? index : by].row;
    for (size_t i = 0; i < n && values; i++) run->values[index][i] = row[order[i]];
    for (size_t i = 0; i < n && !values; i++) run->values[index][i].i64 = order[i];
}

static void count_blocks(const kiln__ref_run_state *run, int64_t block, int64_t col, size_t n, kiln__ref_value *out) {
    for (size_t i = 0; i < n; i++) {
        const int64_t at = (col + (int64_t)i) % run->period, left = run->period - at / block * block;
        out[i].f64 = (double)(left < block ? left : block);
    }
}

/* The columns that are put in order and written: a single one, whatever the row's length. */
static int64_t kept_columns(const kiln__ref_run_state *run) {
    return run->col_count == 1 && !run->ir->offsets ? 1 : run->length;
}

/* Columns from `col` on, before `end`, that are evaluated together: those of one axis that blocks lie along. */
static size_t columns_from(const kiln__ref_run_state *run, int64_t col, int64_t end) {
    const int64_t row = end - col, axis = run->period - col % run->period;
    const int64_t left = row < axis ? row : axis;
    return left < (int64_t)run->width ? (size_t)left : run->width;
}

static void evaluate_taken(const kiln__ref_run_state *run, const kiln__inst *inst, size_t n) {
    const kiln__ref_view *view = &run->inputs[inst->u.input];
    const kiln__ref_value *columns = run->values[inst->args[0]];
    kiln__ref_value *out = run->values[inst - run->ir->insts];
    const int64_t count = run->ir->offsets ? run->length : run->count;
    for (size_t i = 0; i < n; i++) {
        out[i] = (kiln__ref_value){0};
        if (columns[i].i64 < 0 || columns[i].i64 >= count) continue; /* the program puts something else there */
        kiln__ref_offsets(view, columns[i].i64, 1, run->offsets);
        kiln__ref_load(view, run->offsets, 1, kiln__ctype_is_float(inst->type), &out[i]);
    }
}

/* Evaluates instruction `index` at n columns of the current row, from column `col` on. */
static void evaluate(const kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n) {
    const kiln__inst *inst = &run->ir->insts[index];
    kiln__ref_value *out = run->values[index];
    if (inst->op == KILN__OP_INPUT) {
        kiln__ref_load_input(run, inst, col, n, out);
    } else if (inst->op == KILN__OP_INDEX) {
        kiln__ref_offsets(&run->indices[inst->u.axis], col, n, run->offsets);
        for (size_t i = 0; i < n; i++) out[i].i64 = run->offsets[i];
    } else if (inst->op == KILN__OP_UNIFORM) {
        const kiln__ref_value *seed = run->values[inst->args[0]], *offset = run->values[inst->args[1]];
        kiln__ref_offsets(&run->linear, col, n, run->offsets);
        for (size_t i = 0; i < n; i++) out[i].f64 = kiln__ref_uniform(seed[i].i64, offset[i].i64, run->offsets[i]);
    } else if (inst->op == KILN__OP_TAKE) {
        evaluate_taken(run, inst, n);
    } else if (inst->op == KILN__OP_BLOCK_REDUCE) {
        evaluate_blocks(run, index, n);
    } else if (inst->op == KILN__OP_LENGTH) {
        out->i64 = run->length;
    } else if (inst->op == KILN__OP_SCAN) {
        evaluate_scan(run, index, n);
    } else if (inst->op == KILN__OP_FIRST) {
        memcpy(out, run->values[inst->args[0]], n * sizeof *out);
    } else if (kiln__op_is_order(inst->op)) {
        evaluate_order(run, index, col, n);
    } else if (inst->op == KILN__OP_BLOCK_COUNT) {
        count_blocks(run, inst->domain, col, n, out);
    } else {
        kiln__ref_eval(run->ir->insts, index, run->values, n);
    }
    if (run->own_types) kiln__ref_narrow(inst->type, out, n);
}

static void store_outputs(const kiln__ref_run_state *run, bool per_element, int64_t col, size_t n) {
    for (uint32_t o = 0; o < run->ir->output_count; o++)
        if (run->per_element[o] == per_element && !run->ir->insts[run->ir->outputs[o]].across)
            kiln__ref_store_output(run, o, col, n);
}

static void run_block(kiln__ref_run_state *run, const uint8_t *roles, int64_t col, size_t n) {
    const kiln__ir *ir = run->ir;
    for (uint32_t i = 0; i < ir->count; i++) {
        if (roles[i] == ELEMENT)
            evaluate(run, i, col, n);
        else if (roles[i] == REDUCTION)
            kiln__ref_reduce_add(ir, &ir->insts[i], run->combine_values, run->values[ir->insts[i].args[0]], n,
                                 &run->accumulators[i]);
        else if (roles[i] == ACROSS && ir->insts[i].per_element)
            kiln__ref_across_add(run, i, col, n);
    }
}

static void start(kiln__ref_run_state *run, uint32_t index) {
    const kiln__inst reduction = kiln__combining(&run->ir->insts[index]);
    kiln__ref_reduce_start(&reduction, run->ir->combines, run->own_types, &run->accumulators[index]);
}

/* Goes over the row for the argument of an instruction that needs all of it, and sorts it. */
static void gather_row(kiln__ref_run_state *run, uint32_t index) {
    const kiln__ir *ir = run->ir;
    const kiln__inst *inst = &ir->insts[index];
    kiln__ref_accumulator *accumulator = &run->accumulators[index];
    memset(run->before, SKIP, ir->count);
    run->before[inst->args[0]] = ELEMENT;
    for (uint32_t i = inst->args[0] + 1; i-- > 0;) {
        const kiln__inst *of = &ir->insts[i];
        if (run->before[i] == ELEMENT && (!of->per_element || of->constant)) run->before[i] = SKIP; /* is there */
        if (run->before[i] == ELEMENT && of->op == KILN__OP_SCAN) start(run, i);
        const bool sorted = kiln__op_is_order(of->op);
        for (int k = 0; k < of->arg_count && !sorted && run->before[i] == ELEMENT; k++)
            run->before[of->args[k]] = ELEMENT;
    }
    const int64_t end = kiln__op_selects(inst->op) ? run->length : kept_columns(run);
    for (int64_t col = 0, n; col < end; col += n) {
        n = (int64_t)columns_from(run, col, end);
        run_block(run, run->before, col, (size_t)n);
        memcpy(accumulator->row + col, run->values[inst->args[0]], (size_t)n * sizeof *accumulator->row);
    }
    if (inst->op == KILN__OP_ORDER)
        kiln__ref_sort(ir->insts[inst->args[0]].type, inst->u.order.descending, end, accumulator);
}

/* What a pass begins with: a row's values, reductions of nothing, what is in order before it. */
static void begin_pass(kiln__ref_run_state *run, const uint8_t *roles, uint32_t pass) {
    const kiln__ir *ir = run->ir;
    for (uint32_t i = 0; i < ir->count; i++) {
        if (roles[i] == ROW) {
            evaluate(run, i, 0, 1);
            spread(run, i);
        } else if (roles[i] == REDUCTION) {
            start(run, i);
        }
    }
    run->length = ir->length ? run->values[ir->length - 1]->i64 : run->col_count;
    for (uint32_t i = 0; i < ir->count; i++)
        if (kiln__keeps_row(ir, &ir->insts[i]) && ir->insts[i].phase == pass) gather_row(run, i);
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_SCAN) start(run, i);
}

static void finish_reduction(const kiln__ref_run_state *run, uint32_t index) {
    const kiln__inst *inst = &run->ir->insts[index];
    const kiln__ref_accumulator *accumulator = &run->accumulators[index];
    *run->values[index] =
        kiln__op_selects(inst->op)
            ? kiln__ref_select_finish(inst->type, run->values[inst->args[1]]->i64, &run->accumulators[index])
            : kiln__ref_reduce_finish(inst, accumulator);
    spread(run, index);
}

/* Whether the pass goes over columns. */
static bool has_columns(const kiln__ref_run_state *run, const uint8_t *roles, bool last) {
    bool columns = !last;
    for (uint32_t o = 0; o < run->ir->output_count; o++) columns = columns || run->per_element[o];
    for (uint32_t i = 0; i < run->ir->count; i++)
        columns = columns || (roles[i] == ACROSS && run->ir->insts[i].per_element);
    return columns;
}

static void run_pass(kiln__ref_run_state *run, const uint8_t *roles, uint32_t pass) {
    const kiln__ir *ir = run->ir;
    const bool last = pass == ir->phase_count, columns = has_columns(run, roles, last);
    begin_pass(run, roles, pass);
    const int64_t end = last ? kept_columns(run) : run->length;
    for (int64_t col = 0, n; columns && col < end; col += n) {
        n = (int64_t)columns_from(run, col, end);
        run_block(run, roles, col, (size_t)n);
        if (last) store_outputs(run, true, col, (size_t)n);
    }
    for (uint32_t i = 0; i < ir->count; i++) {
        if (roles[i] == REDUCTION) finish_reduction(run, i);
        if (roles[i] == ACROSS && !ir->insts[i].per_element) kiln__ref_across_add(run, i, 0, 1);
    }
    if (last) store_outputs(run, false, 0, 1);
}

static int64_t between(int64_t at, int64_t low, int64_t high) { return at < low ? low : at > high ? high : at; }

/* Where the row lies among those one behind the other: within them, whatever the offsets say. */
static void place_row(kiln__ref_run_state *run) {
    const kiln__ir *ir = run->ir;
    const kiln__ref_view *offsets = &run->inputs[ir->offsets - 1];
    const int64_t at[2] = {offsets->row_offset, offsets->row_offset + 1}, all = run->sizes[run->rank - 1];
    kiln__ref_value said[2];
    kiln__ref_load(offsets, at, 2, false, said);
    const int64_t begin = between(said[0].i64, 0, all);
    run->length = between(said[1].i64, begin, all) - begin;
    for (uint32_t i = 0; i < ir->input_count; i++)
        if (ir->packed >> i & 1) run->inputs[i].row_offset += begin * run->inputs[i].cols.strides[0];
    for (uint32_t o = 0; o < ir->output_count; o++)
        if (ir->insts[ir->outputs[o]].per_element)
            run->outputs[o].row_offset += begin * run->outputs[o].cols.strides[0];
    run->linear.row_offset += begin;
}

void kiln__ref_run_rows(kiln__ref_run_state *run) {
    const kiln__ir *ir = run->ir;
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].constant) evaluate_constant(run, i);
    for (uint32_t pass = 0; pass <= ir->phase_count; pass++) assign_roles(run, pass, run->roles + pass * ir->count);
    for (int64_t row = 0; row < run->row_count; row++) {
        for (uint32_t i = 0; i < ir->input_count; i++) kiln__ref_view_set_row(&run->inputs[i], row);
        for (uint32_t o = 0; o < ir->output_count; o++) kiln__ref_view_set_row(&run->outputs[o], row);
        for (int axis = 0; axis < run->rank; axis++) kiln__ref_view_set_row(&run->indices[axis], row);
        kiln__ref_view_set_row(&run->linear, row);
        if (ir->offsets) place_row(run);
        for (uint32_t pass = 0; pass <= ir->phase_count; pass++) run_pass(run, run->roles + pass * ir->count, pass);
    }
    kiln__ref_across_finish(run);
}

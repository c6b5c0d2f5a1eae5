/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU reference's entry: lays tensors over the space, makes room for the values, and runs.
 * Everything it takes is taken here, from one arena; the run itself cannot fail. */
#include "ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/extent.h"
#include "base/types.h"
#include "ref/run.h"

/* Replaces *tensor, which has elements, by a contiguous copy of it. */
static bool copy_tensor(kiln_tensor *tensor, kiln__arena *arena) {
    const bool all[KILN_MAX_RANK] = {true, true, true, true, true, true, true, true};
    size_t count = 1, size = kiln_type_size(tensor->type);
    for (int i = 0; i < tensor->rank; i++) count *= (size_t)tensor->sizes[i]; /* fits: the tensor lies in memory */
    char *data = kiln__arena_alloc(arena, count, size);
    if (data == NULL) return false;
    kiln__ref_view view = kiln__ref_view_make(tensor, tensor->rank, tensor->sizes, tensor->strides, all);
    for (size_t i = 0; i < count; i++) {
        int64_t offset;
        kiln__ref_offsets(&view, (int64_t)i, 1, &offset);
        if (kiln__type_is_packed(tensor->type))
            kiln__store_packed(data, (int64_t)i, kiln__load_packed(view.data, offset));
        else
            memcpy(data + i * size, view.data + offset * (int64_t)size, size);
    }
    *tensor = kiln_tensor_contiguous(data, tensor->type, tensor->rank, tensor->sizes);
    return true;
}

/* Which axes an output lacks that has fewer than the space: those along which it has one value. */
static void find_skipped(const kiln__ref_run_state *run, uint32_t output, const bool *reduced,
                         bool skipped[KILN_MAX_RANK]) {
    const kiln__inst *value = &run->ir->insts[run->ir->outputs[output]];
    for (int i = 0; i < run->rank; i++)
        skipped[i] = reduced[i] ? !value->per_element : value->across || run->ir->places[output];
    if (run->ir->offsets && value->per_element) skipped[run->rank - 2] = true;
}

/* Of a tensor that has a value for each block of an uneven axis: it is laid out as if it had one along the axis. */
static void lay_out_blocks(const kiln__ref_run_state *run, int64_t of_run, const kiln_tensor *tensor,
                           const bool *in_row, int64_t strides[KILN_MAX_RANK], kiln__ref_view *view) {
    const kiln__uneven *uneven = &run->ir->uneven;
    const int at = uneven->axis - (run->rank - tensor->rank);
    const bool blocks = uneven->columns && of_run && of_run != KILN__RUN_OF_ROW && at >= 0;
    const bool joined = blocks && tensor->sizes[at] != uneven->columns;
    const int64_t stride = strides[uneven->axis];
    if (joined) strides[uneven->axis] = 0;
    *view = kiln__ref_view_make(tensor, run->rank, run->sizes, strides, in_row);
    if (!joined) return;
    view->run = of_run;
    view->block_stride = stride;
    view->period = uneven->columns;
}

/* Outputs are written while inputs of later elements are still to be read: an input that shares memory with an output
 * is copied first. */
static kiln_status lay_out(kiln__ref_run_state *run, const kiln_tensor *tensors, const bool *reduced,
                           const bool *in_row) {
    const kiln__ir *ir = run->ir;
    const kiln_tensor *outputs = tensors + ir->input_count;
    int64_t strides[KILN_MAX_RANK];
    for (uint32_t o = 0; o < ir->output_count; o++) {
        bool skipped[KILN_MAX_RANK];
        const bool dropped = outputs[o].rank < run->rank;
        find_skipped(run, o, reduced, skipped);
        kiln__ref_strides(&outputs[o], run->rank, dropped ? skipped : NULL, strides);
        lay_out_blocks(run, kiln__stored_run(ir, &ir->insts[ir->outputs[o]]), &outputs[o], in_row, strides,
                       &run->outputs[o]);
    }
    for (uint32_t i = 0; i < ir->input_count; i++) {
        kiln_tensor tensor = tensors[i];
        kiln__extent own = kiln__extent_of(&tensor);
        bool shared = false;
        for (uint32_t o = 0; o < ir->output_count; o++) {
            kiln__extent other = kiln__extent_of(&outputs[o]);
            shared = shared || kiln__extents_overlap(tensor.data, &own, outputs[o].data, &other);
        }
        if (shared && !copy_tensor(&tensor, &run->arena)) return kiln__out_of_memory();
        kiln__ref_strides(&tensor, run->rank, NULL, strides);
        lay_out_blocks(run, ir->input_runs[i], &tensor, in_row, strides, &run->inputs[i]);
    }
    return KILN_OK;
}

/* Views whose offsets are an element's coordinates and its linear index. */
static void lay_out_positions(kiln__ref_run_state *run, const bool *in_row) {
    int64_t linear[KILN_MAX_RANK] = {0}, step = 1;
    for (int axis = run->rank - 1; axis >= 0; axis--) {
        const bool packed = run->ir->offsets && axis == run->rank - 2; /* all rows' elements are counted through */
        int64_t unit[KILN_MAX_RANK] = {0};
        unit[axis] = 1;
        run->indices[axis] = kiln__ref_view_make(NULL, run->rank, run->sizes, unit, in_row);
        linear[axis] = packed ? 0 : step;
        if (!packed) step *= run->sizes[axis] > 0 ? run->sizes[axis] : 1;
    }
    run->linear = kiln__ref_view_make(NULL, run->rank, run->sizes, linear, in_row);
}

/* The first axis without elements among those that are reduced, or are not; -1: none. */
static int empty_axis(const kiln__ref_run_state *run, const bool *reduced, bool which) {
    for (int i = 0; i < run->rank; i++)
        if (reduced[i] == which && run->sizes[i] == 0) return i;
    return -1;
}

/* Refuses maxima of no elements: of a row without columns, of columns without rows. */
static kiln_status refuse_empty(const kiln__ref_run_state *run, const bool *reduced) {
    if (run->ir->offsets) return KILN_OK; /* where a row without columns is one like others */
    const int column = run->row_count > 0 ? empty_axis(run, reduced, true) : -1, row = empty_axis(run, reduced, false);
    for (uint32_t i = 0; i < run->ir->count; i++) {
        const kiln__inst *inst = &run->ir->insts[i];
        const bool across = inst->op == KILN__OP_ACROSS_REDUCE;
        const kiln__op op = across ? (kiln__op)inst->u.block.op : inst->op;
        const bool max = op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_ARGMAX;
        const bool min = op == KILN__OP_REDUCE_MIN || op == KILN__OP_REDUCE_ARGMIN;
        const int axis = across ? row : column;
        if ((max || min || kiln__op_selects(op)) && axis >= 0)
            return kiln__fail(KILN_E_SHAPE, "%s over axis %d of size 0 has no value", kiln__op_describe(op)->name,
                              axis);
    }
    return KILN_OK;
}

/* Counts rows and columns; refuses spaces that are too large, and maxima of no elements. */
static kiln_status measure(kiln__ref_run_state *run, const bool *reduced) {
    int64_t total = 1;
    run->row_count = run->count = 1;
    for (int i = 0; i < run->rank; i++) {
        int64_t *part = reduced[i] ? &run->count : &run->row_count;
        if (!kiln__mul_i64(total, run->sizes[i] > 0 ? run->sizes[i] : 1, &total))
            return kiln__fail(KILN_E_SIZE, "the iteration space has more than 2^63 - 1 elements");
        *part *= run->sizes[i];
    }
    return refuse_empty(run, reduced);
}

/* The least columns that are whole blocks of both sizes, or all there are. */
static int64_t both_of(int64_t a, int64_t b, int64_t most) {
    int64_t both;
    for (both = a; both % b; both += a)
        if (both >= most) return most;
    return both;
}

/* How many columns are evaluated at a time: whole blocks where the program reduces some. */
static size_t width_of(const kiln__ref_run_state *run) {
    int64_t width = KILN__REF_WIDTH, block = 1;
    for (uint32_t i = 0; i < run->ir->count; i++)
        if (run->ir->insts[i].op == KILN__OP_BLOCK_REDUCE)
            block = both_of(block, run->ir->insts[i].domain, run->period > 0 ? run->period : 1);
    width = block < width ? width / block * block : block;
    if (run->col_count < width) width = run->col_count;
    return width < 1 ? 1 : (size_t)width;
}

static kiln_status make_room(kiln__ref_run_state *run) {
    const kiln__ir *ir = run->ir;
    kiln__arena *arena = &run->arena;
    run->width = width_of(run);
    run->offsets = kiln__arena_alloc(arena, run->width, sizeof *run->offsets);
    run->values = kiln__arena_alloc(arena, ir->count, sizeof *run->values);
    run->accumulators = kiln__arena_alloc(arena, ir->count, sizeof *run->accumulators);
    run->combine_values = kiln__arena_alloc(arena, ir->combine_count, sizeof *run->combine_values);
    run->roles = kiln__arena_alloc(arena, ir->phase_count + 1, ir->count);
    run->before = kiln__arena_alloc(arena, 1, ir->count);
    kiln__ref_value *memory = kiln__arena_alloc(arena, ir->count, run->width * sizeof *memory);
    if (run->offsets == NULL || run->values == NULL || run->accumulators == NULL || run->combine_values == NULL ||
        run->roles == NULL || run->before == NULL || memory == NULL)
        return kiln__out_of_memory();
    for (uint32_t i = 0; i < ir->count; i++) run->values[i] = memory + i * run->width;
    for (uint32_t i = 0; i < ir->count; i++) {
        const size_t cols = (size_t)run->col_count;
        kiln__ref_accumulator *accumulator = &run->accumulators[i];
        if (!kiln__op_selects(ir->insts[i].op) && !kiln__keeps_row(ir, &ir->insts[i])) continue;
        accumulator->row = kiln__arena_alloc(arena, cols + 1, sizeof *accumulator->row);
        if (accumulator->row == NULL) return kiln__out_of_memory();
        if (ir->insts[i].op != KILN__OP_ORDER) continue;
        accumulator->order = kiln__arena_alloc(arena, 2 * cols + 1, sizeof *accumulator->order);
        if (accumulator->order == NULL) return kiln__out_of_memory();
    }
    if (!kiln__ref_across_make(run)) return kiln__out_of_memory();
    for (uint32_t i = 0; i < ir->combine_count; i++) {
        run->combine_values[i] = kiln__ref_combine_make(&ir->combines[i], arena);
        if (run->combine_values[i] == NULL) return kiln__out_of_memory();
    }
    return KILN_OK;
}

static bool has_places(const kiln__ir *ir) {
    for (uint32_t o = 0; o < ir->output_count; o++)
        if (ir->places[o]) return true;
    return false;
}

static kiln_status prepare(kiln__ref_run_state *run, const kiln_tensor *tensors, const bool *reduced) {
    kiln_status status = measure(run, reduced);
    if (status != KILN_OK) return status;
    run->flat = run->ir->phase_count == 0 && run->ir->elsewhere == 0 && !run->ir->length && !has_places(run->ir) &&
                !run->ir->uneven.columns && !kiln__ir_sorts(run->ir);
    for (uint32_t o = 0; o < run->ir->output_count; o++) {
        const kiln_tensor *tensor = &tensors[run->ir->input_count + o];
        run->per_element[o] = run->ir->insts[run->ir->outputs[o]].per_element;
        for (int i = 0; i < run->rank && tensor->rank == run->rank; i++)
            run->per_element[o] = run->per_element[o] || (reduced[i] && tensor->sizes[i] != 1);
        run->flat = run->flat && run->per_element[o] && !kiln__has_first(&run->ir->insts[run->ir->outputs[o]]);
    }
    run->col_count = run->flat ? run->count * run->row_count : run->count;
    if (run->flat) run->row_count = 1;
    run->period = run->ir->uneven.columns ? run->ir->uneven.columns : run->col_count;
    bool in_row[KILN_MAX_RANK] = {false};
    for (int i = 0; i < run->rank; i++) in_row[i] = run->flat || reduced[i];
    lay_out_positions(run, in_row);
    status = lay_out(run, tensors, reduced, in_row);
    return status == KILN_OK ? make_room(run) : status;
}

static kiln_status run_in(bool own_types, const kiln__ir *ir, const kiln_tensor *tensors,
                          const kiln__indexed_rows *tables, const kiln_scalar *scalars, int rank, const int64_t *sizes,
                          const bool *reduced) {
    kiln__ref_run_state *run = calloc(1, sizeof *run); /* its views are too many for a small stack */
    if (run == NULL) return kiln__out_of_memory();
    run->ir = ir;
    run->scalars = scalars;
    run->tables = tables;
    run->own_types = own_types;
    run->rank = rank;
    run->sizes = sizes;
    kiln_status status = prepare(run, tensors, reduced);
    if (status == KILN_OK) kiln__ref_run_rows(run);
    kiln__arena_free(&run->arena);
    free(run);
    return status;
}

kiln_status kiln__ref_run(const kiln__ir *ir, const kiln_tensor *tensors, const kiln__indexed_rows *tables,
                          const kiln_scalar *scalars, int rank, const int64_t *sizes, const bool *reduced) {
    return run_in(false, ir, tensors, tables, scalars, rank, sizes, reduced);
}

kiln_status kiln__ref_run_own_types(const kiln__ir *ir, const kiln_tensor *tensors, const kiln__indexed_rows *tables,
                                    const kiln_scalar *scalars, int rank, const int64_t *sizes, const bool *reduced) {
    return run_in(true, ir, tensors, tables, scalars, rank, sizes, reduced);
}

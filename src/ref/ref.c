/* The CPU reference's entry: lays tensors over the space, makes room for the values, and runs.
 * Everything it takes is taken here, from one arena; the run itself cannot fail. */
#include "ref/ref.h"

#include <string.h>

#include "base/checked.h"
#include "ref/run.h"

/* A tensor's strides over the space; its axes align at the right, or are the kept axes where the reduced ones
 * are dropped. */
static void output_strides(const kiln_tensor *tensor, bool per_element, int rank, const bool *reduced, int64_t *strides)
{
    kiln__ref_strides(tensor, rank, strides);
    if (per_element || tensor->rank == rank)
        return;
    int axis = 0;
    for (int i = 0; i < rank; i++) {
        bool mine = !reduced[i] && axis < tensor->rank;
        strides[i] = mine && tensor->sizes[axis] != 1 ? tensor->strides[axis] : 0;
        axis += mine;
    }
}

static bool has_elements(const kiln_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->sizes[i] == 0)
            return false;
    return true;
}

/* The addresses [*low, *high) that a tensor's elements take. */
static void byte_range(const kiln_tensor *tensor, uintptr_t *low, uintptr_t *high)
{
    int64_t size = (int64_t)kiln_type_size(tensor->type), below = 0, above = size;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t reach = (tensor->sizes[i] - 1) * tensor->strides[i] * size;
        below += reach < 0 ? reach : 0;
        above += reach > 0 ? reach : 0;
    }
    *low = (uintptr_t)tensor->data - (uintptr_t)-below;
    *high = (uintptr_t)tensor->data + (uintptr_t)above;
}

static bool overlaps(const kiln_tensor *a, const kiln_tensor *b)
{
    uintptr_t a_low, a_high, b_low, b_high;
    byte_range(a, &a_low, &a_high);
    byte_range(b, &b_low, &b_high);
    return has_elements(a) && has_elements(b) && a_low < b_high && b_low < a_high;
}

/* Replaces *tensor by a contiguous copy of it. */
static kiln_status copy_tensor(kiln_tensor *tensor, kiln__arena *arena)
{
    const bool all[KILN_MAX_RANK] = {true, true, true, true, true, true, true, true};
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->sizes[i]; /* fits: the tensor lies in memory */
    size_t size = kiln_type_size(tensor->type);
    char *data = kiln__arena_alloc(arena, (size_t)count, size);
    if (data == NULL)
        return kiln__out_of_memory();
    kiln__ref_view view = kiln__ref_view_make(tensor->data, tensor->type, tensor->rank, tensor->sizes, tensor->strides, all);
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view.cols, 0);
    int64_t stride = view.cols.strides[view.cols.rank - 1];
    for (int64_t done = 0; done < count;) {
        int64_t offset, run = kiln__ref_cursor_next(&cursor, count - done, &offset);
        for (int64_t i = 0; i < run; i++, done++)
            memcpy(data + (size_t)done * size, (const char *)view.data + (offset + i * stride) * (int64_t)size, size);
    }
    *tensor = kiln_tensor_contiguous(data, tensor->type, tensor->rank, tensor->sizes);
    return KILN_OK;
}

/* An output is written while inputs of later elements are still to be read. That is right where both lie over the
 * space in the same way; any other input that shares memory with an output is copied first. */
static kiln_status lay_out(kiln__ref_run_state *run, const kiln_tensor *tensors, const bool *reduced, const bool *in_row)
{
    const kiln__ir *ir = run->ir;
    int rank = run->rank;
    int64_t strides[KILN_MAX_TENSORS][KILN_MAX_RANK];
    for (uint32_t o = 0; o < ir->output_count; o++) {
        const kiln_tensor *tensor = &tensors[ir->input_count + o];
        output_strides(tensor, run->per_element[o], rank, reduced, strides[o]);
        void *data = has_elements(tensor) ? tensor->data : NULL;
        run->outputs[o] = kiln__ref_view_make(data, tensor->type, rank, run->sizes, strides[o], in_row);
    }
    for (uint32_t i = 0; i < ir->input_count; i++) {
        kiln_tensor tensor = tensors[i];
        int64_t own[KILN_MAX_RANK];
        kiln__ref_strides(&tensor, rank, own);
        bool copy = false;
        for (uint32_t o = 0; o < ir->output_count; o++) {
            const kiln_tensor *output = &tensors[ir->input_count + o];
            bool same = output->data == tensor.data && output->type == tensor.type &&
                        memcmp(own, strides[o], (size_t)rank * sizeof own[0]) == 0;
            copy = copy || (!same && overlaps(&tensor, output));
        }
        if (copy) {
            kiln_status status = copy_tensor(&tensor, &run->arena);
            if (status != KILN_OK)
                return status;
            kiln__ref_strides(&tensor, rank, own);
        }
        run->inputs[i] = kiln__ref_view_make(has_elements(&tensor) ? tensor.data : NULL, tensor.type, rank, run->sizes, own, in_row);
    }
    return KILN_OK;
}

/* Counts rows and columns; refuses spaces that are too large, and maxima of no elements. */
static kiln_status measure(kiln__ref_run_state *run, const bool *reduced)
{
    int64_t total = 1;
    int empty_axis = -1;
    run->row_count = run->count = 1;
    for (int i = 0; i < run->rank; i++) {
        int64_t *part = reduced[i] ? &run->count : &run->row_count;
        if (!kiln__mul_i64(*part, run->sizes[i], part) || !kiln__mul_i64(total, run->sizes[i] > 0 ? run->sizes[i] : 1, &total))
            return kiln__fail(KILN_E_SIZE, "the iteration space has more than 2^63 - 1 elements");
        if (reduced[i] && run->sizes[i] == 0 && empty_axis < 0)
            empty_axis = i;
    }
    for (uint32_t i = 0; i < run->ir->count && run->row_count > 0 && empty_axis >= 0; i++) {
        kiln__op op = run->ir->insts[i].op;
        if (op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_MIN)
            return kiln__fail(KILN_E_SHAPE, "%s over axis %d, which has size 0: no elements have no %s",
                              op == KILN__OP_REDUCE_MAX ? "max" : "min", empty_axis,
                              op == KILN__OP_REDUCE_MAX ? "maximum" : "minimum");
    }
    return KILN_OK;
}

/* Views whose offsets are an element's coordinates and its linear index. */
static void lay_out_positions(kiln__ref_run_state *run, const bool *in_row)
{
    int64_t linear[KILN_MAX_RANK] = {0}, step = 1;
    for (int axis = run->rank - 1; axis >= 0; axis--) {
        int64_t unit[KILN_MAX_RANK] = {0};
        unit[axis] = 1;
        run->indices[axis] = kiln__ref_view_make(NULL, KILN_I64, run->rank, run->sizes, unit, in_row);
        linear[axis] = step;
        step *= run->sizes[axis] > 0 ? run->sizes[axis] : 1;
    }
    run->linear = kiln__ref_view_make(NULL, KILN_I64, run->rank, run->sizes, linear, in_row);
}

static kiln_status make_room(kiln__ref_run_state *run)
{
    const kiln__ir *ir = run->ir;
    uint32_t reductions = 0;
    for (uint32_t s = 0; s < run->stages.count; s++)
        if (run->stages.stages[s].reductions.count > reductions)
            reductions = run->stages.stages[s].reductions.count;
    run->width = run->col_count < 1 ? 1 : run->col_count < KILN__REF_WIDTH ? (size_t)run->col_count : KILN__REF_WIDTH;
    run->values = kiln__arena_alloc(&run->arena, ir->count, sizeof *run->values);
    run->scratch = kiln__arena_alloc(&run->arena, run->width, sizeof *run->scratch);
    run->accumulators = kiln__arena_alloc(&run->arena, reductions, sizeof *run->accumulators);
    run->combiners = kiln__arena_alloc(&run->arena, ir->combine_count, sizeof *run->combiners);
    double *memory = kiln__arena_alloc(&run->arena, ir->count, run->width * sizeof *memory);
    if (run->values == NULL || run->scratch == NULL || run->accumulators == NULL || run->combiners == NULL || memory == NULL)
        return kiln__out_of_memory();
    for (uint32_t i = 0; i < ir->count; i++)
        run->values[i].f64 = memory + i * run->width;
    for (uint32_t i = 0; i < ir->combine_count; i++) {
        kiln_status status = kiln__ref_combiner_make(&ir->combines[i], &run->arena, &run->combiners[i]);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static kiln_status prepare(kiln__ref_run_state *run, const kiln_tensor *tensors, const bool *reduced)
{
    kiln_status status = measure(run, reduced);
    if (status != KILN_OK)
        return status;
    for (uint32_t o = 0; o < run->ir->output_count; o++) {
        const kiln_tensor *tensor = &tensors[run->ir->input_count + o];
        run->per_element[o] = run->ir->insts[run->ir->outputs[o]].per_element;
        for (int i = 0; i < run->rank && tensor->rank == run->rank; i++)
            run->per_element[o] = run->per_element[o] || (reduced[i] && tensor->sizes[i] != 1);
    }
    status = kiln__ref_stages_make(run->ir, run->per_element, &run->arena, &run->stages);
    if (status != KILN_OK)
        return status;

    bool in_row[KILN_MAX_RANK] = {false};
    for (int i = 0; i < run->rank; i++)
        in_row[i] = run->stages.flat || reduced[i];
    run->col_count = run->count;
    if (run->stages.flat) {
        run->col_count *= run->row_count;
        run->row_count = 1;
    }
    lay_out_positions(run, in_row);
    status = lay_out(run, tensors, reduced, in_row);
    return status == KILN_OK ? make_room(run) : status;
}

kiln_status kiln__ref_run(const kiln__ir *ir, const kiln_tensor *tensors, const kiln_scalar *scalars, int rank,
                          const int64_t *sizes, const bool *reduced)
{
    kiln__ref_run_state run;
    memset(&run, 0, sizeof run);
    run.ir = ir;
    run.scalars = scalars;
    run.rank = rank;
    run.sizes = sizes;
    kiln_status status = prepare(&run, tensors, reduced);
    if (status == KILN_OK) {
        kiln__ref_run_constants(&run);
        kiln__ref_run_rows(&run);
    }
    kiln__arena_free(&run.arena);
    return status;
}

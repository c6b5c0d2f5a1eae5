/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical problems: dimensions of one element are dropped, neighbours that lie alike in every tensor are merged,
 * kept dimensions come before reduced ones. */
#include "problem/problem.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/extent.h"
#include "base/types.h"

/* An axis of the space, or several merged ones, with every operand's stride along it. */
typedef struct dim {
    int64_t extent;
    bool reduced;
    int64_t strides[KILN_MAX_TENSORS + KILN__MAX_POSITIONS];
} dim;

/* Those that have more than one element, kept ones first. */
typedef struct dims {
    int rank;
    dim at[KILN_MAX_RANK];
} dims;

/* Elements of an output must not lie in one place: each dimension steps over all that moves in smaller steps. */
static kiln_status check_apart(const kiln_tensor *tensor, const char *name) {
    int axes[KILN_MAX_RANK], count = kiln__axes_by_stride(tensor, axes);
    int64_t span = 1;
    for (int i = 0; i < count && kiln__has_elements(tensor); i++) {
        int64_t stride = kiln__magnitude(tensor->strides[axes[i]]);
        if (stride < span)
            return kiln__fail(KILN_E_OVERLAP,
                              "output '%s' overlaps itself: a stride of it is %" PRId64 ", expected %" PRId64
                              " or more",
                              name, stride, span);
        span += stride * (tensor->sizes[axes[i]] - 1);
    }
    return KILN_OK;
}

static int alignment_of(const kiln_tensor *tensor) {
    int elements = (int)(kiln__alignment_of(tensor->data) / kiln_type_size(tensor->type));
    if (kiln__type_is_packed(tensor->type)) return elements < 16 ? 2 * elements : 16; /* no vector has more */
    return elements ? elements : 1;
}

static void drop_ones(dims *d) {
    int rank = 0;
    for (int i = 0; i < d->rank; i++)
        if (d->at[i].extent != 1) d->at[rank++] = d->at[i];
    d->rank = rank;
}

/* Whether dimension b belongs before its left neighbour a: kept ones stand before reduced ones, and of one kind the one
 * with the larger stride in tensor `key`. A dimension that `key` broadcasts over moves slowest of all. */
static bool belongs_before(const dim *b, const dim *a, int key, bool keep_order) {
    if (a->reduced != b->reduced) return a->reduced;
    if (keep_order && a->reduced) return false;
    int64_t left = kiln__magnitude(a->strides[key]), right = kiln__magnitude(b->strides[key]);
    return left != 0 && (right == 0 || right > left);
}

/* Insertion sort: stable, and there are eight dimensions at most. */
static void sort_dims(dims *d, int key, bool keep_order) {
    for (int i = 1; i < d->rank; i++) {
        dim moved = d->at[i];
        int to = i;
        for (; to > 0 && belongs_before(&moved, &d->at[to - 1], key, keep_order); to--) d->at[to] = d->at[to - 1];
        d->at[to] = moved;
    }
}

/* Whether each tensor steps over all of b from one element of a to the next. */
static bool merges(const dim *a, const dim *b, int operands) {
    bool same = a->reduced == b->reduced;
    for (int o = 0; o < operands && same; o++) same = a->strides[o] == b->strides[o] * b->extent;
    return same;
}

static void merge_dims(dims *d, int operands) {
    for (int i = d->rank - 2; i >= 0; i--) {
        if (!merges(&d->at[i], &d->at[i + 1], operands)) continue;
        d->at[i + 1].extent *= d->at[i].extent;
        d->rank--;
        memmove(&d->at[i], &d->at[i + 1], (size_t)(d->rank - i) * sizeof *d->at);
    }
}

/* The tensor whose order of dimensions the kernel follows: the first output of an elementwise program, so that stores
 * lie side by side, else the first input that has all elements. */
static int key_operand(const kiln__tensors *tensors, const bool *full, bool flat) {
    for (int o = flat ? tensors->input_count : 0; o < tensors->input_count + tensors->output_count; o++)
        if (full[o]) return o;
    return 0;
}

/* Whether the operand's kept strides are those of one index over all rows, and its stride. `natural` is what the
 * stride would be with more rows than one, where there is no kept dimension to tell. */
static void find_row_stride(const kiln__problem *problem, kiln__operand *operand, int64_t natural) {
    int last = problem->outer_rank - 1;
    operand->linear = true;
    operand->row_stride = last < 0 ? natural : operand->outer_strides[last];
    int64_t expected = operand->row_stride;
    for (int i = last; i >= 0; i--) {
        operand->linear &= operand->outer_strides[i] == expected;
        kiln__mul_i64(expected, problem->outer[i], &expected); /* too much only where nothing follows */
        operand->follows_rows |= operand->outer_strides[i] != 0;
    }
    if (last < 0) operand->follows_rows = natural != 0;
    if (problem->layout == KILN__LAYOUT_FLAT) operand->linear &= operand->row_stride == 0 || operand->row_stride == 1;
}

static void split(const dims *d, kiln__problem *problem) {
    problem->rows = problem->cols = 1;
    for (int i = 0; i < d->rank; i++) {
        bool inner = d->at[i].reduced;
        *(inner ? &problem->inner[problem->inner_rank++] : &problem->outer[problem->outer_rank++]) = d->at[i].extent;
        *(inner ? &problem->cols : &problem->rows) *= d->at[i].extent;
    }
    if (problem->rows) problem->rows -= problem->pitch - problem->filled; /* nothing is behind the last row */
    /* A size left open is planned as the small ones that most are: as two. */
    problem->wide = problem->rows / (problem->open_rows ? KILN__OPEN_ROWS / 2 : 1) > INT32_MAX;
}

/* Whether neighbouring rows lie closer together than neighbouring columns, of which there may be one. A single row has
 * no neighbour: there the order of the axes tells what more rows would be like, so that it is computed as it would be
 * among them. */
static bool rows_are_closer(const kiln__problem *problem, const kiln__space *space, const dims *d, int key) {
    if (!problem->inner_rank) return true;
    if (!problem->outer_rank) return !space->reduced[space->rank - 1];
    int64_t row = kiln__magnitude(d->at[problem->outer_rank - 1].strides[key]);
    int64_t column = kiln__magnitude(d->at[d->rank - 1].strides[key]);
    return row != 0 && (column == 0 || row < column);
}

/* The stride from row to row where the space has one row: 0 where the tensor lacks an axis of the kept ones; as far as
 * it says itself if that is beyond its columns, so that the row is computed as it would be among others; else as a
 * contiguous one. */
static int64_t natural_stride(const kiln__problem *problem, const kiln__space *space, const kiln_tensor *tensor,
                              bool full) {
    if (problem->layout == KILN__LAYOUT_FLAT) return full;
    const int missing = space->rank - tensor->rank;
    int64_t stride = problem->cols;
    for (int i = 0; i < missing; i++) full &= space->reduced[i];
    for (int i = missing > 0 ? missing : 0; i < space->rank && problem->layout == KILN__LAYOUT_INNER; i++)
        if (!space->reduced[i]) stride = kiln__magnitude(tensor->strides[i - missing]);
    return !full ? 0 : stride > problem->cols ? stride : problem->cols;
}

static bool needs_values(kiln__op op) {
    return op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_MIN || kiln__op_is_arg(op) || kiln__op_selects(op);
}

/* A maximum, minimum or k-th value of nothing has no value: of a row without columns, of columns without rows. */
static kiln_status check_empty(const kiln__ir *ir, const kiln__space *space) {
    int64_t rows, cols;
    kiln_status status = kiln__space_extents(space, &rows, &cols);
    if (status || (rows && cols) || ir->offsets) return status; /* a row without columns is one like others there */
    for (uint32_t i = 0; i < ir->count; i++) {
        const bool across = ir->insts[i].op == KILN__OP_ACROSS_REDUCE;
        const kiln__op op = across ? (kiln__op)ir->insts[i].u.block.op : ir->insts[i].op;
        if (!needs_values(op) || (across ? rows != 0 : rows == 0)) continue;
        int axis = 0;
        while (space->reduced[axis] == across || space->sizes[axis] != 0) axis++;
        return kiln__fail(KILN_E_SHAPE, "%s over axis %d of size 0 has no value", kiln__ir_op_name(op), axis);
    }
    return KILN_OK;
}

/* Whether columns must be counted in their own order: neighbours by number are a block, or share a value. */
static bool counts_columns(const kiln__ir *ir) {
    for (int i = 0; i < KILN_MAX_TENSORS; i++)
        if (ir->input_runs[i]) return true;
    for (uint32_t i = 0; i < ir->count; i++)
        if (kiln__op_is_ordered(ir->insts[i].op) || ir->insts[i].op == KILN__OP_BLOCK_REDUCE ||
            ir->insts[i].op == KILN__OP_TAKE || ir->insts[i].op == KILN__OP_ORDER || kiln__op_is_arg(ir->insts[i].op))
            return true;
    return ir->uneven.columns > 0 || ir->length;
}

/* Of a value of all rows the columns are those of each row, which are reduced once more. */
void kiln__find_reductions(const kiln__ir *ir, kiln__problem *problem) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const int64_t block = ir->insts[i].domain;
        int at = 0;
        problem->ordered |= kiln__op_is_ordered(ir->insts[i].op);
        problem->across |= ir->insts[i].op == KILN__OP_ACROSS_REDUCE;
        problem->columns_out |= ir->insts[i].op == KILN__OP_ACROSS_REDUCE && ir->insts[i].per_element;
        if (ir->insts[i].op != KILN__OP_BLOCK_REDUCE) continue;
        while (at < problem->block_count && problem->blocks[at] < block) at++;
        if (at < problem->block_count && problem->blocks[at] == block) continue;
        memmove(problem->blocks + at + 1, problem->blocks + at,
                (size_t)(problem->block_count - at) * sizeof *problem->blocks);
        problem->blocks[at] = block;
        problem->block_count++;
    }
}

static void fill_operand(const kiln__problem *problem, const dims *d, int o, int64_t natural, kiln__operand *operand) {
    int64_t *outer = operand->outer_strides, *inner = operand->inner_strides;
    for (int i = 0; i < d->rank; i++) *(d->at[i].reduced ? inner++ : outer++) = d->at[i].strides[o];
    int64_t below = 1;
    operand->contiguous_columns = true;
    for (int i = problem->inner_rank - 1; i >= 0; i--) {
        operand->contiguous_columns &= operand->inner_strides[i] == below;
        below *= problem->inner[i];
    }
    find_row_stride(problem, operand, operand->output && !operand->per_element ? 1 : natural);
}

/* An element's coordinate along an axis, or its row-major index, is its offset in a tensor of the strides set here. */
static void find_positions(const kiln__ir *ir, const kiln__space *space, int tensors, dims *d, kiln__problem *problem) {
    const int rows = ir->offsets ? space->rank - 2 : -1; /* an element has the place that it has among all rows' */
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op != KILN__OP_INDEX && inst->op != KILN__OP_UNIFORM) continue;
        int axis = inst->op == KILN__OP_INDEX ? inst->u.axis : KILN__LINEAR_INDEX, known = 0;
        while (known < problem->position_count && problem->position_axes[known] != axis) known++;
        if (known < problem->position_count) continue;
        problem->position_axes[problem->position_count++] = axis;
        int64_t linear = 1;
        for (int j = space->rank - 1; j >= 0; linear *= j == rows ? 1 : space->sizes[j], j--)
            d->at[j].strides[tensors + known] = axis != KILN__LINEAR_INDEX ? j == axis : j == rows ? 0 : linear;
    }
}

/* What the tensors are: whether each has every element of the space; how many neighbouring columns share a value that
 * is a block's, 0 of others. */
typedef struct tensors {
    const kiln__tensors *given;
    int count;
    bool full[KILN_MAX_TENSORS], all_full; /* all outputs are */
    int64_t runs[KILN_MAX_TENSORS], block_strides[KILN_MAX_TENSORS];
    const kiln__indexed_rows *tables; /* of each tensor */
    const kiln__ragged *ragged;
    const kiln__inst *values[KILN_MAX_TENSORS]; /* of outputs */
} tensors;

static kiln_status lay_out(const kiln__ir *ir, const kiln__shaped *shaped, int o, dims *d, tensors *t) {
    const kiln_tensor *tensor = &t->given->at[o];
    const bool output = o >= t->given->input_count;
    int64_t strides[KILN_MAX_RANK] = {0};
    kiln_status status = output ? check_apart(tensor, t->given->names[o]) : KILN_OK;
    t->values[o] = output ? &ir->insts[ir->outputs[o - t->given->input_count]] : NULL;
    const int64_t run = output ? kiln__stored_run(ir, t->values[o]) : 0;
    if (!status) status = kiln__shaped_strides(shaped, o, ir, t->values[o], strides, &t->full[o]);
    for (int i = 0; i < shaped->space.rank; i++) d->at[i].strides[o] = strides[i];
    t->runs[o] = output && !t->full[o] && run != KILN__RUN_OF_ROW ? run : 0;
    if (!output) t->runs[o] = shaped->repeats[o];
    if (ir->uneven.columns && t->runs[o]) t->block_strides[o] = kiln__shaped_block_stride(shaped, tensor);
    t->all_full = t->all_full && (!output || t->full[o]);
    return status;
}

static kiln_status lay_out_all(const kiln__ir *ir, const kiln__shaped *shaped, dims *d, tensors *t) {
    kiln_status status = check_empty(ir, &shaped->space);
    for (int o = 0; o < t->count && !status; o++) status = lay_out(ir, shaped, o, d, t);
    return status;
}

/* Blocks of columns are reduced by threads that have neighbouring columns of a row. */
static kiln__layout layout_of(const kiln__problem *problem, const kiln__space *space, const dims *d, int key,
                              bool flat) {
    if (flat) return KILN__LAYOUT_FLAT;
    const bool inner = problem->block_count || problem->across || problem->taken || problem->tables;
    if (inner || problem->uneven_columns || problem->lengths || problem->sorted || problem->first)
        return KILN__LAYOUT_INNER;
    return rows_are_closer(problem, space, d, key) ? KILN__LAYOUT_OUTER : KILN__LAYOUT_INNER;
}

/* Whether the output has columns: where it is of several rows, its value has them, else its shape says. */
static bool has_columns(const tensors *t, int o) {
    const kiln__inst *value = t->values[o];
    if (value == NULL) return false;
    if (value->across || t->tables[o].rows || t->ragged->packed) return value->per_element;
    return t->full[o] || t->runs[o] > 0;
}

static void fill_tensor(const kiln__space *space, const dims *d, const tensors *t, int o, kiln__problem *out) {
    kiln__operand *operand = &out->operands[o];
    const bool output = o >= t->given->input_count;
    operand->type = t->given->at[o].type;
    operand->output = output;
    operand->alignment = alignment_of(&t->given->at[o]);
    out->packed |= kiln__type_is_packed(operand->type);
    operand->run = t->runs[o];
    operand->block_stride = t->block_strides[o];
    operand->first = output && kiln__has_first(t->values[o]) ? t->values[o]->columns : 0;
    operand->across = output ? t->values[o]->across : (out->later & ~(out->read | out->taken)) >> o & 1;
    bool varies = (out->inner_rank > 0 && has_columns(t, o)) || operand->block_stride != 0;
    operand->taken = !output && (out->taken >> o & 1);
    const bool unread = operand->taken && !(out->read >> o & 1); /* no loop over columns needs it */
    for (int i = out->outer_rank; i < d->rank && !output && !unread; i++) varies |= d->at[i].strides[o] != 0;
    operand->per_element =
        out->layout == KILN__LAYOUT_FLAT || varies; /* by its strides: one of 0 broadcasts as a size of 1 does */
    operand->own_columns = operand->per_element && operand->run == 0 && !operand->first && !operand->across;
    out->columns_out |= output && operand->per_element;
    const bool rows = (t->full[o] || operand->run > 0) && !operand->across && !t->tables[o].rows;
    fill_operand(out, d, o, natural_stride(out, space, &t->given->at[o], rows), operand);
}

/* Each row of a table may be where the index says: a vector is as aligned as all of them. */
static void fill_table(const kiln__indexed_rows *table, kiln__operand *operand) {
    if (table->rows == 0) return;
    operand->table = *table;
    operand->follows_rows = true;
    while (table->stride % operand->alignment) operand->alignment /= 2;
}

/* An element for each row, also where there is one alone: it has the kernel of many. */
static void fill_offsets(const kiln__problem *problem, kiln__operand *operand) {
    if (problem->outer_rank > 0) return;
    operand->row_stride = 1;
    operand->follows_rows = true;
}

/* Its rows are as far apart as offsets say, whatever else the strides do. */
static void fill_packed_rows(const kiln__problem *problem, kiln__operand *operand) {
    operand->packed_rows = operand->follows_rows = true;
    if (problem->outer_rank == 0) operand->row_stride = 0;
}

#define ACCESS_BYTES 16 /* the most that a thread loads or stores at once */

/* Whether the tensor's rows of contiguous elements follow each other at the pitch, in all dimensions. */
static bool has_pitch(const dims *d, int o, int64_t pitch) {
    int64_t expected = pitch;
    bool same = d->at[d->rank - 1].strides[o] == 1;
    for (int i = d->rank - 2; i >= 0; expected = kiln__times(expected, d->at[i--].extent))
        same &= d->at[i].strides[o] == expected;
    return same && expected < INT64_MAX; /* of more elements the number would not be one */
}

/* The distance between rows of all tensors that have every element, where rows begin or end between vectors of the
 * widest type's accesses; else 0. */
static int64_t common_pitch(const tensors *t, const dims *d) {
    const int64_t pitch = d->at[d->rank - 2].strides[t->given->input_count], run = d->at[d->rank - 1].extent;
    int64_t vector = ACCESS_BYTES;
    bool common = true;
    for (int o = 0; o < t->count; o++) {
        const int64_t elements = ACCESS_BYTES / (int64_t)kiln_type_size(t->given->at[o].type);
        common &= (!t->full[o] || has_pitch(d, o, pitch)) && !kiln__type_is_packed(t->given->at[o].type);
        if (elements < vector) vector = elements;
    }
    const bool whole = pitch % vector == 0 && run % vector == 0;
    return common && !whole ? pitch : 0;
}

/* Rows that are some elements apart, and what is between them, become one array, whose accesses are whole wherever a
 * row begins. At most half of its threads are where nobody has elements. */
static void join_rows(const tensors *t, dims *d, kiln__problem *out) {
    if (d->rank < 2) return;
    dim *last = &d->at[d->rank - 1];
    const int64_t run = last->extent, pitch = common_pitch(t, d);
    if (pitch <= run || pitch > 2 * run) return;
    out->pitch = pitch;
    out->filled = run;
    last->extent = pitch;
    merge_dims(d, t->count + out->position_count);
}

/* The space's axes as dimensions, canonical. */
static kiln_status arrange(const kiln__ir *ir, const kiln__space *space, const tensors *t, dims *d, bool exact,
                           kiln__problem *out) {
    const bool rows = out->tables || out->lengths || out->uneven_columns || out->sorted || out->first;
    const bool flat = ir->phase_count == 0 && ir->elsewhere == 0 && t->all_full && !rows;
    for (int i = 0; i < space->rank; i++) {
        d->at[i].extent = space->sizes[i];
        d->at[i].reduced = space->reduced[i] && !flat;
    }
    if (t->ragged->packed) d->at[space->rank - 1].extent = kiln__ragged_columns(t->ragged);
    if (out->open_rows && d->at[0].reduced)
        return kiln__fail(KILN_E_AXIS, "axis 0 is left open and cannot be reduced over");
    const int key = key_operand(t->given, t->full, flat);
    find_positions(ir, space, t->count, d, out);
    memcpy(out->sizes, space->sizes, sizeof out->sizes);
    out->last_axis = space->rank - 1;
    drop_ones(d);
    sort_dims(d, key, counts_columns(ir));
    merge_dims(d, t->count + out->position_count);
    if (flat && exact) join_rows(t, d, out);
    split(d, out);
    out->layout = layout_of(out, space, d, key, flat);
    out->longest = t->ragged->packed ? t->ragged->columns : out->cols;
    return KILN_OK;
}

/* A byte of two elements is what one thread reads or writes: both are neighbours in a vector. */
static kiln_status check_packed(const kiln__problem *problem, const kiln__operand *operand, const char *name) {
    const bool flat = problem->layout == KILN__LAYOUT_FLAT;
    const int last = (flat ? problem->outer_rank : problem->inner_rank) - 1;
    const int64_t *strides = flat ? operand->outer_strides : operand->inner_strides;
    const bool lies_along =
        last >= 0 && strides[last] == 1 && problem->layout != KILN__LAYOUT_OUTER && operand->table.stride % 2 == 0;
    if (!kiln__type_is_packed(operand->type) || (lies_along && operand->own_columns && !problem->lengths))
        return KILN_OK;
    return kiln__fail(
        KILN_E_UNSUPPORTED,
        "tensor '%s' has two elements of %s in a byte, which the program takes apart: expected reductions "
        "over the last axis or none, an element for each column, and the same order of axes in all tensors",
        name, kiln_type_name(operand->type));
}

/* The widest vector, a power of two, of which the packed tensor's runs and the distances between them are multiples:
 * then none lies in two runs, and all are accesses alike. */
static int widest_packed(const kiln__problem *problem, const kiln__operand *operand) {
    const bool flat = problem->layout == KILN__LAYOUT_FLAT;
    const int rank = flat ? problem->outer_rank : problem->inner_rank;
    int width = 16;
    if (!kiln__type_is_packed(operand->type) || (flat && operand->linear)) return width;
    while ((flat ? problem->outer : problem->inner)[rank - 1] % width) width /= 2;
    for (int d = 0; d < problem->outer_rank; d++)
        while (operand->outer_strides[d] != 1 && operand->outer_strides[d] % width) width /= 2;
    for (int d = 0; d < problem->inner_rank; d++)
        while (operand->inner_strides[d] != 1 && operand->inner_strides[d] % width) width /= 2;
    return width;
}

/* Of all tensors, whose operands are filled. */
static kiln_status find_packed(const tensors *t, kiln__problem *out) {
    kiln_status status = KILN_OK;
    out->least_vector = out->packed ? 2 : 1;
    out->most_vector = 16;
    for (int o = 0; o < t->count && !status && out->packed; o++) {
        const bool elements = out->rows && out->cols, stored = elements || out->operands[o].across;
        if (stored) status = check_packed(out, &out->operands[o], t->given->names[o]);
        const int widest = status || !elements ? 16 : widest_packed(out, &out->operands[o]);
        if (widest < out->most_vector) out->most_vector = widest;
    }
    return status;
}

static kiln_status build(const kiln__ir *ir, const kiln__shaped *shaped, bool exact, kiln__problem *out) {
    const kiln__space *space = &shaped->space;
    tensors t = {.given = &shaped->tensors, .all_full = true, .tables = shaped->tables, .ragged = &shaped->ragged};
    dims d = {.rank = space->rank};
    memset(out, 0, sizeof *out);
    out->input_count = t.given->input_count;
    out->output_count = t.given->output_count;
    out->open_rows = space->open_rows;
    t.count = out->input_count + out->output_count;
    out->uneven_columns = ir->uneven.columns;
    kiln__find_reductions(ir, out);
    out->sorted = kiln__ir_sorts(ir);
    for (uint32_t o = 0; o < ir->output_count; o++) out->first |= kiln__has_first(&ir->insts[ir->outputs[o]]);
    out->lengths = ir->length != 0;
    out->offsets = (int)ir->offsets - 1;
    out->read = ir->read;
    out->taken = ir->taken;
    out->later = ir->later;
    for (int o = 0; o < t.count; o++) out->tables |= shaped->tables[o].rows != 0;
    kiln_status status = lay_out_all(ir, shaped, &d, &t);
    if (!status) status = arrange(ir, space, &t, &d, exact, out);
    for (int o = 0; o < t.count && !status; o++) {
        fill_tensor(space, &d, &t, o, out);
        fill_table(&shaped->tables[o], &out->operands[o]);
        if (o == out->offsets) fill_offsets(out, &out->operands[o]);
        if (kiln__shaped_packed(shaped, o, t.values[o])) fill_packed_rows(out, &out->operands[o]);
    }
    out->sorted = out->sorted && out->cols > 1; /* one column is in order */
    if (!status) status = find_packed(&t, out);
    for (int o = t.count; o < t.count + out->position_count; o++) {
        out->operands[o] = (kiln__operand){.type = KILN_I64, .per_element = true, .alignment = 1};
        fill_operand(out, &d, o, out->cols, &out->operands[o]);
        if (ir->offsets && out->position_axes[o - t.count] == KILN__LINEAR_INDEX)
            fill_packed_rows(out, &out->operands[o]);
    }
    return status;
}

bool kiln__has_blocks(const kiln__problem *problem) {
    bool any = problem->block_count || problem->uneven_columns;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) any |= problem->operands[o].run != 0;
    return any;
}

kiln_status kiln__problem_build(const kiln__ir *ir, const kiln__shaped *shaped, kiln__problem *out) {
    return build(ir, shaped, false, out);
}

kiln_status kiln__problem_build_exact(const kiln__ir *ir, const kiln__shaped *shaped, kiln__problem *out) {
    return build(ir, shaped, true, out);
}

const kiln__operand *kiln__position(const kiln__problem *problem, int axis) {
    int i = 0;
    while (problem->position_axes[i] != axis) i++;
    return &problem->operands[problem->input_count + problem->output_count + i];
}

bool kiln__hides_last_bits(kiln_type type) {
    return type == KILN_E2M1 || type == KILN_E4M3 || type == KILN_E5M2 || type == KILN_F16 || type == KILN_BF16;
}

bool kiln__outputs_are_narrow(const kiln__problem *problem) {
    bool narrow = true;
    for (int o = 0; o < problem->output_count; o++)
        narrow &= kiln__hides_last_bits(problem->operands[problem->input_count + o].type);
    return narrow;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/shaped.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

static kiln__axes axes_of(const kiln__domains *domains, const kiln__axes *program) {
    if (domains->row == NULL) return *program;
    kiln__axes axes = {.all = domains->row->all, .count = domains->row->count};
    memcpy(axes.list, domains->row->axes, sizeof axes.list);
    return axes;
}

/* The last of the axes in a space of so many; -1: none, or one that is not there. */
static int last_of(const kiln__axes *axes, int rank) {
    int last = axes->last || axes->all ? rank - 1 : -1;
    for (int i = 0; i < axes->count; i++) {
        const int axis = axes->list[i] < 0 ? axes->list[i] + rank : axes->list[i];
        if (axis > last) last = axis;
    }
    return last < rank ? last : -1;
}

/* Where the axis is in a tensor that has it aligned from the right; -1: it lacks it. */
static int place_of(int axis, int rank, const kiln_tensor *tensor) {
    const int at = axis - (rank - tensor->rank);
    return axis < 0 || at < 0 ? -1 : at;
}

/* What inputs that have a value for each column say of how many there are; else what the first of those says that have
 * one for several. 1: none says anything. */
static int64_t columns_of(const kiln__domains *domains, const kiln__tensors *tensors, int axis, int rank) {
    int64_t columns = 1, whole = 1;
    for (int i = 0; i < tensors->input_count; i++) {
        const int at = place_of(axis, rank, &tensors->at[i]);
        const int64_t size = at < 0 ? 1 : tensors->at[i].sizes[at];
        if (size == 1) continue;
        if (!domains->repeats[i])
            columns = size;
        else if (whole == 1 && !kiln__mul_i64(size, domains->repeats[i], &whole))
            whole = INT64_MAX;
    }
    return columns == 1 ? whole : columns;
}

static int64_t blocks_in(int64_t columns, int64_t block) { return columns / block + (columns % block != 0); }

/* Inputs of one value for several columns with as many elements as columns. */
static kiln__tensors with_all_columns(const kiln__domains *domains, const kiln__axes *axes,
                                      const kiln__tensors *tensors, kiln_tensor own[KILN_MAX_TENSORS]) {
    kiln__tensors all = *tensors;
    int rank = 0;
    for (int i = 0; i < tensors->input_count; i++)
        if (tensors->at[i].rank > rank) rank = tensors->at[i].rank;
    const int axis = last_of(axes, rank);
    const int64_t columns = columns_of(domains, tensors, axis, rank);
    for (int i = 0; i < tensors->input_count + tensors->output_count; i++) {
        own[i] = tensors->at[i];
        const int64_t block = domains->repeats[i];
        const int at = place_of(axis, rank, &own[i]);
        if (i >= tensors->input_count || !block || at < 0 || own[i].sizes[at] < 2) continue;
        if (own[i].sizes[at] == blocks_in(columns, block))
            own[i].sizes[at] = columns;
        else if (!kiln__mul_i64(own[i].sizes[at], block, &own[i].sizes[at]))
            own[i].sizes[at] = INT64_MAX;
        own[i].strides[at] = 0; /* what it reaches is what it reached */
    }
    all.at = own;
    return all;
}

/* How axes lie beside those of the space: the same ones; those that rows keep; all of them. An axis of one element is
 * whichever fits; any: none is. */
typedef struct beside {
    bool alike, rows, all;
} beside;

static beside compare(const kiln__space *other, const kiln__space *space, bool any) {
    beside is = {true, true, true};
    for (int i = 0; i < space->rank; i++) {
        const bool one = space->sizes[i] == 1 && !any;
        is.alike &= other->reduced[i] == space->reduced[i];
        is.rows &= one ? !(other->reduced[i] && space->reduced[i]) : other->reduced[i] != space->reduced[i];
        is.all &= other->reduced[i] || one;
    }
    return is;
}

/* What reductions over the other axes are, beside rows of the space; of any shape: as they are of most. */
static kiln_status find_across(const kiln__domain *domain, const kiln__tensors *tensors, const kiln__space *space,
                               bool blocks, bool any_shape, kiln__across *out) {
    kiln__axes axes = {.all = domain->all, .count = domain->count};
    kiln__space other;
    memcpy(axes.list, domain->axes, sizeof axes.list);
    kiln_status status = kiln__space_build(&axes, tensors, &other);
    if (status) return status;
    beside is = compare(&other, space, any_shape);
    if (!is.alike && !is.rows && !is.all) is = compare(&other, space, false);
    *out = is.alike ? KILN__ACROSS_NONE : is.all ? KILN__ACROSS_ALL : KILN__ACROSS_ROWS;
    if (!is.alike && !is.rows && !is.all)
        return kiln__fail(KILN_E_UNSUPPORTED, "reductions run over axes of rows and over others: expected all the axes "
                                              "that rows keep there, or all axes");
    if (!is.alike && blocks)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "the program has blocks, and reductions across rows: expected one of them");
    return KILN_OK;
}

/* A row's first columns are those of one axis. */
static kiln_status check_lengths(const kiln__domains *domains, const kiln__space *space) {
    int count = 0;
    for (int i = 0; i < space->rank; i++) count += space->reduced[i];
    if (count == 1 && domains->offsets && !space->reduced[space->rank - 1])
        return kiln__fail(KILN_E_AXIS, "rows that offsets place lie along the last axis: expected no other to be "
                                       "reduced over");
    if (count == 1) return KILN_OK;
    return kiln__fail(KILN_E_AXIS, "rows with lengths lie along one axis, found %d that are reduced over", count);
}

kiln_status kiln__shaped_space(const kiln__domains *domains, const kiln__axes *program, const kiln__tensors *tensors,
                               bool any_shape, kiln__space *out, int *block_axis,
                               kiln__across across[KILN__MAX_ACROSS]) {
    const kiln__axes axes = axes_of(domains, program);
    kiln_tensor own[KILN_MAX_TENSORS];
    kiln__tensors all = *tensors;
    if (domains->block_count) all = with_all_columns(domains, &axes, tensors, own);
    kiln_status status = kiln__space_build(&axes, &all, out);
    for (int i = 0; i < domains->other_count && !status; i++)
        status = find_across(domains->others[i], &all, out, domains->block_count > 0, any_shape, &across[i]);
    *block_axis = -1;
    if (!status && domains->lengths) status = check_lengths(domains, out);
    if (status || domains->block_count == 0) return status;
    for (int i = 0; i < out->rank; i++)
        if (out->reduced[i]) *block_axis = i;
    if (*block_axis < 0)
        return kiln__fail(KILN_E_AXIS, "blocks of %" PRId64 " lie along the last of the reduced axes, which are none",
                          domains->blocks[0]);
    if (out->open_rows && *block_axis == 0)
        return kiln__fail(KILN_E_SIZE, "axis 0 has blocks of %" PRId64 ": it cannot be left open", domains->blocks[0]);
    const bool blocks = kiln__domains_are_blocks(domains);
    for (int i = 0; i < out->rank && blocks; i++) out->reduced[i] = i == *block_axis;
    return KILN_OK;
}

/* ---- how an axis is cut ---- */

/* Blocks of more columns than there are have all of them. */
static int64_t clipped(int64_t block, int64_t columns) { return block < columns || columns == 0 ? block : columns; }

/* Whether blocks do not divide the columns, or one another; argmax and argmin count within blocks that are no rows. */
static bool are_uneven(const kiln__domains *domains, int64_t columns) {
    const int64_t found = domains->found_block, largest = domains->reduced_block;
    int64_t above = columns;
    if (found && (domains->has_rows || clipped(found, columns) < clipped(largest, columns))) return true;
    for (int i = domains->block_count - 1; i >= 0; i--) {
        const int64_t block = clipped(domains->blocks[i], columns);
        if (above % block) return true;
        above = block;
    }
    return false;
}

/* The axis stays one. */
static void keep(const kiln__domains *domains, const kiln__tensors *tensors, kiln__shaped *s) {
    const int64_t columns = s->space.sizes[s->block_axis];
    const int64_t reduced = domains->reduced_block ? clipped(domains->reduced_block, columns) : 0;
    s->part_count = 1;
    s->parts[0] = columns;
    if (reduced == columns && !domains->has_rows) s->row_block = columns;
    s->uneven = (kiln__uneven){.axis = s->block_axis, .columns = columns};
    if (kiln__domains_are_blocks(domains))
        s->uneven.alone = clipped(domains->blocks[domains->block_count - 1], columns);
    for (int i = 0; i < tensors->input_count + tensors->output_count; i++) {
        const int at = place_of(s->block_axis, s->rank, &tensors->at[i]);
        s->own[i] = tensors->at[i];
        if (i < tensors->input_count && at >= 0 && tensors->at[i].sizes[at] > 1) s->repeats[i] = domains->repeats[i];
    }
    s->tensors.at = s->own;
}

static kiln_status cut(const kiln__domains *domains, const kiln__space *space, kiln__shaped *s) {
    const int64_t columns = space->sizes[s->block_axis];
    int64_t sizes[KILN__MAX_BLOCKS + 1] = {columns};
    int count = 1;
    for (int i = domains->block_count - 1; i >= 0; i--) {
        const int64_t block = sizes[count++] = clipped(domains->blocks[i], columns);
        if (domains->blocks[i] == domains->reduced_block && !domains->has_rows) s->row_block = block;
    }
    for (int i = 0; i + 1 < count; i++) s->parts[i] = sizes[i + 1] ? sizes[i] / sizes[i + 1] : 0;
    s->parts[count - 1] = sizes[count - 1];
    s->part_count = count;
    if (space->rank + count - 1 <= KILN_MAX_RANK) return KILN_OK;
    return kiln__fail(KILN_E_SHAPE, "blocks take %d axes more: tensors have rank %d, expected at most %d", count - 1,
                      space->rank, KILN_MAX_RANK - count + 1);
}

/* The axis, of one element or with a value for each run of the last `same` parts, becomes as many as there are parts.
 */
static void split_axis(const kiln__shaped *s, int axis, int same, kiln_tensor *tensor) {
    const int more = s->part_count - 1;
    const bool one = tensor->sizes[axis] == 1;
    int64_t stride = tensor->strides[axis];
    memmove(tensor->sizes + axis + more + 1, tensor->sizes + axis + 1,
            (size_t)(tensor->rank - axis - 1) * sizeof *tensor->sizes);
    memmove(tensor->strides + axis + more + 1, tensor->strides + axis + 1,
            (size_t)(tensor->rank - axis - 1) * sizeof *tensor->strides);
    tensor->rank += more;
    for (int part = s->part_count - 1; part >= 0; part--) {
        const bool broadcasts = one || part >= s->part_count - same;
        tensor->sizes[axis + part] = broadcasts ? 1 : s->parts[part];
        tensor->strides[axis + part] = broadcasts ? 0 : stride;
        if (!broadcasts) kiln__mul_i64(stride, s->parts[part], &stride); /* too much only where nothing follows */
    }
}

/* ---- tensors ---- */

/* Inputs are aligned from the right. repeat: how many columns a value is for. */
static void split_input(const kiln__shaped *s, int rank, int64_t repeat, kiln_tensor *tensor) {
    const int axis = s->block_axis - (rank - tensor->rank);
    int same = 0;
    for (int64_t columns = 1; same < s->part_count && columns < repeat; same++)
        columns *= s->parts[s->part_count - 1 - same];
    if (axis >= 0) split_axis(s, axis, same, tensor);
}

/* Whether an input has several values for a row's columns, but not one for each. */
static bool is_repeated(const kiln__shaped *s, int rank, int64_t repeat, const kiln_tensor *tensor) {
    const int axis = s->block_axis - (rank - tensor->rank);
    return repeat && axis >= 0 && tensor->sizes[axis] > 1;
}

/* The shape, or that of a row of it, which has the reduced axes. */
static const char *shape_of(const kiln__space *space, bool row, int rank, const int64_t *sizes, char text[200]) {
    int64_t kept[KILN_MAX_RANK] = {0};
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (!row || rank != space->rank || space->reduced[i]) kept[count++] = sizes[i];
    return kiln__space_shape(text, count, kept);
}

/* row: it is one of a tensor that put writes. */
static kiln_status refuse_output(const kiln__shaped *s, const kiln__space *space, const char *name, bool row,
                                 const kiln_tensor *tensor) {
    char shape[200], columns[200], values[200];
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, space->sizes, sizeof sizes);
    if (space->open_rows) sizes[0] = -1;
    shape_of(space, row, space->rank, sizes, columns);
    sizes[s->block_axis] = s->parts[0];
    return kiln__fail(KILN_E_SHAPE, "%soutput '%s' has shape %s, expected %s or, of one value for each block, %s",
                      row ? "a row of " : "", name, shape_of(space, row, tensor->rank, tensor->sizes, shape), columns,
                      shape_of(space, row, space->rank, sizes, values));
}

/* An output has all columns, a value for each block of some size, or for each row: it then has one element along the
 * axis, or lacks it. */
static kiln_status split_output(const kiln__shaped *s, const kiln__space *space, const char *name, bool row,
                                kiln_tensor *tensor) {
    const int axis = s->block_axis;
    int64_t columns = space->sizes[axis];
    if (tensor->rank < space->rank && s->row_block == 0) return KILN_OK;
    if (tensor->rank == space->rank && tensor->sizes[axis] == 1 && s->row_block == 0) {
        split_axis(s, axis, s->part_count, tensor);
        return KILN_OK;
    }
    for (int same = 0; same < s->part_count && tensor->rank == space->rank; same++) {
        if (tensor->sizes[axis] == columns) {
            split_axis(s, axis, same, tensor);
            return KILN_OK;
        }
        columns /= s->parts[s->part_count - 1 - same] ? s->parts[s->part_count - 1 - same] : 1;
    }
    return refuse_output(s, space, name, row, tensor);
}

/* Rows' axes, where the one that is cut is all of its parts; where blocks are rows, the parts of one. */
static kiln__axes axes_of_parts(const kiln__shaped *s, const kiln__space *space) {
    kiln__axes axes = {.count = 0};
    int64_t columns = 1; /* of this part and those behind it */
    for (int i = space->rank + s->part_count - 2; i >= 0; i--) {
        const int part = i - s->block_axis;
        const bool cut = part >= 0 && part < s->part_count;
        const int axis = part < 0 ? i : cut ? s->block_axis : i - (s->part_count - 1);
        if (cut) columns *= s->parts[part];
        if (space->reduced[axis] && (!cut || s->row_block == 0 || columns <= s->row_block)) axes.list[axes.count++] = i;
    }
    return axes;
}

static kiln_status split(const kiln__domains *domains, const kiln__tensors *tensors, kiln__shaped *s) {
    const kiln__space space = s->space;
    kiln_status status = cut(domains, &space, s);
    for (int i = 0; i < tensors->input_count + tensors->output_count && !status; i++) {
        s->own[i] = tensors->at[i];
        if (i < tensors->input_count && is_repeated(s, space.rank, domains->repeats[i], &tensors->at[i]))
            s->repeats[i] = domains->repeats[i];
        if (i < tensors->input_count)
            split_input(s, space.rank, domains->repeats[i], &s->own[i]);
        else
            status = split_output(s, &space, tensors->names[i], s->tables[i].rows > 0, &s->own[i]);
    }
    if (status) return status;
    s->tensors.at = s->own;
    const kiln__axes axes = axes_of_parts(s, &space);
    status = kiln__space_build(&axes, &s->tensors, &s->space);
    for (int part = 0; part < s->part_count && !status; part++) /* though no input has a value for each column */
        s->space.sizes[s->block_axis + part] = s->parts[part];
    return status;
}

/* A row of a tensor that put writes has one element along the axes that rows keep. */
static void align_row(const kiln__space *space, kiln_tensor *row) {
    kiln_tensor aligned = *row;
    int columns = 0;
    aligned.rank = space->rank;
    for (int i = 0; i < space->rank; i++) {
        const bool column = space->reduced[i] && columns < row->rank;
        aligned.sizes[i] = column ? row->sizes[columns] : 1;
        aligned.strides[i] = column ? row->strides[columns] : 0;
        columns += space->reduced[i];
    }
    if (columns == row->rank) *row = aligned;
}

static void align_rows(const kiln__tensors *tensors, kiln__shaped *s) {
    for (int o = tensors->input_count; o < tensors->input_count + tensors->output_count; o++)
        if (s->tables[o].rows) align_row(&s->space, &s->viewed[o]);
}

kiln_status kiln__shaped_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__indexed_rows tables[KILN_MAX_TENSORS],
                              kiln__ragged *ragged, kiln__tensors *out) {
    const bool views = domains->tables || domains->offsets; /* of tensors that nobody has looked at before */
    kiln_status status = views ? kiln__space_check(tensors) : KILN_OK;
    *ragged = (kiln__ragged){0};
    if (!status) status = kiln__tables_view(domains, tensors, own, tables, out);
    const kiln__tensors tables_viewed = *out;
    return status ? status : kiln__ragged_view(domains, &tables_viewed, own, ragged, out);
}

static kiln_status make(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                        bool any_shape, kiln__shaped *out) {
    *out = (kiln__shaped){.block_axis = -1};
    kiln_status status = kiln__shaped_view(domains, tensors, out->viewed, out->tables, &out->ragged, &out->tensors);
    const kiln__tensors viewed = out->tensors;
    if (!status)
        status = kiln__shaped_space(domains, axes, &viewed, any_shape, &out->space, &out->block_axis, out->across);
    out->rank = out->space.rank;
    if (status || out->block_axis < 0) return status;
    align_rows(&viewed, out);
    const int64_t columns = out->space.sizes[out->block_axis];
    if ((!any_shape || domains->lengths) && !are_uneven(domains, columns)) return split(domains, &viewed, out);
    if (domains->lengths)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "blocks of rows with lengths divide their columns, found blocks of %" PRId64 " in %" PRId64,
                          domains->blocks[0], columns);
    keep(domains, &viewed, out);
    if (any_shape) out->row_block = 0;
    return KILN_OK;
}

kiln_status kiln__shaped_make(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                              kiln__shaped *out) {
    return make(domains, axes, tensors, false, out);
}

kiln_status kiln__shaped_make_any(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                                  kiln__shaped *out) {
    return make(domains, axes, tensors, true, out);
}

kiln__across_kinds kiln__shaped_across(const kiln__graph *graph, const kiln__domains *domains,
                                       const kiln__across across[KILN__MAX_ACROSS]) {
    kiln__across_kinds kinds = {.count = domains->other_count};
    for (int i = 0; i < kinds.count; i++) {
        kinds.domains[i] = (uint32_t)(domains->others[i] - graph->domains) + 1;
        kinds.kinds[i] = across[i];
    }
    return kinds;
}

/* Whether no row has an element of its own in the output. */
static bool is_of_all(const kiln__shaped *s, int o, const kiln__inst *value) {
    return value->across || s->tables[o].rows > 0;
}

/* The axes of the space along which tensor number o, an output, has one element for the value that it stores. */
static void find_same(const kiln__shaped *s, int o, const kiln__inst *value, bool same[KILN_MAX_RANK]) {
    const uint32_t run = value->run;
    int64_t columns = 1;
    bool one = true; /* column */
    for (int i = 0; i < s->space.rank; i++) one &= !s->space.reduced[i] || s->space.sizes[i] == 1;
    for (int i = 0; i < KILN_MAX_RANK; i++)
        same[i] = run == KILN__RUN_OF_ROW && i < s->space.rank && s->space.reduced[i];
    for (int part = s->part_count - 1; part >= 0 && run != KILN__RUN_OF_ROW; part--) {
        columns *= s->parts[part];
        same[s->block_axis + part] = columns <= run || (s->uneven.columns && run);
    }
    for (int i = 0; i < s->space.rank && is_of_all(s, o, value); i++) same[i] |= !s->space.reduced[i] || one;
}

static kiln_status refuse_blocks(const kiln__shaped *s, int64_t block, const char *name, bool row,
                                 const kiln_tensor *tensor) {
    char shape[200], columns[200], values[200];
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, s->space.sizes, sizeof sizes);
    if (s->space.open_rows) sizes[0] = -1;
    shape_of(&s->space, row, s->space.rank, sizes, columns);
    sizes[s->block_axis] = blocks_in(s->uneven.columns, block);
    return kiln__fail(KILN_E_SHAPE,
                      "%soutput '%s' has shape %s, expected %s or, of one value for each block of %" PRId64 ", %s",
                      row ? "a row of " : "", name, shape_of(&s->space, row, tensor->rank, tensor->sizes, shape),
                      columns, block, shape_of(&s->space, row, s->space.rank, sizes, values));
}

/* One element along the axis stands for the blocks' values. */
static kiln_status join_blocks(const kiln__shaped *s, int o, int64_t block, bool output, kiln_tensor *tensor) {
    const int at = place_of(s->block_axis, s->space.rank, tensor);
    if (output && at >= 0 && tensor->sizes[at] == s->uneven.columns && tensor->rank == s->space.rank) return KILN_OK;
    if (output && (at < 0 || tensor->rank < s->space.rank || tensor->sizes[at] != blocks_in(s->uneven.columns, block)))
        return refuse_blocks(s, block, s->tensors.names[o], s->tables[o].rows > 0, tensor);
    tensor->sizes[at] = 1;
    return KILN_OK;
}

/* Sizes as the caller's tensors have them: the parts of the axis that is cut are one. Returns the rank. */
static int join_parts(const kiln__shaped *s, int rank, const int64_t *from, int64_t to[KILN_MAX_RANK]) {
    const int more = rank == s->space.rank ? s->part_count - 1 : 0;
    for (int i = 0; i < rank; i++) {
        const bool is_part = more && i > s->block_axis && i <= s->block_axis + more;
        if (is_part)
            to[s->block_axis] *= from[i];
        else
            to[i > s->block_axis ? i - more : i] = from[i];
    }
    return rank - more;
}

/* Of an output whose axis was cut into parts, or is not there. */
static kiln_status refuse_parts(const kiln__shaped *s, const kiln_tensor *tensor, const char *name, int64_t run,
                                const bool *same) {
    char shape[200], wanted[200];
    int64_t has[KILN_MAX_RANK], expected[KILN_MAX_RANK], ones[KILN_MAX_RANK];
    for (int i = 0; i < s->space.rank; i++)
        ones[i] = same[i] ? 1 : s->space.open_rows && i == 0 ? -1 : s->space.sizes[i];
    const int rank = join_parts(s, tensor->rank, tensor->sizes, has),
              space_rank = join_parts(s, s->space.rank, ones, expected);
    return kiln__fail(KILN_E_SHAPE, "output '%s' has shape %s, expected %s%s", name,
                      kiln__space_shape(shape, rank, has), kiln__space_shape(wanted, space_rank, expected),
                      run == KILN__RUN_OF_ROW ? " or the same without its reduced axes" : "");
}

static kiln_status refuse_row(const kiln__space *space, const kiln_tensor *row, bool columns, const char *name) {
    int rank = 0;
    int64_t sizes[KILN_MAX_RANK];
    char shape[200], wanted[200];
    for (int i = 0; i < space->rank && columns; i++)
        if (space->reduced[i]) sizes[rank++] = space->sizes[i];
    return kiln__fail(KILN_E_SHAPE, "a row of output '%s' has shape %s, expected %s", name,
                      kiln__space_shape(shape, row->rank, row->sizes), kiln__space_shape(wanted, rank, sizes));
}

bool kiln__shaped_packed(const kiln__shaped *s, int o, const kiln__inst *value) {
    return value ? s->ragged.packed && value->per_element : s->ragged.packed >> o & 1;
}

/* Of a tensor whose rows lie one behind the other. They are as far apart as offsets say. */
static kiln_status packed_strides(const kiln__shaped *s, int o, bool *same, int64_t strides[KILN_MAX_RANK],
                                  bool *full) {
    const int last = s->space.rank - 1;
    const char *name = s->tensors.names[o];
    kiln_tensor tensor = s->tensors.at[o];
    kiln_status status = same ? kiln__ragged_output(&s->ragged, &s->space, name, &tensor) : KILN_OK;
    if (same) same[last - 1] = true;
    if (!status) status = kiln__space_strides(&s->space, &tensor, name, same, false, strides, full);
    if (!status) strides[last] = s->ragged.columns > 1 ? tensor.strides[tensor.rank - 1] : 1;
    return status;
}

/* A tensor of a row's first columns, as if it had all: of those behind them nobody asks. */
static kiln_status widen(const kiln__shaped *s, const kiln__inst *value, const char *name, bool row,
                         kiln_tensor *tensor) {
    char shape[200], wanted[200];
    kiln__space space = s->space;
    int axis = 0;
    while (!space.reduced[axis]) axis++;
    const int64_t columns = space.sizes[axis], first = value->columns;
    if (first > columns)
        return kiln__fail(KILN_E_SHAPE, "output '%s' has the first %" PRId64 " columns of rows that have %" PRId64,
                          name, first, columns);
    const int at = row ? 0 : axis, rank = row ? 1 : space.rank; /* of a row that put writes */
    space.sizes[axis] = first;
    if (tensor->rank == rank && tensor->sizes[at] == first) {
        tensor->sizes[at] = columns;
        return KILN_OK;
    }
    if (space.open_rows) space.sizes[0] = -1;
    return kiln__fail(KILN_E_SHAPE, "%soutput '%s' has shape %s, expected %s", row ? "a row of " : "", name,
                      kiln__space_shape(shape, tensor->rank, tensor->sizes),
                      kiln__space_shape(wanted, rank, row ? &first : space.sizes));
}

kiln_status kiln__shaped_strides(const kiln__shaped *s, int o, const kiln__ir *ir, const kiln__inst *value,
                                 int64_t strides[KILN_MAX_RANK], bool *full) {
    kiln_tensor tensor = s->tensors.at[o];
    const char *name = s->tensors.names[o];
    bool same[KILN_MAX_RANK];
    kiln_status status = KILN_OK;
    if (value) find_same(s, o, value, same);
    if (value && kiln__has_first(value)) status = widen(s, value, name, s->tables[o].rows > 0, &tensor);
    if (status) return status;
    if (kiln__shaped_packed(s, o, value)) return packed_strides(s, o, value ? same : NULL, strides, full);
    const bool of_all = value && is_of_all(s, o, value);
    const int64_t run = value ? kiln__stored_run(ir, value) : s->repeats[o];
    if (s->uneven.columns && run && run != KILN__RUN_OF_ROW) status = join_blocks(s, o, run, value != NULL, &tensor);
    if (!status) status = kiln__space_strides(&s->space, &tensor, name, value ? same : NULL, of_all, strides, full);
    if (status == KILN_E_SHAPE && value && s->tables[o].rows && s->block_axis < 0)
        return refuse_row(&s->space, &tensor, value->per_element, name);
    if (status && value && s->part_count > 1) return refuse_parts(s, &tensor, name, value->run, same);
    return status;
}

int64_t kiln__shaped_block_stride(const kiln__shaped *s, const kiln_tensor *tensor) {
    const int at = place_of(s->block_axis, s->space.rank, tensor);
    return at < 0 || tensor->sizes[at] == 1 ? 0 : tensor->strides[at];
}

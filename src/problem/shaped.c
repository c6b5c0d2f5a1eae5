/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/shaped.h"

#include <inttypes.h>
#include <string.h>

static kiln__axes axes_of(const kiln__domains *domains, const kiln__axes *program) {
    if (domains->row == NULL) return *program;
    kiln__axes axes = {.all = domains->row->all, .count = domains->row->count};
    memcpy(axes.list, domains->row->axes, sizeof axes.list);
    return axes;
}

kiln_status kiln__shaped_space(const kiln__domains *domains, const kiln__axes *program, const kiln__tensors *tensors,
                               kiln__space *out, int *block_axis) {
    const kiln__axes axes = axes_of(domains, program);
    kiln_status status = kiln__space_build(&axes, tensors, out);
    *block_axis = -1;
    if (status || domains->block_count == 0) return status;
    for (int i = 0; i < out->rank; i++)
        if (out->reduced[i]) *block_axis = i;
    if (*block_axis < 0)
        return kiln__fail(KILN_E_AXIS, "blocks of %" PRId64 " lie along the last of the reduced axes, which are none",
                          domains->blocks[0]);
    if (out->open_rows && *block_axis == 0)
        return kiln__fail(KILN_E_SIZE, "axis 0 has blocks of %" PRId64 ": it cannot be left open", domains->blocks[0]);
    for (int i = 0; i < out->rank && !domains->has_rows; i++) out->reduced[i] = i == *block_axis;
    return KILN_OK;
}

/* ---- how an axis is cut ---- */

/* Blocks of more columns than there are have all of them. */
static kiln_status cut(const kiln__domains *domains, const kiln__space *space, kiln__shaped *s) {
    const int64_t columns = space->sizes[s->block_axis];
    int64_t above = columns, sizes[KILN__MAX_BLOCKS + 1] = {columns};
    int count = 1;
    for (int i = domains->block_count - 1; i >= 0; i--) {
        const int64_t block = domains->blocks[i] < columns || columns == 0 ? domains->blocks[i] : columns;
        if (above % block)
            return kiln__fail(KILN_E_UNSUPPORTED, "blocks of %" PRId64 " do not divide %s of %" PRId64 " along axis %d",
                              block, above == columns ? "the columns" : "blocks", above, s->block_axis);
        above = sizes[count++] = block;
        if (i == domains->block_count - 1 && !domains->has_rows) s->row_block = block;
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
        if (!broadcasts) stride *= s->parts[part];
    }
}

/* ---- tensors ---- */

/* Inputs are aligned from the right. */
static void split_input(const kiln__shaped *s, int rank, kiln_tensor *tensor) {
    const int axis = s->block_axis - (rank - tensor->rank);
    if (axis >= 0) split_axis(s, axis, 0, tensor);
}

static kiln_status refuse_output(const kiln__shaped *s, const kiln__space *space, const char *name,
                                 const kiln_tensor *tensor) {
    char shape[200], columns[200], values[200];
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, space->sizes, sizeof sizes);
    if (space->open_rows) sizes[0] = -1;
    kiln__space_shape(columns, space->rank, sizes);
    sizes[s->block_axis] = s->parts[0];
    return kiln__fail(KILN_E_SHAPE, "output '%s' has shape %s, expected %s or, of one value for each block, %s", name,
                      kiln__space_shape(shape, tensor->rank, tensor->sizes), columns,
                      kiln__space_shape(values, space->rank, sizes));
}

/* An output has all columns, a value for each block of some size, or for each row: it then has one element along the
 * axis, or lacks it. */
static kiln_status split_output(const kiln__shaped *s, const kiln__space *space, const char *name,
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
    return refuse_output(s, space, name, tensor);
}

/* Rows' axes, where the one that is cut is all of its parts; where blocks are rows, the parts of one. */
static kiln__axes axes_of_parts(const kiln__shaped *s, const kiln__space *space) {
    kiln__axes axes = {.count = 0};
    for (int i = 0; i < space->rank + s->part_count - 1; i++) {
        const int part = i - s->block_axis;
        const bool cut = part >= 0 && part < s->part_count;
        const int before = part < s->part_count ? s->block_axis : i - (s->part_count - 1);
        const bool reduced = cut ? s->row_block == 0 || part > 0 : space->reduced[part < 0 ? i : before];
        if (reduced) axes.list[axes.count++] = i;
    }
    return axes;
}

static kiln_status split(const kiln__domains *domains, const kiln__tensors *tensors, kiln__shaped *s) {
    const kiln__space space = s->space;
    kiln_status status = cut(domains, &space, s);
    for (int i = 0; i < tensors->input_count + tensors->output_count && !status; i++) {
        s->own[i] = tensors->at[i];
        if (i < tensors->input_count)
            split_input(s, space.rank, &s->own[i]);
        else
            status = split_output(s, &space, tensors->names[i], &s->own[i]);
    }
    if (status) return status;
    s->tensors.at = s->own;
    const kiln__axes axes = axes_of_parts(s, &space);
    return kiln__space_build(&axes, &s->tensors, &s->space);
}

kiln_status kiln__shaped_make(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                              kiln__shaped *out) {
    *out = (kiln__shaped){.tensors = *tensors};
    kiln_status status = kiln__shaped_space(domains, axes, tensors, &out->space, &out->block_axis);
    out->rank = out->space.rank;
    return status || out->block_axis < 0 ? status : split(domains, tensors, out);
}

void kiln__shaped_same(const kiln__shaped *s, uint32_t run, bool same[KILN_MAX_RANK]) {
    int64_t columns = 1;
    for (int i = 0; i < KILN_MAX_RANK; i++)
        same[i] = run == KILN__RUN_OF_ROW && i < s->space.rank && s->space.reduced[i];
    for (int part = s->part_count - 1; part >= 0 && run != KILN__RUN_OF_ROW; part--) {
        columns *= s->parts[part];
        same[s->block_axis + part] = columns <= run;
    }
}

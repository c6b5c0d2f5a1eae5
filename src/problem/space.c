/* SPDX-License-Identifier: Apache-2.0 */
/* The iteration space: NumPy's broadcasting, the reduced axes, and where outputs fit.
 * Sizes of -1 (rows left open) are replaced by a stand-in here, once. */
#include "problem/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/types.h"

const char *kiln__space_shape(char buffer[200], int rank, const int64_t *sizes) {
    size_t used = 0;
    used += (size_t)snprintf(buffer, 200, "[");
    for (int i = 0; i < rank && used < 170; i++) {
        const char *comma = i ? ", " : "";
        if (sizes[i] == -1)
            used += (size_t)snprintf(buffer + used, 200 - used, "%s*", comma);
        else
            used += (size_t)snprintf(buffer + used, 200 - used, "%s%" PRId64, comma, sizes[i]);
    }
    snprintf(buffer + used, 200 - used, "]");
    return buffer;
}

/* Bytes of two elements each lie along the last axis; none is cut. */
static kiln_status check_packed(const kiln_tensor *tensor, const char *name) {
    const int last = tensor->rank - 1;
    bool whole = last >= 0 && tensor->sizes[last] % 2 == 0 && tensor->strides[last] == 1;
    for (int i = 0; i < last; i++) whole = whole && (tensor->sizes[i] == 1 || tensor->strides[i] % 2 == 0);
    if (whole) return KILN_OK;
    char shape[200];
    return kiln__fail(
        KILN_E_UNSUPPORTED,
        "tensor '%s' of shape %s has two elements of %s in a byte: expected an even number of them side by "
        "side along the last axis, and even strides along the others",
        name, kiln__space_shape(shape, tensor->rank, tensor->sizes), kiln_type_name(tensor->type));
}

static kiln_status check_tensor(const kiln_tensor *tensor, const char *name) {
    if (!kiln__type_valid(tensor->type))
        return kiln__fail(KILN_E_TYPE, "tensor '%s' has type number %d, which is no kiln_type", name,
                          (int)tensor->type);
    if (tensor->rank < 0 || tensor->rank > KILN_MAX_RANK)
        return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, expected 0 to %d", name, tensor->rank, KILN_MAX_RANK);
    int64_t element = (int64_t)kiln_type_size(tensor->type), bytes = element, reach = element;
    char shape[200];
    for (int i = 0; i < tensor->rank; i++) {
        int64_t size = tensor->sizes[i], step = tensor->strides[i], span = size < 0 ? KILN__OPEN_ROWS : size;
        if (size < 0 && !(size == -1 && i == 0))
            return kiln__fail(KILN_E_SIZE, "tensor '%s' has size %" PRId64 " along axis %d, expected 0 or more", name,
                              size, i);
        if (size > 0 && !kiln__mul_i64(bytes, size, &bytes))
            return kiln__fail(KILN_E_SIZE, "tensor '%s' of shape %s has more bytes than 64 bits can count", name,
                              kiln__space_shape(shape, tensor->rank, tensor->sizes));
        if (span > 1 && (!kiln__mul_i64(step, step < 0 ? -span : span, &step) || !kiln__mul_i64(step, element, &step) ||
                         !kiln__add_i64(reach, step - step / span, &reach)))
            return kiln__fail(KILN_E_SIZE,
                              "tensor '%s' of shape %s has a stride of %" PRId64
                              " along axis %d: it reaches further than 64 bits can count",
                              name, kiln__space_shape(shape, tensor->rank, tensor->sizes), tensor->strides[i], i);
    }
    return kiln__type_is_packed(tensor->type) ? check_packed(tensor, name) : KILN_OK;
}

/* What to say where one shape is the beginning of the other, as [rows] is of [rows, columns]: its axes were meant to be
 * aligned from the left. Empty where it is not. */
static const char *alignment_hint(char buffer[320], int rank, const int64_t *sizes, int wide_rank,
                                  const int64_t *wide) {
    int64_t padded[KILN_MAX_RANK] = {0};
    char shape[200];
    buffer[0] = '\0';
    if (rank == 0 || rank >= wide_rank) return buffer;
    for (int i = 0; i < wide_rank; i++) {
        padded[i] = i < rank ? sizes[i] : 1;
        if (i < rank && sizes[i] != wide[i]) return buffer;
    }
    snprintf(buffer, 320, "; shapes are aligned from the right, so one value for each of the leading axes has shape %s",
             kiln__space_shape(shape, wide_rank, padded));
    return buffer;
}

static kiln_status fail_broadcast(const kiln__space *before, const kiln_tensor *tensor, const char *name) {
    char shape[200], other[200], hint[320];
    if (tensor->rank < before->rank)
        alignment_hint(hint, tensor->rank, tensor->sizes, before->rank, before->sizes);
    else
        alignment_hint(hint, before->rank, before->sizes, tensor->rank, tensor->sizes);
    return kiln__fail(KILN_E_SHAPE,
                      "input '%s' of shape %s does not broadcast with the inputs before it, of shape %s%s", name,
                      kiln__space_shape(shape, tensor->rank, tensor->sizes),
                      kiln__space_shape(other, before->rank, before->sizes), hint);
}

static kiln_status broadcast_into(kiln__space *space, const kiln__tensors *tensors, int index) {
    const kiln_tensor *tensor = &tensors->at[index];
    const kiln__space before = *space;
    if (tensor->rank > space->rank) { /* make room on the left */
        int more = tensor->rank - space->rank;
        memmove(space->sizes + more, space->sizes, (size_t)space->rank * sizeof *space->sizes);
        for (int i = 0; i < more; i++) space->sizes[i] = 1;
        space->rank = tensor->rank;
    }
    for (int i = 0; i < tensor->rank; i++) {
        int64_t *size = &space->sizes[space->rank - tensor->rank + i];
        if (tensor->sizes[i] == *size || tensor->sizes[i] == 1) continue;
        if (*size != 1) return fail_broadcast(&before, tensor, tensors->names[index]);
        *size = tensor->sizes[i];
    }
    return KILN_OK;
}

static kiln_status choose_axes(const kiln__axes *axes, kiln__space *space) {
    for (int i = 0; i < space->rank; i++) space->reduced[i] = axes->all || (axes->last && i == space->rank - 1);
    for (int i = 0; i < axes->count; i++) {
        int axis = axes->list[i] < 0 ? axes->list[i] + space->rank : axes->list[i];
        if (!space->rank)
            return kiln__fail(KILN_E_AXIS, "axis %d is out of range: the tensors have rank 0", axes->list[i]);
        if (axis < 0 || axis >= space->rank)
            return kiln__fail(KILN_E_AXIS, "axis %d is out of range for tensors of rank %d, expected %d to %d",
                              axes->list[i], space->rank, -space->rank, space->rank - 1);
        if (space->reduced[axis]) return kiln__fail(KILN_E_AXIS, "axis %d is given twice", axes->list[i]);
        space->reduced[axis] = true;
    }
    return KILN_OK;
}

kiln_status kiln__space_check(const kiln__tensors *tensors) {
    kiln_status status = KILN_OK;
    for (int i = 0; i < tensors->input_count + tensors->output_count && !status; i++)
        status = check_tensor(&tensors->at[i], tensors->names[i]);
    return status;
}

kiln_status kiln__space_build(const kiln__axes *axes, const kiln__tensors *tensors, kiln__space *out) {
    memset(out, 0, sizeof *out);
    int count = tensors->input_count + tensors->output_count;
    kiln_status status = kiln__space_check(tensors);
    if (status) return status;
    for (int i = 0; i < count && i < (tensors->input_count ? tensors->input_count : 1); i++) {
        status = broadcast_into(out, tensors, i);
        if (status) return status;
    }
    if (out->rank && out->sizes[0] == -1) {
        out->open_rows = true;
        out->sizes[0] = KILN__OPEN_ROWS;
    }
    for (int i = 1; i < out->rank; i++)
        if (out->sizes[i] == -1)
            return kiln__fail(KILN_E_SIZE, "only the first axis of the widest tensor can be left open, not axis %d", i);
    int64_t rows, cols;
    status = choose_axes(axes, out);
    if (status) return status;
    return kiln__space_extents(out, &rows, &cols);
}

kiln_status kiln__space_extents(const kiln__space *space, int64_t *rows, int64_t *cols) {
    int64_t total = 1;
    *rows = *cols = 1;
    for (int i = 0; i < space->rank; i++) {
        int64_t *part = space->reduced[i] ? cols : rows;
        if (space->sizes[i] && !kiln__mul_i64(total, space->sizes[i], &total)) {
            char shape[200];
            return kiln__fail(KILN_E_SIZE, "the iteration space %s has more elements than 64 bits can count",
                              kiln__space_shape(shape, space->rank, space->sizes));
        }
        *part *= space->sizes[i];
    }
    return KILN_OK;
}

/* The size an axis of the tensor has, with open rows replaced. */
static int64_t tensor_size(const kiln__space *space, const kiln_tensor *tensor, int axis) {
    return space->open_rows && tensor->sizes[axis] == -1 ? KILN__OPEN_ROWS : tensor->sizes[axis];
}

/* How far an element lies from its neighbour along an axis, 0 where all share one: never where the axis has none. */
static int64_t stride_of(int64_t size, int64_t stride) {
    if (size == 1) return 0;
    return size == 0 && stride == 0 ? 1 : stride;
}

bool kiln__space_varies(const kiln__space *space, const kiln_tensor *tensor, bool reduced) {
    for (int i = 0; i < tensor->rank; i++)
        if (space->reduced[space->rank - tensor->rank + i] == reduced &&
            stride_of(tensor_size(space, tensor, i), tensor->strides[i]))
            return true;
    return false;
}

/* Strides along the space's axes of an output that lacks the `drop` ones, and has one element along the `ones`; NULL:
 * none. */
static bool fits(const kiln__space *space, const kiln_tensor *tensor, const bool *drop, const bool *ones,
                 int64_t strides[KILN_MAX_RANK]) {
    int axis = 0;
    for (int i = 0; i < space->rank; i++) {
        strides[i] = 0;
        if (drop && drop[i]) continue;
        if (axis == tensor->rank) return false;
        int64_t expected = ones && ones[i] ? 1 : space->sizes[i];
        if (tensor_size(space, tensor, axis) != expected) return false;
        strides[i] = stride_of(expected, tensor->strides[axis]);
        axis++;
    }
    return axis == tensor->rank;
}

static kiln_status refuse_output(const kiln__space *space, const kiln_tensor *tensor, const char *name,
                                 const bool *same, const char *or_else) {
    char shape[200], wanted[200];
    int64_t kept[KILN_MAX_RANK] = {0};
    for (int i = 0; i < space->rank; i++) kept[i] = same[i] ? 1 : space->open_rows && i == 0 ? -1 : space->sizes[i];
    return kiln__fail(KILN_E_SHAPE, "output '%s' has shape %s, expected %s%s", name,
                      kiln__space_shape(shape, tensor->rank, tensor->sizes),
                      kiln__space_shape(wanted, space->rank, kept), or_else);
}

kiln_status kiln__space_strides(const kiln__space *space, const kiln_tensor *tensor, const char *name, const bool *same,
                                bool of_all, int64_t strides[KILN_MAX_RANK], bool *full) {
    if (!same) {
        *full = true;
        for (int i = 0; i < space->rank; i++) {
            int axis = i - (space->rank - tensor->rank);
            strides[i] = axis < 0 ? 0 : stride_of(tensor_size(space, tensor, axis), tensor->strides[axis]);
            *full &= space->sizes[i] == 1 || strides[i] != 0; /* a stride of 0 broadcasts as a size of 1 does */
        }
        return KILN_OK;
    }
    bool any = false, rows = true, across = true; /* it has a value for each row; of all rows together */
    bool across_rows[KILN_MAX_RANK] = {false};    /* the axes of those rows: a single column may stay */
    for (int i = 0; i < space->rank; i++) {
        any |= same[i];
        across_rows[i] = same[i] && !space->reduced[i];
        rows &= same[i] == space->reduced[i];
        across &= same[i] || space->reduced[i];
    }
    const bool drops = any && (rows || across);
    *full = !of_all && fits(space, tensor, NULL, NULL, strides);
    if (*full) return KILN_OK;
    if (any && fits(space, tensor, NULL, same, strides)) return KILN_OK;
    if (drops && fits(space, tensor, same, NULL, strides)) return KILN_OK;
    if (of_all && fits(space, tensor, across_rows, same, strides)) return KILN_OK;
    return refuse_output(space, tensor, name, same,
                         !drops   ? ""
                         : of_all ? " or the same without the axes that all rows are reduced over"
                                  : " or the same without its reduced axes");
}

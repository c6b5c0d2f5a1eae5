/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/ragged.h"

#include <inttypes.h>
#include <string.h>

#define LEAST_COLUMNS 32
#define MOST_COLUMNS 16384

static int64_t last_size(const kiln_tensor *tensor) { return tensor->rank > 0 ? tensor->sizes[tensor->rank - 1] : 1; }

/* One element for each row, beside those of the others. */
static kiln_status view_offsets(const char *name, kiln_tensor *tensor, kiln__ragged *ragged) {
    char shape[200];
    if (tensor->rank == 1 && tensor->sizes[0] == -1)
        return kiln__fail(KILN_E_SIZE, "offsets '%s' are left open: expected how many there are", name);
    if (tensor->rank != 1 || tensor->sizes[0] < 1)
        return kiln__fail(KILN_E_SHAPE, "offsets '%s' have shape %s, expected one axis, with an element more than rows",
                          name, kiln__space_shape(shape, tensor->rank, tensor->sizes));
    if (tensor->sizes[0] > 1 && tensor->strides[0] != 1)
        return kiln__fail(KILN_E_UNSUPPORTED, "offsets '%s' have a stride of %" PRId64 ", expected 1", name,
                          tensor->strides[0]);
    ragged->rows = tensor->sizes[0] - 1;
    *tensor = (kiln_tensor){
        .data = tensor->data, .type = tensor->type, .rank = 2, .sizes = {ragged->rows, 1}, .strides = {1, 1}};
    return KILN_OK;
}

/* Elements of all rows: what inputs have more than one of, or none. */
static int64_t columns_of(const kiln__tensors *tensors, int offsets) {
    for (int i = 0; i < tensors->input_count; i++)
        if (i != offsets && last_size(&tensors->at[i]) != 1) return last_size(&tensors->at[i]);
    return 1;
}

static bool has_all_columns(const kiln__ragged *ragged, const kiln_tensor *tensor) {
    return tensor->rank > 0 && last_size(tensor) == ragged->columns;
}

/* How much a single column looks like a value for each row: not at all, as one for all of them, or as many. */
static int looks_like_rows(const kiln__ragged *ragged, const kiln_tensor *tensor) {
    if (ragged->columns != 1 || tensor->rank < 2) return 0;
    const int64_t before = tensor->sizes[tensor->rank - 2];
    return before == ragged->rows ? 2 : before == 1;
}

/* Those that look least like it, where there is one column in all. */
static void find_packed(const kiln__tensors *tensors, int offsets, kiln__ragged *ragged) {
    for (int likeness = 0; likeness < 3 && !ragged->packed; likeness++)
        for (int i = 0; i < tensors->input_count; i++)
            if (i != offsets && has_all_columns(ragged, &tensors->at[i]) &&
                looks_like_rows(ragged, &tensors->at[i]) == likeness)
                ragged->packed |= (uint32_t)1 << i;
}

static kiln_status add_axis(const char *name, kiln_tensor *tensor) {
    const int last = tensor->rank - 1;
    if (tensor->rank == KILN_MAX_RANK)
        return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, and rows are an axis more: expected at most %d", name,
                          tensor->rank, KILN_MAX_RANK - 1);
    tensor->rank++;
    tensor->sizes[last + 1] = tensor->sizes[last];
    tensor->strides[last + 1] = tensor->strides[last];
    tensor->sizes[last] = 1;
    tensor->strides[last] = 0;
    return KILN_OK;
}

static kiln_status view_input(const kiln__ragged *ragged, const char *name, bool packed, kiln_tensor *tensor) {
    const int64_t columns = last_size(tensor);
    if (columns == -1)
        return kiln__fail(KILN_E_SIZE,
                          "the rows of '%s' lie one behind the other: expected how many elements they have together",
                          name);
    if (columns != 1 && columns != ragged->columns)
        return kiln__fail(KILN_E_SHAPE,
                          "input '%s' has %" PRId64 " columns, expected the %" PRId64
                          " of all rows together, or 1 of each row",
                          name, columns, ragged->columns);
    return packed ? add_axis(name, tensor) : KILN_OK;
}

kiln_status kiln__ragged_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__ragged *ragged, kiln__tensors *out) {
    const int offsets = (int)domains->offsets - 1;
    *ragged = (kiln__ragged){0};
    *out = *tensors;
    if (offsets < 0) return KILN_OK;
    memmove(own, tensors->at, (size_t)(tensors->input_count + tensors->output_count) * sizeof *own);
    out->at = own;
    ragged->columns = columns_of(out, offsets);
    kiln_status status = view_offsets(tensors->names[offsets], &own[offsets], ragged);
    if (!status) find_packed(out, offsets, ragged);
    for (int i = 0; i < tensors->input_count && !status; i++)
        if (i != offsets) status = view_input(ragged, tensors->names[i], ragged->packed >> i & 1, &own[i]);
    if (status || ragged->packed) return status;
    return kiln__fail(KILN_E_SHAPE, "offsets '%s' say where rows begin, and no input has such rows",
                      tensors->names[offsets]);
}

kiln_status kiln__ragged_output(const kiln__ragged *ragged, const kiln__space *space, const char *name,
                                kiln_tensor *tensor) {
    char shape[200], wanted[200];
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, space->sizes, sizeof sizes);
    sizes[space->rank - 2] = ragged->columns;
    if (tensor->rank == space->rank - 1 && !memcmp(sizes, tensor->sizes, (size_t)tensor->rank * sizeof *sizes))
        return add_axis(name, tensor);
    return kiln__fail(KILN_E_SHAPE, "output '%s' has shape %s, expected %s: its rows lie one behind the other", name,
                      kiln__space_shape(shape, tensor->rank, tensor->sizes),
                      kiln__space_shape(wanted, space->rank - 1, sizes));
}

int64_t kiln__ragged_columns(const kiln__ragged *ragged) {
    int64_t columns = LEAST_COLUMNS;
    while (columns < MOST_COLUMNS && columns < ragged->columns / (ragged->rows > 0 ? ragged->rows : 1)) columns *= 2;
    return columns;
}

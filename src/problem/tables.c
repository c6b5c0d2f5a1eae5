/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/tables.h"

#include <string.h>

static kiln_status drop_rows(const char *name, kiln_tensor *tensor, kiln__indexed_rows *table) {
    if (tensor->rank < 1)
        return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank 0, expected rows along its axis 0", name);
    if (tensor->sizes[0] == 0)
        return kiln__fail(KILN_E_SHAPE, "tensor '%s' has no rows: axis 0 of a table has size 0", name);
    *table = (kiln__indexed_rows){tensor->sizes[0], tensor->strides[0]};
    tensor->rank--;
    memmove(tensor->sizes, tensor->sizes + 1, (size_t)tensor->rank * sizeof *tensor->sizes);
    memmove(tensor->strides, tensor->strides + 1, (size_t)tensor->rank * sizeof *tensor->strides);
    return KILN_OK;
}

kiln_status kiln__tables_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__indexed_rows tables[KILN_MAX_TENSORS],
                              kiln__tensors *out) {
    kiln_status status = KILN_OK;
    *out = *tensors;
    if (!domains->tables) return KILN_OK;
    memcpy(own, tensors->at, (size_t)(tensors->input_count + tensors->output_count) * sizeof *own);
    out->at = own;
    for (int i = 0; i < tensors->input_count && !status; i++)
        if (domains->tables >> i & 1) status = drop_rows(tensors->names[i], &own[i], &tables[i]);
    return status;
}

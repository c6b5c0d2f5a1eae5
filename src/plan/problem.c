/* Canonical problems: dimensions of one element are dropped, neighbours that lie alike in every tensor are merged,
 * kept dimensions come before reduced ones. */
#include "plan/problem.h"

#include <inttypes.h>
#include <string.h>

#include "base/types.h"

/* The space's axes that have more than one element, kept ones first; all strides beside them. */
typedef struct dims {
    int rank;
    int64_t extent[KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_TENSORS][KILN_MAX_RANK];
} dims;

static kiln_status check_supported(const kiln_tensor *tensor, const char *name) {
    if (tensor->type == KILN_E4M3 || tensor->type == KILN_E5M2)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "tensor '%s' has type %s, which kernels do not read or write yet (the CPU reference does)",
                          name, kiln_type_name(tensor->type));
    int64_t expected = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->sizes[i] == 0) return KILN_OK;
        if (tensor->sizes[i] != 1 && tensor->strides[i] != expected)
            return kiln__fail(KILN_E_UNSUPPORTED,
                              "tensor '%s' has stride %" PRId64 " along axis %d, expected %" PRId64
                              ": kernels take row-major contiguous tensors (the CPU reference takes any strides)",
                              name, tensor->strides[i], i, expected);
        expected *= tensor->sizes[i] == -1 ? 1 : tensor->sizes[i];
    }
    return KILN_OK;
}

static int alignment_of(const kiln_tensor *tensor) {
    uintptr_t address = (uintptr_t)tensor->data | 16;
    uintptr_t bytes = address & (~address + 1);
    int elements = (int)(bytes / kiln_type_size(tensor->type));
    return elements ? elements : 1;
}

static bool merges(const dims *d, int operands, int i) {
    if (d->reduced[i] != d->reduced[i + 1]) return false;
    for (int o = 0; o < operands; o++)
        if (d->strides[o][i] != d->strides[o][i + 1] * d->extent[i + 1]) return false;
    return true;
}

static void drop_and_merge(dims *d, int operands) {
    int rank = 0;
    for (int i = 0; i < d->rank; i++) {
        if (d->extent[i] == 1) continue;
        d->extent[rank] = d->extent[i];
        d->reduced[rank] = d->reduced[i];
        for (int o = 0; o < operands; o++) d->strides[o][rank] = d->strides[o][i];
        rank++;
    }
    d->rank = rank;
    for (int i = d->rank - 2; i >= 0; i--) {
        if (!merges(d, operands, i)) continue;
        d->extent[i] *= d->extent[i + 1];
        for (int o = 0; o < operands; o++) d->strides[o][i] = d->strides[o][i + 1];
        for (int j = i + 1; j + 1 < d->rank; j++) {
            d->extent[j] = d->extent[j + 1];
            d->reduced[j] = d->reduced[j + 1];
            for (int o = 0; o < operands; o++) d->strides[o][j] = d->strides[o][j + 1];
        }
        d->rank--;
    }
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
        expected *= problem->outer[i];
        operand->follows_rows |= operand->outer_strides[i] != 0;
    }
    if (last < 0) operand->follows_rows = natural != 0;
}

static kiln_status split(const dims *d, kiln__problem *problem) {
    for (int i = 0; i < d->rank; i++) {
        bool inner = d->reduced[i] && problem->layout == KILN__LAYOUT_INNER;
        if (inner)
            problem->inner[problem->inner_rank++] = d->extent[i];
        else if (problem->inner_rank) {
            return kiln__fail(KILN_E_UNSUPPORTED,
                              "a reduced axis stands before a kept one of %" PRId64
                              " elements: kernels reduce over the last axes (the CPU reference reduces over any)",
                              d->extent[i]);
        } else
            problem->outer[problem->outer_rank++] = d->extent[i];
    }
    return KILN_OK;
}

/* The stride from row to row that a contiguous tensor has where the space has one row. */
static int64_t natural_stride(const kiln__problem *problem, const kiln__space *space, const kiln_tensor *tensor,
                              bool full) {
    int kept = 0;
    for (int i = 0; i < space->rank; i++) kept += !space->reduced[i];
    if (problem->layout == KILN__LAYOUT_FLAT) return full ? 1 : 0;
    int kept_here = 0;
    for (int i = 0; i < tensor->rank; i++) kept_here += !space->reduced[space->rank - tensor->rank + i];
    return full && kept_here == kept ? problem->cols : 0;
}

/* A maximum or minimum of nothing has no value. */
static kiln_status check_empty(const kiln__ir *ir, const kiln__space *space) {
    int64_t rows, cols;
    kiln_status status = kiln__space_extents(space, &rows, &cols);
    if (status || cols || !rows) return status;
    int axis = 0;
    while (!(space->reduced[axis] && space->sizes[axis] == 0)) axis++;
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_REDUCE_MAX || ir->insts[i].op == KILN__OP_REDUCE_MIN)
            return kiln__fail(KILN_E_SHAPE, "%s over axis %d of size 0 has no value", kiln__ir_op_name(ir->insts[i].op),
                              axis);
    return KILN_OK;
}

kiln_status kiln__problem_build(const kiln__ir *ir, const kiln__space *space, const kiln__tensors *tensors,
                                kiln__problem *out) {
    memset(out, 0, sizeof *out);
    dims d = {0};
    bool full[KILN_MAX_TENSORS], all_full = true;
    int count = tensors->input_count + tensors->output_count;
    out->input_count = tensors->input_count;
    out->output_count = tensors->output_count;
    out->open_rows = space->open_rows;
    kiln_status status = check_empty(ir, space);
    for (int o = 0; o < count && !status; o++) {
        bool output = o >= tensors->input_count;
        bool per_element = output && ir->insts[ir->outputs[o - tensors->input_count]].per_element;
        status = check_supported(&tensors->at[o], tensors->names[o]);
        if (!status)
            status = kiln__space_strides(space, &tensors->at[o], tensors->names[o], output, per_element, d.strides[o],
                                         &full[o]);
        if (!status && output) all_full &= full[o];
    }
    if (status) return status;
    d.rank = space->rank;
    memcpy(d.extent, space->sizes, sizeof d.extent);
    memcpy(d.reduced, space->reduced, sizeof d.reduced);
    out->layout = ir->phase_count == 0 && all_full ? KILN__LAYOUT_FLAT : KILN__LAYOUT_INNER;
    if (out->layout == KILN__LAYOUT_FLAT) memset(d.reduced, 0, sizeof d.reduced);
    if (out->open_rows && d.reduced[0])
        return kiln__fail(KILN_E_AXIS, "axis 0 is left open and cannot be reduced over");
    drop_and_merge(&d, count);
    status = split(&d, out);
    if (status) return status;
    out->rows = out->cols = 1;
    for (int i = 0; i < out->outer_rank; i++) out->rows *= out->outer[i];
    for (int i = 0; i < out->inner_rank; i++) out->cols *= out->inner[i];
    out->wide = out->rows > INT32_MAX;
    for (int o = 0; o < count; o++) {
        kiln__operand *operand = &out->operands[o];
        operand->type = tensors->at[o].type;
        operand->output = o >= tensors->input_count;
        operand->alignment = alignment_of(&tensors->at[o]);
        memcpy(operand->outer_strides, d.strides[o], (size_t)out->outer_rank * sizeof(int64_t));
        memcpy(operand->inner_strides, d.strides[o] + out->outer_rank, (size_t)out->inner_rank * sizeof(int64_t));
        int64_t below = 1;
        operand->packed = true;
        for (int i = out->inner_rank - 1; i >= 0; i--) {
            operand->per_element |= operand->inner_strides[i] != 0;
            operand->packed &= operand->inner_strides[i] == below;
            below *= out->inner[i];
        }
        if (out->layout == KILN__LAYOUT_FLAT) operand->per_element = true;
        int64_t natural = natural_stride(out, space, &tensors->at[o], full[o]);
        if (operand->output && !operand->per_element) natural = 1;
        find_row_stride(out, operand, natural);
    }
    return KILN_OK;
}

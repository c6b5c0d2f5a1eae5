/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the kernel's argument: 8-byte fields first, then 4-byte ones, so that nothing needs padding. */
#include <string.h>

#include "base/scalar.h"
#include "base/types.h"
#include "codegen/source.h"

static void add(kiln__arguments *out, kiln__field_kind kind, int index, int dim, int bytes) {
    if (out->count < KILN__MAX_FIELDS && out->size + bytes <= KILN__MAX_ARGUMENT_BYTES)
        out->fields[out->count] = (kiln__field){kind, (uint8_t)index, (uint8_t)dim, (uint16_t)out->size};
    out->count++;
    out->size += bytes;
}

/* Strides that follow from the columns are constants of the source, the others are passed. */
bool kiln__stride_is_constant(const kiln__problem *problem, int64_t stride) {
    return stride == 0 || stride == 1 || stride == problem->cols;
}

static void add_strides(const kiln__problem *problem, int o, kiln__arguments *out) {
    const kiln__operand *operand = &problem->operands[o];
    bool flat = problem->layout == KILN__LAYOUT_FLAT;
    if (operand->linear && !flat && !kiln__stride_is_constant(problem, operand->row_stride))
        add(out, KILN__FIELD_ROW, o, 0, 8);
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++)
        if (operand->outer_strides[d]) add(out, KILN__FIELD_STRIDE, o, d, 8);
    for (int d = 0; d < problem->inner_rank && (operand->per_element || operand->taken) && !operand->contiguous_columns;
         d++)
        if (operand->inner_strides[d] != 0 && operand->inner_strides[d] != 1) add(out, KILN__FIELD_STEP, o, d, 8);
}

static void add_table(const kiln__problem *problem, int o, kiln__arguments *out) {
    if (problem->operands[o].table.rows == 0) return;
    add(out, KILN__FIELD_TABLE_ROWS, o, 0, 8);
    add(out, KILN__FIELD_TABLE_PITCH, o, 0, 8);
}

static bool asks_size(const kiln__ir *ir, const kiln__problem *problem, int axis) {
    if (problem->offsets >= 0 && axis == problem->last_axis) return true;
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_SIZE && ir->insts[i].u.axis == axis) return true;
    return false;
}

static void add_sizes(const kiln__ir *ir, const kiln__problem *problem, kiln__arguments *out) {
    for (int axis = 0; axis < KILN_MAX_RANK; axis++)
        if (asks_size(ir, problem, axis)) add(out, KILN__FIELD_SIZE, 0, axis, 8);
}

static void add_scalars(const kiln__ir *ir, bool wide, kiln__arguments *out) {
    for (uint32_t s = 0; s < ir->scalar_count; s++)
        if ((kiln__scalar_on_device(ir->scalar_given[s]) || kiln__ctype_is_wide(ir->scalar_types[s])) == wide)
            add(out, KILN__FIELD_SCALAR, (int)s, 0, wide ? 8 : 4);
}

static kiln_status finish(kiln__arguments *out) {
    out->size = (out->size + 7) / 8 * 8;
    if (out->count <= KILN__MAX_FIELDS && out->size <= KILN__MAX_ARGUMENT_BYTES) return KILN_OK;
    return kiln__fail(KILN_E_UNSUPPORTED,
                      "the kernel needs %d bytes of arguments, at most %d can be passed: use fewer tensors of "
                      "different strides",
                      out->size, KILN__MAX_ARGUMENT_BYTES);
}

/* Of a kernel that serves any shape, behind the pointers. */
static kiln_status add_any_shape(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                                 kiln__arguments *out) {
    const int operands = problem->input_count + problem->output_count + problem->position_count;
    add(out, KILN__FIELD_SHAPE, 0, 0, (int)sizeof(kiln__shape));
    if (kiln__schedule_has_workspace(schedule)) add(out, KILN__FIELD_WORKSPACE, 0, 0, 8);
    for (int o = 0; o < operands; o++) add(out, KILN__FIELD_STRIDES, o, 0, 8 * KILN_MAX_RANK);
    for (int o = 0; o < operands; o++)
        if (problem->operands[o].run) add(out, KILN__FIELD_BLOCK, o, 0, 8);
    for (int o = 0; o < operands; o++) add_table(problem, o, out);
    add_sizes(ir, problem, out);
    add_scalars(ir, true, out);
    add_scalars(ir, false, out);
    return finish(out);
}

kiln_status kiln__arguments_layout(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                                   kiln__arguments *out) {
    memset(out, 0, sizeof *out);
    int operands = problem->input_count + problem->output_count;
    bool all_linear = true;
    for (int o = 0; o < operands; o++) add(out, KILN__FIELD_POINTER, o, 0, 8);
    operands += problem->position_count;
    for (int o = 0; o < operands; o++) all_linear &= problem->operands[o].linear;
    if (problem->any_shape) return add_any_shape(ir, problem, schedule, out);
    add(out, KILN__FIELD_ROWS, 0, 0, 8);
    if (problem->least_cols) add(out, KILN__FIELD_COLUMNS, 0, 0, 8);
    if (kiln__schedule_has_workspace(schedule)) add(out, KILN__FIELD_WORKSPACE, 0, 0, 8);
    for (int o = 0; o < operands; o++) add_strides(problem, o, out);
    for (int o = 0; o < operands; o++) add_table(problem, o, out);
    for (int d = 1; d < problem->outer_rank && !all_linear && problem->wide; d++) add(out, KILN__FIELD_EXTENT, 0, d, 8);
    if (problem->pitch) add(out, KILN__FIELD_FILLED, 0, 0, 8);
    if (problem->pitch && problem->wide) add(out, KILN__FIELD_PITCH, 0, 0, 8);
    add_sizes(ir, problem, out);
    add_scalars(ir, true, out);
    add_scalars(ir, false, out);
    if (problem->pitch && !problem->wide) add(out, KILN__FIELD_PITCH_DIVISOR, 0, 0, 12);
    for (int d = 1; d < problem->outer_rank && !all_linear && !problem->wide; d++)
        add(out, KILN__FIELD_DIVISOR, 0, d, 12);
    return finish(out);
}

/* For n < 2^31 and d >= 1: with shift = 31 + ceil(log2 d) and multiplier = ceil(2^shift / d), which fits 32 bits,
 * n / d = (n * multiplier) >> shift (Granlund and Montgomery, 1994, theorem 4.2). */
static void divisor_of(uint32_t d, uint32_t out[3]) {
    uint32_t log = 0;
    if (d == 0) d = 1; /* without elements nothing is launched */
    while (log < 31 && ((uint32_t)1 << log) < d) log++;
    out[0] = d;
    out[1] = (uint32_t)((((uint64_t)1 << (31 + log)) + d - 1) / d);
    out[2] = 31 + log;
}

static void fill_strides(const kiln__shape *shape, const kiln__problem *problem, int o, unsigned char *to) {
    int64_t strides[KILN_MAX_RANK];
    for (int d = 0; d < KILN_MAX_RANK; d++) strides[d] = kiln__shape_stride(shape, problem, o, d);
    memcpy(to, strides, sizeof strides);
}

void kiln__arguments_fill(const kiln__arguments *arguments, const kiln__problem *problem, const kiln__shape *shape,
                          unsigned char *bytes) {
    for (int i = 0; i < arguments->count; i++) {
        const kiln__field *field = &arguments->fields[i];
        int64_t value = 0;
        uint32_t divisor[3];
        switch (field->kind) {
        case KILN__FIELD_ROWS: value = problem->rows; break;
        case KILN__FIELD_COLUMNS: value = problem->cols; break;
        case KILN__FIELD_STRIDE: value = problem->operands[field->index].outer_strides[field->dim]; break;
        case KILN__FIELD_ROW: value = problem->operands[field->index].row_stride; break;
        case KILN__FIELD_STEP: value = problem->operands[field->index].inner_strides[field->dim]; break;
        case KILN__FIELD_TABLE_ROWS: value = problem->operands[field->index].table.rows; break;
        case KILN__FIELD_TABLE_PITCH: value = problem->operands[field->index].table.stride; break;
        case KILN__FIELD_BLOCK: value = problem->operands[field->index].block_stride; break;
        case KILN__FIELD_SIZE: value = problem->sizes[field->dim]; break;
        case KILN__FIELD_FILLED: value = problem->filled; break;
        case KILN__FIELD_PITCH: value = problem->pitch; break;
        case KILN__FIELD_EXTENT: value = problem->outer[field->dim]; break;
        case KILN__FIELD_SHAPE: memcpy(bytes + field->offset, shape, sizeof *shape); continue;
        case KILN__FIELD_STRIDES: fill_strides(shape, problem, field->index, bytes + field->offset); continue;
        case KILN__FIELD_DIVISOR:
        case KILN__FIELD_PITCH_DIVISOR:
            divisor_of((uint32_t)(field->kind == KILN__FIELD_DIVISOR ? problem->outer[field->dim] : problem->pitch),
                       divisor);
            memcpy(bytes + field->offset, divisor, sizeof divisor);
            continue;
        default: continue;
        }
        memcpy(bytes + field->offset, &value, sizeof value);
    }
}

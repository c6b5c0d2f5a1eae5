/* SPDX-License-Identifier: Apache-2.0 */
#include "open_shapes.h"

#include "tensor_spec.h"

/* By the axis, from the last, and unlike each other; blocks of columns divide the first. */
static const int64_t stand_ins[KILN_MAX_RANK] = {128 * 8191, 8191, 127, 131, 137, 139, 149, 151};
#define STEP (128 * 151)

bool open_shapes_any(const kiln_tensor *tensors, size_t count) {
    for (size_t t = 0; t < count; t++)
        for (int i = 1; i < tensors[t].rank; i++)
            if (tensors[t].sizes[i] == -1) return true;
    return false;
}

static bool is_written(const kiln_tensor *inputs, size_t count, int64_t size) {
    for (size_t t = 0; t < count; t++)
        for (int i = 0; i < inputs[t].rank; i++)
            if (inputs[t].sizes[i] == size) return true;
    return false;
}

/* 0 where none is written. */
static int64_t size_along(const kiln_tensor *inputs, size_t count, int from_last) {
    for (size_t t = 0; t < count; t++) {
        const int axis = inputs[t].rank - 1 - from_last;
        if (axis >= 0 && inputs[t].sizes[axis] != -1 && inputs[t].sizes[axis] != 1) return inputs[t].sizes[axis];
    }
    return 0;
}

void open_shapes_settle(kiln_tensor *inputs, size_t count, open_shapes *out) {
    for (int from_last = 0; from_last < KILN_MAX_RANK; from_last++) {
        const int64_t size = size_along(inputs, count, from_last);
        int64_t *stand_in = &out->stand_ins[from_last];
        *stand_in = stand_ins[from_last];
        while (is_written(inputs, count, *stand_in)) *stand_in += STEP;
        for (size_t t = 0; t < count; t++) {
            const int axis = inputs[t].rank - 1 - from_last;
            if (axis >= 0 && inputs[t].sizes[axis] == -1) inputs[t].sizes[axis] = size ? size : *stand_in;
        }
    }
    for (size_t t = 0; t < count; t++) (void)tensor_spec_contiguous(&inputs[t]); /* too much is told by the plan */
}

static bool is_open(const kiln_tensor *tensor) {
    bool open = false;
    for (int i = 0; i < tensor->rank; i++) open |= tensor->sizes[i] == -1;
    return open;
}

kiln_status open_shapes_outputs(const kiln_program *program, kiln_tensor *tensors) {
    const size_t inputs = kiln_program_input_count(program);
    kiln_status status = KILN_OK;
    for (size_t o = 0; o < kiln_program_output_count(program) && !status; o++) {
        kiln_tensor *output = &tensors[inputs + o];
        const int32_t rank = output->rank;
        if (!is_open(output)) continue;
        status = kiln_program_output_shape(program, tensors, o, 1, &output->rank, output->sizes);
        if (!status && output->rank != rank)
            status = kiln_program_output_shape(program, tensors, o, 0, &output->rank, output->sizes);
        if (!status) status = tensor_spec_contiguous(output);
    }
    return status;
}

void open_shapes_restore(const open_shapes *open, kiln_tensor *tensors, size_t count) {
    for (size_t t = 0; t < count; t++)
        for (int i = 0; i < tensors[t].rank; i++)
            for (int from_last = 0; from_last < KILN_MAX_RANK; from_last++)
                if (tensors[t].sizes[i] == open->stand_ins[from_last]) tensors[t].sizes[i] = -1;
}

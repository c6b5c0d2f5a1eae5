/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes left open along other axes than the first: x=f16[*,*] asks for the kernel that serves any shape. It is found by
 * tensors of some sizes, whichever. */
#ifndef KILN_TOOL_OPEN_SHAPES_H
#define KILN_TOOL_OPEN_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#include "kiln/kiln.h"

/* What stands for open sizes, by the axis, from the last: no size that was written. */
typedef struct open_shapes {
    int64_t stand_ins[KILN_MAX_RANK];
} open_shapes;

/* Whether one of them has such a size. */
bool open_shapes_any(const kiln_tensor *tensors, size_t count);

/* Gives open sizes of inputs, the first axis' too, a number for each axis, counted from the last: that of another input
 * which has one there, as shapes broadcast. */
void open_shapes_settle(kiln_tensor *inputs, size_t count, open_shapes *out);

/* The shapes of outputs with open sizes, from inputs that have been settled. As kiln_program_output_shape. */
kiln_status open_shapes_outputs(const kiln_program *program, kiln_tensor *tensors);

/* Makes sizes that were settled open again, for people. */
void open_shapes_restore(const open_shapes *open, kiln_tensor *tensors, size_t count);

#endif

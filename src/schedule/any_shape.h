/* SPDX-License-Identifier: Apache-2.0 */
/* The one strategy of kernels that serve any shape, and how a launch of such a kernel lies in its shape. */
#ifndef KILN_SCHEDULE_ANY_SHAPE_H
#define KILN_SCHEDULE_ANY_SHAPE_H

#include "schedule/schedule.h"

/* For a problem of any shape: from the program, its types and the architecture alone. KILN_E_LIMIT, KILN_E_MEMORY. */
kiln_status kiln__any_shape_schedule(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *out);

/* kiln_shape of kernel_sources/any_shape.cuh. */
typedef struct kiln__shape {
    int64_t rows, cols, run, runs, axis, axis_runs, padded_cols, slice;
    int64_t extents[KILN_MAX_RANK];
    int32_t row_dims, dims, row_shift, run_shift, rows_in_lanes, chunks, blocks, vectors;
    int32_t stage;
} kiln__shape;

/* Of the call's own problem. How many threads work on a row follows from its columns and strides, and never from how
 * many rows there are; those of a long row may be of several blocks. */
kiln__shape kiln__shape_of(const kiln__schedule *schedule, const kiln__problem *exact);

/* An operand's stride along a dimension of the shape. */
int64_t kiln__shape_stride(const kiln__shape *shape, const kiln__problem *exact, int operand, int dim);

/* Bytes of the workspace: 0 where the shape needs none. */
int64_t kiln__shape_workspace(const kiln__schedule *schedule, const kiln__ir *ir, const kiln__shape *shape);

/* How many launches a run takes. */
int kiln__shape_launches(const kiln__schedule *schedule, const kiln__ir *ir, const kiln__shape *shape);

/* False where the grid would be too large. */
bool kiln__shape_grid(const kiln__schedule *schedule, const kiln__shape *shape, kiln__grid *grid);

#endif

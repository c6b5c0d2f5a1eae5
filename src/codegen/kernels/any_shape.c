/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that serves any shape: who works on a row is told at the launch, and blocks are whole. */
#include "codegen/kernels/kernels.h"

void kiln__emit_any_shape_kernel(const kiln__emitter *e) {
    const bool sorts = e->problem->sorted; /* whose blocks go through the rows, as each has memory for one */
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    if (sorts)
        kiln__write(e, "    kiln_find_row_memory(args);\n"
                       "    for (kiln_i64 index = blockIdx.x; index < args.shape.rows; index += gridDim.x) {\n"
                       "    kiln_row row(args, index);\n");
    else
        kiln__write(e, "    kiln_row row(args, kiln_row_index(args.shape));\n");
    kiln__emit_fill(e);
    kiln__emit_phases(e, "    ", ", row");
    kiln__emit_last_pass(e, "    ");
    /* A row's value may take the place of an input that other threads still read. */
    if (e->finish_row) kiln__write(e, "    kiln_block_barrier();\n");
    kiln__emit_row_outputs(e, "    ", "kiln_is_first(row)");
    kiln__write(e, sorts ? "    kiln_block_barrier(); /* before the next row takes this one's memory */\n    }\n}\n"
                         : "}\n");
}

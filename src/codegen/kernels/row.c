/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which lanes, a block or a cluster work on one row; or a block on one after another, whose memory is
 * in the workspace. */
#include "codegen/kernels/kernels.h"

void kiln__emit_row_kernel(const kiln__emitter *e) {
    const bool strides = kiln__slots_plan_of(e->schedule)->blocks > 0;
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    if (strides)
        kiln__write(e, "    kiln_find_row_memory(args);\n"
                       "    for (kiln_i64 index = kiln_row_index(); index < args.rows; index += gridDim.x) {\n"
                       "    kiln_row row(args, index);\n");
    else
        kiln__write(e, "    kiln_row row(args, kiln_row_index());\n    if (row.index >= args.rows) return;\n");
    kiln__emit_fill(e);
    kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", "");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, strides ? "    kiln_block_barrier(); /* before the next row takes this one's memory */\n    }\n}\n"
                           : "}\n");
}

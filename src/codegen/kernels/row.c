/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which lanes, a block or a cluster work on one row. */
#include "codegen/kernels/kernels.h"

void kiln__emit_row_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    kiln_row row(args, kiln_row_index());\n    if (row.index >= args.rows) return;\n");
    if (kiln__slots_plan_of(e->schedule)->in_workspace) kiln__write(e, "    kiln_find_row_memory(row);\n");
    kiln__emit_fill(e);
    kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", "");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, "}\n");
}

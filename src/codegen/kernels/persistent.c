/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which as many groups as run at once go through all rows: while one row ends, the next one arrives. */
#include "codegen/kernels/kernels.h"

static void emit_first_row(const kiln__emitter *e) {
    kiln__write(e,
                "    const kiln_i64 stride = gridDim.x / KILN_BLOCKS_PER_ROW;\n"
                "    kiln_i64 index = kiln_row_index();\n    if (index >= args.rows) return;\n"
                "    kiln_pipeline staging;\n    %s phase0;\n    phase0.clear();\n    {\n"
                "        kiln_row row(args, index);\n        kiln_begin(row);\n        staging.fill(row);\n",
                kiln__phase_type(e, 0));
    if (kiln__schedule_clusters(e->schedule)) kiln__write(e, "        kiln_group_begin();\n");
    kiln__write(e, "        staging.reduce_arriving(row, phase0);\n    }\n");
}

void kiln__emit_persistent_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    emit_first_row(e);
    kiln__write(e, "    for (int turn = 0;; turn = (turn + 1) %% 4) {\n"
                   "    kiln_row row(args, index);\n    kiln_begin(row);\n");
    kiln__emit_phases(e, "    ", e->schedule->team.group == KILN__GROUP_GRID ? ", turn, args" : ", turn");
    /* Past the last row it would read its own values once more, which others may be storing. */
    kiln__write(e,
                "    index += stride;\n    const bool more = index < args.rows;\n"
                "    kiln_row next(args, more ? index : row.index);\n    %skiln_begin(next);\n    phase0.clear();\n",
                e->finish_row ? "if (more) " : "");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, e->finish
                       ? "    kiln_finish finish;\n    staging.finish_and_reduce(row, finish, next, more, phase0);\n"
                       : "    if (more) {\n        staging.fill(next);\n"
                         "        staging.reduce_arriving(next, phase0);\n    }\n");
    kiln__write(e, "    if (!more) break;\n    }\n}\n");
}

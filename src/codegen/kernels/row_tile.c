/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which each block works on a tile of whole rows, which it copies flat. */
#include "codegen/kernels/kernels.h"

void kiln__emit_row_tile_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    const kiln_i64 first = kiln_block() * KILN_ROWS_PER_BLOCK;\n"
                   "    if (first >= args.rows) return;\n"
                   "    const int rows = args.rows - first < KILN_ROWS_PER_BLOCK ? (int)(args.rows - first) : "
                   "KILN_ROWS_PER_BLOCK;\n"
                   "    kiln_staged::fill(args, first, rows);\n"
                   "    kiln_copy_wait();\n    kiln_block_barrier();\n"
                   "    kiln_staging staging;\n"
                   "    for (int r = (int)threadIdx.x / KILN_THREADS_PER_ROW; r < rows; "
                   "r += KILN_THREADS / KILN_THREADS_PER_ROW) {\n"
                   "        kiln_row row(args, first + r);\n        kiln_begin(row);\n"
                   "        row.tile = r * KILN_COLS;\n");
    kiln__emit_row_barrier(e, "        ");
    kiln__emit_phases(e, "        ", "");
    kiln__emit_last_pass(e, "        ");
    kiln__emit_row_outputs(e, "        ", "kiln_rank() == 0");
    kiln__write(e, "    }\n%s}\n",
                e->finish ? "    kiln_block_barrier();\n    kiln_staged::drain(args, first, rows);\n" : "");
}

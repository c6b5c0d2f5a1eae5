/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of neighbouring rows that lie side by side: threads have vectors of them, straight from memory or from a tile
 * that the block copied. */
#include "codegen/kernels/kernels.h"

static void emit_place(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    kiln_row row(args);\n    kiln_place(row);\n");
    kiln__emit_fill(e);
}

void kiln__emit_column_kernel(const kiln__emitter *e) {
    emit_place(e);
    kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", ", row");
    kiln__write(e, "    if (row.%s == 0) return;\n",
                e->schedule->edges == KILN__EDGES_MISALIGNED ? "there" : "count[0]");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, "}\n");
}

/* All threads take part in the tile's copies, whether they have a row or not. */
void kiln__emit_column_tile_kernel(const kiln__emitter *e) {
    emit_place(e);
    kiln__write(e, "    kiln_copy_wait();\n    kiln_block_barrier();\n");
    kiln__emit_row_barrier(e, "    ");
    kiln__emit_phases(e, "    ", ", row");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    if (e->finish) kiln__write(e, "    kiln_block_barrier();\n    kiln_staged::drain(row);\n");
    kiln__write(e, "}\n");
}

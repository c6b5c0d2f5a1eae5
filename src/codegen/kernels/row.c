/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which lanes, a block or a cluster work on one row. */
#include "codegen/kernels/kernels.h"

/* Into shared memory: row-invariant inputs that are shifted. */
static void emit_prefetch(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    if (!s->prefetch) return;
    for (int o = 0; o < e->inputs; o++)
        if (s->shifted[o])
            kiln__write(e, "    kiln_prefetch<%d, %s>::fill(kiln_shared + %d, row.%s, row);\n", s->access[o],
                        e->type[o], s->tile_offset[o], e->name[o]);
    if (s->masked) kiln__write(e, "    kiln_copy_wait();\n    kiln_block_barrier();\n");
}

void kiln__emit_row_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    kiln_row row(args, kiln_row_index());\n    if (row.index >= args.rows) return;\n");
    kiln__emit_fill(e);
    emit_prefetch(e);
    kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", "");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, "}\n");
}

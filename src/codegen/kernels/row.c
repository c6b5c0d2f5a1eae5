/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which lanes, a block or a cluster work on one row. */
#include "codegen/kernels/kernels.h"

void kiln__emit_prefetch(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    if (!kiln__row_of(s)->prefetch) return;
    for (int o = 0; o < e->inputs; o++)
        if (s->tensors[o].shifted)
            kiln__write(e, "    kiln_prefetch<%d, %s>::fill(kiln_shared + %d, row.%s, row);\n", s->tensors[o].width,
                        e->type[o], s->tensors[o].offset, e->name[o]);
    if (s->edges == KILN__EDGES_MASKED) kiln__write(e, "    kiln_copy_wait();\n    kiln_block_barrier();\n");
}

void kiln__emit_row_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    kiln_row row(args, kiln_row_index());\n    if (row.index >= args.rows) return;\n");
    kiln__emit_fill(e);
    kiln__emit_prefetch(e);
    kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", "");
    kiln__emit_last_pass(e, "    ");
    kiln__emit_row_outputs(e, "    ", "kiln_rank() == 0");
    kiln__write(e, "}\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that serves any shape: who works on a row is told at the launch, and blocks are whole. */
#include "codegen/kernels/kernels.h"

/* Where blocks may share a row a launch may have one of its stages: a phase, what columns store, or what rows do. */
static void emit_stages(const kiln__emitter *e) {
    const uint32_t phases = e->ir->phase_count;
    const uint32_t ends = phases + (e->column_outputs.count > 0);
    kiln__write(e, "    kiln_row row(args, kiln_row_index(args.shape));\n");
    if (e->finish_row) kiln__write(e, "    if (args.shape.stage == %u && kiln_chunk(args.shape) > 0) return;\n", ends);
    kiln__emit_fill(e);
    for (uint32_t p = 0; p < phases; p++) {
        kiln__write(e, "    kiln_phase%u phase%u;\n    phase%u.clear();\n    if (kiln_is_now(row, %u))\n", p, p, p, p);
        kiln__write(e, "        staging.each_vector(row, phase%u);\n    else\n        kiln_gather(row, phase%u);\n", p,
                    p);
        kiln__write(e, "    const kiln_phase%u all%u = kiln_all_reduce(phase%u, row);\n", p, p, p);
        kiln__write(e, "    if (kiln_hands_on(row, all%u)) return;\n    kiln_after%u(row, all%u);\n", p, p, p);
    }
    if (e->finish) {
        kiln__write(e, "    if (kiln_is_now(row, %u)) {\n", phases);
        kiln__emit_last_pass(e, "        ");
        kiln__write(e, "    }\n");
    }
    /* A row's value may take the place of an input that other threads still read. */
    if (e->finish_row) kiln__write(e, "    kiln_block_barrier();\n");
    kiln__emit_row_outputs(e, "    ", kiln__spell(e, "kiln_is_now(row, %u) && kiln_is_first(row)", ends));
    kiln__write(e, "}\n");
}

void kiln__emit_any_shape_kernel(const kiln__emitter *e) {
    const bool sorts = e->problem->sorted; /* whose blocks go through the rows, as each has memory for one */
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    if (e->schedule->any.stages) {
        emit_stages(e);
        return;
    }
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

/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in which a group works on several rows: each pass goes through all of them. */
#include "codegen/kernels/kernels.h"

static void emit_pass(const kiln__emitter *e, uint32_t p) {
    const char *type = kiln__phase_type(e, p);
    kiln__write(e,
                "#pragma unroll 1\n    for (int r = 0; r < count; ++r) {\n"
                "        kiln_row row(args, first + r * KILN_ROW_SPACING);\n        kiln_begin(row);\n%s",
                p == 0 ? "        kiln_copy_wait_but(KILN_ROWS_PER_BLOCK - 1 - r);\n" : "");
    kiln__emit_results(e, p, "        ", "kiln_reduced<%s>(r)");
    kiln__write(e,
                "        %s phase%u;\n        phase%u.clear();\n        staging.each_%s(row, r, phase%u);\n"
                "        kiln_contribute(phase%u, r);\n    }\n    kiln_exchange<%s>(count);\n",
                type, p, p, kiln__is_online(e, p) ? "online" : "vector", p, p, type);
}

static void emit_last_pass(const kiln__emitter *e) {
    kiln__write(e, "    kiln_row rows[KILN_ROWS_PER_BLOCK] = {{args, first}");
    for (int r = 1; r < e->schedule->team.rows_per_block; r++)
        kiln__write(e, ", {args, first + (%d < count ? %d * KILN_ROW_SPACING : 0)}", r, r);
    kiln__write(e, "};\n#pragma unroll\n    for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r) {\n"
                   "        kiln_row &row = rows[r];\n        kiln_begin(row);\n");
    kiln__emit_results(e, e->ir->phase_count, "        ", "kiln_reduced<%s>(r < count ? r : 0)");
    kiln__emit_row_outputs(e, "        ", "kiln_rank() == 0");
    kiln__write(e, "    }\n");
    if (e->finish) kiln__write(e, "    kiln_finish finish;\n    staging.finish(rows, count, finish);\n");
}

void kiln__emit_rows_in_flight_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    const kiln_i64 first = kiln_first_in_flight();\n    if (first >= args.rows) return;\n"
                   "    const int count = kiln_count_in_flight(args.rows, first);\n"
                   "    kiln_staging staging;\n    staging.fill(args, first, count);\n");
    if (kiln__schedule_clusters(e->schedule)) kiln__write(e, "    kiln_group_begin();\n");
    for (uint32_t p = 0; p < e->ir->phase_count; p = kiln__next_phase(e, p)) emit_pass(e, p);
    emit_last_pass(e);
    kiln__write(e, "}\n");
}

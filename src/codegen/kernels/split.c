/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of rows that are split into chunks, a block for each: one for each phase, maybe one that combines its chunks,
 * and one for the outputs. The end of a launch is the barrier that all blocks reach. */
#include "codegen/kernels/kernels.h"

/* Where a launch's threads work; ends: on rows' values, by those who share their chunks; passes: so many before have
 * gone over the columns. */
static const char *spell_place(const kiln__emitter *e, bool ends, int passes) {
    if (e->rows_in_vectors && ends)
        return "    kiln_row row(args);\n    kiln_place_at(row, kiln_final_index() * KILN_VECTOR_WIDTH, "
               "KILN_RUN_ROWS);\n";
    if (e->rows_in_vectors)
        return e->schedule->split.alternates && passes % 2 ? "    kiln_row row(args);\n    kiln_place(row, true);\n"
                                                           : "    kiln_row row(args);\n    kiln_place(row);\n";
    return ends ? "    kiln_row row(args, kiln_final_index());\n    if (row.index >= args.rows) return;\n"
                : "    kiln_row row(args, kiln_row_index());\n    if (row.index >= args.rows) return;\n";
}

/* Whether a launch of its own combines the chunks of a phase. */
static bool is_combined(const kiln__emitter *e, uint32_t phase) {
    const bool last = kiln__next_phase(e, phase) >= e->ir->phase_count;
    return e->schedule->split.combines && (!last || e->schedule->split.columns_last);
}

/* A launch, with the results of the phases before `stage`. */
static void emit_launch(const kiln__emitter *e, uint32_t stage, uint32_t number, bool ends) {
    int passes = 0;
    for (uint32_t p = 0; p < stage; p = kiln__next_phase(e, p)) passes++;
    kiln__emit_kernel_head(e, number, ends ? "KILN_FINAL_BLOCK_THREADS" : "KILN_THREADS");
    kiln__write(e, "%s", spell_place(e, ends, passes));
    kiln__emit_fill(e);
    for (uint32_t p = 0; p < stage; p = kiln__next_phase(e, p)) {
        const char *how = ends ? "kiln_gather_final" : "kiln_gather";
        if (is_combined(e, p)) how = "kiln_combined";
        kiln__emit_result(e, p, "    ", kiln__spell(e, "%s<%s>(row)", how, kiln__phase_type(e, p)));
    }
}

/* The launch that combines a phase's chunks. */
static void emit_combination(const kiln__emitter *e, uint32_t phase, uint32_t number) {
    kiln__emit_kernel_head(e, number, "KILN_FINAL_BLOCK_THREADS");
    kiln__write(e,
                "%s    const %s combined = kiln_gather_final<%s>(row);\n"
                "    if (kiln_final_rank() == 0) kiln_publish(row, combined, KILN_SPLITS);\n}\n",
                spell_place(e, true, 0), kiln__phase_type(e, phase), kiln__phase_type(e, phase));
}

/* The launch of a phase. */
static void emit_phase(const kiln__emitter *e, uint32_t phase, uint32_t number) {
    emit_launch(e, phase, number, false);
    kiln__emit_reduce(e, phase, "    ");
    kiln__write(e,
                "    const %s partial = kiln_all_reduce(phase%u%s);\n"
                "    if (kiln_rank() == 0) kiln_publish(row, partial%s);\n}\n",
                kiln__phase_type(e, phase), phase, e->rows_in_vectors ? ", row" : "",
                e->rows_in_vectors ? ", row.chunk" : "");
}

/* Threads without a row have nothing to store. */
static void emit_return(const kiln__emitter *e) {
    if (e->rows_in_vectors)
        kiln__write(e, "    if (row.%s == 0) return;\n",
                    e->schedule->edges == KILN__EDGES_MISALIGNED ? "there" : "count[0]");
}

/* Who stores a row's one value. */
static const char *spell_first_thread(const kiln__emitter *e, bool ends) {
    if (ends) return "kiln_final_rank() == 0";
    return e->rows_in_vectors ? "kiln_rank() == 0 && row.chunk == 0" : "kiln_rank() == 0 && kiln_chunk() == 0";
}

static void emit_outputs(const kiln__emitter *e, uint32_t number) {
    const uint32_t stage = e->ir->phase_count;
    const bool separate = e->schedule->split.separate_launch, ends = !e->schedule->split.columns_last;
    emit_launch(e, stage, number, ends);
    emit_return(e);
    kiln__emit_last_pass(e, "    ");
    if (separate) {
        kiln__write(e, "}\n");
        emit_launch(e, stage, number + 1, true);
        emit_return(e);
    }
    kiln__emit_row_outputs(e, "    ", spell_first_thread(e, ends || separate));
    kiln__write(e, "}\n");
}

void kiln__emit_split_kernels(const kiln__emitter *e) {
    uint32_t number = 0;
    for (uint32_t phase = 0; phase < e->ir->phase_count; phase = kiln__next_phase(e, phase)) {
        emit_phase(e, phase, number++);
        if (is_combined(e, phase)) emit_combination(e, phase, number++);
    }
    emit_outputs(e, number);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a schedule once it is chosen: the details that a kernel is written with. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/types.h"
#include "problem/online.h"
#include "schedule/kept.h"
#include "schedule/schedule.h"

#define MOST_UNROLLED_STEPS 8
#define MOST_UNROLLED_STEPS_SHARED 4
#define MOST_UNROLLED_STEPS_CROWDED 2
#define UNROLLED_TILE_ELEMENTS 8

/* The most vectors that a thread has in registers at a time. Those that come from shared memory would all be fetched
 * before the first is used, and two blocks of 1,024 threads have few registers. */
static int64_t most_unrolled(const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_TILE && s->staging.steps) return s->staging.steps;
    if (s->team.threads == 1024 && s->team.min_blocks_per_sm > 1) return MOST_UNROLLED_STEPS_CROWDED;
    return s->staging.kind == KILN__STAGING_SHARED ? MOST_UNROLLED_STEPS_SHARED : MOST_UNROLLED_STEPS;
}

/* Of several row-invariant inputs: one vector at a time where threads have few, four where rows are whole chunks of
 * four, else two, so that no chunk is mostly empty. */
static int64_t unroll_of_invariants(const kiln__problem *problem, const kiln__schedule *s) {
    if (s->team.threads > 256) return 2;
    if (s->steps <= 6) return 1;
    return problem->cols % (4 * s->team.threads_per_row * s->vector_width) == 0 ? 4 : 2;
}

static int64_t unroll_of(const kiln__problem *problem, const kiln__schedule *s) {
    if (kiln__column_of(s)->tile_rows)
        return kiln__divide_up(UNROLLED_TILE_ELEMENTS, kiln__column_of(s)->ranks_per_thread * s->vector_width);
    if (kiln__column_of(s)->transpose_width) return kiln__column_of(s)->transpose_width;
    if (kiln__row_of(s)->batched && kiln__row_of(s)->invariant_inputs > 1) return unroll_of_invariants(problem, s);
    const int64_t most = most_unrolled(s), unroll = kiln__least(s->steps, most);
    if (!kiln__row_of(s)->batched) return unroll;
    return kiln__divide_up(s->steps, kiln__divide_up(s->steps, unroll)); /* chunks as large as each other */
}

/* Whether the last pass computes again what the passes before computed of the row: a row of one input, of medium
 * length, is then in half the registers. Row-invariant inputs would take those all the same. */
static bool rematerialises(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *s) {
    const int64_t elements = s->steps * s->vector_width;
    int staged = 0;
    for (int o = 0; o < problem->input_count; o++) staged += s->tensors[o].staged;
    return s->staging.kind == KILN__STAGING_REGISTERS && kiln__layout_of(s) == KILN__LAYOUT_INNER &&
           ir->phase_count > 0 && staged == 1 && !kiln__row_of(s)->invariant_inputs && s->vector_width >= 4 &&
           elements > 32 && elements <= 128;
}

/* A value that takes more instructions than moving it, twice over, is worth a register, as long as a thread has enough.
 */
#define LEAST_KEPT_WEIGHT 12
#define MOST_KEPT_REGISTERS 96

kiln_status kiln__schedule_keeping(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    kiln__kept kept = {calloc(ir->count + 1, sizeof *kept.value), calloc(ir->count + 1, sizeof *kept.first), 0};
    kiln_status status = kept.value && kept.first ? KILN_OK : kiln__out_of_memory();
    const bool registers = s->staging.kind == KILN__STAGING_REGISTERS && kiln__layout_of(s) == KILN__LAYOUT_INNER &&
                           !s->slots.bytes; /* loops over blocks' values keep none */
    if (!status && registers) status = kiln__kept_find(ir, problem, LEAST_KEPT_WEIGHT, &kept);
    const int64_t taken = kiln__times(kiln__times(s->steps, s->vector_width), kept.count);
    s->passes.keep_weight = taken > 0 && taken <= MOST_KEPT_REGISTERS ? LEAST_KEPT_WEIGHT : 0;
    free(kept.value);
    free(kept.first);
    return status;
}

/* Squares need no correction from chunk to chunk: they are about one centre, until the thread has all its elements. */
static kiln__online_pass online_pass_of(const kiln__ir *ir, const kiln__schedule *s) {
    if (s->passes.online != 0) return KILN__ONLINE_LATER;
    const bool settles = kiln__layout_of(s) != KILN__LAYOUT_OUTER && !kiln__row_of(s)->persistent &&
                         s->staging.kind != KILN__STAGING_NONE;
    return settles && kiln__online_squares(ir) ? KILN__ONLINE_SETTLED : KILN__ONLINE_CORRECTED;
}

/* Columns whose addresses are alike in a bit that tells the memory's channel keep a cluster's blocks on half of the
 * channels, unless every other tile is some rows away. Blocks of more threads lack the registers for it. */
static void alternate_tiles(const kiln__problem *problem, kiln__schedule *s) {
    enum { CHANNEL_BYTES = 65536 };
    if (kiln__layout_of(s) != KILN__LAYOUT_OUTER || !kiln__schedule_clusters(s) || s->edges == KILN__EDGES_MISALIGNED)
        return;
    if (s->team.threads > 256 || problem->inner_rank != 1) return;
    int o = 0;
    while (o < problem->input_count && !(s->tensors[o].staged && s->tensors[o].width)) o++;
    if (o == problem->input_count || problem->operands[o].inner_strides[0] < 2) return;
    s->column.alternating_input = o;
    s->column.alternating_rows = CHANNEL_BYTES / (int)kiln_type_size(problem->operands[o].type);
}

/* Rows' ends are asked for where that lets the compiler have more loads under way: where threads have narrow vectors,
 * or are few, and in clusters. */
static int64_t whole_steps_of(const kiln__problem *problem, const kiln__schedule *s) {
    const int line = kiln__column_of(s)->transpose_width ? kiln__column_of(s)->transpose_width : 1;
    if (s->split.chunks > 1) return s->steps;
    if (s->passes.ordered || s->team.blocks_per_row > 1 || (s->vector_width < 8 && s->team.threads_per_row < 64))
        return 0;
    return problem->cols / (s->team.threads_per_row * line) * line;
}

/* Of many steps half as many vectors as other chunks have: it is one chunk of many, and the shorter the sooner
 * compiled. Of a few steps no more than fit the registers of the chunks that ask for no column: two blocks of 1,024
 * threads have 32 registers for each. */
static int last_chunk_batch_of(const kiln__schedule *s) {
    if (kiln__column_of(s)->transpose_width > 1) return s->batch;
    if (s->steps > 8) return (s->batch + 1) / 2;
    return s->steps > 4 || s->edges == KILN__EDGES_MISALIGNED ? 1 : 2;
}

/* Among row-invariant inputs, and beside single elements, there are many addresses: one serves all of a tensor's steps.
 * A grid's threads, which have two rows, lack the registers for it. */
static kiln__addressing addressing_of(const kiln__schedule *s) {
    if (!s->row.invariant_inputs && s->edges != KILN__EDGES_PEELED) return KILN__ADDRESS_EACH_STEP;
    return s->team.group == KILN__GROUP_GRID ? KILN__ADDRESS_FIRST_COLUMN : KILN__ADDRESS_ONE;
}

/* What row-invariant inputs are shifted by is known while compiling, as far as whole words go, where all threads of a
 * warp have the same row, and few vectors: with more, registers are short. */
static bool has_quarters(const kiln__schedule *s) {
    const bool shifts = s->edges == KILN__EDGES_PEELED && !s->row.rows_in_flight && s->row.invariant_inputs;
    return shifts && s->vector_width >= 4 && s->team.threads_per_row >= 32 && s->steps <= 5;
}

/* Where the vectors of staged inputs that are a row's own lie in shared memory: one tensor behind the other, of each a
 * place for every step and row held. */
static void place_in_shared_memory(const kiln__problem *problem, kiln__schedule *s) {
    const int64_t rows = kiln__row_of(s)->rows_in_flight ? s->team.rows_per_block : 1;
    int64_t next = 0;
    if (s->staging.kind != KILN__STAGING_SHARED) return;
    for (int o = 0; o < problem->input_count; o++) {
        if (!s->tensors[o].staged || !problem->operands[o].follows_rows) continue;
        s->tensors[o].offset = (int)next;
        next += s->staging.steps * rows * s->team.threads * s->vector_width *
                (int64_t)kiln_type_size(problem->operands[o].type);
    }
}

void kiln__schedule_details(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    s->unroll = unroll_of(problem, s);
    s->passes.rematerialise = rematerialises(ir, problem, s);
    s->passes.online_pass = online_pass_of(ir, s);
    /* The compiler leaves the last loads of peeled rows in registers behind a division that has no branch. */
    s->passes.branching_means = s->edges == KILN__EDGES_PEELED && !kiln__row_of(s)->rows_in_flight;
    s->code.wide_columns = kiln__layout_of(s) == KILN__LAYOUT_FLAT || problem->longest > INT32_MAX / 2;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) {
        s->row.addressing = addressing_of(s);
        s->row.quarters = has_quarters(s);
    }
    if (kiln__layout_of(s) == KILN__LAYOUT_OUTER) {
        s->column.whole_steps = whole_steps_of(problem, s);
        s->column.last_chunk_batch = last_chunk_batch_of(s);
        s->column.combined_words = 32;
    }
    alternate_tiles(problem, s);
    place_in_shared_memory(problem, s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a schedule once it is chosen: the details that a kernel is written with. */
#include <stdlib.h>

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
    if (s->staging == KILN__STAGING_TILE && s->staged_steps) return s->staged_steps;
    if (s->threads == 1024 && s->min_blocks_per_sm > 1) return MOST_UNROLLED_STEPS_CROWDED;
    return s->staging == KILN__STAGING_SHARED ? MOST_UNROLLED_STEPS_SHARED : MOST_UNROLLED_STEPS;
}

/* Of several row-invariant inputs: one vector at a time where threads have few, four where rows are whole chunks of
 * four, else two, so that no chunk is mostly empty. */
static int64_t unroll_of_invariants(const kiln__problem *problem, const kiln__schedule *s) {
    if (s->threads > 256) return 2;
    if (s->steps <= 6) return 1;
    return problem->cols % (4 * s->threads_per_row * s->vector_width) == 0 ? 4 : 2;
}

static int64_t unroll_of(const kiln__problem *problem, const kiln__schedule *s) {
    if (s->tile_rows) return kiln__divide_up(UNROLLED_TILE_ELEMENTS, s->ranks_per_thread * s->vector_width);
    if (s->transpose_width) return s->transpose_width;
    if (s->batched && s->invariant_inputs > 1) return unroll_of_invariants(problem, s);
    const int64_t most = most_unrolled(s), unroll = s->steps < most ? s->steps : most;
    if (!s->batched) return unroll;
    return kiln__divide_up(s->steps, kiln__divide_up(s->steps, unroll)); /* chunks as large as each other */
}

/* Whether the last pass computes again what the passes before computed of the row: a row of one input, of medium
 * length, is then in half the registers. Row-invariant inputs would take those all the same. */
static bool rematerialises(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *s) {
    const int64_t elements = s->steps * s->vector_width;
    int staged = 0;
    for (int o = 0; o < problem->input_count; o++) staged += s->staged[o];
    return s->staging == KILN__STAGING_REGISTERS && s->layout == KILN__LAYOUT_INNER && ir->phase_count > 0 &&
           staged == 1 && !s->invariant_inputs && s->vector_width >= 4 && elements > 32 && elements <= 128;
}

/* A value that takes more instructions than moving it, twice over, is worth a register, as long as a thread has enough.
 */
#define LEAST_KEPT_WEIGHT 12
#define MOST_KEPT_REGISTERS 96

kiln_status kiln__schedule_keeping(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    kiln__kept kept = {calloc(ir->count + 1, sizeof *kept.value), calloc(ir->count + 1, sizeof *kept.first), 0};
    kiln_status status = kept.value && kept.first ? KILN_OK : kiln__out_of_memory();
    const bool registers = s->staging == KILN__STAGING_REGISTERS && s->layout == KILN__LAYOUT_INNER;
    if (!status && registers) status = kiln__kept_find(ir, problem, LEAST_KEPT_WEIGHT, &kept);
    const int64_t taken = s->steps * s->vector_width * kept.count;
    s->keep_weight = taken > 0 && taken <= MOST_KEPT_REGISTERS ? LEAST_KEPT_WEIGHT : 0;
    free(kept.value);
    free(kept.first);
    return status;
}

/* Squares need no correction from chunk to chunk: they are about one centre, until the thread has all its elements. */
static kiln__online_pass online_pass_of(const kiln__ir *ir, const kiln__schedule *s) {
    if (s->online != 0) return KILN__ONLINE_LATER;
    const bool settles = s->layout != KILN__LAYOUT_OUTER && !s->persistent && s->staging != KILN__STAGING_NONE;
    return settles && kiln__online_squares(ir) ? KILN__ONLINE_SETTLED : KILN__ONLINE_CORRECTED;
}

/* Columns whose addresses are alike in a bit that tells the memory's channel keep a cluster's blocks on half of the
 * channels, unless every other tile is some rows away. Blocks of more threads lack the registers for it. */
static void alternate_tiles(const kiln__problem *problem, kiln__schedule *s) {
    enum { CHANNEL_BYTES = 65536 };
    s->alternating_rows = 0;
    if (s->layout != KILN__LAYOUT_OUTER || !kiln__schedule_clusters(s) || s->misaligned) return;
    if (s->threads > 256 || problem->inner_rank != 1) return;
    int o = 0;
    while (o < problem->input_count && !(s->staged[o] && s->access[o])) o++;
    if (o == problem->input_count || problem->operands[o].inner_strides[0] < 2) return;
    s->alternating_input = o;
    s->alternating_rows = CHANNEL_BYTES / (int)kiln_type_size(problem->operands[o].type);
}

/* Rows' ends are asked for where that lets the compiler have more loads under way: where threads have narrow vectors,
 * or are few, and in clusters. */
static int64_t whole_steps_of(const kiln__problem *problem, const kiln__schedule *s) {
    const int line = s->transpose_width ? s->transpose_width : 1;
    if (s->splits > 1) return s->steps;
    if (s->ordered || s->blocks_per_row > 1 || (s->vector_width < 8 && s->threads_per_row < 64)) return 0;
    return problem->cols / (s->threads_per_row * line) * line;
}

/* Of a few steps no more vectors than fit the registers of the chunks that ask for no column: two blocks of 1,024
 * threads have 32 registers for each. */
static int last_chunk_batch_of(const kiln__schedule *s) {
    if (s->steps > 8 || s->transpose_width > 1) return s->batch;
    return s->steps > 4 || s->misaligned ? 1 : 2;
}

/* What row-invariant inputs are shifted by is known while compiling, as far as whole words go, where all threads of a
 * warp have the same row, and few vectors: with more, registers are short. */
static bool has_quarters(const kiln__schedule *s) {
    return s->peeled && !s->rows_in_flight && s->invariant_inputs && s->vector_width >= 4 && s->threads_per_row >= 32 &&
           s->steps <= 5;
}

/* Where the vectors of staged inputs that are a row's own lie in shared memory: one tensor behind the other, of each a
 * place for every step and row held. */
static void place_in_shared_memory(const kiln__problem *problem, kiln__schedule *s) {
    const int64_t rows = s->rows_in_flight ? s->rows_per_block : 1;
    int64_t next = 0;
    if (s->staging != KILN__STAGING_SHARED) return;
    for (int o = 0; o < problem->input_count; o++) {
        if (!s->staged[o] || !problem->operands[o].follows_rows) continue;
        s->tile_offset[o] = (int)next;
        next +=
            s->staged_steps * rows * s->threads * s->vector_width * (int64_t)kiln_type_size(problem->operands[o].type);
    }
}

void kiln__schedule_details(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    s->unroll = unroll_of(problem, s);
    s->rematerialise = rematerialises(ir, problem, s);
    s->online_pass = online_pass_of(ir, s);
    /* The compiler leaves the last loads of peeled rows in registers behind a division that has no branch. */
    s->branching_means = s->peeled && !s->rows_in_flight;
    /* Among row-invariant inputs, and beside single elements, there are many addresses: one serves all of a tensor's
     * steps. A grid's threads, which have two rows, lack the registers for it. */
    s->first_column = s->invariant_inputs || s->peeled;
    s->one_address = s->first_column && s->group != KILN__GROUP_GRID;
    s->wide_columns = s->layout == KILN__LAYOUT_FLAT || problem->cols > INT32_MAX / 2;
    s->quarters = has_quarters(s);
    if (s->layout == KILN__LAYOUT_OUTER) {
        s->whole_steps = whole_steps_of(problem, s);
        s->last_chunk_batch = last_chunk_batch_of(s);
        s->combined_words = 32;
    }
    alternate_tiles(problem, s);
    place_in_shared_memory(problem, s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a schedule once it is chosen: the details that a kernel is written with. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/types.h"
#include "problem/online.h"
#include "schedule/access.h"
#include "schedule/kept.h"
#include "schedule/schedule.h"

#define MOST_UNROLLED_STEPS 4
#define MOST_UNROLLED_TILE_STEPS 8 /* no loads of global memory wait in them */
#define UNROLLED_TILE_ELEMENTS 8

static int64_t unroll_of(const kiln__schedule *s) {
    if (kiln__column_of(s)->tile.rows)
        return kiln__divide_up(UNROLLED_TILE_ELEMENTS, kiln__column_of(s)->tile.ranks_per_thread * s->vector_width);
    if (kiln__column_of(s)->transpose_width) return kiln__column_of(s)->transpose_width;
    return kiln__least(s->steps,
                       s->staging.kind == KILN__STAGING_TILE ? MOST_UNROLLED_TILE_STEPS : MOST_UNROLLED_STEPS);
}

/* Whether the last pass computes again what the passes before computed of the row: a row of one input is then in half
 * the registers. Row-invariant inputs would take those all the same. */
static bool rematerialises(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *s) {
    int staged = 0;
    for (int o = 0; o < problem->input_count; o++) staged += s->tensors[o].staged;
    return s->staging.kind == KILN__STAGING_REGISTERS && kiln__layout_of(s) == KILN__LAYOUT_INNER &&
           ir->phase_count > 0 && staged == 1 && !kiln__row_of(s)->invariant_inputs;
}

/* A value that takes more instructions than moving it, twice over, is worth a register, as long as a thread has enough.
 */
#define LEAST_KEPT_WEIGHT 12
#define MOST_KEPT_REGISTERS 96

kiln_status kiln__schedule_keeping(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    kiln__kept kept = {calloc(ir->count + 1, sizeof *kept.value), calloc(ir->count + 1, sizeof *kept.first), 0};
    kiln_status status = kept.value && kept.first ? KILN_OK : kiln__out_of_memory();
    const bool registers = s->staging.kind == KILN__STAGING_REGISTERS && kiln__layout_of(s) == KILN__LAYOUT_INNER &&
                           !kiln__slots_plan_of(s)->bytes; /* loops over blocks' values keep none */
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

/* Vectors that are inside for all ranks, whose loads ask for no column; those of rows ask. */
static int64_t whole_steps_of(const kiln__problem *problem, const kiln__schedule *s) {
    if (kiln__layout_of(s) != KILN__LAYOUT_OUTER) return 0;
    const int line = kiln__column_of(s)->transpose_width ? kiln__column_of(s)->transpose_width : 1;
    if (s->split.chunks > 1) return s->steps;
    return s->passes.ordered ? 0 : problem->cols / (s->team.threads_per_row * line) * line;
}

/* The last steps of the last chunk ask for columns, which takes registers that their vectors then lack. */
static int last_batch_of(const kiln__schedule *s) {
    return kiln__layout_of(s) != KILN__LAYOUT_OUTER || kiln__column_of(s)->transpose_width > 1 ? s->batch : 1;
}

/* Where no run is partial, threads without rows have ended before the last pass, and stores need no condition. From
 * shared memory they have one all the same: without it the compiler loads vectors of several steps at a time. */
static bool has_conditional_stores(const kiln__schedule *s) {
    return s->edges == KILN__EDGES_PARTIAL || kiln__stages_in_shared_memory(s);
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

/* Masks cost more than the work, and all vectors of a row but its first and last are whole. Those of a tile are pairs,
 * which have two masks. Of wrapped columns the last ones alone are not. */
static bool splits_masks(const kiln__schedule *s) {
    if (s->edges == KILN__EDGES_WRAPPED) return true;
    return s->edges == KILN__EDGES_MASKED && s->staging.kind != KILN__STAGING_TILE;
}

/* A masked row's vectors reach into the rows before and behind, which are there to be read. */
static bool overhangs(const kiln__problem *problem, const kiln__schedule *s, const kiln__operand *operand) {
    const bool masked = kiln__layout_of(s) == KILN__LAYOUT_INNER && s->edges == KILN__EDGES_MASKED;
    return masked && kiln__row_of(s)->reference < 0 && operand->follows_rows && kiln__is_contiguous(problem, operand) &&
           !operand->packed_rows;
}

/* Two halves or four bools are compared by one instruction. What all rows share is loaded where an element of it is
 * needed. */
static bool is_reduced_whole(const kiln__schedule *s, int o, const kiln__operand *operand) {
    const bool vectors = kiln__layout_of(s) != KILN__LAYOUT_OUTER && s->tensors[o].staged && operand->follows_rows;
    if (operand->type == KILN_BOOL) return vectors && s->vector_width % 4 == 0;
    return vectors && (operand->type == KILN_F16 || operand->type == KILN_BF16) && s->vector_width % 2 == 0;
}

static void set_accesses(const kiln__problem *problem, kiln__schedule *s) {
    for (int o = 0; o < problem->input_count; o++) {
        s->tensors[o].overhangs = overhangs(problem, s, &problem->operands[o]);
        s->tensors[o].reduced_whole = is_reduced_whole(s, o, &problem->operands[o]);
    }
}

static int whole_runs_of(const kiln__problem *problem, const kiln__schedule *s) {
    const bool whole = s->staging.kind != KILN__STAGING_TILE && s->edges == KILN__EDGES_ALIGNED &&
                       problem->uneven_columns % s->vector_width == 0;
    return whole ? s->vector_width : 0;
}

/* Kernels whose threads all reach each exchange: in others some rows of a warp have ended, or go through more rows than
 * their neighbours. */
static bool has_whole_warps(const kiln__schedule *s) {
    const bool plain = s->strategy == KILN__ROW && !kiln__row_of(s)->persistent && !kiln__row_of(s)->rows_in_flight;
    return plain && s->team.group == KILN__GROUP_LANES && s->team.threads_per_row < 32 && s->split.chunks == 1 &&
           !kiln__across_plan_of(s)->blocks;
}

void kiln__schedule_details(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    s->unroll = unroll_of(s);
    s->passes.rematerialise = rematerialises(ir, problem, s);
    s->passes.online_pass = online_pass_of(ir, s);
    /* The compiler leaves the last loads of peeled rows in registers behind a division that has no branch. */
    s->passes.branching_means = s->edges == KILN__EDGES_PEELED && !kiln__row_of(s)->rows_in_flight;
    s->passes.splits_masks = splits_masks(s);
    s->code.wide_columns = kiln__layout_of(s) == KILN__LAYOUT_FLAT || problem->longest > INT32_MAX / 2;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER && s->strategy != KILN__ANY_SHAPE)
        s->row.whole_runs = whole_runs_of(problem, s);
    s->staging.whole_steps = whole_steps_of(problem, s);
    s->staging.last_batch = last_batch_of(s);
    if (kiln__layout_of(s) == KILN__LAYOUT_OUTER) {
        s->column.conditional_stores = has_conditional_stores(s);
        s->split.alternates = s->split.chunks > 1;
    }
    s->team.whole_warps = has_whole_warps(s);
    set_accesses(problem, s);
    place_in_shared_memory(problem, s);
}

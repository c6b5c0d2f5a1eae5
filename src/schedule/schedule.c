/* SPDX-License-Identifier: Apache-2.0 */
/* Works points out: by the builder of their strategy, and what follows for all of them. */
#include "schedule/build.h"

#include <string.h>

#include "base/types.h"
#include "schedule/access.h"
#include "schedule/cost.h"

/* Whether some of so many tensors have one value per row. */
static bool have_row_values(const kiln__problem *problem, int first, int count) {
    bool have = false;
    for (int o = first; o < first + count; o++) have |= !problem->operands[o].per_element;
    return have;
}

/* A warp for few chunks, else as many threads as there are, and as have room for what they exchange: from the chunks
 * alone, like the bits of a row. Blocks are of 128 threads at least, and those of a row's columns are for one row,
 * unless it has a warp. */
static int final_threads_of(const kiln__ir *ir, const kiln__schedule *s) {
    const bool outer = kiln__layout_of(s) == KILN__LAYOUT_OUTER;
    const int few = outer ? 32 : 128, most = outer ? 256 : KILN__MOST_THREADS;
    const int64_t exchanged = kiln__schedule_exchanged(s, ir) * (outer ? s->vector_width : 1);
    int threads = s->split.chunks <= few ? 32 : kiln__power_of_two_from(s->split.chunks, most);
    while (threads > 32 && kiln__greatest(threads, 128) / 32 * exchanged > KILN__MOST_STATIC_BYTES) threads /= 2;
    return threads;
}

/* Partial results of a run of rows are contiguous; those of misaligned vectors begin anywhere. */
static int access_bytes_of(const kiln__schedule *s) {
    const bool runs = kiln__column_of(s)->run_rows > 1 && s->edges != KILN__EDGES_MISALIGNED;
    return runs ? KILN__ACCESS_BYTES : 4;
}

/* Up to so many chunks each block of the next launch combines them for itself, in less time than one more launch takes.
 * The number of chunks alone decides, as it changes a result's last bits. */
#define MOST_GATHERED 32

/* How the launches of split rows follow one another. */
static void choose_launches(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    const bool columns_last = problem->columns_out && !s->passes.stores;
    const bool again = columns_last || (int)ir->phase_count - (s->passes.online >= 0) > 1; /* chunks are gone over */
    if (s->split.chunks == 1) return;
    s->split.access_bytes = access_bytes_of(s);
    s->split.columns_last = columns_last;
    s->split.combines = kiln__layout_of(s) == KILN__LAYOUT_OUTER && again && s->split.chunks > MOST_GATHERED;
    s->split.separate_launch = columns_last && have_row_values(problem, 0, problem->input_count) &&
                               have_row_values(problem, problem->input_count, problem->output_count);
    if (columns_last && !s->split.separate_launch && !s->split.combines) return;
    s->split.final_threads = final_threads_of(ir, s);
    s->split.final_block_threads = (int)kiln__greatest(s->split.final_threads, 128);
}

/* Whether each of the operand's elements belongs to one row alone. */
static bool has_unshared_elements(const kiln__problem *problem, const kiln__operand *operand) {
    bool unshared = kiln__has_own_elements(operand) && (!operand->linear || operand->row_stride);
    for (int d = 0; d < problem->inner_rank; d++) unshared = unshared && operand->inner_strides[d];
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++) unshared = unshared && operand->outer_strides[d];
    return unshared;
}

#define SIZES_OF_L2 8 /* of what is read, up to which it gains from leaving the L2 first */

/* Inputs that are read once leave the L2 first, so that they do not push out lines that are still to be written. Where
 * there is much to read, those are written out anyway, and better at once. The size of the architecture's typical L2 is
 * good enough, so that all its devices share a kernel. */
static void choose_policy(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          kiln__schedule *s) {
    const int64_t most = SIZES_OF_L2 * kiln__device_typical(device->arch).l2_bytes;
    const bool one_phase = ir->phase_count + s->passes.selects - (s->passes.online >= 0) == 1;
    const bool once = one_phase ? s->staging.kind != KILN__STAGING_TILE : s->staging.kind == KILN__STAGING_REGISTERS;
    int64_t bytes = 0;
    if (!once || ir->phase_count == 0 || problem->columns_out || !problem->cols) return;
    for (int o = 0; o < problem->input_count; o++) {
        s->tensors[o].evict_first =
            has_unshared_elements(problem, &problem->operands[o]) && s->tensors[o].width && !s->tensors[o].shifted;
        if (s->tensors[o].evict_first) bytes += (int64_t)kiln_type_size(problem->operands[o].type);
    }
    s->evict_first_rows = bytes ? most / problem->cols / bytes : 0;
    for (int o = 0; o < problem->input_count; o++)
        s->tensors[o].evict_first = s->tensors[o].evict_first && s->evict_first_rows;
}

/* What follows from who works on a row, and how. */
static void work_out(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device, kiln__schedule *s) {
    choose_launches(ir, problem, s);
    s->split.dependent = s->split.chunks > 1 && device->arch >= 90;
    choose_policy(ir, problem, device, s);
    kiln__schedule_details(ir, problem, s);
}

/* ---- points ---- */

static bool build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const bool tile = point->staging == KILN__STAGING_TILE;
    *s = kiln__schedule_blank(g->ir, g->problem);
    s->code.inlining = (kiln__inlining)point->inlining;
    if (g->problem->layout == KILN__LAYOUT_FLAT) return kiln__pointwise_build(g, point, s);
    if (g->problem->layout == KILN__LAYOUT_OUTER)
        return tile ? kiln__column_tile_build(g, point, s) : kiln__column_build(g, point, s);
    if (tile) return kiln__row_tile_build(g, point, s);
    return point->rows_per_block > 1 ? kiln__rows_in_flight_build(g, point, s) : kiln__row_build(g, point, s);
}

bool kiln__schedule_sketch(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (!build(g, point, s)) return false;
    const bool streams = s->staging.kind == KILN__STAGING_NONE; /* else the row is there for the last pass, too */
    s->passes.stores = g->traits.stores_early && streams;
    work_out(g->ir, g->problem, g->device, s);
    return true;
}

kiln_status kiln__schedule_conclude(const kiln__given *g, kiln__schedule *s) {
    kiln_status status = kiln__schedule_keeping(g->ir, g->problem, s);
    if (!status) status = kiln__inlining_choose(g->ir, g->problem, s);
    kiln__schedule_describe(s);
    return status;
}

/* Split rows: which columns a chunk has, and how many threads the last launch combines chunks by. */
static bool chunks_are_alike(const kiln__schedule *a, const kiln__schedule *b) {
    if (a->split.chunks != b->split.chunks) return false;
    return a->split.chunks == 1 || (a->steps == b->steps && a->split.final_threads == b->split.final_threads);
}

/* Phases that are reduced together: a centre moves at most once in a batch. */
static bool passes_are_alike(const kiln__schedule *a, const kiln__schedule *b) {
    if (a->passes.online != b->passes.online || a->passes.online_pass != b->passes.online_pass) return false;
    return a->passes.online_pass != KILN__ONLINE_CORRECTED || a->batch == b->batch;
}

bool kiln__schedule_combines_alike(const kiln__schedule *a, const kiln__schedule *b) {
    const bool columns = kiln__layout_of(a) == KILN__LAYOUT_OUTER && kiln__layout_of(b) == KILN__LAYOUT_OUTER;
    return (a->strategy == b->strategy || columns) && a->team.threads_per_row == b->team.threads_per_row &&
           kiln__column_of(a)->rank_groups == kiln__column_of(b)->rank_groups &&
           kiln__column_of(a)->transpose_width == kiln__column_of(b)->transpose_width && chunks_are_alike(a, b) &&
           passes_are_alike(a, b);
}

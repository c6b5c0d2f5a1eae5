/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a schedule: the points that are preferred, each worked out by the builder of its strategy until one is a
 * schedule; and what follows for all of them. */
#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/cost.h"
#include "schedule/prefer.h"

kiln__schedule kiln__schedule_blank(const kiln__ir *ir, const kiln__problem *problem) {
    static const kiln__strategy strategies[] = {
        [KILN__LAYOUT_FLAT] = KILN__POINTWISE, [KILN__LAYOUT_INNER] = KILN__ROW, [KILN__LAYOUT_OUTER] = KILN__COLUMN};
    kiln__schedule s;
    memset(&s, 0, sizeof s);
    s.strategy = strategies[problem->layout];
    s.team.blocks_per_row = s.split.chunks = 1;
    s.passes.online = -1;
    for (uint32_t i = 0; i < ir->count; i++) s.passes.ordered |= ir->insts[i].op == KILN__OP_REDUCE_USER;
    return s;
}

void kiln__schedule_split(const kiln__ir *ir, int chunks, kiln__schedule *s) {
    s->split.chunks = 1;
    if (ir->phase_count == 0 || s->staging.kind != KILN__STAGING_NONE || s->team.blocks_per_row > 1 || chunks <= 1)
        return;
    const int64_t steps = kiln__divide_up(s->steps, chunks);
    s->split.chunks = (int)kiln__divide_up(s->steps, steps);
    s->steps = steps;
    if (s->batch > s->steps) s->batch = (int)s->steps;
}

void kiln__schedule_batch(const kiln__pins *point, int usual, kiln__schedule *s) {
    const int most = KILN__MOST_REGISTER_ELEMENTS / s->vector_width, pinned = (int)kiln__least(point->batch, most);
    s->batch = point->batch ? pinned : usual;
    if (s->batch > s->steps || s->staging.kind == KILN__STAGING_REGISTERS) s->batch = (int)s->steps;
}

/* How the launches of split rows follow one another. */
static void choose_launches(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    bool rows_in = false, rows_out = false;
    if (s->split.chunks == 1) return;
    for (int o = 0; o < problem->input_count; o++) rows_in |= !problem->operands[o].per_element;
    for (int o = 0; o < problem->output_count; o++)
        rows_out |= !problem->operands[problem->input_count + o].per_element;
    s->split.separate_launch = problem->columns_out && rows_in && rows_out;
    if (problem->columns_out && !s->split.separate_launch) return;
    /* From the chunks alone, like the bits of a row. */
    const bool outer = kiln__layout_of(s) == KILN__LAYOUT_OUTER;
    const int most = outer ? 256 : 1024;
    s->split.final_threads =
        s->split.chunks <= (outer ? 32 : 128) ? 32 : kiln__power_of_two_from(s->split.chunks, most);
    const int64_t exchanged = kiln__schedule_exchanged(s, ir) * (outer ? s->vector_width : 1);
    while (s->split.final_threads > 32 &&
           (s->split.final_threads > 128 ? s->split.final_threads : 128) / 32 * exchanged > KILN__MOST_STATIC_BYTES)
        s->split.final_threads /= 2;
    s->split.final_block_threads = s->split.final_threads > 128 ? s->split.final_threads : 128;
}

/* Whether each of the operand's elements belongs to one row alone. */
static bool is_apart(const kiln__problem *problem, const kiln__operand *operand) {
    bool apart = operand->per_element && operand->follows_rows && (!operand->linear || operand->row_stride);
    for (int d = 0; d < problem->inner_rank; d++) apart = apart && operand->inner_strides[d];
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++) apart = apart && operand->outer_strides[d];
    return apart;
}

/* Up to so many times the size of the L2 what is read gains from leaving it first. */
static int sizes_of_l2(const kiln__schedule *s) {
    if (s->edges == KILN__EDGES_MISALIGNED) return 3;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) return 8;
    return s->split.chunks > 1 ? 32 : 6;
}

/* What is read once and written nowhere leaves the L2 first, so that what others left there to be written need not be
 * written meanwhile. Of much, all of that is written anyway, and better at once. The size of the architecture's typical
 * L2 is good enough, so that all its devices share a kernel. */
static void choose_policy(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          kiln__schedule *s) {
    const int64_t most = sizes_of_l2(s) * kiln__device_typical(device->arch).l2_bytes;
    const bool one_phase = ir->phase_count - (s->passes.online >= 0) == 1;
    const bool once = one_phase ? s->staging.kind != KILN__STAGING_TILE : s->staging.kind == KILN__STAGING_REGISTERS;
    int64_t bytes = 0;
    if (!once || ir->phase_count == 0 || problem->columns_out || !problem->cols) return;
    for (int o = 0; o < problem->input_count; o++) {
        s->tensors[o].evict_first = is_apart(problem, &problem->operands[o]) && s->tensors[o].width;
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

static kiln_status conclude(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                            kiln__schedule *s) {
    work_out(ir, problem, device, s);
    kiln_status status = kiln__schedule_keeping(ir, problem, s);
    if (!status) status = kiln__inlining_choose(ir, problem, s);
    kiln__schedule_describe(s);
    return status;
}

/* ---- points ---- */

static bool build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const bool tile = point->staging == KILN__STAGING_TILE;
    *s = kiln__schedule_blank(g->ir, g->problem);
    s->code.inlining = (kiln__inlining)point->inlining;
    if (g->problem->layout == KILN__LAYOUT_OUTER)
        return tile ? kiln__column_tile_build(g, point, s) : kiln__column_build(g, point, s);
    if (tile) return kiln__row_tile_build(g, point, s);
    return point->rows_per_block > 1 ? kiln__rows_in_flight_build(g, point, s) : kiln__row_build(g, point, s);
}

bool kiln__schedule_sketch(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (g->problem->layout == KILN__LAYOUT_FLAT) {
        const bool is_one = !kiln__pointwise_choose(g, point, 0, s);
        kiln__clear_error();
        if (is_one) work_out(g->ir, g->problem, g->device, s);
        return is_one;
    }
    if (!build(g, point, s)) return false;
    work_out(g->ir, g->problem, g->device, s);
    return true;
}

/* Whether a multiprocessor has two blocks of so many threads, where the preference is for two. */
static bool has_two_blocks(const kiln__schedule *s) {
    return s->staging.kind != KILN__STAGING_SHARED || s->team.threads < 1024 || s->team.min_blocks_per_sm == 2;
}

/* The attempt-th of the preferences that are schedules, but for those that are the same as the one before. False where
 * there are not so many. */
static bool take(const kiln__given *g, const kiln__preference *preferences, int count, int attempt,
                 kiln__schedule *out) {
    kiln__schedule before;
    memset(&before, 0, sizeof before);
    for (int i = 0; i < count; i++) {
        if (!build(g, &preferences[i].point, out)) continue;
        if (preferences[i].of_two_blocks && !has_two_blocks(out)) continue;
        if (!memcmp(out, &before, sizeof before)) continue;
        before = *out;
        if (attempt-- > 0) continue;
        out->reason = preferences[i].reason;
        return true;
    }
    return false;
}

/* ---- what is said where there is none ---- */

static kiln_status no_rows(const kiln__problem *problem, const kiln__pins *pins) {
    if (problem->across)
        return kiln__fail(
            KILN_E_UNSUPPORTED,
            "no schedule has room for values of all rows of %lld columns: they take shared memory, expected "
            "fewer columns, or a program of their own",
            (long long)problem->cols);
    if (kiln__blocks_have_slots(problem) && !kiln__pins_any(pins))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no schedule has room for blocks of %lld columns within rows of %lld: what they reduce takes "
                          "shared memory, expected fewer columns",
                          (long long)problem->blocks[problem->block_count - 1], (long long)problem->cols);
    if (pins->staging == KILN__STAGING_TILE)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no pinned tile fits rows of %lld columns: expected lanes N and "
                          "rows N of up to 64 KB, 32 to 1024 threads",
                          (long long)problem->cols);
    return kiln__fail(KILN_E_UNSUPPORTED, "no %s schedule fits rows of %lld columns",
                      pins->staging >= 0 || pins->threads ? "pinned" : "further", (long long)problem->cols);
}

static kiln_status no_columns(const kiln__pins *pins, int attempt) {
    if (pins->staging == KILN__STAGING_TILE)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no pinned tile fits rows that lie side by side: expected tensors whose rows "
                          "and columns are one array, and runs of them that fit a block");
    if (attempt > 0) return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    if (pins->cluster > 1)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "rows that lie side by side have no pinned schedule in clusters of %d: "
                          "expected registers or shared, and blocks of fewer rows",
                          pins->cluster);
    return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for rows that lie side by side: expected "
                                          "threads 1 to 1024, and registers (up to 256 elements a thread), shared "
                                          "(where a block's rows fit) or stream");
}

/* A tile of neighbouring rows follows from the tensors, but for the ranks that its threads stand for. */
static kiln_status check_pins(const kiln__problem *problem, const kiln__pins *pins) {
    const kiln__pins tile = {.group = -1,
                             .staging = KILN__STAGING_TILE,
                             .threads = pins->threads,
                             .cluster = pins->threads ? pins->cluster : 0,
                             .inlining = pins->inlining};
    if (problem->layout != KILN__LAYOUT_OUTER || pins->staging != KILN__STAGING_TILE ||
        !memcmp(pins, &tile, sizeof tile))
        return KILN_OK;
    return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for rows that lie side by side: expected no "
                                          "other words beside 'tile' than threads N and, with it, cluster N");
}

/* Whether pins leave nothing to be chosen. */
static bool are_whole(const kiln__problem *problem, const kiln__pins *pins) {
    const bool shared = pins->threads && pins->staging >= 0;
    const bool blocks = pins->vector_width && pins->rows_per_block && pins->cluster && pins->splits && pins->persistent;
    if (problem->layout == KILN__LAYOUT_INNER) return shared && blocks && pins->group >= 0;
    return shared && (pins->staging == KILN__STAGING_TILE || (blocks && pins->online && pins->misaligned));
}

/* The points in the order in which they are tried; of whole pins themselves. */
static int list_points(const kiln__given *g, const kiln__pins *pins, kiln__preference *out) {
    out[0] = (kiln__preference){.point = *pins};
    if (are_whole(g->problem, pins)) return 1;
    if (kiln__blocks_have_slots(g->problem)) return kiln__prefer_slots(g, pins, out);
    return g->problem->layout == KILN__LAYOUT_INNER ? kiln__prefer_rows(g, pins, out)
                                                    : kiln__prefer_columns(g, pins, out);
}

static kiln_status choose_point(const kiln__given *g, const kiln__pins *pins, int attempt, kiln__schedule *out) {
    const bool rows = g->problem->layout == KILN__LAYOUT_INNER;
    kiln__preference *preferences = malloc(KILN__MOST_PREFERENCES * sizeof *preferences);
    if (!preferences) return kiln__out_of_memory();
    const bool found = take(g, preferences, list_points(g, pins, preferences), attempt, out);
    free(preferences);
    if (!found) return rows ? no_rows(g->problem, pins) : no_columns(pins, attempt);
    if (!out->reason || (rows && (pins->staging >= 0 || pins->threads))) out->reason = "the caller pinned it";
    return KILN_OK;
}

kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out) {
    kiln__given g = {.ir = ir, .problem = problem, .device = device};
    kiln_status status = kiln__traits_find(ir, problem, &g.traits);
    if (!status) status = check_pins(problem, pins);
    if (!status)
        status = problem->layout == KILN__LAYOUT_FLAT ? kiln__pointwise_choose(&g, pins, attempt, out)
                                                      : choose_point(&g, pins, attempt, out);
    return status ? status : conclude(ir, problem, device, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a schedule: the candidate that the model expects to be the fastest. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "schedule/access.h"
#include "schedule/column_order.h"
#include "schedule/build.h"
#include "schedule/rank.h"
#include "schedule/work.h"

/* ---- what is said where there is none ---- */

static kiln_status no_rows(const kiln__problem *problem, const kiln__pins *pins, int attempt) {
    if (problem->across && problem->sorted)
        return kiln__fail(KILN_E_UNSUPPORTED, "rows are sorted beside no values of all rows: two programs do that");
    if (problem->across && problem->ordered)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "scans and reduce(..) go beside no values of all rows: two programs do that");
    if (problem->across)
        return kiln__fail(
            KILN_E_UNSUPPORTED,
            "no schedule has room for values of all rows of %lld columns: they take shared memory, expected "
            "fewer columns, or a program of their own",
            (long long)problem->cols);
    if (problem->sorted && !kiln__pins_any(pins))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no schedule has room for what is sorted of rows of %lld columns: it takes %s, expected "
                          "fewer columns, or a smaller k",
                          (long long)problem->cols,
                          problem->block_count ? "shared memory beside blocks" : "more than 2 GB");
    if (kiln__needs_slots(problem) && !kiln__pins_any(pins))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no schedule has room for blocks of %lld columns within rows of %lld: what they reduce takes "
                          "shared memory, expected fewer columns",
                          (long long)problem->blocks[problem->block_count - 1], (long long)problem->cols);
    if (pins->staging == KILN__STAGING_TILE)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no pinned tile fits rows of %lld columns: expected lanes N, a power of two up to 32, and "
                          "rows N of up to 64 KB that are whole warps' lanes",
                          (long long)problem->cols);
    const char *which = attempt > 0 ? "further " : kiln__pins_any(pins) ? "pinned " : "";
    return kiln__fail(KILN_E_UNSUPPORTED, "no %sschedule fits rows of %lld columns", which, (long long)problem->cols);
}

static kiln_status no_columns(const kiln__pins *pins, int attempt) {
    if (pins->staging == KILN__STAGING_TILE)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no pinned tile fits rows that lie side by side: expected tensors whose rows "
                          "and columns are one array, and runs of them that fit a block");
    if (attempt > 0) return kiln__fail(KILN_E_UNSUPPORTED, "no further schedule fits rows that lie side by side");
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
                                          "other words beside 'tile' than threads N, with it cluster N, and calls, "
                                          "outlined or loops");
}

static kiln_status no_elements(const kiln__pins *pins, int attempt) {
    if (attempt > 0 || !kiln__pins_any(pins))
        return kiln__fail(KILN_E_UNSUPPORTED, "no further schedule fits this elementwise program");
    return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for elementwise programs: expected threads "
                                          "N, a multiple of 32 up to 1024, and registers (up to 256 "
                                          "elements a thread)");
}

static kiln_status none(const kiln__problem *problem, const kiln__pins *pins, int attempt) {
    switch (problem->layout) {
    case KILN__LAYOUT_INNER: return no_rows(problem, pins, attempt);
    case KILN__LAYOUT_OUTER: return no_columns(pins, attempt);
    default: return no_elements(pins, attempt);
    }
}

/* A refusal, with the pinned words before it: each may be possible beside others. */
static kiln_status name_pins(kiln_status status, const kiln__pins *pins) {
    char words[KILN__PINS_SIZE], sentence[512];
    if (!status || !kiln__pins_any(pins)) return status;
    kiln__pins_write(pins, words);
    snprintf(sentence, sizeof sentence, "%s", kiln_last_error());
    return kiln__fail(status, "'%s': %s", words, sentence);
}

/* ---- the model ---- */

#define FIELD(name) offsetof(kiln__pins, name)

/* Whether pins leave nothing to be chosen. Of a tile of neighbouring rows the first two words are all. */
static bool are_whole(const kiln__problem *problem, const kiln__pins *pins) {
    static const struct {
        int count;
        size_t of[9];
    } words[] = {
        [KILN__LAYOUT_FLAT] = {3, {FIELD(threads), FIELD(steps), FIELD(vector_width)}},
        [KILN__LAYOUT_INNER] = {8,
                                {FIELD(staging), FIELD(threads), FIELD(vector_width), FIELD(rows_per_block),
                                 FIELD(cluster), FIELD(splits), FIELD(persistent), FIELD(group)}},
        [KILN__LAYOUT_OUTER] = {9,
                                {FIELD(staging), FIELD(threads), FIELD(vector_width), FIELD(rows_per_block),
                                 FIELD(cluster), FIELD(splits), FIELD(persistent), FIELD(online),
                                 FIELD(vectors_begin)}},
    };
    const bool tile = problem->layout == KILN__LAYOUT_OUTER && pins->staging == KILN__STAGING_TILE;
    const int count = tile ? 2 : words[problem->layout].count;
    for (int i = 0; i < count; i++)
        if (!kiln__pins_has(pins, words[problem->layout].of[i])) return false;
    return true;
}

static kiln_status one_point(const kiln__pins *pins, kiln__ranked **out, int *count) {
    *out = calloc(1, sizeof **out);
    *count = *out != NULL;
    if (!*out) return kiln__out_of_memory();
    (*out)->point = *pins;
    return KILN_OK;
}

/* In the order in which they are tried. *out is the caller's to free. */
static kiln_status list_points(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    return are_whole(g->problem, pins) ? one_point(pins, out, count) : kiln__rank(g, pins, out, count);
}

/* Whether a schedule has none of what some word says: no strategy knows all of them, and whole points are built without
 * being compared with the pins before. */
static bool ignores(const kiln__pins *pins, const kiln__schedule *s) {
    const bool flat = kiln__layout_of(s) == KILN__LAYOUT_FLAT;
    const bool shared_out = s->team.blocks_per_row > 1 || kiln__column_of(s)->rank_groups > 1;
    const struct {
        bool said, had;
    } words[] = {{pins->steps > 0, flat},
                 {pins->batch > 0, s->staging.kind == KILN__STAGING_NONE},
                 {pins->staging >= 0, (int)s->staging.kind == pins->staging},
                 {pins->group == KILN__GROUP_GRID, s->team.group == KILN__GROUP_GRID},
                 {pins->group == KILN__GROUP_CUB, s->team.group == KILN__GROUP_CUB},
                 {pins->persistent > 0, kiln__row_of(s)->persistent},
                 {pins->splits > 1, s->split.chunks > 1},
                 {pins->cluster > 1, shared_out},
                 {pins->rows_per_block > 1, s->team.rows_per_block == pins->rows_per_block},
                 {pins->online > 0, !flat},
                 {pins->vectors_begin == KILN__BEGIN_ALIGNED, s->edges == KILN__EDGES_MISALIGNED},
                 {pins->vectors_begin == KILN__BEGIN_WRAPPED, s->edges == KILN__EDGES_WRAPPED}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].said && !words[i].had) return true;
    return false;
}

static int registers_of(const kiln__given *g, const kiln__schedule *s) { return kiln__work_of(g, s).registers; }

static bool keeps_in_registers(const kiln__schedule *s) { return s->staging.kind == KILN__STAGING_REGISTERS; }

/* Whether a schedule is worth trying after one that spilled registers, or whose clusters have no room. How many
 * registers the compiler takes is a guess: one that keeps nothing of a row in them may take fewer than expected. */
static bool needs_less(const kiln__given *g, const kiln__schedule *s, const kiln__schedule *before) {
    const int registers = registers_of(g, s), registers_before = registers_of(g, before);
    const int blocks = s->team.blocks_per_row, blocks_before = before->team.blocks_per_row;
    if (registers > registers_before || blocks > blocks_before) return false;
    if (keeps_in_registers(s) != keeps_in_registers(before)) return keeps_in_registers(before);
    return registers + KILN__REGISTERS_OFF <= registers_before || blocks < blocks_before;
}

/* The first schedule in the model's order, and for later attempts the first behind it that needs less, and so on. Those
 * that are too large to be compiled are none, unless all are: then KILN_E_LIMIT says how large. */
static kiln_status take(const kiln__given *g, const kiln__pins *pins, const kiln__ranked *points, int count,
                        int attempt, kiln__schedule *out, kiln__pins *point, bool *found) {
    kiln__schedule before, sketch;
    bool first = true;
    kiln_status refused = KILN_OK;
    *found = false;
    for (int i = 0; i < count; i++) {
        if (!kiln__schedule_sketch(g, &points[i].point, &sketch) || ignores(pins, &sketch)) continue;
        if (!first && !needs_less(g, &sketch, &before)) continue;
        *out = sketch;
        kiln_status status = kiln__schedule_conclude(g, out);
        if (status == KILN_E_LIMIT) {
            refused = status;
            continue;
        }
        if (status) return status;
        before = sketch;
        first = false;
        *point = points[i].point;
        *found = attempt-- == 0;
        if (*found) break;
    }
    if (first) return refused;
    if (refused) kiln__clear_error(); /* what was passed over is no failure of the call */
    return KILN_OK;
}

/* ---- all ---- */

const char *kiln__reason_of_model(const kiln__problem *problem) {
    if (problem->sorted)
        return "it is listed first: the model knows nothing of sorting, so measured rules order the list";
    if (problem->layout == KILN__LAYOUT_OUTER)
        return "of the candidates that combine columns in the order of all layouts, the model expects this one to be "
               "the fastest";
    return "of all candidates the model expects this one to be the fastest";
}

static const char *reason_of(const kiln__problem *problem, int attempt) {
    return attempt ? "those that the model expects to be faster have no room" : kiln__reason_of_model(problem);
}

static kiln_status choose_point(const kiln__given *g, const kiln__pins *pins, int attempt, kiln__schedule *out,
                                kiln__pins *point) {
    kiln__ranked *points = NULL;
    int count;
    *point = KILN__PINS_NONE;
    kiln_status status = list_points(g, pins, &points, &count);
    bool found = false;
    if (!status) status = take(g, pins, points, count, attempt, out, point, &found);
    free(points);
    if (status) return status;
    if (!found) return name_pins(none(g->problem, pins, attempt), pins);
    out->reason = kiln__pins_any(pins) ? "the caller pinned it" : reason_of(g->problem, attempt);
    return KILN_OK;
}

kiln__pins kiln__kept_of_point(const kiln__problem *problem, const kiln__pins *point) {
    return problem->layout == KILN__LAYOUT_OUTER ? kiln__order_of(point) : *point;
}

kiln_status kiln__schedule_choose_point(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                        const kiln__pins *pins, int attempt, kiln__schedule *out, kiln__pins *point) {
    kiln__given g = {.ir = ir, .problem = problem, .device = device};
    kiln_status status = kiln__traits_find(ir, problem, &g.traits);
    if (!status) status = name_pins(check_pins(problem, pins), pins);
    return status ? status : choose_point(&g, pins, attempt, out, point);
}

kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out) {
    kiln__pins point;
    return kiln__schedule_choose_point(ir, problem, device, pins, attempt, out, &point);
}

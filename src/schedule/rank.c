/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/candidates.h"
#include "schedule/column_order.h"
#include "schedule/typical_rows.h"

/* Few rows count half: what a GPU is bought for are many. */
#define FEW_WEIGHT 0.5
#define CLOSELY 24 /* candidates */
/* What is expected to take no more than so many times as long as the fastest is as fast: the model tells no smaller
 * differences. */
#define ALIKE 1.005

typedef struct ranking {
    kiln__problem problems[2];
    kiln__given sizes[2]; /* of many rows, and of few */
} ranking;

static void begin(const kiln__given *g, ranking *r) {
    const double bytes[] = {KILN__RANK_BYTES, KILN__RANK_FEW_BYTES};
    for (int i = 0; i < 2; i++) {
        r->problems[i] = *g->problem;
        kiln__set_typical_rows(bytes[i], &r->problems[i]);
        r->sizes[i] = *g;
        r->sizes[i].problem = &r->problems[i];
    }
}

static double expect(const ranking *r, const kiln__schedule *s) {
    double slowdowns[2];
    for (int i = 0; i < 2; i++) {
        kiln__estimate estimate;
        kiln__model_estimate(&r->sizes[i], s, &estimate);
        slowdowns[i] = kiln__model_slowdown(&estimate, KILN__ALL_TREES);
    }
    return exp2((slowdowns[0] + FEW_WEIGHT * slowdowns[1]) / (1 + FEW_WEIGHT));
}

/* qsort is not stable: the places in the list decide among equals. */
typedef struct placed {
    kiln__ranked ranked;
    bool tight; /* may have no room for its values in registers: behind all that have */
    int place;
} placed;

static int by_slowdown(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->tight != y->tight) return x->tight - y->tight;
    if (x->ranked.slowdown != y->ranked.slowdown) return x->ranked.slowdown < y->ranked.slowdown ? -1 : 1;
    return x->place - y->place;
}

/* At a glance: of many rows alone, by the first trees. They know nothing of sorting, which stays in the order of the
 * list. */
static placed glance(const ranking *r, const kiln__pins *point, const kiln__schedule *s, int place) {
    kiln__estimate many;
    if (r->problems[0].sorted) return (placed){{*point, 1}, false, place};
    kiln__model_estimate(&r->sizes[0], s, &many);
    return (placed){{*point, exp2(kiln__model_slowdown(&many, KILN__FIRST_TREES))}, many.tight, place};
}

/* All in the order of a glance; returns how many there are. */
static int sort_all(const kiln__given *g, const ranking *r, const kiln__pins *points, int listed, placed *all) {
    int count = 0;
    for (int i = 0; i < listed; i++) {
        kiln__schedule s;
        if (!kiln__schedule_sketch(g, &points[i], &s)) continue;
        all[count] = glance(r, &points[i], &s, count);
        count++;
    }
    qsort(all, (size_t)count, sizeof *all, by_slowdown);
    return count;
}

/* Those that a glance takes for the best are looked at closely. It tells little of how far the others are behind: at
 * least as far as those. */
static void sort_best(const kiln__given *g, const ranking *r, placed *all, int count) {
    const int best = (int)kiln__least(count, CLOSELY);
    for (int i = 0; i < best; i++) {
        kiln__schedule s;
        if (!kiln__schedule_sketch(g, &all[i].ranked.point, &s)) continue;
        if (!g->problem->sorted) all[i].ranked.slowdown = expect(r, &s);
    }
    qsort(all, (size_t)best, sizeof *all, by_slowdown);
    for (int i = 1; i < count; i++) all[i].ranked.slowdown = fmax(all[i].ranked.slowdown, all[i - 1].ranked.slowdown);
}

/* ---- what compiles soonest ---- */

static bool is_as_fast(const placed *a, const placed *first) {
    return a->tight == first->tight && a->ranked.slowdown <= ALIKE * first->ranked.slowdown;
}

/* Of schedules that differ in little else: functions that are called make code shorter, but no faster; rows that are
 * cut take a launch and partial results besides; of rows' ends the estimate is rough. */
static bool is_shorter(const kiln__schedule *a, const kiln__schedule *b) {
    if (a->split.chunks != b->split.chunks || a->edges != b->edges || a->code.inlining > b->code.inlining) return false;
    return a->code.instructions < b->code.instructions;
}

/* The candidate, whole. One that is too large to be compiled stays one: who chooses it is told. */
static kiln_status find_schedule(const kiln__given *g, const placed *candidate, kiln__schedule *s) {
    if (!kiln__schedule_sketch(g, &candidate->ranked.point, s)) return KILN_OK;
    kiln_status status = kiln__schedule_conclude(g, s);
    if (status != KILN_E_LIMIT) return status;
    kiln__clear_error();
    return KILN_OK;
}

/* Of those that are as fast as the first the one of the least code goes before them, unless what they take was never
 * measured. */
static kiln_status prefer_short_code(const kiln__given *g, placed *all, int count) {
    kiln__schedule shortest, s;
    const int looked_at = (int)kiln__least(count, CLOSELY);
    int best = 0, alike = 1;
    while (alike < looked_at && is_as_fast(&all[alike], &all[0])) alike++;
    if (g->problem->sorted || alike == 1) return KILN_OK;
    kiln_status status = find_schedule(g, &all[0], &shortest);
    for (int i = 1; i < alike && !status; i++) {
        status = find_schedule(g, &all[i], &s);
        if (status || !is_shorter(&s, &shortest)) continue;
        best = i;
        shortest = s;
    }
    placed chosen = all[best];
    chosen.ranked.slowdown = all[0].ranked.slowdown;
    memmove(all + 1, all, (size_t)best * sizeof *all);
    all[0] = chosen;
    return status;
}

static kiln_status rank_points(const kiln__given *g, const kiln__pins *pins, bool any, kiln__ranked **out, int *count) {
    kiln__pins *points = malloc(KILN__MOST_CANDIDATES * sizeof *points);
    ranking *r = malloc(sizeof *r); /* large for a small stack */
    const int listed = points ? kiln__candidates_list(g, pins, any, points) : 0;
    placed *all = calloc((size_t)listed + 1, sizeof *all);
    *out = calloc((size_t)listed + 1, sizeof **out);
    *count = 0;
    kiln_status status = points && r && all && *out ? KILN_OK : kiln__out_of_memory();
    if (!status) {
        begin(g, r);
        *count = sort_all(g, r, points, listed, all);
        sort_best(g, r, all, *count);
        status = prefer_short_code(g, all, *count);
    }
    for (int i = 0; i < *count; i++) (*out)[i] = all[i].ranked;
    free(all);
    free(r);
    free(points);
    if (!status) return KILN_OK;
    free(*out);
    *out = NULL;
    return status;
}

kiln_status kiln__rank_all(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    return rank_points(g, pins, false, out, count);
}

/* ---- those that may be chosen ---- */

/* Behind the candidates of the best order those of the next. */
static kiln_status append(const kiln__given *g, const kiln__pins *order, kiln__ranked **out, int *count) {
    kiln__ranked *more;
    int found;
    kiln_status status = kiln__rank_all(g, order, &more, &found);
    if (status) return status;
    kiln__ranked *all = realloc(*out, (size_t)(*count + found + 1) * sizeof *all);
    for (int i = 0; i < found && all; i++) all[*count + i] = more[i];
    free(more);
    if (!all) return kiln__out_of_memory();
    *out = all;
    *count += found;
    return KILN_OK;
}

static kiln_status rank_columns(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    kiln__pins orders[KILN__MOST_ORDERS];
    int order_count = 0;
    kiln_status status = kiln__column_orders(g, pins, orders, &order_count);
    for (int i = 0; i < order_count && !status; i++) status = append(g, &orders[i], out, count);
    if (!status) return KILN_OK;
    free(*out);
    *out = NULL;
    return status;
}

kiln_status kiln__rank(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    const bool columns = g->problem->layout == KILN__LAYOUT_OUTER && !kiln__needs_slots(g->problem);
    *out = NULL;
    *count = 0;
    kiln_status status = columns ? rank_columns(g, pins, out, count) : kiln__rank_all(g, pins, out, count);
    if (status || *count || !kiln__pins_any(pins)) return status;
    free(*out);
    return rank_points(g, pins, true, out, count);
}

kiln_status kiln__rank_slowdown(const kiln__given *g, const kiln__schedule *s, kiln__estimate *many, double *slowdown) {
    ranking *r = malloc(sizeof *r);
    if (!r) return kiln__out_of_memory();
    begin(g, r);
    if (many) kiln__model_estimate(&r->sizes[0], s, many);
    *slowdown = expect(r, s);
    free(r);
    return KILN_OK;
}

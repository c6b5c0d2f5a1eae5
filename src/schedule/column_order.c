/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/column_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "schedule/candidates.h"
#include "schedule/rank.h"

/* ---- typical layouts ---- */

/* So many rows lie side by side, in as many runs as move the bytes: many and few, aligned and not. */
static const struct {
    int64_t neighbours;
    double bytes;
} layouts[] = {{4096, KILN__RANK_BYTES}, {1021, KILN__RANK_BYTES},    {64, KILN__RANK_BYTES},
               {13, KILN__RANK_BYTES},   {512, KILN__RANK_FEW_BYTES}, {61, KILN__RANK_FEW_BYTES}};
#define LAYOUTS ((int)(sizeof layouts / sizeof *layouts))

/* Whether neighbouring rows differ in it. What differs between runs of them alone is as what all share: of one run
 * nobody can tell. */
static bool differs(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    return operand->output || (last < 0 || operand->linear ? operand->row_stride : operand->outer_strides[last]) != 0;
}

static void lay_operand(int64_t columns, int64_t rows, kiln__operand *operand) {
    const int64_t own = operand->follows_rows ? rows : 1;
    operand->linear = operand->contiguous_columns = false;
    operand->alignment = 16 / (int)kiln_type_size(operand->type);
    memset(operand->inner_strides, 0, sizeof operand->inner_strides);
    memset(operand->outer_strides, 0, sizeof operand->outer_strides);
    if (operand->per_element) operand->inner_strides[0] = own;
    if (!operand->follows_rows) return;
    operand->outer_strides[0] = operand->per_element ? columns * rows : rows;
    operand->outer_strides[1] = 1;
}

/* The problem as if so many of its rows lay side by side, and each tensor were one array. */
static void lay_out(const kiln__problem *problem, int64_t rows, double bytes, kiln__problem *p) {
    *p = *problem;
    p->inner_rank = 1;
    p->inner[0] = p->cols;
    p->outer_rank = 2;
    p->outer[1] = rows;
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        p->operands[o].follows_rows = differs(problem, &problem->operands[o]);
        lay_operand(p->cols, rows, &p->operands[o]);
    }
    kiln__rank_set_rows(bytes, p);
}

/* ---- orders ---- */

#define MOST_ORDERS 256
#define UNKNOWN 8.0 /* times the best: an order that a layout has no candidate of */

/* Pins of candidates that combine a row's columns each in another order, and how slow the best of each order is in each
 * layout. */
typedef struct orders {
    int count;
    kiln__pins of[MOST_ORDERS];
    double slowdowns[MOST_ORDERS][LAYOUTS];
} orders;

/* A tile has the order of one chunk, phase after phase. */
kiln__pins kiln__order_of(const kiln__pins *point) {
    const bool tile = point->staging == KILN__STAGING_TILE;
    kiln__pins order = KILN__PINS_NONE;
    order.threads = point->threads;
    order.cluster = point->cluster;
    order.splits = tile ? 1 : point->splits;
    order.online = tile ? -1 : point->online;
    return order;
}

static bool are_alike(const kiln__pins *a, const kiln__pins *b) {
    return a->threads == b->threads && a->cluster == b->cluster && a->splits == b->splits && a->online == b->online;
}

static void note(orders *all, const kiln__pins *point, int layout, double slowdown) {
    const kiln__pins order = kiln__order_of(point);
    int i = 0;
    while (i < all->count && !are_alike(&all->of[i], &order)) i++;
    if (i == MOST_ORDERS) return;
    if (i == all->count) {
        all->of[all->count++] = order;
        for (int l = 0; l < LAYOUTS; l++) all->slowdowns[i][l] = UNKNOWN;
    }
    all->slowdowns[i][layout] = fmin(all->slowdowns[i][layout], slowdown);
}

static void note_layout(const kiln__given *g, const kiln__pins *pins, int layout, kiln__pins *points, orders *all) {
    const int count = kiln__candidates_of_orders(g, pins, points);
    for (int i = 0; i < count; i++) {
        kiln__schedule s;
        kiln__estimate estimate;
        if (!kiln__schedule_sketch(g, &points[i], &s)) continue;
        kiln__model_estimate(g, &s, &estimate);
        note(all, &points[i], layout, exp2(kiln__model_slowdown(&estimate, KILN__ALL_TREES)));
    }
}

/* The order whose slowdowns multiply to the least. */
static const kiln__pins *best_of(const orders *all) {
    const kiln__pins *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < all->count; i++) {
        double product = 1;
        for (int l = 0; l < LAYOUTS; l++) product *= all->slowdowns[i][l];
        if (product >= least) continue;
        least = product;
        best = &all->of[i];
    }
    return best;
}

/* ---- all ---- */

static kiln_status find_order(const kiln__given *g, const kiln__pins *pins, kiln__pins *out) {
    orders *all = calloc(1, sizeof *all);
    kiln__problem *problem = malloc(sizeof *problem); /* large for a small stack */
    kiln__pins *points = malloc(KILN__MOST_CANDIDATES * sizeof *points);
    kiln_status status = all && problem && points ? KILN_OK : kiln__out_of_memory();
    for (int l = 0; l < LAYOUTS && !status; l++) {
        kiln__given laid_out = *g;
        laid_out.problem = problem;
        lay_out(g->problem, layouts[l].neighbours, layouts[l].bytes, problem);
        status = kiln__traits_find(g->ir, problem, &laid_out.traits);
        if (!status) note_layout(&laid_out, pins, l, points, all);
    }
    const kiln__pins *best = status ? NULL : best_of(all);
    if (best) {
        out->threads = best->threads;
        out->cluster = best->cluster;
        out->splits = best->splits;
        out->online = best->online;
    }
    free(points);
    free(problem);
    free(all);
    return status;
}

kiln_status kiln__column_order(const kiln__given *g, const kiln__pins *pins, kiln__pins *out) {
    *out = *pins;
    if (pins->threads && pins->cluster && pins->splits && pins->online) return KILN_OK;
    return find_order(g, pins, out);
}

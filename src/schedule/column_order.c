/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/column_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "schedule/candidates.h"
#include "schedule/model.h"
#include "schedule/typical_rows.h"

/* ---- typical layouts ---- */

/* So many rows lie side by side, in as many runs as move the bytes: many and few, aligned and not. */
static const struct {
    int64_t neighbours;
    double bytes;
} layouts[] = {{4096, KILN__RANK_BYTES}, {1021, KILN__RANK_BYTES},    {64, KILN__RANK_BYTES},
               {13, KILN__RANK_BYTES},   {512, KILN__RANK_FEW_BYTES}, {61, KILN__RANK_FEW_BYTES}};
#define LAYOUTS ((int)(sizeof layouts / sizeof *layouts))
#define FEWEST 13                       /* neighbours */
#define MOST_BYTES 8e9                  /* of all tensors, each with one run of rows */
#define MOST_COLUMNS ((int64_t)1 << 40) /* more are as many: no memory has so many of several rows */

static void lay_operand(int64_t columns, int64_t rows, kiln__operand *operand) {
    const int64_t own = operand->follows_rows ? rows : 1;
    operand->linear = operand->contiguous_columns = false;
    operand->alignment = kiln__elements_of_access(operand->type);
    memset(operand->inner_strides, 0, sizeof operand->inner_strides);
    memset(operand->outer_strides, 0, sizeof operand->outer_strides);
    if (operand->per_element) operand->inner_strides[0] = own;
    if (!operand->follows_rows) return;
    operand->outer_strides[0] = operand->per_element ? columns * rows : rows;
    operand->outer_strides[1] = 1;
}

/* Whether tensors of one run of so many rows are such as people have; of the fewest rows, whatever the columns. */
static bool is_usual_layout(const kiln__problem *problem, int layout) {
    double bytes = 0;
    for (int o = 0; o < problem->input_count + problem->output_count; o++)
        if (problem->operands[o].per_element) bytes += (double)kiln_type_size(problem->operands[o].type);
    const double of_row = bytes * (double)kiln__least(problem->cols, MOST_COLUMNS);
    return layouts[layout].neighbours <= FEWEST || of_row * (double)layouts[layout].neighbours <= MOST_BYTES;
}

/* The problem as if so many of its rows lay side by side, and each tensor were one array. */
static void lay_out(const kiln__problem *problem, int64_t rows, double bytes, kiln__problem *p) {
    *p = *problem;
    p->inner_rank = 1;
    p->inner[0] = p->cols = kiln__least(problem->cols, MOST_COLUMNS);
    p->outer_rank = 2;
    p->outer[1] = rows;
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        p->operands[o].follows_rows = kiln__neighbours_differ(problem, &problem->operands[o]);
        lay_operand(p->cols, rows, &p->operands[o]);
    }
    kiln__set_typical_rows(bytes, p);
}

/* ---- orders ---- */

#define MOST_ORDERS 256
#define CLOSELY 16  /* orders */
#define UNKNOWN 3.0 /* log2 of times the best: of an order that a layout has no candidate of */

/* What is known of an order: of each layout's fastest candidate the slowdown, as a logarithm, and what the model looks
 * at; the sum of these over all layouts. */
typedef struct combining {
    kiln__pins pins;
    double slowdowns[LAYOUTS], sum;
    kiln__estimate estimates[LAYOUTS];
} combining;

typedef struct orders {
    int count;
    combining of[MOST_ORDERS];
} orders;

/* A tile has the order of one chunk, phase after phase. */
kiln__pins kiln__order_of(const kiln__pins *point) {
    kiln__pins order = KILN__PINS_NONE;
    order.threads = point->threads;
    order.cluster = point->cluster;
    order.splits = point->splits;
    order.online = point->online;
    if (point->staging != KILN__STAGING_TILE) return order;
    order.splits = 1;
    order.online = -1;
    return order;
}

static bool are_alike(const kiln__pins *a, const kiln__pins *b) {
    return a->threads == b->threads && a->cluster == b->cluster && a->splits == b->splits && a->online == b->online;
}

/* The order of a point, which is added if it is new; NULL where there are too many. */
static combining *find_order(orders *all, const kiln__pins *point) {
    const kiln__pins pins = kiln__order_of(point);
    for (int i = 0; i < all->count; i++)
        if (are_alike(&all->of[i].pins, &pins)) return &all->of[i];
    if (all->count == MOST_ORDERS) return NULL;
    combining *added = &all->of[all->count++];
    added->pins = pins;
    for (int l = 0; l < LAYOUTS; l++) added->slowdowns[l] = UNKNOWN;
    return added;
}

/* Each order's fastest candidate of a layout, as the first trees see it. */
static void note_layout(const kiln__given *g, const kiln__pins *pins, int layout, kiln__pins *points, orders *all) {
    const int count = kiln__candidates_of_orders(g, pins, points);
    for (int i = 0; i < count; i++) {
        kiln__schedule s;
        kiln__estimate estimate;
        combining *of = find_order(all, &points[i]);
        if (!of || !kiln__schedule_sketch(g, &points[i], &s)) continue;
        kiln__model_estimate(g, &s, &estimate);
        const double slowdown = kiln__model_slowdown(&estimate, KILN__FIRST_TREES);
        if (slowdown >= of->slowdowns[layout]) continue;
        of->slowdowns[layout] = slowdown;
        of->estimates[layout] = estimate;
    }
}

static int by_sum(const void *a, const void *b) {
    const combining *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? -1 : 1;
    return memcmp(&x->pins, &y->pins, sizeof x->pins);
}

static void add_up(combining *of) {
    of->sum = 0;
    for (int l = 0; l < LAYOUTS; l++) of->sum += of->slowdowns[l];
}

static void look_closely(combining *of) {
    for (int l = 0; l < LAYOUTS; l++)
        if (of->slowdowns[l] < UNKNOWN) of->slowdowns[l] = kiln__model_slowdown(&of->estimates[l], KILN__ALL_TREES);
    add_up(of);
}

/* The best first: all at a glance, by the first trees, then those that are the best closely. */
static void sort(orders *all) {
    const size_t best = (size_t)kiln__least(all->count, CLOSELY);
    for (int i = 0; i < all->count; i++) add_up(&all->of[i]);
    qsort(all->of, (size_t)all->count, sizeof *all->of, by_sum);
    for (size_t i = 0; i < best; i++) look_closely(&all->of[i]);
    qsort(all->of, best, sizeof *all->of, by_sum);
}

/* ---- all ---- */

static kiln_status find_orders(const kiln__given *g, const kiln__pins *pins, orders *all) {
    kiln__problem *problem = malloc(sizeof *problem); /* large for a small stack */
    kiln__pins *points = malloc(KILN__MOST_CANDIDATES * sizeof *points);
    kiln_status status = problem && points ? KILN_OK : kiln__out_of_memory();
    for (int l = 0; l < LAYOUTS && !status; l++) {
        if (!is_usual_layout(g->problem, l)) continue;
        kiln__given laid_out = *g;
        laid_out.problem = problem;
        lay_out(g->problem, layouts[l].neighbours, layouts[l].bytes, problem);
        status = kiln__traits_find(g->ir, problem, &laid_out.traits);
        if (!status) note_layout(&laid_out, pins, l, points, all);
    }
    free(points);
    free(problem);
    if (!status) sort(all);
    return status;
}

static kiln__pins with_order(const kiln__pins *pins, const kiln__pins *order) {
    kiln__pins with = *pins;
    with.threads = order->threads;
    with.cluster = order->cluster;
    with.splits = order->splits;
    with.online = order->online;
    return with;
}

/* The first, and if it takes clusters the first that takes none. */
static int take_orders(const orders *all, const kiln__pins *pins, kiln__pins out[KILN__MOST_ORDERS]) {
    int alone = 0;
    while (alone < all->count && all->of[alone].pins.cluster > 1) alone++;
    out[0] = with_order(pins, &all->of[0].pins);
    if (alone == 0 || alone == all->count) return 1;
    out[1] = with_order(pins, &all->of[alone].pins);
    return 2;
}

kiln_status kiln__column_orders(const kiln__given *g, const kiln__pins *pins, kiln__pins out[KILN__MOST_ORDERS],
                                int *count) {
    out[0] = *pins;
    *count = 1;
    if (pins->threads && pins->cluster && pins->splits && pins->online) return KILN_OK;
    orders *all = calloc(1, sizeof *all);
    kiln_status status = all ? find_orders(g, pins, all) : kiln__out_of_memory();
    if (!status && all->count) *count = take_orders(all, pins, out);
    free(all);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/rank.h"

#include <stdlib.h>

#include "base/types.h"
#include "schedule/candidates.h"

/* Few rows count as much less: what a GPU is bought for are many. */
#define FEW_WEIGHT 0.1

/* ---- the same problem with other numbers of rows ---- */

static double bytes_of_row(const kiln__problem *p) {
    double bytes = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        if (!operand->follows_rows && !operand->output) continue;
        bytes += (double)kiln_type_size(operand->type) * (operand->per_element && p->cols > 0 ? (double)p->cols : 1);
    }
    return bytes > 0 ? bytes : 1;
}

/* So many rows as move the bytes: the slowest extent changes, and the others stay. */
static kiln__problem with_bytes(const kiln__problem *p, double bytes) {
    kiln__problem changed = *p;
    double rows = bytes / bytes_of_row(p), others = 1;
    for (int d = 1; d < p->outer_rank; d++) others *= p->outer[d] > 0 ? (double)p->outer[d] : 1;
    const double slowest = rows / others;
    const int64_t count = slowest < 1 ? 1 : (int64_t)slowest;
    changed.open_rows = false;
    changed.rows = count;
    if (p->outer_rank > 0) changed.outer[0] = count;
    for (int d = 1; d < p->outer_rank; d++) {
        if (changed.outer[d] < 1) changed.outer[d] = 1;
        changed.rows *= changed.outer[d];
    }
    return changed;
}

/* ---- ranking ---- */

typedef struct ranking {
    kiln__problem problems[2];
    kiln__given sizes[2]; /* of many rows, and of few */
    double weights[2];
} ranking;

static void begin(const kiln__given *g, ranking *r) {
    const double bytes[] = {KILN__RANK_BYTES, KILN__RANK_FEW_BYTES};
    for (int i = 0; i < 2; i++) {
        r->problems[i] = with_bytes(g->problem, bytes[i]);
        r->sizes[i] = *g;
        r->sizes[i].problem = &r->problems[i];
        r->weights[i] = (i ? FEW_WEIGHT : 1) * bytes[0] / bytes[i];
    }
}

static double expect(const ranking *r, const kiln__schedule *s) {
    double us = 0;
    for (int i = 0; i < 2; i++) {
        kiln__estimate estimate;
        kiln__model_estimate(&r->sizes[i], s, &estimate);
        us += r->weights[i] * kiln__model_time(&estimate);
    }
    return us / (1 + FEW_WEIGHT);
}

/* qsort is not stable: the places in the list decide among equals. */
typedef struct placed {
    kiln__ranked ranked;
    int place;
} placed;

static int by_time(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->ranked.us != y->ranked.us) return x->ranked.us < y->ranked.us ? -1 : 1;
    return x->place - y->place;
}

kiln_status kiln__rank(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    kiln__pins *points = malloc(KILN__MOST_CANDIDATES * sizeof *points);
    const int listed = points ? kiln__candidates_list(g, pins, points) : 0;
    placed *all = calloc((size_t)listed + 1, sizeof *all);
    *out = calloc((size_t)listed + 1, sizeof **out);
    *count = 0;
    kiln_status status = points && all && *out ? KILN_OK : kiln__out_of_memory();
    ranking r;
    begin(g, &r);
    for (int i = 0; i < listed && !status; i++) {
        kiln__schedule s;
        if (!kiln__schedule_sketch(g, &points[i], &s)) continue;
        all[*count] = (placed){{points[i], expect(&r, &s)}, *count};
        ++*count;
    }
    if (!status) qsort(all, (size_t)*count, sizeof *all, by_time);
    for (int i = 0; i < *count; i++) (*out)[i] = all[i].ranked;
    free(all);
    free(points);
    if (!status) return KILN_OK;
    free(*out);
    *out = NULL;
    return status;
}

double kiln__rank_expect(const kiln__given *g, const kiln__schedule *s, kiln__estimate *many) {
    ranking r;
    begin(g, &r);
    if (many) kiln__model_estimate(&r.sizes[0], s, many);
    return expect(&r, s);
}

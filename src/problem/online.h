/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of two phases that can be combined in one pass: running results are corrected where the first phase's
 * result moves. */
#ifndef KILN_PROBLEM_ONLINE_H
#define KILN_PROBLEM_ONLINE_H

#include "problem/problem.h"

typedef enum kiln__online_kind {
    KILN__ONLINE_NONE,
    /* sum(f exp(u - v)), v = max(u) or where(isfinite(max(u)), max(u), 0): from v to w it grows by exp(v - w)
     * (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). */
    KILN__ONLINE_EXP,
    /* sum((u - v)^2), v = sum(u) / count: about w instead, of n elements, it grows by n (v - w)^2
     * (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for sample variances, 1979). */
    KILN__ONLINE_SQUARE,
    /* sum(u - v) beside sum((u - v)^2): what rounding leaves in v, which squares about w then grow by as well. */
    KILN__ONLINE_DISTANCE
} kiln__online_kind;

/* What a sum of one phase depends on: `centre`, a row value made of `first`, a reduction of the phase before. */
typedef struct kiln__online {
    kiln__online_kind kind;
    uint32_t centre, first;
    uint32_t distances; /* of squares: the sum of the distances themselves, 0 where there is none */
} kiln__online;

/* KILN__ONLINE_NONE where the reduction is of neither form. */
kiln__online kiln__online_of(const kiln__ir *ir, uint32_t reduction);

/* Whether the instruction is exp(u - v), v as above: at most 1, and 1 somewhere in a row that has finite elements. */
bool kiln__is_shifted_exp(const kiln__ir *ir, uint32_t e);

/* Whether it is exp(u - max(u)) of floats, and all that is made of it: its sum, and it divided by that. */
bool kiln__is_divided_exp(const kiln__ir *ir, uint32_t e);

/* Whether the instruction is sum(exp(u - max(u))): from 1 to the number of columns, or NaN. */
bool kiln__is_softmax_sum(const kiln__ir *ir, uint32_t i);

/* The first phase that can be reduced together with the next one; -1 without any. */
int kiln__online_phase(const kiln__ir *ir);

/* Whether such a next phase has squares and distances alone: a norm. */
bool kiln__online_squares(const kiln__ir *ir);

/* Whether outputs of columns need none of the reductions, of which there is one phase, and may be stored while these
 * are made. Where another phase followed, an output could already have taken the place of an input. */
bool kiln__stores_early(const kiln__ir *ir, const kiln__problem *problem);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule must know of a program and its problem, computed once. */
#ifndef KILN_SCHEDULE_TRAITS_H
#define KILN_SCHEDULE_TRAITS_H

#include "lang/ir.h"
#include "problem/problem.h"

typedef struct kiln__traits {
    int phases;
    int passes; /* of all phases over a row */
    /* Bytes of one element, all tensors of a class together, and how many tensors those are. */
    int input_bytes, inputs;         /* inputs that have columns and differ from row to row */
    int invariant_bytes, invariants; /* inputs that have columns and are the same for all rows: weights */
    int output_bytes, outputs;       /* outputs that have columns */
    int widest, narrowest;           /* bytes of an element: of the tensors that differ from row to row */
    int64_t reduce_weight;           /* machine instructions for an element: of all reductions, ... */
    int64_t output_weight;           /* ... and of the outputs that have columns */
    int64_t row_weight;              /* of a row's values */
    int carried;                     /* 32-bit values that the reductions carry, of all phases */
    bool ordered;                    /* a reduction of the user's: columns are combined in their order */
    bool plain;                      /* each phase is one pass, whose columns are combined in any order */
    bool one_launch;                 /* has all passes over a row: of selections and scans */
    bool finds_columns;              /* argmax, argmin */
    bool stores_early;               /* outputs of columns need none of the reductions, of which there is one phase */
    int online;                      /* phases that can be reduced together with the next one: the first; -1: none */
} kiln__traits;

/* KILN_E_MEMORY. */
kiln_status kiln__traits_find(const kiln__ir *ir, const kiln__problem *problem, kiln__traits *out);

#endif

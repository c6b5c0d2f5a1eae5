/* SPDX-License-Identifier: Apache-2.0 */
/* Along which axes of the iteration space the values of an untyped graph vary, as far as text and shapes tell. */
#ifndef KILN_LANG_SPANS_H
#define KILN_LANG_SPANS_H

#include "lang/graph.h"

typedef struct kiln__span {
    uint32_t axes; /* bit i: along axis i */
    int64_t run;   /* along the axis of blocks, where it has that: one value for so many columns; 0: for each */
} kiln__span;

typedef struct kiln__spans {
    const kiln__graph *graph;
    int rank;
    uint32_t all;        /* the axes there are */
    uint32_t program;    /* those that reductions run over that say nothing */
    uint32_t row;        /* those that a row has */
    uint32_t row_domain; /* of reductions over a row: 0, or 1 + the index of the domain that says its axes */
    int block_axis;      /* the last of a row's; -1: none */
    int64_t columns;     /* along it, where that is known; else 0 */
    bool has_rows;       /* something is reduced over whole rows, or across them */
    bool reduces;
    int64_t largest_block; /* that is reduced over; 0: none is */
    kiln__span *names;     /* of each name; of a table without the axis that an index replaces */
} kiln__spans;

/* Of what is made of two values. */
kiln__span kiln__span_union(const kiln__spans *extents, kiln__span a, kiln__span b);
/* The axes that a domain's reductions run over; of blocks the axis that these lie along. */
uint32_t kiln__domain_axes(const kiln__spans *extents, uint32_t domain);
int64_t kiln__domain_block(const kiln__spans *extents, uint32_t domain);
/* Whether the value is the same wherever a reduction over the domain meets it. */
bool kiln__span_is_invariant(const kiln__spans *extents, kiln__span extent, uint32_t domain);
/* What a reduction over the domain leaves. */
kiln__span kiln__span_reduced(const kiln__spans *extents, kiln__span extent, uint32_t domain);
/* Of a node, by its arguments'. */
kiln__span kiln__span_of(const kiln__spans *extents, const kiln__node *node, const kiln__span *args);
/* The axis, of which negative ones count from the last; -1: there is none such. */
int kiln__axis_of(const kiln__spans *extents, int axis);

#endif

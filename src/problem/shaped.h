/* SPDX-License-Identifier: Apache-2.0 */
/* A program's tensors and axes as all later stages see them. The axis that reductions over blocks are cut from, the
 * last reduced one, is several: how many blocks there are, and the columns of a block; with blocks of two sizes, how
 * many of the large ones, of small ones in each, and the columns of those. A value for each block lies along the first
 * of them. Where no reduction runs over more, the largest blocks are rows like any others. */
#ifndef KILN_PROBLEM_SHAPED_H
#define KILN_PROBLEM_SHAPED_H

#include "lang/domain.h"
#include "problem/space.h"
#include "problem/tables.h"

typedef struct kiln__shaped {
    kiln__space space;     /* of the tensors below */
    kiln__tensors tensors; /* the caller's, or `own` */
    int rank;              /* of the space as the program's text knows it */
    int block_axis;        /* in the text's space; that of `space` has part_count axes from there on */
    int part_count;        /* 0: there are no blocks */
    int64_t parts[KILN_MAX_RANK];
    int64_t row_block;                           /* columns of blocks that are rows; 0: rows are more than blocks */
    kiln__across across[KILN__MAX_ACROSS];       /* what reductions over each of the domains' others are */
    int64_t repeats[KILN_MAX_TENSORS];           /* of inputs: how many columns a value is for; 0: one, or all */
    kiln__indexed_rows tables[KILN_MAX_TENSORS]; /* of inputs that rows are read of */
    kiln_tensor own[KILN_MAX_TENSORS], viewed[KILN_MAX_TENSORS];
} kiln__shaped;

/* The caller's tensors outlive *out, which must stay where it is. As kiln__space_build; KILN_E_SHAPE for outputs that
 * fit neither columns nor blocks, KILN_E_UNSUPPORTED for blocks that do not divide their axis or one another. */
kiln_status kiln__shaped_make(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                              kiln__shaped *out);

/* The space before an axis of it becomes several, and which one that is: -1: none; what runs across its rows. */
kiln_status kiln__shaped_space(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                               kiln__space *out, int *block_axis, kiln__across across[KILN__MAX_ACROSS]);

/* The others' kinds, with their places in the graph. */
kiln__across_kinds kiln__shaped_across(const kiln__graph *graph, const kiln__domains *domains,
                                       const kiln__across across[KILN__MAX_ACROSS]);

/* The axes of the space along which a value is the same. */
void kiln__shaped_same(const kiln__shaped *shaped, const kiln__inst *value, bool same[KILN_MAX_RANK]);

#endif

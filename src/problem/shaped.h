/* SPDX-License-Identifier: Apache-2.0 */
/* A program's tensors and axes as all later stages see them. The axis that reductions over blocks are cut from, the
 * last reduced one, is several: how many blocks there are, and the columns of a block; with blocks of two sizes, how
 * many of the large ones, of small ones in each, and the columns of those. A value for each block lies along the first
 * of them. Where no reduction runs over more, the largest blocks are rows like any others.
 *
 * Blocks that do not divide the axis, or one another, are uneven: the axis stays one part, and tensors of one value for
 * each block stay as they are. */
#ifndef KILN_PROBLEM_SHAPED_H
#define KILN_PROBLEM_SHAPED_H

#include "lang/domain.h"
#include "problem/ragged.h"
#include "problem/space.h"
#include "problem/tables.h"

typedef struct kiln__shaped {
    kiln__space space;     /* of the tensors below */
    kiln__tensors tensors; /* the caller's, or `own` */
    int rank;              /* of the space as the program's text knows it */
    int block_axis;        /* in the text's space; that of `space` has part_count axes from there on */
    int part_count;        /* 0: there are no blocks; 1: they are uneven */
    int64_t parts[KILN_MAX_RANK];
    int64_t row_block; /* columns of blocks that are rows; 0: rows are more than blocks */
    kiln__uneven uneven;
    kiln__across across[KILN__MAX_ACROSS];       /* what reductions over each of the domains' others are */
    int64_t repeats[KILN_MAX_TENSORS];           /* of inputs: how many columns a value is for; 0: one, or all */
    kiln__indexed_rows tables[KILN_MAX_TENSORS]; /* of tensors that have rows of their own */
    kiln__ragged ragged;                         /* rows that lie where offsets say */
    kiln_tensor own[KILN_MAX_TENSORS], viewed[KILN_MAX_TENSORS];
} kiln__shaped;

/* The caller's tensors outlive *out, which must stay where it is. As kiln__space_build; KILN_E_SHAPE for outputs that
 * fit neither columns nor blocks. */
kiln_status kiln__shaped_make(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                              kiln__shaped *out);

/* The same as for any shape: blocks of any sizes are uneven, but of rows that have lengths, and no axis is special for
 * having one element. */
kiln_status kiln__shaped_make_any(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                                  kiln__shaped *out);

/* The caller's tensors without the axes of tables, and with that of rows where these lie one behind the other. */
kiln_status kiln__shaped_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__indexed_rows tables[KILN_MAX_TENSORS],
                              kiln__ragged *ragged, kiln__tensors *out);

/* Whether tensor number o, an input or an output of the value, has its rows one behind the other. */
bool kiln__shaped_packed(const kiln__shaped *shaped, int o, const kiln__inst *value);

/* The space before an axis of it becomes several, and which one that is: -1: none; what runs across its rows. */
kiln_status kiln__shaped_space(const kiln__domains *domains, const kiln__axes *axes, const kiln__tensors *tensors,
                               bool any_shape, kiln__space *out, int *block_axis,
                               kiln__across across[KILN__MAX_ACROSS]);

/* The others' kinds, with their places in the graph. */
kiln__across_kinds kiln__shaped_across(const kiln__graph *graph, const kiln__domains *domains,
                                       const kiln__across across[KILN__MAX_ACROSS]);

/* Strides of tensor number o along the space's axes, as kiln__space_strides: 0 along an uneven axis of whose columns it
 * has one value for several. value: what an output stores; NULL: an input. */
kiln_status kiln__shaped_strides(const kiln__shaped *shaped, int o, const kiln__ir *ir, const kiln__inst *value,
                                 int64_t strides[KILN_MAX_RANK], bool *full);

/* How far the values of neighbouring uneven blocks lie apart in the tensor; 0: it has one. */
int64_t kiln__shaped_block_stride(const kiln__shaped *shaped, const kiln_tensor *tensor);

#endif

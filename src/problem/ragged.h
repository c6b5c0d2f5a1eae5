/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of which one begins where the other ends, along the last axis of their tensors, as offsets(o) of the program
 * says: o has an element more than there are rows. What packs them so is seen with an axis of rows before its last,
 * along which it is broadcast: [.., T] as [.., B, T]. Where a row begins in it is known to the kernel alone. */
#ifndef KILN_PROBLEM_RAGGED_H
#define KILN_PROBLEM_RAGGED_H

#include "lang/domain.h"
#include "problem/space.h"

typedef struct kiln__ragged {
    int64_t rows, columns; /* how many rows there are; elements of all of them along the last axis */
    uint32_t packed;       /* bit i: input i has such rows; 0: the program has no offsets */
} kiln__ragged;

/* *out: the same tensors, inputs with the axis of rows; it points into own, which may be what tensors points into.
 * Outputs stay as they are. KILN_E_SHAPE for offsets that are no row of their own, and inputs that have neither all
 * columns nor one; KILN_E_SIZE where either is left open. */
kiln_status kiln__ragged_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__ragged *ragged, kiln__tensors *out);

/* The same of an output of columns, where the space is known. */
kiln_status kiln__ragged_output(const kiln__ragged *ragged, const kiln__space *space, const char *name,
                                kiln_tensor *tensor);

/* As how many columns rows are planned: about as many as they have, a power of two, so that batches alike share a
 * kernel. */
int64_t kiln__ragged_columns(const kiln__ragged *ragged);

#endif

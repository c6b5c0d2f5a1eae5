/* SPDX-License-Identifier: Apache-2.0 */
/* How operands can be accessed: what of them lies side by side, and aligned. Elements everywhere. */
#ifndef KILN_SCHEDULE_ACCESS_H
#define KILN_SCHEDULE_ACCESS_H

#include "schedule/schedule.h"

/* How many elements, up to a limit, the operand's alignment allows in one access, or in several of 16 bytes. */
int kiln__aligned_elements(const kiln__operand *operand, int limit);

/* The vector holds 16 bytes of the narrowest tensor that moves with the rows, of the widest output at most, fewer where
 * a pointer's alignment forbids it; one element where nothing lies side by side. */
int kiln__widest_vector(const kiln__problem *problem);
/* The same where vectors are shifted into place, however tensors are aligned. */
int kiln__widest_unaligned(const kiln__problem *problem);

/* Whether a row needs shared memory beside its staging: to be sorted, or to reduce blocks of columns that are not whole
 * vectors of a power of two of lanes. */
bool kiln__needs_slots(const kiln__problem *problem);

/* The largest power of two up to `most`, which is one, that divides the distances between rows. */
int kiln__dividing_rows(const kiln__problem *problem, const kiln__operand *operand, int most);

/* How far behind a multiple of the vector a row's first element lies: row * result. -1 where the operand's rows do not
 * follow one such rule. */
int64_t kiln__row_phase(const kiln__problem *problem, const kiln__operand *operand, int vector);

/* The most elements an operand can move in one access, for the schedule's vectors; 0 where they do not lie side by
 * side. */
int kiln__access_width(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s);

/* Of an operand of which accesses of so many elements begin anywhere: how many have the aligned ones that are shifted
 * into place, by words; 0: it cannot be. */
int kiln__widest_shifted(const kiln__operand *operand, int elements);
/* The same where the operand itself begins with such an access. */
int kiln__shifted_width(const kiln__operand *operand, int elements);

/* Where a vector of a flat array may cross the end of the operand's innermost run: how many of its elements, from
 * multiples of as many on, never do. */
int kiln__run_of(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s);

/* Flat, no transposing: whether a vector is at most two pieces of the operand's innermost runs, so that the places of
 * all its elements follow from two. */
bool kiln__crosses(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s);

/* Flat: the most elements along a dimension, a power of two up to `limit`, that lie side by side and aligned wherever a
 * multiple of as many begins; 0: none lie side by side. */
int kiln__access_along(const kiln__problem *problem, const kiln__operand *operand, int dim, int limit);

/* Whether its rows are one array, or all the same row. */
bool kiln__is_contiguous(const kiln__problem *problem, const kiln__operand *operand);

#endif

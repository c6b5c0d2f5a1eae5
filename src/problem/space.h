/* SPDX-License-Identifier: Apache-2.0 */
/* The iteration space: what the inputs broadcast to, which axes are reduced, and whether the tensors fit it. */
#ifndef KILN_PROBLEM_SPACE_H
#define KILN_PROBLEM_SPACE_H

#include <stdbool.h>

#include "base/status.h"

/* The axes a program reduces over, as the caller said it. */
typedef struct kiln__axes {
    bool last; /* nothing was said: the last axis, or none where there is no axis */
    bool all;
    int list[KILN_MAX_RANK];
    int count;
} kiln__axes;

/* A program's tensors: inputs, then outputs. */
typedef struct kiln__tensors {
    const kiln_tensor *at;
    const char *const *names;
    int input_count, output_count;
} kiln__tensors;

typedef struct kiln__space {
    int rank;
    int64_t sizes[KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    bool open_rows; /* axis 0 was given as -1 and stands for any number */
} kiln__space;

/* What stands in for an axis left open while a kernel is planned. */
#define KILN__OPEN_ROWS 65536

/* Ranks, sizes, strides and types of all of them: KILN_E_SHAPE, KILN_E_SIZE, KILN_E_TYPE, KILN_E_UNSUPPORTED. */
kiln_status kiln__space_check(const kiln__tensors *tensors);

/* Broadcasts the inputs (without inputs: the first output). Checks ranks, sizes, types; not pointers.
 * KILN_E_SHAPE, KILN_E_SIZE, KILN_E_AXIS, KILN_E_TYPE, KILN_E_ARGUMENT. */
kiln_status kiln__space_build(const kiln__axes *axes, const kiln__tensors *tensors, kiln__space *out);

/* Whether a tensor has other than one element along the reduced axes, or those that rows keep; strides of 0 broadcast
 * one, but not none. */
bool kiln__space_varies(const kiln__space *space, const kiln_tensor *tensor, bool reduced);

/* The tensor's strides along the axes of the space: 0 where it broadcasts, never along an axis of no elements. *full:
 * it has every element of the space. same: NULL for an input; of an output the axes along which its value is the same:
 * it has 0 along them where it has one element there, or, where that is so of all reduced axes, lacks them. of_all:
 * what is stored is of several rows, which are among those axes, so that no element is a row's. KILN_E_SHAPE where an
 * output's shape does not fit. */
kiln_status kiln__space_strides(const kiln__space *space, const kiln_tensor *tensor, const char *name, const bool *same,
                                bool of_all, int64_t strides[KILN_MAX_RANK], bool *full);

/* Elements kept and reduced; KILN_E_SIZE where a product does not fit. */
kiln_status kiln__space_extents(const kiln__space *space, int64_t *rows, int64_t *cols);

/* "[49152, 1024]", for messages; buffer of 200 bytes. */
const char *kiln__space_shape(char buffer[200], int rank, const int64_t *sizes);

#endif

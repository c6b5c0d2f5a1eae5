/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are worth timing for one problem, those first that the model expects to be fastest. */
#ifndef KILN_TOOL_TUNE_CANDIDATES_H
#define KILN_TOOL_TUNE_CANDIDATES_H

#include "runtime/context.h"

/* A program with the tensors that it is tuned for, on a device. */
typedef struct tune_problem {
    kiln_program *program;
    kiln_tensor tensors[KILN_MAX_TENSORS]; /* inputs, then outputs; data tells alignment */
    size_t tensor_count;
    kiln_scalar scalars[KILN_MAX_SCALARS];
    size_t scalar_count;
    kiln__device device;
} tune_problem;

typedef struct tune_candidate {
    kiln__pins pins;
    double slowdown;
} tune_candidate;

typedef struct tune_candidates {
    tune_candidate *items; /* the first pins nothing: the library's own choice */
    size_t count, listed;  /* listed: different schedules, before the best were taken */
    kiln__key key;         /* of the problem's tuned record */
    char *description;
} tune_candidates;

/* Up to so many besides the library's own. Where rows lie side by side candidates say nothing of rows: how many a block
 * has is chosen for each number of them as ever, so that the record decides how a row's columns are combined and
 * nothing else; and those that are not possible for all numbers of rows alike are left out. *out is freed with
 * tune_candidates_free in any case. */
kiln_status tune_candidates_find(const tune_problem *problem, size_t most, tune_candidates *out);
void tune_candidates_free(tune_candidates *candidates);

#endif

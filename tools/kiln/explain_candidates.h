/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that the model ranks for a kernel that is explained. */
#ifndef KILN_TOOL_EXPLAIN_CANDIDATES_H
#define KILN_TOOL_EXPLAIN_CANDIDATES_H

#include <jansson.h>

#include "kernel_request.h"
#include "schedule/model.h"

typedef struct explained_candidate {
    int place; /* from 1 on, by the model; 0: it is none of those listed, such as one that was pinned */
    bool chosen;
    char schedule[160];
    double slowdown; /* times what the first is expected to take, for rows of 256 MB */
    kiln__estimate estimate;
} explained_candidate;

typedef struct explained_candidates {
    explained_candidate *items; /* the best ones in order, and behind them, if it is not among them, the chosen one */
    size_t count;
    int listed; /* schedules that were compared */
} explained_candidates;

/* At most so many besides the chosen one. Returns an exit code; *out is freed in any case. */
int explained_candidates_find(const kernel_request *k, size_t most, explained_candidates *out);
void explained_candidates_free(explained_candidates *all);

void explained_candidates_print(const explained_candidates *all);
json_t *explained_candidates_json(const explained_candidates *all);

#endif

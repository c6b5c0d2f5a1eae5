/* SPDX-License-Identifier: Apache-2.0 */
/* What an output is made of, as the program's text says it: whatever types, extents and strides its tensors have. */
#ifndef KILN_LANG_DEPENDENCE_H
#define KILN_LANG_DEPENDENCE_H

#include "lang/domain.h"
#include "lang/nodes.h"

typedef struct kiln__dependence {
    uint32_t inputs;                  /* bit i: elements of input i, outside of reductions */
    bool positions;                   /* outside of reductions: uniform(), or index() along a reduced axis */
    int64_t blocks[KILN__MAX_BLOCKS]; /* columns of the blocks that it has values of, in any order; 0: of none */
    int64_t first;                    /* columns of a row that it has, from the first on; 0: all */
    bool across;  /* some reduction across rows: inputs and positions are those that it has columns of */
    bool reduces; /* an output of the program, not necessarily this one, needs a reduction */
} kiln__dependence;

/* For output number `output` in a space of so many axes; across: what reductions of other domains than the rows' are.
 * KILN_E_AXIS for index() or size() of an axis that it lacks; KILN_E_MEMORY. */
kiln_status kiln__dependence_find(const kiln__graph *graph, const kiln__signature *signature, uint32_t output, int rank,
                                  const bool *reduced, const kiln__across_kinds *across, kiln__dependence *out);
/* How many of a row's first columns a node has; 0: all, or what typing refuses. KILN_E_MEMORY in the work. */
int64_t kiln__first_columns(kiln__work *work, const kiln__node *nodes, uint32_t node);

#endif

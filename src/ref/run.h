/* A run of a program over a space: what ref.c makes ready and run.c goes through. */
#ifndef KILN_REF_RUN_H
#define KILN_REF_RUN_H

#include "ref/reduce.h"
#include "ref/space.h"
#include "ref/stages.h"

/* Columns evaluated at a time: the blocks of a usual program stay in the processor's nearest cache. */
#define KILN__REF_WIDTH 256

typedef struct kiln__ref_run_state {
    const kiln__ir *ir;
    const kiln_scalar *scalars;
    kiln__arena arena;
    int rank;
    const int64_t *sizes;
    int64_t count;                  /* elements of the reduced axes, as the program sees them */
    int64_t row_count, col_count;   /* as they are gone through */
    size_t width;                   /* values in a block */
    kiln__ref_stages stages;
    bool per_element[KILN_MAX_TENSORS];       /* of outputs */
    kiln__ref_view inputs[KILN_MAX_TENSORS], outputs[KILN_MAX_TENSORS];
    kiln__ref_view indices[KILN_MAX_RANK];    /* an element's coordinate along each axis, as offsets */
    kiln__ref_view linear;                    /* its row-major index */
    kiln__ref_block *values;                  /* of each instruction */
    int64_t *scratch;                         /* width values */
    kiln__ref_combiner *combiners;
    kiln__ref_accumulator *accumulators;      /* as many as any stage has reductions */
} kiln__ref_run_state;

/* Evaluates what does not depend on the element; before kiln__ref_run_rows. */
void kiln__ref_run_constants(const kiln__ref_run_state *run);
void kiln__ref_run_rows(kiln__ref_run_state *run);

#endif

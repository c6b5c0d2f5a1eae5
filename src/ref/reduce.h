/* Reductions of the reference: what a row's values come to, in column order. */
#ifndef KILN_REF_REDUCE_H
#define KILN_REF_REDUCE_H

#include "base/arena.h"
#include "ref/eval.h"

/* A user's combine, ready to run: one value for each of its instructions. */
typedef struct kiln__ref_combiner {
    const kiln__combine *combine;
    kiln__ref_block *values;
} kiln__ref_combiner;

/* A reduction under way. */
typedef struct kiln__ref_accumulator {
    kiln__op op;
    kiln__ctype type;
    const kiln__ref_combiner *combiner; /* of REDUCE_USER */
    double f64, correction;             /* correction: what the roundings of f64 have lost so far */
    int64_t i64;
} kiln__ref_accumulator;

/* KILN_E_MEMORY; KILN_E_INTERNAL for an operator that has no place in a combine. */
kiln_status kiln__ref_combiner_make(const kiln__combine *combine, kiln__arena *arena, kiln__ref_combiner *out);

/* Sets the accumulator to the identity. */
void kiln__ref_accumulator_start(kiln__ref_accumulator *accumulator, const kiln__inst *reduction,
                                 const kiln__ref_combiner *combiners);
void kiln__ref_accumulator_add(kiln__ref_accumulator *accumulator, kiln__ref_block values, size_t n);
/* Writes the result as one value. */
void kiln__ref_accumulator_finish(const kiln__ref_accumulator *accumulator, kiln__ref_block out);

#endif

/* What is evaluated when: the instructions of a program sorted by the passes over a row. */
#ifndef KILN_REF_STAGES_H
#define KILN_REF_STAGES_H

#include "base/arena.h"
#include "lang/ir.h"

/* Indices of instructions, in their order. */
typedef struct kiln__ref_list {
    uint32_t *items;
    uint32_t count;
} kiln__ref_list;

/* One pass over a row. First `rows` once; then, block by block, `elements` and the combines of `reductions`. */
typedef struct kiln__ref_stage {
    kiln__ref_list rows, elements, reductions;
} kiln__ref_stage;

/* A program in order. Every phase ends a stage; the last stage ends in the outputs. */
typedef struct kiln__ref_stages {
    kiln__ref_list constants; /* evaluated once for the whole run */
    kiln__ref_stage *stages;
    uint32_t count;
    bool flat; /* no reductions and no output of rows: the whole space is gone through as one row */
} kiln__ref_stages;

/* per_element[o]: output o has a value for each element. KILN_E_MEMORY. */
kiln_status kiln__ref_stages_make(const kiln__ir *ir, const bool *per_element, kiln__arena *arena, kiln__ref_stages *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the reference: the values, the operators over them, reductions, where tensors' elements lie, and the
 * passes over a row that bring these together. */
#ifndef KILN_REF_RUN_H
#define KILN_REF_RUN_H

#include "base/arena.h"
#include "base/extent.h"
#include "lang/ir.h"

/* Columns evaluated at a time: the blocks of a usual program stay in the processor's nearest cache. */
#define KILN__REF_WIDTH 256

/* Of an instruction: a double for float types; integers and bools are extended to 64 bits by their sign, which u32 and
 * u64 do not have. */
typedef union kiln__ref_value {
    double f64;
    int64_t i64;
} kiln__ref_value;

/* ---- operators (eval.c) ---- */

/* Evaluates instruction `index`, which is neither a leaf nor a reduction, over n values of each argument. */
void kiln__ref_eval(const kiln__inst *insts, uint32_t index, kiln__ref_value *const *values, size_t n);
/* Truncates; saturates; NaN gives 0. */
int64_t kiln__ref_f64_to_int(kiln__ctype type, double value);

/* Values of the type as the program has them, not in double. */
static inline void kiln__ref_narrow(kiln__ctype type, kiln__ref_value *values, size_t n) {
    for (size_t i = 0; type == KILN__F32 && i < n; i++) values[i].f64 = (double)(float)values[i].f64;
}

/* ---- reductions (reduce.c) ---- */

/* correction: what the roundings of a float value have lost so far. In the program's types, sums and products of floats
 * are added up as a tree instead: partials[i] is that of 2^i columns where bit i of `seen` is set. A selection keeps
 * the row. */
typedef struct kiln__ref_accumulator {
    kiln__ref_value value;
    double correction;
    int64_t index, seen; /* argmax, argmin: where the value was; columns so far */
    bool own_types;
    double partials[63];
    kiln__ref_value *row; /* of a selection, of what is sorted or carried: room for all columns */
    int64_t *order;       /* of what is sorted: which columns stand in order, and room to merge them */
} kiln__ref_accumulator;

/* A user's combine: where the values of its instructions lie, one of each. NULL without memory. */
kiln__ref_value **kiln__ref_combine_make(const kiln__combine *combine, kiln__arena *arena);
/* The identity. combines: of the program, and what combine_make made for each. */
void kiln__ref_reduce_start(const kiln__inst *reduction, const kiln__combine *combines, bool own_types,
                            kiln__ref_accumulator *accumulator);
void kiln__ref_reduce_add(const kiln__ir *ir, const kiln__inst *reduction, kiln__ref_value ***combine_values,
                          const kiln__ref_value *values, size_t n, kiln__ref_accumulator *accumulator);
kiln__ref_value kiln__ref_reduce_finish(const kiln__inst *reduction, const kiln__ref_accumulator *accumulator);

/* ---- selections (select.c) ---- */

void kiln__ref_select_add(const kiln__ref_value *values, size_t n, kiln__ref_accumulator *accumulator);
/* The k-th smallest of what has been added, from 1, or the -k-th from the last, NaN last; changes their order. NaN, or
 * 0 of an integer, where there is none such. */
kiln__ref_value kiln__ref_select_finish(kiln__ctype type, int64_t k, kiln__ref_accumulator *accumulator);
/* Which of `count` columns stand in the order of the row's values, NaN as the largest; equal ones as they were. */
void kiln__ref_sort(kiln__ctype type, bool descending, int64_t count, kiln__ref_accumulator *accumulator);

/* ---- places (space.c) ---- */

/* Some axes of the space in row-major order, with one tensor's strides; neighbours that run on are one axis. */
typedef struct kiln__ref_walk {
    int rank; /* at least 1 */
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK];
} kiln__ref_walk;

/* A tensor laid over the space. */
typedef struct kiln__ref_view {
    char *data; /* NULL: the tensor has no elements */
    kiln_type type;
    kiln__ref_walk rows, cols;
    int64_t row_offset;        /* elements from data to the current row's column 0 */
    int64_t run, block_stride; /* it has a value for so many columns of an uneven axis, that far apart; 0: for each */
    int64_t period;            /* columns of that axis */
} kiln__ref_view;

/* Strides over the space of a tensor that has the axes where skipped (NULL: nowhere) is not set, aligned at the right;
 * 0 along the others and those it is broadcast over. */
void kiln__ref_strides(const kiln_tensor *tensor, int rank, const bool *skipped, int64_t strides[KILN_MAX_RANK]);
/* Columns run over the axes where in_row is set, rows over the others. tensor NULL: offsets alone are wanted. */
kiln__ref_view kiln__ref_view_make(const kiln_tensor *tensor, int rank, const int64_t *sizes, const int64_t *strides,
                                   const bool *in_row);
void kiln__ref_view_set_row(kiln__ref_view *view, int64_t row);
/* Of n elements of the current row from column `col` on, in elements from data. */
void kiln__ref_offsets(const kiln__ref_view *view, int64_t col, size_t n, int64_t *offsets);
void kiln__ref_load(const kiln__ref_view *view, const int64_t *offsets, size_t n, bool as_float, kiln__ref_value *out);
void kiln__ref_store(const kiln__ref_view *view, const int64_t *offsets, size_t n, kiln__ctype type,
                     const kiln__ref_value *values);

/* ---- passes (run.c) ---- */

typedef struct kiln__ref_run_state {
    const kiln__ir *ir;
    const kiln_scalar *scalars;
    const kiln__indexed_rows *tables; /* of inputs */
    bool own_types;                   /* each operation is rounded to its type; else floats are computed in double */
    kiln__arena arena;
    int rank;
    const int64_t *sizes;
    int64_t count;                /* elements of the reduced axes, as the program sees them */
    int64_t row_count, col_count; /* as they are gone through */
    int64_t length;               /* columns of the row that is gone through */
    bool flat;                    /* no reductions and no output of rows: the whole space is gone through as one row */
    bool per_element[KILN_MAX_TENSORS]; /* of outputs: has a value for each element */
    kiln__ref_view inputs[KILN_MAX_TENSORS], outputs[KILN_MAX_TENSORS];
    kiln__ref_view indices[KILN_MAX_RANK]; /* an element's coordinate along each axis, as offsets */
    kiln__ref_view linear;                 /* its row-major index */
    size_t width;                          /* columns that are evaluated at a time */
    int64_t period;                        /* columns after which blocks begin anew: of an uneven axis, or the row's */
    int64_t *offsets;                      /* `width` of them, for one instruction at a time */
    kiln__ref_value **values;              /* a block for each instruction */
    kiln__ref_accumulator *accumulators;   /* for each instruction */
    kiln__ref_accumulator **across;        /* for each that is reduced across rows: of each column, or of one */
    kiln__ref_value ***combine_values;     /* for each combine */
    uint8_t *roles;                        /* what each pass does with each instruction ... */
    uint8_t *before;                       /* ... and what is done before a pass, for one that needs the whole row */
} kiln__ref_run_state;

/* Goes through the space. roles has room for each instruction in phase_count + 1 passes. */
void kiln__ref_run_rows(kiln__ref_run_state *run);

/* ---- tensors (operands.c) ---- */

/* An input at n columns of the current row, from `col` on. */
void kiln__ref_load_input(const kiln__ref_run_state *run, const kiln__inst *inst, int64_t col, size_t n,
                          kiln__ref_value *out);
void kiln__ref_store_output(const kiln__ref_run_state *run, uint32_t output, int64_t col, size_t n);

/* ---- all rows together (across.c) ---- */

/* A reduction within rows that combines like one across them, or over blocks. */
kiln__inst kiln__ref_reduction_of(const kiln__inst *inst);
bool kiln__ref_across_make(kiln__ref_run_state *run);
/* The values of n columns from `col` on; of a row, where it has one: col 0, n 1. */
void kiln__ref_across_add(const kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n);
/* What they come to, and the outputs that are made of it. */
void kiln__ref_across_finish(kiln__ref_run_state *run);

#endif

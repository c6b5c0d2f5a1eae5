/* One instruction over a block of values: the arithmetic of the reference. */
#ifndef KILN_REF_EVAL_H
#define KILN_REF_EVAL_H

#include <stddef.h>

#include "lang/ir.h"

/* The values of one instruction: doubles for float types; integers and bools sign-extended to 64 bits. */
typedef union kiln__ref_block {
    double *f64;
    int64_t *i64;
} kiln__ref_block;

/* Evaluates instruction `index`, which is neither a leaf nor a reduction, over n values of each argument. */
void kiln__ref_eval(const kiln__inst *insts, uint32_t index, const kiln__ref_block *values, size_t n);

/* Operators whose arguments and result are floats, and those on integers; out is none of the arguments. */
void kiln__ref_eval_float(kiln__op op, double *out, const double *const args[3], size_t n);
void kiln__ref_eval_int(kiln__op op, kiln__ctype type, int64_t *out, const int64_t *const args[3], size_t n);

/* Truncates; saturates; NaN gives 0. */
int64_t kiln__ref_f64_to_int(kiln__ctype type, double value);
/* maximum and minimum that keep a NaN. */
static inline double kiln__ref_maximum(double a, double b) { return a != a || a > b ? a : b; }
static inline double kiln__ref_minimum(double a, double b) { return a != a || a < b ? a : b; }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of row programs, one row each: what they are called, how many arguments, what types. */
#ifndef KILN_LANG_OPS_H
#define KILN_LANG_OPS_H

#include <stdbool.h>

#include "base/types.h"

/* How an operator's type follows from its arguments'.
 *   LEAF    given by the node itself
 *   SAME    the arguments' common type (bool counts as i32); result the same
 *   ORDER   the arguments' common type; result the same
 *   FLOAT   arguments become float (f64 if any is f64, else f32; an f64 program: f64); result that float
 *   FTEST   arguments become float; result bool
 *   COMPARE the common type; result bool
 *   LOGIC   arguments become bool (not equal 0); result bool
 *   INT     arguments must be integers or bool; result their common integer type
 *   SHIFT   as INT, the type is the first argument's
 *   SELECT  first argument bool, the others their common type; result that type
 *   RSAME   a reduction over the common type, result the same (bool counts as i32)
 *   RORDER  a reduction over the common type, result the same
 *   RSUM    a reduction; floats and u64 stay, other integers and bool become i64 before combining
 *   RLOGIC  a reduction over bool
 *   RINDEX  a reduction over the common type (bool counts as i32); the result is an index along the reduced axes, i64
 *   SCAN    a reduction's type, of each element
 *   RSELECT a reduction over the first argument's type, result the same; the second is an integer that a row has one of
 */
/* clang-format off */
typedef enum kiln__rule {
    KILN__RULE_LEAF, KILN__RULE_SCAN, KILN__RULE_SAME, KILN__RULE_ORDER, KILN__RULE_FLOAT, KILN__RULE_FTEST, KILN__RULE_COMPARE,
    KILN__RULE_LOGIC, KILN__RULE_INT, KILN__RULE_SHIFT, KILN__RULE_SELECT, KILN__RULE_RSAME, KILN__RULE_RORDER,
    KILN__RULE_RSUM, KILN__RULE_RLOGIC, KILN__RULE_RINDEX, KILN__RULE_RSELECT
} kiln__rule;

/* What integers and bool become by a word; floats stay as they are.
 *   FLOAT  float(x): the program's float type
 *   SUM    _sum_type(x), in the prelude: i64, u64 of u64, as what sum and prod combine
 *   WIDE   _wide_type(x), in the prelude: the same, of floats, too
 *   REAL   _real_type(x), in the prelude: the program's float type, of floats, too */
typedef enum kiln__widening {
    KILN__WIDEN_FLOAT,
    KILN__WIDEN_SUM,
    KILN__WIDEN_WIDE,
    KILN__WIDEN_REAL
} kiln__widening;

/* X(enumerator, name in the language, arguments, rule), or S where it is not called by that name. INPUT to SORTED and
 * REDUCE_BEFORE stand in typed programs alone, NAME to IS_WIDE and CUMSUM to SORT in untyped ones alone. */
#define KILN__OPS(X, S) \
    S(FLOAT, "literal", 0, LEAF) S(INT, "literal", 0, LEAF) S(BOOL, "literal", 0, LEAF) \
    S(PARAM, "parameter", 0, LEAF) \
    S(COUNT, "count", 0, LEAF)        /* elements of the reduced axes, as a float or an i64 */ \
    S(NAME, "name", 0, LEAF) \
    S(CONVERT, "conversion", 1, LEAF) /* f16(x), i32(x), ...: rounds to the type of the node */ \
    S(WIDEN, "conversion", 1, LEAF)   /* float(x) */ \
    S(IS_WIDE, "_is_wide", 1, LEAF)   /* in the prelude: whether the argument is an i64 or u64 */ \
    S(INPUT, "input", 0, LEAF) S(SCALAR, "scalar", 0, LEAF) S(CAST, "cast", 1, LEAF) S(ROUND_TO, "round_to", 1, LEAF) \
    S(ACROSS_REDUCE, "across", 1, LEAF) /* of all rows: a value for each column, or one where a row has one */ \
    S(BLOCK_REDUCE, "block", 1, LEAF) /* of each block of a row's columns: all of them have the result */ \
    S(BLOCK_COUNT, "count", 0, LEAF)  /* columns of the block that a column is in, as a float */ \
    S(LENGTH, "length", 0, LEAF)      /* columns of a row that offsets place */ \
    S(SCAN, "scan", 2, LEAF)          /* of the row's columns up to each; what those before a thread's come to */ \
    S(ORDER, "argsort", 1, LEAF)      /* of each place in the row's order the column that stands there: of keys */ \
    S(SORTED, "sort", 2, LEAF)        /* the value of that column; by an ORDER */ \
    S(OWN, "device function", 1, FLOAT) /* of the caller's own, of up to 3 arguments */ \
    X(INDEX, "index", 0, LEAF) X(SIZE, "size", 0, LEAF) X(UNIFORM, "uniform", 2, LEAF) \
    X(STOCHASTIC, "round_to", 2, LEAF) /* round_to(bf16, x, u): to a neighbour in the type, by a random number */ \
    X(TAKE, "take", 2, LEAF)     /* typed: of an input, at a column, also of GATHER */ \
    X(ROWS, "rows", 2, LEAF)     /* typed: an INPUT with an argument */ \
    S(ROWS_OF, "rows", 0, LEAF)  /* typed: how many rows an input has that is read by an index */ \
    X(GATHER, "gather", 2, LEAF) /* the same with a column for each element */ \
    X(FIRST, "first", 2, LEAF)   /* x in its first columns, a literal; typed: without it */ \
    S(ADD, "+", 2, SAME) S(SUB, "-", 2, SAME) S(MUL, "*", 2, SAME) S(DIV, "/", 2, FLOAT) S(MOD, "%", 2, SAME) \
    X(DIV_FLOOR, "div_floor", 2, SAME) X(DIV_TRUNC, "div_trunc", 2, SAME) \
    X(NEG, "neg", 1, SAME) X(ABS, "abs", 1, SAME) X(SIGN, "sign", 1, SAME) \
    S(LT, "<", 2, COMPARE) S(LE, "<=", 2, COMPARE) S(GT, ">", 2, COMPARE) S(GE, ">=", 2, COMPARE) \
    S(EQ, "==", 2, COMPARE) S(NE, "!=", 2, COMPARE) \
    S(AND, "&&", 2, LOGIC) S(OR, "||", 2, LOGIC) S(NOT, "!", 1, LOGIC) \
    S(BITAND, "&", 2, INT) S(BITOR, "|", 2, INT) S(BITXOR, "^", 2, INT) S(BITNOT, "~", 1, INT) S(SHL, "<<", 2, SHIFT) \
    S(SHR, ">>", 2, SHIFT) \
    X(POPCOUNT, "popcount", 1, INT) \
    X(WHERE, "where", 3, SELECT) \
    X(MINIMUM, "minimum", 2, ORDER) X(MAXIMUM, "maximum", 2, ORDER) \
    X(FMIN, "fmin", 2, ORDER) X(FMAX, "fmax", 2, ORDER) \
    X(FMA, "fma", 3, SAME) X(FMOD, "fmod", 2, SAME) X(REMAINDER, "remainder", 2, SAME) X(POW, "pow", 2, FLOAT) \
    X(ATAN2, "atan2", 2, FLOAT) \
    X(EXP, "exp", 1, FLOAT) X(EXP2, "exp2", 1, FLOAT) X(EXPM1, "expm1", 1, FLOAT) \
    X(LOG, "log", 1, FLOAT) X(LOG2, "log2", 1, FLOAT) X(LOG1P, "log1p", 1, FLOAT) X(LOG10, "log10", 1, FLOAT) \
    X(SQRT, "sqrt", 1, FLOAT) X(RSQRT, "rsqrt", 1, FLOAT) X(CBRT, "cbrt", 1, FLOAT) \
    X(SIN, "sin", 1, FLOAT) X(COS, "cos", 1, FLOAT) X(TAN, "tan", 1, FLOAT) X(ASIN, "asin", 1, FLOAT) \
    X(ACOS, "acos", 1, FLOAT) X(ATAN, "atan", 1, FLOAT) \
    X(SINH, "sinh", 1, FLOAT) X(COSH, "cosh", 1, FLOAT) X(TANH, "tanh", 1, FLOAT) X(ASINH, "asinh", 1, FLOAT) \
    X(ACOSH, "acosh", 1, FLOAT) X(ATANH, "atanh", 1, FLOAT) \
    X(ERF, "erf", 1, FLOAT) X(ERFC, "erfc", 1, FLOAT) X(ERFINV, "erfinv", 1, FLOAT) X(LGAMMA, "lgamma", 1, FLOAT) \
    X(NORMCDF, "normcdf", 1, FLOAT) /* P(X <= x) of the normal distribution, erfc(-x / sqrt(2)) / 2 */ \
    X(NORMPDF, "normpdf", 1, FLOAT) /* its density, exp(-x^2 / 2) / sqrt(2 pi) */ \
    X(FLOOR, "floor", 1, SAME) X(CEIL, "ceil", 1, SAME) X(TRUNC, "trunc", 1, SAME) \
    X(ROUND, "round", 1, SAME) /* half to even */ \
    X(ISNAN, "isnan", 1, FTEST) X(ISINF, "isinf", 1, FTEST) X(ISFINITE, "isfinite", 1, FTEST) \
    X(SIGMOID, "sigmoid", 1, FLOAT) /* 1 / (1 + exp(-x)), never NaN for a finite or infinite x */ \
    X(CUMSUM, "cumsum", 1, SCAN) X(CUMPROD, "cumprod", 1, SCAN) X(CUMMAX, "cummax", 1, SCAN) \
    X(CUMMIN, "cummin", 1, SCAN) /* untyped: scans, in the order of the reductions that they are of */ \
    S(ARGSORT, "argsort", 2, LEAF) /* keys, whether in descending order */ \
    S(ARGTOP, "argtopk", 2, LEAF)  /* keys, how many of the largest */ \
    S(SORT, "sort_by", 2, LEAF)    /* x, by either */ \
    X(REDUCE_SUM, "sum", 1, RSUM) X(REDUCE_PROD, "prod", 1, RSUM) X(REDUCE_MAX, "max", 1, RORDER) \
    X(REDUCE_MIN, "min", 1, RORDER) \
    X(REDUCE_ANY, "any", 1, RLOGIC) X(REDUCE_ALL, "all", 1, RLOGIC) \
    X(REDUCE_ARGMAX, "argmax", 1, RINDEX) X(REDUCE_ARGMIN, "argmin", 1, RINDEX) \
    X(REDUCE_KTH, "kth", 2, RSELECT) /* the k-th smallest; typed: and of how many */ \
    S(REDUCE_BEFORE, "before", 1, LEAF) /* typed: of the columns of the ranks before a thread, for SCAN */ \
    X(REDUCE_USER, "reduce", 1, RSAME)
/* clang-format on */
/* Every other function of the language is written in it, in kernel_sources/prelude.kiln. x % y and remainder take the
 * divisor's sign (Python), fmod the dividend's (C); of integers x % 0, div_floor(x, 0) and div_trunc(x, 0) are 0.
 * x ** y is pow, but for a literal y: products for 1, 2 and 3, 1 / x for -1; of an integer x and an integer y a
 * wrapping product of their common type, 1 / x ** -y truncated where y is negative. & | ^ ~ minimum maximum fmin fmax
 * on bools alone are the logical operators. */

typedef enum kiln__op {
#define KILN__OP_ENUM(e, n, a, r) KILN__OP_##e,
    KILN__OPS(KILN__OP_ENUM, KILN__OP_ENUM)
#undef KILN__OP_ENUM
        KILN__OP_COUNT_OF
} kiln__op;

typedef struct kiln__op_info {
    const char *name;   /* "exp", "" where it is not called by name */
    const char *symbol; /* "exp", "+": for people */
    uint8_t args;
    kiln__rule rule;
} kiln__op_info;

const kiln__op_info *kiln__op_describe(kiln__op op); /* NULL if there is none such */
/* The operator that is called by that name; KILN__OP_COUNT_OF if there is none. */
kiln__op kiln__op_find(const char *name, size_t length);
/* argmax and argmin carry a value and its index. */
static inline bool kiln__op_is_arg(kiln__op op) { return op == KILN__OP_REDUCE_ARGMAX || op == KILN__OP_REDUCE_ARGMIN; }

/* Of other columns or rows, or of some. Only known as a call: tensors may have these names. */
static inline bool kiln__op_is_place(kiln__op op) {
    return op == KILN__OP_TAKE || op == KILN__OP_GATHER || op == KILN__OP_ROWS || op == KILN__OP_FIRST;
}

static inline bool kiln__op_is_reduction(kiln__op op) {
    return op >= KILN__OP_REDUCE_SUM && op <= KILN__OP_REDUCE_USER;
}
/* cumsum and the like: has a value for each column, of all up to it. */
static inline bool kiln__op_scans(kiln__op op) { return op >= KILN__OP_CUMSUM && op <= KILN__OP_CUMMIN; }
/* The reduction whose results up to each column they are. */
static inline kiln__op kiln__scanned(kiln__op op) { return (kiln__op)(op - KILN__OP_CUMSUM + KILN__OP_REDUCE_SUM); }
static inline kiln__op kiln__scan_of(kiln__op reduction) {
    return (kiln__op)(reduction - KILN__OP_REDUCE_SUM + KILN__OP_CUMSUM);
}
static inline bool kiln__op_sorts(kiln__op op) { return op >= KILN__OP_ARGSORT && op <= KILN__OP_SORT; }
/* Each column has a value of its own, made of others of its row. */
static inline bool kiln__op_runs_along(kiln__op op) { return kiln__op_scans(op) || kiln__op_sorts(op); }
/* What runs over axes or blocks, which the text may say. */
static inline bool kiln__op_runs(kiln__op op) { return kiln__op_is_reduction(op) || kiln__op_runs_along(op); }
/* Columns are combined in their order. */
static inline bool kiln__op_is_ordered(kiln__op op) {
    return op == KILN__OP_REDUCE_USER || op == KILN__OP_REDUCE_BEFORE;
}
/* A selection goes over its row once for each bit of a value, and counts. */
static inline bool kiln__op_selects(kiln__op op) { return op == KILN__OP_REDUCE_KTH; }
/* Typed: what columns of a sorted row have. */
static inline bool kiln__op_is_order(kiln__op op) { return op == KILN__OP_ORDER || op == KILN__OP_SORTED; }
/* How many values a reduction carries; 0 for what is none. */
static inline int kiln__reduction_values(kiln__op op) { return kiln__op_is_arg(op) ? 2 : kiln__op_is_reduction(op); }

#endif

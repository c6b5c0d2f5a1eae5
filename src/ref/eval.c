/* SPDX-License-Identifier: Apache-2.0 */
/* One instruction over a block: floats in double precision whatever the program's float type is, integers exactly,
 * wrapping at the type's width. One loop for each operator, so that the switch is paid once a block. */
#include "lang/arithmetic.h"
#include "ref/run.h"
#include "ref/special.h"

/* value: an i64 or what fits one. */
static int64_t saturated(kiln__ctype type, int64_t value) {
    switch (type) {
    case KILN__BOOL: return value != 0;
    case KILN__I32: return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
    case KILN__U32: return value > UINT32_MAX ? UINT32_MAX : value < 0 ? 0 : value;
    case KILN__U64: return value < 0 ? 0 : value;
    default: return value;
    }
}

static int64_t saturated_u64(kiln__ctype type, uint64_t value) {
    return type == KILN__U64 ? (int64_t)value : saturated(type, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

int64_t kiln__ref_f64_to_int(kiln__ctype type, double value) {
    if (type == KILN__BOOL) return value != 0.0;
    if (isnan(value)) return 0;
    if (value >= 0x1p63) return saturated_u64(type, value >= 0x1p64 ? UINT64_MAX : (uint64_t)value);
    return saturated(type, value <= -0x1p63 ? INT64_MIN : (int64_t)value);
}

static void eval_cast(kiln__ctype from, kiln__ctype to, kiln__ref_value *out, const kiln__ref_value *x, size_t n) {
    if (kiln__ctype_is_float(from) && kiln__ctype_is_float(to))
        for (size_t i = 0; i < n; i++) out[i] = x[i];
    else if (kiln__ctype_is_float(from))
        for (size_t i = 0; i < n; i++) out[i].i64 = kiln__ref_f64_to_int(to, x[i].f64);
    else if (kiln__ctype_is_float(to))
        for (size_t i = 0; i < n; i++) out[i].f64 = from == KILN__U64 ? (double)(uint64_t)x[i].i64 : (double)x[i].i64;
    else if (from == KILN__U64)
        for (size_t i = 0; i < n; i++) out[i].i64 = saturated_u64(to, (uint64_t)x[i].i64);
    else
        for (size_t i = 0; i < n; i++) out[i].i64 = saturated(to, x[i].i64);
}

static void eval_round_to(kiln_type storage, bool is_float, kiln__ref_value *out, const kiln__ref_value *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int64_t element = 0;
        if (is_float) {
            out[i].f64 = kiln__round_to(storage, x[i].f64);
        } else {
            kiln__store_i64(storage, &element, x[i].i64);
            out[i].i64 = kiln__load_i64(storage, &element);
        }
    }
}

static void eval_stochastic(kiln_type storage, kiln__ref_value *out, const kiln__ref_value *const args[3], size_t n) {
    for (size_t i = 0; i < n; i++) out[i].f64 = kiln__round_stochastically(storage, args[0][i].f64, args[1][i].f64);
}

#define EACH(op, type, from, to, expression) \
    case KILN__OP_##op: \
        for (size_t i = 0; i < n; i++) { \
            type a = (type)x[i].from, b = (type)y[i].from; \
            (void)b; \
            out[i].to = expression; \
        } \
        break;
#define FLOAT(op, expression) EACH(op, double, f64, f64, expression)
#define TEST(op, expression) EACH(op, double, f64, i64, (expression) != 0)
#define INT(op, expression) EACH(op, int64_t, i64, i64, (int64_t)(expression))
/* 64-bit arithmetic that wraps; its low 32 bits are those of 32-bit arithmetic. */
#define WRAP(op, expression) EACH(op, uint64_t, i64, i64, (int64_t)(expression))

/* clang-format off */
/* Those that are never folded: X(operator, function of one float) */
#define FUNCTIONS(X) \
    X(CBRT, cbrt) X(EXPM1, expm1) X(LOG1P, log1p) X(TAN, tan) X(ASIN, asin) X(ACOS, acos) \
    X(SINH, sinh) X(COSH, cosh) X(ASINH, asinh) X(ACOSH, acosh) X(ATANH, atanh) \
    X(ERF, erf) X(ERFC, erfc) X(ERFINV, kiln__ref_erfinv) X(LGAMMA, kiln__ref_lgamma) X(SIGMOID, kiln__ref_sigmoid) \
    X(NORMCDF, kiln__ref_normcdf) X(NORMPDF, kiln__ref_normpdf)
/* clang-format on */
#define CALL(op, function) FLOAT(op, function(a))

static void eval_float(kiln__op op, kiln__ref_value *out, const kiln__ref_value *const args[3], size_t n) {
    const kiln__ref_value *x = args[0], *y = args[1], *z = args[2];
    switch ((int)op) {
        KILN__COMPARISONS(TEST)
        KILN__FLOAT_TESTS(TEST)
        KILN__FLOAT_OPERATORS(FLOAT)
        FUNCTIONS(CALL)
        FLOAT(FMA, fma(a, b, z[i].f64))
    }
}

#define UINT(op, expression) EACH(op, uint64_t, i64, i64, (int64_t)(expression))

/* Operators on u32 and u64; bits: as many as a value has. */
static void eval_uint(kiln__op op, int bits, kiln__ref_value *out, const kiln__ref_value *const args[3], size_t n) {
    const kiln__ref_value *x = args[0], *y = args[1];
    switch ((int)op) {
        KILN__COMPARISONS(UINT)
        KILN__UINT_OPERATORS(UINT)
        UINT(SHL, b >= (uint64_t)bits ? 0 : a << b) /* a count below 0 is a large one */
        UINT(SHR, b >= (uint64_t)bits ? 0 : a >> b)
        UINT(POPCOUNT, __builtin_popcountll(a))
    }
    for (size_t i = 0; i < n && bits == 32; i++) out[i].i64 &= UINT32_MAX;
}

/* Operators on the other integers and bools; type is the result's. */
static void eval_int(kiln__op op, kiln__ctype type, kiln__ref_value *out, const kiln__ref_value *const args[3],
                     size_t n) {
    const kiln__ref_value *x = args[0], *y = args[1];
    int width = type == KILN__I64 ? 64 : 32;
    switch ((int)op) {
        KILN__COMPARISONS(INT)
        KILN__INT_OPERATORS(INT)
        WRAP(ADD, a + b)
        WRAP(SUB, a - b)
        WRAP(MUL, a * b)
        WRAP(NEG, 0 - a)
        INT(ABS, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
        INT(POW, kiln__int_power(a, b))
        INT(AND, a & b)
        INT(OR, a | b)
        INT(NOT, a == 0)
        INT(SHL, b < 0 || b >= width ? 0 : (uint64_t)a << b)
        INT(SHR, a >> (b < 0 || b >= width ? 63 : b))
        INT(POPCOUNT, __builtin_popcountll(width == 32 ? (uint64_t)a & UINT32_MAX : (uint64_t)a))
    }
    if (type == KILN__I32)
        for (size_t i = 0; i < n; i++) out[i].i64 = (int32_t)(uint32_t)out[i].i64;
    else if (type == KILN__BOOL)
        for (size_t i = 0; i < n; i++) out[i].i64 &= 1;
}

/* A function of the caller's own, which has a form for the CPU. */
static void eval_own(const kiln__inst *inst, kiln__ref_value *out, const kiln__ref_value *const *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double arguments[KILN__MAX_OWN_ARGUMENTS] = {0};
        for (int a = 0; a < inst->arg_count; a++) arguments[a] = args[a][i].f64;
        out[i].f64 = inst->u.own->host(inst->u.own->user, arguments);
    }
}

void kiln__ref_eval(const kiln__inst *insts, uint32_t index, kiln__ref_value *const *values, size_t n) {
    const kiln__inst *inst = &insts[index];
    const kiln__ref_value *args[3];
    for (int i = 0; i < 3; i++) args[i] = values[i < inst->arg_count ? inst->args[i] : index];
    kiln__ref_value *out = values[index];
    kiln__ctype from = insts[inst->args[0]].type;

    if (inst->op == KILN__OP_CAST)
        eval_cast(from, inst->type, out, args[0], n);
    else if (inst->op == KILN__OP_ROUND_TO)
        eval_round_to(inst->u.storage, kiln__ctype_is_float(from), out, args[0], n);
    else if (inst->op == KILN__OP_STOCHASTIC)
        eval_stochastic(inst->u.storage, out, args, n);
    else if (inst->op == KILN__OP_OWN)
        eval_own(inst, out, args, n);
    else if (inst->op == KILN__OP_WHERE)
        for (size_t i = 0; i < n; i++) out[i] = args[0][i].i64 != 0 ? args[1][i] : args[2][i];
    else if (kiln__ctype_is_float(from))
        eval_float(inst->op, out, args, n);
    else if (kiln__ctype_is_unsigned(from))
        eval_uint(inst->op, from == KILN__U64 ? 64 : 32, out, args, n);
    else
        eval_int(inst->op, inst->type, out, args, n);
}

/* Operators on constants: integers exactly or not at all, floats in double precision. */
#include "lang/fold.h"

#include <math.h>

#include "base/checked.h"

kiln__constant kiln__constant_float(double value) { return (kiln__constant){KILN__OP_FLOAT, value, 0}; }
kiln__constant kiln__constant_int(int64_t value) { return (kiln__constant){KILN__OP_INT, 0, value}; }
kiln__constant kiln__constant_bool(bool value) { return (kiln__constant){KILN__OP_BOOL, 0, value}; }

double kiln__constant_f64(const kiln__constant *constant) {
    return constant->kind == KILN__OP_FLOAT ? constant->f64 : (double)constant->i64;
}

bool kiln__constant_truth(const kiln__constant *constant) {
    return constant->kind == KILN__OP_FLOAT ? constant->f64 != 0 : constant->i64 != 0;
}

static bool to_float(double value, kiln__constant *out) {
    *out = kiln__constant_float(value);
    return true;
}

static bool to_int(int64_t value, kiln__constant *out) {
    *out = kiln__constant_int(value);
    return true;
}

static bool to_bool(bool value, kiln__constant *out) {
    *out = kiln__constant_bool(value);
    return true;
}

static bool power_of_ints(int64_t base, int64_t exponent, int64_t *out) {
    *out = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && !kiln__mul_i64(*out, base, out)) return false;
        exponent >>= 1;
        if (exponent > 0 && !kiln__mul_i64(base, base, &base)) return false;
    }
    return true;
}

static bool fold_ints(kiln__op op, int64_t a, int64_t b, kiln__constant *out) {
    int64_t value;
    switch (op) {
    case KILN__OP_ADD: return kiln__add_i64(a, b, &value) && to_int(value, out);
    case KILN__OP_SUB: return !__builtin_sub_overflow(a, b, &value) && to_int(value, out);
    case KILN__OP_MUL: return kiln__mul_i64(a, b, &value) && to_int(value, out);
    case KILN__OP_MOD:
    case KILN__OP_REMAINDER:
        value = b == 0 || b == -1 ? 0 : a % b;
        return to_int(value != 0 && (value < 0) != (b < 0) ? value + b : value, out);
    case KILN__OP_FMOD: return to_int(b == 0 || b == -1 ? 0 : a % b, out);
    case KILN__OP_POW: return b >= 0 && power_of_ints(a, b, &value) && to_int(value, out);
    case KILN__OP_NEG: return a != INT64_MIN && to_int(-a, out);
    case KILN__OP_ABS: return a != INT64_MIN && to_int(a < 0 ? -a : a, out);
    case KILN__OP_SIGN: return to_int((a > 0) - (a < 0), out);
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_TRUNC:
    case KILN__OP_ROUND: return to_int(a, out);
    case KILN__OP_LT: return to_bool(a < b, out);
    case KILN__OP_LE: return to_bool(a <= b, out);
    case KILN__OP_GT: return to_bool(a > b, out);
    case KILN__OP_GE: return to_bool(a >= b, out);
    case KILN__OP_EQ: return to_bool(a == b, out);
    case KILN__OP_NE: return to_bool(a != b, out);
    case KILN__OP_BITAND: return to_int(a & b, out);
    case KILN__OP_BITOR: return to_int(a | b, out);
    case KILN__OP_BITXOR: return to_int(a ^ b, out);
    case KILN__OP_BITNOT: return to_int(~a, out);
    case KILN__OP_SHL: return b >= 0 && b < 63 && kiln__mul_i64(a, INT64_C(1) << b, &value) && to_int(value, out);
    case KILN__OP_SHR: return b >= 0 && b < 64 && to_int(a >> b, out);
    case KILN__OP_MINIMUM:
    case KILN__OP_FMIN: return to_int(a < b ? a : b, out);
    case KILN__OP_MAXIMUM:
    case KILN__OP_FMAX: return to_int(a > b ? a : b, out);
    default: return false;
    }
}

static double python_remainder(double a, double b) {
    double rest = fmod(a, b);
    if (rest == 0) return copysign(0.0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool fold_two_floats(kiln__op op, double a, double b, kiln__constant *out) {
    bool any_nan = isnan(a) || isnan(b);
    switch (op) {
    case KILN__OP_ADD: return to_float(a + b, out);
    case KILN__OP_SUB: return to_float(a - b, out);
    case KILN__OP_MUL: return to_float(a * b, out);
    case KILN__OP_DIV: return to_float(a / b, out);
    case KILN__OP_MOD:
    case KILN__OP_REMAINDER: return to_float(python_remainder(a, b), out);
    case KILN__OP_FMOD: return to_float(fmod(a, b), out);
    case KILN__OP_POW: return to_float(pow(a, b), out);
    case KILN__OP_ATAN2: return to_float(atan2(a, b), out);
    case KILN__OP_LT: return to_bool(a < b, out);
    case KILN__OP_LE: return to_bool(a <= b, out);
    case KILN__OP_GT: return to_bool(a > b, out);
    case KILN__OP_GE: return to_bool(a >= b, out);
    case KILN__OP_EQ: return to_bool(a == b, out);
    case KILN__OP_NE: return to_bool(a != b, out);
    case KILN__OP_MINIMUM: return to_float(any_nan ? NAN : fmin(a, b), out);
    case KILN__OP_MAXIMUM: return to_float(any_nan ? NAN : fmax(a, b), out);
    case KILN__OP_FMIN: return to_float(fmin(a, b), out);
    case KILN__OP_FMAX: return to_float(fmax(a, b), out);
    default: return false;
    }
}

static bool fold_float(kiln__op op, double a, kiln__constant *out) {
    switch (op) {
    case KILN__OP_NEG: return to_float(-a, out);
    case KILN__OP_ABS: return to_float(fabs(a), out);
    case KILN__OP_SIGN: return to_float(a > 0 ? 1 : a < 0 ? -1 : a, out);
    case KILN__OP_FLOOR: return to_float(floor(a), out);
    case KILN__OP_CEIL: return to_float(ceil(a), out);
    case KILN__OP_TRUNC: return to_float(trunc(a), out);
    case KILN__OP_ROUND: return to_float(nearbyint(a), out);
    case KILN__OP_SQRT: return to_float(sqrt(a), out);
    case KILN__OP_RSQRT: return to_float(1 / sqrt(a), out);
    case KILN__OP_EXP: return to_float(exp(a), out);
    case KILN__OP_EXP2: return to_float(exp2(a), out);
    case KILN__OP_LOG: return to_float(log(a), out);
    case KILN__OP_LOG2: return to_float(log2(a), out);
    case KILN__OP_LOG10: return to_float(log10(a), out);
    case KILN__OP_SIN: return to_float(sin(a), out);
    case KILN__OP_COS: return to_float(cos(a), out);
    case KILN__OP_TANH: return to_float(tanh(a), out);
    case KILN__OP_ATAN: return to_float(atan(a), out);
    case KILN__OP_ISNAN: return to_bool(isnan(a), out);
    case KILN__OP_ISINF: return to_bool(isinf(a), out);
    case KILN__OP_ISFINITE: return to_bool(isfinite(a), out);
    default: return false;
    }
}

bool kiln__fold(kiln__op op, const kiln__constant *args, kiln__constant *out) {
    const kiln__op_info *info = kiln__op_describe(op);
    if (info == NULL || info->args == 0 || kiln__op_is_reduction(op)) return false;
    const kiln__constant *a = &args[0], *b = &args[info->args > 1 ? 1 : 0];
    bool is_float = a->kind == KILN__OP_FLOAT || b->kind == KILN__OP_FLOAT;
    if (info->rule == KILN__RULE_LOGIC) {
        bool first = kiln__constant_truth(a), second = kiln__constant_truth(b);
        return to_bool(op == KILN__OP_AND ? first && second : op == KILN__OP_OR ? first || second : !first, out);
    }
    /* What bool operands make of ~ and & is the typing's to say. */
    if (info->rule == KILN__RULE_INT && (a->kind != KILN__OP_INT || b->kind != KILN__OP_INT)) return false;
    if (info->rule == KILN__RULE_SHIFT && is_float) return false;
    if (info->args > 2) return false;
    if (!is_float && info->rule != KILN__RULE_FTEST && fold_ints(op, a->i64, b->i64, out)) return true;
    /* Integers whose exact result does not fit stay as they are, they do not turn into floats. */
    if (!is_float && info->rule != KILN__RULE_FLOAT && info->rule != KILN__RULE_FTEST) return false;
    double first = kiln__constant_f64(a), second = kiln__constant_f64(b);
    return info->args == 1 ? fold_float(op, first, out) : fold_two_floats(op, first, second, out);
}

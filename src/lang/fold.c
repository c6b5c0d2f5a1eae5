/* SPDX-License-Identifier: Apache-2.0 */
/* Literals, and operators on them: integers exactly or not at all, floats in double precision. */
#include "base/checked.h"
#include "lang/arithmetic.h"
#include "lang/nodes.h"

kiln__node kiln__literal_float(double value) { return (kiln__node){.op = KILN__OP_FLOAT, .u.f64 = value}; }
kiln__node kiln__literal_int(int64_t value) { return (kiln__node){.op = KILN__OP_INT, .u.i64 = value}; }
kiln__node kiln__literal_uint(uint64_t value) {
    kiln__node literal = kiln__literal_int((int64_t)value);
    if (value > INT64_MAX) literal.type = KILN__U64;
    return literal;
}
kiln__node kiln__literal_bool(bool value) { return (kiln__node){.op = KILN__OP_BOOL, .u.i64 = value}; }

bool kiln__is_literal(const kiln__node *node) {
    return node->op == KILN__OP_FLOAT || node->op == KILN__OP_INT || node->op == KILN__OP_BOOL;
}

/* An untyped one beyond i64, or one typed as u64. */
static bool is_u64(const kiln__node *literal) { return literal->op == KILN__OP_INT && literal->type == KILN__U64; }

double kiln__literal_f64(const kiln__node *literal) {
    if (is_u64(literal)) return (double)(uint64_t)literal->u.i64;
    return literal->op == KILN__OP_FLOAT ? literal->u.f64 : (double)literal->u.i64;
}

kiln__node kiln__literal_stored(const kiln__node *literal, kiln_type storage) {
    bool truncate = !kiln__type_is_float(storage) && storage != KILN_BOOL;
    uint64_t bits = 0;
    if (literal->op == KILN__OP_FLOAT)
        kiln__store_f64(storage, &bits, truncate ? trunc(literal->u.f64) : literal->u.f64);
    else if (is_u64(literal))
        kiln__store_u64(storage, &bits, (uint64_t)literal->u.i64);
    else
        kiln__store_i64(storage, &bits, literal->u.i64);
    if (kiln__type_is_float(storage)) return kiln__literal_float(kiln__load_f64(storage, &bits));
    int64_t value = kiln__load_i64(storage, &bits);
    if (storage == KILN_U64) return kiln__literal_uint((uint64_t)value);
    return storage == KILN_BOOL ? kiln__literal_bool(value != 0) : kiln__literal_int(value);
}

static bool power_of_ints(int64_t base, int64_t exponent, int64_t *out) {
    *out = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && !kiln__mul_i64(*out, base, out)) return false;
        exponent >>= 1;
        if (exponent > 0 && !kiln__mul_i64(base, base, &base)) return false;
    }
    return exponent == 0;
}

#define GIVE(op, value) \
    case KILN__OP_##op: *out = value; return true;

static bool fold_floats(kiln__op op, double a, double b, double *out) {
    switch (op) {
        KILN__COMPARISONS(GIVE)
        KILN__FLOAT_TESTS(GIVE)
        KILN__FLOAT_OPERATORS(GIVE)
    default: return false;
    }
}

static bool fold_ints(kiln__op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
        KILN__COMPARISONS(GIVE)
        KILN__INT_OPERATORS(GIVE)
    case KILN__OP_ADD: return kiln__add_i64(a, b, out);
    case KILN__OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case KILN__OP_MUL: return kiln__mul_i64(a, b, out);
    case KILN__OP_NEG: return !__builtin_sub_overflow(0, a, out);
    case KILN__OP_ABS: return a < 0 ? !__builtin_sub_overflow(0, a, out) : kiln__add_i64(a, 0, out);
    case KILN__OP_POW: return power_of_ints(a, b, out);
    case KILN__OP_SHL: return b >= 0 && b < 63 && kiln__mul_i64(a, INT64_C(1) << b, out);
    case KILN__OP_SHR: *out = a >> (b & 63); return b >= 0 && b < 64;
    default: return false;
    }
}

static bool fold_logic(kiln__op op, bool a, bool b) {
    return op == KILN__OP_AND ? a && b : op == KILN__OP_OR ? a || b : !a;
}

/* What bool operands make of ~, & and maximum is the typing's to say. */
static bool is_left_to_typing(kiln__rule rule, const kiln__node *a, const kiln__node *b) {
    switch (rule) {
    case KILN__RULE_INT: return a->op != KILN__OP_INT || b->op != KILN__OP_INT;
    case KILN__RULE_ORDER: return a->op == KILN__OP_BOOL && b->op == KILN__OP_BOOL;
    case KILN__RULE_SHIFT: return a->op == KILN__OP_FLOAT || b->op == KILN__OP_FLOAT;
    default: return false;
    }
}

/* Exactly or not at all; of those beyond i64 only what a sign before them makes of one. */
static bool fold_exactly(kiln__op op, const kiln__node *a, const kiln__node *b, int64_t *out) {
    if (!is_u64(a) && !is_u64(b)) return fold_ints(op, a->u.i64, b->u.i64, out);
    *out = INT64_MIN;
    return op == KILN__OP_NEG && a->u.i64 == INT64_MIN;
}

bool kiln__fold(kiln__op op, const kiln__node *args, kiln__node *out) {
    const kiln__op_info *info = kiln__op_describe(op);
    if (info->args == 0 || info->args > 2 || kiln__op_runs(op)) return false;
    const kiln__node *a = &args[0], *b = &args[info->args - 1];
    bool is_float = a->op == KILN__OP_FLOAT || b->op == KILN__OP_FLOAT;
    bool is_test = info->rule == KILN__RULE_COMPARE || info->rule == KILN__RULE_FTEST;
    double first = kiln__literal_f64(a), second = kiln__literal_f64(b), real;
    int64_t integer;
    if (info->rule == KILN__RULE_LOGIC) {
        *out = kiln__literal_bool(fold_logic(op, first != 0, second != 0));
        return true;
    }
    if (is_left_to_typing(info->rule, a, b)) return false;
    if (!is_float && info->rule != KILN__RULE_FTEST && fold_exactly(op, a, b, &integer)) {
        *out = is_test ? kiln__literal_bool(integer != 0) : kiln__literal_int(integer);
        return true;
    }
    /* Integers whose exact result does not fit stay as they are, they do not turn into floats. */
    if (!is_float && info->rule != KILN__RULE_FLOAT && info->rule != KILN__RULE_FTEST) return false;
    if (!fold_floats(op, first, second, &real)) return false;
    *out = is_test ? kiln__literal_bool(real != 0) : kiln__literal_float(real);
    return true;
}

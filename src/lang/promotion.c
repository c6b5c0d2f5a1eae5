/* SPDX-License-Identifier: Apache-2.0 */
/* Which type values of several types have in common: docs/language.md has the rules as a table. */
#include "lang/typing.h"

/* Of two types the one further on; but u32 and u64 hold no signed values. */
static const int rank[KILN__CTYPES] = {
    [KILN__BOOL] = 0, [KILN__I32] = 1, [KILN__U32] = 2, [KILN__I64] = 3,
    [KILN__U64] = 4,  [KILN__F32] = 5, [KILN__F64] = 6,
};

static bool holds_no_sign(kiln__ctype type) { return type == KILN__BOOL || kiln__ctype_is_unsigned(type); }

/* Whether an operation is never negative by what it is, whatever its type may hold. */
static bool is_natural(const kiln__typer *typer, uint32_t i) {
    const kiln__inst *inst = &typer->insts.items[i];
    while (inst->op == KILN__OP_CAST && !holds_no_sign(inst->type)) /* casts saturate */
        inst = &typer->insts.items[inst->args[0]];
    if (holds_no_sign(inst->type)) return true;
    switch ((int)inst->op) {
    case KILN__OP_INT: return inst->u.i64 >= 0;
    case KILN__OP_INPUT: return kiln__type_is_unsigned(typer->binding->input_types[inst->u.input]);
    case KILN__OP_ROUND_TO: return kiln__type_is_unsigned(inst->u.storage);
    case KILN__OP_INDEX:
    case KILN__OP_SIZE:
    case KILN__OP_POPCOUNT:
    case KILN__OP_REDUCE_ARGMAX:
    case KILN__OP_REDUCE_ARGMIN: return true;
    default: return false;
    }
}

static bool is_natural_value(const kiln__typer *typer, const kiln__value *value) {
    const kiln__node *literal = &value->literal;
    if (!value->is_literal) return is_natural(typer, value->inst);
    return literal->op != KILN__OP_INT || literal->type == KILN__U64 || literal->u.i64 >= 0;
}

/* Whether a literal takes part as a u32 beside another. */
static bool fits_u32(const kiln__value *value) {
    return value->is_literal && value->literal.op == KILN__OP_INT && value->literal.type != KILN__U64 &&
           value->literal.u.i64 >= 0 && value->literal.u.i64 <= UINT32_MAX;
}

/* Beside u32: i64 where a value may be negative or has 64 bits. */
static kiln__ctype beside_u32(const kiln__typer *typer, const kiln__value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (fits_u32(&values[i])) continue;
        if (!is_natural_value(typer, &values[i]) || kiln__value_type(typer, &values[i]) == KILN__I64) return KILN__I64;
    }
    return KILN__U32;
}

/* Whether the operator computes in the type, not in floats or bools. */
static bool computes_in_it(const kiln__node *node) {
    const kiln__rule rule = kiln__op_describe(node->op)->rule;
    return rule != KILN__RULE_LOGIC && (rule != KILN__RULE_FLOAT || node->op == KILN__OP_POW);
}

kiln__ctype kiln__common_type(const kiln__typer *typer, const kiln__node *node, const kiln__value *values,
                              uint32_t count) {
    kiln__ctype common = KILN__BOOL;
    bool has_u32 = false;
    for (uint32_t i = 0; i < count; i++) {
        const kiln__ctype type = kiln__value_type(typer, &values[i]);
        has_u32 |= type == KILN__U32;
        if (rank[type] > rank[common]) common = type;
    }
    if (has_u32 && rank[common] <= rank[KILN__I64]) return beside_u32(typer, values, count);
    for (uint32_t i = 0; i < count && common == KILN__U64 && computes_in_it(node); i++) {
        if (is_natural_value(typer, &values[i])) continue;
        KILN__FAIL_AT(typer, node, KILN_E_TYPE,
                      "'%s' of u64 and %s, which may be negative: convert one of them, as in i64(x) or u64(x)",
                      kiln__ir_op_name(node->op), kiln__ctype_name(kiln__value_type(typer, &values[i])));
        break;
    }
    return common;
}

kiln__ctype kiln__sum_type(kiln__ctype type) {
    return kiln__ctype_is_float(type) || type == KILN__U64 ? type : KILN__I64;
}

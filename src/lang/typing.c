/* From nodes to typed instructions: the rule of each operator, with casts wherever types differ. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/lexer.h"
#include "lang/typing.h"

void kiln__typer_out_of_memory(kiln__typer *typer) {
    if (typer->status == KILN_OK) typer->status = kiln__out_of_memory();
}

void kiln__typer_fail(kiln__typer *typer, kiln_status status, const char *format, ...) {
    if (typer->status != KILN_OK) return;
    char sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    typer->status = kiln__fail_at(status, "", typer->node->line, typer->node->column, "%s", sentence);
}

static int rank_of(kiln__ctype type) {
    switch (type) {
    case KILN__BOOL: return 0;
    case KILN__I32: return 1;
    case KILN__I64: return 2;
    case KILN__F32: return 3;
    default: return 4;
    }
}

static kiln__ctype common_type(const kiln__typer *typer, const kiln__value *values, uint32_t count) {
    kiln__ctype common = KILN__BOOL;
    for (uint32_t i = 0; i < count; i++) {
        kiln__ctype type = kiln__value_type(typer, &values[i]);
        if (rank_of(type) > rank_of(common)) common = type;
    }
    return common;
}

static kiln__ctype bool_as_i32(kiln__ctype type) { return type == KILN__BOOL ? KILN__I32 : type; }

/* f64 if any value is f64, else the program's float type. */
static kiln__ctype float_of(const kiln__typer *typer, const kiln__value *values, uint32_t count) {
    return common_type(typer, values, count) == KILN__F64 ? KILN__F64 : typer->ir->float_type;
}

/* op of values in the type, giving result. */
static kiln__value apply(kiln__typer *typer, kiln__op op, const kiln__value *values, uint32_t count, kiln__ctype type,
                         kiln__ctype result) {
    uint32_t args[3] = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++) args[i] = kiln__emit_as(typer, &values[i], type);
    return kiln__value_of(kiln__emit_op(typer, op, result, args, count));
}

/* x ** n for a literal n >= 0 by squaring: exact for integers, and what x * x gives for floats. */
static kiln__value repeated_product(kiln__typer *typer, uint32_t factor, int64_t exponent, kiln__ctype type) {
    kiln__value product = {.is_constant = true, .constant = kiln__constant_int(1)};
    for (; exponent > 0; exponent >>= 1) {
        uint32_t both[2] = {factor, factor};
        if ((exponent & 1) != 0) {
            if (product.is_constant) {
                product = kiln__value_of(factor);
            } else {
                uint32_t args[2] = {product.inst, factor};
                product = kiln__value_of(kiln__emit_op(typer, KILN__OP_MUL, type, args, 2));
            }
        }
        if (exponent > 1) factor = kiln__emit_op(typer, KILN__OP_MUL, type, both, 2);
    }
    return kiln__value_of(kiln__emit_as(typer, &product, type));
}

static kiln__value type_power(kiln__typer *typer, const kiln__value *values) {
    kiln__ctype base = bool_as_i32(kiln__value_type(typer, &values[0]));
    kiln__ctype type = float_of(typer, values, 2);
    if (values[1].is_constant) {
        const kiln__constant *exponent = &values[1].constant;
        double n = kiln__constant_f64(exponent);
        if (!kiln__ctype_is_float(base) && exponent->kind == KILN__OP_INT && n >= 0 && n <= 64)
            return repeated_product(typer, kiln__emit_as(typer, &values[0], base), exponent->i64, base);
        if (n == 1 || n == 2 || n == 3)
            return repeated_product(typer, kiln__emit_as(typer, &values[0], type), (int64_t)n, type);
        if (n == -1) {
            kiln__value quotient[2] = {{.is_constant = true, .constant = kiln__constant_int(1)}, values[0]};
            return apply(typer, KILN__OP_DIV, quotient, 2, type, type);
        }
    }
    return apply(typer, KILN__OP_POW, values, 2, type, type);
}

static kiln__value type_integers(kiln__typer *typer, kiln__op op, const kiln__value *values, uint32_t count,
                                 kiln__rule rule) {
    for (uint32_t i = 0; i < count; i++) {
        kiln__ctype type = kiln__value_type(typer, &values[i]);
        if (!kiln__ctype_is_float(type)) continue;
        kiln__typer_fail(typer, KILN_E_TYPE, "'%s' takes integers, found %s", kiln__ir_op_name(op),
                         kiln__ctype_name(type));
        return kiln__value_of(0);
    }
    kiln__ctype type = common_type(typer, values, rule == KILN__RULE_SHIFT ? 1 : count);
    if (type == KILN__BOOL) {
        /* As in NumPy: on two bools they are the logical operators, so that ~mask is a mask. */
        kiln__op logical = op == KILN__OP_BITAND   ? KILN__OP_AND
                           : op == KILN__OP_BITOR  ? KILN__OP_OR
                           : op == KILN__OP_BITXOR ? KILN__OP_NE
                           : op == KILN__OP_BITNOT ? KILN__OP_NOT
                                                   : op;
        if (logical != op) return apply(typer, logical, values, count, KILN__BOOL, KILN__BOOL);
        type = KILN__I32;
    }
    return apply(typer, op, values, count, type, type);
}

static kiln__value type_select(kiln__typer *typer, const kiln__value *values) {
    /* A condition known from literals and types alone takes its branch as it is, type included: isnan(x) is false for
     * an integer x, and where(isnan(x), -inf, x) then stays an integer. */
    if (values[0].is_constant) return values[kiln__constant_truth(&values[0].constant) ? 1 : 2];
    kiln__ctype type = common_type(typer, &values[1], 2);
    uint32_t args[3] = {kiln__emit_as(typer, &values[0], KILN__BOOL), kiln__emit_as(typer, &values[1], type),
                        kiln__emit_as(typer, &values[2], type)};
    if (args[1] == args[2]) return kiln__value_of(args[1]);
    return kiln__value_of(kiln__emit_op(typer, KILN__OP_WHERE, type, args, 3));
}

static kiln__value type_same(kiln__typer *typer, kiln__op op, const kiln__value *values, uint32_t count) {
    kiln__ctype type = bool_as_i32(common_type(typer, values, count));
    if (!kiln__ctype_is_float(type)) {
        if (op == KILN__OP_FLOOR || op == KILN__OP_CEIL || op == KILN__OP_TRUNC || op == KILN__OP_ROUND)
            return kiln__value_of(kiln__emit_as(typer, &values[0], type));
        if (op == KILN__OP_FMIN) op = KILN__OP_MINIMUM; /* no NaN to drop */
        if (op == KILN__OP_FMAX) op = KILN__OP_MAXIMUM;
    }
    return apply(typer, op, values, count, type, type);
}

static kiln__value type_reduction(kiln__typer *typer, const kiln__node *node, const kiln__value *values,
                                  kiln__rule rule) {
    kiln__ctype type = bool_as_i32(common_type(typer, values, 1));
    if (rule == KILN__RULE_RLOGIC) type = KILN__BOOL;
    if (rule == KILN__RULE_RSUM && !kiln__ctype_is_float(type)) type = KILN__I64;
    kiln__inst inst = {.op = node->op, .type = type, .arg_count = 1};
    inst.args[0] = kiln__emit_as(typer, &values[0], type);
    if (node->op == KILN__OP_REDUCE_USER) inst.u.reducer = kiln__type_combine(typer, node->u.reducer, type);
    return kiln__value_of(kiln__emit(typer, inst));
}

/* x * 1, 1 * x and x / 1, which every value x survives, bit by bit. */
static bool is_neutral(kiln__op op, const kiln__value *values, uint32_t *kept) {
    for (uint32_t i = 0; i < 2; i++) {
        if (op != KILN__OP_MUL && !(op == KILN__OP_DIV && i == 0)) continue;
        const kiln__value *one = &values[1 - i];
        *kept = i;
        if (one->is_constant && one->constant.kind != KILN__OP_FLOAT && one->constant.i64 == 1) return true;
        if (one->is_constant && one->constant.kind == KILN__OP_FLOAT && one->constant.f64 == 1) return true;
    }
    return false;
}

static kiln__value type_operator(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    uint32_t count = node->arg_count;
    kiln__rule rule = kiln__op_describe(node->op)->rule;
    uint32_t kept;
    if (is_neutral(node->op, values, &kept)) {
        kiln__ctype type =
            rule == KILN__RULE_FLOAT ? float_of(typer, values, count) : bool_as_i32(common_type(typer, values, count));
        return kiln__value_of(kiln__emit_as(typer, &values[kept], type));
    }
    switch (rule) {
    case KILN__RULE_SAME: return type_same(typer, node->op, values, count);
    case KILN__RULE_FLOAT: {
        if (node->op == KILN__OP_POW) return type_power(typer, values);
        kiln__ctype type = float_of(typer, values, count);
        return apply(typer, node->op, values, count, type, type);
    }
    case KILN__RULE_FTEST:
        if (!kiln__ctype_is_float(common_type(typer, values, count)))
            return (kiln__value){.is_constant = true, .constant = kiln__constant_bool(node->op == KILN__OP_ISFINITE)};
        return apply(typer, node->op, values, count, float_of(typer, values, count), KILN__BOOL);
    case KILN__RULE_COMPARE:
        return apply(typer, node->op, values, count, common_type(typer, values, count), KILN__BOOL);
    case KILN__RULE_LOGIC: return apply(typer, node->op, values, count, KILN__BOOL, KILN__BOOL);
    case KILN__RULE_INT:
    case KILN__RULE_SHIFT: return type_integers(typer, node->op, values, count, rule);
    case KILN__RULE_SELECT: return type_select(typer, values);
    case KILN__RULE_RSAME:
    case KILN__RULE_RSUM:
    case KILN__RULE_RLOGIC: return type_reduction(typer, node, values, rule);
    case KILN__RULE_LEAF: break;
    }
    kiln__typer_fail(typer, KILN_E_INTERNAL, "operator %s has no rule", kiln__ir_op_name(node->op));
    return kiln__value_of(0);
}

/* f16(x), i32(x), ...: rounds to the storage type, in the type that it computes in. */
static kiln__value type_conversion(kiln__typer *typer, const kiln__node *node, const kiln__value *value) {
    kiln_type storage = node->u.type;
    kiln__ctype target = kiln__type_compute(storage), source = kiln__value_type(typer, value);
    if (storage == KILN_F64 || storage == KILN_I64 || storage == KILN_I32 || storage == KILN_BOOL)
        return kiln__value_of(kiln__emit_as(typer, value, target));
    if (!kiln__type_is_float(storage))
        return kiln__value_of(kiln__emit_round(typer, kiln__emit_as(typer, value, KILN__I32), storage));
    kiln__ctype program = typer->ir->float_type;
    if (storage == KILN_F32 && program == KILN__F32) return kiln__value_of(kiln__emit_as(typer, value, KILN__F32));
    /* A constant is rounded from double, an f64 value before it is narrowed: rounding twice is not rounding once. */
    kiln__ctype wide = value->is_constant || source == KILN__F64 ? KILN__F64 : program;
    kiln__value rounded = kiln__value_of(kiln__emit_round(typer, kiln__emit_as(typer, value, wide), storage));
    return kiln__value_of(kiln__emit_as(typer, &rounded, program));
}

static kiln__value type_name(kiln__typer *typer, const kiln__node *node) {
    const kiln__signature *signature = typer->signature;
    for (uint32_t i = 0; i < signature->scalar_count; i++) {
        if (signature->scalars[i] != node->u.name) continue;
        kiln__inst inst = {.op = KILN__IR_SCALAR, .type = typer->ir->scalar_types[i]};
        inst.u.scalar = i;
        return kiln__value_of(kiln__emit(typer, inst));
    }
    for (uint32_t i = 0; i < signature->input_count; i++) {
        if (signature->inputs[i] != node->u.name) continue;
        kiln_type stored = typer->binding->input_types[i];
        kiln__ctype type = kiln__type_is_float(stored) ? typer->ir->float_type : kiln__type_compute(stored);
        kiln__inst inst = {.op = KILN__IR_INPUT, .type = type};
        inst.u.input = i;
        return kiln__value_of(kiln__emit(typer, inst));
    }
    kiln__typer_fail(typer, KILN_E_INTERNAL, "name '%s' is in no signature", typer->graph->names[node->u.name].text);
    return kiln__value_of(0);
}

static kiln__value type_axis(kiln__typer *typer, const kiln__node *node) {
    int rank = typer->binding->rank, axis = node->u.axis < 0 ? node->u.axis + rank : node->u.axis;
    if (axis < 0 || axis >= rank) {
        kiln__typer_fail(typer, KILN_E_AXIS, "%s(%d): the iteration space has %d axes", kiln__ir_op_name(node->op),
                         node->u.axis, rank);
        return kiln__value_of(0);
    }
    kiln__inst inst = {.op = node->op, .type = KILN__I64};
    inst.u.axis = axis;
    return kiln__value_of(kiln__emit(typer, inst));
}

static kiln__value type_uniform(kiln__typer *typer, const kiln__value *values) {
    static const char *const names[] = {"seed", "offset"};
    for (int i = 0; i < 2; i++) {
        kiln__ctype type = kiln__value_type(typer, &values[i]);
        if (!kiln__ctype_is_float(type)) continue;
        kiln__typer_fail(typer, KILN_E_TYPE, "the %s of 'uniform' is an integer, found %s", names[i],
                         kiln__ctype_name(type));
    }
    return apply(typer, KILN__OP_UNIFORM, values, 2, KILN__I64, typer->ir->float_type);
}

static kiln__value type_node(kiln__typer *typer, const kiln__node *node) {
    kiln__value values[3] = {0}, result = {0};
    kiln__constant constants[3] = {0};
    bool all_constant = node->arg_count > 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        values[i] = typer->values[node->args[i]];
        constants[i] = values[i].constant;
        all_constant = all_constant && values[i].is_constant;
    }
    result.is_constant = true;
    if (all_constant && kiln__fold(node->op, constants, &result.constant)) return result;
    switch (node->op) {
    case KILN__OP_FLOAT: result.constant = kiln__constant_float(node->u.f64); return result;
    case KILN__OP_INT: result.constant = kiln__constant_int(node->u.i64); return result;
    case KILN__OP_BOOL: result.constant = kiln__constant_bool(node->u.i64 != 0); return result;
    case KILN__OP_NAME: return type_name(typer, node);
    case KILN__OP_PARAM: {
        kiln__inst inst = {.op = KILN__OP_PARAM, .type = typer->param_type};
        inst.u.param = node->u.param;
        return kiln__value_of(kiln__emit(typer, inst));
    }
    case KILN__OP_COUNT: return kiln__value_of(kiln__emit_op(typer, KILN__OP_COUNT, typer->ir->float_type, NULL, 0));
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: return type_axis(typer, node);
    case KILN__OP_UNIFORM: return type_uniform(typer, values);
    case KILN__OP_CONVERT: return type_conversion(typer, node, &values[0]);
    default: return type_operator(typer, node, values);
    }
}

void kiln__type_nodes(kiln__typer *typer, const kiln__node *nodes, uint32_t count, const bool *needed) {
    typer->values = kiln__arena_alloc(typer->scratch, count, sizeof *typer->values);
    if (typer->values == NULL) kiln__typer_out_of_memory(typer);
    for (uint32_t i = 0; i < count && typer->status == KILN_OK; i++) {
        if (needed != NULL && !needed[i]) continue;
        typer->node = &nodes[i];
        typer->values[i] = type_node(typer, &nodes[i]);
    }
}

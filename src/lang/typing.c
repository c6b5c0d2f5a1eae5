/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to typed instructions: the rule of each operator, with casts wherever types differ, and the combines of
 * reduce for the values that they meet. */
#include "lang/typing.h"

#include <math.h>

static kiln__value literal_value(kiln__node literal) { return (kiln__value){.is_literal = true, .literal = literal}; }

static kiln__ctype bool_as_i32(kiln__ctype type) { return type == KILN__BOOL ? KILN__I32 : type; }

/* The operator's instruction, its arguments in the type. */
static kiln__value apply(kiln__typer *typer, kiln__inst inst, const kiln__value *values, kiln__ctype type) {
    for (uint32_t i = 0; i < inst.arg_count; i++) inst.args[i] = kiln__emit_as(typer, &values[i], type).inst;
    return kiln__emit(typer, inst);
}

static kiln__value apply_two(kiln__typer *typer, kiln__op op, kiln__value a, kiln__value b, kiln__ctype type) {
    return apply(typer, (kiln__inst){.op = op, .type = type, .arg_count = 2}, (kiln__value[]){a, b}, type);
}

/* x ** n for a literal n >= 0 by squaring: exact for integers, and what x * x gives for floats. */
static kiln__value repeated_product(kiln__typer *typer, const kiln__value *x, int64_t exponent, kiln__ctype type) {
    kiln__value factor = kiln__emit_as(typer, x, type), product = literal_value(kiln__literal_int(1));
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            product = product.is_literal ? factor : apply_two(typer, KILN__OP_MUL, product, factor, type);
        if (exponent > 1) factor = apply_two(typer, KILN__OP_MUL, factor, factor, type);
    }
    return kiln__emit_as(typer, &product, type);
}

static kiln__value type_power(kiln__typer *typer, const kiln__value *values, kiln__ctype common, kiln__ctype real) {
    const bool integers = !kiln__ctype_is_float(common);
    const kiln__ctype type = integers ? bool_as_i32(common) : real;
    const double n = values[1].is_literal ? kiln__literal_f64(&values[1].literal) : NAN;
    if (n == 1 || n == 2 || n == 3 || (integers && n >= 0 && n <= 64))
        return repeated_product(typer, &values[0], (int64_t)n, type);
    if (n == -1 && !integers)
        return apply_two(typer, KILN__OP_DIV, literal_value(kiln__literal_int(1)), values[0], type);
    return apply_two(typer, KILN__OP_POW, values[0], values[1], type);
}

/* As in NumPy: on bools alone they are the logical operators, so that ~mask is a mask. */
static kiln__op logical_op(kiln__op op) {
    switch (op) {
    case KILN__OP_MINIMUM:
    case KILN__OP_FMIN:
    case KILN__OP_BITAND: return KILN__OP_AND;
    case KILN__OP_MAXIMUM:
    case KILN__OP_FMAX:
    case KILN__OP_BITOR: return KILN__OP_OR;
    case KILN__OP_BITXOR: return KILN__OP_NE;
    case KILN__OP_BITNOT: return KILN__OP_NOT;
    default: return op;
    }
}

static bool check_integers(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const char *found = kiln__ctype_name(kiln__value_type(typer, &values[i]));
        if (!kiln__ctype_is_float(kiln__value_type(typer, &values[i]))) continue;
        if (node->op != KILN__OP_UNIFORM) {
            return KILN__FAIL_AT(typer, node, KILN_E_TYPE, "'%s' takes integers, found %s", kiln__ir_op_name(node->op),
                                 found);
        }
        return KILN__FAIL_AT(typer, node, KILN_E_TYPE, "the %s of 'uniform' is an integer, found %s",
                             i == 0 ? "seed" : "offset", found);
    }
    return true;
}

static kiln__value type_select(kiln__typer *typer, const kiln__value *values, kiln__ctype type) {
    /* A condition known from literals and types alone takes its branch as it is, type included: isnan(x) is false for
     * an integer x, and where(isnan(x), -inf, x) then stays an integer. */
    if (values[0].is_literal) return values[kiln__literal_f64(&values[0].literal) != 0 ? 1 : 2];
    kiln__inst inst = {.op = KILN__OP_WHERE, .type = type, .arg_count = 3};
    for (uint32_t i = 0; i < 3; i++) inst.args[i] = kiln__emit_as(typer, &values[i], i == 0 ? KILN__BOOL : type).inst;
    return inst.args[1] == inst.args[2] ? (kiln__value){.inst = inst.args[1]} : kiln__emit(typer, inst);
}

static bool is_one(const kiln__value *value) { return value->is_literal && kiln__literal_f64(&value->literal) == 1; }

/* The argument that op leaves as it is, bit by bit, in the type; NULL if it may change all of them. */
static const kiln__value *kept_argument(kiln__op op, const kiln__value *values, kiln__ctype type) {
    switch (op) {
    case KILN__OP_MUL: return is_one(&values[1]) ? &values[0] : is_one(&values[0]) ? &values[1] : NULL;
    case KILN__OP_DIV: return is_one(&values[1]) ? &values[0] : NULL;
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_TRUNC:
    case KILN__OP_ROUND: return kiln__ctype_is_float(type) ? NULL : &values[0];
    default: return NULL;
    }
}

/* The identity must be a value of the type exactly. */
static bool set_identity(const kiln__node *identity, kiln__ctype type, kiln__combine *combine) {
    if (kiln__ctype_is_float(type)) {
        combine->identity = kiln__literal_f64(identity);
        if (type == KILN__F32) combine->identity = kiln__round_to(KILN_F32, combine->identity);
        return true;
    }
    const kiln__inst stored = kiln__literal_as(identity, type);
    combine->identity_i64 = stored.u.i64;
    if (identity->op != KILN__OP_FLOAT)
        return stored.u.i64 == identity->u.i64 && (stored.u.i64 >= 0 || stored.type == identity->type);
    return kiln__literal_f64(&stored) == identity->u.f64 && fabs(identity->u.f64) < 0x1p63;
}

static void type_body(kiln__typer *typer, const kiln__reducer *reducer, kiln__combine *combine) {
    kiln__typer body = *typer;
    kiln__ctype type = combine->type;
    body.insts = (kiln__nodes){0};
    body.param_type = type;
    kiln__type_nodes(&body, reducer->nodes, reducer->node_count, NULL);
    if (typer->work->status != KILN_OK) return;
    kiln__ctype result = kiln__value_type(&body, &body.values[reducer->result]);
    if (kiln__ctype_is_float(result) && !kiln__ctype_is_float(type))
        KILN__FAIL_AT(typer, typer->node, KILN_E_TYPE,
                      "the combine of reduce turns %s into %s; convert what is reduced, as in reduce(..., %s(x), ...)",
                      kiln__ctype_name(type), kiln__ctype_name(result), kiln__ctype_name(result));
    combine->result = kiln__emit_as(&body, &body.values[reducer->result], type).inst;
    combine->count = body.insts.count;
    combine->insts =
        kiln__work_copy(typer->work, &typer->ir->arena, body.insts.items, combine->count, sizeof *combine->insts);
}

static uint32_t type_combine(kiln__typer *typer, uint32_t reducer, kiln__ctype type) {
    kiln__ir *ir = typer->ir;
    uint32_t *known = &typer->combines[reducer * KILN__CTYPES + type];
    if (*known != 0) return *known - 1;
    kiln__combine *combine = &ir->combines[ir->combine_count];
    combine->type = type;
    if (!set_identity(&typer->graph->reducers[reducer].identity, type, combine))
        return KILN__FAIL_AT(typer, typer->node, KILN_E_TYPE, "the identity of reduce is no %s",
                             kiln__ctype_name(type));
    type_body(typer, &typer->graph->reducers[reducer], combine);
    *known = ++ir->combine_count;
    return ir->combine_count - 1;
}

/* Columns of the blocks that a reduction, or a count, is about; 0: it is about rows. */
static int64_t block_of(const kiln__typer *typer, const kiln__node *node) {
    const kiln__binding *binding = typer->binding;
    int64_t block = node->domain ? typer->graph->domains[node->domain - 1].block : 0, all = 1;
    for (int part = 0; part < binding->part_count; part++) all *= binding->parts[part];
    if (block > all) block = all;
    return binding->part_count == 0 || block == binding->row_block ? 0 : block;
}

static kiln__across across_of(const kiln__typer *typer, const kiln__node *node) {
    return kiln__across_of(&typer->binding->across, node->domain);
}

static bool is_of_row(const kiln__typer *typer, const kiln__value *value) {
    return !value->is_literal && !typer->insts.items[value->inst].per_element;
}

/* A reduction of all rows, or of all elements: of what each row comes to. */
static kiln__value apply_across(kiln__typer *typer, const kiln__node *node, const kiln__inst *inst,
                                const kiln__value *values, kiln__ctype type) {
    if (kiln__op_is_arg(inst->op) || inst->op == KILN__OP_REDUCE_USER) {
        KILN__FAIL_AT(typer, node, KILN_E_UNSUPPORTED,
                      "'%s' runs across rows: expected sum, prod, max, min, any or all there",
                      kiln__ir_op_name(inst->op));
        return values[0];
    }
    kiln__inst across = {.op = KILN__OP_ACROSS_REDUCE, .type = inst->type, .arg_count = 1};
    across.u.block.op = (uint16_t)inst->op;
    const bool picks =
        inst->op == KILN__OP_REDUCE_MAX || inst->op == KILN__OP_REDUCE_MIN; /* a row's value is the row's */
    const bool rows = across_of(typer, node) == KILN__ACROSS_ALL && !(picks && is_of_row(typer, &values[0]));
    across.args[0] = (rows ? apply(typer, *inst, values, type) : kiln__emit_as(typer, &values[0], type)).inst;
    return kiln__emit(typer, across);
}

/* A maximum of magnitudes: 0 of a row that has none. Rows of no columns stand among others only where lengths say so.
 */
static kiln__value apply_of_row(kiln__typer *typer, kiln__inst inst, const kiln__value *values, kiln__ctype type) {
    if (!kiln__op_is_reduction(inst.op)) return apply(typer, inst, values, type);
    const uint32_t of = inst.args[0] = kiln__emit_as(typer, &values[0], type).inst;
    kiln__mask_first(typer, &inst);
    const kiln__value reduced = kiln__emit(typer, inst);
    if (inst.op != KILN__OP_REDUCE_MAX || !kiln__has_length(typer) || typer->work->status != KILN_OK) return reduced;
    const kiln__inst *max = &typer->insts.items[reduced.inst];
    if (typer->insts.items[of].op != KILN__OP_ABS) return reduced;
    return apply_two(typer, KILN__OP_MAXIMUM, reduced, literal_value(kiln__literal_int(0)), max->type);
}

/* The operator's instruction; a reduction of rows becomes one of blocks, or across rows, where it is. */
static kiln__value apply_in_blocks(kiln__typer *typer, const kiln__node *node, kiln__inst inst,
                                   const kiln__value *values, kiln__ctype type) {
    if (kiln__op_is_reduction(inst.op) && across_of(typer, node) != KILN__ACROSS_NONE)
        return apply_across(typer, node, &inst, values, type);
    const int64_t block = kiln__op_is_reduction(inst.op) ? block_of(typer, node) : 0;
    if (block == 0) return apply_of_row(typer, inst, values, type);
    if (block == 1 && kiln__op_is_arg(inst.op)) {
        const kiln__value zero = literal_value(kiln__literal_int(0));
        return kiln__emit_as(typer, &zero, inst.type);
    }
    if (block == 1) return kiln__emit_as(typer, &values[0], type);
    kiln__inst blocks = {.op = KILN__OP_BLOCK_REDUCE, .type = inst.type, .arg_count = 1, .domain = (uint32_t)block};
    blocks.u.block.op = (uint16_t)inst.op;
    blocks.u.block.reducer = inst.op == KILN__OP_REDUCE_USER ? (uint16_t)inst.u.reducer : 0;
    return apply(typer, blocks, values, type);
}

/* How many rows there are, times how many columns where all elements are counted: they are known at a launch. */
static kiln__value count_across(kiln__typer *typer, kiln__across across, kiln__ctype type) {
    const kiln__binding *binding = typer->binding;
    kiln__value count = literal_value(kiln__literal_int(1));
    for (int axis = 0; axis < binding->rank; axis++) {
        const kiln__inst size = {.op = KILN__OP_SIZE, .type = KILN__I64, .u.axis = axis};
        if (!binding->reduced[axis] || across == KILN__ACROSS_ALL)
            count = apply_two(typer, KILN__OP_MUL, count, kiln__emit(typer, size), KILN__I64);
    }
    return kiln__emit_as(typer, &count, type);
}

static kiln__value type_count(kiln__typer *typer, const kiln__node *node) {
    typer->counts |= node->type != KILN__I64;
    const kiln__ctype type = node->type == KILN__I64 ? KILN__I64 : typer->ir->float_type;
    const int64_t block = block_of(typer, node);
    kiln__value count =
        literal_value(type == KILN__I64 ? kiln__literal_int(block) : kiln__literal_float((double)block));
    if (across_of(typer, node) != KILN__ACROSS_NONE) return count_across(typer, across_of(typer, node), type);
    if (block != 0 && typer->binding->uneven.columns % block == 0) return count;
    if (block != 0)
        count = kiln__emit(
            typer, (kiln__inst){.op = KILN__OP_BLOCK_COUNT, .type = typer->ir->float_type, .domain = (uint32_t)block});
    else if (kiln__has_length(typer))
        count = kiln__type_length(typer);
    else
        count = kiln__emit(typer, (kiln__inst){.op = node->op, .type = type});
    return kiln__emit_as(typer, &count, type);
}

/* A count below 0 shifts all out: beside an unsigned number it stays what it is. */
static kiln__value type_shift(kiln__typer *typer, const kiln__node *node, const kiln__value *values, kiln__ctype type) {
    kiln__inst inst = {.op = node->op, .type = type, .arg_count = 2};
    kiln__ctype count = kiln__value_type(typer, &values[1]);
    if (!check_integers(typer, node, values)) return values[0];
    if (!kiln__ctype_is_unsigned(type)) return apply(typer, inst, values, type);
    if (!kiln__ctype_is_unsigned(count)) count = KILN__I64;
    inst.args[0] = kiln__emit_as(typer, &values[0], type).inst;
    inst.args[1] = kiln__emit_as(typer, &values[1], count).inst;
    return kiln__emit(typer, inst);
}

static kiln__value type_operator(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    kiln__rule rule = kiln__op_describe(node->op)->rule;
    uint32_t first = rule == KILN__RULE_SELECT ? 1 : 0;
    kiln__ctype common =
        kiln__common_type(typer, node, &values[first], rule == KILN__RULE_SHIFT ? 1 : node->arg_count - first);
    kiln__ctype type = bool_as_i32(common);
    bool is_float = kiln__ctype_is_float(common);
    kiln__inst inst = {.op = node->op, .arg_count = node->arg_count};
    switch (rule) {
    case KILN__RULE_FTEST:
        if (!is_float) return literal_value(kiln__literal_bool(node->op == KILN__OP_ISFINITE));
        /* fall through */
    case KILN__RULE_FLOAT: type = common == KILN__F64 ? KILN__F64 : typer->ir->float_type; break;
    case KILN__RULE_RORDER:
    case KILN__RULE_COMPARE: type = common; break;
    case KILN__RULE_SELECT: return type_select(typer, values, common);
    case KILN__RULE_SHIFT: return type_shift(typer, node, values, type);
    case KILN__RULE_INT:
        if (!check_integers(typer, node, values)) return values[0];
        /* fall through */
    case KILN__RULE_ORDER:
        if (common == KILN__BOOL) inst.op = logical_op(node->op);
        if (inst.op != node->op) type = KILN__BOOL;
        break;
    case KILN__RULE_RSUM: type = kiln__sum_type(common); break;
    case KILN__RULE_LOGIC:
    case KILN__RULE_RLOGIC: type = KILN__BOOL; break;
    default: break;
    }
    if (node->op == KILN__OP_POW) return type_power(typer, values, common, type);
    const kiln__value *kept = kept_argument(node->op, values, type);
    if (kept != NULL) return kiln__emit_as(typer, kept, type);
    if (inst.op == KILN__OP_FMIN && !is_float) inst.op = KILN__OP_MINIMUM; /* no NaN to drop */
    if (inst.op == KILN__OP_FMAX && !is_float) inst.op = KILN__OP_MAXIMUM;
    if (node->op == KILN__OP_FMA && !is_float) {
        kiln__value product = apply_two(typer, KILN__OP_MUL, values[0], values[1], type);
        return apply_two(typer, KILN__OP_ADD, product, values[2], type);
    }
    if (node->op == KILN__OP_REDUCE_USER) inst.u.reducer = type_combine(typer, node->u.reducer, type);
    inst.type = rule == KILN__RULE_FTEST || rule == KILN__RULE_COMPARE ? KILN__BOOL : type;
    if (rule == KILN__RULE_RINDEX) inst.type = KILN__I64;
    return apply_in_blocks(typer, node, inst, values, type);
}

/* Whether values of the type are computed in it in every program. */
static bool is_computed_in(kiln_type type) {
    return type == KILN_I32 || kiln__type_compute(type) != (kiln__type_is_float(type) ? KILN__F32 : KILN__I32);
}

/* f16(x), i32(x), ...: rounds to the storage type, in the type that it computes in. */
static kiln__value type_conversion(kiln__typer *typer, const kiln__node *node, const kiln__value *value) {
    kiln_type storage = node->u.type;
    kiln__ctype program = typer->ir->float_type;
    if (is_computed_in(storage)) return kiln__emit_as(typer, value, kiln__type_compute(storage));
    if (!kiln__type_is_float(storage)) return kiln__emit_round(typer, value, KILN__I32, storage);
    if (storage == KILN_F32 && program == KILN__F32) return kiln__emit_as(typer, value, KILN__F32);
    /* A literal is rounded from double, an f64 value before it is narrowed: rounding twice is not rounding once. Least
     * of all is it where the second is up: then integers, too, are narrowed from f64. */
    const kiln__ctype type = kiln__value_type(typer, value);
    bool wide = value->is_literal || type == KILN__F64 || (storage == KILN_E8M0 && !kiln__ctype_is_float(type));
    kiln__value rounded = kiln__emit_round(typer, value, wide ? KILN__F64 : program, storage);
    return kiln__emit_as(typer, &rounded, program);
}

static kiln__value type_widening(kiln__typer *typer, kiln__widening widening, const kiln__value *value) {
    const kiln__ctype type = kiln__value_type(typer, value), real = typer->ir->float_type;
    if (widening == KILN__WIDEN_REAL) return kiln__emit_as(typer, value, real);
    if (kiln__ctype_is_float(type) && widening != KILN__WIDEN_WIDE) return *value;
    if (widening == KILN__WIDEN_FLOAT && value->is_literal)
        return literal_value(kiln__literal_float(kiln__literal_f64(&value->literal)));
    return kiln__emit_as(typer, value, widening == KILN__WIDEN_FLOAT ? real : type == KILN__U64 ? type : KILN__I64);
}

static bool is_wide_integer(const kiln__typer *typer, const kiln__value *value) {
    const kiln__ctype type = kiln__value_type(typer, value);
    return type == KILN__I64 || type == KILN__U64;
}

static kiln__value emit_axis(kiln__typer *typer, kiln__op op, int axis) {
    return kiln__emit(typer, (kiln__inst){.op = op, .type = KILN__I64, .u.axis = axis});
}

/* The axis that blocks are cut from is several in the space. */
static kiln__value type_axis(kiln__typer *typer, const kiln__node *node) {
    const kiln__binding *binding = typer->binding;
    if (!kiln__node_check_axis(typer->work, node, binding->rank)) return (kiln__value){0};
    const int axis = kiln__node_axis(node, binding->rank);
    const int more = axis > binding->block_axis && binding->part_count ? binding->part_count - 1 : 0;
    kiln__value value = emit_axis(typer, node->op, axis + more);
    for (int part = 1; part < binding->part_count && axis == binding->block_axis; part++) {
        const kiln__value extent = literal_value(kiln__literal_int(binding->parts[part]));
        value = apply_two(typer, KILN__OP_MUL, value, extent, KILN__I64);
        if (node->op == KILN__OP_INDEX)
            value = apply_two(typer, KILN__OP_ADD, value, emit_axis(typer, node->op, axis + part), KILN__I64);
    }
    return value;
}

static kiln__value type_uniform(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    kiln__inst inst = {.op = KILN__OP_UNIFORM, .type = typer->ir->float_type, .arg_count = 2};
    if (!check_integers(typer, node, values)) return values[0];
    for (uint32_t i = 0; i < 2; i++) { /* 64 bits of either kind */
        const bool is_u64 = kiln__value_type(typer, &values[i]) == KILN__U64;
        inst.args[i] = kiln__emit_as(typer, &values[i], is_u64 ? KILN__U64 : KILN__I64).inst;
    }
    return kiln__emit(typer, inst);
}

/* round_to(bf16, x, u): as conversions are, a value of the program's float type that the storage type holds. */
static kiln__value type_stochastic(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    const kiln_type storage = node->u.storage;
    const kiln__ctype program = typer->ir->float_type, found = kiln__value_type(typer, &values[0]);
    const kiln__ctype type = found == KILN__F64 ? KILN__F64 : program;
    if (storage == KILN_F32 && type == KILN__F32) return kiln__emit_as(typer, &values[0], type);
    const kiln__inst inst = {.op = node->op, .type = type, .arg_count = 2, .u.storage = storage};
    const kiln__value rounded = apply(typer, inst, values, type);
    return kiln__emit_as(typer, &rounded, program);
}

bool kiln__check_whole_rows(kiln__typer *typer, const kiln__node *node) {
    const char *name = kiln__name_called(typer, node);
    if (across_of(typer, node) != KILN__ACROSS_NONE)
        return KILN__FAIL_AT(typer, node, KILN_E_UNSUPPORTED,
                             "'%s' runs across rows: expected sum, prod, max, min, any or all there", name);
    if (block_of(typer, node) != 0)
        return KILN__FAIL_AT(typer, node, KILN_E_UNSUPPORTED,
                             "'%s' takes blocks of %d columns that are not the program's rows: expected whole rows",
                             name, (int)block_of(typer, node));
    return true;
}

/* Whether kth(x, k) can be had here: of a whole row, by one integer that is not 0. */
static bool check_kth(kiln__typer *typer, const kiln__node *node, const kiln__value *k) {
    const char *name = kiln__ir_op_name(node->op);
    const kiln__ctype found = kiln__value_type(typer, k);
    if (!kiln__check_whole_rows(typer, node)) return false;
    if (kiln__ctype_is_float(found))
        return KILN__FAIL_AT(typer, node, KILN_E_TYPE, "the k of '%s' is an integer, found %s", name,
                             kiln__ctype_name(found));
    if (!k->is_literal && typer->insts.items[k->inst].per_element)
        return KILN__FAIL_AT(typer, node, KILN_E_TYPE, "'%s' takes one k for a row, found one for each element", name);
    if (k->is_literal && kiln__literal_f64(&k->literal) == 0)
        return KILN__FAIL_AT(typer, node, KILN_E_TYPE,
                             "the k of '%s' counts from 1 for the smallest or from -1 for the largest, found 0", name);
    return true;
}

/* kth(x, k), of how many. */
static kiln__value type_kth(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    if (!check_kth(typer, node, &values[1])) return values[0];
    const kiln__node counts = {.op = KILN__OP_COUNT, .type = KILN__I64, .domain = node->domain};
    const kiln__value count = type_count(typer, &counts);
    kiln__inst inst = {.op = node->op, .type = kiln__value_type(typer, &values[0]), .arg_count = 3};
    inst.args[0] = kiln__emit_as(typer, &values[0], inst.type).inst;
    inst.args[1] = kiln__emit_as(typer, &values[1], KILN__I64).inst;
    inst.args[2] = count.inst;
    return kiln__emit(typer, inst);
}

/* cumsum(x), ...: what the columns before a thread's come to, and from there on one after another. */
static kiln__value type_scan(kiln__typer *typer, const kiln__node *node, const kiln__value *value) {
    const kiln__op reduction = kiln__scanned(node->op);
    const bool adds = kiln__op_describe(reduction)->rule == KILN__RULE_RSUM;
    kiln__ctype type = kiln__value_type(typer, value);
    if (!kiln__check_whole_rows(typer, node)) return *value;
    if (adds) type = kiln__sum_type(type);
    kiln__inst before = {.op = KILN__OP_REDUCE_BEFORE, .type = type, .arg_count = 1};
    before.u.block.op = (uint16_t)reduction;
    before.args[0] = kiln__emit_as(typer, value, type).inst;
    kiln__inst scan = {.op = KILN__OP_SCAN, .type = type, .arg_count = 2, .args = {before.args[0], 0}};
    scan.u.block.op = (uint16_t)reduction;
    scan.args[1] = kiln__emit(typer, before).inst;
    return kiln__emit(typer, scan);
}

/* What is of other columns, or of some. */
static kiln__value type_place(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    if (node->op == KILN__OP_FIRST) return kiln__type_first(typer, node, values);
    return node->op == KILN__OP_ROWS ? kiln__type_rows(typer, values) : kiln__type_take(typer, node, values);
}

/* What each column has a value of, made of others of its row. */
static kiln__value type_along(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    return kiln__op_scans(node->op) ? type_scan(typer, node, values) : kiln__type_order(typer, node, values);
}

static void list_own(kiln__typer *typer, const kiln__own_function *own) {
    kiln__ir *ir = typer->ir;
    for (uint32_t i = 0; i < ir->own_count; i++)
        if (ir->own[i] == own) return;
    const kiln__own_function **all = kiln__work_alloc(typer->work, &ir->arena, ir->own_count + 1, sizeof(*all));
    if (all == NULL) return;
    for (uint32_t i = 0; i < ir->own_count; i++) all[i] = ir->own[i];
    all[ir->own_count++] = own;
    ir->own = all;
}

/* A device function of the caller's own takes floats and gives one. */
static kiln__value type_own(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    const kiln__ctype common = kiln__common_type(typer, node, values, node->arg_count);
    const kiln__ctype type = common == KILN__F64 ? KILN__F64 : typer->ir->float_type;
    kiln__inst inst = {.op = node->op, .arg_count = node->arg_count, .type = type, .u.own = node->u.own};
    for (uint32_t i = 0; i < node->arg_count; i++) inst.args[i] = kiln__emit_as(typer, &values[i], type).inst;
    list_own(typer, node->u.own);
    return kiln__emit(typer, inst);
}

static kiln__value type_node(kiln__typer *typer, const kiln__node *node) {
    kiln__value values[3] = {0};
    kiln__node literals[3] = {0}, folded;
    bool all_literal = node->arg_count > 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        values[i] = typer->values[node->args[i]];
        literals[i] = values[i].literal;
        all_literal = all_literal && values[i].is_literal;
    }
    if (kiln__is_literal(node)) return literal_value(*node);
    if (kiln__op_runs_along(node->op)) return type_along(typer, node, values);
    if (kiln__op_is_place(node->op)) return type_place(typer, node, values);
    if (all_literal && kiln__fold(node->op, literals, &folded)) return literal_value(folded);
    switch (node->op) {
    case KILN__OP_NAME: return kiln__emit(typer, typer->leaves[node->u.name]);
    case KILN__OP_PARAM:
        return kiln__emit(typer, (kiln__inst){.op = node->op, .type = typer->param_type, .u.param = node->u.param});
    case KILN__OP_COUNT: return type_count(typer, node);
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: return type_axis(typer, node);
    case KILN__OP_UNIFORM: return type_uniform(typer, node, values);
    case KILN__OP_STOCHASTIC: return type_stochastic(typer, node, values);
    case KILN__OP_REDUCE_KTH: return type_kth(typer, node, values);
    case KILN__OP_OWN: return type_own(typer, node, values);
    case KILN__OP_CONVERT: return type_conversion(typer, node, &values[0]);
    case KILN__OP_IS_WIDE: return literal_value(kiln__literal_bool(is_wide_integer(typer, &values[0])));
    case KILN__OP_WIDEN: return type_widening(typer, node->u.widening, &values[0]);
    default: return type_operator(typer, node, values);
    }
}

void kiln__type_nodes(kiln__typer *typer, const kiln__node *nodes, uint32_t count, const bool *needed) {
    typer->values = kiln__work_alloc(typer->work, &typer->work->scratch, count, sizeof *typer->values);
    for (uint32_t i = 0; i < count && typer->work->status == KILN_OK; i++) {
        if (needed != NULL && !needed[i]) continue;
        typer->node = &nodes[i];
        typer->values[i] = type_node(typer, &nodes[i]);
    }
}

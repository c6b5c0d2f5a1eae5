/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions, each once, with what follows from their arguments: phase, per_element, constant.
 * Casts and roundings of literals are done here. */
#include "lang/domain.h"
#include "lang/typing.h"

kiln__ctype kiln__value_type(const kiln__typer *typer, const kiln__value *value) {
    const kiln__node *literal = &value->literal;
    if (!value->is_literal) return typer->insts.items[value->inst].type;
    if (literal->op == KILN__OP_FLOAT) return typer->ir->float_type;
    if (literal->op == KILN__OP_BOOL) return KILN__BOOL;
    if (literal->type == KILN__U64) return KILN__U64;
    return literal->u.i64 >= INT32_MIN && literal->u.i64 <= INT32_MAX ? KILN__I32 : KILN__I64;
}

/* What each column has a value of, whatever it is made of. */
static bool has_own_columns(kiln__op op) {
    return op == KILN__OP_SCAN || op == KILN__OP_FIRST || kiln__op_is_order(op);
}

static bool is_of_block(kiln__op op) { return op == KILN__OP_BLOCK_REDUCE || op == KILN__OP_BLOCK_COUNT; }

/* Of two runs: neighbours that share both. */
static uint32_t common_run(const kiln__typer *typer, uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) return 0;
    if (a == KILN__RUN_OF_ROW || b == KILN__RUN_OF_ROW) return a < b ? a : b;
    const int64_t uneven = typer->binding->uneven.columns;
    const int64_t run = kiln__common_block(a, b, uneven ? uneven : KILN__RUN_OF_ROW);
    return run > 1 ? (uint32_t)run : 0;
}

/* How many neighbouring columns share the value: no more than share each of what it is made of. */
static uint32_t run_of(const kiln__typer *typer, const kiln__inst *inst) {
    uint32_t run = KILN__RUN_OF_ROW;
    if (is_of_block(inst->op)) return inst->domain;
    if (has_own_columns(inst->op)) return 0;
    if (!inst->per_element) return run;
    if (inst->op == KILN__OP_INPUT) return (uint32_t)typer->binding->input_repeats[inst->u.input];
    if (inst->arg_count == 0 || inst->op == KILN__OP_UNIFORM) return 0;
    for (uint32_t i = 0; i < inst->arg_count && typer->work->status == KILN_OK; i++)
        run = common_run(typer, run, typer->insts.items[inst->args[i]].run);
    return run;
}

/* Whether the value is of all rows: then so is all that it is made of, or the same for all. */
static bool is_across(const kiln__typer *typer, const kiln__inst *inst) {
    bool across = false, of_row = false;
    for (uint32_t i = 0; i < inst->arg_count && typer->work->status == KILN_OK; i++) {
        const kiln__inst *arg = &typer->insts.items[inst->args[i]];
        across |= arg->across;
        of_row |= !arg->across && !arg->row_invariant;
    }
    const bool reduces = kiln__op_is_reduction(inst->op) || inst->op == KILN__OP_BLOCK_REDUCE ||
                         inst->op == KILN__OP_ACROSS_REDUCE || inst->op == KILN__OP_UNIFORM ||
                         inst->op == KILN__OP_TAKE || inst->op == KILN__OP_INPUT || kiln__op_is_order(inst->op);
    if (across && (of_row || reduces))
        KILN__FAIL_AT(typer, typer->node, KILN_E_UNSUPPORTED,
                      "'%s' takes a value of all rows to make one of a row: two programs do that",
                      kiln__ir_op_name(typer->node->op));
    return across || inst->op == KILN__OP_ACROSS_REDUCE;
}

/* Whether its value is no function of its arguments' values alone, but for reductions. */
static bool has_columns(kiln__op op) {
    return op == KILN__OP_UNIFORM || op == KILN__OP_BLOCK_REDUCE || op == KILN__OP_ACROSS_REDUCE ||
           op == KILN__OP_TAKE || op == KILN__OP_INPUT || has_own_columns(op);
}

/* What the operator and the binding say of a value, whatever it is made of. */
static void set_own(const kiln__typer *typer, kiln__inst *inst) {
    const bool input = inst->op == KILN__OP_INPUT;
    inst->per_element = inst->op == KILN__OP_UNIFORM || is_of_block(inst->op) || has_own_columns(inst->op);
    inst->constant = inst->arg_count > 0 ? !kiln__op_is_reduction(inst->op) && !has_columns(inst->op)
                                         : !input && inst->op != KILN__OP_INDEX && inst->op != KILN__OP_PARAM &&
                                               inst->op != KILN__OP_BLOCK_COUNT && inst->op != KILN__OP_LENGTH;
    if (input) inst->per_element = typer->binding->input_per_element[inst->u.input];
    if (inst->op == KILN__OP_INDEX) inst->per_element = typer->binding->reduced[inst->u.axis];
    inst->row_invariant =
        inst->constant || (input && inst->arg_count == 0 && typer->binding->input_row_invariant[inst->u.input]);
}

/* What goes over some columns as it does over all: those behind them change nothing, or nothing before them. */
static bool takes_some(kiln__op op) {
    const bool masked = op >= KILN__OP_REDUCE_SUM && op <= KILN__OP_REDUCE_ALL;
    return masked || op == KILN__OP_REDUCE_BEFORE || !kiln__op_is_reduction(op);
}

const char *kiln__name_called(const kiln__typer *typer, const kiln__node *node) {
    if (node->op == KILN__OP_OWN) return node->u.own->name;
    if (node->op != KILN__OP_SORT) return kiln__ir_op_name(node->op);
    const kiln__node *order = &typer->graph->nodes[node->args[1]];
    if (order->op == KILN__OP_ARGTOP) return order->args[0] == node->args[0] ? "topk" : "topk_by";
    return order->args[0] == node->args[0] ? "sort" : "sort_by";
}

static uint32_t fail_columns(const kiln__typer *typer, uint32_t columns, const char *beside) {
    KILN__FAIL_AT(typer, typer->node, KILN_E_SHAPE, "'%s' takes the first %u columns of rows %s",
                  kiln__name_called(typer, typer->node), columns, beside);
    return 0;
}

/* What has a row's columns, whatever it is made of; 0: as what it is made of. */
static bool has_all_columns(kiln__op op) {
    return op == KILN__OP_INPUT || is_of_block(op) || op == KILN__OP_ACROSS_REDUCE || kiln__op_is_order(op);
}

/* How many columns all that it is made of has; of an order the keys. */
static uint32_t common_columns(const kiln__typer *typer, const kiln__inst *inst) {
    const bool whole = !takes_some(inst->op) || (has_all_columns(inst->op) && inst->op != KILN__OP_INPUT);
    uint32_t columns = KILN__ANY_COLUMNS;
    for (uint32_t i = 0; i < inst->arg_count && typer->work->status == KILN_OK; i++) {
        const kiln__inst *arg = &typer->insts.items[inst->args[i]];
        if (arg->columns == KILN__ANY_COLUMNS || arg->columns == columns ||
            (arg->op == KILN__OP_ORDER && inst->op == KILN__OP_SORTED))
            continue;
        if (columns != KILN__ANY_COLUMNS)
            return fail_columns(typer, arg->columns ? arg->columns : columns, "beside others");
        if (arg->columns && whole) return fail_columns(typer, arg->columns, "where it is of whole ones");
        columns = arg->columns;
    }
    return columns;
}

/* How many columns have the value. */
static uint32_t columns_of(const kiln__typer *typer, const kiln__inst *inst) {
    const uint32_t columns = common_columns(typer, inst);
    if (inst->op == KILN__OP_FIRST && columns && columns < inst->u.first)
        return fail_columns(typer, columns, "for more of them");
    if (inst->op == KILN__OP_FIRST) return inst->u.first;
    if (inst->op == KILN__OP_ORDER) return inst->u.order.first;
    if (inst->op == KILN__OP_SORTED) return typer->insts.items[inst->args[1]].columns;
    if (!inst->per_element || inst->op == KILN__OP_INDEX || inst->op == KILN__OP_UNIFORM) return KILN__ANY_COLUMNS;
    return has_all_columns(inst->op) ? 0 : columns;
}

/* Whether the value at a place is known from what is there in the row's order, and from the row's one values. */
static bool is_in_order(const kiln__typer *typer, const kiln__inst *inst) {
    if (!inst->per_element || kiln__op_is_order(inst->op)) return true;
    const bool asks = has_columns(inst->op) && inst->op != KILN__OP_FIRST && inst->op != KILN__OP_TAKE;
    bool in_order = !asks && inst->arg_count > 0;
    for (uint32_t i = 0; i < inst->arg_count && typer->work->status == KILN_OK; i++)
        in_order = in_order && typer->insts.items[inst->args[i]].in_order;
    return in_order;
}

kiln__value kiln__emit(kiln__typer *typer, kiln__inst inst) {
    const bool reduction = kiln__op_is_reduction(inst.op);
    unsigned phase = 0;
    set_own(typer, &inst);
    for (uint32_t i = 0; i < inst.arg_count && typer->work->status == KILN_OK; i++) {
        const kiln__inst *arg = &typer->insts.items[inst.args[i]];
        if (arg->phase > phase) phase = arg->phase;
        inst.per_element = inst.per_element || (arg->per_element && !reduction);
        inst.constant = inst.constant && arg->constant;
        inst.row_invariant = inst.row_invariant && arg->row_invariant;
    }
    inst.run = run_of(typer, &inst);
    inst.across = is_across(typer, &inst);
    inst.columns = columns_of(typer, &inst);
    inst.in_order = is_in_order(typer, &inst);
    phase += reduction;
    if (phase > KILN__MAX_PHASES)
        KILN__FAIL_AT(typer, typer->node, KILN_E_LIMIT, "reductions of reductions are nested more than %d deep",
                      KILN__MAX_PHASES);
    inst.phase = (uint8_t)phase;
    inst.line = typer->node->line;
    inst.column = typer->node->column;
    return (kiln__value){.inst =
                             kiln__nodes_add(typer->work, &typer->insts, &inst, KILN__MAX_INSTS, "typed operations")};
}

kiln__inst kiln__literal_as(const kiln__node *literal, kiln__ctype type) {
    static const kiln_type storage[KILN__CTYPES] = {
        [KILN__F32] = KILN_F32, [KILN__F64] = KILN_F64, [KILN__I32] = KILN_I32,   [KILN__I64] = KILN_I64,
        [KILN__U32] = KILN_U32, [KILN__U64] = KILN_U64, [KILN__BOOL] = KILN_BOOL,
    };
    kiln__inst inst = kiln__literal_stored(literal, storage[type]);
    inst.type = type;
    return inst;
}

static kiln__value emit_literal(kiln__typer *typer, kiln__node literal, kiln__ctype type) {
    kiln__inst inst = kiln__literal_as(&literal, type);
    return kiln__emit(typer, inst);
}

kiln__value kiln__emit_as(kiln__typer *typer, const kiln__value *value, kiln__ctype type) {
    if (typer->work->status != KILN_OK) return (kiln__value){0};
    const kiln__inst *inst = value->is_literal ? &value->literal : &typer->insts.items[value->inst];
    if (!value->is_literal && inst->type == type) return *value;
    if (kiln__is_literal(inst)) return emit_literal(typer, *inst, type);
    return kiln__emit(typer, (kiln__inst){.op = KILN__OP_CAST, .type = type, .arg_count = 1, .args = {value->inst}});
}

kiln__value kiln__emit_round(kiln__typer *typer, const kiln__value *value, kiln__ctype type, kiln_type storage) {
    kiln__value source = kiln__emit_as(typer, value, type);
    if (typer->work->status != KILN_OK) return source;
    const kiln__inst *inst = &typer->insts.items[source.inst];
    if (kiln__is_literal(inst)) return emit_literal(typer, kiln__literal_stored(inst, storage), type);
    return kiln__emit(
        typer, (kiln__inst){
                   .op = KILN__OP_ROUND_TO, .type = type, .arg_count = 1, .args = {source.inst}, .u.storage = storage});
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in order, and the first columns of rows. */
#include <math.h>

#include "lang/typing.h"

#define MOST_FIRST (1 << 28) /* columns, beyond all that is sorted of a row */

/* ---- first columns ---- */

/* What changes nothing in a reduction that goes over some columns. */
static kiln__node identity_of(kiln__op op, kiln__ctype type) {
    static const int64_t least[KILN__CTYPES] = {[KILN__I32] = INT32_MIN, [KILN__I64] = INT64_MIN};
    static const int64_t most[KILN__CTYPES] = {
        [KILN__I32] = INT32_MAX, [KILN__I64] = INT64_MAX, [KILN__U32] = UINT32_MAX, [KILN__BOOL] = 1};
    const bool max = op == KILN__OP_REDUCE_MAX;
    if (op == KILN__OP_REDUCE_SUM || op == KILN__OP_REDUCE_ANY) return kiln__literal_int(0);
    if (op == KILN__OP_REDUCE_PROD || op == KILN__OP_REDUCE_ALL) return kiln__literal_int(1);
    if (kiln__ctype_is_float(type)) return kiln__literal_float(max ? -INFINITY : INFINITY);
    if (type == KILN__U64 && !max) return kiln__literal_uint(UINT64_MAX);
    return kiln__literal_int(max ? least[type] : most[type]);
}

/* The axis that rows lie along; -1 where there are several, or blocks. KILN_MAX_RANK where types alone are asked. */
static int axis_of_rows(const kiln__binding *binding) {
    int axis = KILN_MAX_RANK;
    for (int i = 0; i < binding->rank; i++) {
        if (binding->reduced[i] && axis < KILN_MAX_RANK) return -1;
        if (binding->reduced[i]) axis = i;
    }
    return binding->part_count ? -1 : axis;
}

/* A row's reduction goes over columns that its argument does not have: they get what changes nothing. */
void kiln__mask_first(kiln__typer *typer, kiln__inst *reduction) {
    const uint32_t value = reduction->args[0];
    if (typer->work->status != KILN_OK) return;
    const kiln__inst of = typer->insts.items[value];
    const int axis = axis_of_rows(typer->binding);
    if (!of.columns || of.columns == KILN__ANY_COLUMNS || axis == KILN_MAX_RANK) return;
    typer->sums_first = typer->node;
    const kiln__value columns = {.is_literal = true, .literal = kiln__literal_int(of.columns)};
    const kiln__value none = {.is_literal = true, .literal = identity_of(reduction->op, of.type)};
    const kiln__inst index = {.op = KILN__OP_INDEX, .type = KILN__I64, .u.axis = axis};
    kiln__inst has = {.op = KILN__OP_LT, .type = KILN__BOOL, .arg_count = 2};
    has.args[0] = kiln__emit(typer, index).inst;
    has.args[1] = kiln__emit_as(typer, &columns, KILN__I64).inst;
    kiln__inst where = {.op = KILN__OP_WHERE, .type = of.type, .arg_count = 3};
    where.args[0] = kiln__emit(typer, has).inst;
    where.args[1] = value;
    where.args[2] = kiln__emit_as(typer, &none, of.type).inst;
    reduction->args[0] = kiln__emit(typer, where).inst;
}

/* How many columns of a row are taken; 0 where that has failed. */
static uint32_t read_first(kiln__typer *typer, const kiln__node *node, const kiln__value *k) {
    const bool is_integer = k->is_literal && k->literal.op == KILN__OP_INT;
    if (axis_of_rows(typer->binding) < 0)
        return KILN__FAIL_AT(typer, node, KILN_E_UNSUPPORTED, "'%s' takes rows along one axis, without blocks",
                             kiln__ir_op_name(node->op));
    if (is_integer && k->literal.u.i64 >= 1 && k->literal.u.i64 <= MOST_FIRST) return (uint32_t)k->literal.u.i64;
    return KILN__FAIL_AT(typer, node, KILN_E_TYPE, "how many columns '%s' takes is written out: expected 1 to %d",
                         kiln__ir_op_name(node->op), MOST_FIRST);
}

/* first(x, k) */
kiln__value kiln__type_first(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    kiln__inst first = {.op = KILN__OP_FIRST, .type = kiln__value_type(typer, &values[0]), .arg_count = 1};
    first.u.first = read_first(typer, node, &values[1]);
    first.args[0] = kiln__emit_as(typer, &values[0], first.type).inst;
    return kiln__emit(typer, first);
}

/* ---- order ---- */

/* Whether rows can be sorted here. */
static bool check_sorted(kiln__typer *typer, const kiln__node *node) {
    if (!kiln__check_whole_rows(typer, node)) return false;
    return !typer->graph->offsets ||
           KILN__FAIL_AT(typer, node, KILN_E_UNSUPPORTED, "'%s' takes rows that strides place: expected no offsets(o)",
                         kiln__name_called(typer, node));
}

static kiln__value type_argsort(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    kiln__inst order = {.op = KILN__OP_ORDER, .type = KILN__I64, .arg_count = 1};
    if (!check_sorted(typer, node)) return values[0];
    if (!values[1].is_literal) {
        KILN__FAIL_AT(typer, node, KILN_E_TYPE,
                      "the direction of sorting is written out: expected descending = true or false");
        return values[0];
    }
    order.u.order.descending = kiln__literal_f64(&values[1].literal) != 0;
    order.args[0] = kiln__emit_as(typer, &values[0], kiln__value_type(typer, &values[0])).inst;
    return kiln__emit(typer, order);
}

/* The largest. */
static kiln__value type_argtop(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    kiln__inst order = {.op = KILN__OP_ORDER, .type = KILN__I64, .arg_count = 1};
    if (!check_sorted(typer, node)) return values[0];
    order.u.order.descending = true;
    order.u.order.first = (uint16_t)read_first(typer, node, &values[1]);
    order.args[0] = kiln__emit_as(typer, &values[0], kiln__value_type(typer, &values[0])).inst;
    return kiln__emit(typer, order);
}

/* x in an order. */
static kiln__value type_sorted(kiln__typer *typer, const kiln__value *values) {
    kiln__inst sorted = {.op = KILN__OP_SORTED, .type = kiln__value_type(typer, &values[0]), .arg_count = 2};
    sorted.args[0] = kiln__emit_as(typer, &values[0], sorted.type).inst;
    sorted.args[1] = values[1].inst;
    return kiln__emit(typer, sorted);
}

kiln__value kiln__type_order(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    if (node->op == KILN__OP_ARGSORT) return type_argsort(typer, node, values);
    return node->op == KILN__OP_ARGTOP ? type_argtop(typer, node, values) : type_sorted(typer, values);
}

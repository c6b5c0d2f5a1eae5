/* SPDX-License-Identifier: Apache-2.0 */
/* take(x, i), gather(x, i): what x is at column i of its row. Its operations are written anew for that column: inputs
 * are read there, positions are i, and what a row has one of stays. */
#include <math.h>

#include "lang/typing.h"

typedef struct taking {
    kiln__typer *typer;
    const kiln__node *node; /* the call */
    uint32_t index;         /* i, as i64 */
    uint32_t *taken;        /* of each operation: what it is at the column */
} taking;

/* Which operations the value is made of, back to those that a row has one of. */
static void mark(const kiln__typer *typer, uint32_t value, bool *needed) {
    needed[value] = true;
    for (uint32_t i = value + 1; i-- > 0;) {
        const kiln__inst *inst = &typer->insts.items[i];
        for (uint32_t k = 0; k < inst->arg_count && needed[i] && inst->per_element; k++) needed[inst->args[k]] = true;
    }
}

static kiln__value apply(kiln__typer *typer, kiln__op op, kiln__ctype type, uint32_t a, uint32_t b) {
    return kiln__emit(typer, (kiln__inst){.op = op, .type = type, .arg_count = 2, .args = {a, b}});
}

/* How many elements the reduced axes behind one have: column i has index i / that % the axis's size. */
static kiln__value elements_behind(kiln__typer *typer, int axis) {
    kiln__value all = {.is_literal = true, .literal = kiln__literal_int(1)};
    const int more =
        typer->binding->part_count > 1 ? typer->binding->part_count - 1 : 0; /* axes that blocks are cut into */
    for (int a = axis + 1; a < typer->binding->rank + more; a++) {
        if (!typer->binding->reduced[a]) continue;
        const kiln__value size = kiln__emit(typer, (kiln__inst){.op = KILN__OP_SIZE, .type = KILN__I64, .u.axis = a});
        all = all.is_literal ? size : apply(typer, KILN__OP_MUL, KILN__I64, all.inst, size.inst);
    }
    return all;
}

static uint32_t take_position(const taking *t, int axis) {
    const kiln__value size = kiln__emit(t->typer, (kiln__inst){.op = KILN__OP_SIZE, .type = KILN__I64, .u.axis = axis});
    const kiln__value behind = elements_behind(t->typer, axis);
    const kiln__value at = behind.is_literal ? (kiln__value){.inst = t->index}
                                             : apply(t->typer, KILN__OP_DIV_FLOOR, KILN__I64, t->index, behind.inst);
    return apply(t->typer, KILN__OP_MOD, KILN__I64, at.inst, size.inst).inst;
}

static uint32_t refuse(const taking *t, const char *what) {
    return KILN__FAIL_AT(t->typer, t->node, KILN_E_UNSUPPORTED,
                         "'%s' takes a column of '%s': expected one of inputs, positions and what is made of them",
                         kiln__ir_op_name(t->node->op), what);
}

static uint32_t take_operation(const taking *t, kiln__inst inst) {
    switch ((int)inst.op) {
    case KILN__OP_INDEX: return take_position(t, inst.u.axis);
    case KILN__OP_INPUT:
        if (inst.arg_count > 0) return refuse(t, "rows");
        inst.op = KILN__OP_TAKE;
        inst.arg_count = 1;
        inst.args[0] = t->index;
        break;
    case KILN__OP_SCAN: return refuse(t, kiln__ir_op_name(kiln__scan_of(kiln__combining(&inst).op)));
    case KILN__OP_ORDER:
    case KILN__OP_SORTED: return refuse(t, "sort");
    case KILN__OP_FIRST: return refuse(t, "first");
    case KILN__OP_UNIFORM:
    case KILN__OP_BLOCK_REDUCE:
    case KILN__OP_BLOCK_COUNT: return refuse(t, kiln__ir_op_name(inst.op));
    default:
        for (uint32_t k = 0; k < inst.arg_count; k++) inst.args[k] = t->taken[inst.args[k]];
    }
    return kiln__emit(t->typer, inst).inst;
}

/* What the value is at a column that may be none. */
static kiln__value take_inside(const taking *t, uint32_t value) {
    kiln__typer *typer = t->typer;
    bool *needed = kiln__work_alloc(typer->work, &typer->work->scratch, value + 1, sizeof *needed);
    if (needed == NULL) return (kiln__value){0};
    mark(typer, value, needed);
    for (uint32_t i = 0; i <= value && typer->work->status == KILN_OK; i++) {
        const kiln__inst inst = typer->insts.items[i];
        if (needed[i]) t->taken[i] = inst.per_element ? take_operation(t, inst) : i;
    }
    return (kiln__value){.inst = t->taken[value]};
}

kiln__value kiln__where_inside(kiln__typer *typer, const kiln__value *index, const kiln__value *count,
                               const kiln__value *value) {
    if (typer->work->status != KILN_OK) return *value;
    const kiln__ctype type = kiln__value_type(typer, value);
    const kiln__node none = kiln__ctype_is_float(type) ? kiln__literal_float(NAN) : kiln__literal_int(0);
    const kiln__value zero = {.is_literal = true, .literal = kiln__literal_int(0)};
    const kiln__value outside = {.is_literal = true, .literal = none};
    const kiln__value from =
        apply(typer, KILN__OP_GE, KILN__BOOL, index->inst, kiln__emit_as(typer, &zero, KILN__I64).inst);
    const kiln__value to =
        apply(typer, KILN__OP_LT, KILN__BOOL, index->inst, kiln__emit_as(typer, count, KILN__I64).inst);
    kiln__inst where = {.op = KILN__OP_WHERE, .type = type, .arg_count = 3};
    where.args[0] = apply(typer, KILN__OP_AND, KILN__BOOL, from.inst, to.inst).inst;
    where.args[1] = value->inst;
    where.args[2] = kiln__emit_as(typer, &outside, type).inst;
    return kiln__emit(typer, where);
}

kiln__value kiln__type_take(kiln__typer *typer, const kiln__node *node, const kiln__value *values) {
    const kiln__ctype type = kiln__value_type(typer, &values[0]), found = kiln__value_type(typer, &values[1]);
    if (kiln__ctype_is_float(found)) {
        KILN__FAIL_AT(typer, node, KILN_E_TYPE, "the column of '%s' is an integer, found %s",
                      kiln__ir_op_name(node->op), kiln__ctype_name(found));
        return values[0];
    }
    const uint32_t value = kiln__emit_as(typer, &values[0], type).inst;
    const uint32_t index = kiln__emit_as(typer, &values[1], KILN__I64).inst;
    taking t = {typer, node, index, kiln__work_alloc(typer->work, &typer->work->scratch, value + 1, sizeof *t.taken)};
    if (typer->work->status != KILN_OK) return values[0];
    if (node->op == KILN__OP_TAKE && typer->insts.items[index].per_element) {
        KILN__FAIL_AT(typer, node, KILN_E_TYPE,
                      "'take' takes one column for a row, found one for each element: expected gather(x, i) there");
        return values[0];
    }
    const kiln__value inside = take_inside(&t, value);
    const kiln__value all = kiln__has_length(typer) ? kiln__type_length(typer) : elements_behind(typer, -1);
    return kiln__where_inside(typer, &(kiln__value){.inst = index}, &all, &inside);
}

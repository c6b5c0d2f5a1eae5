/* SPDX-License-Identifier: Apache-2.0 */
/* What rows are told by integers of their own: which row of another tensor they read, as rows(t, i), or are written to;
 * where they lie and how long they are. */
#include <math.h>

#include "lang/typing.h"

/* what: "the row of 'rows'", "the length of a row". */
static kiln__value refuse(kiln__typer *typer, kiln_status status, const char *what, const char *found) {
    kiln__work_fail(typer->work, typer->node->line, typer->node->column, status,
                    "%s is an integer that each row has one of, found %s", what, found);
    return (kiln__value){0};
}

static kiln__value integer_of_row(kiln__typer *typer, const char *what, const kiln__value *value) {
    const kiln__ctype found = kiln__value_type(typer, value);
    if (kiln__ctype_is_float(found)) return refuse(typer, KILN_E_TYPE, what, kiln__ctype_name(found));
    const kiln__value wide = kiln__emit_as(typer, value, KILN__I64);
    if (typer->work->status != KILN_OK) return wide;
    const kiln__inst *inst = &typer->insts.items[wide.inst];
    if (inst->across) return refuse(typer, KILN_E_UNSUPPORTED, what, "what all rows come to");
    return inst->per_element ? refuse(typer, KILN_E_TYPE, what, "one for each element") : wide;
}

/* Rows begin with it. */
static kiln__value known_at_once(kiln__typer *typer, const char *what, const kiln__value *value) {
    const kiln__value integer = integer_of_row(typer, what, value);
    if (typer->work->status == KILN_OK && typer->insts.items[integer.inst].phase > 0)
        return refuse(typer, KILN_E_UNSUPPORTED, what, "what a reduction gives: two programs do that");
    return integer;
}

kiln__value kiln__type_put_row(kiln__typer *typer, const kiln__value *index) {
    return integer_of_row(typer, "the row of 'put'", index);
}

kiln__value kiln__type_rows(kiln__typer *typer, const kiln__value *values) {
    const kiln__value index = known_at_once(typer, "the row of 'rows'", &values[1]);
    if (typer->work->status != KILN_OK) return index;
    kiln__inst row = typer->insts.items[values[0].inst];
    row.arg_count = 1;
    row.args[0] = index.inst;
    const kiln__value inside = kiln__emit(typer, row);
    const kiln__value count =
        kiln__emit(typer, (kiln__inst){.op = KILN__OP_ROWS_OF, .type = KILN__I64, .u.input = row.u.input});
    return kiln__where_inside(typer, &index, &count, &inside);
}

void kiln__type_offsets(kiln__typer *typer) {
    const kiln__node *node = &typer->graph->nodes[typer->graph->offsets - 1];
    const kiln__inst *input = &typer->leaves[node->u.name];
    if (kiln__ctype_is_float(input->type))
        KILN__FAIL_AT(typer, node, KILN_E_TYPE, "the offsets of rows are integers, found %s",
                      kiln__ctype_name(input->type));
    typer->ir->offsets = input->u.input + 1;
}

/* The axis that rows lie along; where only types are asked for, whichever. */
static int axis_of_rows(const kiln__binding *binding) {
    int axis = binding->rank + (binding->part_count > 1 ? binding->part_count - 1 : 0) - 1;
    if (axis < 0) axis = 0;
    while (axis > 0 && !binding->reduced[axis]) axis--;
    return axis;
}

bool kiln__has_length(const kiln__typer *typer) {
    const uint32_t length = typer->graph->length;
    return typer->graph->offsets || (length && typer->node > &typer->graph->nodes[length - 1]);
}

static kiln__value apply(kiln__typer *typer, kiln__op op, kiln__value a, kiln__value b) {
    kiln__inst inst = {.op = op, .type = KILN__I64, .arg_count = 2};
    inst.args[0] = kiln__emit_as(typer, &a, KILN__I64).inst;
    inst.args[1] = kiln__emit_as(typer, &b, KILN__I64).inst;
    return kiln__emit(typer, inst);
}

static kiln__value at_least_0(kiln__typer *typer, kiln__value value) {
    return apply(typer, KILN__OP_MAXIMUM, value, (kiln__value){.is_literal = true, .literal = kiln__literal_int(0)});
}

/* Where blocks are the rows: what of the length is left where the block begins. */
static kiln__value at_block(kiln__typer *typer, kiln__value length) {
    const kiln__binding *binding = typer->binding;
    if (binding->part_count < 2 || binding->parts[0] == 1) return length;
    const kiln__inst index = {.op = KILN__OP_INDEX, .type = KILN__I64, .u.axis = binding->block_axis};
    const kiln__value block = {.is_literal = true, .literal = kiln__literal_int(binding->row_block)};
    const kiln__value whole = at_least_0(typer, length), number = kiln__emit(typer, index);
    const kiln__value before = apply(typer, KILN__OP_MUL, number, block);
    return apply(typer, KILN__OP_SUB, whole, before);
}

static kiln__value clamp_length(kiln__typer *typer, kiln__value length) {
    const kiln__inst size = {.op = KILN__OP_SIZE, .type = KILN__I64, .u.axis = axis_of_rows(typer->binding)};
    const kiln__value least = at_least_0(typer, length), most = kiln__emit(typer, size);
    return apply(typer, KILN__OP_MINIMUM, least, most);
}

kiln__value kiln__type_length(kiln__typer *typer) {
    if (typer->graph->offsets) return kiln__emit(typer, (kiln__inst){.op = KILN__OP_LENGTH, .type = KILN__I64});
    const uint32_t node = typer->graph->length - 1;
    const kiln__node *const asked = typer->node;
    typer->node = &typer->graph->nodes[node];
    const kiln__value given = known_at_once(typer, "the length of a row", &typer->values[node]);
    typer->node = asked;
    if (typer->work->status != KILN_OK) return given;
    return clamp_length(typer, at_block(typer, given));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rows(t, i): row i of an input that has rows of its own, NaN or 0 where it has no such row. */
#include <math.h>

#include "lang/typing.h"

static kiln__value refuse(kiln__typer *typer, kiln_status status, const char *call, const char *found) {
    kiln__work_fail(typer->work, typer->node->line, typer->node->column, status,
                    "the row of '%s' is an integer that each row has one of, found %s", call, found);
    return (kiln__value){0};
}

kiln__value kiln__type_row_index(kiln__typer *typer, const char *call, const kiln__value *index) {
    const kiln__ctype found = kiln__value_type(typer, index);
    if (kiln__ctype_is_float(found)) return refuse(typer, KILN_E_TYPE, call, kiln__ctype_name(found));
    const kiln__value wide = kiln__emit_as(typer, index, KILN__I64);
    if (typer->work->status != KILN_OK) return wide;
    const kiln__inst *inst = &typer->insts.items[wide.inst];
    if (inst->across) return refuse(typer, KILN_E_UNSUPPORTED, call, "what all rows come to");
    return inst->per_element ? refuse(typer, KILN_E_TYPE, call, "one for each element") : wide;
}

kiln__value kiln__type_rows(kiln__typer *typer, const kiln__value *values) {
    const kiln__value index = kiln__type_row_index(typer, "rows", &values[1]);
    if (typer->work->status != KILN_OK) return index;
    if (typer->insts.items[index.inst].phase > 0)
        return refuse(typer, KILN_E_UNSUPPORTED, "rows", "what a reduction gives: two programs do that");
    kiln__inst row = typer->insts.items[values[0].inst];
    row.arg_count = 1;
    row.args[0] = index.inst;
    const kiln__value inside = kiln__emit(typer, row);
    const kiln__value count =
        kiln__emit(typer, (kiln__inst){.op = KILN__OP_ROWS_OF, .type = KILN__I64, .u.input = row.u.input});
    return kiln__where_inside(typer, &index, &count, &inside);
}

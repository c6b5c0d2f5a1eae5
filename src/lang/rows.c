/* SPDX-License-Identifier: Apache-2.0 */
/* rows(t, i): row i of an input that has rows of its own, NaN or 0 where it has no such row. */
#include <math.h>

#include "lang/typing.h"

static kiln__value refuse(kiln__typer *typer, kiln_status status, const char *found) {
    kiln__work_fail(typer->work, typer->node->line, typer->node->column, status,
                    "'rows' takes an integer that each row has one of and that no reduction gives, found %s", found);
    return (kiln__value){0};
}

kiln__value kiln__type_rows(kiln__typer *typer, const kiln__value *values) {
    const kiln__ctype found = kiln__value_type(typer, &values[1]);
    if (kiln__ctype_is_float(found)) return refuse(typer, KILN_E_TYPE, kiln__ctype_name(found));
    const kiln__value index = kiln__emit_as(typer, &values[1], KILN__I64);
    if (typer->work->status != KILN_OK) return index;
    const kiln__inst given = typer->insts.items[index.inst];
    if (given.per_element) return refuse(typer, KILN_E_TYPE, "one for each element");
    if (given.phase > 0) return refuse(typer, KILN_E_UNSUPPORTED, "what a reduction gives");
    kiln__inst row = typer->insts.items[values[0].inst];
    row.arg_count = 1;
    row.args[0] = index.inst;
    const kiln__value inside = kiln__emit(typer, row);
    const kiln__value count =
        kiln__emit(typer, (kiln__inst){.op = KILN__OP_ROWS_OF, .type = KILN__I64, .u.input = row.u.input});
    return kiln__where_inside(typer, &index, &count, &inside);
}

/* The combines of reduce, typed for the values that they meet. */
#include "lang/typing.h"

/* The identity must be a value of the type exactly. */
static bool set_identity(const kiln__node *identity, kiln__ctype type, kiln__combine *combine) {
    if (kiln__ctype_is_float(type)) {
        combine->identity = kiln__literal_f64(identity);
        if (type == KILN__F32) combine->identity = kiln__round_to(KILN_F32, combine->identity);
        return true;
    }
    combine->identity_i64 = kiln__literal_stored(identity, type == KILN__I32 ? KILN_I32 : KILN_I64).u.i64;
    if (identity->op != KILN__OP_FLOAT) return combine->identity_i64 == identity->u.i64;
    return (double)combine->identity_i64 == identity->u.f64 && combine->identity_i64 != INT64_MAX;
}

static void type_body(kiln__typer *typer, const kiln__reducer *reducer, kiln__combine *combine) {
    kiln__typer body = *typer;
    kiln__ctype type = combine->type;
    body.insts = (kiln__nodes){0};
    body.param_type = type;
    kiln__type_nodes(&body, reducer->nodes, reducer->node_count, NULL);
    if (typer->work->status != KILN_OK) return;
    kiln__ctype result = kiln__value_type(&body, &body.values[reducer->result]);
    if (kiln__ctype_is_float(result) && !kiln__ctype_is_float(type)) {
        KILN__FAIL_AT(typer->work, typer->node, KILN_E_TYPE,
                      "the combine of reduce turns %s into %s; convert what is reduced, as in reduce(..., %s(x), ...)",
                      kiln__ctype_name(type), kiln__ctype_name(result), kiln__ctype_name(result));
    }
    combine->result = kiln__emit_as(&body, &body.values[reducer->result], type).inst;
    combine->count = body.insts.count;
    combine->insts =
        kiln__work_copy(typer->work, &typer->ir->arena, body.insts.items, combine->count, sizeof *combine->insts);
}

uint32_t kiln__type_combine(kiln__typer *typer, uint32_t reducer, kiln__ctype type) {
    kiln__ir *ir = typer->ir;
    uint32_t *known = &typer->combines[reducer * KILN__CTYPES + type];
    if (*known != 0) return *known - 1;
    kiln__combine *combine = &ir->combines[ir->combine_count];
    combine->type = type;
    if (!set_identity(&typer->graph->reducers[reducer].identity, type, combine))
        return KILN__FAIL_AT(typer->work, typer->node, KILN_E_TYPE, "the identity of reduce is no %s",
                             kiln__ctype_name(type));
    type_body(typer, &typer->graph->reducers[reducer], combine);
    *known = ++ir->combine_count;
    return ir->combine_count - 1;
}

/* The combines of reduce, typed for the values that they meet. */
#include <math.h>
#include <string.h>

#include "lang/typing.h"

/* The identity must be a value of the type exactly. */
static bool set_identity(const kiln__reducer *reducer, kiln__ctype type, kiln__combine *combine) {
    if (kiln__ctype_is_float(type)) {
        combine->identity = type == KILN__F32 ? (double)(float)reducer->identity : reducer->identity;
        return true;
    }
    double low = type == KILN__I32 ? (double)INT32_MIN : (double)INT64_MIN;
    if (reducer->identity_is_int) {
        combine->identity_i64 = reducer->identity_i64;
        return type != KILN__I32 || (reducer->identity_i64 >= INT32_MIN && reducer->identity_i64 <= INT32_MAX);
    }
    if (!(reducer->identity >= low && reducer->identity < -low && reducer->identity == trunc(reducer->identity)))
        return false;
    combine->identity_i64 = (int64_t)reducer->identity;
    return true;
}

static void type_body(kiln__typer *typer, const kiln__reducer *reducer, kiln__ctype type, kiln__combine *combine) {
    kiln__typer body = *typer;
    body.insts = (kiln__insts){0};
    body.param_type = type;
    kiln__type_nodes(&body, reducer->nodes, reducer->node_count, NULL);
    typer->status = body.status;
    if (typer->status != KILN_OK) return;
    kiln__ctype result = kiln__value_type(&body, &body.values[reducer->result]);
    if (kiln__ctype_is_float(result) && !kiln__ctype_is_float(type)) {
        kiln__typer_fail(
            typer, KILN_E_TYPE,
            "the combine of reduce turns %s into %s; convert what is reduced, as in reduce(..., %s(x), ...)",
            kiln__ctype_name(type), kiln__ctype_name(result), kiln__ctype_name(result));
        return;
    }
    combine->result = kiln__emit_as(&body, &body.values[reducer->result], type);
    typer->status = body.status;
    combine->count = body.insts.count;
    combine->insts = kiln__arena_alloc(&typer->ir->arena, combine->count, sizeof *combine->insts);
    if (combine->insts == NULL)
        kiln__typer_out_of_memory(typer);
    else
        memcpy(combine->insts, body.insts.items, combine->count * sizeof *combine->insts);
}

uint32_t kiln__type_combine(kiln__typer *typer, uint32_t reducer, kiln__ctype type) {
    kiln__ir *ir = typer->ir;
    if (typer->status != KILN_OK) return 0;
    for (uint32_t i = 0; i < ir->combine_count; i++) {
        if (typer->combine_reducers[i] == reducer && ir->combines[i].type == type) return i;
    }
    uint32_t capacity = typer->combine_capacity;
    kiln__combine *combines = kiln__grow(&ir->arena, ir->combines, ir->combine_count, &capacity, sizeof *combines);
    uint32_t *reducers = kiln__grow(typer->scratch, typer->combine_reducers, ir->combine_count,
                                    &typer->combine_capacity, sizeof *reducers);
    if (combines == NULL || reducers == NULL) {
        kiln__typer_out_of_memory(typer);
        return 0;
    }
    ir->combines = combines;
    typer->combine_reducers = reducers;
    kiln__combine combine = {.type = type};
    if (!set_identity(&typer->graph->reducers[reducer], type, &combine)) {
        kiln__typer_fail(typer, KILN_E_TYPE, "the identity of reduce is no %s", kiln__ctype_name(type));
        return 0;
    }
    type_body(typer, &typer->graph->reducers[reducer], type, &combine);
    reducers[ir->combine_count] = reducer;
    combines[ir->combine_count] = combine;
    return ir->combine_count++;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors to the source of the kernel that serves any shape: the call's own problem tells the launch where
 * elements lie, and nothing of it is in the source. */
#include <string.h>

#include "problem/any_shape.h"
#include "runtime/context.h"

/* *ir, typed for the call, becomes what all shapes have in common. */
static kiln_status type_for_all(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                const kiln__shaped *shaped, const kiln__problem *exact, kiln__ir **ir,
                                bool *all_columns) {
    kiln__ir *wide = NULL;
    kiln_status status = kiln__program_type_any(program, tensors, scalars, shaped, true, &wide);
    if (status == KILN_E_MEMORY) return status;
    if (status) kiln__clear_error(); /* where rows(t, i) or kth(x, k), say, take one value of a row */
    *all_columns = !status && wide->taken == exact->taken && kiln__any_shape_has_columns(wide, exact);
    if (!*all_columns) {
        kiln__ir_destroy(wide);
        if (shaped->part_count != 1) return KILN_OK; /* without an axis of blocks the call's own is the same */
        wide = NULL;
        status = kiln__program_type_any(program, tensors, scalars, shaped, false, &wide);
    }
    if (status) return status;
    kiln__ir_destroy(*ir);
    *ir = wide;
    return KILN_OK;
}

static kiln_status plan(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                        kiln__problem *problem, kiln__prepared *out) {
    kiln__shaped shaped;
    bool all_columns = false;
    kiln_status status = kiln__program_bind_any(program, tensors, scalars, &shaped, &out->ir);
    if (!status) status = kiln__problem_build(out->ir, &shaped, &out->problem);
    if (!status) status = kiln__any_shape_check(out->ir, &out->problem);
    if (!status) status = type_for_all(program, tensors, scalars, &shaped, &out->problem, &out->ir, &all_columns);
    if (!status) status = kiln__any_shape_problem(out->ir, &out->problem, all_columns, problem);
    if (!status) status = kiln__any_shape_schedule(out->ir, problem, &out->schedule);
    if (!status) out->shape = kiln__shape_of(&out->schedule, &out->problem);
    return status;
}

kiln_status kiln__prepare_any_shape(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                    kiln__prepared *out) {
    const kiln__call call = {
        .program = program, .tensors = tensors, .scalars = scalars, .policy = KILN_POLICY_ANY_SHAPE};
    return kiln__prepare_any_shape_for(&call, 0, out);
}

kiln_status kiln__prepare_any_shape_for(const kiln__call *call, int arch, kiln__prepared *out) {
    kiln__problem problem;
    memset(out, 0, sizeof *out);
    out->any_shape = true;
    out->origin = KILN_SCHEDULE_MODEL;
    out->counters = &call->program->usage->counters;
    out->group = call->group;
    out->loaded_on = call->loaded_on;
    const double start = kiln__now_ms();
    kiln_status status = plan(call->program, call->tensors, call->scalars, &problem, out);
    out->programmatic = kiln__call_is_programmatic(call, arch);
    out->schedule_ms = kiln__now_ms() - start;
    if (!status) status = kiln__prepared_write(out, &problem);
    if (status) kiln__prepared_free(out);
    return status;
}

int64_t kiln__prepared_workspace(const kiln__prepared *prepared) {
    const kiln__schedule *s = &prepared->schedule;
    if (prepared->any_shape) return kiln__shape_workspace(s, prepared->ir, &prepared->shape);
    return kiln__schedule_workspace(s, prepared->ir, prepared->problem.rows);
}

int kiln__prepared_launches(const kiln__prepared *prepared) {
    const kiln__schedule *s = &prepared->schedule;
    if (prepared->any_shape) return kiln__shape_launches(s, prepared->ir, &prepared->shape);
    return kiln__schedule_launches(s, prepared->ir);
}

bool kiln__prepared_grid(const kiln__prepared *prepared, kiln__grid *grid) {
    const kiln__schedule *s = &prepared->schedule;
    const kiln__problem *p = &prepared->problem;
    if (prepared->any_shape) return kiln__shape_grid(s, &prepared->shape, grid);
    return kiln__schedule_grid(s, kiln__schedule_rows(s, p), kiln__schedule_run(s, p), grid);
}

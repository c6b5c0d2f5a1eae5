/* SPDX-License-Identifier: Apache-2.0 */
/* Values that several neighbouring columns share: which are computed once for a vector, which have slots in shared
 * memory, and which of an operand's values a column has. */
#include <inttypes.h>

#include "codegen/emitter.h"

bool kiln__is_whole_run(const kiln__emitter *e, int64_t run) {
    return kiln__row_of(e->schedule)->whole_runs > 0 && run > 0 && run % kiln__row_of(e->schedule)->whole_runs == 0;
}

bool kiln__is_block_value(const kiln__emitter *e, uint32_t inst) {
    const uint32_t run = e->ir->insts[inst].run;
    if (!e->element[inst] || run == KILN__RUN_OF_ROW || e->ir->insts[inst].across) return false;
    return kiln__is_whole_run(e, run);
}

/* The column along the axis that blocks lie along. */
static const char *spell_along(const kiln__emitter *e, const char *column) {
    const int64_t axis = e->problem->uneven_columns;
    if (e->problem->block_run) return kiln__spell(e, "(kiln_u32)(%s - row.base)", column);
    return axis && axis != e->problem->cols ? kiln__spell(e, "%s %% %" PRId64, column, axis) : column;
}

const char *kiln__spell_run_begins(const kiln__emitter *e, int64_t run, const char *column) {
    return kiln__spell(e, "%s %% %" PRId64 " == 0", spell_along(e, column), run);
}

const char *kiln__spell_block_number(const kiln__emitter *e, int64_t run, const char *column) {
    return kiln__spell(e, "%s / %" PRId64, spell_along(e, column), run);
}

bool kiln__has_slots(const kiln__emitter *e, uint32_t inst) {
    const kiln__op op = e->ir->insts[inst].op;
    if (e->problem->any_shape)
        return (e->problem->block_run && op == KILN__OP_BLOCK_REDUCE) || (e->problem->sorted && kiln__op_is_order(op));
    return kiln__slots_plan_of(e->schedule)->bytes > 0 && (op == KILN__OP_BLOCK_REDUCE || kiln__op_is_order(op));
}

uint32_t kiln__sorted_by(const kiln__emitter *e, uint32_t i) {
    return e->ir->insts[i].op == KILN__OP_SORTED ? e->ir->insts[i].args[1] : i;
}

int64_t kiln__slots_begin(const kiln__emitter *e, uint32_t i) {
    if (e->problem->any_shape) return kiln__sorted_before(e->ir, e->problem, i);
    return kiln__slots_plan_of(e->schedule)->slots + kiln__slots_place(e->ir, e->problem,
                                                                       kiln__slots_plan_of(e->schedule)->columns,
                                                                       e->schedule->team.threads_per_row, i);
}

bool kiln__is_put_down(const kiln__emitter *e, uint32_t inst) {
    const kiln__inst *of = &e->ir->insts[inst];
    return kiln__has_slots(e, inst) && (of->op == KILN__OP_BLOCK_REDUCE || kiln__keeps_row(e->ir, of));
}

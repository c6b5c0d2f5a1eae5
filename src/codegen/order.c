/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are sorted: where their values and the numbers of their columns lie in shared memory, and what puts them
 * there. */
#include <inttypes.h>

#include "codegen/emitter.h"

static uint32_t slots_of(const kiln__emitter *e, uint32_t order) { return e->ir->insts[order].u.order.slots; }

void kiln__emit_orders(const kiln__emitter *e) {
    const int64_t cols = kiln__slots_plan_of(e->schedule)->columns;
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (inst->op != KILN__OP_ORDER || !kiln__has_slots(e, i)) continue;
        const int64_t count = kiln__sorted_columns(e->ir, cols, i);
        const int64_t numbers = kiln__slots_begin(e, i) + kiln__slots_of_values(e->ir, cols, i);
        kiln__write(e,
                    "/* %s */\nstruct kiln_order%u {\n    typedef %s value;\n"
                    "    static constexpr bool descending = %s, chosen = %s;\n"
                    "    static constexpr int columns = %" PRId64 ", room = %" PRId64 ";\n"
                    "    static constexpr int place = %" PRId64 ", numbers = %" PRId64 "; /* bytes */\n};\n\n",
                    kiln__ir_op_name(inst->op), i, kiln__cxx_ctype(e->ir->insts[inst->args[0]].type),
                    inst->u.order.descending ? "true" : "false", slots_of(e, i) ? "true" : "false", count,
                    kiln__divide_up(count, 8) * 8, kiln__slots_begin(e, i), numbers);
    }
}

void kiln__emit_put_down(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const uint32_t order = kiln__sorted_by(e, i), slots = slots_of(e, order) ? e->ir->insts[order].args[1] : 0;
    const char *value = kiln__spell_value(e, inst->args[0]);
    if (!slots)
        kiln__write(e, "            if (span.has(j)) kiln_carried<%s>(%" PRId64 ", (int)(col + j)) = %s;\n",
                    kiln__cxx_ctype(e->ir->insts[inst->args[0]].type), kiln__slots_begin(e, i), value);
    else
        kiln__write(e, "            if (span.has(j)) kiln_choose<kiln_order%u>(%" PRId64 ", %s, %s, (int)(col + j));\n",
                    order, kiln__slots_begin(e, i), kiln__spell_value(e, slots), value);
}

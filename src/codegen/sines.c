/* SPDX-License-Identifier: Apache-2.0 */
/* Sines and cosines of all elements of a vector at once, before the loop over them: far arguments, which few vectors
 * have, then are a branch of the vector's, not of each element's, behind which the compiler would compute everything
 * anew. */
#include <string.h>

#include "codegen/emitter.h"
#include "schedule/weights.h"

static bool is_sine(const kiln__inst *inst) {
    return (inst->op == KILN__OP_SIN || inst->op == KILN__OP_COS) && inst->type == KILN__F32;
}

/* Whether the sine's argument can be written before the loop; made_of: the elements' values that it takes. */
static bool stands_before(const kiln__emitter *e, uint32_t i, bool *made_of) {
    const kiln__inst *inst = &e->ir->insts[i];
    bool may = e->needed[i] && e->element[i] && is_sine(inst) && !kiln__is_loaded(e, i) &&
               !kiln__is_block_value(e, i) && e->schedule->code.sines_first && e->element[inst->args[0]];
    if (!may) return false;
    kiln__mark_elements(e, inst->args[0], made_of);
    for (uint32_t v = 0; v < i; v++)
        may &= !made_of[v] || kiln__is_loaded(e, v) ||
               (kiln__repeats_freely(e->ir->insts[v].op) && !kiln__has_slots(e, v));
    return may;
}

void kiln__emit_sines(const kiln__emitter *e) {
    const uint32_t count = e->ir->count;
    bool *made_of = kiln__arena_alloc(e->arena, count, sizeof *made_of);
    bool *all = kiln__arena_alloc(e->arena, count, sizeof *all), any = false;
    e->out->failed |= !made_of || !all;
    for (uint32_t i = 0; i < count && made_of && all; i++) {
        e->sines[i] = stands_before(e, i, made_of);
        if (!e->sines[i]) continue;
        any = true;
        for (uint32_t v = 0; v < i; v++) all[v] |= made_of[v];
        kiln__write(e, "        float s%u[%s];\n", i, e->width);
    }
    if (!any) return;
    kiln__write(e, "%s        for (int j = 0; j < %s; ++j) {\n", kiln__unrolled(e), e->width);
    kiln__emit_element_values(e, all, false, "            ");
    for (uint32_t i = 0; i < count; i++)
        if (e->sines[i]) kiln__write(e, "            s%u[j] = %s;\n", i, kiln__spell_value(e, e->ir->insts[i].args[0]));
    kiln__write(e, "        }\n");
    for (uint32_t i = 0; i < count; i++)
        if (e->sines[i]) kiln__write(e, "        kiln_sines(s%u, %d);\n", i, e->ir->insts[i].op == KILN__OP_COS);
}

void kiln__end_sines(const kiln__emitter *e) { memset(e->sines, 0, e->ir->count * sizeof *e->sines); }

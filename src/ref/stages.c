/* What is evaluated when. Per-element values are not kept from one pass over a row to the next: each pass
 * evaluates again what its reductions or outputs depend on, so that memory does not grow with the row. */
#include "ref/stages.h"

#include <string.h>

enum kind { CONSTANT, ROW, ELEMENT, REDUCTION };

static enum kind kind_of(const kiln__inst *inst, const uint8_t *kinds, bool flat)
{
    if (kiln__op_is_reduction(inst->op))
        return REDUCTION;
    bool constant = inst->op != KILN__IR_INPUT && inst->op != KILN__OP_INDEX && inst->op != KILN__OP_UNIFORM;
    for (int i = 0; i < inst->arg_count; i++)
        constant = constant && kinds[inst->args[i]] == CONSTANT;
    if (constant)
        return CONSTANT;
    return flat || inst->per_element ? ELEMENT : ROW;
}

static bool list_marked(const uint8_t *marks, uint32_t count, kiln__arena *arena, kiln__ref_list *out)
{
    uint32_t marked = 0;
    for (uint32_t i = 0; i < count; i++)
        marked += marks[i];
    out->items = kiln__arena_alloc(arena, marked, sizeof *out->items);
    out->count = 0;
    if (out->items == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (marks[i])
            out->items[out->count++] = i;
    return true;
}

/* Extends marks from per-element instructions to those they depend on; leaves no mark on others. */
static void mark_elements(const kiln__ir *ir, const uint8_t *kinds, uint8_t *marks)
{
    for (uint32_t i = ir->count; i-- > 0;) {
        if (kinds[i] != ELEMENT)
            marks[i] = 0;
        if (marks[i])
            for (int k = 0; k < ir->insts[i].arg_count; k++)
                marks[ir->insts[i].args[k]] = 1;
    }
}

static bool make_stage(const kiln__ir *ir, const uint8_t *kinds, uint32_t phase, const bool *per_element, uint8_t *marks,
                       kiln__arena *arena, kiln__ref_stage *out)
{
    for (uint32_t i = 0; i < ir->count; i++)
        marks[i] = kinds[i] == ROW && ir->insts[i].phase == phase;
    if (!list_marked(marks, ir->count, arena, &out->rows))
        return false;
    for (uint32_t i = 0; i < ir->count; i++)
        marks[i] = kinds[i] == REDUCTION && ir->insts[i].phase == phase + 1;
    if (!list_marked(marks, ir->count, arena, &out->reductions))
        return false;
    memset(marks, 0, ir->count);
    for (uint32_t i = 0; i < out->reductions.count; i++)
        marks[ir->insts[out->reductions.items[i]].args[0]] = 1;
    if (phase == ir->phase_count)
        for (uint32_t o = 0; o < ir->output_count; o++)
            if (per_element[o])
                marks[ir->outputs[o]] = 1;
    mark_elements(ir, kinds, marks);
    return list_marked(marks, ir->count, arena, &out->elements);
}

kiln_status kiln__ref_stages_make(const kiln__ir *ir, const bool *per_element, kiln__arena *arena, kiln__ref_stages *out)
{
    uint8_t *kinds = kiln__arena_alloc(arena, ir->count, sizeof *kinds);
    uint8_t *marks = kiln__arena_alloc(arena, ir->count, sizeof *marks);
    out->count = ir->phase_count + 1;
    out->stages = kiln__arena_alloc(arena, out->count, sizeof *out->stages);
    if (kinds == NULL || marks == NULL || out->stages == NULL)
        return kiln__out_of_memory();

    out->flat = ir->phase_count == 0;
    for (uint32_t o = 0; o < ir->output_count; o++)
        out->flat = out->flat && per_element[o];
    for (uint32_t i = 0; i < ir->count; i++) {
        kinds[i] = (uint8_t)kind_of(&ir->insts[i], kinds, out->flat);
        marks[i] = kinds[i] == CONSTANT;
    }
    bool made = list_marked(marks, ir->count, arena, &out->constants);
    for (uint32_t phase = 0; made && phase < out->count; phase++)
        made = make_stage(ir, kinds, phase, per_element, marks, arena, &out->stages[phase]);
    return made ? KILN_OK : kiln__out_of_memory();
}

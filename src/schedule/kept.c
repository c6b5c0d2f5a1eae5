/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kept.h"

#include <stdlib.h>
#include <string.h>

#include "problem/online.h"
#include "schedule/cost.h"

#define MOST_PASSES 32
#define MOST_WEIGHT 10000

/* Of each instruction. */
typedef struct use {
    uint32_t passes; /* a bit for each whose loop computes it */
    uint32_t ends;   /* a bit for each that reduces or stores it */
    int weight;      /* of it and all that it is made of */
    bool shifted;    /* made of exponentials about a maximum, which passes may compute in different ways */
} use;

static bool is_element(const kiln__ir *ir, uint32_t i) {
    return ir->insts[i].per_element && !kiln__op_is_reduction(ir->insts[i].op);
}

/* What each pass reduces or stores. */
static void mark_ends(const kiln__ir *ir, const kiln__problem *problem, use *uses) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (kiln__op_is_reduction(ir->insts[i].op)) uses[ir->insts[i].args[0]].ends |= 1u << (ir->insts[i].phase - 1);
    for (uint32_t o = 0; o < ir->output_count; o++)
        if (problem->operands[problem->input_count + (int)o].per_element)
            uses[ir->outputs[o]].ends |= 1u << ir->phase_count;
}

static void mark_passes(const kiln__ir *ir, use *uses) {
    for (uint32_t i = ir->count; i-- > 0;) {
        uses[i].passes |= uses[i].ends;
        for (int a = 0; a < ir->insts[i].arg_count && is_element(ir, i); a++)
            uses[ir->insts[i].args[a]].passes |= uses[i].passes;
    }
}

static void weigh(const kiln__ir *ir, const kiln__problem *problem, use *uses) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (!is_element(ir, i)) continue;
        int weight = inst->op == KILN__OP_INPUT ? 0 : kiln__weigh_instruction(ir, problem, i);
        uses[i].shifted = kiln__is_shifted_exp(ir, i);
        for (int a = 0; a < inst->arg_count; a++) {
            weight += uses[inst->args[a]].weight;
            uses[i].shifted |= uses[inst->args[a]].shifted;
        }
        uses[i].weight = weight < MOST_WEIGHT ? weight : MOST_WEIGHT;
    }
}

static int first_of(uint32_t passes) {
    int first = 0;
    while (!(passes >> first & 1)) first++;
    return first;
}

/* Passes after the first that computes the value. */
static uint32_t later(const use *u) { return u->passes & (u->passes - 1); }

/* Of those, the passes that use it by itself, or in what no pass before them has computed. */
static uint32_t direct_uses(const kiln__ir *ir, const use *uses, uint32_t value) {
    uint32_t direct = uses[value].ends;
    for (uint32_t i = value + 1; i < ir->count; i++)
        for (int a = 0; a < ir->insts[i].arg_count && is_element(ir, i); a++)
            if (ir->insts[i].args[a] == value && uses[i].passes) direct |= 1u << first_of(uses[i].passes);
    return direct & later(&uses[value]);
}

kiln_status kiln__kept_find(const kiln__ir *ir, const kiln__problem *problem, int least_weight, kiln__kept *kept) {
    memset(kept->value, 0, ir->count * sizeof *kept->value);
    memset(kept->first, 0, ir->count * sizeof *kept->first);
    kept->count = 0;
    if (!least_weight || ir->phase_count == 0 || ir->phase_count + 1 > MOST_PASSES) return KILN_OK;
    use *uses = calloc(ir->count + 1, sizeof *uses);
    if (!uses) return kiln__out_of_memory();
    mark_ends(ir, problem, uses);
    mark_passes(ir, uses);
    weigh(ir, problem, uses);
    for (uint32_t i = 0; i < ir->count; i++) {
        const use *u = &uses[i];
        const bool small = ir->insts[i].type == KILN__F32 || ir->insts[i].type == KILN__I32;
        if (!small || !is_element(ir, i) || u->shifted || u->weight < least_weight || !later(u)) continue;
        kept->value[i] = direct_uses(ir, uses, i) != 0;
        kept->first[i] = (unsigned char)first_of(u->passes);
        kept->count += kept->value[i];
    }
    free(uses);
    return KILN_OK;
}

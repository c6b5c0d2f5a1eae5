/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kept.h"

#include <stdlib.h>
#include <string.h>

#include "problem/online.h"
#include "schedule/weights.h"

#define MOST_PASSES 32
#define MOST_WEIGHT 10000

/* Of each instruction. */
typedef struct use {
    uint32_t passes; /* a bit for each whose loop computes it */
    uint32_t ends;   /* a bit for each that reduces or stores it */
    uint32_t direct; /* a bit for each that uses it so, or in what no pass before has computed */
    int weight;      /* of it and all that it is made of */
    bool shifted;    /* made of exponentials about a maximum, which passes may compute in different ways */
} use;

static bool is_element(const kiln__ir *ir, uint32_t i) {
    return ir->insts[i].per_element && !kiln__op_is_reduction(ir->insts[i].op);
}

/* What each pass reduces or stores. */
static void mark_ends(const kiln__ir *ir, const kiln__problem *problem, use *uses) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const bool of_row = kiln__op_is_reduction(ir->insts[i].op);
        const unsigned pass = of_row ? ir->insts[i].phase - 1u : ir->phase_count;
        if (of_row || ir->insts[i].op == KILN__OP_ACROSS_REDUCE) uses[ir->insts[i].args[0]].ends |= 1u << pass;
    }
    for (uint32_t o = 0; o < ir->output_count; o++)
        if (problem->operands[problem->input_count + (int)o].per_element)
            uses[ir->outputs[o]].ends |= 1u << ir->phase_count;
}

/* The first of some passes. */
static uint32_t first_of(uint32_t passes) { return passes & -passes; }

static void mark_passes(const kiln__ir *ir, use *uses) {
    for (uint32_t i = ir->count; i-- > 0;) {
        uses[i].passes |= uses[i].ends;
        uses[i].direct |= uses[i].ends;
        for (int a = 0; a < ir->insts[i].arg_count && is_element(ir, i); a++) {
            uses[ir->insts[i].args[a]].passes |= uses[i].passes;
            uses[ir->insts[i].args[a]].direct |= first_of(uses[i].passes);
        }
    }
}

static void weigh(const kiln__ir *ir, const kiln__problem *problem, use *uses) {
    const kiln__weighing weighing = {ir, problem, kiln__outputs_are_narrow(problem), false};
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (!is_element(ir, i)) continue;
        int weight = inst->op == KILN__OP_INPUT ? 0 : (int)kiln__weigh_instruction(&weighing, ir->insts, i);
        uses[i].shifted = kiln__is_shifted_exp(ir, i);
        for (int a = 0; a < inst->arg_count; a++) {
            weight += uses[inst->args[a]].weight;
            uses[i].shifted |= uses[inst->args[a]].shifted;
        }
        uses[i].weight = weight < MOST_WEIGHT ? weight : MOST_WEIGHT;
    }
}

static int number_of(uint32_t pass) {
    int number = 0;
    while (pass >> number > 1) number++;
    return number;
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
        const kiln__inst *inst = &ir->insts[i];
        const uint32_t later = u->passes & ~first_of(u->passes);
        const bool small = !kiln__ctype_is_wide(inst->type) && inst->type != KILN__BOOL;
        const bool own = is_element(ir, i) && !inst->run && !inst->across;
        if (!small || !own || u->shifted || u->weight < least_weight) continue;
        kept->value[i] = (u->direct & later) != 0;
        kept->first[i] = (unsigned char)number_of(first_of(u->passes));
        kept->count += kept->value[i];
    }
    free(uses);
    return KILN_OK;
}

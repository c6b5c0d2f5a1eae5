/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a program before it is written: which values elements have, and what each loop over a vector needs.
 */
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"
#include "problem/online.h"

/* What each column has a value of, whatever it is made of. */
static bool is_of_columns(kiln__op op) {
    return op == KILN__OP_UNIFORM || op == KILN__OP_BLOCK_REDUCE || op == KILN__OP_BLOCK_COUNT || op == KILN__OP_SCAN ||
           op == KILN__OP_FIRST || kiln__op_is_order(op);
}

/* Whether an instruction has a value for each element, where its arguments are known. */
static bool has_elements(const kiln__emitter *e, const kiln__inst *inst) {
    const bool columns = e->flat || e->problem->inner_rank > 0; /* else a row is an element */
    const kiln__operand *operand = NULL;
    bool any = false;
    if (inst->across) return true; /* what a row has none of */
    if (is_of_columns(inst->op)) return columns;
    if (kiln__op_is_reduction(inst->op)) return false;
    if (inst->op == KILN__OP_INPUT) operand = &e->problem->operands[inst->u.input];
    if (inst->op == KILN__OP_ROWS_OF) return false;
    if (inst->op == KILN__OP_INDEX) operand = kiln__position(e->problem, inst->u.axis);
    if (operand && e->flat) return !(operand->linear && operand->row_stride == 0);
    if (operand && inst->op == KILN__OP_INDEX) return (inst->per_element && columns) || e->problem->flat_positions;
    if (operand) return operand->per_element;
    for (int a = 0; a < inst->arg_count; a++) any |= e->element[inst->args[a]];
    return any;
}

/* Whether a result may differ much where an argument differs in its last bits: roundings, and whatever is no float, as
 * comparisons and orders; nobody knows of the caller's own functions. */
static bool is_step(const kiln__inst *inst) {
    switch ((int)inst->op) {
    case KILN__OP_ROUND:
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_TRUNC:
    case KILN__OP_SIGN:
    case KILN__OP_MOD:
    case KILN__OP_FMOD:
    case KILN__OP_REMAINDER:
    case KILN__OP_DIV_FLOOR:
    case KILN__OP_DIV_TRUNC:
    case KILN__OP_ROUND_TO:
    case KILN__OP_STOCHASTIC:
    case KILN__OP_OWN: return true;
    }
    return !kiln__ctype_is_float(inst->type);
}

/* From the outputs to what they are made of. */
static void find_hidden(kiln__emitter *e) {
    memset(e->hidden, true, e->ir->count * sizeof *e->hidden);
    for (int o = 0; o < e->problem->output_count; o++)
        e->hidden[e->ir->outputs[o]] &= kiln__hides_last_bits(e->problem->operands[e->inputs + o].type);
    for (uint32_t i = e->ir->count; i-- > 0;) {
        const kiln__inst *inst = &e->ir->insts[i];
        for (int a = 0; a < inst->arg_count; a++) e->hidden[inst->args[a]] &= e->hidden[i] && !is_step(inst);
    }
}

void kiln__classify(kiln__emitter *e) {
    const kiln__ir *ir = e->ir;
    find_hidden(e);
    memset(e->divides, 0, ir->count * sizeof *e->divides);
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        e->element[i] = has_elements(e, inst);
        if (inst->op != KILN__OP_DIV || inst->type != KILN__F32 || !e->element[i]) continue;
        const uint32_t by = inst->args[1];
        if (kiln__is_block_value(e, i)) continue; /* there is one division for all */
        if ((!e->element[by] || kiln__is_block_value(e, by)) && !kiln__op_is_literal(ir->insts[by].op))
            e->divides[by] = true;
    }
}

/* Marks the element instructions that the given one is made of. */
static void need(kiln__emitter *e, uint32_t value) {
    e->needed[value] = true;
    for (uint32_t i = value + 1; i-- > 0;) {
        if (!e->needed[i] || !e->element[i] || kiln__is_loaded(e, i) || kiln__has_slots(e, i)) continue;
        const kiln__inst *inst = &e->ir->insts[i];
        if (e->folded[i]) inst = &e->ir->insts[inst->args[0]];
        for (int a = 0; a < inst->arg_count; a++) e->needed[inst->args[a]] = true;
    }
}

/* What an operator's result is as small as: not its exponent, its condition, its divisor. */
static bool passes_on(kiln__op op, int argument) {
    switch ((int)op) {
    case KILN__OP_ADD:
    case KILN__OP_SUB:
    case KILN__OP_NEG:
    case KILN__OP_MUL:
    case KILN__OP_CAST:
    case KILN__OP_ROUND_TO: return true;
    case KILN__OP_DIV: return argument == 0;
    case KILN__OP_WHERE: return argument > 0;
    }
    return false;
}

/* From the loop's results, of which `exact` is known, to what they are made of. */
static void trace_exact(kiln__emitter *e) {
    for (uint32_t i = e->ir->count; i-- > 0;)
        for (int a = 0; a < e->ir->insts[i].arg_count && e->needed[i] && e->element[i]; a++)
            e->exact[e->ir->insts[i].args[a]] |= e->exact[i] || !passes_on(e->ir->insts[i].op, a);
}

/* The input whose vectors the reduction is of, as they are stored, where they are reduced so; else NULL. */
static const kiln__operand *reduced_whole(const kiln__emitter *e, uint32_t reduction) {
    const uint32_t value = e->ir->insts[reduction].args[0];
    const kiln__inst *of = &e->ir->insts[value];
    const bool whole = of->op == KILN__OP_INPUT && e->element[value] && e->schedule->tensors[of->u.input].reduced_whole;
    return whole ? &e->problem->operands[of->u.input] : NULL;
}

const char *kiln__find_vector_reduction(const kiln__emitter *e, uint32_t reduction, bool masked) {
    static const struct {
        kiln__op op;
        const char *halves, *bools;
    } functions[] = {{KILN__OP_REDUCE_MAX, "kiln_vector_maximum", "kiln_vector_any"},
                     {KILN__OP_REDUCE_MIN, "kiln_vector_minimum", "kiln_vector_all"},
                     {KILN__OP_REDUCE_ANY, NULL, "kiln_vector_any"},
                     {KILN__OP_REDUCE_ALL, NULL, "kiln_vector_all"}};
    const kiln__operand *operand = reduced_whole(e, reduction);
    if (masked || !operand) return NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].op == e->ir->insts[reduction].op)
            return operand->type == KILN_BOOL ? functions[i].bools : functions[i].halves;
    return NULL;
}

static void need_nothing(kiln__emitter *e) {
    memset(e->needed, 0, e->ir->count * sizeof *e->needed);
    memset(e->exact, 0, e->ir->count * sizeof *e->exact);
}

bool kiln__scans_in(const kiln__emitter *e, uint32_t pass, uint32_t phase) {
    return e->scans[pass * e->ir->phase_count + phase];
}

static void note_scans(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (inst->op != KILN__OP_SCAN || !e->needed[i] || !e->element[i]) continue;
        e->scans[e->pass * e->ir->phase_count + e->ir->insts[inst->args[1]].phase - 1] = true;
    }
}

void kiln__need_phase(kiln__emitter *e, uint32_t phase) {
    const kiln__inst_list *list = &e->reductions[phase];
    need_nothing(e);
    e->pass = phase;
    for (uint32_t r = 0; r < list->count; r++) {
        const kiln__inst *inst = &e->ir->insts[list->at[r]];
        const uint32_t value = inst->args[0];
        if (kiln__find_vector_reduction(e, list->at[r], e->schedule->edges == KILN__EDGES_MASKED)) continue;
        need(e, value);
        e->exact[value] |= inst->op != KILN__OP_REDUCE_SUM || !kiln__is_shifted_exp(e->ir, value);
    }
    trace_exact(e);
    note_scans(e);
}

/* Storing floats as integers rounds them, so that rounding them first changes nothing. */
uint32_t kiln__stored_value(const kiln__emitter *e, int o) {
    const uint32_t value = e->ir->outputs[o - e->inputs];
    const kiln__inst *inst = &e->ir->insts[value];
    const bool rounds = inst->op == KILN__OP_ROUND && kiln__ctype_is_float(inst->type) &&
                        !kiln__type_is_float(e->problem->operands[o].type) && e->problem->operands[o].type != KILN_BOOL;
    return rounds ? inst->args[0] : value;
}

void kiln__need_outputs(kiln__emitter *e) {
    need_nothing(e);
    e->pass = e->ir->phase_count;
    for (int i = 0; i < e->column_outputs.count; i++) {
        const uint32_t value = kiln__stored_value(e, e->column_outputs.at[i]);
        need(e, value);
        e->exact[value] |= !kiln__hides_last_bits(e->problem->operands[e->column_outputs.at[i]].type);
    }
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (!kiln__adds_columns(inst)) continue;
        need(e, inst->args[0]);
        e->exact[inst->args[0]] = true;
    }
    trace_exact(e);
    note_scans(e);
}

void kiln__need_block(kiln__emitter *e, uint32_t inst) {
    const kiln__inst *of = &e->ir->insts[inst];
    need_nothing(e);
    e->pass = of->phase;
    need(e, of->args[0]);
    e->exact[of->args[0]] = true;
    if (of->op == KILN__OP_SORTED && kiln__chooses(e, of->args[1])) { /* by its keys */
        need(e, e->ir->insts[of->args[1]].args[0]);
        e->exact[e->ir->insts[of->args[1]].args[0]] = true;
    }
    trace_exact(e);
}

bool kiln__adds_columns(const kiln__inst *inst) { return inst->op == KILN__OP_ACROSS_REDUCE && inst->per_element; }

/* Whether no loop needs the instruction exactly: what each needs is found without folding. */
static bool is_nowhere_exact(kiln__emitter *e, uint32_t inst) {
    for (uint32_t p = 0; p < e->ir->phase_count; p++) {
        kiln__need_phase(e, p);
        if (e->exact[inst]) return false;
    }
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!kiln__is_put_down(e, i)) continue;
        kiln__need_block(e, i);
        if (e->exact[inst]) return false;
    }
    kiln__need_outputs(e);
    return (e->column_outputs.count || e->adds_columns) && !e->exact[inst];
}

void kiln__fold_exponentials(kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count && e->narrow; i++) {
        if (!e->element[i] || !kiln__is_divided_exp(e->ir, i) || !is_nowhere_exact(e, i)) continue;
        e->folded[i] = true;
        e->centre[e->ir->insts[e->ir->insts[i].args[0]].args[1]] = true;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises sums whose terms are centred on a result of the phase before. */
#include "problem/online.h"

static const kiln__inst *inst_of(const kiln__ir *ir, uint32_t i) { return &ir->insts[i]; }

static bool is(const kiln__ir *ir, uint32_t i, kiln__op op) { return ir->insts[i].op == op; }

/* v in exp(u - v): the largest u, or 0 where that is not finite. */
static bool is_largest(const kiln__ir *ir, uint32_t v, uint32_t u, uint32_t *max) {
    *max = v;
    if (is(ir, v, KILN__OP_WHERE)) {
        const kiln__inst *where = inst_of(ir, v), *test = inst_of(ir, where->args[0]),
                         *zero = inst_of(ir, where->args[2]);
        *max = where->args[1];
        if (test->op != KILN__OP_ISFINITE || test->args[0] != *max || zero->op != KILN__OP_FLOAT || zero->u.f64 != 0)
            return false;
    }
    return is(ir, *max, KILN__OP_REDUCE_MAX) && inst_of(ir, *max)->args[0] == u;
}

static bool find_shifted_exp(const kiln__ir *ir, uint32_t e, kiln__online *out) {
    if (!is(ir, e, KILN__OP_EXP) || !is(ir, inst_of(ir, e)->args[0], KILN__OP_SUB)) return false;
    const kiln__inst *difference = inst_of(ir, inst_of(ir, e)->args[0]);
    out->kind = KILN__ONLINE_EXP;
    out->centre = difference->args[1];
    return inst_of(ir, difference->args[0])->per_element &&
           is_largest(ir, out->centre, difference->args[0], &out->first);
}

/* u - v, v = sum(u) / count. */
static bool is_distance(const kiln__ir *ir, uint32_t d, kiln__online *out) {
    const kiln__inst *difference = inst_of(ir, d), *mean = inst_of(ir, difference->args[1]);
    if (difference->op != KILN__OP_SUB || mean->op != KILN__OP_DIV || !is(ir, mean->args[1], KILN__OP_COUNT))
        return false;
    out->kind = KILN__ONLINE_DISTANCE;
    out->centre = difference->args[1];
    out->first = mean->args[0];
    return inst_of(ir, difference->args[0])->per_element && is(ir, out->first, KILN__OP_REDUCE_SUM) &&
           inst_of(ir, out->first)->args[0] == difference->args[0];
}

static bool is_square(const kiln__ir *ir, uint32_t value, uint32_t of) {
    return is(ir, value, KILN__OP_MUL) && inst_of(ir, value)->args[0] == of && inst_of(ir, value)->args[1] == of;
}

/* The sum of the value, or of its square; 0 where there is none. */
static uint32_t find_sum(const kiln__ir *ir, uint32_t value, bool squared) {
    for (uint32_t i = value + 1; i < ir->count; i++) {
        const uint32_t term = inst_of(ir, i)->args[0];
        if (is(ir, i, KILN__OP_REDUCE_SUM) && (squared ? is_square(ir, term, value) : term == value)) return i;
    }
    return 0;
}

static bool is_centred_square(const kiln__ir *ir, uint32_t product, kiln__online *out) {
    const uint32_t d = inst_of(ir, product)->args[0];
    if (!is_square(ir, product, d) || !is_distance(ir, d, out)) return false;
    out->kind = KILN__ONLINE_SQUARE;
    out->distances = find_sum(ir, d, false);
    return true;
}

static bool is_distance_of_squares(const kiln__ir *ir, uint32_t d, kiln__online *out) {
    return is_distance(ir, d, out) && find_sum(ir, d, true) != 0;
}

kiln__online kiln__online_of(const kiln__ir *ir, uint32_t reduction) {
    const kiln__inst *sum = inst_of(ir, reduction);
    kiln__online found = {KILN__ONLINE_NONE, 0, 0, 0};
    if (sum->op != KILN__OP_REDUCE_SUM || !kiln__ctype_is_float(sum->type)) return found;
    const kiln__inst *term = inst_of(ir, sum->args[0]);
    int before = sum->phase - 1; /* what a factor may depend on: phases before the first of the two */
    if (find_shifted_exp(ir, sum->args[0], &found) || is_centred_square(ir, sum->args[0], &found) ||
        is_distance_of_squares(ir, sum->args[0], &found))
        return found;
    for (int a = 0; a < 2 && term->op == KILN__OP_MUL; a++)
        if (find_shifted_exp(ir, term->args[a], &found) && inst_of(ir, term->args[1 - a])->phase < before) return found;
    found.kind = KILN__ONLINE_NONE;
    return found;
}

bool kiln__is_shifted_exp(const kiln__ir *ir, uint32_t e) {
    kiln__online exp;
    return find_shifted_exp(ir, e, &exp);
}

bool kiln__is_softmax_sum(const kiln__ir *ir, uint32_t i) {
    kiln__online exp;
    return is(ir, i, KILN__OP_REDUCE_SUM) && find_shifted_exp(ir, inst_of(ir, i)->args[0], &exp) &&
           exp.centre == exp.first;
}

/* How often the value is an argument or an output. */
static int uses(const kiln__ir *ir, uint32_t value) {
    int count = 0;
    for (uint32_t o = 0; o < ir->output_count; o++) count += ir->outputs[o] == value;
    for (uint32_t i = 0; i < ir->count; i++)
        for (int a = 0; a < ir->insts[i].arg_count; a++) count += ir->insts[i].args[a] == value;
    return count;
}

bool kiln__is_divided_exp(const kiln__ir *ir, uint32_t e) {
    for (uint32_t i = 0; i < ir->count && inst_of(ir, e)->type == KILN__F32; i++) {
        const uint32_t sum = inst_of(ir, i)->args[1];
        if (is(ir, i, KILN__OP_DIV) && inst_of(ir, i)->args[0] == e && kiln__is_softmax_sum(ir, sum) &&
            inst_of(ir, sum)->args[0] == e)
            return uses(ir, e) == 2 && uses(ir, sum) == 1;
    }
    return false;
}

int kiln__online_phase(const kiln__ir *ir) {
    for (int phase = 0; phase + 1 < (int)ir->phase_count; phase++) {
        bool all = true;
        for (uint32_t i = 0; i < ir->count; i++) {
            if (kiln__op_is_ordered(ir->insts[i].op) && ir->insts[i].phase == phase + 1) all = false;
            if (!kiln__reduces_in(&ir->insts[i], (uint32_t)phase + 1)) continue;
            kiln__online online = kiln__online_of(ir, i);
            all &= online.kind != KILN__ONLINE_NONE && ir->insts[online.first].phase == phase + 1;
        }
        if (all) return phase;
    }
    return -1;
}

bool kiln__online_squares(const kiln__ir *ir) {
    const int phase = kiln__online_phase(ir);
    for (uint32_t i = 0; i < ir->count; i++) {
        if (!kiln__reduces_in(&ir->insts[i], (uint32_t)phase + 1)) continue;
        const kiln__online_kind kind = kiln__online_of(ir, i).kind;
        if (kind != KILN__ONLINE_SQUARE && kind != KILN__ONLINE_DISTANCE) return false;
    }
    return phase >= 0;
}

bool kiln__stores_early(const kiln__ir *ir, const kiln__problem *problem) {
    bool early = ir->phase_count == 1 && problem->columns_out && !problem->across && !kiln__waits(problem);
    for (uint32_t o = 0; o < ir->output_count; o++) {
        if (!problem->operands[ir->input_count + o].per_element) continue;
        const uint32_t place = ir->places[o];
        early = early && !ir->insts[ir->outputs[o]].phase && !(place && ir->insts[place - 1].phase);
    }
    return early;
}

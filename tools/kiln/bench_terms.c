/* SPDX-License-Identifier: Apache-2.0 */
/* The size of what a program's sums add up, as a program of its own: each operation gets one that tells how far it is
 * off, in roundings, to first order. Only sums and what is linear in them are followed: there alone results come near
 * 0 while what they are made of does not. */
#include "bench_terms.h"

#include <string.h>

#define MOST_ADDED 6 /* operations for each of the program's */

/* off: for each of the program's operations, the one that tells how far it is off; 0: it is not. */
typedef struct terms {
    kiln__inst *insts;
    uint32_t count, *off;
    kiln__ctype type;
} terms;

/* a, b: of the operation's arguments, as many as it has. */
static uint32_t add(terms *t, kiln__op op, uint32_t a, uint32_t b) {
    kiln__inst inst = {.op = op, .type = t->type, .arg_count = kiln__op_describe(op)->args, .args = {a, b}};
    for (uint8_t i = 0; i < inst.arg_count; i++) {
        const kiln__inst *argument = &t->insts[inst.args[i]];
        if (argument->phase > inst.phase) inst.phase = argument->phase;
        inst.per_element = inst.per_element || argument->per_element;
    }
    if (kiln__op_is_reduction(op)) {
        inst.phase++;
        inst.per_element = false;
    }
    t->insts[t->count] = inst;
    return t->count++;
}

static uint32_t both(terms *t, uint32_t a, uint32_t b) { return a && b ? add(t, KILN__OP_ADD, a, b) : a ? a : b; }

static uint32_t scaled(terms *t, kiln__op op, uint32_t off, uint32_t by) {
    return off ? add(t, op, off, add(t, KILN__OP_ABS, by, 0)) : 0;
}

static uint32_t off_of(terms *t, uint32_t i) {
    const kiln__inst inst = t->insts[i];
    const uint32_t a = inst.args[0], b = inst.args[1], *off = t->off;
    if (!kiln__ctype_is_float(inst.type)) return 0;
    switch ((int)inst.op) {
    case KILN__OP_CAST:
    case KILN__OP_ROUND_TO:
    case KILN__OP_NEG:
    case KILN__OP_ABS: return off[a];
    case KILN__OP_ADD:
    case KILN__OP_SUB: return both(t, off[a], off[b]);
    case KILN__OP_WHERE: return both(t, off[b], off[inst.args[2]]);
    case KILN__OP_MUL: return both(t, scaled(t, KILN__OP_MUL, off[a], b), scaled(t, KILN__OP_MUL, off[b], a));
    case KILN__OP_DIV: return scaled(t, KILN__OP_DIV, both(t, off[a], scaled(t, KILN__OP_MUL, off[b], i)), b);
    case KILN__OP_REDUCE_SUM: {
        const uint32_t squares = add(t, KILN__OP_REDUCE_SUM, add(t, KILN__OP_MUL, a, a), 0);
        const uint32_t terms_off = off[a] ? add(t, KILN__OP_REDUCE_SUM, off[a], 0) : 0;
        return both(t, add(t, KILN__OP_SQRT, squares, 0), terms_off);
    }
    default: return 0;
    }
}

kiln_status bench_terms_make(kiln__ir *ir, bool *any) {
    terms t = {.count = ir->count, .type = ir->float_type};
    t.insts = kiln__arena_alloc(&ir->arena, (size_t)ir->count * (MOST_ADDED + 1) + 1, sizeof *t.insts);
    t.off = kiln__arena_alloc(&ir->arena, ir->count, sizeof *t.off);
    if (!t.insts || !t.off) return kiln__out_of_memory();
    memcpy(t.insts, ir->insts, ir->count * sizeof *t.insts);
    for (uint32_t i = 0; i < ir->count; i++) t.off[i] = off_of(&t, i);
    const uint32_t none = add(&t, KILN__OP_FLOAT, 0, 0);
    *any = false;
    for (uint32_t o = 0; o < ir->output_count; o++) {
        const uint32_t off = t.off[ir->outputs[o]];
        *any = *any || off;
        ir->outputs[o] = off ? off : none;
    }
    ir->insts = t.insts;
    ir->count = t.count;
    return KILN_OK;
}

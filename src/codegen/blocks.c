/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of blocks of a row's columns, inside the work on a vector: each thread reduces its part of the block, its
 * warp's lanes combine theirs, and what follows for the block is computed once for the vector. */
#include <inttypes.h>
#include <string.h>

#include "codegen/emitter.h"

/* The reduction as one of rows would be. */
kiln__inst kiln__reduction_of_block(const kiln__inst *inst) {
    kiln__inst reduction = {.op = (kiln__op)inst->u.block.op, .type = inst->type, .arg_count = 1};
    reduction.args[0] = inst->args[0];
    reduction.u.reducer = inst->u.block.reducer;
    return reduction;
}

/* ---- in shared memory ---- */

/* What kiln_reduce_slots needs of a block's struct: its columns and lanes, where its slots are, and how a value is
 * taken. */
static void emit_slots_of(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const kiln__inst reduction = kiln__reduction_of_block(inst);
    const bool arg = kiln__op_is_arg(reduction.op);
    const char *take = arg ? kiln__spell(e, "r.take_%s(v, at)", reduction.op == KILN__OP_REDUCE_ARGMAX ? "max" : "min")
                           : kiln__spell(e, "r = %s", kiln__spell_combine(e, &reduction, "r", "v"));
    kiln__write(e,
                "    typedef %s value;\n    typedef %s result;\n"
                "    static constexpr int columns = %u, lanes = %d, place = %" PRId64 ";\n"
                "    static KILN_MEMBER kiln_block%u identity() { return {%s}; }\n"
                "    KILN_MEMBER void take(value v, int at)\n    {\n        %s%s;\n    }\n"
                "    KILN_MEMBER result get() const { return r%s; }\n",
                kiln__cxx_ctype(e->ir->insts[inst->args[0]].type), kiln__cxx_ctype(inst->type), inst->domain,
                kiln__slots_lanes(e->problem, e->schedule, inst->domain), kiln__slots_begin(e, i), i,
                kiln__spell_identity(e, &reduction), arg ? "" : "(void)at, ", take, arg ? ".index" : "");
}

void kiln__emit_block_head(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const kiln__inst reduction = kiln__reduction_of_block(inst);
    kiln__write(e,
                "/* %s of %u columns */\nstruct kiln_block%u {\n    static constexpr bool ordered = %s;\n"
                "    %s r;\n"
                "    static KILN_MEMBER kiln_block%u combine(const kiln_block%u &a, const kiln_block%u &b)\n"
                "    {\n        return {%s};\n    }\n"
                "    KILN_MEMBER kiln_block%u shuffle(int lane_mask, kiln_u32 lanes) const\n"
                "    {\n        return {kiln_shuffle(r, lane_mask, lanes)};\n    }\n",
                kiln__ir_op_name(reduction.op), inst->domain, i,
                reduction.op == KILN__OP_REDUCE_USER ? "true" : "false", kiln__spell_state(e, &reduction), i, i, i,
                kiln__spell_combine(e, &reduction, "a.r", "b.r"), i);
}

void kiln__emit_block_states(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (e->ir->insts[i].op != KILN__OP_BLOCK_REDUCE) continue;
        kiln__emit_block_head(e, i);
        if (kiln__has_slots(e, i)) emit_slots_of(e, i);
        kiln__write(e, "};\n\n");
    }
}

void kiln__mark_elements(const kiln__emitter *e, uint32_t value, bool *marked) {
    memset(marked, 0, e->ir->count * sizeof *marked);
    marked[value] = true;
    for (uint32_t i = value + 1; i-- > 0;) {
        marked[i] = marked[i] && e->element[i] && !kiln__is_block_value(e, i);
        if (!marked[i] || kiln__is_loaded(e, i)) continue;
        const kiln__inst *inst = &e->ir->insts[i];
        if (e->folded[i]) inst = &e->ir->insts[inst->args[0]];
        for (int a = 0; a < inst->arg_count; a++) marked[inst->args[a]] = true;
    }
}

void kiln__emit_shared_numbers(const kiln__emitter *e, const bool *which) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (which[i] && !kiln__is_loaded(e, i) && kiln__shares_numbers(e, i))
            kiln__write(e, "        kiln_uniforms u%u;\n", i);
}

void kiln__emit_element_values(const kiln__emitter *e, const bool *which, bool keeps, const char *in) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!which[i] || !e->element[i] || kiln__is_block_value(e, i) || kiln__op_is_literal(e->ir->insts[i].op))
            continue;
        const bool loaded = kiln__is_loaded(e, i);
        kiln__write(e, "%sconst %s v%u = %s;\n", in, kiln__cxx_ctype(e->ir->insts[i].type), i,
                    loaded ? kiln__spell(e, "staged.v%u[j]", i) : kiln__spell_definition(e, i));
        if (keeps && e->kept.value[i] && !loaded) kiln__write(e, "%sstaged.v%u[j] = v%u;\n", in, i, i);
    }
}

static void emit_reduction(const kiln__emitter *e, uint32_t i, bool *marked) {
    const kiln__inst reduction = kiln__reduction_of_block(&e->ir->insts[i]);
    const char *r = kiln__spell(e, "block%u.r", i);
    const int lanes = (int)e->ir->insts[i].domain / e->schedule->vector_width;
    kiln__mark_elements(e, reduction.args[0], marked);
    kiln__emit_shared_numbers(e, marked);
    kiln__write(e, "        kiln_block%u block%u = {%s};\n%s        for (int j = 0; j < %s; ++j) {\n", i, i,
                kiln__spell_identity(e, &reduction), kiln__unrolled(e), e->width);
    kiln__emit_element_values(e, marked, false, "            ");
    kiln__write(e, "            %s = %s;\n        }\n", r,
                kiln__spell_combine(e, &reduction, r, kiln__spell_value(e, reduction.args[0])));
    kiln__write(e, "        const %s v%u = kiln_reduce_block<%d>(block%u).r;\n", kiln__cxx_ctype(reduction.type), i,
                lanes, i);
}

/* One value of an input for all of the vector. */
static const char *spell_repeated(const kiln__emitter *e, const kiln__inst *inst) {
    const int o = (int)inst->u.input;
    return kiln__spell(e, "kiln_widen(*(%s))", kiln__spell_element_address(e, o, "col"));
}

static const char *spell_block_value(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    if (kiln__has_slots(e, i) || inst->op == KILN__OP_BLOCK_COUNT) return kiln__spell_slot(e, i, "col");
    return inst->op == KILN__OP_INPUT ? spell_repeated(e, inst) : kiln__spell_definition(e, i);
}

void kiln__emit_block_values(const kiln__emitter *e) {
    bool *marked = kiln__arena_alloc(e->arena, e->ir->count, sizeof *marked);
    e->out->failed |= !marked;
    for (uint32_t i = 0; i < e->ir->count && marked; i++) {
        if (!e->needed[i] || !kiln__is_block_value(e, i)) continue;
        if (e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE && !kiln__has_slots(e, i))
            emit_reduction(e, i, marked);
        else
            kiln__write(e, "        const %s v%u = %s;\n", kiln__cxx_ctype(e->ir->insts[i].type), i,
                        spell_block_value(e, i));
        if (e->divides[i]) kiln__write(e, "        const %s d%u(v%u);\n", kiln__cxx_divisor(e, i), i, i);
    }
}

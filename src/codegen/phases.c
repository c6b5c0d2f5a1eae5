/* SPDX-License-Identifier: Apache-2.0 */
/* The generated loops over a vector: one struct per phase of reductions, one for the outputs. */
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"
#include "problem/online.h"

/* Whether the loop needs what all rows share, and whether that is loaded for several vectors at a time. */
static void emit_sharing(const kiln__emitter *e, bool several) {
    bool shares = several;
    if (e->schedule->staging != KILN__STAGING_SHARED) return;
    for (uint32_t i = 0; i < e->ir->count; i++)
        shares |= e->needed[i] && e->ir->insts[i].op == KILN__OP_INPUT && e->element[i] &&
                  !e->problem->operands[e->ir->insts[i].u.input].follows_rows;
    kiln__write(e, "    static constexpr bool shares = %s, batched = %s;\n", shares ? "true" : "false",
                shares && e->schedule->batched ? "true" : "false");
}

/* The function's head, and vectors of the needed inputs that do not stay with the row. */
static void emit_head(const kiln__emitter *e, const char *name) {
    kiln__write(e,
                "    %s%s void %s(const kiln_row &row, const kiln_staged%s &staged, kiln_index col, const "
                "kiln_span &span)\n    {\n",
                e->schedule->peeled ? "template <int N> " : "",
                kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_MEMBER", name, e->schedule->peeled ? "_of<N>" : "");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (e->needed[i] && e->element[i] && inst->op == KILN__OP_INPUT && !e->schedule->staged[inst->u.input])
            kiln__emit_fetched(e, (int)inst->u.input, "        ");
    }
}

/* The loop's head, and definitions of the needed element instructions, for element j of the vector at col. */
static void emit_elements(const kiln__emitter *e) {
    kiln__write(e, "%s        for (int j = 0; j < %s; ++j) {\n", kiln__unrolled(e), e->width);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->needed[i] && e->element[i] && !kiln__op_is_literal(e->ir->insts[i].op))
            kiln__write(e, "            const %s v%u = %s;\n", kiln__cxx_ctype(e->ir->insts[i].type), i,
                        kiln__spell_definition(e, i));
}

/* What the reductions of a phase carry, and its clear function. */
static void emit_fields(const kiln__emitter *e, uint32_t phase) {
    const kiln__inst *insts = e->ir->insts;
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase))
            kiln__write(e, "    %s r%u; /* %s */\n", kiln__spell_state(e, &insts[i]), i, kiln__ir_op_name(insts[i].op));
    if (kiln__phase_counts(e, phase))
        kiln__write(e, "    %s count; /* of elements */\n", kiln__cxx_ctype(e->ir->float_type));
    kiln__write(e, "    KILN_MEMBER void clear()\n    {\n%s",
                kiln__phase_counts(e, phase) ? "        count = 0;\n" : "");
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase)) kiln__write(e, "        r%u = %s;\n", i, kiln__spell_identity(e, &insts[i]));
    kiln__write(e, "    }\n");
}

/* Field by field: what lies between them is nobody's, and shared memory is read as it was written. */
static void emit_copy(const kiln__emitter *e, uint32_t phase, const char *state) {
    kiln__write(e, "    KILN_MEMBER void copy(const %s &other)\n    {\n", state);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase)) kiln__write(e, "        r%u = other.r%u;\n", i, i);
    kiln__write(e, "%s    }\n", kiln__phase_counts(e, phase) ? "        count = other.count;\n" : "");
}

static void emit_combine(const kiln__emitter *e, uint32_t phase, const char *state) {
    kiln__write(e, "    static KILN_MEMBER %s combine(const %s &a, const %s &b)\n    {\n        %s c;\n", state, state,
                state, state);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase))
            kiln__write(
                e, "        c.r%u = %s;\n", i,
                kiln__spell_combine(e, &e->ir->insts[i], kiln__spell(e, "a.r%u", i), kiln__spell(e, "b.r%u", i)));
    kiln__write(e, "%s        return c;\n    }\n",
                kiln__phase_counts(e, phase) ? "        c.count = a.count + b.count;\n" : "");
}

static void emit_shuffle(const kiln__emitter *e, uint32_t phase, const char *state) {
    kiln__write(e,
                "    KILN_MEMBER %s shuffle(int lane_mask, kiln_u32 lanes) const\n    {\n"
                "        %s other;\n",
                state, state);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase))
            kiln__write(e, "        other.r%u = kiln_shuffle(r%u, lane_mask, lanes);\n", i, i);
    if (kiln__phase_counts(e, phase)) kiln__write(e, "        other.count = kiln_shuffle(count, lane_mask, lanes);\n");
    kiln__write(e, "        return other;\n    }\n");
}

/* "r4 = r4 + v3;". What lies outside the row contributes the identity: for an element choosing costs less than
 * branching. */
static void emit_accumulate(const kiln__emitter *e, uint32_t reduction, bool masked) {
    const kiln__inst *inst = &e->ir->insts[reduction];
    const char *value = kiln__spell_value(e, inst->args[0]);
    const char *r = kiln__spell(e, e->rows_in_vectors ? "at[j].r%u" : "r%u", reduction);
    if (kiln__op_is_arg(inst->op)) { /* a thread's columns ascend */
        kiln__write(e, "            %s%s.take_%s(%s, col%s);\n", masked ? "if (span.has(j)) " : "", r,
                    inst->op == KILN__OP_REDUCE_ARGMAX ? "max" : "min", value, e->rows_in_vectors ? "" : " + j");
        return;
    }
    if (masked) value = kiln__spell(e, "(span.has(j) ? %s : %s)", value, kiln__spell_identity(e, inst));
    kiln__write(e, "            %s = %s;\n", r, kiln__spell_combine(e, inst, r, value));
}

static void emit_vector_reduction(const kiln__emitter *e, uint32_t reduction, const char *function) {
    const kiln__inst *inst = &e->ir->insts[reduction];
    const char *r = kiln__spell(e, "r%u", reduction);
    const char *vector = kiln__spell(e, "%s(staged.%s)", function, e->name[e->ir->insts[inst->args[0]].u.input]);
    kiln__write(e, "        %s = %s;\n", r, kiln__spell_combine(e, inst, r, vector));
}

/* The work on a vector; masked: on one that overhangs the row. */
static void emit_vector(const kiln__emitter *e, uint32_t phase, const char *name, bool masked) {
    bool elements = false;
    emit_head(e, name);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!kiln__in_phase(e, i, phase)) continue;
        const char *function = kiln__find_vector_reduction(e, i, masked);
        if (function)
            emit_vector_reduction(e, i, function);
        else
            elements = true;
    }
    if (elements) emit_elements(e);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase) && !kiln__find_vector_reduction(e, i, masked)) emit_accumulate(e, i, masked);
    kiln__write(e, "%s%s    }\n", elements ? "        }\n" : "",
                !kiln__phase_counts(e, phase) ? ""
                : e->rows_in_vectors          ? "        count += 1;\n"
                : e->schedule->peeled         ? "        count += N;\n"
                                              : "        count += span.high - span.low;\n");
}

/* Masks cost more than the work: vectors that are whole, all but a row's first and last, are apart. */
static void emit_vectors(const kiln__emitter *e, uint32_t phase) {
    const bool masked = e->schedule->masked && !e->rows_in_vectors;
    if (!masked || e->schedule->staging == KILN__STAGING_TILE) {
        emit_vector(e, phase, "vector", masked);
        return;
    }
    emit_vector(e, phase, "whole_vector", false);
    emit_vector(e, phase, "masked_vector", true);
    kiln__write(e, "    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, "
                   "const kiln_span &span)\n    {\n"
                   "        if (span.whole())\n            whole_vector(row, staged, col, span);\n"
                   "        else\n            masked_vector(row, staged, col, span);\n    }\n");
}

/* What the rows of a vector carry, each apart, the count of elements once. */
static void emit_rows(const kiln__emitter *e, uint32_t phase) {
    const bool counts = kiln__phase_counts(e, phase);
    if (counts) kiln__write(e, "    %s count;\n", kiln__cxx_ctype(e->ir->float_type));
    kiln__write(e,
                "    KILN_MEMBER void clear()\n    {\n%s#pragma unroll\n"
                "        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j].clear();\n    }\n"
                "    KILN_MEMBER state get(int j) const\n    {\n        state of_row = at[j];\n%s"
                "        return of_row;\n    }\n"
                "    KILN_MEMBER void set(int j, const state &of_row)\n    {\n        at[j] = of_row;\n%s    }\n",
                counts ? "        count = 0;\n" : "", counts ? "        of_row.count = count;\n" : "",
                counts ? "        if (of_row.count != 0) count = of_row.count; /* of a row that there is */\n" : "");
}

/* Bytes that a block's results of the phases up to this one have, in the workspace. */
static int bytes_of_results(const kiln__emitter *e, uint32_t phase) {
    int values = e->schedule->online >= 0 && (int)phase > e->schedule->online; /* its count */
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->ir->insts[i].phase <= phase) values += kiln__reduction_values(e->ir->insts[i].op);
    return 8 * values;
}

static bool is_ordered(const kiln__emitter *e, uint32_t phase) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__in_phase(e, i, phase) && e->ir->insts[i].op == KILN__OP_REDUCE_USER) return true;
    return false;
}

void kiln__emit_phase(kiln__emitter *e, uint32_t phase) {
    const char *ordered = is_ordered(e, phase) ? "true" : "false";
    const char *state = kiln__spell(e, e->rows_in_vectors ? "kiln_state%u" : "kiln_phase%u", phase);
    kiln__need_phase(e, phase);
    if (e->rows_in_vectors) { /* one for each row of a vector */
        kiln__write(e, "struct %s {\n    static constexpr bool ordered = %s;\n", state, ordered);
        emit_fields(e, phase);
        emit_copy(e, phase, state);
        emit_combine(e, phase, state);
        emit_shuffle(e, phase, state);
        kiln__write(e, "};\n");
    }
    kiln__write(e,
                "/* Phase %u: the reductions combined together, in one exchange. */\n"
                "struct kiln_phase%u {\n",
                phase, phase);
    if (e->rows_in_vectors)
        kiln__write(e, "    typedef %s state;\n    state at[KILN_VECTOR_WIDTH];\n", state);
    else
        kiln__write(e, "    static constexpr bool ordered = %s;\n", ordered);
    emit_sharing(e, false);
    if (e->schedule->splits > 1 || e->schedule->blocks_per_row > 1)
        kiln__write(e,
                    "    /* before: bytes of each block's results of the phases before */\n"
                    "    static constexpr int exchange = %u, before = %d;\n",
                    phase, bytes_of_results(e, phase));
    (e->rows_in_vectors ? emit_rows : emit_fields)(e, phase);
    emit_vectors(e, phase);
    if (!e->rows_in_vectors) {
        emit_combine(e, phase, state);
        emit_shuffle(e, phase, state);
    }
    kiln__write(e, "};\n\n");
}

/* ---- outputs ---- */

bool kiln__emit_finish(kiln__emitter *e) {
    const uint32_t *outputs = e->ir->outputs;
    if (!kiln__need_outputs(e)) return false;
    kiln__write(e, "/* The outputs that have columns. */\nstruct kiln_finish {\n");
    emit_sharing(e, e->schedule->transpose_width > 0);
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->schedule->transpose_width && e->schedule->transposed[o])
            kiln__write(e, "    %s lines_%s[KILN_TRANSPOSE_WIDTH];\n", e->vector[o], e->name[o]);
    emit_head(e, "vector");
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->problem->operands[o].per_element)
            kiln__write(e, "        %s y%d[%s];\n", kiln__cxx_ctype(e->ir->insts[outputs[o - e->inputs]].type),
                        o - e->inputs, e->width);
    emit_elements(e);
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->problem->operands[o].per_element)
            kiln__write(e, "            y%d[j] = %s;\n", o - e->inputs, kiln__spell_value(e, outputs[o - e->inputs]));
    kiln__write(e, "        }\n");
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->problem->operands[o].per_element) kiln__emit_put(e, o, kiln__spell(e, "y%d", o - e->inputs));
    kiln__write(e, "    }\n};\n\n");
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The generated loops over a vector: one struct per phase of reductions, one for the outputs. */
#include <inttypes.h>
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"
#include "problem/online.h"

/* The function's head, and vectors of the needed inputs that do not stay with the row. */
void kiln__emit_vector_head(const kiln__emitter *e, const char *name) {
    kiln__write(e,
                "    %s%s void %s(const kiln_row &row, %skiln_staged%s &staged, kiln_index col, const kiln_span "
                "&span)\n    {\n",
                e->schedule->edges == KILN__EDGES_PEELED ? "template <int N> " : "",
                kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_MEMBER", name, kiln__const_staged(e),
                e->schedule->edges == KILN__EDGES_PEELED ? "_of<N>" : "");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (e->needed[i] && e->element[i] && inst->op == KILN__OP_INPUT && !kiln__is_block_value(e, i) &&
            !e->schedule->tensors[inst->u.input].staged)
            kiln__emit_fetched(e, (int)inst->u.input, "        ");
    }
}

/* The loop's head, and definitions of the needed element instructions, for element j of the vector at col. */
void kiln__emit_elements(const kiln__emitter *e) {
    kiln__emit_block_values(e);
    kiln__emit_shared_numbers(e, e->needed);
    kiln__emit_sines(e);
    kiln__write(e, "%s        for (int j = 0; j < %s; ++j) {\n", kiln__unrolled(e), e->width);
    kiln__emit_element_values(e, e->needed, true, "            ");
    kiln__end_sines(e);
}

/* What the reductions of a phase carry, and its clear function. */
static void emit_fields(const kiln__emitter *e, uint32_t phase) {
    const kiln__inst_list *list = &e->reductions[phase];
    const bool counts = kiln__phase_counts(e, phase);
    for (uint32_t r = 0; r < list->count; r++) {
        const kiln__inst *inst = &e->ir->insts[list->at[r]];
        kiln__write(e, "    %s r%u; /* %s */\n", kiln__spell_state(e, inst), list->at[r], kiln__ir_op_name(inst->op));
    }
    if (counts) kiln__write(e, "    %s count; /* of elements */\n", kiln__cxx_ctype(e->ir->float_type));
    kiln__write(e, "    KILN_MEMBER void clear()\n    {\n%s", counts ? "        count = 0;\n" : "");
    for (uint32_t r = 0; r < list->count; r++)
        kiln__write(e, "        r%u = %s;\n", list->at[r], kiln__spell_identity(e, &e->ir->insts[list->at[r]]));
    kiln__write(e, "    }\n");
}

/* Field by field: what lies between them is nobody's, and shared memory is read as it was written. */
static void emit_copy(const kiln__emitter *e, uint32_t phase, const char *state) {
    const kiln__inst_list *list = &e->reductions[phase];
    kiln__write(e, "    KILN_MEMBER void copy(const %s &other)\n    {\n", state);
    for (uint32_t r = 0; r < list->count; r++) {
        const uint32_t i = list->at[r];
        if (kiln__op_is_arg(e->ir->insts[i].op) && !e->rows_in_vectors)
            kiln__write(e, "        r%u.value = other.r%u.value;\n        r%u.index = other.r%u.index;\n", i, i, i, i);
        else
            kiln__write(e, "        r%u = other.r%u;\n", i, i);
    }
    kiln__write(e, "%s    }\n", kiln__phase_counts(e, phase) ? "        count = other.count;\n" : "");
}

static void emit_combine(const kiln__emitter *e, uint32_t phase, const char *state) {
    const kiln__inst_list *list = &e->reductions[phase];
    kiln__write(e, "    static KILN_MEMBER %s combine(const %s &a, const %s &b)\n    {\n        %s c;\n", state, state,
                state, state);
    for (uint32_t r = 0; r < list->count; r++) {
        const uint32_t i = list->at[r];
        kiln__write(e, "        c.r%u = %s;\n", i,
                    kiln__spell_combine(e, &e->ir->insts[i], kiln__spell(e, "a.r%u", i), kiln__spell(e, "b.r%u", i)));
    }
    kiln__write(e, "%s        return c;\n    }\n",
                kiln__phase_counts(e, phase) ? "        c.count = a.count + b.count;\n" : "");
}

static void emit_shuffle(const kiln__emitter *e, uint32_t phase, const char *state) {
    const kiln__inst_list *list = &e->reductions[phase];
    kiln__write(e,
                "    KILN_MEMBER %s shuffle(int lane_mask, kiln_u32 lanes) const\n    {\n"
                "        %s other;\n",
                state, state);
    for (uint32_t r = 0; r < list->count; r++)
        kiln__write(e, "        other.r%u = kiln_shuffle(r%u, lane_mask, lanes);\n", list->at[r], list->at[r]);
    if (kiln__phase_counts(e, phase)) kiln__write(e, "        other.count = kiln_shuffle(count, lane_mask, lanes);\n");
    kiln__write(e, "        return other;\n    }\n");
}

/* Whether the rows of a vector are of several columns: of the last ones, some are there. */
static bool is_wrapped(const kiln__emitter *e) { return e->schedule->edges == KILN__EDGES_WRAPPED; }

/* "r4 = r4 + v3;". What lies outside the row contributes the identity: for an element choosing costs less than
 * branching. */
static void emit_accumulate(const kiln__emitter *e, uint32_t reduction, bool masked) {
    const kiln__inst *inst = &e->ir->insts[reduction];
    const char *value = kiln__spell_value(e, inst->args[0]);
    const char *r = kiln__spell(e, e->rows_in_vectors ? "at[j].r%u" : "r%u", reduction);
    if (kiln__op_is_arg(inst->op)) { /* a thread's columns ascend */
        const char *more = is_wrapped(e) ? " + row.rank[j]" : e->rows_in_vectors ? "" : " + j";
        kiln__write(e, "            %s%s.take_%s(%s, col%s);\n", masked ? "if (span.has(j)) " : "", r,
                    inst->op == KILN__OP_REDUCE_ARGMAX ? "max" : "min", value, more);
        return;
    }
    if (kiln__op_selects(inst->op)) {
        kiln__write(e, "            %s%s += (%s) <= row.s%u%s.bound;\n", masked ? "if (span.has(j)) " : "", r, value,
                    reduction, e->rows_in_vectors ? "[j]" : "");
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

/* How many elements a vector adds to the phase's count. */
static const char *spell_counted(const kiln__emitter *e) {
    if (e->rows_in_vectors) return "1";
    return e->schedule->edges == KILN__EDGES_PEELED ? "N" : "span.high - span.low";
}

/* The work on a vector; masked: on one that overhangs the row. */
static void emit_vector(const kiln__emitter *e, uint32_t phase, const char *name, bool masked) {
    const kiln__inst_list *list = &e->reductions[phase];
    uint32_t whole = 0; /* reductions of the vector as it is staged, without a loop over its elements */
    kiln__emit_vector_head(e, name);
    for (uint32_t r = 0; r < list->count; r++) {
        const char *function = kiln__find_vector_reduction(e, list->at[r], masked);
        if (function) emit_vector_reduction(e, list->at[r], function);
        whole += function != NULL;
    }
    if (whole < list->count) kiln__emit_elements(e);
    for (uint32_t r = 0; r < list->count; r++)
        if (!kiln__find_vector_reduction(e, list->at[r], masked)) emit_accumulate(e, list->at[r], masked);
    const bool counts = kiln__phase_counts(e, phase), each = counts && is_wrapped(e);
    if (each) kiln__write(e, "            at[j].count += %s;\n", masked ? "span.has(j)" : "1");
    if (whole < list->count) kiln__write(e, "        }\n");
    if (counts && !each) kiln__write(e, "        count += %s;\n", spell_counted(e));
    kiln__write(e, "    }\n");
}

static void emit_vectors(const kiln__emitter *e, uint32_t phase) {
    const bool masked = e->schedule->edges == KILN__EDGES_MASKED;
    if (!e->schedule->passes.splits_masks) {
        emit_vector(e, phase, "vector", masked);
        return;
    }
    emit_vector(e, phase, "whole_vector", false);
    emit_vector(e, phase, "masked_vector", true);
    kiln__write(e,
                "    KILN_MEMBER void vector(const kiln_row &row, %skiln_staged &staged, kiln_index col, "
                "const kiln_span &span)\n    {\n"
                "        if (span.whole())\n            whole_vector(row, staged, col, span);\n"
                "        else\n            masked_vector(row, staged, col, span);\n    }\n",
                kiln__const_staged(e));
}

/* What the rows of a vector carry, each apart, the count of elements once: of a row that there is all ranks have
 * counted theirs, of others some have, where each rank's vectors begin elsewhere. */
static void emit_rows(const kiln__emitter *e, uint32_t phase) {
    const bool counts = kiln__phase_counts(e, phase) && !is_wrapped(e); /* else each row has its own */
    if (counts) kiln__write(e, "    %s count;\n", kiln__cxx_ctype(e->ir->float_type));
    kiln__write(e,
                "    KILN_MEMBER void clear()\n    {\n%s#pragma unroll\n"
                "        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j].clear();\n    }\n"
                "    KILN_MEMBER state get(int j) const\n    {\n        state of_row = at[j];\n%s"
                "        return of_row;\n    }\n"
                "    KILN_MEMBER void set(int j, const state &of_row)\n    {\n        at[j] = of_row;\n%s    }\n",
                counts ? "        count = 0;\n" : "", counts ? "        of_row.count = count;\n" : "",
                counts ? "        if (of_row.count > count) count = of_row.count; /* of a row that there is */\n" : "");
}

/* Bytes that a block's results of the phases up to this one have, in the workspace. */
static int bytes_of_results(const kiln__emitter *e, uint32_t phase) {
    int values = e->schedule->passes.online >= 0 && (int)phase > e->schedule->passes.online; /* its count */
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->ir->insts[i].phase <= phase) values += kiln__reduction_values(e->ir->insts[i].op);
    return 8 * values;
}

static bool is_ordered(const kiln__emitter *e, uint32_t phase) {
    for (uint32_t r = 0; r < e->reductions[phase].count; r++)
        if (kiln__op_is_ordered(e->ir->insts[e->reductions[phase].at[r]].op)) return true;
    return false;
}

/* What a phase carries of one row of a vector. */
static void emit_state(const kiln__emitter *e, uint32_t phase, const char *state) {
    kiln__write(e, "struct %s {\n    static constexpr bool ordered = %s;\n", state,
                is_ordered(e, phase) ? "true" : "false");
    emit_fields(e, phase);
    emit_copy(e, phase, state);
    emit_combine(e, phase, state);
    emit_shuffle(e, phase, state);
    kiln__write(e, "};\n");
}

/* The phase's number and place in the workspace, where blocks exchange its results. */
static void emit_exchange(const kiln__emitter *e, uint32_t phase) {
    const bool shared = e->problem->any_shape && e->schedule->any.stages;
    if (e->schedule->split.chunks == 1 && e->schedule->team.blocks_per_row == 1 && !shared) return;
    kiln__write(e,
                "    /* before: bytes of each block's results of the phases before */\n"
                "    static constexpr int exchange = %u, before = %d;\n",
                phase, bytes_of_results(e, phase));
}

/* Where the elements of a vector follow one another from what is before it. */
static void emit_start(const kiln__emitter *e, uint32_t phase) {
    kiln__write(e, "    KILN_MEMBER void start(const kiln_row &row) const\n    {\n");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (inst->op == KILN__OP_SCAN && e->element[i] && kiln__reduces_in(&e->ir->insts[inst->args[1]], phase))
            kiln__write(e, "        row.s%u = r%u;\n", i, inst->args[1]);
    }
    kiln__write(e, "    }\n");
}

static void emit_phase_of_row(const kiln__emitter *e, uint32_t phase) {
    const char *state = kiln__spell(e, "kiln_phase%u", phase);
    kiln__write(e, "    static constexpr bool ordered = %s;\n", is_ordered(e, phase) ? "true" : "false");
    emit_exchange(e, phase);
    emit_fields(e, phase);
    if (e->problem->any_shape || e->schedule->passes.scanned) emit_copy(e, phase, state);
    kiln__emit_needed_blocks(e);
    emit_vectors(e, phase);
    emit_combine(e, phase, state);
    emit_shuffle(e, phase, state);
    if (e->schedule->passes.scanned && kiln__phase_scans(e->ir, phase)) emit_start(e, phase);
}

static void emit_phase_of_rows(const kiln__emitter *e, uint32_t phase, const char *state) {
    kiln__write(e, "    typedef %s state;\n    state at[KILN_VECTOR_WIDTH];\n", state);
    emit_exchange(e, phase);
    emit_rows(e, phase);
    emit_vectors(e, phase);
}

void kiln__emit_phase(kiln__emitter *e, uint32_t phase) {
    const char *state = kiln__spell(e, "kiln_state%u", phase);
    kiln__need_phase(e, phase);
    if (e->rows_in_vectors) emit_state(e, phase, state);
    kiln__write(e,
                "/* Phase %u: the reductions combined together, in one exchange. */\n"
                "struct kiln_phase%u {\n",
                phase, phase);
    if (e->rows_in_vectors)
        emit_phase_of_rows(e, phase, state);
    else
        emit_phase_of_row(e, phase);
    kiln__write(e, "};\n\n");
}

/* ---- outputs ---- */

/* What columns add to values of all rows. Those of rows that vectors overhang are the row's alone. */
static void emit_additions(const kiln__emitter *e) {
    const char *has = e->schedule->edges == KILN__EDGES_MASKED ? "if (span.has(j)) " : "";
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__adds_columns(&e->ir->insts[i]))
            kiln__write(e, "            %skiln_add<kiln_total%u>(%scol + j, %s);\n", has, i,
                        e->problem->any_shape ? "row, " : "", kiln__spell_value(e, e->ir->insts[i].args[0]));
}

/* Whether an output is stored element by element: of a value for each block, where blocks begin anywhere in a vector;
 * of a row's first columns. */
static bool stores_elements(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    return operand->first || (operand->run && !kiln__is_whole_run(e, operand->run));
}

static const char *spell_output(const kiln__emitter *e, int o) {
    return kiln__spell_value(e, kiln__stored_value(e, o));
}

/* Of rows that go where an index says those that there are. */
static const char *spell_writes(const kiln__emitter *e, int o) {
    return e->ir->places[o - e->inputs] ? kiln__spell(e, "row.writes_%s && ", e->name[o]) : "";
}

static void emit_single_elements(const kiln__emitter *e) {
    for (int i = 0; i < e->column_outputs.count; i++) {
        const int o = e->column_outputs.at[i];
        const kiln__operand *operand = &e->problem->operands[o];
        if (!stores_elements(e, o)) continue;
        const char *stores = operand->first ? kiln__spell(e, "col + j < %" PRId64, operand->first)
                                            : kiln__spell_run_begins(e, operand->run, "(col + j)");
        stores = kiln__spell(e, "%sspan.has(j) && %s", spell_writes(e, o), stores);
        kiln__emit_put_element(e, o, "            ", stores, spell_output(e, o));
    }
}

/* Of a row's order alone: place by place. */
static void emit_finish_in_order(const kiln__emitter *e) {
    kiln__write(e, "/* The outputs of the row's order. */\nstruct kiln_finish {\n"
                   "    KILN_MEMBER void place(const kiln_row &row, kiln_index col)\n    {\n"
                   "        constexpr int j = 0; /* of one column */\n");
    kiln__emit_element_values(e, e->needed, false, "        ");
    for (int i = 0; i < e->column_outputs.count; i++) {
        const int o = e->column_outputs.at[i];
        const char *stores = kiln__spell(e, "%scol < %" PRId64, spell_writes(e, o), e->problem->operands[o].first);
        kiln__emit_put_element(e, o, "        ", stores, spell_output(e, o));
    }
    kiln__write(e, "    }\n};\n\n");
}

static bool stores_vectors(const kiln__emitter *e, int o) {
    return !e->problem->operands[o].run && !e->problem->operands[o].first;
}

bool kiln__emit_finish(kiln__emitter *e) {
    const kiln__operand_list *list = &e->column_outputs;
    if (!list->count && !e->adds_columns) return false;
    kiln__need_outputs(e);
    if (kiln__slots_plan_of(e->schedule)->ends_in) {
        emit_finish_in_order(e);
        return true;
    }
    kiln__write(e, "/* The outputs that have columns%s. */\nstruct kiln_finish {\n",
                e->adds_columns ? ", and what columns add to values of all rows" : "");
    for (int i = 0; i < list->count; i++)
        if (kiln__column_of(e->schedule)->transpose_width &&
            e->schedule->tensors[list->at[i]].kind == KILN__ACCESS_TRANSPOSED)
            kiln__write(e, "    %s lines_%s[KILN_TRANSPOSE_WIDTH];\n", e->vector[list->at[i]], e->name[list->at[i]]);
    kiln__emit_needed_blocks(e);
    kiln__emit_vector_head(e, "vector");
    for (int i = 0; i < list->count; i++)
        if (stores_vectors(e, list->at[i])) kiln__emit_computed(e, list->at[i]);
    kiln__emit_elements(e);
    for (int i = 0; i < list->count; i++) {
        if (!stores_vectors(e, list->at[i])) continue;
        kiln__write(e, "            %s[j] = %s;\n", kiln__spell_computed(e, list->at[i]), spell_output(e, list->at[i]));
    }
    emit_single_elements(e);
    emit_additions(e);
    kiln__write(e, "        }\n");
    for (int i = 0; i < list->count; i++) {
        const int y = list->at[i] - e->inputs;
        const bool puts = e->ir->places[y] != 0;
        const int64_t run = e->problem->operands[list->at[i]].run;
        if (stores_elements(e, list->at[i])) continue;
        if (puts) kiln__write(e, "        if (row.writes_%s) {\n", e->name[list->at[i]]);
        if (kiln__is_whole_run(e, run))
            kiln__emit_put_block(e, list->at[i], spell_output(e, list->at[i]));
        else if (stores_vectors(e, list->at[i]))
            kiln__emit_put(e, list->at[i]);
        if (puts) kiln__write(e, "        }\n");
    }
    kiln__write(e, "    }\n};\n\n");
    return true;
}

void kiln__emit_stored(const kiln__emitter *e) {
    kiln__write(e,
                "/* Both, in one reading. */\nstruct kiln_stored {\n    kiln_phase0 &phase;\n    kiln_finish finish;\n"
                "    KILN_MEMBER void vector(const kiln_row &row, %skiln_staged &staged, kiln_index col, "
                "const kiln_span &span)\n    {\n"
                "        phase.vector(row, staged, col, span);\n        finish.vector(row, staged, col, span);\n    }\n"
                "};\n\n",
                kiln__const_staged(e));
}

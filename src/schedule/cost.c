/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate of a kernel's machine instructions, which its compile time follows, and what is done where they are many:
 * functions are called rather than inlined, then the work on a vector of elements is. */
#include "schedule/cost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/kept.h"
#include "schedule/weights.h"

/* Where kernels are larger, functions of many instructions are called; where that is not enough, the work on a vector.
 * Compile time is linear in the instructions up to MOST_UNROLLED, and grows faster beyond. */
#define MOST_INLINED 8000
#define MOST_UNROLLED 16000
/* Combinations written out for each value that threads exchange: between lanes and warps; between threads that have
 * neighbouring rows, in trees over shared memory. */
#define ROW_EXCHANGES 10
#define COLUMN_EXCHANGES 64
/* Of each phase: its exchange and barriers, and what its results are kept in. */
#define PHASE 200
/* Values that each of several neighbouring rows has one of lie in arrays: that takes the compiler longer. */
#define NEIGHBOURS 8
/* The same where those rows follow one another: the arrays are in memory. */
#define KEPT 12
/* What a combination takes besides: a shuffle, or a slot that is read. */
#define EXCHANGE 5
/* So many values that threads carry together weigh as an instruction each. */
#define CARRIED 8
/* Where more of an element's values wait for their last use than registers hold, finding places for them takes the
 * compiler so many times as long. */
#define REGISTERS 128
#define SPILLED 3

/* The kernel whose instructions are counted. */
typedef struct count {
    const kiln__ir *ir;
    const kiln__problem *problem;
    bool narrow, calls; /* of functions of many instructions */
    bool *needed;       /* per instruction: by the loop over elements that is weighed */
    kiln__kept kept;
} count;

static bool is_element(const count *c, uint32_t i) { return kiln__is_of_element(c->ir, c->problem, i); }

/* One of the instructions of the program or of a combine. */
static int64_t weigh_instruction(const count *c, const kiln__inst *insts, uint32_t i) {
    const kiln__weighing weighing = {c->ir, c->problem, c->narrow, c->calls};
    return kiln__weigh_instruction(&weighing, insts, i);
}

static int64_t weigh_combine(const count *c, const kiln__combine *combine) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < combine->count; i++) sum += weigh_instruction(c, combine->insts, i);
    return sum;
}

static int64_t weigh_reduction(const count *c, const kiln__inst *reduction) {
    if (kiln__op_selects(reduction->op)) return 2;
    if (reduction->op != KILN__OP_REDUCE_USER) return kiln__op_is_arg(reduction->op) ? 8 : 1;
    return c->calls ? KILN__CALL_WEIGHT : weigh_combine(c, &c->ir->combines[reduction->u.reducer]);
}

/* The element's instructions that the needed ones are made of, the last of them first. */
static int64_t weigh_elements(const count *c, uint32_t pass) {
    int64_t sum = 0;
    int waiting = 0; /* values that are used further down */
    for (uint32_t i = c->ir->count; i-- > 0;) {
        const kiln__inst *inst = &c->ir->insts[i];
        if (!c->needed[i] || !is_element(c, i) || (c->kept.value[i] && c->kept.first[i] < pass)) continue;
        for (int a = 0; a < inst->arg_count; a++) {
            waiting += !c->needed[inst->args[a]] && is_element(c, inst->args[a]);
            c->needed[inst->args[a]] = true;
        }
        sum += weigh_instruction(c, c->ir->insts, i) * (waiting > REGISTERS ? SPILLED : 1);
        waiting -= waiting > 0;
    }
    return sum;
}

static int64_t weigh_phase(const count *c, uint32_t phase) {
    int64_t combines = 0;
    memset(c->needed, 0, c->ir->count * sizeof *c->needed);
    for (uint32_t i = 0; i < c->ir->count; i++) {
        const kiln__inst *inst = &c->ir->insts[i];
        if (!kiln__reduces_in(inst, phase)) continue;
        c->needed[inst->args[0]] = true;
        combines += weigh_reduction(c, inst);
    }
    return combines + weigh_elements(c, phase);
}

static int64_t weigh_outputs(const count *c) {
    memset(c->needed, 0, c->ir->count * sizeof *c->needed);
    for (uint32_t o = 0; o < c->ir->output_count; o++)
        c->needed[c->ir->outputs[o]] |= c->problem->operands[c->problem->input_count + (int)o].per_element;
    for (uint32_t i = 0; i < c->ir->count; i++)
        if (c->ir->insts[i].op == KILN__OP_ACROSS_REDUCE) c->needed[c->ir->insts[i].args[0]] = true;
    return weigh_elements(c, c->ir->phase_count);
}

/* Values of a row; kept: what each weighs besides. */
static int64_t weigh_row(const count *c, int64_t kept) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->ir->count; i++) {
        const kiln__inst *inst = &c->ir->insts[i];
        if (!is_element(c, i) && inst->arg_count > 0 && !kiln__op_is_reduction(inst->op))
            sum += weigh_instruction(c, c->ir->insts, i) + kept;
    }
    return sum;
}

static bool is_inlined(const kiln__schedule *s) { return s->code.inlining < KILN__INLINE_OUTLINED; }

/* Rows' ends have bodies of their own where vectors overhang, or single elements stand beside them. */
static bool has_ends(const kiln__schedule *s) {
    return s->edges == KILN__EDGES_PEELED || s->edges == KILN__EDGES_MASKED;
}

/* Vectors that are written out one after the other. */
static int64_t unrolled_steps(const kiln__schedule *s) {
    const bool all = kiln__layout_of(s) == KILN__LAYOUT_FLAT || s->staging.kind == KILN__STAGING_REGISTERS;
    if (!is_inlined(s)) return 1;
    return all ? s->steps : s->unroll;
}

/* How often the work on an element is written out. */
static int64_t copies_of(const kiln__schedule *s) {
    const bool twice = kiln__row_of(s)->persistent || s->staging.kind == KILN__STAGING_NONE;
    const int64_t elements = s->code.inlining == KILN__INLINE_NOTHING ? 1 : s->vector_width;
    return kiln__times((has_ends(s) ? 2 : 1) * (is_inlined(s) && twice ? 2 : 1) * elements, unrolled_steps(s));
}

/* Of a row's values; where rows lie side by side, of a vector of rows. */
static int64_t weigh_row_values(const count *c, const kiln__schedule *s) {
    if (kiln__layout_of(s) != KILN__LAYOUT_OUTER)
        return weigh_row(c, 0) * (is_inlined(s) && kiln__row_of(s)->persistent ? 3 : 1);
    if (s->code.inlining == KILN__INLINE_NOTHING) return weigh_row(c, KEPT);
    return weigh_row(c, 0) * s->vector_width * NEIGHBOURS;
}

/* What is written out, with the schedule's inlining. */
static int64_t weigh_bodies(count *c, const kiln__schedule *s) {
    const int64_t copies = copies_of(s);
    const int rows = is_inlined(s) && kiln__row_of(s)->rows_in_flight ? s->team.rows_per_block : 1;
    c->calls = s->code.inlining > KILN__INLINE_ALL;
    int64_t sum = weigh_row_values(c, s);
    for (uint32_t p = 0; p < c->ir->combine_count && c->calls; p++) sum += weigh_combine(c, &c->ir->combines[p]);
    for (uint32_t phase = 0; phase < c->ir->phase_count; phase++) sum += kiln__times(copies, weigh_phase(c, phase));
    return sum + kiln__times(kiln__times(copies, rows), weigh_outputs(c));
}

/* Exchanges are the same, whatever is inlined. What threads carry of a phase is in registers all at once: finding
 * places for very many values takes the compiler longer with each. */
static int64_t weigh_exchanges(const count *c, const kiln__schedule *s) {
    const int64_t each = s->team.threads_per_row == 1 && s->split.chunks == 1 ? 0
                         : kiln__layout_of(s) == KILN__LAYOUT_OUTER           ? COLUMN_EXCHANGES
                                                                              : ROW_EXCHANGES;
    int64_t sum = 0;
    for (uint32_t phase = 0; phase < c->ir->phase_count; phase++) {
        int64_t values = 0;
        for (uint32_t i = 0; i < c->ir->count; i++) {
            const kiln__inst *inst = &c->ir->insts[i];
            if (!kiln__reduces_in(inst, phase)) continue;
            values += kiln__reduction_values(inst->op);
            sum += each * (EXCHANGE + weigh_reduction(c, inst));
        }
        sum += values * values / CARRIED + PHASE;
    }
    return sum;
}

/* keep_weight: as the schedule has it. */
static kiln_status begin(const kiln__ir *ir, const kiln__problem *problem, int keep_weight, count *c) {
    *c = (count){.ir = ir, .problem = problem, .narrow = kiln__outputs_are_narrow(problem)};
    c->needed = calloc(ir->count + 1, sizeof *c->needed);
    c->kept.value = calloc(ir->count + 1, sizeof *c->kept.value);
    c->kept.first = calloc(ir->count + 1, sizeof *c->kept.first);
    if (!c->needed || !c->kept.value || !c->kept.first) return kiln__out_of_memory();
    return kiln__kept_find(ir, problem, keep_weight, &c->kept);
}

static void end(count *c) {
    free(c->needed);
    free(c->kept.value);
    free(c->kept.first);
}

kiln_status kiln__weigh(const kiln__ir *ir, const kiln__problem *problem, int64_t *reductions, int64_t *outputs,
                        int64_t *row) {
    count c;
    kiln_status status = begin(ir, problem, 0, &c);
    if (!status) {
        *reductions = 0;
        for (uint32_t phase = 0; phase < ir->phase_count; phase++)
            *reductions += weigh_phase(&c, phase) * kiln__phase_passes(ir, phase);
        *outputs = weigh_outputs(&c);
        *row = weigh_row(&c, 0);
    }
    end(&c);
    return status;
}

kiln_status kiln__inlining_choose(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    static const int most[] = {MOST_INLINED, MOST_UNROLLED, MOST_UNROLLED};
    count c;
    kiln_status status = begin(ir, problem, s->passes.keep_weight, &c);
    int64_t bodies = status ? 0 : weigh_bodies(&c, s);
    while (!status && s->code.inlining < KILN__INLINE_NOTHING && bodies > most[s->code.inlining]) {
        s->code.inlining++;
        bodies = weigh_bodies(&c, s);
    }
    s->code.instructions = status ? 0 : bodies + weigh_exchanges(&c, s);
    s->code.sines_first = s->code.inlining == KILN__INLINE_ALL;
    end(&c);
    if (status) return status;
    if (s->code.inlining >= KILN__INLINE_OUTLINED)
        s->passes.keep_weight = 0; /* what is called has no registers to keep it in */
    if (s->code.instructions <= KILN__MOST_INSTRUCTIONS) return KILN_OK;
    return kiln__fail(KILN_E_LIMIT,
                      "the kernel would have some %" PRId64
                      " machine instructions, which take too long to compile: at most %d are allowed",
                      s->code.instructions, KILN__MOST_INSTRUCTIONS);
}

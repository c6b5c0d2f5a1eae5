/* SPDX-License-Identifier: Apache-2.0 */
/* The typed program: from a graph, its signature and the types of its tensors. */
#include "lang/ir.h"

#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "lang/typing.h"

/* When an instruction's value is needed: at each row, or when the last one is done, there for each column. */
enum { AT_ROWS = 1, LATER = 2, FOR_COLUMNS = 4 };

/* Which inputs are read when. What no row needs, as only values of all rows are made of it, is across like those. From
 * the last instruction to the first: by then it is known of each what needs it. */
static void find_when(kiln__work *work, kiln__ir *ir) {
    uint8_t *when = kiln__work_alloc(work, &work->scratch, ir->count, sizeof *when);
    if (when == NULL) return;
    for (uint32_t i = 0; i < ir->output_count; i++) {
        when[ir->outputs[i]] |= ir->insts[ir->outputs[i]].across ? LATER : AT_ROWS;
        if (ir->places[i]) when[ir->places[i] - 1] |= AT_ROWS;
    }
    if (ir->length) when[ir->length - 1] |= AT_ROWS;
    for (uint32_t i = ir->count; i-- > 0;) {
        kiln__inst *inst = &ir->insts[i];
        const bool total = inst->op == KILN__OP_ACROSS_REDUCE;
        if (when[i] & LATER && inst->per_element) when[i] |= FOR_COLUMNS;
        for (uint32_t k = 0; k < inst->arg_count; k++) when[inst->args[k]] |= total ? AT_ROWS : when[i];
        if (inst->op == KILN__OP_INPUT) {
            const uint32_t bit = 1u << inst->u.input;
            if (when[i] & AT_ROWS) ir->read |= bit;
            if (when[i] & LATER) ir->later |= bit;
            if (when[i] & FOR_COLUMNS && !inst->per_element) ir->spread |= bit;
        }
        inst->across |= !(when[i] & AT_ROWS) && !inst->constant;
    }
}

/* Keeps the instructions that an output needs, in their order, and counts the phases. */
static void keep_needed(kiln__work *work, kiln__ir *ir, const kiln__nodes *insts) {
    bool *needed = kiln__work_alloc(work, &work->scratch, insts->count, sizeof *needed);
    uint32_t *map = kiln__work_alloc(work, &work->scratch, insts->count, sizeof *map);
    ir->insts = kiln__work_alloc(work, &ir->arena, insts->count, sizeof *ir->insts);
    if (work->status != KILN_OK) return;
    for (uint32_t i = 0; i < ir->output_count; i++) {
        needed[ir->outputs[i]] = true;
        if (ir->places[i]) needed[ir->places[i] - 1] = true;
    }
    if (ir->length) needed[ir->length - 1] = true;
    kiln__nodes_need(insts->items, insts->count, needed);
    for (uint32_t i = 0; i < insts->count; i++) {
        if (!needed[i]) continue;
        map[i] = ir->count;
        kiln__inst *inst = &ir->insts[ir->count++];
        *inst = insts->items[i];
        for (uint32_t k = 0; k < inst->arg_count; k++) inst->args[k] = map[inst->args[k]];
        if (inst->phase > ir->phase_count) ir->phase_count = inst->phase;
        if (inst->op == KILN__OP_TAKE) ir->taken |= 1u << inst->u.input;
        if (inst->op == KILN__OP_TAKE || (inst->op == KILN__OP_INPUT && inst->arg_count))
            ir->elsewhere |= 1u << inst->u.input;
    }
    for (uint32_t i = 0; i < ir->output_count; i++) {
        ir->outputs[i] = map[ir->outputs[i]];
        if (ir->places[i]) ir->places[i] = map[ir->places[i] - 1] + 1;
    }
    if (ir->length) ir->length = map[ir->length - 1] + 1;
    find_when(work, ir);
}

/* A phase is of reductions, of selections, which go over their row many times, or of scans, which give each thread what
 * is before it. Of stages that follow one another every third is of one kind; those that have nothing are left out. */
static void part_phases(kiln__work *work, kiln__ir *ir) {
    enum { KINDS = 3, STAGES = KINDS * (KILN__MAX_PHASES + 1) };
    uint16_t *stage = kiln__work_alloc(work, &work->scratch, ir->count, sizeof *stage), number[STAGES + 1] = {0};
    bool mixed = kiln__ir_selects(ir) || kiln__ir_scans(ir);
    if (stage == NULL || !mixed) return;
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        const int kind = kiln__op_selects(inst->op) ? 1 : inst->op == KILN__OP_REDUCE_BEFORE ? 2 : 0;
        for (uint32_t k = 0; k < inst->arg_count; k++)
            if (stage[inst->args[k]] > stage[i]) stage[i] = stage[inst->args[k]];
        if (!kiln__op_is_reduction(inst->op)) continue;
        do stage[i]++;
        while ((stage[i] - 1) % KINDS != kind);
        number[stage[i]] = 1;
    }
    for (int s = 1; s <= STAGES; s++) number[s] = (uint16_t)(number[s] + number[s - 1]);
    ir->phase_count = number[STAGES];
    if (ir->phase_count > KILN__MAX_PHASES)
        work->status =
            kiln__fail(KILN_E_LIMIT, "reductions of reductions are nested more than %d deep", KILN__MAX_PHASES);
    for (uint32_t i = 0; i < ir->count; i++) ir->insts[i].phase = (uint8_t)number[stage[i]];
}

static const char *copy_name(kiln__work *work, kiln__ir *ir, const kiln__graph *graph, uint32_t name) {
    return kiln__work_copy(work, &ir->arena, graph->names[name].text, strlen(graph->names[name].text) + 1, 1);
}

/* What ir says of tensors and scalars, and what the free names of the graph become. */
static void copy_signature(kiln__typer *typer, const kiln__signature *signature, kiln__inst *leaves) {
    const kiln__binding *binding = typer->binding;
    const kiln__graph *graph = typer->graph;
    kiln__work *work = typer->work;
    kiln__ir *ir = typer->ir;
    ir->float_type = KILN__F32;
    ir->uneven = binding->uneven;
    ir->packed = binding->packed;
    memcpy(ir->input_runs, binding->input_repeats, sizeof ir->input_runs);
    ir->input_count = signature->input_count;
    ir->output_count = signature->output_count;
    ir->scalar_count = signature->scalar_count;
    memcpy(ir->input_types, binding->input_types, sizeof ir->input_types);
    memcpy(ir->output_types, binding->output_types, sizeof ir->output_types);
    ir->text = kiln__work_copy(work, &ir->arena, graph->text, strlen(graph->text) + 1, 1);
    for (uint32_t i = 0; i < ir->input_count; i++)
        if (binding->input_types[i] == KILN_F64) ir->float_type = KILN__F64;
    for (uint32_t i = 0; i < ir->input_count && work->status == KILN_OK; i++) {
        kiln_type stored = binding->input_types[i];
        kiln__ctype type = kiln__type_is_float(stored) ? ir->float_type : kiln__type_compute(stored);
        ir->input_names[i] = copy_name(work, ir, graph, signature->inputs[i]);
        leaves[signature->inputs[i]] = (kiln__inst){.op = KILN__OP_INPUT, .type = type, .u.input = i};
    }
    for (uint32_t i = 0; i < ir->output_count; i++)
        ir->output_names[i] = copy_name(work, ir, graph, signature->outputs[i]);
    for (uint32_t i = 0; i < ir->scalar_count && work->status == KILN_OK; i++) {
        const char *name = graph->names[signature->scalars[i]].text;
        kiln_type given = binding->scalar_types[i], stored = kiln__scalar_stored(given);
        work->status = kiln__scalar_check_type(name, given);
        kiln__ctype type = kiln__type_is_float(stored) ? ir->float_type : kiln__type_compute(stored);
        ir->scalar_given[i] = given;
        ir->scalar_types[i] = type;
        ir->scalar_names[i] = copy_name(work, ir, graph, signature->scalars[i]);
        leaves[signature->scalars[i]] = (kiln__inst){.op = KILN__OP_SCALAR, .type = type, .u.scalar = i};
    }
}

void kiln__outputs_mark(const kiln__graph *graph, const kiln__signature *signature, bool *needed) {
    for (uint32_t i = 0; i < signature->output_count; i++) {
        const kiln__name *name = &graph->names[signature->outputs[i]];
        needed[name->node] = true;
        if (name->place) needed[name->place - 1] = true;
    }
    if (graph->length) needed[graph->length - 1] = true;
    if (graph->offsets) needed[graph->offsets - 1] = true;
}

/* Where the output's rows go. */
static void type_place(kiln__typer *typer, const kiln__name *name, uint32_t output) {
    if (!name->place) return;
    typer->node = &typer->graph->nodes[name->place - 1];
    const kiln__value index = kiln__type_put_row(typer, &typer->values[name->place - 1]);
    if (typer->work->status == KILN_OK) typer->ir->places[output] = index.inst + 1;
}

/* Rows that offsets place have outputs of all their columns. */
static void check_first(kiln__typer *typer, uint32_t output) {
    if (typer->work->status != KILN_OK || !typer->graph->offsets) return;
    if (!kiln__has_first(&typer->insts.items[typer->ir->outputs[output]])) return;
    typer->work->status =
        kiln__fail(KILN_E_UNSUPPORTED, "output '%s' has the first columns of rows: expected no offsets(o)",
                   typer->ir->output_names[output]);
}

static void type_program(kiln__typer *typer, const kiln__signature *signature) {
    const kiln__graph *graph = typer->graph;
    bool *needed = kiln__work_alloc(typer->work, &typer->work->scratch, graph->node_count, sizeof *needed);
    if (needed == NULL) return;
    kiln__outputs_mark(graph, signature, needed);
    kiln__nodes_need(graph->nodes, graph->node_count, needed);
    kiln__type_nodes(typer, graph->nodes, graph->node_count, needed);
    for (uint32_t i = 0; i < signature->output_count && typer->work->status == KILN_OK; i++) {
        const kiln__value *value = &typer->values[graph->names[signature->outputs[i]].node];
        typer->ir->outputs[i] = kiln__emit_as(typer, value, kiln__value_type(typer, value)).inst;
        check_first(typer, i);
        type_place(typer, &graph->names[signature->outputs[i]], i);
    }
    if (typer->counts && typer->sums_first)
        KILN__FAIL_AT(
            typer, typer->sums_first, KILN_E_UNSUPPORTED,
            "a program that counts the columns of rows, as mean does, reduces no part of them: expected sum(..) "
            "and a number in its place");
    if (graph->offsets) kiln__type_offsets(typer);
    if (graph->length || graph->offsets) typer->ir->length = kiln__type_length(typer).inst + 1;
    keep_needed(typer->work, typer->ir, &typer->insts);
    if (typer->work->status == KILN_OK) part_phases(typer->work, typer->ir);
}

kiln_status kiln__ir_build(const kiln__graph *graph, const kiln__signature *signature, const kiln__binding *binding,
                           kiln__ir **out) {
    *out = NULL;
    kiln__ir *ir = calloc(1, sizeof *ir);
    if (ir == NULL) return kiln__out_of_memory();
    kiln__work work = {.file = "", .text = graph->text};
    size_t combines = (size_t)graph->reducer_count * KILN__CTYPES;
    kiln__inst *leaves = kiln__work_alloc(&work, &work.scratch, graph->name_count, sizeof *leaves);
    kiln__typer typer = {.graph = graph, .binding = binding, .ir = ir, .work = &work, .leaves = leaves};
    typer.combines = kiln__work_alloc(&work, &work.scratch, combines, sizeof *typer.combines);
    ir->combines = kiln__work_alloc(&work, &ir->arena, combines, sizeof *ir->combines);
    copy_signature(&typer, signature, leaves);
    type_program(&typer, signature);
    kiln__arena_free(&work.scratch);
    if (work.status != KILN_OK)
        kiln__ir_destroy(ir);
    else
        *out = ir;
    return work.status;
}

bool kiln__ir_reads_after(const kiln__ir *ir, uint32_t input, uint32_t output) {
    const bool across = ir->insts[ir->outputs[output]].across;
    return (ir->later >> input & 1) && (!across || (ir->spread >> input & 1));
}

void kiln__ir_destroy(kiln__ir *ir) {
    if (ir == NULL) return;
    kiln__arena_free(&ir->arena);
    free(ir);
}

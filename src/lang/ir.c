/* The typed program: from a graph, its signature and the types of its tensors. */
#include "lang/ir.h"

#include <stdlib.h>
#include <string.h>

#include "lang/typing.h"

/* Which of count operations the marked ones need; works for anything in topological order. */
#define MARK_NEEDED(items, count, needed) \
    for (uint32_t i = (count); i-- > 0;) { \
        for (uint32_t k = 0; (needed)[i] && k < (items)[i].arg_count; k++) (needed)[(items)[i].args[k]] = true; \
    }

/* Keeps the instructions that an output needs, in their order, and counts the phases. */
static kiln_status keep_needed(kiln__ir *ir, const kiln__insts *insts, kiln__arena *scratch) {
    bool *needed = kiln__arena_alloc(scratch, insts->count, sizeof *needed);
    uint32_t *map = kiln__arena_alloc(scratch, insts->count, sizeof *map);
    ir->insts = kiln__arena_alloc(&ir->arena, insts->count, sizeof *ir->insts);
    if (needed == NULL || map == NULL || ir->insts == NULL) return kiln__out_of_memory();
    for (uint32_t i = 0; i < ir->output_count; i++) needed[ir->outputs[i]] = true;
    MARK_NEEDED(insts->items, insts->count, needed)
    for (uint32_t i = 0; i < insts->count; i++) {
        if (!needed[i]) continue;
        map[i] = ir->count;
        kiln__inst *inst = &ir->insts[ir->count++];
        *inst = insts->items[i];
        for (uint32_t k = 0; k < inst->arg_count; k++) inst->args[k] = map[inst->args[k]];
        if (inst->phase > ir->phase_count) ir->phase_count = inst->phase;
    }
    for (uint32_t i = 0; i < ir->output_count; i++) ir->outputs[i] = map[ir->outputs[i]];
    return KILN_OK;
}

static kiln_status copy_names(kiln__ir *ir, const kiln__graph *graph, const uint32_t *indices, uint32_t count,
                              const char **out) {
    for (uint32_t i = 0; i < count; i++) {
        const char *text = graph->names[indices[i]].text;
        out[i] = kiln__arena_copy(&ir->arena, text, strlen(text));
        if (out[i] == NULL) return kiln__out_of_memory();
    }
    return KILN_OK;
}

static kiln_status copy_signature(kiln__ir *ir, const kiln__graph *graph, const kiln__signature *signature,
                                  const kiln__binding *binding) {
    ir->float_type = KILN__F32;
    ir->input_count = signature->input_count;
    ir->output_count = signature->output_count;
    ir->scalar_count = signature->scalar_count;
    memcpy(ir->input_types, binding->input_types, sizeof ir->input_types);
    memcpy(ir->output_types, binding->output_types, sizeof ir->output_types);
    for (uint32_t i = 0; i < ir->input_count; i++) {
        if (binding->input_types[i] == KILN_F64) ir->float_type = KILN__F64;
    }
    for (uint32_t i = 0; i < ir->scalar_count; i++) {
        kiln_type type = binding->scalar_types[i];
        if (type != KILN_F64 && type != KILN_I64 && type != KILN_I32) {
            return kiln__fail(KILN_E_TYPE, "scalar '%s' has type %s, expected f64, i64 or i32",
                              graph->names[signature->scalars[i]].text, kiln_type_name(type));
        }
        ir->scalar_types[i] = type == KILN_F64 ? ir->float_type : kiln__type_compute(type);
    }
    kiln_status status = copy_names(ir, graph, signature->inputs, signature->input_count, ir->input_names);
    if (status == KILN_OK)
        status = copy_names(ir, graph, signature->outputs, signature->output_count, ir->output_names);
    if (status == KILN_OK)
        status = copy_names(ir, graph, signature->scalars, signature->scalar_count, ir->scalar_names);
    if (status != KILN_OK) return status;
    ir->text = kiln__arena_copy(&ir->arena, graph->text, strlen(graph->text));
    return ir->text == NULL ? kiln__out_of_memory() : KILN_OK;
}

static kiln_status type_program(kiln__typer *typer) {
    const kiln__graph *graph = typer->graph;
    const kiln__signature *signature = typer->signature;
    bool *needed = kiln__arena_alloc(typer->scratch, graph->node_count, sizeof *needed);
    if (needed == NULL) return kiln__out_of_memory();
    for (uint32_t i = 0; i < signature->output_count; i++) needed[graph->names[signature->outputs[i]].node] = true;
    MARK_NEEDED(graph->nodes, graph->node_count, needed)
    kiln__type_nodes(typer, graph->nodes, graph->node_count, needed);
    for (uint32_t i = 0; i < signature->output_count && typer->status == KILN_OK; i++) {
        const kiln__value *value = &typer->values[graph->names[signature->outputs[i]].node];
        typer->ir->outputs[i] = kiln__emit_as(typer, value, kiln__value_type(typer, value));
    }
    return typer->status == KILN_OK ? keep_needed(typer->ir, &typer->insts, typer->scratch) : typer->status;
}

kiln_status kiln__ir_build(const kiln__graph *graph, const kiln__signature *signature, const kiln__binding *binding,
                           kiln__ir **out) {
    *out = NULL;
    kiln__ir *ir = calloc(1, sizeof *ir);
    if (ir == NULL) return kiln__out_of_memory();
    kiln__arena scratch = {NULL};
    kiln__typer typer = {.graph = graph, .signature = signature, .binding = binding, .ir = ir, .scratch = &scratch};
    kiln_status status = copy_signature(ir, graph, signature, binding);
    if (status == KILN_OK) status = type_program(&typer);
    kiln__arena_free(&scratch);
    if (status != KILN_OK) {
        kiln__ir_destroy(ir);
        return status;
    }
    *out = ir;
    return KILN_OK;
}

void kiln__ir_destroy(kiln__ir *ir) {
    if (ir == NULL) return;
    kiln__arena_free(&ir->arena);
    free(ir);
}

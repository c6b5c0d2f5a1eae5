/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and typed programs as text. */
#include "lang_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_number(kiln__text *text, double value) {
    if (isnan(value))
        kiln__text_puts(text, "nan");
    else
        kiln__text_printf(text, "%.9g", value);
}

static void add_integer(kiln__text *text, const kiln__node *node) {
    kiln__text_printf(text, node->type == KILN__U64 ? "%" PRIu64 : "%" PRId64, node->u.i64);
}

static void add_node(kiln__text *text, const kiln__graph *graph, uint32_t index) {
    const kiln__node *node = &graph->nodes[index];
    switch (node->op) {
    case KILN__OP_FLOAT: add_number(text, node->u.f64); return;
    case KILN__OP_INT: add_integer(text, node); return;
    case KILN__OP_BOOL: kiln__text_puts(text, node->u.i64 != 0 ? "true" : "false"); return;
    case KILN__OP_NAME: kiln__text_puts(text, graph->names[node->u.name].text); return;
    case KILN__OP_COUNT: kiln__text_puts(text, "count"); return;
    default: break;
    }
    static const char *const widenings[] = {"float", "sum_type", "wide_type"};
    const char *name = node->op == KILN__OP_CONVERT ? kiln_type_name(node->u.type)
                       : node->op == KILN__OP_WIDEN ? widenings[node->u.widening]
                                                    : kiln__ir_op_name(node->op);
    kiln__text_printf(text, "(%s", name);
    if (node->op == KILN__OP_INDEX || node->op == KILN__OP_SIZE) kiln__text_printf(text, " %d", (int)node->u.axis);
    if (node->op == KILN__OP_STOCHASTIC) kiln__text_printf(text, " %s", kiln_type_name(node->u.storage));
    for (uint32_t i = 0; i < node->arg_count; i++) {
        kiln__text_puts(text, " ");
        add_node(text, graph, node->args[i]);
    }
    kiln__text_puts(text, ")");
}

char *lang_graph_text(const kiln__graph *graph, const char *name) {
    kiln__text text = {0};
    int index = kiln__graph_find(graph, name, strlen(name));
    if (index >= 0) add_node(&text, graph, graph->names[index].node);
    return kiln__text_take(&text);
}

char *lang_ir_text(const kiln__ir *ir) {
    kiln__text text = {0};
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        kiln__text_printf(&text, "%s%s:%s", i == 0 ? "" : " ", kiln__ir_op_name(inst->op),
                          kiln__ctype_name(inst->type));
        switch ((int)inst->op) {
        case KILN__OP_FLOAT:
            kiln__text_puts(&text, "=");
            add_number(&text, inst->u.f64);
            break;
        case KILN__OP_INT:
        case KILN__OP_BOOL:
            kiln__text_puts(&text, "=");
            add_integer(&text, inst);
            break;
        case KILN__OP_INPUT: kiln__text_printf(&text, "=%s", ir->input_names[inst->u.input]); break;
        case KILN__OP_SCALAR: kiln__text_printf(&text, "=%s", ir->scalar_names[inst->u.scalar]); break;
        case KILN__OP_STOCHASTIC:
        case KILN__OP_ROUND_TO: kiln__text_printf(&text, "=%s", kiln_type_name(inst->u.storage)); break;
        case KILN__OP_INDEX:
        case KILN__OP_SIZE: kiln__text_printf(&text, "=%d", (int)inst->u.axis); break;
        default: break;
        }
        kiln__text_printf(&text, "%s%s", inst->per_element ? "e" : "", inst->constant ? "c" : "");
        if (inst->phase > 0) kiln__text_printf(&text, "p%d", inst->phase);
        for (uint32_t k = 0; k < inst->arg_count; k++)
            kiln__text_printf(&text, "%s%u%s", k == 0 ? "(" : ",", inst->args[k], k + 1 == inst->arg_count ? ")" : "");
    }
    return kiln__text_take(&text);
}

kiln__binding lang_binding(kiln_type type) {
    kiln__binding binding = {.rank = 2, .reduced = {false, true}};
    for (int i = 0; i < KILN_MAX_TENSORS; i++) {
        binding.input_types[i] = binding.output_types[i] = type;
        binding.input_per_element[i] = true;
    }
    for (int i = 0; i < KILN_MAX_SCALARS; i++) binding.scalar_types[i] = KILN_F64;
    return binding;
}

kiln_status lang_build(const char *text, const char *scalars, const kiln__binding *binding, kiln__ir **out) {
    kiln__graph *graph;
    kiln__signature signature;
    *out = NULL;
    kiln_status status = kiln__graph_parse(text, &graph);
    if (status != KILN_OK) return status;
    status = kiln__signature_resolve(graph, &(kiln__lists){.scalars = scalars}, &signature);
    if (status == KILN_OK) status = kiln__ir_build(graph, &signature, binding, out);
    kiln__graph_destroy(graph);
    return status;
}

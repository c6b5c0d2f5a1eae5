/* SPDX-License-Identifier: Apache-2.0 */
/* Goes back from outputs through the untyped graph, for one of them up to reductions. */
#include "lang/dependence.h"

static uint32_t input_bit(const kiln__signature *signature, uint32_t name) {
    for (uint32_t i = 0; i < signature->input_count; i++)
        if (signature->inputs[i] == name) return (uint32_t)1 << i;
    return 0; /* a scalar */
}

static void find_leaf(const kiln__signature *signature, const kiln__node *node, int rank, const bool *reduced,
                      kiln__dependence *out) {
    if (node->op == KILN__OP_NAME) out->inputs |= input_bit(signature, node->u.name);
    if (node->op == KILN__OP_UNIFORM || node->op == KILN__OP_FIRST || kiln__op_runs_along(node->op))
        out->positions = true;
    if (node->op == KILN__OP_INDEX && reduced[kiln__node_axis(node, rank)]) out->positions = true;
}

/* Whether an output needs a reduction, and whether all axes that outputs ask for are there. */
static void find_in_program(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature, int rank,
                            kiln__dependence *out) {
    bool *needed = kiln__work_alloc(work, &work->scratch, graph->node_count, sizeof *needed);
    if (needed == NULL) return;
    kiln__outputs_mark(graph, signature, needed);
    kiln__nodes_need(graph->nodes, graph->node_count, needed);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const kiln__node *node = &graph->nodes[i];
        if (!needed[i]) continue;
        out->reduces |= kiln__op_runs(node->op) || node->op == KILN__OP_TAKE || node->op == KILN__OP_GATHER;
        if (node->op == KILN__OP_INDEX || node->op == KILN__OP_SIZE) kiln__node_check_axis(work, node, rank);
    }
}

/* The literal that the node is, or comes to; false: it is none. */
static bool fold(const kiln__node *nodes, uint32_t index, const bool *is_literal, kiln__node *literals) {
    const kiln__node *node = &nodes[index];
    kiln__node args[3] = {{0}};
    bool all = node->arg_count > 0;
    for (uint32_t k = 0; k < node->arg_count; k++) {
        all = all && is_literal[node->args[k]];
        args[k] = literals[node->args[k]];
    }
    literals[index] = *node;
    return kiln__is_literal(node) || (all && kiln__fold(node->op, args, &literals[index]));
}

int64_t kiln__first_columns(kiln__work *work, const kiln__node *nodes, uint32_t last) {
    bool *is_literal = kiln__work_alloc(work, &work->scratch, last + 1, sizeof *is_literal);
    kiln__node *literals = kiln__work_alloc(work, &work->scratch, last + 1, sizeof *literals);
    int64_t *first = kiln__work_alloc(work, &work->scratch, last + 1, sizeof *first);
    if (work->status != KILN_OK) return 0;
    for (uint32_t i = 0; i <= last; i++) {
        const kiln__node *node = &nodes[i];
        const bool says = node->op == KILN__OP_FIRST || node->op == KILN__OP_ARGTOP;
        is_literal[i] = fold(nodes, i, is_literal, literals);
        for (uint32_t k = 0; k < node->arg_count && !says && !kiln__op_is_reduction(node->op); k++)
            if (first[node->args[k]]) first[i] = first[node->args[k]];
        const uint32_t said = says ? node->args[node->arg_count - 1] : 0;
        if (says && is_literal[said] && literals[said].op == KILN__OP_INT && literals[said].u.i64 > 0)
            first[i] = literals[said].u.i64;
    }
    return first[last];
}

static void add_block(int64_t block, int64_t blocks[KILN__MAX_BLOCKS]) {
    int at = 0;
    while (at < KILN__MAX_BLOCKS - 1 && blocks[at] != 0 && blocks[at] != block) at++;
    if (block != 0) blocks[at] = block;
}

/* Whether what is reduced shows in the value: across rows it has columns. */
static bool shows_through(const kiln__graph *graph, const kiln__node *node, const kiln__across_kinds *across,
                          kiln__dependence *out) {
    if (node->op == KILN__OP_TAKE || node->op == KILN__OP_IS_WIDE) return false; /* the latter asks a type */
    if (!kiln__op_runs(node->op)) return true;
    add_block(node->domain ? graph->domains[node->domain - 1].block : 0, out->blocks);
    if (kiln__op_runs_along(node->op)) return true;
    const kiln__across kind = kiln__across_of(across, node->domain);
    out->across |= kind != KILN__ACROSS_NONE;
    return kind == KILN__ACROSS_ROWS;
}

static void find_outside(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature, uint32_t output,
                         int rank, const bool *reduced, const kiln__across_kinds *across, kiln__dependence *out) {
    bool *outside = kiln__work_alloc(work, &work->scratch, graph->node_count, sizeof *outside);
    if (outside == NULL) return;
    uint32_t last = graph->names[signature->outputs[output]].node;
    outside[last] = true;
    for (uint32_t i = last + 1; i-- > 0;) {
        const kiln__node *node = &graph->nodes[i];
        if (!outside[i] || !shows_through(graph, node, across, out)) continue;
        find_leaf(signature, node, rank, reduced, out);
        const uint32_t first = node->op == KILN__OP_GATHER, last_arg = node->op == KILN__OP_ROWS ? 1 : node->arg_count;
        for (uint32_t k = first; k < last_arg; k++) outside[node->args[k]] = true; /* indices of rows are the row's */
    }
}

kiln_status kiln__dependence_find(const kiln__graph *graph, const kiln__signature *signature, uint32_t output, int rank,
                                  const bool *reduced, const kiln__across_kinds *across, kiln__dependence *out) {
    kiln__work work = {.file = "", .text = graph->text};
    *out = (kiln__dependence){0};
    find_in_program(&work, graph, signature, rank, out);
    find_outside(&work, graph, signature, output, rank, reduced, across, out);
    out->first = kiln__first_columns(&work, graph->nodes, graph->names[signature->outputs[output]].node);
    kiln__arena_free(&work.scratch);
    return work.status;
}

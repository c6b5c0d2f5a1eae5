/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that is made of another one: nodes, names, domains, calls. */
#include "lang/rewrite.h"

#include <stdio.h>

/* ---- nodes ---- */

static bool is_float_leaf(const kiln__node *node, const bool *args) {
    switch ((int)node->op) {
    case KILN__OP_FLOAT:
    case KILN__OP_UNIFORM:
    case KILN__OP_STOCHASTIC: return true;
    case KILN__OP_COUNT: return node->type != KILN__I64;
    case KILN__OP_CONVERT: return kiln__type_is_float(node->u.type);
    case KILN__OP_WIDEN:
        return node->u.widening == KILN__WIDEN_FLOAT || node->u.widening == KILN__WIDEN_REAL || args[0];
    case KILN__OP_TAKE:
    case KILN__OP_GATHER:
    case KILN__OP_SORT:
    case KILN__OP_FIRST:
    case KILN__OP_ROWS: return args[0];
    default: return false;
    }
}

bool kiln__node_is_float(const kiln__node *node, const bool args[3]) {
    const bool any = args[0] || args[1] || args[2]; /* false beyond arg_count */
    switch (kiln__op_describe(node->op)->rule) {
    case KILN__RULE_FLOAT: return node->op != KILN__OP_POW || any;
    case KILN__RULE_SCAN:
    case KILN__RULE_SAME:
    case KILN__RULE_ORDER:
    case KILN__RULE_RSAME:
    case KILN__RULE_RORDER:
    case KILN__RULE_RSUM: return any;
    case KILN__RULE_SELECT: return args[1] || args[2];
    case KILN__RULE_RSELECT: return args[0];
    case KILN__RULE_LEAF: return is_float_leaf(node, args);
    default: return false;
    }
}

/* What is known of a node that has just been added. */
static void note(kiln__rewriter *rewriter, uint32_t index) {
    const kiln__node *node = kiln__rewritten(rewriter, index);
    kiln__span extents[3] = {{0}}, shown[3] = {{0}};
    bool floats[3] = {false};
    for (uint32_t k = 0; k < node->arg_count; k++) {
        extents[k] = rewriter->of[node->args[k]];
        shown[k] = rewriter->shown[node->args[k]];
        floats[k] = rewriter->is_float[node->args[k]];
    }
    rewriter->of[index] = kiln__span_of(&rewriter->extents, node, extents);
    rewriter->shown[index] = kiln__span_of(&rewriter->extents, node, shown);
    if (node->op == KILN__OP_INDEX || node->op == KILN__OP_UNIFORM) rewriter->shown[index] = (kiln__span){0};
    rewriter->is_float[index] = kiln__node_is_float(node, floats);
}

uint32_t kiln__rewrite_add(kiln__rewriter *rewriter, kiln__node node) {
    const uint32_t before = rewriter->program.nodes.count;
    node.line = rewriter->place.line;
    node.column = rewriter->place.column;
    const uint32_t index = kiln__nodes_add(&rewriter->work, &rewriter->program.nodes, &node, KILN__MAX_REWRITTEN,
                                           "operations in its gradient");
    if (rewriter->work.status == KILN_OK && index == before) note(rewriter, index);
    return index;
}

uint32_t kiln__rewrite_literal(kiln__rewriter *rewriter, kiln__node literal) {
    return kiln__rewrite_add(rewriter, literal);
}

/* ---- functions ---- */

const kiln__function *kiln__rewrite_function(kiln__rewriter *rewriter, const char *name) {
    const kiln__token token = {.kind = KILN__TOKEN_NAME, .text = name, .length = strlen(name)};
    kiln__function *function = kiln__function_find(&rewriter->parser, &token);
    return function != NULL && kiln__function_load(&rewriter->parser, function) ? function : NULL;
}

uint32_t kiln__rewrite_call(kiln__rewriter *rewriter, const kiln__function *function, const uint32_t *args,
                            uint32_t domain) {
    const kiln__nodes *nodes = &function->nodes;
    uint32_t *map = kiln__work_alloc(&rewriter->work, &rewriter->work.scratch, nodes->count, sizeof *map);
    for (uint32_t i = 0; i < nodes->count && rewriter->work.status == KILN_OK; i++) {
        kiln__node node = nodes->items[i];
        for (uint32_t k = 0; k < node.arg_count; k++) node.args[k] = map[node.args[k]];
        kiln__take_domain(&node, domain);
        map[i] = node.op == KILN__OP_PARAM ? args[node.u.param] : kiln__simplify(rewriter, node);
    }
    return rewriter->work.status == KILN_OK ? map[function->result] : 0;
}

/* ---- names ---- */

static bool is_taken(const kiln__rewriter *rewriter, const char *name) {
    const kiln__token token = {.kind = KILN__TOKEN_NAME, .text = name, .length = strlen(name)};
    return kiln__graph_find(&rewriter->graph, name, token.length) >= 0 || kiln__is_reserved(&token) ||
           kiln__is_callable(&rewriter->parser, &token);
}

/* The name that is not taken, in the graph's memory. */
static kiln__token free_name(kiln__rewriter *rewriter, const char *wanted, bool numbered) {
    const size_t size = strlen(wanted) + 16;
    char *name = kiln__work_alloc(&rewriter->work, &rewriter->work.scratch, size, 1);
    kiln__token token = rewriter->place;
    if (name == NULL) return token;
    snprintf(name, size, "%s", wanted);
    for (bool next = numbered; next || is_taken(rewriter, name); next = false)
        snprintf(name, size, "%s%u", wanted, ++rewriter->last_number);
    token.kind = KILN__TOKEN_NAME;
    token.text = name;
    token.length = strlen(name);
    return token;
}

static bool grow_extents(kiln__rewriter *rewriter, uint32_t count) {
    kiln__span *names = kiln__work_alloc(&rewriter->work, &rewriter->work.scratch, (size_t)count + 1, sizeof *names);
    if (names == NULL) return false;
    if (count) memcpy(names, rewriter->extents.names, count * sizeof *names);
    rewriter->extents.names = names;
    return true;
}

uint32_t kiln__rewrite_name(kiln__rewriter *rewriter, const char *wanted, kiln__span extent, int64_t repeat,
                            uint32_t *name) {
    const kiln__token token = free_name(rewriter, wanted, false);
    const uint32_t at = rewriter->graph.name_count;
    if (!grow_extents(rewriter, at)) return 0;
    rewriter->extents.names[at] = extent;
    kiln__parser_new_name(&rewriter->parser, &token, true, 0);
    if (rewriter->work.status != KILN_OK) return 0;
    rewriter->graph.names[at].assigned = false;
    rewriter->graph.names[at].repeat = repeat;
    *name = at;
    const uint32_t node = kiln__rewrite_add(rewriter, (kiln__node){.op = KILN__OP_NAME, .u.name = at});
    if (rewriter->work.status == KILN_OK) rewriter->is_float[node] = true;
    return node;
}

const char *kiln__rewrite_assigned(kiln__rewriter *rewriter, const char *wanted, bool numbered, uint32_t node) {
    const kiln__token token = free_name(rewriter, wanted, numbered);
    if (rewriter->work.status != KILN_OK) return "";
    kiln__parser_new_name(&rewriter->parser, &token, true, node);
    return token.text;
}

/* ---- domains ---- */

static uint32_t add_domain(kiln__rewriter *rewriter, const kiln__domain *domain) {
    kiln__graph *graph = &rewriter->graph;
    kiln__domain *domains = kiln__work_grow(&rewriter->work, &graph->arena, graph->domains, graph->domain_count,
                                            &rewriter->parser.domain_capacity, sizeof *domains);
    if (domains == NULL) return 0;
    graph->domains = domains;
    domains[graph->domain_count] = *domain;
    return ++graph->domain_count;
}

uint32_t kiln__rewrite_axes(kiln__rewriter *rewriter, uint32_t axes) {
    const kiln__graph *graph = &rewriter->graph;
    kiln__domain domain = {.all = axes == rewriter->extents.all};
    if (axes == rewriter->extents.row) return rewriter->extents.row_domain;
    for (uint32_t i = 1; i <= graph->domain_count; i++)
        if (!graph->domains[i - 1].block && kiln__domain_axes(&rewriter->extents, i) == axes) return i;
    if (axes == rewriter->extents.program) return 0;
    for (int axis = 0; axis < rewriter->extents.rank && !domain.all; axis++)
        if (axes >> axis & 1) domain.axes[domain.count++] = axis;
    return add_domain(rewriter, &domain);
}

uint32_t kiln__rewrite_block(kiln__rewriter *rewriter, int64_t block) {
    const kiln__graph *graph = &rewriter->graph;
    for (uint32_t i = 1; i <= graph->domain_count; i++)
        if (graph->domains[i - 1].block == block) return i;
    return add_domain(rewriter, &(kiln__domain){.block = block});
}

/* ---- the whole ---- */

/* A table with room for more. */
static void *copy_table(kiln__rewriter *rewriter, const void *items, uint32_t count, uint32_t *capacity, size_t size) {
    *capacity = count + 16;
    void *table = kiln__work_alloc(&rewriter->work, &rewriter->graph.arena, *capacity, size);
    if (table != NULL && count) memcpy(table, items, count * size);
    return table;
}

kiln_status kiln__rewriter_begin(kiln__rewriter *rewriter, const kiln__graph *from) {
    *rewriter = (kiln__rewriter){.work = {.file = "", .text = from->text}, .place = {.line = 1, .column = 1}};
    kiln__work *work = &rewriter->work;
    kiln__parser *parser = &rewriter->parser;
    kiln__graph *graph = &rewriter->graph;
    rewriter->program.scope = KILN__SCOPE_PROGRAM;
    parser->work = work;
    parser->graph = graph;
    parser->current = &rewriter->program;
    kiln__prelude_index(parser);
    kiln__rules_index(parser);
    parser->lexer.in_prelude = true;
    graph->names = copy_table(rewriter, from->names, from->name_count, &parser->name_capacity, sizeof *graph->names);
    graph->domains =
        copy_table(rewriter, from->domains, from->domain_count, &parser->domain_capacity, sizeof *graph->domains);
    graph->reducers =
        copy_table(rewriter, from->reducers, from->reducer_count, &parser->reducer_capacity, sizeof *graph->reducers);
    graph->name_count = from->name_count;
    graph->domain_count = from->domain_count;
    graph->reducer_count = from->reducer_count;
    rewriter->extents.graph = graph;
    rewriter->extents.names =
        kiln__work_alloc(work, &work->scratch, (size_t)from->name_count + 1, sizeof *rewriter->extents.names);
    rewriter->of = kiln__work_alloc(work, &work->scratch, KILN__MAX_REWRITTEN, sizeof *rewriter->of);
    rewriter->shown = kiln__work_alloc(work, &work->scratch, KILN__MAX_REWRITTEN, sizeof *rewriter->shown);
    rewriter->is_whole = kiln__work_alloc(work, &work->scratch, KILN__MAX_REWRITTEN, sizeof *rewriter->is_whole);
    rewriter->is_float = kiln__work_alloc(work, &work->scratch, KILN__MAX_REWRITTEN, sizeof *rewriter->is_float);
    return work->status;
}

void kiln__rewriter_end(kiln__rewriter *rewriter) {
    kiln__arena_free(&rewriter->work.scratch);
    kiln__arena_free(&rewriter->graph.arena);
}

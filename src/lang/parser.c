/* SPDX-License-Identifier: Apache-2.0 */
/* Program text to graph: statements, names and nodes. */
#include <stdlib.h>
#include <string.h>

#include "lang/parser.h"

/* What a combine cannot hold: it is given two values and knows neither rows nor positions. */
static bool needs_a_row(kiln__op op) {
    return kiln__op_runs(op) || op == KILN__OP_INDEX || op == KILN__OP_SIZE || op == KILN__OP_UNIFORM ||
           kiln__op_is_place(op) || op == KILN__OP_COUNT;
}

uint32_t kiln__parser_add(kiln__parser *parser, const kiln__token *at, kiln__node node) {
    if (parser->current->scope == KILN__SCOPE_COMBINE && needs_a_row(node.op))
        return kiln__parser_reject(parser, at, KILN_E_TYPE,
                                   "cannot stand in the combine of reduce, which takes elementwise operations only");
    node.line = at->line;
    node.column = at->column;
    return kiln__nodes_add(parser->work, &parser->current->nodes, &node, KILN__MAX_NODES,
                           "operations after its functions are expanded");
}

uint32_t kiln__parser_new_name(kiln__parser *parser, const kiln__token *token, bool assigned, uint32_t node) {
    kiln__graph *graph = parser->graph;
    if (graph->name_count == KILN__MAX_NODES)
        return KILN__FAIL_AT(parser, token, KILN_E_LIMIT, "the program has more than %d names", KILN__MAX_NODES);
    char *text = kiln__work_alloc(parser->work, &graph->arena, token->length + 1, 1);
    kiln__name *names = kiln__work_grow(parser->work, &graph->arena, graph->names, graph->name_count,
                                        &parser->name_capacity, sizeof *names);
    if (text == NULL || names == NULL) return 0;
    memcpy(text, token->text, token->length);
    if (!assigned)
        node = kiln__parser_add(parser, token, (kiln__node){.op = KILN__OP_NAME, .u.name = graph->name_count});
    kiln__name name = {.text = text, .assigned = assigned, .read = !assigned, .node = node};
    name.line = token->line;
    name.column = token->column;
    graph->names = names;
    graph->names[graph->name_count++] = name;
    return node;
}

/* lengths(n), offsets(o): which of the two stands there; NULL: neither. */
static const char *find_heading(const kiln__parser *parser) {
    if (kiln__parser_at_assignment(parser)) return NULL;
    return kiln__token_is(&parser->token, "lengths", 7)   ? "lengths"
           : kiln__token_is(&parser->token, "offsets", 7) ? "offsets"
                                                          : NULL;
}

static void parse_heading(kiln__parser *parser, const char *heading) {
    const kiln__token word = parser->token;
    kiln__graph *graph = parser->graph;
    kiln__parser_advance(parser);
    if (graph->name_count > 0 || graph->length || graph->offsets)
        KILN__FAIL_AT(parser, &word, KILN_E_SYNTAX, "'%s' is said once, before all other statements", heading);
    kiln__parser_expect(parser, '(', "'('");
    const kiln__token argument = parser->token;
    if (*heading == 'l')
        graph->length = kiln__parse_expression(parser) + 1;
    else if (kiln__parser_expect(parser, KILN__TOKEN_NAME, "the name of an input"))
        graph->offsets = kiln__parser_new_name(parser, &argument, false, 0) + 1;
    kiln__parser_expect(parser, ')', "')'");
}

/* put(name, i), before the '=': gives 1 + the node of i. */
static uint32_t parse_place(kiln__parser *parser, kiln__token *name) {
    kiln__parser_advance(parser);
    kiln__parser_expect(parser, '(', "'('");
    *name = parser->token;
    kiln__parser_expect(parser, KILN__TOKEN_NAME, "the name of an output");
    kiln__parser_expect(parser, ',', "',' and the row that is written");
    const uint32_t place = kiln__parse_expression(parser);
    kiln__parser_expect(parser, ')', "')'");
    return place + 1;
}

static void check_assigned(kiln__parser *parser, const kiln__token *name) {
    if (name->kind != KILN__TOKEN_NAME)
        kiln__parser_expected(parser, name, "a statement 'name = expression'");
    else if (kiln__is_reserved(name))
        kiln__parser_reject(parser, name, KILN_E_NAME, "is a reserved word, it cannot be assigned");
    else if (kiln__is_callable(parser, name))
        kiln__parser_reject(parser, name, KILN_E_NAME, "is a function, it cannot be assigned");
}

static void assign(kiln__parser *parser, const kiln__token *name, uint32_t place, uint32_t value) {
    int known = kiln__graph_find(parser->graph, name->text, name->length);
    if (known < 0) {
        kiln__parser_new_name(parser, name, true, value);
        if (parser->work->status == KILN_OK) parser->graph->names[parser->graph->name_count - 1].place = place;
        return;
    }
    const kiln__name *first = &parser->graph->names[known];
    bool within = first->line > name->line || (first->line == name->line && first->column > name->column);
    const char *problem = "is assigned after it was read as an input", *rule = "";
    if (first->assigned) problem = "is assigned twice, first";
    if (!first->assigned && within) {
        problem = "is read";
        rule = " in its own value: use another name, and bind both to one tensor";
    }
    KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s %s at %u:%u%s", kiln__parser_quote(parser, name), problem, first->line,
                  first->column, rule);
}

/* What other languages have on the left: an operator before the '=', a place that is written. */
static bool expect_assignment(kiln__parser *parser) {
    static const char expected[] = "'=' after the assigned name";
    const kiln__token at = parser->token;
    const bool operates = at.kind > 0 && at.kind < 128 && strchr("+-*/%&|^", at.kind) != NULL;
    const char *use = NULL;
    if (operates && kiln__parser_at_assignment(parser)) use = "another name, and bind both to one tensor";
    if (at.kind == '(') use = "name = expression, or put(name, i) = expression";
    if (!use) return kiln__parser_expect(parser, '=', expected);
    return KILN__FAIL_AT(parser, &at, KILN_E_SYNTAX, "expected %s, found %s; use %s", expected,
                         kiln__parser_quote(parser, &at), use);
}

static void parse_names(kiln__parser *parser, kiln__token names[KILN__MAX_RESULTS], uint32_t *count) {
    kiln__token name = names[0] = parser->token;
    check_assigned(parser, &name);
    kiln__parser_advance(parser);
    while (parser->token.kind == ',' && parser->work->status == KILN_OK) {
        kiln__parser_advance(parser);
        name = parser->token;
        check_assigned(parser, &name);
        if (*count == KILN__MAX_RESULTS)
            KILN__FAIL_AT(parser, &name, KILN_E_LIMIT, "a statement assigns at most %d names", KILN__MAX_RESULTS);
        else
            names[(*count)++] = name;
        kiln__parser_advance(parser);
    }
}

/* Whether the value is a call of a function with as many results. */
static bool check_results(kiln__parser *parser, const kiln__token *at, uint32_t value, uint32_t count) {
    const kiln__function *called = parser->expanded;
    if (parser->work->status != KILN_OK) return false;
    if (called == NULL || value != parser->results[0])
        return KILN__FAIL_AT(parser, at, KILN_E_SYNTAX,
                             "%u names are assigned: expected the call of a function that has as many results", count);
    return called->result_count == count ||
           KILN__FAIL_AT(parser, at, KILN_E_SYNTAX, "%u names are assigned, '%.*s' has %u result%s", count,
                         (int)called->length, called->name, called->result_count, called->result_count == 1 ? "" : "s");
}

/* name = expression, put(name, i) = expression, name, name = f(x) */
static void parse_assignment(kiln__parser *parser) {
    kiln__token names[KILN__MAX_RESULTS] = {parser->token};
    const bool puts = kiln__token_is(&names[0], "put", 3) && !kiln__parser_at_assignment(parser);
    uint32_t count = 1, place = 0;
    if (puts)
        place = parse_place(parser, &names[0]);
    else
        parse_names(parser, names, &count);
    if (parser->work->status != KILN_OK) return;
    if (puts) check_assigned(parser, &names[0]);
    if (!expect_assignment(parser)) return;
    parser->expanded = NULL;
    const kiln__token at = parser->token;
    const uint32_t value = kiln__parse_expression(parser);
    if (count == 1)
        assign(parser, &names[0], place, value);
    else if (check_results(parser, &at, value, count))
        for (uint32_t i = 0; i < count; i++) assign(parser, &names[i], 0, parser->results[i]);
}

static bool at_separator(const kiln__parser *parser) {
    return parser->token.kind == KILN__TOKEN_NEWLINE || parser->token.kind == ';';
}

void kiln__parser_expect_end(kiln__parser *parser) {
    if (parser->token.kind == KILN__TOKEN_END || at_separator(parser)) return;
    kiln__parser_expected(parser, &parser->token, "an operator or the end of the statement");
}

static void parse_statements(kiln__parser *parser) {
    for (;;) {
        while (at_separator(parser)) kiln__parser_advance(parser);
        if (parser->work->status != KILN_OK || parser->token.kind == KILN__TOKEN_END) return;
        if (kiln__token_is(&parser->token, "fn", 2))
            kiln__parse_function(parser);
        else if (find_heading(parser))
            parse_heading(parser, find_heading(parser));
        else
            parse_assignment(parser);
        kiln__parser_expect_end(parser);
    }
}

kiln_status kiln__graph_parse(const char *text, kiln__graph **out) { return kiln__graph_parse_with(text, NULL, out); }

kiln_status kiln__graph_parse_with(const char *text, const kiln__own_function *own, kiln__graph **out) {
    *out = NULL;
    size_t length = strlen(text);
    if (length > KILN__MAX_TEXT)
        return kiln__fail(KILN_E_LIMIT, "the program has %zu bytes, at most %d are allowed", length, KILN__MAX_TEXT);
    kiln__graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) return kiln__out_of_memory();
    kiln__function program = {.scope = KILN__SCOPE_PROGRAM};
    kiln__work work = {.file = "", .text = text};
    kiln__parser parser = {.work = &work, .graph = graph, .own = own, .current = &program};
    kiln__prelude_index(&parser);
    graph->text = kiln__work_copy(&work, &graph->arena, text, length + 1, 1);
    if (graph->text != NULL) {
        parser.lexer = (kiln__lexer){.at = graph->text, .line_start = graph->text, .line = 1};
        kiln__parser_advance(&parser);
        parse_statements(&parser);
    }
    if (graph->name_count == 0) kiln__parser_expected(&parser, &parser.token, "a statement 'name = expression'");
    graph->node_count = program.nodes.count;
    graph->nodes = kiln__work_copy(&work, &graph->arena, program.nodes.items, graph->node_count, sizeof *graph->nodes);
    kiln__arena_free(&work.scratch);
    if (work.status != KILN_OK)
        kiln__graph_destroy(graph);
    else
        *out = graph;
    return work.status;
}

void kiln__graph_destroy(kiln__graph *graph) {
    if (graph == NULL) return;
    kiln__arena_free(&graph->arena);
    free(graph);
}

int kiln__graph_find(const kiln__graph *graph, const char *name, size_t length) {
    for (uint32_t i = 0; i < graph->name_count; i++)
        if (strlen(graph->names[i].text) == length && memcmp(graph->names[i].text, name, length) == 0) return (int)i;
    return -1;
}

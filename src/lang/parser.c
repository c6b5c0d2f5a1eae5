/* Program text to graph: statements, the parser's state, its failures. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/parser.h"

void kiln__parser_fail(kiln__parser *parser, kiln_status status, const kiln__token *at, const char *format, ...) {
    if (parser->status != KILN_OK) return;
    char sentence[800];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    parser->status = kiln__fail_at(status, parser->lexer.file, at->line, at->column, "%s", sentence);
    parser->token.kind = KILN__TOKEN_END;
}

void kiln__parser_out_of_memory(kiln__parser *parser) {
    if (parser->status == KILN_OK) parser->status = kiln__out_of_memory();
    parser->token.kind = KILN__TOKEN_END;
}

void kiln__parser_advance(kiln__parser *parser) {
    if (parser->status == KILN_OK) parser->status = kiln__lexer_next(&parser->lexer, &parser->token);
    if (parser->status != KILN_OK) parser->token.kind = KILN__TOKEN_END;
}

bool kiln__parser_expect(kiln__parser *parser, int kind, const char *what) {
    char quote[KILN__QUOTE_SIZE];
    if (parser->status == KILN_OK && parser->token.kind == kind) {
        kiln__parser_advance(parser);
        return parser->status == KILN_OK;
    }
    kiln__parser_fail(parser, KILN_E_SYNTAX, &parser->token, "expected %s, found %s", what,
                      kiln__token_quote(&parser->token, quote));
    return false;
}

bool kiln__token_is(const kiln__token *token, const char *word) {
    return token->kind == KILN__TOKEN_NAME && strlen(word) == token->length &&
           memcmp(token->text, word, token->length) == 0;
}

bool kiln__parser_is_reserved(const kiln__token *name) {
    return kiln__token_is(name, "fn") || kiln__token_is(name, "inf") || kiln__token_is(name, "nan") ||
           kiln__token_is(name, "true") || kiln__token_is(name, "false");
}

uint32_t kiln__parser_new_name(kiln__parser *parser, const kiln__token *token, bool assigned, uint32_t node) {
    kiln__graph *graph = parser->graph;
    if (parser->status != KILN_OK) return 0;
    if (graph->name_count == KILN__MAX_NODES) {
        kiln__parser_fail(parser, KILN_E_LIMIT, token, "the program has more than %d names", KILN__MAX_NODES);
        return 0;
    }
    kiln__name name = {
        .assigned = assigned, .read = !assigned, .node = node, .line = token->line, .column = token->column};
    name.text = kiln__arena_copy(&graph->arena, token->text, token->length);
    kiln__name *names =
        kiln__grow(&graph->arena, graph->names, graph->name_count, &parser->name_capacity, sizeof *names);
    if (name.text == NULL || names == NULL) {
        kiln__parser_out_of_memory(parser);
        return 0;
    }
    if (!assigned) {
        kiln__node leaf = {.op = KILN__OP_NAME, .line = token->line, .column = token->column};
        leaf.u.name = graph->name_count;
        name.node = kiln__nodes_add(parser, &parser->program, &leaf);
    }
    graph->names = names;
    graph->names[graph->name_count++] = name;
    return name.node;
}

/* name = expression */
static void parse_assignment(kiln__parser *parser) {
    kiln__token name = parser->token;
    char quote[KILN__QUOTE_SIZE];
    kiln__token_quote(&name, quote);
    if (name.kind != KILN__TOKEN_NAME) {
        kiln__parser_fail(parser, KILN_E_SYNTAX, &name, "expected a statement 'name = expression', found %s", quote);
    } else if (kiln__parser_is_reserved(&name)) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "%s is a reserved word, it cannot be assigned", quote);
    } else if (kiln__is_callable(parser, &name)) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "%s is a function, it cannot be assigned", quote);
    }
    kiln__parser_advance(parser);
    if (!kiln__parser_expect(parser, '=', "'=' after the assigned name")) return;
    uint32_t value = kiln__parse_expression(parser);
    if (parser->status != KILN_OK) return;
    int known = kiln__graph_find(parser->graph, name.text, name.length);
    if (known < 0) {
        kiln__parser_new_name(parser, &name, true, value);
        return;
    }
    const kiln__name *first = &parser->graph->names[known];
    if (first->assigned) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "%s is assigned twice, first at %u:%u", quote, first->line,
                          first->column);
    } else {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "%s is assigned after it was read as an input at %u:%u", quote,
                          first->line, first->column);
    }
}

static bool at_separator(const kiln__parser *parser) {
    return parser->token.kind == KILN__TOKEN_NEWLINE || parser->token.kind == ';';
}

void kiln__parser_expect_end(kiln__parser *parser) {
    char quote[KILN__QUOTE_SIZE];
    if (parser->token.kind == KILN__TOKEN_END || at_separator(parser)) return;
    kiln__parser_fail(parser, KILN_E_SYNTAX, &parser->token,
                      "expected an operator or the end of the statement, found %s",
                      kiln__token_quote(&parser->token, quote));
}

static void parse_text(kiln__parser *parser, const char *text) {
    parser->lexer = (kiln__lexer){.at = text, .line_start = text, .line = 1, .file = ""};
    kiln__parser_advance(parser);
    for (;;) {
        while (at_separator(parser)) kiln__parser_advance(parser);
        if (parser->status != KILN_OK || parser->token.kind == KILN__TOKEN_END) return;
        if (kiln__token_is(&parser->token, "fn")) {
            kiln__parser_advance(parser);
            kiln__parse_function(parser);
        } else {
            parse_assignment(parser);
        }
        kiln__parser_expect_end(parser);
    }
}

/* Parses the text into parser->graph. */
static void parse_program(kiln__parser *parser, const char *text) {
    kiln__graph *graph = parser->graph;
    kiln__scope scope = {KILN__SCOPE_PROGRAM, &parser->program, NULL, 0};
    parser->scope = &scope;
    kiln__prelude_index(parser);
    parse_text(parser, text);
    if (parser->status == KILN_OK && graph->name_count == 0) {
        kiln__parser_fail(parser, KILN_E_SYNTAX, &parser->token,
                          "expected a statement 'name = expression', found the end of the program");
    }
    if (parser->status != KILN_OK) return;
    graph->node_count = parser->program.count;
    graph->nodes = kiln__arena_alloc(&graph->arena, graph->node_count, sizeof *graph->nodes);
    if (graph->nodes == NULL) {
        kiln__parser_out_of_memory(parser);
        return;
    }
    memcpy(graph->nodes, parser->program.items, graph->node_count * sizeof *graph->nodes);
}

kiln_status kiln__graph_parse(const char *text, kiln__graph **out) {
    *out = NULL;
    size_t length = strlen(text);
    if (length > KILN__MAX_TEXT)
        return kiln__fail(KILN_E_LIMIT, "the program has %zu bytes, at most %d are allowed", length, KILN__MAX_TEXT);
    kiln__graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) return kiln__out_of_memory();
    kiln__parser parser = {.graph = graph};
    graph->text = kiln__arena_copy(&graph->arena, text, length);
    if (graph->text == NULL)
        kiln__parser_out_of_memory(&parser);
    else
        parse_program(&parser, graph->text);
    kiln__arena_free(&parser.scratch);
    if (parser.status != KILN_OK) {
        kiln__graph_destroy(graph);
        return parser.status;
    }
    *out = graph;
    return KILN_OK;
}

void kiln__graph_destroy(kiln__graph *graph) {
    if (graph == NULL) return;
    kiln__arena_free(&graph->arena);
    free(graph);
}

int kiln__graph_find(const kiln__graph *graph, const char *name, size_t length) {
    for (uint32_t i = 0; i < graph->name_count; i++) {
        if (strlen(graph->names[i].text) == length && memcmp(graph->names[i].text, name, length) == 0) return (int)i;
    }
    return -1;
}

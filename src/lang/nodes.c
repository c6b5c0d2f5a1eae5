/* Nodes under construction: equal ones are one node, and a call of a function copies its nodes. */
#include <string.h>

#include "lang/parser.h"

static kiln__key key_of_node(const kiln__node *node) {
    uint64_t payload = 0;
    switch (node->op) {
    case KILN__OP_FLOAT: memcpy(&payload, &node->u.f64, sizeof payload); break;
    case KILN__OP_INT:
    case KILN__OP_BOOL: payload = (uint64_t)node->u.i64; break;
    case KILN__OP_NAME: payload = node->u.name; break;
    case KILN__OP_CONVERT: payload = (uint64_t)node->u.type; break;
    case KILN__OP_REDUCE_USER: payload = node->u.reducer; break;
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: payload = (uint32_t)node->u.axis; break;
    case KILN__OP_PARAM: payload = node->u.param; break;
    default: break;
    }
    return kiln__key_of((uint32_t)node->op, node->arg_count, node->args, payload);
}

uint32_t kiln__nodes_add(kiln__parser *parser, kiln__nodes *nodes, const kiln__node *node) {
    if (parser->status != KILN_OK) return 0;
    nodes->intern.arena = &parser->scratch;
    kiln__key key = key_of_node(node);
    uint32_t index;
    if (!kiln__intern_add(&nodes->intern, &key, &index)) {
        kiln__parser_out_of_memory(parser);
        return 0;
    }
    if (index < nodes->count) return index;
    if (nodes->count == KILN__MAX_NODES) {
        parser->status =
            kiln__fail_at(KILN_E_LIMIT, parser->lexer.file, node->line, node->column,
                          "the program has more than %d operations after its functions are expanded", KILN__MAX_NODES);
        return 0;
    }
    kiln__node *items = kiln__grow(&parser->scratch, nodes->items, nodes->count, &nodes->capacity, sizeof *items);
    if (items == NULL) {
        kiln__parser_out_of_memory(parser);
        return 0;
    }
    nodes->items = items;
    nodes->items[nodes->count] = *node;
    return nodes->count++;
}

/* What a combine cannot hold: it is given two values and knows neither rows nor positions. */
static bool needs_a_row(kiln__op op) {
    return kiln__op_is_reduction(op) || op == KILN__OP_INDEX || op == KILN__OP_SIZE || op == KILN__OP_UNIFORM ||
           op == KILN__OP_COUNT;
}

static uint32_t add_in_scope(kiln__parser *parser, const kiln__token *at, const kiln__node *node) {
    if (parser->scope->kind == KILN__SCOPE_COMBINE && needs_a_row(node->op)) {
        char quote[KILN__QUOTE_SIZE];
        kiln__parser_fail(parser, KILN_E_TYPE, at,
                          "%s cannot stand in the combine of reduce, which takes elementwise operations only",
                          kiln__token_quote(at, quote));
        return 0;
    }
    return kiln__nodes_add(parser, parser->scope->nodes, node);
}

uint32_t kiln__parser_add(kiln__parser *parser, const kiln__token *at, kiln__op op, const uint32_t *args,
                          uint32_t arg_count) {
    kiln__node node = {.op = op, .arg_count = (uint8_t)arg_count, .line = at->line, .column = at->column};
    for (uint32_t i = 0; i < arg_count; i++) node.args[i] = args[i];
    return add_in_scope(parser, at, &node);
}

uint32_t kiln__parser_add_constant(kiln__parser *parser, const kiln__token *at, const kiln__constant *constant) {
    kiln__node node = {.op = constant->kind, .line = at->line, .column = at->column};
    if (constant->kind == KILN__OP_FLOAT)
        node.u.f64 = constant->f64;
    else
        node.u.i64 = constant->i64;
    return add_in_scope(parser, at, &node);
}

uint32_t kiln__parser_expand(kiln__parser *parser, const kiln__token *at, const kiln__function *function,
                             const uint32_t *args) {
    if (parser->status != KILN_OK) return 0;
    const kiln__nodes *nodes = &function->nodes;
    parser->copies += nodes->count;
    if (parser->copies > KILN__MAX_COPIES) {
        kiln__parser_fail(parser, KILN_E_LIMIT, at, "calls of functions expand to more than %d operations in all",
                          KILN__MAX_COPIES);
        return 0;
    }
    uint32_t *map = kiln__arena_alloc(&parser->scratch, nodes->count, sizeof *map);
    if (map == NULL) {
        kiln__parser_out_of_memory(parser);
        return 0;
    }
    for (uint32_t i = 0; i < nodes->count && parser->status == KILN_OK; i++) {
        kiln__node node = nodes->items[i];
        if (node.op == KILN__OP_PARAM) {
            map[i] = args[node.u.param];
            continue;
        }
        node.line = at->line;
        node.column = at->column;
        for (uint32_t k = 0; k < node.arg_count; k++) node.args[k] = map[node.args[k]];
        map[i] = add_in_scope(parser, at, &node);
    }
    return parser->status == KILN_OK ? map[function->result] : 0;
}

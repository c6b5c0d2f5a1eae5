/* Expressions, by precedence climbing: C's operators, and ** as in Python. */
#include <math.h>
#include <string.h>

#include "lang/parser.h"

static const struct {
    int kind;
    int precedence;
    kiln__op op;
} binary_operators[] = {
    {KILN__PAIR('|', '|'), 1, KILN__OP_OR},
    {KILN__PAIR('&', '&'), 2, KILN__OP_AND},
    {'|', 3, KILN__OP_BITOR},
    {'^', 4, KILN__OP_BITXOR},
    {'&', 5, KILN__OP_BITAND},
    {KILN__PAIR('=', '='), 6, KILN__OP_EQ},
    {KILN__PAIR('!', '='), 6, KILN__OP_NE},
    {'<', 7, KILN__OP_LT},
    {KILN__PAIR('<', '='), 7, KILN__OP_LE},
    {'>', 7, KILN__OP_GT},
    {KILN__PAIR('>', '='), 7, KILN__OP_GE},
    {KILN__PAIR('<', '<'), 8, KILN__OP_SHL},
    {KILN__PAIR('>', '>'), 8, KILN__OP_SHR},
    {'+', 9, KILN__OP_ADD},
    {'-', 9, KILN__OP_SUB},
    {'*', 10, KILN__OP_MUL},
    {'/', 10, KILN__OP_DIV},
    {'%', 10, KILN__OP_MOD},
};

static uint32_t parse_unary(kiln__parser *parser);

static bool enter(kiln__parser *parser) {
    if (parser->depth == KILN__MAX_DEPTH) {
        kiln__parser_fail(parser, KILN_E_LIMIT, &parser->token, "the expression is nested more than %d deep",
                          KILN__MAX_DEPTH);
        return false;
    }
    parser->depth++;
    return true;
}

static uint32_t read_name(kiln__parser *parser, const kiln__token *name) {
    const kiln__scope *scope = parser->scope;
    char quote[KILN__QUOTE_SIZE];
    kiln__token_quote(name, quote);
    for (uint32_t i = 0; i < scope->parameter_count; i++) {
        if (scope->parameters[i].length == name->length &&
            memcmp(scope->parameters[i].name, name->text, name->length) == 0) {
            kiln__node node = {.op = KILN__OP_PARAM, .line = name->line, .column = name->column};
            node.u.param = i;
            return kiln__nodes_add(parser, scope->nodes, &node);
        }
    }
    if (kiln__is_callable(parser, name)) {
        kiln__parser_fail(parser, KILN_E_NAME, name, "%s is a function, expected '(' and its arguments after it",
                          quote);
    } else if (scope->kind == KILN__SCOPE_FUNCTION) {
        kiln__parser_fail(parser, KILN_E_NAME, name, "%s is no parameter of the function, and it can read nothing else",
                          quote);
    } else if (scope->kind == KILN__SCOPE_COMBINE) {
        kiln__parser_fail(parser, KILN_E_NAME, name,
                          "%s is no parameter of the combine of reduce, and it can read nothing else", quote);
    } else if (scope->kind == KILN__SCOPE_CONSTANT) {
        kiln__parser_fail(parser, KILN_E_NAME, name, "expected a constant, found the name %s", quote);
    }
    if (parser->status != KILN_OK) return 0;
    kiln__graph *graph = parser->graph;
    int known = kiln__graph_find(graph, name->text, name->length);
    if (known >= 0) {
        graph->names[known].read = true;
        return graph->names[known].node;
    }
    return kiln__parser_new_name(parser, name, false, 0);
}

static uint32_t parse_primary(kiln__parser *parser) {
    kiln__token token = parser->token;
    kiln__constant constant;
    switch (token.kind) {
    case KILN__TOKEN_INT: constant = kiln__constant_int(token.value.i64); break;
    case KILN__TOKEN_FLOAT: constant = kiln__constant_float(token.value.f64); break;
    case '(':
        kiln__parser_advance(parser);
        uint32_t inner = kiln__parse_expression(parser);
        kiln__parser_expect(parser, ')', "')'");
        return inner;
    case KILN__TOKEN_NAME:
        if (kiln__token_is(&token, "inf"))
            constant = kiln__constant_float(INFINITY);
        else if (kiln__token_is(&token, "nan"))
            constant = kiln__constant_float(NAN);
        else if (kiln__token_is(&token, "true"))
            constant = kiln__constant_bool(true);
        else if (kiln__token_is(&token, "false"))
            constant = kiln__constant_bool(false);
        else if (kiln__parser_is_reserved(&token)) {
            kiln__parser_fail(parser, KILN_E_SYNTAX, &token, "expected an expression, found 'fn'");
            return 0;
        } else {
            kiln__parser_advance(parser);
            return parser->token.kind == '(' ? kiln__parse_call(parser, &token) : read_name(parser, &token);
        }
        break;
    default: {
        char quote[KILN__QUOTE_SIZE];
        kiln__parser_fail(parser, KILN_E_SYNTAX, &token, "expected an expression, found %s",
                          kiln__token_quote(&token, quote));
        return 0;
    }
    }
    kiln__parser_advance(parser);
    return kiln__parser_add_constant(parser, &token, &constant);
}

/* The exponent may carry a sign of its own, and -x ** 2 is -(x ** 2). */
static uint32_t parse_power(kiln__parser *parser) {
    uint32_t args[2] = {parse_primary(parser), 0};
    if (parser->token.kind != KILN__PAIR('*', '*')) return args[0];
    kiln__token at = parser->token;
    if (!enter(parser)) return 0;
    kiln__parser_advance(parser);
    args[1] = parse_unary(parser);
    parser->depth--;
    return kiln__parser_add(parser, &at, KILN__OP_POW, args, 2);
}

static uint32_t parse_unary(kiln__parser *parser) {
    kiln__token at = parser->token;
    if (at.kind != '-' && at.kind != '+' && at.kind != '!' && at.kind != '~') return parse_power(parser);
    if (!enter(parser)) return 0;
    kiln__parser_advance(parser);
    uint32_t arg = parse_unary(parser);
    parser->depth--;
    if (at.kind == '+') return arg;
    kiln__op op = at.kind == '-' ? KILN__OP_NEG : at.kind == '!' ? KILN__OP_NOT : KILN__OP_BITNOT;
    return kiln__parser_add(parser, &at, op, &arg, 1);
}

static uint32_t parse_binary(kiln__parser *parser, int lowest) {
    uint32_t args[2] = {parse_unary(parser), 0};
    for (size_t i = 0; i < sizeof binary_operators / sizeof binary_operators[0];) {
        if (binary_operators[i].kind != parser->token.kind || binary_operators[i].precedence < lowest) {
            i++;
            continue;
        }
        kiln__token at = parser->token;
        kiln__parser_advance(parser);
        args[1] = parse_binary(parser, binary_operators[i].precedence + 1);
        args[0] = kiln__parser_add(parser, &at, binary_operators[i].op, args, 2);
        i = 0;
    }
    return args[0];
}

uint32_t kiln__parse_expression(kiln__parser *parser) {
    if (!enter(parser)) return 0;
    uint32_t args[3] = {parse_binary(parser, 1), 0, 0};
    if (parser->token.kind == '?') {
        kiln__token at = parser->token;
        kiln__parser_advance(parser);
        args[1] = kiln__parse_expression(parser);
        kiln__parser_expect(parser, ':', "':' and the value where the condition is false");
        args[2] = kiln__parse_expression(parser);
        args[0] = kiln__parser_add(parser, &at, KILN__OP_WHERE, args, 3);
    }
    parser->depth--;
    return args[0];
}

kiln__constant kiln__parse_constant(kiln__parser *parser) {
    kiln__constant none = kiln__constant_int(0);
    kiln__nodes nodes = {0};
    kiln__scope scope = {KILN__SCOPE_CONSTANT, &nodes, NULL, 0};
    const kiln__scope *outer = parser->scope;
    kiln__token at = parser->token;
    parser->scope = &scope;
    uint32_t result = kiln__parse_expression(parser);
    parser->scope = outer;
    if (parser->status != KILN_OK) return none;
    kiln__constant *values = kiln__arena_alloc(&parser->scratch, nodes.count, sizeof *values);
    if (values == NULL) {
        kiln__parser_out_of_memory(parser);
        return none;
    }
    for (uint32_t i = 0; i < nodes.count; i++) {
        const kiln__node *node = &nodes.items[i];
        if (node->op == KILN__OP_FLOAT)
            values[i] = kiln__constant_float(node->u.f64);
        else if (node->op == KILN__OP_INT)
            values[i] = kiln__constant_int(node->u.i64);
        else if (node->op == KILN__OP_BOOL)
            values[i] = kiln__constant_bool(node->u.i64 != 0);
        else {
            kiln__constant args[3] = {none, none, none};
            for (uint32_t k = 0; k < node->arg_count; k++) args[k] = values[node->args[k]];
            if (!kiln__fold(node->op, args, &values[i])) {
                kiln__parser_fail(parser, KILN_E_TYPE, &at, "expected a constant: literals, and operators on them");
                return none;
            }
        }
    }
    return values[result];
}

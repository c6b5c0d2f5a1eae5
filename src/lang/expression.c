/* Expressions, by precedence climbing: C's operators, and ** as in Python. */
#include <math.h>
#include <string.h>

#include "lang/parser.h"

/* clang-format off */
static const struct {
    int kind, precedence;
    kiln__op op;
} binary_operators[] = {
    {KILN__PAIR('|', '|'), 1, KILN__OP_OR},
    {KILN__PAIR('&', '&'), 2, KILN__OP_AND},
    {'|', 3, KILN__OP_BITOR},
    {'^', 4, KILN__OP_BITXOR},
    {'&', 5, KILN__OP_BITAND},
    {KILN__PAIR('=', '='), 6, KILN__OP_EQ}, {KILN__PAIR('!', '='), 6, KILN__OP_NE},
    {'<', 7, KILN__OP_LT}, {KILN__PAIR('<', '='), 7, KILN__OP_LE},
    {'>', 7, KILN__OP_GT}, {KILN__PAIR('>', '='), 7, KILN__OP_GE},
    {KILN__PAIR('<', '<'), 8, KILN__OP_SHL}, {KILN__PAIR('>', '>'), 8, KILN__OP_SHR},
    {'+', 9, KILN__OP_ADD}, {'-', 9, KILN__OP_SUB},
    {'*', 10, KILN__OP_MUL}, {'/', 10, KILN__OP_DIV}, {'%', 10, KILN__OP_MOD},
};

/* Words that are no names; fn has no value. */
static const struct {
    const char *word;
    kiln__node value;
} reserved[] = {
    {"fn", {.op = KILN__OP_NAME}},
    {"inf", {.op = KILN__OP_FLOAT, .u.f64 = INFINITY}}, {"nan", {.op = KILN__OP_FLOAT, .u.f64 = NAN}},
    {"true", {.op = KILN__OP_BOOL, .u.i64 = 1}}, {"false", {.op = KILN__OP_BOOL, .u.i64 = 0}},
};
/* clang-format on */

static uint32_t parse_unary(kiln__parser *parser);

static bool enter(kiln__parser *parser) {
    if (parser->lexer.depth == KILN__MAX_DEPTH)
        return KILN__FAIL_AT(parser, &parser->token, KILN_E_LIMIT, "the expression is nested more than %d deep",
                             KILN__MAX_DEPTH);
    parser->lexer.depth++;
    return true;
}

static const kiln__node *reserved_value(const kiln__token *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (kiln__token_is(name, reserved[i].word, strlen(reserved[i].word))) return &reserved[i].value;
    return NULL;
}

bool kiln__is_reserved(const kiln__token *name) { return reserved_value(name) != NULL; }

static uint32_t read_name(kiln__parser *parser, const kiln__token *name) {
    static const char *const problems[] = {
        [KILN__SCOPE_FUNCTION] = "is no parameter of the function, and it can read nothing else",
        [KILN__SCOPE_COMBINE] = "is no parameter of the combine of reduce, and it can read nothing else",
    };
    const kiln__function *function = parser->current;
    kiln__graph *graph = parser->graph;
    uint32_t param = kiln__parameter_find(function, name);
    if (param < function->parameter_count)
        return kiln__parser_add(parser, name, (kiln__node){.op = KILN__OP_PARAM, .u.param = param});
    if (kiln__is_callable(parser, name))
        return kiln__parser_reject(parser, name, KILN_E_NAME, "is a function, expected '(' and its arguments after it");
    if (function->scope == KILN__SCOPE_CONSTANT)
        return KILN__FAIL_AT(parser, name, KILN_E_NAME, "expected a constant, found the name %s",
                             kiln__parser_quote(parser, name));
    if (function->scope != KILN__SCOPE_PROGRAM)
        return kiln__parser_reject(parser, name, KILN_E_NAME, problems[function->scope]);
    int known = kiln__graph_find(graph, name->text, name->length);
    if (known < 0) return kiln__parser_new_name(parser, name, false, 0);
    graph->names[known].read = true;
    return graph->names[known].node;
}

static uint32_t parse_primary(kiln__parser *parser) {
    kiln__token token = parser->token;
    const kiln__node *word = reserved_value(&token);
    kiln__node value = {.op = KILN__OP_NAME}; /* none: what stands here begins no expression */
    switch (token.kind) {
    case KILN__TOKEN_INT: value = kiln__literal_int(token.value.i64); break;
    case KILN__TOKEN_FLOAT: value = kiln__literal_float(token.value.f64); break;
    case KILN__TOKEN_NAME:
        if (word != NULL) {
            value = *word;
            break;
        }
        kiln__parser_advance(parser);
        return parser->token.kind == '(' ? kiln__parse_call(parser, &token) : read_name(parser, &token);
    case '(':
        kiln__parser_advance(parser);
        uint32_t inner = kiln__parse_expression(parser);
        kiln__parser_expect(parser, ')', "')'");
        return inner;
    default: break;
    }
    if (value.op == KILN__OP_NAME) return kiln__parser_expected(parser, &token, "an expression");
    kiln__parser_advance(parser);
    return kiln__parser_add(parser, &token, value);
}

/* The exponent may carry a sign of its own, and -x ** 2 is -(x ** 2). */
static uint32_t parse_power(kiln__parser *parser) {
    kiln__node power = {.op = KILN__OP_POW, .arg_count = 2, .args = {parse_primary(parser)}};
    kiln__token at = parser->token;
    if (at.kind != KILN__PAIR('*', '*')) return power.args[0];
    if (!enter(parser)) return 0;
    kiln__parser_advance(parser);
    power.args[1] = parse_unary(parser);
    parser->lexer.depth--;
    return kiln__parser_add(parser, &at, power);
}

static uint32_t parse_unary(kiln__parser *parser) {
    kiln__token at = parser->token;
    if (at.kind != '-' && at.kind != '+' && at.kind != '!' && at.kind != '~') return parse_power(parser);
    if (!enter(parser)) return 0;
    kiln__parser_advance(parser);
    uint32_t arg = parse_unary(parser);
    parser->lexer.depth--;
    if (at.kind == '+') return arg;
    kiln__op op = at.kind == '-' ? KILN__OP_NEG : at.kind == '!' ? KILN__OP_NOT : KILN__OP_BITNOT;
    return kiln__parser_add(parser, &at, (kiln__node){.op = op, .arg_count = 1, .args = {arg}});
}

static uint32_t parse_binary(kiln__parser *parser, int lowest) {
    uint32_t left = parse_unary(parser);
    for (size_t i = 0; i < sizeof binary_operators / sizeof binary_operators[0];) {
        kiln__token at = parser->token;
        if (binary_operators[i].kind != at.kind || binary_operators[i].precedence < lowest) {
            i++;
            continue;
        }
        kiln__parser_advance(parser);
        uint32_t right = parse_binary(parser, binary_operators[i].precedence + 1);
        kiln__node node = {.op = binary_operators[i].op, .arg_count = 2, .args = {left, right}};
        left = kiln__parser_add(parser, &at, node);
        i = 0;
    }
    return left;
}

uint32_t kiln__parse_expression(kiln__parser *parser) {
    if (!enter(parser)) return 0;
    uint32_t value = parse_binary(parser, 1);
    kiln__token at = parser->token;
    if (at.kind == '?') {
        kiln__node where = {.op = KILN__OP_WHERE, .arg_count = 3, .args = {value}};
        kiln__parser_advance(parser);
        where.args[1] = kiln__parse_expression(parser);
        kiln__parser_expect(parser, ':', "':' and the value where the condition is false");
        where.args[2] = kiln__parse_expression(parser);
        value = kiln__parser_add(parser, &at, where);
    }
    parser->lexer.depth--;
    return value;
}

void kiln__parse_body(kiln__parser *parser, kiln__function *function) {
    kiln__function *outer = parser->current;
    parser->current = function;
    function->result = kiln__parse_expression(parser);
    parser->current = outer;
}

kiln__node kiln__parse_constant(kiln__parser *parser) {
    kiln__function constant = {.scope = KILN__SCOPE_CONSTANT};
    kiln__token at = parser->token;
    kiln__parse_body(parser, &constant);
    for (uint32_t i = 0; i < constant.nodes.count && parser->work->status == KILN_OK; i++) {
        kiln__node *node = &constant.nodes.items[i], args[3];
        for (uint32_t k = 0; k < node->arg_count; k++) args[k] = constant.nodes.items[node->args[k]];
        if (!kiln__is_literal(node) && !kiln__fold(node->op, args, node))
            KILN__FAIL_AT(parser, &at, KILN_E_TYPE, "expected a constant: literals, and operators on them");
    }
    return parser->work->status == KILN_OK ? constant.nodes.items[constant.result] : (kiln__node){0};
}

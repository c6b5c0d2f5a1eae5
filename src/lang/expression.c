/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions, by operator precedence with a stack of its own: C's operators, and ** as in Python. */
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

int kiln__operator_precedence(kiln__op op) {
    size_t i = 0;
    while (i < sizeof binary_operators / sizeof binary_operators[0] && binary_operators[i].op != op) i++;
    return i < sizeof binary_operators / sizeof binary_operators[0] ? binary_operators[i].precedence : 0;
}

bool kiln__parser_push(kiln__parser *parser, const kiln__frame *frame) {
    /* Operands of one expression's operators count once: there are at most as many as precedences. */
    bool nests = frame->kind != KILN__FRAME_BINARY;
    if (nests && parser->lexer.depth == KILN__MAX_DEPTH)
        return KILN__FAIL_AT(parser, &parser->token, KILN_E_LIMIT, "the expression is nested more than %d deep",
                             KILN__MAX_DEPTH);
    kiln__frame *frames = kiln__work_grow(parser->work, &parser->work->scratch, parser->frames, parser->frame_count,
                                          &parser->frame_capacity, sizeof *frames);
    if (frames == NULL) return false;
    parser->frames = frames;
    frames[parser->frame_count++] = *frame;
    parser->lexer.depth += nests;
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
    if (graph->names[known].repeat)
        return KILN__FAIL_AT(parser, name, KILN_E_NAME,
                             "%s is read as repeat(...) before: repeat(s, N) is of an input, which is read in no other "
                             "way",
                             kiln__parser_quote(parser, name));
    graph->names[known].read = true;
    return graph->names[known].node;
}

static bool literal(kiln__parser *parser, const kiln__token *token, kiln__node value, uint32_t *out) {
    kiln__parser_advance(parser);
    *out = kiln__parser_add(parser, token, value);
    return true;
}

/* Where an operand is to begin. True: *value is one; false: one is still to come. */
static bool take_operand(kiln__parser *parser, uint32_t *value) {
    const kiln__token token = parser->token;
    const kiln__node *word = reserved_value(&token);
    kiln__frame frame = {.kind = KILN__FRAME_UNARY, .at = token};
    switch (token.kind) {
    case KILN__TOKEN_INT: return literal(parser, &token, kiln__literal_uint(token.value.u64), value);
    case KILN__TOKEN_FLOAT: return literal(parser, &token, kiln__literal_float(token.value.f64), value);
    case KILN__TOKEN_NAME:
        if (word != NULL && word->op != KILN__OP_NAME) return literal(parser, &token, *word, value);
        if (word != NULL) break;
        kiln__parser_advance(parser);
        if (parser->token.kind == '(') return kiln__call_begin(parser, &token, value);
        *value = read_name(parser, &token);
        return true;
    case '(': frame.kind = KILN__FRAME_GROUP; break;
    case '-': frame.op = KILN__OP_NEG; break;
    case '!': frame.op = KILN__OP_NOT; break;
    case '~': frame.op = KILN__OP_BITNOT; break;
    case '+': frame.op = KILN__OP_NAME; break; /* leaves its operand as it is */
    default: return kiln__parser_expected(parser, &token, "an expression");
    }
    if (word != NULL) return kiln__parser_expected(parser, &token, "an expression");
    if (kiln__parser_push(parser, &frame)) kiln__parser_advance(parser);
    return false;
}

/* Whether the operator behind an operand takes it, before what waits for it does. */
static bool take_operator(kiln__parser *parser, uint32_t value) {
    const kiln__frame *waiting = &parser->frames[parser->frame_count - 1];
    kiln__frame frame = {.kind = KILN__FRAME_POWER, .values = {value}, .at = parser->token};
    size_t i = 0, count = sizeof binary_operators / sizeof binary_operators[0];
    if (frame.at.kind != KILN__PAIR('*', '*')) {
        if (waiting->kind == KILN__FRAME_UNARY || waiting->kind == KILN__FRAME_POWER) return false;
        while (i < count && binary_operators[i].kind != frame.at.kind) i++;
        frame.kind = i < count ? KILN__FRAME_BINARY : KILN__FRAME_CHOICE;
        if (i < count) {
            frame.op = binary_operators[i].op;
            frame.precedence = binary_operators[i].precedence;
        } else if (frame.at.kind != '?') {
            return false;
        }
        if (waiting->kind == KILN__FRAME_BINARY && waiting->precedence >= frame.precedence) return false;
    }
    if (kiln__parser_push(parser, &frame)) kiln__parser_advance(parser);
    return true;
}

/* Gives the value to what waited for it. True: *value is an operand again; false: one more is to come. */
static bool close_frame(kiln__parser *parser, uint32_t *value) {
    kiln__frame frame = parser->frames[--parser->frame_count];
    kiln__node node = {.op = frame.op, .arg_count = 2, .args = {frame.values[0], *value}};
    parser->lexer.depth -= frame.kind != KILN__FRAME_BINARY;
    switch (frame.kind) {
    case KILN__FRAME_END: return true;
    case KILN__FRAME_GROUP: kiln__parser_expect(parser, ')', "')'"); return true;
    case KILN__FRAME_UNARY:
        if (frame.op == KILN__OP_NAME) return true;
        node = (kiln__node){.op = frame.op, .arg_count = 1, .args = {*value}};
        break;
    case KILN__FRAME_POWER: node.op = KILN__OP_POW; break;
    case KILN__FRAME_BINARY: break;
    case KILN__FRAME_CHOICE:
        frame.kind = KILN__FRAME_OTHERWISE;
        frame.values[1] = *value;
        if (kiln__parser_expect(parser, ':', "':' and the value where the condition is false"))
            kiln__parser_push(parser, &frame);
        return false;
    case KILN__FRAME_OTHERWISE:
        node = (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {frame.values[0], frame.values[1], *value}};
        break;
    default: return kiln__call_continue(parser, &frame, value);
    }
    *value = kiln__parser_add(parser, &frame.at, node);
    return true;
}

uint32_t kiln__parse_expression(kiln__parser *parser) {
    const uint32_t outer = parser->frame_count;
    uint32_t value = 0;
    bool complete = false; /* what was read so far is an operand */
    kiln__parser_push(parser, &(kiln__frame){.kind = KILN__FRAME_END});
    while (parser->work->status == KILN_OK && parser->frame_count > outer) {
        if (!complete)
            complete = take_operand(parser, &value);
        else if (take_operator(parser, value))
            complete = false;
        else
            complete = close_frame(parser, &value);
    }
    return value;
}

void kiln__parse_body(kiln__parser *parser, kiln__function *function) {
    kiln__function *outer = parser->current;
    parser->current = function;
    function->result = kiln__parse_expression(parser);
    parser->current = outer;
}

kiln__node kiln__constant_value(kiln__parser *parser, const kiln__function *constant, const kiln__token *at) {
    for (uint32_t i = 0; i < constant->nodes.count && parser->work->status == KILN_OK; i++) {
        kiln__node *node = &constant->nodes.items[i], args[3];
        for (uint32_t k = 0; k < node->arg_count; k++) args[k] = constant->nodes.items[node->args[k]];
        if (!kiln__is_literal(node) && !kiln__fold(node->op, args, node))
            KILN__FAIL_AT(parser, at, KILN_E_TYPE, "expected a constant: literals, and operators on them");
    }
    return parser->work->status == KILN_OK ? constant->nodes.items[constant->result] : (kiln__node){0};
}

kiln__node kiln__parse_constant(kiln__parser *parser) {
    kiln__function constant = {.scope = KILN__SCOPE_CONSTANT};
    kiln__token at = parser->token;
    kiln__parse_body(parser, &constant);
    return kiln__constant_value(parser, &constant, &at);
}

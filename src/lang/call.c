/* Calls: operators by name, conversions, functions, and the few with a form of their own. */
#include <string.h>

#include "lang/parser.h"

#define NOT_GIVEN UINT32_MAX

typedef struct arguments {
    uint32_t nodes[KILN__MAX_PARAMETERS]; /* of each parameter */
    uint32_t count;                       /* by position; may exceed what nodes has room for */
    bool named;                           /* one was given by its name */
} arguments;

/* One argument, by its position or as in "ddof = 0"; function is NULL for an operator, which has no parameter names. */
static void parse_argument(kiln__parser *parser, const kiln__function *function, arguments *args) {
    kiln__token name = parser->token;
    uint32_t place = args->count;
    if (function != NULL && name.kind == KILN__TOKEN_NAME && kiln__parser_at_assignment(parser)) {
        int length = (int)function->length;
        place = kiln__parameter_find(function, &name);
        args->named = true;
        if (place == function->parameter_count) {
            KILN__FAIL_AT(parser, &name, KILN_E_NAME, "'%.*s' has no parameter %s", length, function->name,
                          kiln__parser_quote(parser, &name));
        } else if (args->nodes[place] != NOT_GIVEN) {
            KILN__FAIL_AT(parser, &name, KILN_E_NAME, "the argument %s of '%.*s' is given twice",
                          kiln__parser_quote(parser, &name), length, function->name);
        }
        kiln__parser_advance(parser);
        kiln__parser_advance(parser);
    } else if (args->named) {
        KILN__FAIL_AT(parser, &name, KILN_E_SYNTAX, "an argument without a name follows one with a name");
    } else {
        args->count++;
    }
    uint32_t node = kiln__parse_expression(parser);
    if (place < KILN__MAX_PARAMETERS) args->nodes[place] = node;
}

/* The arguments and the ')' after them, as many as the call takes. */
static bool parse_arguments(kiln__parser *parser, const kiln__token *name, const kiln__function *function,
                            uint32_t least, uint32_t most, arguments *args) {
    memset(args->nodes, 0xff, sizeof args->nodes);
    bool more = parser->token.kind != ')';
    while (more) {
        parse_argument(parser, function, args);
        more = parser->token.kind == ',';
        if (more) kiln__parser_advance(parser);
    }
    if (!kiln__parser_expect(parser, ')', "',' or ')'")) return false;
    if (args->count <= most && (args->count >= least || args->named)) return true;
    const char *quote = kiln__parser_quote(parser, name);
    if (least != most)
        return KILN__FAIL_AT(parser, name, KILN_E_SYNTAX, "%s takes %u to %u arguments, found %u", quote, least, most,
                             args->count);
    return KILN__FAIL_AT(parser, name, KILN_E_SYNTAX, "%s takes %u argument%s, found %u", quote, least,
                         least == 1 ? "" : "s", args->count);
}

/* An operator or a conversion. */
static uint32_t call_operator(kiln__parser *parser, const kiln__token *name, kiln__node node) {
    arguments args = {.count = 0};
    node.arg_count = kiln__op_describe(node.op)->args;
    if (!parse_arguments(parser, name, NULL, node.arg_count, node.arg_count, &args)) return 0;
    memcpy(node.args, args.nodes, node.arg_count * sizeof node.args[0]);
    return kiln__parser_add(parser, name, node);
}

/* Adds function's nodes with its parameters replaced by args. */
static uint32_t expand(kiln__parser *parser, const kiln__token *at, const kiln__function *function,
                       const uint32_t *args) {
    const kiln__nodes *nodes = &function->nodes;
    parser->lexer.copies += nodes->count;
    if (parser->lexer.copies > KILN__MAX_COPIES)
        return KILN__FAIL_AT(parser, at, KILN_E_LIMIT, "calls of functions expand to more than %d operations in all",
                             KILN__MAX_COPIES);
    uint32_t *map = kiln__work_alloc(parser->work, &parser->work->scratch, nodes->count, sizeof *map);
    for (uint32_t i = 0; i < nodes->count && parser->work->status == KILN_OK; i++) {
        kiln__node node = nodes->items[i];
        for (uint32_t k = 0; k < node.arg_count; k++) node.args[k] = map[node.args[k]];
        map[i] = node.op == KILN__OP_PARAM ? args[node.u.param] : kiln__parser_add(parser, at, node);
    }
    return map == NULL ? 0 : map[function->result];
}

static uint32_t call_function(kiln__parser *parser, const kiln__token *name, const kiln__function *function) {
    arguments args = {.count = 0};
    uint32_t least = function->required_count, most = function->parameter_count;
    if (!parse_arguments(parser, name, function, least, most, &args)) return 0;
    for (uint32_t i = 0; i < most; i++) {
        const kiln__parameter *parameter = &function->parameters[i];
        if (args.nodes[i] != NOT_GIVEN) continue;
        if (!parameter->optional) {
            return KILN__FAIL_AT(parser, name, KILN_E_SYNTAX, "%s lacks its argument '%.*s'",
                                 kiln__parser_quote(parser, name), (int)parameter->length, parameter->name);
        }
        args.nodes[i] = kiln__parser_add(parser, name, parameter->value);
    }
    for (uint32_t i = 0; i < most; i++) {
        kiln__node conversion = function->parameters[i].conversion;
        if (!function->parameters[i].converted) continue;
        conversion.args[0] = args.nodes[i];
        args.nodes[i] = kiln__parser_add(parser, name, conversion);
    }
    return expand(parser, name, function, args.nodes);
}

/* index(axis), size(axis): the axis is written out, as the shape of the kernel depends on it. */
static uint32_t call_with_axis(kiln__parser *parser, const kiln__token *name, kiln__op op) {
    bool negative = parser->token.kind == '-';
    if (negative) kiln__parser_advance(parser);
    kiln__token axis = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "an axis, an integer literal")) return 0;
    if (axis.value.i64 > KILN_MAX_RANK)
        return KILN__FAIL_AT(parser, &axis, KILN_E_LIMIT, "axis %s is out of range, tensors have at most %d axes",
                             kiln__parser_quote(parser, &axis), KILN_MAX_RANK);
    kiln__parser_expect(parser, ')', "')' after the axis");
    kiln__node node = {.op = op, .u.axis = negative ? -(int32_t)axis.value.i64 : (int32_t)axis.value.i64};
    return kiln__parser_add(parser, name, node);
}

static bool same_reducer(const kiln__reducer *a, const kiln__reducer *b) {
    if (a->node_count != b->node_count || a->result != b->result || !kiln__node_equal(&a->identity, &b->identity))
        return false;
    for (uint32_t i = 0; i < a->node_count; i++)
        if (!kiln__node_equal(&a->nodes[i], &b->nodes[i])) return false;
    return true;
}

/* The reducer's index; the same combine with the same identity is one reducer. */
static uint32_t add_reducer(kiln__parser *parser, kiln__reducer reducer) {
    kiln__graph *graph = parser->graph;
    for (uint32_t i = 0; i < graph->reducer_count; i++)
        if (same_reducer(&graph->reducers[i], &reducer)) return i;
    kiln__reducer *reducers = kiln__work_grow(parser->work, &graph->arena, graph->reducers, graph->reducer_count,
                                              &parser->reducer_capacity, sizeof *reducers);
    reducer.nodes =
        kiln__work_copy(parser->work, &graph->arena, reducer.nodes, reducer.node_count, sizeof *reducer.nodes);
    if (reducers == NULL || reducer.nodes == NULL) return 0;
    graph->reducers = reducers;
    graph->reducers[graph->reducer_count] = reducer;
    return graph->reducer_count++;
}

/* reduce((a, b) -> combine, x, identity) */
static uint32_t call_reduce(kiln__parser *parser, const kiln__token *name) {
    kiln__function combine = {.scope = KILN__SCOPE_COMBINE};
    kiln__token lambda = parser->token;
    if (!kiln__parser_expect(parser, '(', "reduce's combine, as in (a, b) -> a + b")) return 0;
    kiln__parse_parameters(parser, &combine, false);
    if (combine.parameter_count != 2)
        return KILN__FAIL_AT(parser, &lambda, KILN_E_SYNTAX, "the combine of reduce takes 2 parameters, found %u",
                             combine.parameter_count);
    if (!kiln__parser_expect(parser, KILN__PAIR('-', '>'), "'->' and what the parameters combine to")) return 0;
    kiln__parse_body(parser, &combine);
    kiln__parser_expect(parser, ',', "',' and what to reduce");
    uint32_t arg = kiln__parse_expression(parser);
    kiln__parser_expect(parser, ',', "',' and the identity of the combine");
    kiln__node identity = kiln__parse_constant(parser);
    if (!kiln__parser_expect(parser, ')', "')' after the identity")) return 0;
    kiln__reducer reducer = {combine.nodes.items, combine.nodes.count, combine.result, identity};
    kiln__node node = {.op = KILN__OP_REDUCE_USER, .arg_count = 1, .args = {arg}};
    node.u.reducer = add_reducer(parser, reducer);
    return kiln__parser_add(parser, name, node);
}

bool kiln__conversion_find(const kiln__parser *parser, const kiln__token *name, kiln__node *out) {
    static const char *const widenings[] = {[KILN__WIDEN_FLOAT] = "float", [KILN__WIDEN_SUM] = "_sum_type"};
    const kiln__widening last = parser->lexer.in_prelude ? KILN__WIDEN_SUM : KILN__WIDEN_FLOAT;
    kiln_type type;
    *out = (kiln__node){.op = KILN__OP_WIDEN, .arg_count = 1};
    for (kiln__widening w = KILN__WIDEN_FLOAT; w <= last; w++) {
        out->u.widening = w;
        if (kiln__token_is(name, widenings[w], strlen(widenings[w]))) return true;
    }
    if (name->kind != KILN__TOKEN_NAME || !kiln__type_parse(name->text, name->length, &type)) return false;
    *out = (kiln__node){.op = KILN__OP_CONVERT, .arg_count = 1, .u.type = type};
    return true;
}

uint32_t kiln__parse_call(kiln__parser *parser, const kiln__token *name) {
    kiln__node conversion;
    kiln__parser_expect(parser, '(', "'('");
    kiln__op op = kiln__op_find(name->text, name->length);
    if (op == KILN__OP_INDEX || op == KILN__OP_SIZE) return call_with_axis(parser, name, op);
    if (op == KILN__OP_REDUCE_USER) return call_reduce(parser, name);
    if (op != KILN__OP_COUNT_OF) return call_operator(parser, name, (kiln__node){.op = op});
    if (kiln__conversion_find(parser, name, &conversion)) return call_operator(parser, name, conversion);
    kiln__function *function = kiln__function_find(parser, name);
    if (function != NULL && kiln__function_load(parser, function)) return call_function(parser, name, function);
    if (parser->lexer.in_prelude && kiln__token_is(name, "_is_i64", 7))
        return call_operator(parser, name, (kiln__node){.op = KILN__OP_IS_I64});
    if (parser->lexer.in_prelude && kiln__token_is(name, "_count", 6)) {
        kiln__parser_expect(parser, ')', "')'");
        return kiln__parser_add(parser, name, (kiln__node){.op = KILN__OP_COUNT});
    }
    return kiln__fail_unknown(parser, name);
}

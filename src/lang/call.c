/* Calls: operators by name, conversions, functions, and the few with a form of their own. */
#include <string.h>

#include "lang/parser.h"

typedef struct arguments {
    uint32_t nodes[KILN__MAX_PARAMETERS];
    bool given[KILN__MAX_PARAMETERS];
    uint32_t count; /* by position; may exceed what nodes has room for */
    bool named;     /* one was given by its name */
} arguments;

/* "ddof = 0": the parameter of that name. */
static bool parse_named_argument(kiln__parser *parser, const kiln__function *function, arguments *args) {
    kiln__lexer after = parser->lexer;
    kiln__token name = parser->token, next;
    char quote[KILN__QUOTE_SIZE];
    if (function == NULL || name.kind != KILN__TOKEN_NAME || kiln__lexer_next(&after, &next) != KILN_OK ||
        next.kind != '=')
        return false;
    uint32_t i = 0;
    while (i < function->parameter_count && (function->parameters[i].length != name.length ||
                                             memcmp(function->parameters[i].name, name.text, name.length) != 0))
        i++;
    kiln__token_quote(&name, quote);
    if (i == function->parameter_count) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "'%.*s' has no parameter %s", (int)function->length,
                          function->name, quote);
    } else if (args->given[i]) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "the argument %s of '%.*s' is given twice", quote,
                          (int)function->length, function->name);
    } else {
        kiln__parser_advance(parser);
        kiln__parser_advance(parser);
        args->nodes[i] = kiln__parse_expression(parser);
        args->given[i] = args->named = true;
    }
    return true;
}

/* The arguments and the ')' after them; function is NULL for an operator, which has no parameter names. */
static void parse_arguments(kiln__parser *parser, const kiln__function *function, arguments *args) {
    *args = (arguments){.count = 0};
    if (parser->token.kind != ')') {
        for (;;) {
            if (parse_named_argument(parser, function, args)) {
                /* placed already */
            } else if (args->named) {
                kiln__parser_fail(parser, KILN_E_SYNTAX, &parser->token,
                                  "an argument without a name follows one with a name");
            } else {
                uint32_t node = kiln__parse_expression(parser);
                if (args->count < KILN__MAX_PARAMETERS) {
                    args->nodes[args->count] = node;
                    args->given[args->count] = true;
                }
                args->count++;
            }
            if (parser->token.kind != ',') break;
            kiln__parser_advance(parser);
        }
    }
    kiln__parser_expect(parser, ')', "',' or ')'");
}

static bool check_count(kiln__parser *parser, const kiln__token *name, uint32_t found, uint32_t least, uint32_t most) {
    char quote[KILN__QUOTE_SIZE];
    if (parser->status != KILN_OK) return false;
    if (found >= least && found <= most) return true;
    kiln__token_quote(name, quote);
    if (least == most) {
        kiln__parser_fail(parser, KILN_E_SYNTAX, name, "%s takes %u argument%s, found %u", quote, least,
                          least == 1 ? "" : "s", found);
    } else {
        kiln__parser_fail(parser, KILN_E_SYNTAX, name, "%s takes %u to %u arguments, found %u", quote, least, most,
                          found);
    }
    return false;
}

static uint32_t call_operator(kiln__parser *parser, const kiln__token *name, kiln__op op) {
    arguments args;
    uint32_t expected = kiln__op_describe(op)->args;
    parse_arguments(parser, NULL, &args);
    if (!check_count(parser, name, args.count, expected, expected)) return 0;
    return kiln__parser_add(parser, name, op, args.nodes, expected);
}

static uint32_t call_conversion(kiln__parser *parser, const kiln__token *name, kiln_type type) {
    arguments args;
    parse_arguments(parser, NULL, &args);
    if (!check_count(parser, name, args.count, 1, 1)) return 0;
    kiln__node node = {.op = KILN__OP_CONVERT, .arg_count = 1, .line = name->line, .column = name->column};
    node.args[0] = args.nodes[0];
    node.u.type = type;
    return kiln__nodes_add(parser, parser->scope->nodes, &node);
}

static uint32_t call_function(kiln__parser *parser, const kiln__token *name, const kiln__function *function) {
    arguments args;
    parse_arguments(parser, function, &args);
    if (args.count > function->parameter_count || !args.named) {
        if (!check_count(parser, name, args.count, function->required_count, function->parameter_count)) return 0;
    }
    for (uint32_t i = 0; i < function->parameter_count && parser->status == KILN_OK; i++) {
        const kiln__parameter *parameter = &function->parameters[i];
        if (args.given[i]) continue;
        if (!parameter->optional) {
            char quote[KILN__QUOTE_SIZE];
            kiln__parser_fail(parser, KILN_E_SYNTAX, name, "%s lacks its argument '%.*s'",
                              kiln__token_quote(name, quote), (int)parameter->length, parameter->name);
            return 0;
        }
        args.nodes[i] = kiln__parser_add_constant(parser, name, &parameter->value);
    }
    return kiln__parser_expand(parser, name, function, args.nodes);
}

/* index(axis), size(axis): the axis is written out, as the shape of the kernel depends on it. */
static uint32_t call_with_axis(kiln__parser *parser, const kiln__token *name, kiln__op op) {
    bool negative = parser->token.kind == '-';
    if (negative) kiln__parser_advance(parser);
    kiln__token axis = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "an axis, an integer literal")) return 0;
    if (axis.value.i64 > KILN_MAX_RANK) {
        char quote[KILN__QUOTE_SIZE];
        kiln__parser_fail(parser, KILN_E_LIMIT, &axis, "axis %s is out of range, tensors have at most %d axes",
                          kiln__token_quote(&axis, quote), KILN_MAX_RANK);
        return 0;
    }
    kiln__parser_expect(parser, ')', "')' after the axis");
    kiln__node node = {.op = op, .line = name->line, .column = name->column};
    node.u.axis = negative ? -(int32_t)axis.value.i64 : (int32_t)axis.value.i64;
    if (parser->scope->kind == KILN__SCOPE_COMBINE) return kiln__parser_add(parser, name, op, NULL, 0); /* refuses it */
    return kiln__nodes_add(parser, parser->scope->nodes, &node);
}

static bool same_nodes(const kiln__nodes *a, const kiln__reducer *b) {
    if (a->count != b->node_count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const kiln__node *x = &a->items[i], *y = &b->nodes[i];
        if (x->op != y->op || memcmp(x->args, y->args, sizeof x->args) != 0) return false;
        if (x->op == KILN__OP_FLOAT                           ? memcmp(&x->u.f64, &y->u.f64, sizeof x->u.f64) != 0
            : x->op == KILN__OP_INT || x->op == KILN__OP_BOOL ? x->u.i64 != y->u.i64
            : x->op == KILN__OP_CONVERT                       ? x->u.type != y->u.type
                                                              : x->op == KILN__OP_PARAM && x->u.param != y->u.param)
            return false;
    }
    return true;
}

/* The reducer's index; the same combine with the same identity is one reducer. */
static uint32_t add_reducer(kiln__parser *parser, const kiln__nodes *nodes, uint32_t result,
                            const kiln__constant *identity) {
    kiln__graph *graph = parser->graph;
    kiln__reducer reducer = {.node_count = nodes->count,
                             .result = result,
                             .identity = kiln__constant_f64(identity),
                             .identity_is_int = identity->kind != KILN__OP_FLOAT,
                             .identity_i64 = identity->i64};
    for (uint32_t i = 0; i < graph->reducer_count; i++) {
        const kiln__reducer *other = &graph->reducers[i];
        if (other->result == result && other->identity_is_int == reducer.identity_is_int &&
            memcmp(&other->identity, &reducer.identity, sizeof reducer.identity) == 0 &&
            other->identity_i64 == reducer.identity_i64 && same_nodes(nodes, other))
            return i;
    }
    kiln__reducer *reducers =
        kiln__grow(&graph->arena, graph->reducers, graph->reducer_count, &parser->reducer_capacity, sizeof *reducers);
    reducer.nodes = kiln__arena_alloc(&graph->arena, nodes->count, sizeof *reducer.nodes);
    if (reducers == NULL || reducer.nodes == NULL) {
        kiln__parser_out_of_memory(parser);
        return 0;
    }
    memcpy(reducer.nodes, nodes->items, nodes->count * sizeof *reducer.nodes);
    graph->reducers = reducers;
    graph->reducers[graph->reducer_count] = reducer;
    return graph->reducer_count++;
}

/* reduce((a, b) -> combine, x, identity) */
static uint32_t call_reduce(kiln__parser *parser, const kiln__token *name) {
    kiln__parameter parameters[KILN__MAX_PARAMETERS];
    kiln__nodes nodes = {0};
    kiln__token lambda = parser->token;
    if (!kiln__parser_expect(parser, '(', "reduce's combine, as in (a, b) -> a + b")) return 0;
    uint32_t count = kiln__parse_parameters(parser, parameters, false);
    if (count != 2) {
        kiln__parser_fail(parser, KILN_E_SYNTAX, &lambda, "the combine of reduce takes 2 parameters, found %u", count);
        return 0;
    }
    if (!kiln__parser_expect(parser, KILN__PAIR('-', '>'), "'->' and what the parameters combine to")) return 0;
    const kiln__scope *outer = parser->scope;
    kiln__scope scope = {KILN__SCOPE_COMBINE, &nodes, parameters, count};
    parser->scope = &scope;
    uint32_t result = kiln__parse_expression(parser);
    parser->scope = outer;
    kiln__parser_expect(parser, ',', "',' and what to reduce");
    uint32_t arg = kiln__parse_expression(parser);
    kiln__parser_expect(parser, ',', "',' and the identity of the combine");
    kiln__constant identity = kiln__parse_constant(parser);
    kiln__parser_expect(parser, ')', "')' after the identity");
    if (parser->status != KILN_OK) return 0;
    if (outer->kind == KILN__SCOPE_COMBINE)
        return kiln__parser_add(parser, name, KILN__OP_REDUCE_USER, &arg, 1); /* refuses it */
    kiln__node node = {.op = KILN__OP_REDUCE_USER, .arg_count = 1, .line = name->line, .column = name->column};
    node.args[0] = arg;
    node.u.reducer = add_reducer(parser, &nodes, result, &identity);
    return kiln__nodes_add(parser, outer->nodes, &node);
}

uint32_t kiln__parse_call(kiln__parser *parser, const kiln__token *name) {
    char quote[KILN__QUOTE_SIZE], near[KILN__MAX_NAME + 1];
    kiln_type type;
    kiln__parser_expect(parser, '(', "'('");
    kiln__op op = kiln__op_find(name->text, name->length);
    if (op == KILN__OP_INDEX || op == KILN__OP_SIZE) return call_with_axis(parser, name, op);
    if (op == KILN__OP_REDUCE_USER) return call_reduce(parser, name);
    if (op != KILN__OP_COUNT_OF) return call_operator(parser, name, op);
    if (kiln__type_parse(name->text, name->length, &type)) return call_conversion(parser, name, type);
    const kiln__function *function = kiln__function_find(parser, name);
    if (function != NULL) return call_function(parser, name, function);
    if (parser->in_prelude && kiln__token_is(name, "_count")) {
        kiln__parser_expect(parser, ')', "')'");
        return kiln__parser_add(parser, name, KILN__OP_COUNT, NULL, 0);
    }
    kiln__suggest(parser, name, near);
    kiln__token_quote(name, quote);
    if (near[0] != '\0')
        kiln__parser_fail(parser, KILN_E_NAME, name, "unknown function %s; did you mean '%s'?", quote, near);
    else
        kiln__parser_fail(parser, KILN_E_NAME, name, "unknown function %s", quote);
    return 0;
}

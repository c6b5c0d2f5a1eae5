/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: operators by name, conversions, functions, and the few with a form of their own. */
#include <string.h>

#include "lang/parser.h"

#define NOT_GIVEN UINT32_MAX

/* Adds function's nodes with its parameters replaced by args. domain: of its reductions. */
static uint32_t expand(kiln__parser *parser, const kiln__token *at, const kiln__function *function,
                       const uint32_t *args, uint32_t domain) {
    const kiln__nodes *nodes = &function->nodes;
    bool reduces = false;
    parser->lexer.copies += nodes->count;
    if (parser->lexer.copies > KILN__MAX_COPIES)
        return KILN__FAIL_AT(parser, at, KILN_E_LIMIT, "calls of functions expand to more than %d operations in all",
                             KILN__MAX_COPIES);
    uint32_t *map = kiln__work_alloc(parser->work, &parser->work->scratch, nodes->count, sizeof *map);
    for (uint32_t i = 0; i < nodes->count && parser->work->status == KILN_OK; i++) {
        kiln__node node = nodes->items[i];
        for (uint32_t k = 0; k < node.arg_count; k++) node.args[k] = map[node.args[k]];
        reduces |= kiln__take_domain(&node, domain);
        map[i] = node.op == KILN__OP_PARAM ? args[node.u.param] : kiln__parser_add(parser, at, node);
    }
    if (domain != 0 && !reduces) kiln__fail_domain(parser, at);
    if (map == NULL) return 0;
    parser->expanded = function;
    for (uint32_t r = 0; r < function->result_count; r++) parser->results[r] = map[function->results[r]];
    return map[function->result];
}

/* Which parameter the next argument is for: the one after the last, or the one named, as in "ddof = 0". */
static bool place_argument(kiln__parser *parser, kiln__frame *frame) {
    const kiln__function *function = frame->u.call.function;
    kiln__token name = parser->token;
    frame->u.call.place = frame->u.call.count;
    if (name.kind != KILN__TOKEN_NAME || !kiln__parser_at_assignment(parser)) {
        frame->u.call.count++;
        return !frame->u.call.named ||
               KILN__FAIL_AT(parser, &name, KILN_E_SYNTAX, "an argument without a name follows one with a name");
    }
    uint32_t place = function == NULL ? 0 : kiln__parameter_find(function, &name);
    if (function == NULL || place == function->parameter_count)
        return kiln__fail_parameter(parser, &frame->at, function, &name);
    if (frame->u.call.nodes[place] != NOT_GIVEN)
        return KILN__FAIL_AT(parser, &name, KILN_E_NAME, "the argument %s of '%.*s' is given twice",
                             kiln__parser_quote(parser, &name), (int)function->length, function->name);
    frame->u.call.place = place;
    frame->u.call.named = true;
    kiln__parser_advance(parser);
    kiln__parser_advance(parser);
    return true;
}

static uint32_t finish_function(kiln__parser *parser, kiln__frame *frame) {
    const kiln__function *function = frame->u.call.function;
    uint32_t *nodes = frame->u.call.nodes;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const kiln__parameter *parameter = &function->parameters[i];
        if (nodes[i] != NOT_GIVEN) continue;
        if (!parameter->optional)
            return KILN__FAIL_AT(parser, &frame->at, KILN_E_SYNTAX, "%s lacks its argument '%.*s'",
                                 kiln__parser_quote(parser, &frame->at), (int)parameter->length, parameter->name);
        nodes[i] = kiln__parser_add(parser, &frame->at, parameter->value);
    }
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        kiln__node conversion = function->parameters[i].conversion;
        if (!function->parameters[i].converted) continue;
        conversion.args[0] = nodes[i];
        nodes[i] = kiln__parser_add(parser, &frame->at, conversion);
    }
    return expand(parser, &frame->at, function, nodes, frame->u.call.domain);
}

/* Whether the call's node is there, but for its arguments. */
static bool is_prepared(kiln__op op) {
    return op == KILN__OP_CONVERT || op == KILN__OP_WIDEN || op == KILN__OP_STOCHASTIC || op == KILN__OP_OWN;
}

/* At the ')' after the arguments. */
static uint32_t finish_call(kiln__parser *parser, kiln__frame *frame) {
    const kiln__function *function = frame->u.call.function;
    uint32_t count = frame->u.call.count, args = kiln__op_describe(frame->op)->args;
    if (frame->op == KILN__OP_OWN) args = frame->u.call.conversion.arg_count;
    uint32_t least = function != NULL ? function->required_count : args;
    uint32_t most = function != NULL ? function->parameter_count : args;
    if (!kiln__parser_expect(parser, ')', "',' or ')'")) return 0;
    const uint32_t before = frame->op == KILN__OP_STOCHASTIC; /* the type, which is no value */
    if (count > most || (count < least && !frame->u.call.named))
        return kiln__fail_count(parser, &frame->at, function, least + before, most + before, count + before);
    if (function != NULL) return finish_function(parser, frame);
    kiln__node node = is_prepared(frame->op) ? frame->u.call.conversion : (kiln__node){.op = frame->op};
    node.arg_count = (uint8_t)args;
    memcpy(node.args, frame->u.call.nodes, args * sizeof node.args[0]);
    if (!kiln__take_domain(&node, frame->u.call.domain) && frame->u.call.domain)
        return kiln__fail_domain(parser, &frame->at);
    return kiln__parser_add(parser, &frame->at, node);
}

/* Whether what the reductions run over is said next, rather than an argument of a parameter with such a name. */
static bool at_domain(const kiln__parser *parser, const kiln__frame *frame) {
    const kiln__function *function = frame->u.call.function;
    return kiln__at_domain(parser) &&
           (function == NULL || kiln__parameter_find(function, &parser->token) == function->parameter_count);
}

/* True: the call is complete, and *value is its. */
static bool next_argument(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    while (at_domain(parser, frame)) {
        frame->u.call.domain = kiln__parse_domain(parser, frame->u.call.domain);
        if (parser->token.kind != ',') {
            *value = finish_call(parser, frame);
            return true;
        }
        kiln__parser_advance(parser);
    }
    if (place_argument(parser, frame)) kiln__parser_push(parser, frame);
    return false;
}

/* After the '('. */
static bool begin_arguments(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    frame->kind = KILN__FRAME_ARGUMENT;
    memset(frame->u.call.nodes, 0xff, sizeof frame->u.call.nodes);
    if (parser->token.kind != ')') return next_argument(parser, frame, value);
    *value = finish_call(parser, frame);
    return true;
}

static bool continue_arguments(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    if (frame->u.call.place < KILN__MAX_PARAMETERS) frame->u.call.nodes[frame->u.call.place] = *value;
    if (parser->token.kind == ',') {
        kiln__parser_advance(parser);
        return next_argument(parser, frame, value);
    }
    *value = finish_call(parser, frame);
    return true;
}

/* index(axis), size(axis): the axis is written out, as the shape of the kernel depends on it. */
static uint32_t call_with_axis(kiln__parser *parser, const kiln__token *name, kiln__op op) {
    bool negative = parser->token.kind == '-';
    if (negative) kiln__parser_advance(parser);
    kiln__token axis = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "an axis, an integer literal")) return 0;
    if (axis.value.u64 > KILN_MAX_RANK)
        return KILN__FAIL_AT(parser, &axis, KILN_E_LIMIT, "axis %s is out of range, tensors have at most %d axes",
                             kiln__parser_quote(parser, &axis), KILN_MAX_RANK);
    kiln__parser_expect(parser, ')', "')' after the axis");
    kiln__node node = {.op = op, .u.axis = negative ? -(int32_t)axis.value.u64 : (int32_t)axis.value.u64};
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

/* reduce((a, b) -> combine, x, identity), as far as it is parsed. */
typedef struct kiln__reduction {
    kiln__function combine, identity;
    kiln__function *outer; /* whose expression has the call */
    kiln__token identity_at;
} kiln__reduction;

/* Parses function's expression next, for the frame. */
static bool enter_body(kiln__parser *parser, kiln__frame *frame, kiln__frame_kind kind, kiln__function *function) {
    frame->kind = kind;
    parser->current = function;
    kiln__parser_push(parser, frame);
    return false;
}

static bool begin_reduce(kiln__parser *parser, kiln__frame *frame) {
    kiln__token lambda = parser->token;
    kiln__reduction *reduction = kiln__work_alloc(parser->work, &parser->work->scratch, 1, sizeof *reduction);
    if (reduction == NULL) return false;
    *reduction = (kiln__reduction){.combine = {.scope = KILN__SCOPE_COMBINE},
                                   .identity = {.scope = KILN__SCOPE_CONSTANT},
                                   .outer = parser->current};
    frame->u.reduction = reduction;
    if (!kiln__parser_expect(parser, '(', "reduce's combine, as in (a, b) -> a + b")) return false;
    kiln__parse_parameters(parser, &reduction->combine, false);
    if (reduction->combine.parameter_count != 2)
        return KILN__FAIL_AT(parser, &lambda, KILN_E_SYNTAX, "the combine of reduce takes 2 parameters, found %u",
                             reduction->combine.parameter_count);
    if (!kiln__parser_expect(parser, KILN__PAIR('-', '>'), "'->' and what the parameters combine to")) return false;
    return enter_body(parser, frame, KILN__FRAME_COMBINE, &reduction->combine);
}

static bool continue_reduce(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    kiln__reduction *reduction = frame->u.reduction;
    parser->current = reduction->outer;
    if (frame->kind == KILN__FRAME_COMBINE) {
        reduction->combine.result = *value;
        kiln__parser_expect(parser, ',', "',' and what to reduce");
        return enter_body(parser, frame, KILN__FRAME_REDUCED, reduction->outer);
    }
    if (frame->kind == KILN__FRAME_REDUCED) {
        frame->values[0] = *value;
        kiln__parser_expect(parser, ',', "',' and the identity of the combine");
        reduction->identity_at = parser->token;
        return enter_body(parser, frame, KILN__FRAME_IDENTITY, &reduction->identity);
    }
    const kiln__function *combine = &reduction->combine;
    reduction->identity.result = *value;
    kiln__node identity = kiln__constant_value(parser, &reduction->identity, &reduction->identity_at);
    kiln__node node = {.op = KILN__OP_REDUCE_USER, .arg_count = 1, .args = {frame->values[0]}};
    if (parser->token.kind == ',') {
        kiln__parser_advance(parser);
        if (!kiln__at_domain(parser))
            return kiln__parser_expected(parser, &parser->token, "block = N or axes = N after the identity");
        node.domain = kiln__parse_domain(parser, 0);
    }
    if (!kiln__parser_expect(parser, ')', "')' after the identity")) return false;
    node.u.reducer =
        add_reducer(parser, (kiln__reducer){combine->nodes.items, combine->nodes.count, combine->result, identity});
    *value = kiln__parser_add(parser, &frame->at, node);
    return true;
}

bool kiln__call_continue(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    return frame->kind == KILN__FRAME_ARGUMENT ? continue_arguments(parser, frame, value)
                                               : continue_reduce(parser, frame, value);
}

bool kiln__conversion_find(const kiln__parser *parser, const kiln__token *name, kiln__node *out) {
    static const char *const widenings[] = {[KILN__WIDEN_FLOAT] = "float",
                                            [KILN__WIDEN_SUM] = "_sum_type",
                                            [KILN__WIDEN_WIDE] = "_wide_type",
                                            [KILN__WIDEN_REAL] = "_real_type"};
    const kiln__widening last = parser->lexer.in_prelude ? KILN__WIDEN_REAL : KILN__WIDEN_FLOAT;
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

/* round_to(type, x, u), after the '(': the type first, a word. */
static bool begin_round(kiln__parser *parser, kiln__frame *frame, uint32_t *value) {
    const kiln__token name = parser->token;
    kiln_type type;
    if (name.kind != KILN__TOKEN_NAME || !kiln__type_parse(name.text, name.length, &type))
        return kiln__parser_expected(parser, &name, "the type that round_to rounds to, as in round_to(bf16, x, u)");
    if (!kiln__type_is_float(type) || type == KILN_F64 || type == KILN_E8M0)
        return KILN__FAIL_AT(parser, &name, KILN_E_TYPE,
                             "round_to rounds to f32, f16, bf16, e4m3, e5m2 or e2m1, found %s",
                             kiln__parser_quote(parser, &name));
    kiln__parser_advance(parser);
    if (!kiln__parser_expect(parser, ',', "',' and what is rounded")) return false;
    frame->u.call.conversion = (kiln__node){.op = frame->op, .arg_count = 2, .u.storage = type};
    return begin_arguments(parser, frame, value);
}

/* _count() and _whole_count(), which is an integer. */
static bool is_count(const kiln__parser *parser, const kiln__token *name, kiln__node *out) {
    const bool whole = kiln__token_is(name, "_whole_count", 12);
    *out = (kiln__node){.op = KILN__OP_COUNT, .type = whole ? KILN__I64 : KILN__F32};
    return parser->lexer.in_prelude && (whole || kiln__token_is(name, "_count", 6));
}

const kiln__own_function *kiln__own_find(const kiln__own_function *first, const char *name, size_t length) {
    while (first != NULL && (strlen(first->name) != length || memcmp(first->name, name, length) != 0))
        first = first->next;
    return first;
}

/* One of the caller's own is hidden by one of the program's. */
static bool is_own(kiln__parser *parser, const kiln__token *name, const kiln__function *function, kiln__node *out) {
    const kiln__own_function *own = NULL;
    if (!parser->lexer.in_prelude) own = kiln__own_find(parser->own, name->text, name->length);
    if (own == NULL || function != NULL) return false;
    parser->graph->calls_own = true;
    *out = (kiln__node){.op = KILN__OP_OWN, .arg_count = (uint8_t)own->argument_count, .u.own = own};
    return true;
}

/* The operators that the prelude alone calls by name. */
static kiln__op find_private(const kiln__parser *parser, const kiln__token *name) {
    if (!parser->lexer.in_prelude) return KILN__OP_COUNT_OF;
    if (kiln__token_is(name, "_by", 3)) return KILN__OP_SORT;
    if (kiln__token_is(name, "_argsort", 8)) return KILN__OP_ARGSORT;
    if (kiln__token_is(name, "_argtop", 7)) return KILN__OP_ARGTOP;
    return kiln__token_is(name, "_is_wide", 8) ? KILN__OP_IS_WIDE : KILN__OP_COUNT_OF;
}

bool kiln__call_begin(kiln__parser *parser, const kiln__token *name, uint32_t *value) {
    kiln__frame frame = {.at = *name, .op = kiln__op_find(name->text, name->length)};
    kiln__node conversion;
    kiln__parser_expect(parser, '(', "'('");
    if (frame.op == KILN__OP_INDEX || frame.op == KILN__OP_SIZE) {
        *value = call_with_axis(parser, name, frame.op);
        return true;
    }
    if (frame.op == KILN__OP_REDUCE_USER) return begin_reduce(parser, &frame);
    if (frame.op == KILN__OP_STOCHASTIC) return begin_round(parser, &frame, value);
    if (frame.op != KILN__OP_COUNT_OF) return begin_arguments(parser, &frame, value);
    if (kiln__conversion_find(parser, name, &conversion)) {
        frame.op = conversion.op;
        frame.u.call.conversion = conversion;
        return begin_arguments(parser, &frame, value);
    }
    kiln__function *function = kiln__function_find(parser, name);
    if (is_own(parser, name, function, &frame.u.call.conversion)) {
        frame.op = KILN__OP_OWN;
        return begin_arguments(parser, &frame, value);
    }
    frame.op = function != NULL ? KILN__OP_IS_WIDE : find_private(parser, name); /* of a function nobody asks which */
    frame.u.call.function = function;
    if (function != NULL && !parser->lexer.in_prelude) function->called = true;
    if (function != NULL ? kiln__function_load(parser, function) : frame.op != KILN__OP_COUNT_OF)
        return begin_arguments(parser, &frame, value);
    if (is_count(parser, name, &conversion)) {
        kiln__parser_expect(parser, ')', "')'");
        *value = kiln__parser_add(parser, name, conversion);
        return true;
    }
    if (kiln__token_is(name, "repeat", 6)) return kiln__parse_repeat(parser, value);
    return kiln__fail_unknown(parser, name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: definitions, and the search for one by name.
 * The prelude's are parsed when they are first called: a program pays for those it uses alone. Its names are words only
 * before a parenthesis, and a program may define them anew: it can grow without taking a name from anyone. */
#include <string.h>

#include "lang/parser.h"

/* Files of kernel_sources/, embedded by the build. */
extern const char kiln__source_prelude_kiln[], kiln__source_library_kiln[], kiln__source_gradients_kiln[];

static kiln__function *new_function(kiln__parser *parser, const char *name, size_t length) {
    kiln__function *function = kiln__work_alloc(parser->work, &parser->work->scratch, 1, sizeof *function);
    if (function == NULL) return NULL;
    function->name = name;
    function->length = length;
    return function;
}

static void append(kiln__parser *parser, kiln__function *function) {
    *parser->functions_end = function;
    parser->functions_end = &function->next;
}

static void index_functions(kiln__parser *parser, const char *text, bool in_library) {
    uint32_t line = 1;
    for (const char *at = text; at != NULL; line++) {
        if (strncmp(at, "fn ", 3) == 0) {
            kiln__function *function = new_function(parser, at + 3, strcspn(at + 3, "( \n"));
            if (function == NULL) return;
            function->of_prelude = true;
            function->in_library = in_library;
            function->definition = (kiln__lexer){.at = at + 3, .line_start = at, .line = line, .in_prelude = true};
            append(parser, function);
        }
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
}

void kiln__prelude_index(kiln__parser *parser) {
    parser->functions_end = &parser->functions;
    index_functions(parser, kiln__source_prelude_kiln, false);
    index_functions(parser, kiln__source_library_kiln, true);
}

void kiln__rules_index(kiln__parser *parser) { index_functions(parser, kiln__source_gradients_kiln, false); }

kiln__function *kiln__function_find(const kiln__parser *parser, const kiln__token *name) {
    if (kiln__is_private(name->text) && !parser->lexer.in_prelude) return NULL;
    const kiln__function *defining = parser->lexer.in_prelude ? NULL : parser->defining;
    kiln__function *found = NULL;
    if (defining != NULL && kiln__token_is(name, defining->name, defining->length)) return NULL;
    for (kiln__function *function = parser->functions; function != NULL; function = function->next) {
        if (!kiln__token_is(name, function->name, function->length)) continue;
        if (function->of_prelude == parser->lexer.in_prelude) return function;
        if (function->of_prelude) found = function;
    }
    return found;
}

bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name) {
    const kiln__function *function = kiln__function_find(parser, name);
    const kiln__op op = kiln__op_find(name->text, name->length);
    kiln__node conversion;
    return (op != KILN__OP_COUNT_OF && !kiln__op_is_place(op)) || kiln__conversion_find(parser, name, &conversion) ||
           (function != NULL && !function->of_prelude && function->parameter_count > 0);
}

uint32_t kiln__parameter_find(const kiln__function *function, const kiln__token *name) {
    uint32_t i = 0;
    while (i < function->parameter_count &&
           !kiln__token_is(name, function->parameters[i].name, function->parameters[i].length))
        i++;
    return i;
}

/* What keeps a name from being a new function's; NULL where nothing does. */
static const char *problem_of_function(const kiln__parser *parser, const kiln__token *name) {
    const kiln__function *function = kiln__function_find(parser, name);
    if (kiln__op_find(name->text, name->length) != KILN__OP_COUNT_OF) return "is a function already";
    if (function == NULL || (function->of_prelude && !function->called)) return NULL;
    return function->of_prelude ? "is called above its definition" : "is a function already";
}

/* Fails where the name cannot be a new function's or parameter's. */
static bool check_new_name(kiln__parser *parser, const kiln__token *name, const char *what, bool called) {
    const char *problem = called ? problem_of_function(parser, name) : NULL;
    if (kiln__is_callable(parser, name)) problem = "is a function already";
    if (kiln__is_reserved(name)) problem = "is a reserved word";
    if (name->kind == KILN__TOKEN_NAME && problem == NULL) return true;
    const char *quote = kiln__parser_quote(parser, name);
    if (problem == NULL)
        return KILN__FAIL_AT(parser, name, KILN_E_SYNTAX, "expected the name of a %s, found %s", what, quote);
    return KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s %s, it cannot name a %s", quote, problem, what);
}

/* ": float" after a parameter's name. */
static void parse_conversion(kiln__parser *parser, kiln__parameter *parameter) {
    kiln__token name = parser->token;
    parameter->converted = true;
    if (!kiln__conversion_find(parser, &name, &parameter->conversion))
        kiln__parser_expected(parser, &name, "a conversion after ':', as in x: float");
    kiln__parser_advance(parser);
}

/* "x", "x: float" or "x = 0". */
static bool parse_parameter(kiln__parser *parser, kiln__function *function, bool is_fn) {
    kiln__token name = parser->token;
    if (!check_new_name(parser, &name, "parameter", false)) return false;
    if (kiln__parameter_find(function, &name) < function->parameter_count)
        return KILN__FAIL_AT(parser, &name, KILN_E_NAME, "parameter %s is listed twice",
                             kiln__parser_quote(parser, &name));
    if (function->parameter_count == KILN__MAX_PARAMETERS)
        return KILN__FAIL_AT(parser, &name, KILN_E_LIMIT, "a function has at most %d parameters", KILN__MAX_PARAMETERS);
    kiln__parser_advance(parser);
    kiln__parameter *parameter = &function->parameters[function->parameter_count++];
    *parameter = (kiln__parameter){.name = name.text, .length = name.length};
    if (is_fn && parser->token.kind == ':') {
        kiln__parser_advance(parser);
        parse_conversion(parser, parameter);
    }
    if (is_fn && parser->token.kind == '=') {
        kiln__parser_advance(parser);
        parameter->optional = true;
        parameter->value = kiln__parse_constant(parser);
    } else if (++function->required_count < function->parameter_count) {
        return KILN__FAIL_AT(parser, &name, KILN_E_SYNTAX, "parameter %s without a default follows one with a default",
                             kiln__parser_quote(parser, &name));
    }
    return true;
}

void kiln__parse_parameters(kiln__parser *parser, kiln__function *function, bool is_fn) {
    function->parameters =
        kiln__work_alloc(parser->work, &parser->work->scratch, KILN__MAX_PARAMETERS, sizeof *function->parameters);
    bool more = function->parameters != NULL && parser->token.kind != ')';
    while (more) {
        if (!parse_parameter(parser, function, is_fn)) return;
        more = parser->token.kind == ',';
        if (more) kiln__parser_advance(parser);
    }
    kiln__parser_expect(parser, ')', "',' or ')'");
}

/* One expression, or several with commas between them. */
static void parse_results(kiln__parser *parser, kiln__function *function) {
    bool more = true;
    while (more) {
        if (function->result_count == KILN__MAX_RESULTS) {
            KILN__FAIL_AT(parser, &parser->token, KILN_E_LIMIT, "a function has at most %d results", KILN__MAX_RESULTS);
            return;
        }
        kiln__parse_body(parser, function);
        function->results[function->result_count++] = function->result;
        more = parser->token.kind == ',';
        if (more) kiln__parser_advance(parser);
    }
    function->result = function->results[0];
}

/* From the name on. */
static void define(kiln__parser *parser, kiln__function *function) {
    kiln__parser_advance(parser);
    if (!kiln__parser_expect(parser, '(', "'(' and the parameters")) return;
    kiln__parse_parameters(parser, function, true);
    if (!kiln__parser_expect(parser, '=', "'=' and the function's expression")) return;
    parse_results(parser, function);
    function->parsed = parser->work->status == KILN_OK;
}

bool kiln__function_load(kiln__parser *parser, kiln__function *function) {
    if (function->definition.at == NULL) return function->parsed;
    const kiln__lexer outer = parser->lexer;
    const kiln__token next = parser->token;
    const char *file = parser->work->file;
    parser->work->file = "prelude ";
    parser->lexer = function->definition;
    function->definition.at = NULL;
    kiln__parser_advance(parser);
    define(parser, function);
    kiln__parser_expect_end(parser);
    parser->work->file = file;
    parser->lexer = outer;
    parser->token = next;
    return function->parsed;
}

void kiln__parse_function(kiln__parser *parser) {
    kiln__parser_advance(parser);
    kiln__token name = parser->token;
    if (!check_new_name(parser, &name, "function", true)) return;
    if (kiln__is_private(name.text))
        kiln__parser_reject(parser, &name, KILN_E_NAME, "begins with an underscore, such functions are reserved");
    else if (kiln__graph_find(parser->graph, name.text, name.length) >= 0)
        kiln__parser_reject(parser, &name, KILN_E_NAME, "is a name already, it cannot name a function");
    kiln__function *function = new_function(parser, name.text, name.length);
    if (function == NULL) return;
    parser->defining = function;
    define(parser, function);
    parser->defining = NULL;
    append(parser, function); /* not before: it cannot call itself */
}

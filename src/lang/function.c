/* Functions: definitions, the search for one by name, and the nearest name to a misspelt one.
 * The prelude's are parsed when they are first called: a program pays for those it uses alone. */
#include <string.h>

#include "lang/parser.h"

extern const char kiln__source_prelude_kiln[]; /* kernel_sources/prelude.kiln, embedded by the build */

/* Names that begin with an underscore are the prelude's own: only its functions may call them. */
static bool is_private(const char *name) { return name[0] == '_'; }

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

void kiln__prelude_index(kiln__parser *parser) {
    uint32_t line = 1;
    parser->functions_end = &parser->functions;
    for (const char *at = kiln__source_prelude_kiln; at != NULL; line++) {
        if (strncmp(at, "fn ", 3) == 0) {
            kiln__function *function = new_function(parser, at + 3, strcspn(at + 3, "( \n"));
            if (function == NULL) return;
            function->definition = (kiln__lexer){.at = at + 3, .line_start = at, .line = line, .in_prelude = true};
            append(parser, function);
        }
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
}

kiln__function *kiln__function_find(const kiln__parser *parser, const kiln__token *name) {
    if (is_private(name->text) && !parser->lexer.in_prelude) return NULL;
    kiln__function *function = parser->functions;
    while (function != NULL && !kiln__token_is(name, function->name, function->length)) function = function->next;
    return function;
}

bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name) {
    kiln__node conversion;
    return kiln__op_find(name->text, name->length) != KILN__OP_COUNT_OF ||
           kiln__conversion_find(parser, name, &conversion) || kiln__function_find(parser, name) != NULL;
}

uint32_t kiln__parameter_find(const kiln__function *function, const kiln__token *name) {
    uint32_t i = 0;
    while (i < function->parameter_count &&
           !kiln__token_is(name, function->parameters[i].name, function->parameters[i].length))
        i++;
    return i;
}

/* Fails where the name cannot be a new function's or parameter's. */
static bool check_new_name(kiln__parser *parser, const kiln__token *name, const char *what) {
    const char *problem = NULL;
    if (kiln__is_reserved(name)) problem = "is a reserved word";
    if (kiln__is_callable(parser, name)) problem = "is a function already";
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
    if (!check_new_name(parser, &name, "parameter")) return false;
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

/* From the name on. */
static void define(kiln__parser *parser, kiln__function *function) {
    kiln__parser_advance(parser);
    if (!kiln__parser_expect(parser, '(', "'(' and the parameters")) return;
    kiln__parse_parameters(parser, function, true);
    if (!kiln__parser_expect(parser, '=', "'=' and the function's expression")) return;
    kiln__parse_body(parser, function);
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
    if (!check_new_name(parser, &name, "function")) return;
    if (is_private(name.text))
        kiln__parser_reject(parser, &name, KILN_E_NAME, "begins with an underscore, such functions are reserved");
    else if (kiln__graph_find(parser->graph, name.text, name.length) >= 0)
        kiln__parser_reject(parser, &name, KILN_E_NAME, "is a name already, it cannot name a function");
    kiln__function *function = new_function(parser, name.text, name.length);
    if (function == NULL) return;
    define(parser, function);
    append(parser, function); /* not before: it cannot call itself */
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; both at most KILN__MAX_NAME long. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    uint8_t table[KILN__MAX_NAME + 1][KILN__MAX_NAME + 1]; /* of the first i bytes of a and the first k of b */
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t k = 0; k <= b_length; k++) {
            unsigned least = (unsigned)(i + k);
            if (i > 0 && k > 0) {
                unsigned either = table[i - 1][k] < table[i][k - 1] ? table[i - 1][k] : table[i][k - 1];
                least = table[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0u : 1u);
                if (either + 1 < least) least = either + 1;
            }
            bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (swapped && table[i - 2][k - 2] + 1u < least) least = table[i - 2][k - 2] + 1u;
            table[i][k] = (uint8_t)least;
        }
    }
    return table[a_length][b_length];
}

typedef struct suggestion {
    const char *name; /* NULL while nothing is near */
    size_t length;
    unsigned distance;
} suggestion;

static void consider(const kiln__token *name, const char *other, size_t length, suggestion *nearest) {
    if (length == 0 || is_private(other)) return;
    unsigned distance = edit_distance(name->text, name->length, other, length);
    if (distance < nearest->distance) *nearest = (suggestion){other, length, distance};
}

bool kiln__fail_unknown(kiln__parser *parser, const kiln__token *name) {
    /* A third of the name may be wrong, beyond that the names have little to do with each other. */
    suggestion nearest = {.distance = name->length < 6 ? 2 : 1 + (unsigned)name->length / 3};
    for (kiln__op op = 0; op < KILN__OP_COUNT_OF; op++)
        consider(name, kiln__op_describe(op)->name, strlen(kiln__op_describe(op)->name), &nearest);
    for (kiln_type type = 0; type < KILN_TYPE_COUNT; type++)
        consider(name, kiln_type_name(type), strlen(kiln_type_name(type)), &nearest);
    consider(name, "float", strlen("float"), &nearest);
    for (const kiln__function *function = parser->functions; function != NULL; function = function->next)
        consider(name, function->name, function->length, &nearest);
    const char *quote = kiln__parser_quote(parser, name);
    if (nearest.name == NULL) return KILN__FAIL_AT(parser, name, KILN_E_NAME, "unknown function %s", quote);
    return KILN__FAIL_AT(parser, name, KILN_E_NAME, "unknown function %s; did you mean '%.*s'?", quote,
                         (int)nearest.length, nearest.name);
}

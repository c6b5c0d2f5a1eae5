/* Functions: their definitions, the search for one by name, and the nearest name to a misspelt one. */
#include <string.h>

#include "lang/parser.h"

static bool is_named(const kiln__token *token, const char *name, size_t length) {
    return token->length == length && memcmp(token->text, name, length) == 0;
}

/* Names that begin with an underscore are the prelude's own: only its functions may call them. */
static bool is_private(const char *name) { return name[0] == '_'; }

static const kiln__function *find_parsed(const kiln__parser *parser, const kiln__token *name) {
    for (uint32_t i = 0; i < parser->function_count; i++) {
        if (is_named(name, parser->functions[i].name, parser->functions[i].length)) return &parser->functions[i];
    }
    return NULL;
}

const kiln__function *kiln__function_find(kiln__parser *parser, const kiln__token *name) {
    if (is_private(name->text) && !parser->in_prelude) return NULL;
    const kiln__function *function = find_parsed(parser, name);
    kiln__prelude_entry *entry = function == NULL ? kiln__prelude_find(parser, name) : NULL;
    return entry == NULL ? function : kiln__prelude_load(parser, entry);
}

bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name) {
    kiln_type type;
    if (kiln__op_find(name->text, name->length) != KILN__OP_COUNT_OF) return true;
    if (kiln__type_parse(name->text, name->length, &type)) return true;
    if (is_private(name->text) && !parser->in_prelude) return false;
    return find_parsed(parser, name) != NULL || kiln__prelude_find(parser, name) != NULL;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; both at most KILN__MAX_NAME long. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][KILN__MAX_NAME + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b_length; k++) last[k] = (unsigned)k;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_length; k++) {
            unsigned least = last[k - 1] + (a[i - 1] != b[k - 1]);
            if (last[k] + 1 < least) least = last[k] + 1;
            if (row[k - 1] + 1 < least) least = row[k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && before[k - 2] + 1 < least)
                least = before[k - 2] + 1;
            row[k] = least;
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

static void consider(const kiln__token *name, const char *other, size_t length, unsigned *nearest, char *out) {
    if (length == 0 || is_private(other)) return;
    unsigned distance = edit_distance(name->text, name->length, other, length);
    if (distance >= *nearest) return;
    *nearest = distance;
    memcpy(out, other, length);
    out[length] = '\0';
}

void kiln__suggest(const kiln__parser *parser, const kiln__token *name, char out[KILN__MAX_NAME + 1]) {
    /* A third of the name may be wrong, beyond that the names have little to do with each other. */
    unsigned nearest = name->length < 6 ? 2 : 1 + (unsigned)name->length / 3;
    out[0] = '\0';
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const char *known = kiln__op_describe((kiln__op)op)->name;
        consider(name, known, strlen(known), &nearest, out);
    }
    for (int type = 0; type < KILN_TYPE_COUNT; type++) {
        const char *known = kiln_type_name((kiln_type)type);
        consider(name, known, strlen(known), &nearest, out);
    }
    for (uint32_t i = 0; i < parser->prelude_count; i++)
        consider(name, parser->prelude[i].name, parser->prelude[i].length, &nearest, out);
    for (uint32_t i = 0; i < parser->function_count; i++)
        consider(name, parser->functions[i].name, parser->functions[i].length, &nearest, out);
}

/* Fails where the name cannot be a new function's or parameter's. */
static bool check_new_name(kiln__parser *parser, const kiln__token *name, const char *what) {
    char quote[KILN__QUOTE_SIZE];
    kiln__token_quote(name, quote);
    if (name->kind != KILN__TOKEN_NAME) {
        kiln__parser_fail(parser, KILN_E_SYNTAX, name, "expected the name of a %s, found %s", what, quote);
    } else if (kiln__parser_is_reserved(name)) {
        kiln__parser_fail(parser, KILN_E_NAME, name, "%s is a reserved word, it cannot name a %s", quote, what);
    } else if (kiln__is_callable(parser, name)) {
        kiln__parser_fail(parser, KILN_E_NAME, name, "%s is a function already, it cannot name a %s", quote, what);
    } else if (is_private(name->text) && !parser->in_prelude && what[0] == 'f') {
        kiln__parser_fail(parser, KILN_E_NAME, name, "%s begins with an underscore, such functions are reserved",
                          quote);
    }
    return parser->status == KILN_OK;
}

uint32_t kiln__parse_parameters(kiln__parser *parser, kiln__parameter parameters[KILN__MAX_PARAMETERS], bool defaults) {
    uint32_t count = 0;
    char quote[KILN__QUOTE_SIZE];
    if (parser->token.kind == ')') {
        kiln__parser_advance(parser);
        return 0;
    }
    for (;;) {
        kiln__token name = parser->token;
        if (!check_new_name(parser, &name, "parameter")) return count;
        for (uint32_t i = 0; i < count; i++) {
            if (!is_named(&name, parameters[i].name, parameters[i].length)) continue;
            kiln__parser_fail(parser, KILN_E_NAME, &name, "parameter %s is listed twice",
                              kiln__token_quote(&name, quote));
            return count;
        }
        if (count == KILN__MAX_PARAMETERS) {
            kiln__parser_fail(parser, KILN_E_LIMIT, &name, "a function has at most %d parameters",
                              KILN__MAX_PARAMETERS);
            return count;
        }
        kiln__parameter *parameter = &parameters[count++];
        *parameter = (kiln__parameter){.name = name.text, .length = name.length};
        kiln__parser_advance(parser);
        if (defaults && parser->token.kind == '=') {
            kiln__parser_advance(parser);
            parameter->optional = true;
            parameter->value = kiln__parse_constant(parser);
        } else if (count > 1 && parameters[count - 2].optional) {
            kiln__parser_fail(parser, KILN_E_SYNTAX, &name, "parameter %s without a default follows one with a default",
                              kiln__token_quote(&name, quote));
        }
        if (parser->token.kind != ',') break;
        kiln__parser_advance(parser);
    }
    kiln__parser_expect(parser, ')', "',' or ')'");
    return count;
}

void kiln__parse_function(kiln__parser *parser) {
    kiln__token name = parser->token;
    kiln__function function = {.name = name.text, .length = name.length};
    char quote[KILN__QUOTE_SIZE];
    if (!parser->in_prelude && !check_new_name(parser, &name, "function")) return;
    if (!parser->in_prelude && kiln__graph_find(parser->graph, name.text, name.length) >= 0) {
        kiln__parser_fail(parser, KILN_E_NAME, &name, "%s is a name already, it cannot name a function",
                          kiln__token_quote(&name, quote));
        return;
    }
    kiln__parser_advance(parser);
    if (!kiln__parser_expect(parser, '(', "'(' and the parameters")) return;
    function.parameter_count = kiln__parse_parameters(parser, function.parameters, true);
    while (function.required_count < function.parameter_count && !function.parameters[function.required_count].optional)
        function.required_count++;
    if (!kiln__parser_expect(parser, '=', "'=' and the function's expression")) return;
    const kiln__scope *outer = parser->scope;
    kiln__scope scope = {KILN__SCOPE_FUNCTION, &function.nodes, function.parameters, function.parameter_count};
    parser->scope = &scope;
    function.result = kiln__parse_expression(parser);
    parser->scope = outer;
    if (parser->status != KILN_OK) return;
    kiln__function *functions = kiln__grow(&parser->scratch, parser->functions, parser->function_count,
                                           &parser->function_capacity, sizeof *functions);
    if (functions == NULL) {
        kiln__parser_out_of_memory(parser);
        return;
    }
    parser->functions = functions;
    parser->functions[parser->function_count++] = function;
}

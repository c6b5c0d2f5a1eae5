/* SPDX-License-Identifier: Apache-2.0 */
/* Program text to tokens: names, numbers and punctuators, each with its place.
 * Works on bytes; characters beyond ASCII may stand in comments only. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "lang/parser.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

const char *kiln__parser_quote(kiln__parser *parser, const kiln__token *token) {
    if (token->kind == KILN__TOKEN_END) return "the end of the program";
    if (token->kind == KILN__TOKEN_NEWLINE) return "the end of the line";
    int shown = token->length > 40 ? 40 : (int)token->length;
    snprintf(parser->quote, sizeof parser->quote, "'%.*s%s'", shown, token->text, token->length > 40 ? "..." : "");
    return parser->quote;
}

bool kiln__parser_reject(kiln__parser *parser, const kiln__token *at, kiln_status status, const char *problem) {
    return KILN__FAIL_AT(parser, at, status, "%s %s", kiln__parser_quote(parser, at), problem);
}

bool kiln__parser_expected(kiln__parser *parser, const kiln__token *at, const char *what) {
    const char *quote = kiln__parser_quote(parser, at), *use = kiln__advice(at);
    if (use == NULL) return KILN__FAIL_AT(parser, at, KILN_E_SYNTAX, "expected %s, found %s", what, quote);
    return KILN__FAIL_AT(parser, at, KILN_E_SYNTAX, "expected %s, found %s; use %s", what, quote, use);
}

static void skip_blank(kiln__lexer *lexer) {
    for (;; lexer->at++) {
        char c = *lexer->at;
        if (c == '#') {
            while (lexer->at[1] != '\0' && lexer->at[1] != '\n') lexer->at++;
        } else if (c == '\n' && lexer->nesting > 0) {
            lexer->line++;
            lexer->line_start = lexer->at + 1;
        } else if (c != ' ' && c != '\t' && !(c == '\r' && lexer->at[1] == '\n')) {
            return;
        }
    }
}

/* Whatever letters and digits are stuck to a number belong to it, so that 1x is one malformed number and not two
 * tokens. */
static size_t number_length(const char *text, bool hexadecimal) {
    size_t length = strspn(text, "0123456789.");
    bool is_exponent = !hexadecimal && (text[length] == 'e' || text[length] == 'E');
    if (is_exponent && (text[length + 1] == '+' || text[length + 1] == '-') && is_digit(text[length + 2])) length += 2;
    while (is_letter(text[length]) || is_digit(text[length]) || text[length] == '.') length++;
    return length;
}

/* Whatever the process's locale, a point is a point. */
static double read_float(const char *text, char **end) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) return NAN;
    const double value = strtod_l(text, end, c_locale);
    freelocale(c_locale);
    return value;
}

double kiln__float_read(const char *text) {
    char *end = NULL;
    return read_float(text, &end);
}

static void read_number(kiln__parser *parser, kiln__token *token) {
    bool hexadecimal = token->text[0] == '0' && (token->text[1] == 'x' || token->text[1] == 'X'), fits;
    token->length = number_length(token->text, hexadecimal);
    char *end = NULL;
    int saved = errno;
    errno = 0;
    if (!hexadecimal && strcspn(token->text, ".eE") < token->length) {
        token->kind = KILN__TOKEN_FLOAT;
        token->value.f64 = read_float(token->text, &end);
        fits = isfinite(token->value.f64);
    } else {
        token->kind = KILN__TOKEN_INT;
        token->value.u64 = strtoull(token->text, &end, hexadecimal ? 16 : 10);
        fits = errno == 0;
    }
    errno = saved;
    const char *range = token->kind == KILN__TOKEN_FLOAT ? "is beyond the range of f64" : "is beyond the range of u64";
    bool well_formed = end == token->text + token->length;
    if (!well_formed || !fits) kiln__parser_reject(parser, token, KILN_E_SYNTAX, well_formed ? range : "is no number");
}

static size_t name_length(const char *text) {
    size_t length = 0;
    while (is_letter(text[length]) || is_digit(text[length])) length++;
    return length;
}

static void read_name(kiln__parser *parser, kiln__token *token) {
    token->kind = KILN__TOKEN_NAME;
    token->length = name_length(token->text);
    if (token->length <= KILN__MAX_NAME) return;
    KILN__FAIL_AT(parser, token, KILN_E_LIMIT, "name %s has %zu bytes, at most %d are allowed",
                  kiln__parser_quote(parser, token), token->length, KILN__MAX_NAME);
}

static bool is_pair(const char *text) {
    static const char pairs[] = "|| && == != <= >= << >> ** ->";
    for (const char *pair = pairs; text[0] != '\0' && text[1] != '\0' && pair < pairs + sizeof pairs - 1; pair += 3)
        if (memcmp(text, pair, 2) == 0) return true;
    return false;
}

size_t kiln__token_length(const char *text) {
    if (is_digit(text[0]) || (text[0] == '.' && is_digit(text[1])))
        return number_length(text, text[0] == '0' && (text[1] == 'x' || text[1] == 'X'));
    if (is_letter(text[0])) return name_length(text);
    if (is_pair(text)) return 2;
    if (text[0] == '\0' || text[0] == '\n') return 0;
    size_t length = kiln__character_length(text);
    return length > 0 ? length : 1;
}

static void read_punctuator(kiln__parser *parser, kiln__token *token) {
    token->kind = token->text[0];
    token->length = 1;
    if (is_pair(token->text)) {
        token->kind = KILN__PAIR(token->text[0], token->text[1]);
        token->length = 2;
        return;
    }
    if (token->kind == '(') parser->lexer.nesting++;
    if (token->kind == ')' && parser->lexer.nesting > 0) parser->lexer.nesting--;
    if (strchr("+-*/%&|^~!<>=?:;,()", token->kind) != NULL) return;
    token->length = kiln__character_length(token->text);
    const char *use = kiln__advice(token);
    if (use != NULL)
        KILN__FAIL_AT(parser, token, KILN_E_SYNTAX, "%s is not part of the language; use %s",
                      kiln__parser_quote(parser, token), use);
    else if (token->length > 0)
        kiln__parser_reject(parser, token, KILN_E_SYNTAX, "is not part of the language");
    else
        KILN__FAIL_AT(parser, token, KILN_E_SYNTAX, "byte 0x%02x is not part of the language",
                      (unsigned)(unsigned char)token->text[0]);
}

void kiln__parser_advance(kiln__parser *parser) {
    kiln__lexer *lexer = &parser->lexer;
    kiln__token *token = &parser->token;
    skip_blank(lexer);
    *token = (kiln__token){.kind = KILN__TOKEN_END, .text = lexer->at, .line = lexer->line};
    token->column = (uint32_t)(lexer->at - lexer->line_start) + 1;
    char c = *lexer->at;
    if (c == '\0' || parser->work->status != KILN_OK) return;
    if (c == '\n') {
        token->kind = KILN__TOKEN_NEWLINE;
        token->length = 1;
        lexer->line++;
        lexer->line_start = lexer->at + 1;
    } else if (is_digit(c) || (c == '.' && is_digit(lexer->at[1]))) {
        read_number(parser, token);
    } else if (is_letter(c)) {
        read_name(parser, token);
    } else {
        read_punctuator(parser, token);
    }
    lexer->at += token->length;
    if (parser->work->status != KILN_OK) token->kind = KILN__TOKEN_END;
}

bool kiln__parser_at_assignment(const kiln__parser *parser) {
    kiln__lexer after = parser->lexer;
    skip_blank(&after);
    return after.at[0] == '=' && after.at[1] != '=';
}

bool kiln__parser_expect(kiln__parser *parser, int kind, const char *what) {
    if (parser->token.kind != kind) return kiln__parser_expected(parser, &parser->token, what);
    kiln__parser_advance(parser);
    return parser->work->status == KILN_OK;
}

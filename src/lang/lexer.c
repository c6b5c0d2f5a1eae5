/* Program text to tokens: names, numbers and punctuators, each with its place.
 * Works on bytes; characters beyond ASCII may stand in comments only. */
#define _GNU_SOURCE
#include "lang/lexer.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/graph.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

kiln_status kiln__fail_at(kiln_status status, const char *file, uint32_t line, uint32_t column, const char *format,
                          ...) {
    char sentence[900];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return kiln__fail(status, "%s%u:%u: %s", file, line, column, sentence);
}

/* The bytes of the UTF-8 character at text; 0 if it is none, or cannot be printed. */
static size_t character_length(const char *text) {
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : byte[0] >= 0xc2 ? 2 : 1;
    if (byte[0] < 0x20 || byte[0] > 0xf4 || (length == 1 && byte[0] >= 0x7f)) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) return 0;
    }
    return length;
}

const char *kiln__token_quote(const kiln__token *token, char buffer[KILN__QUOTE_SIZE]) {
    if (token->kind == KILN__TOKEN_END) return "the end of the program";
    if (token->kind == KILN__TOKEN_NEWLINE) return "the end of the line";
    int shown = token->length > 40 ? 40 : (int)token->length;
    snprintf(buffer, KILN__QUOTE_SIZE, "'%.*s%s'", shown, token->text, token->length > 40 ? "..." : "");
    return buffer;
}

static kiln_status fail_at_token(const kiln__lexer *lexer, kiln_status status, const kiln__token *token,
                                 const char *problem) {
    char quote[KILN__QUOTE_SIZE];
    return kiln__fail_at(status, lexer->file, token->line, token->column, "%s %s", kiln__token_quote(token, quote),
                         problem);
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

/* The end of the number that starts at text; *is_float tells by its form. Whatever letters and digits are stuck to
 * it belong to it, so that 1x is one malformed number and not two tokens. */
static const char *number_end(const char *text, bool *is_float, bool *well_formed) {
    const char *at = text;
    *is_float = false;
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        at += 2;
        const char *digits = at;
        while (is_digit(*at) || (*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F')) at++;
        *well_formed = at > digits;
    } else {
        while (is_digit(*at)) at++;
        if (*at == '.') {
            *is_float = true;
            at++;
            while (is_digit(*at)) at++;
        }
        *well_formed = true;
        if (*at == 'e' || *at == 'E') {
            const char *digits = at + (at[1] == '+' || at[1] == '-' ? 2 : 1);
            *is_float = true;
            *well_formed = is_digit(*digits);
            if (*well_formed) at = digits;
            while (is_digit(*at)) at++;
        }
    }
    while (is_letter(*at) || is_digit(*at) || *at == '.') {
        *well_formed = false;
        at++;
    }
    return at;
}

/* The value of well-formed text, whatever the process's locale: false if it does not fit or memory ran out. */
static bool read_float(const char *text, double *out) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) return false;
    *out = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return isfinite(*out);
}

static kiln_status read_number(kiln__lexer *lexer, kiln__token *token) {
    bool is_float, well_formed;
    const char *end = number_end(token->text, &is_float, &well_formed);
    token->kind = is_float ? KILN__TOKEN_FLOAT : KILN__TOKEN_INT;
    token->length = (size_t)(end - token->text);
    lexer->at = end;
    if (!well_formed) return fail_at_token(lexer, KILN_E_SYNTAX, token, "is no number");
    if (is_float) {
        if (!read_float(token->text, &token->value.f64))
            return fail_at_token(lexer, KILN_E_SYNTAX, token, "is beyond the range of f64");
        return KILN_OK;
    }
    bool hexadecimal = token->length > 1 && (token->text[1] | 0x20) == 'x';
    int saved = errno;
    errno = 0;
    token->value.i64 = strtoll(token->text, NULL, hexadecimal ? 16 : 10);
    bool fits = errno == 0;
    errno = saved;
    if (!fits) return fail_at_token(lexer, KILN_E_SYNTAX, token, "is beyond the range of i64");
    return KILN_OK;
}

static kiln_status read_name(kiln__lexer *lexer, kiln__token *token) {
    while (is_letter(*lexer->at) || is_digit(*lexer->at)) lexer->at++;
    token->kind = KILN__TOKEN_NAME;
    token->length = (size_t)(lexer->at - token->text);
    if (token->length <= KILN__MAX_NAME) return KILN_OK;
    char quote[KILN__QUOTE_SIZE];
    return kiln__fail_at(KILN_E_LIMIT, lexer->file, token->line, token->column,
                         "name %s has %zu bytes, at most %d are allowed", kiln__token_quote(token, quote),
                         token->length, KILN__MAX_NAME);
}

static kiln_status read_punctuator(kiln__lexer *lexer, kiln__token *token) {
    static const char pairs[][3] = {"||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "**", "->"};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (token->text[0] == pairs[i][0] && token->text[1] == pairs[i][1]) {
            token->kind = KILN__PAIR(pairs[i][0], pairs[i][1]);
            token->length = 2;
            lexer->at += 2;
            return KILN_OK;
        }
    }
    if (strchr("+-*/%&|^~!<>=?:;,()", token->text[0]) != NULL) {
        token->kind = token->text[0];
        token->length = 1;
        lexer->at++;
        if (token->kind == '(') lexer->nesting++;
        if (token->kind == ')' && lexer->nesting > 0) lexer->nesting--;
        return KILN_OK;
    }
    token->length = character_length(token->text);
    if (token->length > 0) return fail_at_token(lexer, KILN_E_SYNTAX, token, "is not part of the language");
    return kiln__fail_at(KILN_E_SYNTAX, lexer->file, token->line, token->column,
                         "byte 0x%02x is not part of the language", (unsigned)(unsigned char)token->text[0]);
}

kiln_status kiln__lexer_next(kiln__lexer *lexer, kiln__token *token) {
    skip_blank(lexer);
    memset(token, 0, sizeof *token);
    token->text = lexer->at;
    token->line = lexer->line;
    token->column = (uint32_t)(lexer->at - lexer->line_start) + 1;
    char c = *lexer->at;
    if (c == '\0') {
        token->kind = KILN__TOKEN_END;
        return KILN_OK;
    }
    if (c == '\n') {
        token->kind = KILN__TOKEN_NEWLINE;
        token->length = 1;
        lexer->at++;
        lexer->line++;
        lexer->line_start = lexer->at;
        return KILN_OK;
    }
    if (is_digit(c) || (c == '.' && is_digit(lexer->at[1]))) return read_number(lexer, token);
    if (is_letter(c)) return read_name(lexer, token);
    return read_punctuator(lexer, token);
}

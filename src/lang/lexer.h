/* Program text to tokens, one at a time. */
#ifndef KILN_LANG_LEXER_H
#define KILN_LANG_LEXER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A punctuator's kind is its characters: '+', or KILN__PAIR('*', '*'). */
#define KILN__PAIR(a, b) ((a) << 8 | (b))
enum {
    KILN__TOKEN_END = 1 << 16,
    KILN__TOKEN_NEWLINE, /* outside of parentheses only; ';' is a punctuator */
    KILN__TOKEN_NAME,
    KILN__TOKEN_INT,
    KILN__TOKEN_FLOAT
};

typedef struct kiln__token {
    int kind;
    const char *text;
    size_t length;
    uint32_t line, column; /* from 1; columns count bytes */
    union {
        int64_t i64;
        double f64;
    } value;
} kiln__token;

typedef struct kiln__lexer {
    const char *at, *line_start;
    uint32_t line;
    uint32_t nesting; /* open parentheses: newlines inside them separate nothing */
    const char *file; /* "" for the user's text; stands before line and column in messages */
} kiln__lexer;

#define KILN__QUOTE_SIZE 64

/* KILN_E_SYNTAX for what is no token, KILN_E_LIMIT for a name that is too long. */
kiln_status kiln__lexer_next(kiln__lexer *lexer, kiln__token *token);
/* "'abc'" (shortened where it is long), "the end of the line": the token in a message. Returns buffer. */
const char *kiln__token_quote(const kiln__token *token, char buffer[KILN__QUOTE_SIZE]);
/* Fails with "line:column: " before the sentence. */
kiln_status kiln__fail_at(kiln_status status, const char *file, uint32_t line, uint32_t column, const char *format, ...)
    KILN_PRINTF(5, 6);

#endif

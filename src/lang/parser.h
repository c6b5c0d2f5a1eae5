/* What the files of the parser share: tokens, functions, and the state of the parse. */
#ifndef KILN_LANG_PARSER_H
#define KILN_LANG_PARSER_H

#include <string.h>

#include "lang/nodes.h"

#define KILN__MAX_PARAMETERS 16
/* Nodes copied by calls of functions: bounds the time that a short text can take, as equal nodes take no room. */
#define KILN__MAX_COPIES (64 * KILN__MAX_NODES)

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

static inline bool kiln__token_is(const kiln__token *token, const char *word, size_t length) {
    return token->kind == KILN__TOKEN_NAME && token->length == length && memcmp(token->text, word, length) == 0;
}

/* Where the next token is read, in the program or in a function of the prelude, and how deep that has got. */
typedef struct kiln__lexer {
    const char *at, *line_start;
    uint32_t line;
    uint32_t nesting; /* open parentheses: newlines inside them separate nothing */
    uint32_t depth;   /* of the expression */
    uint32_t copies;  /* of nodes, by calls of functions */
    bool in_prelude;
} kiln__lexer;

typedef struct kiln__parameter {
    const char *name;
    size_t length;
    bool optional, converted;
    kiln__node value;      /* where optional: a literal */
    kiln__node conversion; /* where converted: what is applied to each argument */
} kiln__parameter;

/* What names mean where an expression stands. */
typedef enum kiln__scope {
    KILN__SCOPE_FUNCTION, /* the parameters of an fn */
    KILN__SCOPE_PROGRAM,  /* inputs, scalars, assigned names */
    KILN__SCOPE_COMBINE,  /* the two parameters of reduce's lambda */
    KILN__SCOPE_CONSTANT  /* nothing */
} kiln__scope;

/* An expression over KILN__OP_PARAM nodes, every call in it already expanded: an fn, a lambda; the program itself is
 * one without parameters. */
typedef struct kiln__function {
    struct kiln__function *next;
    const char *name;
    size_t length;
    /* Of the prelude's functions, which are parsed when they are first called; at is NULL then. */
    kiln__lexer definition;
    bool parsed;
    kiln__scope scope;
    kiln__parameter *parameters;
    uint32_t parameter_count, required_count;
    kiln__nodes nodes;
    uint32_t result;
} kiln__function;

/* After the first failure every token is the end. */
typedef struct kiln__parser {
    kiln__work *work;
    kiln__lexer lexer;
    kiln__token token; /* the next one */
    kiln__graph *graph;
    kiln__function *current; /* whose expression is being parsed */
    kiln__function *functions, **functions_end;
    uint32_t name_capacity, reducer_capacity;
    char quote[64];
} kiln__parser;

/* lexer.c */
/* KILN_E_SYNTAX for what is no token, KILN_E_LIMIT for a name that is too long. */
void kiln__parser_advance(kiln__parser *parser);
/* Whether '=' follows the token. */
bool kiln__parser_at_assignment(const kiln__parser *parser);
/* "'abc'" (shortened where it is long), "the end of the line": the token in a message, until the next quote. */
const char *kiln__parser_quote(kiln__parser *parser, const kiln__token *token);
/* Fails with "'abc' PROBLEM". Gives false. */
bool kiln__parser_reject(kiln__parser *parser, const kiln__token *at, kiln_status status, const char *problem);
/* Fails with "expected WHAT, found ...". Gives false. */
bool kiln__parser_expected(kiln__parser *parser, const kiln__token *at, const char *what);
/* Consumes a token of the kind; otherwise fails as above. */
bool kiln__parser_expect(kiln__parser *parser, int kind, const char *what);

/* parser.c */
/* The node in the current function, placed at the token. */
uint32_t kiln__parser_add(kiln__parser *parser, const kiln__token *at, kiln__node node);
/* A new name, free or the value of a node; gives its node. */
uint32_t kiln__parser_new_name(kiln__parser *parser, const kiln__token *name, bool assigned, uint32_t node);
/* Fails unless the statement ends here. */
void kiln__parser_expect_end(kiln__parser *parser);

/* expression.c */
uint32_t kiln__parse_expression(kiln__parser *parser);
/* Parses function's expression, into its nodes and result. */
void kiln__parse_body(kiln__parser *parser, kiln__function *function);
/* A constant expression, literals and operators on them: the literal that it comes to. */
kiln__node kiln__parse_constant(kiln__parser *parser);
bool kiln__is_reserved(const kiln__token *name);

/* call.c */
/* After a name and with '(' as the next token. */
uint32_t kiln__parse_call(kiln__parser *parser, const kiln__token *name);
/* Whether the name is that of a conversion, which *out becomes, without its argument. */
bool kiln__conversion_find(const kiln__parser *parser, const kiln__token *name, kiln__node *out);

/* function.c */
void kiln__prelude_index(kiln__parser *parser);
/* The function of that name; NULL if there is none that may be called here. */
kiln__function *kiln__function_find(const kiln__parser *parser, const kiln__token *name);
/* Parses a function of the prelude when it is first called; false in its own expression, or if the parser failed. */
bool kiln__function_load(kiln__parser *parser, kiln__function *function);
/* Whether the name is called: an operator, a conversion, a function. */
bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name);
/* From the word fn on. */
void kiln__parse_function(kiln__parser *parser);
/* Fails, with the callable name that is nearest to the misspelt one. */
bool kiln__fail_unknown(kiln__parser *parser, const kiln__token *name);
/* "(a, b)" of an fn or a lambda, after the '('; an fn's names may be followed by ": conversion" and "= value". */
void kiln__parse_parameters(kiln__parser *parser, kiln__function *function, bool is_fn);
/* The parameter of that name, parameter_count if there is none. */
uint32_t kiln__parameter_find(const kiln__function *function, const kiln__token *name);

#endif

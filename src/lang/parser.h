/* SPDX-License-Identifier: Apache-2.0 */
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
        uint64_t u64;
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

#define KILN__MAX_RESULTS 8

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
    bool of_prelude, in_library; /* the latter in library.kiln, whose functions no gradient is written with */
    bool called;                 /* by the program */
    kiln__scope scope;
    kiln__parameter *parameters;
    uint32_t parameter_count, required_count;
    kiln__nodes nodes;
    uint32_t result; /* the first of several: ... */
    uint32_t results[KILN__MAX_RESULTS], result_count;
} kiln__function;

/* What waits for the value of an expression inside it. These are kept in memory of their own and not on the thread's
 * stack, which is small in many programs: however deep a text nests, parsing it takes the same stack. */
typedef enum kiln__frame_kind {
    KILN__FRAME_END,       /* whoever asked for the expression */
    KILN__FRAME_GROUP,     /* "(", then ")" */
    KILN__FRAME_UNARY,     /* an operator */
    KILN__FRAME_POWER,     /* a base and "**" */
    KILN__FRAME_BINARY,    /* a left operand and an operator */
    KILN__FRAME_CHOICE,    /* a condition and "?", then ":" */
    KILN__FRAME_OTHERWISE, /* a condition, a value and ":" */
    KILN__FRAME_ARGUMENT,  /* a call */
    KILN__FRAME_COMBINE,   /* reduce, of what values combine to, ... */
    KILN__FRAME_REDUCED,   /* ... of what is reduced, ... */
    KILN__FRAME_IDENTITY   /* ... of the identity */
} kiln__frame_kind;

typedef struct kiln__frame {
    kiln__frame_kind kind;
    kiln__op op;
    int precedence;     /* BINARY */
    uint32_t values[2]; /* so far */
    kiln__token at;     /* the operator or the called name */
    union {
        struct {
            const kiln__function *function;       /* NULL: an operator or a conversion, whose arguments have no names */
            kiln__node conversion;                /* of its name, or round_to; without arguments */
            uint32_t nodes[KILN__MAX_PARAMETERS]; /* of each parameter */
            uint32_t count;                       /* by position; may exceed what nodes has room for */
            uint32_t place;                       /* of the argument that is being parsed */
            uint32_t domain;                      /* of the reductions in it; 0: they have their own */
            bool named;                           /* one was given by its name */
        } call;
        struct kiln__reduction *reduction;
    } u;
} kiln__frame;

/* After the first failure every token is the end. */
typedef struct kiln__parser {
    kiln__work *work;
    kiln__lexer lexer;
    kiln__token token; /* the next one */
    kiln__graph *graph;
    const kiln__own_function *own; /* that it may call besides */
    kiln__function *current;       /* whose expression is being parsed */
    kiln__function *defining;      /* the fn of the user's that is being defined; NULL outside of one */
    kiln__frame *frames;
    uint32_t frame_count, frame_capacity;
    kiln__function *functions, **functions_end;
    const kiln__function *expanded;      /* the function that was called last ... */
    uint32_t results[KILN__MAX_RESULTS]; /* ... and what its results are */
    uint32_t name_capacity, reducer_capacity, domain_capacity;
    char quote[64];
} kiln__parser;

/* lexer.c */
/* KILN_E_SYNTAX for what is no token, KILN_E_LIMIT for a name that is too long. */
void kiln__parser_advance(kiln__parser *parser);
/* The number at the text. */
double kiln__float_read(const char *text);
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
/* Waits for one more expression; false if it is nested too deep. */
bool kiln__parser_push(kiln__parser *parser, const kiln__frame *frame);
/* Parses function's expression, into its nodes and result. */
void kiln__parse_body(kiln__parser *parser, kiln__function *function);
/* A constant expression, literals and operators on them: the literal that it comes to. */
kiln__node kiln__parse_constant(kiln__parser *parser);
/* The literal that a parsed constant comes to; it began at the token. */
kiln__node kiln__constant_value(kiln__parser *parser, const kiln__function *constant, const kiln__token *at);
bool kiln__is_reserved(const kiln__token *name);
/* How tight a binary operator binds, from 1 on; 0: it is none. */
int kiln__operator_precedence(kiln__op op);

/* call.c */
/* After a name and with '(' as the next token. True: *value is the call's; false: an argument is to be parsed first. */
bool kiln__call_begin(kiln__parser *parser, const kiln__token *name, uint32_t *value);
/* The same with *value as what a frame of a call, which is off the stack again, waited for. */
bool kiln__call_continue(kiln__parser *parser, kiln__frame *frame, uint32_t *value);
/* Whether the name is that of a conversion, which *out becomes, without its argument. */
bool kiln__conversion_find(const kiln__parser *parser, const kiln__token *name, kiln__node *out);

/* domain.c */
/* Whether the next tokens are "block =" or "axes =". */
bool kiln__at_domain(const kiln__parser *parser);
/* Parses them and what they are; gives what a node's domain is. Twice is a failure. */
uint32_t kiln__parse_domain(kiln__parser *parser, uint32_t before);
/* Gives the reductions among a called function's nodes, as they are copied, the call's domain where they have none. */
bool kiln__take_domain(kiln__node *node, uint32_t domain);
/* repeat(input, N), after the '('. */
bool kiln__parse_repeat(kiln__parser *parser, uint32_t *value);
/* Fails for a call that has a domain and reduces nothing. */
bool kiln__fail_domain(kiln__parser *parser, const kiln__token *called);

/* function.c */
void kiln__prelude_index(kiln__parser *parser);
/* After it: the rules of gradients, which are the prelude's own. */
void kiln__rules_index(kiln__parser *parser);
/* The function of that name; NULL if there is none that may be called here. */
kiln__function *kiln__function_find(const kiln__parser *parser, const kiln__token *name);
/* Parses a function of the prelude when it is first called; false in its own expression, or if the parser failed. */
bool kiln__function_load(kiln__parser *parser, kiln__function *function);
/* Whether the name can only be called: an operator, a conversion, a function of the program's with parameters. Those of
 * the prelude's and of functions without any may be an input's as well. */
bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name);
/* From the word fn on. */
void kiln__parse_function(kiln__parser *parser);
/* "(a, b)" of an fn or a lambda, after the '('; an fn's names may be followed by ": conversion" and "= value". */
void kiln__parse_parameters(kiln__parser *parser, kiln__function *function, bool is_fn);
/* The parameter of that name, parameter_count if there is none. */
uint32_t kiln__parameter_find(const kiln__function *function, const kiln__token *name);
/* Names that begin with an underscore are the prelude's own: only its functions may call them. */
static inline bool kiln__is_private(const char *name) { return name[0] == '_'; }

/* suggest.c */
/* Fails for a call of what there is not: with where it is defined, what Kiln has for it, or the nearest name. */
bool kiln__fail_unknown(kiln__parser *parser, const kiln__token *name);
/* Fails for an argument whose name is none of the function's (NULL: an operator's, which have none). */
bool kiln__fail_parameter(kiln__parser *parser, const kiln__token *called, const kiln__function *function,
                          const kiln__token *name);
/* Fails for a call with so many arguments. */
bool kiln__fail_count(kiln__parser *parser, const kiln__token *called, const kiln__function *function, uint32_t least,
                      uint32_t most, uint32_t found);
/* What a word or a character of other languages is in this one, "a && b"; NULL for others. */
const char *kiln__advice(const kiln__token *token);

#endif

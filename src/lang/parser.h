/* What the files of the parser share: nodes under construction, scopes and functions. */
#ifndef KILN_LANG_PARSER_H
#define KILN_LANG_PARSER_H

#include "lang/fold.h"
#include "lang/graph.h"
#include "lang/intern.h"
#include "lang/lexer.h"

#define KILN__MAX_PARAMETERS 16
/* Nodes copied by calls of functions: bounds the time that a short text can take, as equal nodes take no room. */
#define KILN__MAX_COPIES (64 * KILN__MAX_NODES)

/* Nodes in topological order, each once. */
typedef struct kiln__nodes {
    kiln__node *items;
    uint32_t count, capacity;
    kiln__intern intern;
} kiln__nodes;

/* What names mean where an expression stands. */
typedef enum kiln__scope_kind {
    KILN__SCOPE_PROGRAM,  /* inputs, scalars, assigned names */
    KILN__SCOPE_FUNCTION, /* the parameters of an fn */
    KILN__SCOPE_COMBINE,  /* the two parameters of reduce's lambda */
    KILN__SCOPE_CONSTANT  /* nothing */
} kiln__scope_kind;

typedef struct kiln__parameter {
    const char *name;
    size_t length;
    bool optional;
    kiln__constant value; /* where optional */
} kiln__parameter;

typedef struct kiln__scope {
    kiln__scope_kind kind;
    kiln__nodes *nodes;
    const kiln__parameter *parameters;
    uint32_t parameter_count;
} kiln__scope;

/* A function: its expression over KILN__OP_PARAM nodes, every call in it already expanded. */
typedef struct kiln__function {
    const char *name;
    size_t length;
    kiln__parameter parameters[KILN__MAX_PARAMETERS];
    uint32_t parameter_count, required_count;
    kiln__nodes nodes;
    uint32_t result;
} kiln__function;

/* Where a function of the prelude is defined. */
typedef struct kiln__prelude_entry {
    const char *name, *line_start;
    size_t length;
    uint32_t line;
    bool begun; /* parsed, or being parsed */
} kiln__prelude_entry;

/* The first failure is kept in status and ends the text: every later token is the end. */
typedef struct kiln__parser {
    kiln_status status;
    kiln__lexer lexer;
    kiln__token token; /* the next one */
    kiln__arena scratch;
    kiln__graph *graph;
    kiln__nodes program;
    const kiln__scope *scope;
    kiln__function *functions;
    uint32_t function_count, function_capacity;
    kiln__prelude_entry *prelude;
    uint32_t prelude_count;
    bool in_prelude;
    uint32_t name_capacity, reducer_capacity;
    uint32_t depth, copies;
} kiln__parser;

/* nodes.c */
/* The node's index among nodes; a limit or lack of memory is the parser's failure and gives 0. */
uint32_t kiln__nodes_add(kiln__parser *parser, kiln__nodes *nodes, const kiln__node *node);
/* An operator in the current scope, placed at the token. */
uint32_t kiln__parser_add(kiln__parser *parser, const kiln__token *at, kiln__op op, const uint32_t *args,
                          uint32_t arg_count);
uint32_t kiln__parser_add_constant(kiln__parser *parser, const kiln__token *at, const kiln__constant *constant);
/* Adds function's nodes with its parameters replaced by args. */
uint32_t kiln__parser_expand(kiln__parser *parser, const kiln__token *at, const kiln__function *function,
                             const uint32_t *args);

/* parser.c */
void kiln__parser_fail(kiln__parser *parser, kiln_status status, const kiln__token *at, const char *format, ...)
    KILN_PRINTF(4, 5);
void kiln__parser_out_of_memory(kiln__parser *parser);
void kiln__parser_advance(kiln__parser *parser);
/* Consumes a token of the kind; otherwise fails with "expected WHAT, found ...". */
bool kiln__parser_expect(kiln__parser *parser, int kind, const char *what);
/* Fails unless the statement ends here. */
void kiln__parser_expect_end(kiln__parser *parser);
/* A new name, free or the value of a node; gives its node. */
uint32_t kiln__parser_new_name(kiln__parser *parser, const kiln__token *name, bool assigned, uint32_t node);
bool kiln__token_is(const kiln__token *token, const char *word);
bool kiln__parser_is_reserved(const kiln__token *name);

/* expression.c */
uint32_t kiln__parse_expression(kiln__parser *parser);
/* A constant expression: literals and operators on them. */
kiln__constant kiln__parse_constant(kiln__parser *parser);

/* call.c */
/* After a name and with '(' as the next token. */
uint32_t kiln__parse_call(kiln__parser *parser, const kiln__token *name);

/* prelude.c */
void kiln__prelude_index(kiln__parser *parser);
kiln__prelude_entry *kiln__prelude_find(const kiln__parser *parser, const kiln__token *name);
/* Parses the function, once; NULL if that has begun already or the parser failed. */
const kiln__function *kiln__prelude_load(kiln__parser *parser, kiln__prelude_entry *entry);

/* function.c */
/* The function of that name, from the prelude if need be; NULL if there is none that may be called here. */
const kiln__function *kiln__function_find(kiln__parser *parser, const kiln__token *name);
/* Whether the name is called: an operator, a conversion, a function. */
bool kiln__is_callable(const kiln__parser *parser, const kiln__token *name);
/* The callable name that is nearest to a misspelt one, "" if none is near. */
void kiln__suggest(const kiln__parser *parser, const kiln__token *name, char out[KILN__MAX_NAME + 1]);
/* After the word fn. */
void kiln__parse_function(kiln__parser *parser);
/* "(a, b)" of an fn or a lambda; defaults: whether "= value" may follow a name. */
uint32_t kiln__parse_parameters(kiln__parser *parser, kiln__parameter parameters[KILN__MAX_PARAMETERS], bool defaults);

#endif

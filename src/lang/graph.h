/* A parsed program: an acyclic graph of operations over names, before anything is known of types or shapes. */
#ifndef KILN_LANG_GRAPH_H
#define KILN_LANG_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "lang/ops.h"

#define KILN__MAX_TEXT 65536 /* bytes of a program */
#define KILN__MAX_DEPTH 200  /* nested expressions, and calls of functions within functions */
#define KILN__MAX_NODES 4096 /* after functions are expanded */
#define KILN__MAX_NAME 63    /* bytes of a name */

typedef struct kiln__node {
    kiln__op op;
    uint8_t arg_count;
    uint32_t args[3]; /* indices of earlier nodes */
    union {
        double f64;       /* KILN__OP_FLOAT */
        int64_t i64;      /* KILN__OP_INT; KILN__OP_BOOL 0 or 1 */
        uint32_t name;    /* KILN__OP_NAME: index into names */
        kiln_type type;   /* KILN__OP_CONVERT */
        uint32_t reducer; /* KILN__OP_REDUCE_USER: index into reducers */
        int32_t axis;     /* KILN__OP_INDEX, KILN__OP_SIZE */
        uint32_t param;   /* KILN__OP_PARAM: 0 or 1, inside a reducer's own graph */
    } u;
    uint32_t line, column; /* where the text of it starts, from 1; of a function's operations: its call */
} kiln__node;

/* A free name (an input or a scalar, as the signature says) or an assigned one. */
typedef struct kiln__name {
    const char *text;
    bool assigned;
    bool read;     /* some later statement reads it */
    uint32_t node; /* assigned: the value; free: its KILN__OP_NAME node */
    uint32_t line, column;
} kiln__name;

/* reduce((a, b) -> ..., x, identity): the combine is a graph of its own over KILN__OP_PARAM 0 and 1, with no
 * names and no reductions in it. */
typedef struct kiln__reducer {
    kiln__node *nodes;
    uint32_t node_count;
    uint32_t result;
    double identity; /* a constant expression, folded */
    bool identity_is_int;
    int64_t identity_i64;
} kiln__reducer;

/* Nodes are in topological order, equal ones are one node (line and column are the first's). */
typedef struct kiln__graph {
    kiln__arena arena;
    kiln__node *nodes;
    uint32_t node_count;
    kiln__name *names; /* in the order they were first read or assigned */
    uint32_t name_count;
    kiln__reducer *reducers;
    uint32_t reducer_count;
    char *text; /* the program as given */
} kiln__graph;

/* Parses text after the prelude's functions. Errors: KILN_E_SYNTAX, KILN_E_NAME, KILN_E_LIMIT, KILN_E_MEMORY,
 * "2:7: unknown function 'sofmax'; ...". *out is destroyed with kiln__graph_destroy. */
kiln_status kiln__graph_parse(const char *text, kiln__graph **out);
void kiln__graph_destroy(kiln__graph *graph);
/* Index of the name, -1 if there is none. */
int kiln__graph_find(const kiln__graph *graph, const char *name, size_t length);

#endif

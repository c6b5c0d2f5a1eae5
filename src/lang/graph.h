/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed program: an acyclic graph of operations over names, before anything is known of types or shapes. */
#ifndef KILN_LANG_GRAPH_H
#define KILN_LANG_GRAPH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "lang/ops.h"
#include "lang/own.h"

#define KILN__MAX_TEXT 65536 /* bytes of a program */
#define KILN__MAX_DEPTH 200  /* nested expressions and calls */
#define KILN__MAX_NODES 4096 /* after functions are expanded */
#define KILN__MAX_NAME 63    /* bytes of a name */

#define KILN__RUN_OF_ROW UINT32_MAX
#define KILN__ANY_COLUMNS UINT32_MAX

/* One operation. What typing finds out is 0 before it. */
typedef struct kiln__node {
    kiln__op op;
    kiln__ctype type; /* typed: of the result; untyped: U64 of an INT beyond i64, whose bits u.i64 has; I64 of a COUNT
                         that is an integer */
    uint8_t arg_count;
    uint8_t phase;      /* typed: reductions on the longest way here: known only after phase `phase` - 1 is combined */
    bool per_element;   /* typed: varies along the reduced axes; false: one value per row, or per program */
    bool constant;      /* typed: depends on literals, scalars and sizes alone */
    bool row_invariant; /* typed: the same in all rows, without a reduction: constant, or of inputs that rows share */
    bool across;        /* typed: of all rows together, known when the last of them is done */
    bool in_order;      /* typed: of the row and of its order alone: no column's value is asked for there */
    uint32_t domain;  /* of reductions and COUNT: 1 + its index into the graph's domains; 0: the program's axes; typed:
                         of  BLOCK_REDUCE, BLOCK_COUNT: how many columns a block has */
    uint32_t run;     /* typed: so many neighbouring columns, from multiples of as many on, share the value; 0: each
                         column has its own; KILN__RUN_OF_ROW: a row has one */
    uint32_t columns; /* typed: how many of a row's first columns have the value; 0: all have; KILN__ANY_COLUMNS: as
                         many as are asked, of positions and of what a row has one of */
    uint32_t args[3]; /* indices of earlier operations */
    union {
        double f64;              /* FLOAT */
        int64_t i64;             /* INT; BOOL 0 or 1 */
        uint32_t name;           /* NAME: index into the graph's names */
        kiln_type type;          /* CONVERT */
        kiln__widening widening; /* WIDEN */
        kiln_type storage; /* ROUND_TO, STOCHASTIC: rounds a value to what this storage type holds; the value's ctype
                              stays its own */
        uint32_t input;    /* INPUT: position in the signature */
        uint32_t scalar;   /* SCALAR: position in the signature */
        uint32_t reducer;  /* REDUCE_USER: index into the graph's reducers; typed: into the program's combines */
        int32_t axis;      /* INDEX, SIZE; typed: 0 <= axis < rank */
        uint32_t param;    /* PARAM: 0 or 1, inside a reducer */
        uint32_t first;    /* typed FIRST: how many columns */
        const kiln__own_function *own; /* OWN */
        struct {
            uint16_t first; /* ORDER: how many places there are; 0: one for each column */
            uint16_t descending;
        } order;
        struct {
            uint16_t op;      /* BLOCK_REDUCE, ACROSS_REDUCE: the kiln__op that combines */
            uint16_t reducer; /* where that is REDUCE_USER */
        } block;
    } u;
    uint32_t line, column; /* untyped: where the text of it starts, from 1; of a function's operations: its call */
} kiln__node;

/* A free name (an input or a scalar, as the signature says) or an assigned one. */
typedef struct kiln__name {
    const char *text;
    bool assigned;
    bool read;      /* some later statement reads it */
    uint32_t node;  /* assigned: the value; free: its KILN__OP_NAME node */
    int64_t repeat; /* free: read as repeat(name, N), a value for each N columns; 0: as it is */
    uint32_t place; /* assigned by put(name, i): 1 + the node of i; 0: by its name */
    uint32_t line, column;
} kiln__name;

/* reduce((a, b) -> ..., x, identity): the combine is a graph of its own over KILN__OP_PARAM 0 and 1, with no
 * names and no reductions in it. */
typedef struct kiln__reducer {
    kiln__node *nodes;
    uint32_t node_count;
    uint32_t result;
    kiln__node identity; /* a literal */
} kiln__reducer;

/* What a reduction runs over, where the text says it: axes of its own, or blocks of neighbouring columns. */
typedef struct kiln__domain {
    int64_t block; /* columns along the last reduced axis; 0: it says axes */
    bool all;
    int axes[KILN_MAX_RANK], count;
    uint32_t line, column; /* where it was said first */
} kiln__domain;

/* Nodes are in topological order, equal ones are one node (line and column are the first's). */
typedef struct kiln__graph {
    kiln__arena arena;
    kiln__node *nodes;
    uint32_t node_count;
    kiln__name *names; /* in the order they were first read or assigned */
    uint32_t name_count;
    uint32_t length;  /* lengths(n): 1 + the node of n; 0: rows are as long as their tensors */
    uint32_t offsets; /* offsets(o): 1 + the node of o, a name; 0: rows lie as their tensors' strides say */
    kiln__reducer *reducers;
    uint32_t reducer_count;
    kiln__domain *domains;
    uint32_t domain_count;
    char *text;     /* the program as given */
    bool calls_own; /* the text calls functions of the caller's own, without which nobody can read it */
} kiln__graph;

/* Parses text after the prelude's functions. Errors: KILN_E_SYNTAX, KILN_E_NAME, KILN_E_LIMIT, KILN_E_MEMORY,
 * "2:7: unknown function 'sofmax'; ...". *out is destroyed with kiln__graph_destroy. */
kiln_status kiln__graph_parse(const char *text, kiln__graph **out);
/* The same where it may also call these functions, which outlive the graph; NULL: there are none. */
kiln_status kiln__graph_parse_with(const char *text, const kiln__own_function *own, kiln__graph **out);
void kiln__graph_destroy(kiln__graph *graph);
/* Index of the name, -1 if there is none. */
int kiln__graph_find(const kiln__graph *graph, const char *name, size_t length);
/* The number that other languages call by the name, "pi()" for pi, where it is a name like others here; else NULL. */
const char *kiln__number_advice(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under construction: each once, literals among them folded, and the first failure kept. */
#ifndef KILN_LANG_NODES_H
#define KILN_LANG_NODES_H

#include "lang/graph.h"

/* What parsing and typing work with. After the first failure everything below does nothing and gives 0 or NULL. */
typedef struct kiln__work {
    kiln_status status;
    kiln__arena scratch; /* freed when the work is done */
    const char *file;    /* "" for the user's text; stands before line and column in messages */
    const char *text;    /* the user's; NULL: failures are told without the text that is meant */
} kiln__work;

/* Fails with "line:column: " before the sentence. Gives false. */
bool kiln__work_fail(kiln__work *work, uint32_t line, uint32_t column, kiln_status status, const char *format, ...)
    KILN_PRINTF(5, 6);
/* The same for the parser or the typer, at a token or a node. */
#define KILN__FAIL_AT(owner, at, ...) kiln__work_fail((owner)->work, (at)->line, (at)->column, __VA_ARGS__)

/* lexer.c: the bytes of the token at text; 0 at the end of a line. */
size_t kiln__token_length(const char *text);

void *kiln__work_alloc(kiln__work *work, kiln__arena *arena, size_t count, size_t size);
void *kiln__work_copy(kiln__work *work, kiln__arena *arena, const void *items, size_t count, size_t size);
/* items with room for at least one more than count, doubled when full. */
void *kiln__work_grow(kiln__work *work, kiln__arena *arena, void *items, uint32_t count, uint32_t *capacity,
                      size_t size);

/* Nodes in topological order, each once. */
typedef struct kiln__nodes {
    kiln__node *items;
    uint32_t count, capacity;
    uint32_t *slots; /* a hash table of index + 1, 0 where empty; twice capacity of them */
} kiln__nodes;

/* The index of the node, a new one unless an equal one is there; more than most of them are too many of what. */
uint32_t kiln__nodes_add(kiln__work *work, kiln__nodes *nodes, const kiln__node *node, uint32_t most, const char *what);
bool kiln__node_equal(const kiln__node *a, const kiln__node *b);
/* The axis of an INDEX or SIZE, counted from the first of `rank` axes; whether it is one of them: else KILN_E_AXIS. */
int kiln__node_axis(const kiln__node *node, int rank);
bool kiln__node_check_axis(kiln__work *work, const kiln__node *node, int rank);
/* Marks what the marked ones need. */
void kiln__nodes_need(const kiln__node *nodes, uint32_t count, bool *needed);

/* fold.c: literals have no width of their own: integers are exact in 64 bits, signed or not, floats are doubles; the
 * type is chosen where they meet a typed value. */
kiln__node kiln__literal_float(double value);
kiln__node kiln__literal_int(int64_t value);
kiln__node kiln__literal_uint(uint64_t value); /* of type U64 where i64 cannot hold it, else as literal_int */
kiln__node kiln__literal_bool(bool value);
bool kiln__is_literal(const kiln__node *node);
double kiln__literal_f64(const kiln__node *literal); /* of any kind */
/* As the storage type holds it: rounded to nearest even, but truncated to integers; saturating. */
kiln__node kiln__literal_stored(const kiln__node *literal, kiln_type storage);
/* op of literals; false if it is not folded: not an operator on values, integers that overflow, a function better
 * left to the device. */
bool kiln__fold(kiln__op op, const kiln__node *args, kiln__node *out);

#endif

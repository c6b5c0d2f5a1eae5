/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that is made of another one: its nodes, simplified as they are added, and calls of the prelude's functions.
 */
#ifndef KILN_LANG_REWRITE_H
#define KILN_LANG_REWRITE_H

#include "lang/spans.h"
#include "lang/parser.h"

#define KILN__MAX_REWRITTEN (4 * KILN__MAX_NODES)

/* Names and domains of the new graph begin with those of the old one, under the same numbers. After the first failure
 * everything below does nothing and gives 0. */
typedef struct kiln__rewriter {
    kiln__work work;
    kiln__parser parser;    /* knows the prelude's functions, private ones and rules of gradients among them */
    kiln__function program; /* the new graph's nodes */
    kiln__graph graph;      /* names, domains and reducers of the new graph */
    kiln__spans extents;    /* of both graphs */
    kiln__span *of;         /* of each new node */
    kiln__span *shown;      /* the same without positions: what the tensors in it have, outside of reductions */
    bool *is_whole;         /* of each new node: it is a part of what a call may be that is written as it was */
    bool *is_float;         /* of each new node: it is known to be no integer and no bool */
    uint32_t nested;        /* simplifications under way */
    uint32_t last_number;   /* that a new name ends in */
    kiln__token place;      /* where failures are told */
} kiln__rewriter;

/* Begins a graph with the names, domains and reducers of another, which outlives it. extents: set up by the caller but
 * for names, which are grown with the graph's. */
kiln_status kiln__rewriter_begin(kiln__rewriter *rewriter, const kiln__graph *from);
void kiln__rewriter_end(kiln__rewriter *rewriter);

/* The node as it is. */
uint32_t kiln__rewrite_add(kiln__rewriter *rewriter, kiln__node node);
/* Something that has its value: of floats, and of the comparisons and choices between them. */
uint32_t kiln__simplify(kiln__rewriter *rewriter, kiln__node node);
uint32_t kiln__simplify_op(kiln__rewriter *rewriter, kiln__op op, uint32_t a, uint32_t b);
uint32_t kiln__rewrite_literal(kiln__rewriter *rewriter, kiln__node literal);
/* sum over a domain; factors that are the same for all of it stand before the sum. */
uint32_t kiln__simplify_sum(kiln__rewriter *rewriter, uint32_t value, uint32_t domain);

/* The function of that name; NULL where there is none. */
const kiln__function *kiln__rewrite_function(kiln__rewriter *rewriter, const char *name);
/* What it comes to, for floats. domain: of the reductions in it that do not say their own. */
uint32_t kiln__rewrite_call(kiln__rewriter *rewriter, const kiln__function *function, const uint32_t *args,
                            uint32_t domain);
/* A new free name: the wanted one, or with a number where that is taken; gives its node. */
uint32_t kiln__rewrite_name(kiln__rewriter *rewriter, const char *wanted, kiln__span extent, int64_t repeat,
                            uint32_t *name);
/* A name for a value of the new graph; with a number in any case. */
const char *kiln__rewrite_assigned(kiln__rewriter *rewriter, const char *wanted, bool numbered, uint32_t node);
/* The number of a domain of these axes, or of the block. */
uint32_t kiln__rewrite_axes(kiln__rewriter *rewriter, uint32_t axes);
uint32_t kiln__rewrite_block(kiln__rewriter *rewriter, int64_t block);

static inline const kiln__node *kiln__rewritten(const kiln__rewriter *rewriter, uint32_t node) {
    return &rewriter->program.nodes.items[node];
}

/* Whether a node is a float by what it is, whatever the type of inputs may be; args: of its arguments. */
bool kiln__node_is_float(const kiln__node *node, const bool args[3]);

#endif

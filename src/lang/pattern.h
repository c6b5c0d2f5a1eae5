/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the prelude found again in a graph, in which their calls are expanded. */
#ifndef KILN_LANG_PATTERN_H
#define KILN_LANG_PATTERN_H

#include "lang/parser.h"

#define KILN__MAX_PATTERN 96 /* nodes; larger functions are not looked for */

/* What a function's call expands to: nodes over KILN__OP_PARAM. */
typedef struct kiln__pattern {
    const kiln__function *function;
    const kiln__node *nodes;
    uint32_t count, result;
} kiln__pattern;

/* A call that a node is. */
typedef struct kiln__match {
    const kiln__function *function;
    uint32_t args[KILN__MAX_PARAMETERS];
    bool bound[KILN__MAX_PARAMETERS]; /* whether the pattern has the parameter */
    uint32_t domain;                  /* of the reductions in it that do not say their own */
    bool reduces;                     /* there are such */
    uint32_t size;                    /* operations that it stands for */
} kiln__match;

bool kiln__pattern_match(const kiln__pattern *pattern, const kiln__node *nodes, uint32_t node, kiln__match *out);

#endif

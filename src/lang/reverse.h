/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that derive a gradient: the program, its copy in the new graph, and the gradients so far. */
#ifndef KILN_LANG_REVERSE_H
#define KILN_LANG_REVERSE_H

#include "lang/gradient.h"
#include "lang/rewrite.h"

#define KILN__MAX_ADJOINTS 4
#define KILN__MAX_WRT (KILN_MAX_TENSORS + KILN_MAX_SCALARS)

/* What a value's gradient is the sum of: of a value in the new graph, over all that its extent has more than the
 * value's. Sums across rows wait for the end, where nothing is made of them any more. */
typedef struct kiln__adjoint {
    uint32_t node;
    kiln__span extent;
} kiln__adjoint;

typedef struct kiln__adjoints {
    kiln__adjoint list[KILN__MAX_ADJOINTS];
    uint32_t count;
} kiln__adjoints;

typedef struct kiln__reverse {
    kiln__rewriter rewriter;
    const kiln__graph *from;
    const kiln__signature *signature;
    const kiln__gradient_request *request;
    uint32_t wrt[KILN__MAX_WRT], wrt_count; /* names, in order */
    bool *wanted, *saved;                   /* of each name of the program */
    bool *needed;                           /* of each of its nodes: outputs need it, */
    bool *active;                           /* it depends on what is asked for, and smoothly, */
    bool *is_float;
    bool *across;     /* it is what all rows come to, */
    bool *reduces;    /* it is made of reductions, */
    bool *in_columns; /* its tensors' columns show, outside of reductions, */
    kiln__span *of;   /* it varies so, */
    uint32_t *copies; /* and is this node of the new graph */
    kiln__adjoints *adjoints;
    uint32_t cotangents[KILN_MAX_TENSORS], cotangent_count; /* names of the new graph */
} kiln__reverse;

/* reverse_setup.c */
/* Names, axes, extents; what depends on what; the copies. */
void kiln__reverse_set_up(kiln__reverse *reverse);
/* The gradients of the outputs, as inputs of the new graph. */
void kiln__reverse_seed(kiln__reverse *reverse);
/* Fails: there is nothing to derive. */
void kiln__reverse_fail_constant(kiln__reverse *reverse);
/* The number that says the axis in the text, whatever the rank where no tensors are known. */
int32_t kiln__reverse_axis(const kiln__reverse *reverse, int axis);
/* Whether a gradient flows through the operation to its argument k; else it is 0 by convention. */
bool kiln__reverse_flows(const kiln__node *node, uint32_t k);

/* reverse.c */
/* Adds to the gradient of a node of the program. */
void kiln__reverse_add(kiln__reverse *reverse, uint32_t node, uint32_t value, kiln__span extent);
/* Goes back through the program. */
void kiln__reverse_run(kiln__reverse *reverse);
/* The gradient of a name, in its extent. */
uint32_t kiln__reverse_result(kiln__reverse *reverse, uint32_t name);
/* Where no tensor has the columns any more that the program's have, though they count: one of them is read. */
void kiln__reverse_keep_space(kiln__reverse *reverse, uint32_t *values, uint32_t count);
/* Fails where the values would be reduced over other rows than the program. */
void kiln__reverse_check_rows(kiln__reverse *reverse, const uint32_t *values, uint32_t count);

/* program_text.c */
typedef struct kiln__root {
    const char *name;
    uint32_t node;
} kiln__root;
/* Writes the new graph as statements, roots last. preferred: of each node a name that it had in the program, or NULL.
 * read: is set for each name that the text reads. The caller frees the text; NULL: it failed. */
char *kiln__program_text(kiln__reverse *reverse, const kiln__root *roots, uint32_t root_count,
                         const char *const *preferred, bool *read);

#endif

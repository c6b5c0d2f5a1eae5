/* SPDX-License-Identifier: Apache-2.0 */
/* A small GPT on bytes: what its parts share. main.c trains it twice, once with plain C for everything (plain.c) and
 * once with Kiln for everything but products and the gradient of the look-up (fused.c), and compares the losses.
 * model.c has the passes, which are the same for both, matrix.c the products. */
#ifndef KILN_EXAMPLES_GPT_H
#define KILN_EXAMPLES_GPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VOCABULARY = 256, /* a token is a byte */
    LAYERS = 2,
    WIDTH = 32,
    HEADS = 4,
    HEAD = WIDTH / HEADS,
    HIDDEN = 4 * WIDTH,
    CONTEXT = 32, /* tokens of a sequence */
    BATCH = 4,    /* sequences of a step */
    TOKENS = BATCH * CONTEXT
};

/* Everything that is no product, forward and backward. The comment names the arrays, inputs first, as fused.c declares
 * them.
 */
enum operation {
    EMBED,          /* token, id, position, x: a row of the table for each token, and one for its place */
    ADD,            /* a, b, y: the residual connection */
    NORM,           /* x, w, b, y: layer norm */
    NORM_GRAD,      /* x, w, g, r, dx, dw, db: from the gradient of y that of x, added to the residual's r, and those of
                       weight and bias, sums over the tokens */
    ATTENTION,      /* s, p: causal softmax of the scores; scalar: scale */
    ATTENTION_GRAD, /* p, g, ds; scalar: scale */
    GELU,           /* x, y */
    GELU_GRAD,      /* x, g, dx */
    LOSS, /* x, label, loss, dx: cross-entropy of logits for each token, and the mean's gradient; scalar: share. dx lies
             elsewhere than x, of which single elements are read */
    ADAMW, /* p, g, m, v, and p, m, v anew; scalars: rate, c1, c2, which correct the moments' bias */
    OPERATIONS
};
enum { MAX_ARRAYS = 7, MAX_SCALARS = 3 };

/* The arrays are matrices of rows x cols, or groups of them; some are one row or one column, or a table, as
 * fused.c says. */
struct extents {
    int64_t groups, rows, cols;
};

/* Who computes operations: self is its own. apply returns false where it fails, and has said why. */
struct backend {
    const char *name;
    void *self;
    bool (*apply)(void *self, enum operation operation, struct extents extents, void *const *arrays,
                  const double *scalars);
};

struct backend plain_backend(void);
/* False where Kiln fails. Ownership: the caller passes *out to fused_destroy. */
bool fused_create(struct backend *out);
void fused_destroy(struct backend *backend);

/* y (rows x outs) = x (rows x ins) w (ins x outs) */
void multiply(const float *x, const float *w, float *y, int rows, int ins, int outs);
/* dx = g w^T and dw = x^T g, where g is the gradient of y */
void multiply_grad(const float *x, const float *w, const float *g, float *dx, float *dw, int rows, int ins, int outs);
/* Queries, keys and values of all heads side by side in qkv (TOKENS x 3 WIDTH); scores for each sequence and head. */
void attention_scores(const float *qkv, float *scores);
void attention_values(const float *p, const float *qkv, float *y);
/* From the gradient of y that of p, and that of the values in dqkv; from that of the scores those of queries and keys.
 */
void attention_values_grad(const float *p, const float *qkv, const float *dy, float *dp, float *dqkv);
void attention_scores_grad(const float *ds, const float *qkv, float *dqkv);

struct model;
/* The same weights for the same seed. NULL where memory ran out. Ownership: the caller passes it to model_destroy. */
struct model *model_create(const struct backend *backend, uint32_t seed);
void model_destroy(struct model *model);
/* One step of training on TOKENS inputs and the tokens that follow them. *loss is the mean before the step. */
bool model_step(struct model *model, const unsigned char *tokens, const unsigned char *labels, double *loss);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The passes forward and backward, and the optimiser's step. Operations are the backend's, products are matrix.c's. */
#include "model.h"

#include <math.h>
#include <string.h>

static const struct extents narrow = {1, TOKENS, WIDTH}, sequences = {BATCH, CONTEXT, WIDTH},
                            wide = {1, TOKENS, HIDDEN}, squares = {BATCH * HEADS, CONTEXT, CONTEXT},
                            words = {1, TOKENS, VOCABULARY};
static const double scale[] = {0.35355339059327376}; /* 1 / sqrt(HEAD) */
_Static_assert(HEAD == 8, "scale is that of heads of 8");

/* The arrays follow, in the order of gpt.h. */
#define APPLY(m, operation, extents, scalars, ...) \
    ((m)->backend->apply((m)->backend->self, operation, extents, (void *[MAX_ARRAYS]){__VA_ARGS__}, scalars))

/* Tokens that are the same add up at one row of the table: Kiln writes rows by an index and does not add there. */
static void look_up_grad(const struct model *m) {
    memset(m->g.token, 0, VOCABULARY * WIDTH * sizeof(float));
    memset(m->g.position, 0, CONTEXT * WIDTH * sizeof(float));
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < WIDTH; i++) {
            m->g.token[m->tokens[t] * WIDTH + i] += m->dx[t * WIDTH + i];
            m->g.position[t % CONTEXT * WIDTH + i] += m->dx[t * WIDTH + i];
        }
}

/* y: what the next layer takes in. dh has what is added to the residual connection. */
static bool layer_forward(const struct model *m, const struct layer *w, const struct activations *a, float *y) {
    if (!APPLY(m, NORM, narrow, NULL, a->x, w->norm1_w, w->norm1_b, a->h1)) return false;
    multiply(a->h1, w->qkv, a->qkv, TOKENS, WIDTH, 3 * WIDTH);
    attention_scores(a->qkv, m->ds);
    if (!APPLY(m, ATTENTION, squares, scale, m->ds, a->p)) return false;
    attention_values(a->p, a->qkv, a->mixed);
    multiply(a->mixed, w->out, m->dh, TOKENS, WIDTH, WIDTH);
    if (!APPLY(m, ADD, narrow, NULL, a->x, m->dh, a->mid)) return false;
    if (!APPLY(m, NORM, narrow, NULL, a->mid, w->norm2_w, w->norm2_b, a->h2)) return false;
    multiply(a->h2, w->up, a->up, TOKENS, WIDTH, HIDDEN);
    if (!APPLY(m, GELU, wide, NULL, a->up, a->act)) return false;
    multiply(a->act, w->down, m->dh, TOKENS, HIDDEN, WIDTH);
    return APPLY(m, ADD, narrow, NULL, a->mid, m->dh, y);
}

/* The gradient of y is in dx, and that of x replaces it. */
static bool layer_backward(const struct model *m, const struct layer *w, const struct activations *a,
                           const struct layer *g) {
    multiply_grad(a->act, w->down, m->dx, m->dwide, g->down, TOKENS, HIDDEN, WIDTH);
    if (!APPLY(m, GELU_GRAD, wide, NULL, a->up, m->dwide, m->dwide)) return false;
    multiply_grad(a->h2, w->up, m->dwide, m->dh, g->up, TOKENS, WIDTH, HIDDEN);
    if (!APPLY(m, NORM_GRAD, narrow, NULL, a->mid, w->norm2_w, m->dh, m->dx, m->dx, g->norm2_w, g->norm2_b))
        return false;
    multiply_grad(a->mixed, w->out, m->dx, m->dh, g->out, TOKENS, WIDTH, WIDTH);
    attention_values_grad(a->p, a->qkv, m->dh, m->dp, m->dqkv);
    if (!APPLY(m, ATTENTION_GRAD, squares, scale, a->p, m->dp, m->ds)) return false;
    attention_scores_grad(m->ds, a->qkv, m->dqkv);
    multiply_grad(a->h1, w->qkv, m->dqkv, m->dh, g->qkv, TOKENS, WIDTH, 3 * WIDTH);
    return APPLY(m, NORM_GRAD, narrow, NULL, a->x, w->norm1_w, m->dh, m->dx, m->dx, g->norm1_w, g->norm1_b);
}

static bool forward(const struct model *m) {
    const double share[] = {1.0 / TOKENS};
    if (!APPLY(m, EMBED, sequences, NULL, m->w.token, m->tokens, m->w.position, m->layers[0].x)) return false;
    for (int i = 0; i < LAYERS; i++) {
        float *y = i + 1 < LAYERS ? m->layers[i + 1].x : m->last;
        if (!layer_forward(m, &m->w.layers[i], &m->layers[i], y)) return false;
    }
    if (!APPLY(m, NORM, narrow, NULL, m->last, m->w.norm_w, m->w.norm_b, m->h)) return false;
    multiply(m->h, m->w.head, m->logits, TOKENS, WIDTH, VOCABULARY);
    return APPLY(m, LOSS, words, share, m->logits, m->labels, m->loss, m->dlogits);
}

static bool backward(const struct model *m) {
    multiply_grad(m->h, m->w.head, m->dlogits, m->dh, m->g.head, TOKENS, WIDTH, VOCABULARY);
    if (!APPLY(m, NORM_GRAD, narrow, NULL, m->last, m->w.norm_w, m->dh, m->zero, m->dx, m->g.norm_w, m->g.norm_b))
        return false;
    for (int i = LAYERS - 1; i >= 0; i--)
        if (!layer_backward(m, &m->w.layers[i], &m->layers[i], &m->g.layers[i])) return false;
    return true;
}

static bool update(struct model *m) {
    const double t = (double)++m->steps;
    const double scalars[] = {3e-3, 1 - pow(0.9, t), 1 - pow(0.99, t)};
    const struct extents all = {1, 1, m->count};
    return APPLY(m, ADAMW, all, scalars, m->weights, m->gradients, m->first, m->second, m->weights, m->first,
                 m->second);
}

bool model_step(struct model *m, const unsigned char *tokens, const unsigned char *labels, double *loss) {
    for (int t = 0; t < TOKENS; t++) {
        m->tokens[t] = tokens[t];
        m->labels[t] = labels[t];
    }
    if (!forward(m) || !backward(m)) return false;
    look_up_grad(m);
    *loss = 0;
    for (int t = 0; t < TOKENS; t++) *loss += (double)m->loss[t] / TOKENS;
    return update(m);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The model's arrays, for model.c and memory.c. */
#ifndef KILN_EXAMPLES_GPT_MODEL_H
#define KILN_EXAMPLES_GPT_MODEL_H

#include "gpt.h"

/* Weights and, in the same order, their gradients. */
struct layer {
    float *norm1_w, *norm1_b, *qkv, *out, *norm2_w, *norm2_b, *up, *down;
};
struct weights {
    float *token, *position, *norm_w, *norm_b, *head;
    struct layer layers[LAYERS];
};

/* What a layer's pass forward leaves for its pass backward: x comes in, h is a norm's result, p is the attention, mixed
 * what it takes from the values, mid the sum of x and the attention. */
struct activations {
    float *x, *h1, *qkv, *p, *mixed, *mid, *h2, *up, *act;
};

struct model {
    const struct backend *backend;
    int64_t count, steps;                               /* weights; steps of training so far */
    float *weights, *gradients, *first, *second, *work; /* the blocks of memory; first, second: AdamW's moments */
    struct weights w, g;
    struct activations layers[LAYERS];
    float *last, *h, *logits, *dlogits, *loss;      /* behind the last layer */
    float *dx, *dh, *dwide, *dqkv, *dp, *ds, *zero; /* gradients on their way back */
    int32_t *tokens, *labels;
};

#endif

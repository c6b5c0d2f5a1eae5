/* SPDX-License-Identifier: Apache-2.0 */
/* The model's memory: five blocks, in which arrays are placed one behind the other, and the first weights. */
#include "../arrays.h"
#include "model.h"

#include <math.h>
#include <stdlib.h>

/* Takes count floats of a block; without a block it only counts. Arrays begin at multiples of 128 bytes. */
static float *take(float *block, int64_t *used, int64_t count) {
    float *taken = block ? block + *used : NULL;
    *used += (count + 31) / 32 * 32;
    return taken;
}

/* Returns how many floats they need. */
static int64_t place_weights(struct weights *w, float *block) {
    int64_t used = 0;
    w->token = take(block, &used, VOCABULARY * WIDTH);
    w->position = take(block, &used, CONTEXT * WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &w->layers[i];
        l->norm1_w = take(block, &used, WIDTH);
        l->norm1_b = take(block, &used, WIDTH);
        l->qkv = take(block, &used, WIDTH * 3 * WIDTH);
        l->out = take(block, &used, WIDTH * WIDTH);
        l->norm2_w = take(block, &used, WIDTH);
        l->norm2_b = take(block, &used, WIDTH);
        l->up = take(block, &used, WIDTH * HIDDEN);
        l->down = take(block, &used, HIDDEN * WIDTH);
    }
    w->norm_w = take(block, &used, WIDTH);
    w->norm_b = take(block, &used, WIDTH);
    w->head = take(block, &used, WIDTH * VOCABULARY);
    return used;
}

static int64_t place_layer(struct activations *a, float *block, int64_t used) {
    float **const narrow[] = {&a->x, &a->h1, &a->mixed, &a->mid, &a->h2};
    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) *narrow[i] = take(block, &used, TOKENS * WIDTH);
    a->qkv = take(block, &used, TOKENS * 3 * WIDTH);
    a->p = take(block, &used, BATCH * HEADS * CONTEXT * CONTEXT);
    a->up = take(block, &used, TOKENS * HIDDEN);
    a->act = take(block, &used, TOKENS * HIDDEN);
    return used;
}

static int64_t place_work(struct model *m, float *block) {
    float **const narrow[] = {&m->last, &m->h, &m->dx, &m->dh, &m->zero};
    int64_t used = 0;
    for (int i = 0; i < LAYERS; i++) used = place_layer(&m->layers[i], block, used);
    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) *narrow[i] = take(block, &used, TOKENS * WIDTH);
    m->logits = take(block, &used, TOKENS * VOCABULARY);
    m->dlogits = take(block, &used, TOKENS * VOCABULARY);
    m->loss = take(block, &used, TOKENS);
    m->dwide = take(block, &used, TOKENS * HIDDEN);
    m->dqkv = take(block, &used, TOKENS * 3 * WIDTH);
    m->dp = take(block, &used, BATCH * HEADS * CONTEXT * CONTEXT);
    m->ds = take(block, &used, BATCH * HEADS * CONTEXT * CONTEXT);
    return used;
}

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

/* Uniform, with the variance of 1 / ins. */
static void fill(float *w, int ins, int outs, uint32_t *state) {
    const double range = sqrt(3.0 / ins);
    for (int i = 0; i < ins * outs; i++) w[i] = (float)(range * ((double)(next_random(state) >> 8) / (1 << 23) - 1));
}

static void fill_ones(float *w) {
    for (int i = 0; i < WIDTH; i++) w[i] = 1;
}

static void first_weights(struct weights *w, uint32_t seed) {
    fill(w->token, VOCABULARY, WIDTH, &seed);
    fill(w->position, CONTEXT, WIDTH, &seed);
    fill(w->head, WIDTH, VOCABULARY, &seed);
    fill_ones(w->norm_w);
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &w->layers[i];
        fill_ones(l->norm1_w);
        fill_ones(l->norm2_w);
        fill(l->qkv, WIDTH, 3 * WIDTH, &seed);
        fill(l->out, WIDTH, WIDTH, &seed);
        fill(l->up, WIDTH, HIDDEN, &seed);
        fill(l->down, HIDDEN, WIDTH, &seed);
    }
}

void model_destroy(struct model *m) {
    if (!m) return;
    array_destroy(m->labels);
    array_destroy(m->tokens);
    array_destroy(m->work);
    array_destroy(m->second);
    array_destroy(m->first);
    array_destroy(m->gradients);
    array_destroy(m->weights);
    free(m);
}

struct model *model_create(const struct backend *backend, uint32_t seed) {
    struct model *m = calloc(1, sizeof(*m));
    if (!m) return NULL;
    m->backend = backend;
    m->count = place_weights(&m->w, NULL);
    const size_t bytes = (size_t)m->count * sizeof(float);
    m->weights = array_create(bytes);
    m->gradients = array_create(bytes);
    m->first = array_create(bytes);
    m->second = array_create(bytes);
    m->work = array_create((size_t)place_work(m, NULL) * sizeof(float));
    m->tokens = array_create(TOKENS * sizeof(*m->tokens));
    m->labels = array_create(TOKENS * sizeof(*m->labels));
    const bool moments = m->first && m->second, arrays = m->work && m->tokens && m->labels;
    if (!m->weights || !m->gradients || !moments || !arrays) {
        model_destroy(m);
        return NULL;
    }
    place_weights(&m->w, m->weights);
    place_weights(&m->g, m->gradients);
    place_work(m, m->work);
    first_weights(&m->w, seed);
    return m;
}

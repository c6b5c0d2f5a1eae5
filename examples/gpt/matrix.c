/* SPDX-License-Identifier: Apache-2.0 */
/* Products as plain loops. They are what Kiln is not made for: on a GPU an application would call cuBLAS here, on the
 * same stream. */
#include "gpt.h"

#include <string.h>

void multiply(const float *x, const float *w, float *y, int rows, int ins, int outs) {
    memset(y, 0, (size_t)(rows * outs) * sizeof(*y));
    for (int row = 0; row < rows; row++)
        for (int in = 0; in < ins; in++)
            for (int out = 0; out < outs; out++) y[row * outs + out] += x[row * ins + in] * w[in * outs + out];
}

void multiply_grad(const float *x, const float *w, const float *g, float *dx, float *dw, int rows, int ins, int outs) {
    memset(dw, 0, (size_t)(ins * outs) * sizeof(*dw));
    for (int row = 0; row < rows; row++) {
        for (int in = 0; in < ins; in++) {
            float sum = 0;
            for (int out = 0; out < outs; out++) {
                sum += g[row * outs + out] * w[in * outs + out];
                dw[in * outs + out] += x[row * ins + in] * g[row * outs + out];
            }
            dx[row * ins + in] = sum;
        }
    }
}

/* The row of a token in qkv, moved to the part and head. */
enum part { QUERY, KEY, VALUE };
static size_t place(int sequence, int token, enum part part, int head) {
    return (size_t)((sequence * CONTEXT + token) * 3 * WIDTH + (int)part * WIDTH + head * HEAD);
}

/* The matrix of a sequence and head among the scores. */
static size_t square(int sequence, int head) { return (size_t)((sequence * HEADS + head) * CONTEXT * CONTEXT); }

static float dot(const float *a, const float *b) {
    float sum = 0;
    for (int i = 0; i < HEAD; i++) sum += a[i] * b[i];
    return sum;
}

static void add_scaled(float *y, float scale, const float *x) {
    for (int i = 0; i < HEAD; i++) y[i] += scale * x[i];
}

void attention_scores(const float *qkv, float *scores) {
    for (int s = 0; s < BATCH; s++)
        for (int h = 0; h < HEADS; h++)
            for (int to = 0; to < CONTEXT; to++)
                for (int from = 0; from < CONTEXT; from++)
                    scores[square(s, h) + (size_t)(to * CONTEXT + from)] =
                        dot(qkv + place(s, to, QUERY, h), qkv + place(s, from, KEY, h));
}

void attention_values(const float *p, const float *qkv, float *y) {
    memset(y, 0, TOKENS * WIDTH * sizeof(*y));
    for (int s = 0; s < BATCH; s++)
        for (int h = 0; h < HEADS; h++)
            for (int to = 0; to < CONTEXT; to++)
                for (int from = 0; from <= to; from++)
                    add_scaled(y + (s * CONTEXT + to) * WIDTH + h * HEAD,
                               p[square(s, h) + (size_t)(to * CONTEXT + from)], qkv + place(s, from, VALUE, h));
}

void attention_values_grad(const float *p, const float *qkv, const float *dy, float *dp, float *dqkv) {
    memset(dqkv, 0, TOKENS * 3 * WIDTH * sizeof(*dqkv));
    for (int s = 0; s < BATCH; s++)
        for (int h = 0; h < HEADS; h++)
            for (int to = 0; to < CONTEXT; to++)
                for (int from = 0; from < CONTEXT; from++) {
                    const float *g = dy + (s * CONTEXT + to) * WIDTH + h * HEAD;
                    const size_t i = square(s, h) + (size_t)(to * CONTEXT + from);
                    dp[i] = dot(g, qkv + place(s, from, VALUE, h));
                    add_scaled(dqkv + place(s, from, VALUE, h), p[i], g);
                }
}

void attention_scores_grad(const float *ds, const float *qkv, float *dqkv) {
    for (int s = 0; s < BATCH; s++)
        for (int h = 0; h < HEADS; h++)
            for (int to = 0; to < CONTEXT; to++)
                for (int from = 0; from <= to; from++) {
                    const float g = ds[square(s, h) + (size_t)(to * CONTEXT + from)];
                    add_scaled(dqkv + place(s, to, QUERY, h), g, qkv + place(s, from, KEY, h));
                    add_scaled(dqkv + place(s, from, KEY, h), g, qkv + place(s, to, QUERY, h));
                }
}

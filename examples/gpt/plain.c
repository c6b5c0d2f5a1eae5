/* SPDX-License-Identifier: Apache-2.0 */
/* The operations as plain loops, in double for each row: what fused.c is compared with. */
#include "gpt.h"

#include <math.h>

typedef const float *input;

struct moments {
    double mean, rate; /* rate: 1 over the deviation */
};

static struct moments moments(input x, int64_t cols) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < cols; i++) mean += (double)x[i] / (double)cols;
    for (int64_t i = 0; i < cols; i++) squares += pow((double)x[i] - mean, 2);
    return (struct moments){mean, 1 / sqrt(squares / (double)cols + 1e-5)};
}

static void embed_row(input token, input position, float *x, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) x[i] = token[i] + position[i];
}

static void norm_row(input x, input w, input b, float *y, int64_t cols) {
    const struct moments m = moments(x, cols);
    for (int64_t i = 0; i < cols; i++) y[i] = (float)(((double)x[i] - m.mean) * m.rate * (double)w[i] + (double)b[i]);
}

/* h = g w, n as above: (h - mean(h) - n mean(h n)) / deviation */
static void norm_grad_row(input x, input w, input g, input r, float *dx, int64_t cols) {
    const struct moments m = moments(x, cols);
    double mean_h = 0, mean_hn = 0;
    for (int64_t i = 0; i < cols; i++) {
        const double h = (double)g[i] * (double)w[i];
        mean_h += h / (double)cols;
        mean_hn += h * ((double)x[i] - m.mean) * m.rate / (double)cols;
    }
    for (int64_t i = 0; i < cols; i++) {
        const double h = (double)g[i] * (double)w[i], normal = ((double)x[i] - m.mean) * m.rate;
        dx[i] = (float)((double)r[i] + m.rate * (h - mean_h - normal * mean_hn));
    }
}

static void norm_weights(input x, input g, float *dw, float *db, struct extents e) {
    double weight[WIDTH] = {0}, bias[WIDTH] = {0};
    for (int64_t row = 0; row < e.rows; row++) {
        input line = x + row * e.cols, gradient = g + row * e.cols;
        const struct moments m = moments(line, e.cols);
        for (int64_t i = 0; i < e.cols; i++) {
            weight[i] += (double)gradient[i] * ((double)line[i] - m.mean) * m.rate;
            bias[i] += (double)gradient[i];
        }
    }
    for (int64_t i = 0; i < e.cols; i++) {
        dw[i] = (float)weight[i];
        db[i] = (float)bias[i];
    }
}

/* Only the first `visible` of the row count. */
static void attention_row(input s, float *p, double scale, int64_t visible, int64_t cols) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < visible; i++) largest = fmax(largest, (double)s[i] * scale);
    for (int64_t i = 0; i < visible; i++) sum += exp((double)s[i] * scale - largest);
    for (int64_t i = 0; i < cols; i++) p[i] = i < visible ? (float)(exp((double)s[i] * scale - largest) / sum) : 0;
}

static void attention_grad_row(input p, input g, float *ds, double scale, int64_t cols) {
    double sum = 0;
    for (int64_t i = 0; i < cols; i++) sum += (double)g[i] * (double)p[i];
    for (int64_t i = 0; i < cols; i++) ds[i] = (float)((double)p[i] * ((double)g[i] - sum) * scale);
}

static double normal_cdf(double x) { return erfc(-x / sqrt(2)) / 2; }
static double normal_pdf(double x) { return exp(-x * x / 2) / sqrt(2 * acos(-1)); }

static void loss_row(input x, int32_t label, float *loss, float *dx, double share, int64_t cols) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < cols; i++) largest = fmax(largest, (double)x[i]);
    for (int64_t i = 0; i < cols; i++) sum += exp((double)x[i] - largest);
    *loss = (float)(log(sum) - ((double)x[label] - largest));
    for (int64_t i = 0; i < cols; i++)
        dx[i] = (float)((exp((double)x[i] - largest) / sum - (i == label ? 1 : 0)) * share);
}

static void adamw(float *p, double g, float *m, float *v, const double *scalars) {
    const double first = 0.9 * (double)*m + 0.1 * g, second = 0.99 * (double)*v + 0.01 * g * g;
    const double step = first / scalars[1] / (sqrt(second / scalars[2]) + 1e-8) + 0.01 * (double)*p;
    *p = (float)((double)*p - scalars[0] * step);
    *m = (float)first;
    *v = (float)second;
}

static void add_row(input a, input b, float *y, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) y[i] = a[i] + b[i];
}

static void gelu_row(input x, float *y, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) y[i] = (float)((double)x[i] * normal_cdf((double)x[i]));
}

static void gelu_grad_row(input x, input g, float *dx, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) {
        const double slope = normal_cdf((double)x[i]) + (double)x[i] * normal_pdf((double)x[i]);
        dx[i] = (float)((double)g[i] * slope);
    }
}

static void adamw_row(float *p, input g, float *m, float *v, const double *scalars, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) adamw(p + i, (double)g[i], m + i, v + i, scalars);
}

/* Row number `row`, counted through all groups. */
static void apply_row(enum operation op, struct extents e, void *const *a, const double *scalars, int64_t row) {
#define LINE(i) ((float *)a[i] + row * e.cols)
    switch (op) {
    case EMBED:
        embed_row((input)a[0] + ((int32_t *)a[1])[row] * e.cols, (input)a[2] + row % e.rows * e.cols, LINE(3), e.cols);
        break;
    case ADD: add_row(LINE(0), LINE(1), LINE(2), e.cols); break;
    case NORM: norm_row(LINE(0), a[1], a[2], LINE(3), e.cols); break;
    case NORM_GRAD: norm_grad_row(LINE(0), a[1], LINE(2), LINE(3), LINE(4), e.cols); break;
    case ATTENTION: attention_row(LINE(0), LINE(1), scalars[0], row % e.rows + 1, e.cols); break;
    case ATTENTION_GRAD: attention_grad_row(LINE(0), LINE(1), LINE(2), scalars[0], e.cols); break;
    case GELU: gelu_row(LINE(0), LINE(1), e.cols); break;
    case GELU_GRAD: gelu_grad_row(LINE(0), LINE(1), LINE(2), e.cols); break;
    case LOSS: loss_row(LINE(0), ((int32_t *)a[1])[row], (float *)a[2] + row, LINE(3), scalars[0], e.cols); break;
    case ADAMW: adamw_row(LINE(0), LINE(1), LINE(2), LINE(3), scalars, e.cols); break;
    case OPERATIONS: break;
    }
#undef LINE
}

static bool apply(void *self, enum operation operation, struct extents e, void *const *arrays, const double *scalars) {
    (void)self;
    if (operation == NORM_GRAD) norm_weights(arrays[0], arrays[2], arrays[5], arrays[6], e);
    for (int64_t row = 0; row < e.groups * e.rows; row++) apply_row(operation, e, arrays, scalars, row);
    return true;
}

struct backend plain_backend(void) {
    return (struct backend){"plain C", NULL, apply};
}

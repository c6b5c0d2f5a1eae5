/* SPDX-License-Identifier: Apache-2.0 */
/* The operations as row programs: one table, and one loop that binds arrays to names. */
#include "../arrays.h"
#include "gpt.h"

#include <stdlib.h>
#include <string.h>

/* What an array is of the operation's extents. LABELS is a column of i32. */
enum shape { MATRIX, ROW, COLUMN, LABELS };
struct array {
    const char *name;
    enum shape shape;
};

struct row_program {
    const char *text, *outputs, *scalars; /* NULL: as Kiln chooses, none */
    int axis;                             /* what reductions run over */
    struct array arrays[MAX_ARRAYS];      /* in the order of gpt.h; the first without a name ends them */
};

static const struct row_program programs[OPERATIONS] = {
    [ADD] = {"y = a + b", NULL, NULL, -1, {{"a", MATRIX}, {"b", MATRIX}, {"y", MATRIX}}},
    [NORM] = {"n = (x - mean(x)) * rsqrt(var(x, 0) + 1e-5)\n"
              "y = n * w + b",
              "n,y",
              NULL,
              -1,
              {{"x", MATRIX}, {"w", ROW}, {"b", ROW}, {"n", MATRIX}, {"y", MATRIX}}},
    [NORM_GRAD] = {"dx = r + layer_norm_grad(x, w, g, 1e-5)",
                   NULL,
                   NULL,
                   -1,
                   {{"x", MATRIX}, {"w", ROW}, {"g", MATRIX}, {"r", MATRIX}, {"dx", MATRIX}}},
    [NORM_WEIGHTS] = {"dw = sum(g * n)\n"
                      "db = sum(g)",
                      NULL,
                      NULL,
                      -2,
                      {{"g", MATRIX}, {"n", MATRIX}, {"dw", ROW}, {"db", ROW}}},
    [ATTENTION] = {"p = softmax(where(index(-1) <= index(-2), s * scale, -inf))",
                   NULL,
                   "scale",
                   -1,
                   {{"s", MATRIX}, {"p", MATRIX}}},
    [ATTENTION_GRAD] =
        {"ds = softmax_grad(p, g) * scale", NULL, "scale", -1, {{"p", MATRIX}, {"g", MATRIX}, {"ds", MATRIX}}},
    [GELU] = {"y = gelu(x)", NULL, NULL, -1, {{"x", MATRIX}, {"y", MATRIX}}},
    [GELU_GRAD] = {"dx = gelu_grad(x, g)", NULL, NULL, -1, {{"x", MATRIX}, {"g", MATRIX}, {"dx", MATRIX}}},
    [LOSS] = {"loss = cross_entropy_label(x, label)\n"
              "dx = cross_entropy_label_grad(x, label, share)",
              NULL,
              "share",
              -1,
              {{"x", MATRIX}, {"label", LABELS}, {"loss", COLUMN}, {"dx", MATRIX}}},
    [ADAMW] =
        {"m1 = 0.9 * m + 0.1 * g\n"
         "v1 = 0.99 * v + 0.01 * g * g\n"
         "p1 = p - rate * (m1 / c1 / (sqrt(v1 / c2) + 1e-8) + 0.01 * p)",
         "p1,m1,v1",
         "rate,c1,c2",
         -1,
         {{"p", MATRIX}, {"g", MATRIX}, {"m", MATRIX}, {"v", MATRIX}, {"p1", MATRIX}, {"m1", MATRIX}, {"v1", MATRIX}}},
};
static const char *const scalar_names[OPERATIONS][MAX_SCALARS] = {
    [ATTENTION] = {"scale"}, [ATTENTION_GRAD] = {"scale"}, [LOSS] = {"share"}, [ADAMW] = {"rate", "c1", "c2"}};

struct fused {
    kiln_context *context;
    kiln_program *programs[OPERATIONS];
};

static kiln_tensor view(void *data, enum shape shape, struct extents extents) {
    const bool row = shape == ROW, column = shape == COLUMN || shape == LABELS;
    const int64_t sizes[] = {extents.groups, row ? 1 : extents.rows, column ? 1 : extents.cols};
    return kiln_tensor_contiguous(data, shape == LABELS ? KILN_I32 : KILN_F32, 3, sizes);
}

static bool apply(void *self, enum operation operation, struct extents extents, void *const *arrays,
                  const double *scalars) {
    const struct fused *fused = self;
    const struct row_program *program = &programs[operation];
    kiln_binding bindings[MAX_ARRAYS];
    kiln_scalar_binding values[MAX_SCALARS];
    size_t count = 0, scalar_count = 0;
    for (; count < MAX_ARRAYS && program->arrays[count].name; count++)
        bindings[count] =
            (kiln_binding){program->arrays[count].name, view(arrays[count], program->arrays[count].shape, extents)};
    for (; scalar_count < MAX_SCALARS && scalar_names[operation][scalar_count]; scalar_count++)
        values[scalar_count] =
            (kiln_scalar_binding){scalar_names[operation][scalar_count], kiln_scalar_f64(scalars[scalar_count])};
    const kiln_status status = arrays_run(fused->programs[operation], bindings, count, values, scalar_count);
    if (status) report(program->text, status);
    return !status;
}

void fused_destroy(struct backend *backend) {
    struct fused *fused = backend->self;
    for (int i = 0; fused && i < OPERATIONS; i++) kiln_program_destroy(fused->programs[i]);
    if (fused) kiln_context_destroy(fused->context);
    free(fused);
    *backend = (struct backend){0};
}

bool fused_create(struct backend *out) {
    struct fused *fused = calloc(1, sizeof(*fused));
    *out = (struct backend){"Kiln", fused, apply};
    kiln_status status = fused ? kiln_context_create(NULL, &fused->context) : KILN_E_MEMORY;
    for (int i = 0; !status && i < OPERATIONS; i++) {
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        options.outputs = programs[i].outputs;
        options.scalars = programs[i].scalars;
        options.axes = &programs[i].axis;
        options.axis_count = 1;
        status = kiln_program_create(fused->context, programs[i].text, &options, &fused->programs[i]);
        if (status) report(programs[i].text, status);
    }
    if (status) fused_destroy(out);
    return !status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The operations as row programs: one table, and one loop that binds arrays to names. */
#include "../arrays.h"
#include "gpt.h"

#include <stdlib.h>
#include <string.h>

/* What an array is of the operation's extents: SHARED is one matrix for all groups, TABLE has a row for each token that
 * there is, NUMBERS are a column of i32. */
enum shape { MATRIX, SHARED, ROW, COLUMN, NUMBERS, TABLE };
struct array {
    const char *name;
    enum shape shape;
};

struct row_program {
    const char *text, *outputs, *scalars; /* NULL: as Kiln chooses, none */
    struct array arrays[MAX_ARRAYS];      /* in the order of gpt.h; the first without a name ends them */
};

static const struct row_program programs[OPERATIONS] = {
    [EMBED] = {"x = rows(token, id) + position",
               NULL,
               NULL,
               {{"token", TABLE}, {"id", NUMBERS}, {"position", SHARED}, {"x", MATRIX}}},
    [ADD] = {"y = a + b", NULL, NULL, {{"a", MATRIX}, {"b", MATRIX}, {"y", MATRIX}}},
    [NORM] = {"y = layer_norm(x, w, b)", NULL, NULL, {{"x", MATRIX}, {"w", ROW}, {"b", ROW}, {"y", MATRIX}}},
    [NORM_GRAD] = {"dx = r + layer_norm_grad(x, w, g)\n"
                   "dw = sum(g * layer_norm(x), axes = (0, 1))\n" /* across rows, from the same reading */
                   "db = sum(g, axes = (0, 1))",
                   NULL,
                   NULL,
                   {{"x", MATRIX}, {"w", ROW}, {"g", MATRIX}, {"r", MATRIX}, {"dx", MATRIX}, {"dw", ROW}, {"db", ROW}}},
    [ATTENTION] = {"p = softmax(where(index(-1) <= index(-2), s * scale, -inf))",
                   NULL,
                   "scale",
                   {{"s", MATRIX}, {"p", MATRIX}}},
    [ATTENTION_GRAD] = {"ds = softmax_grad(p, g) * scale",
                        NULL,
                        "scale",
                        {{"p", MATRIX}, {"g", MATRIX}, {"ds", MATRIX}}},
    [GELU] = {"y = gelu(x)", NULL, NULL, {{"x", MATRIX}, {"y", MATRIX}}},
    [GELU_GRAD] = {"dx = gelu_grad(x, g)", NULL, NULL, {{"x", MATRIX}, {"g", MATRIX}, {"dx", MATRIX}}},
    [LOSS] = {"loss = logsumexp(x) - take(x, label)\n"
              "dx = (softmax(x) - (index(-1) == label)) * share",
              NULL,
              "share",
              {{"x", MATRIX}, {"label", NUMBERS}, {"loss", COLUMN}, {"dx", MATRIX}}},
    [ADAMW] =
        {"m1 = 0.9 * m + 0.1 * g\n"
         "v1 = 0.99 * v + 0.01 * g * g\n"
         "p1 = p - rate * (m1 / c1 / (sqrt(v1 / c2) + 1e-8) + 0.01 * p)",
         "p1,m1,v1",
         "rate,c1,c2",
         {{"p", MATRIX}, {"g", MATRIX}, {"m", MATRIX}, {"v", MATRIX}, {"p1", MATRIX}, {"m1", MATRIX}, {"v1", MATRIX}}},
};
static const char *const scalar_names[OPERATIONS][MAX_SCALARS] = {
    [ATTENTION] = {"scale"}, [ATTENTION_GRAD] = {"scale"}, [LOSS] = {"share"}, [ADAMW] = {"rate", "c1", "c2"}};

struct fused {
    kiln_context *context;
    kiln_program *programs[OPERATIONS];
};

static kiln_tensor view(void *data, enum shape shape, struct extents extents) {
    const bool one = shape == ROW || shape == SHARED, column = shape == COLUMN || shape == NUMBERS;
    const int64_t groups = one ? 1 : extents.groups;
    const int64_t rows = shape == ROW ? 1 : extents.rows;
    const int64_t sizes[] = {groups, rows, column ? 1 : extents.cols};
    const int64_t table[] = {VOCABULARY, extents.cols};
    if (shape == TABLE) return kiln_tensor_contiguous(data, KILN_F32, 2, table);
    return kiln_tensor_contiguous(data, shape == NUMBERS ? KILN_I32 : KILN_F32, 3, sizes);
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
        status = kiln_program_create(fused->context, programs[i].text, &options, &fused->programs[i]);
        if (status) report(programs[i].text, status);
    }
    if (status) fused_destroy(out);
    return !status;
}

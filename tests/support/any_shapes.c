/* SPDX-License-Identifier: Apache-2.0 */
#include "any_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"

#define MOST_RANK 5

const any_shapes_program any_shapes_programs[ANY_SHAPES_PROGRAMS] = {
    {"y = softmax(x)", NULL, NULL, {KILN_F16, KILN_F16}, 2e-3},
    {"y = layer_norm(x, w, b)", NULL, NULL, {KILN_BF16, KILN_BF16, KILN_BF16, KILN_BF16}, 4e-2},
    {"y = rms_norm(x, w)", NULL, NULL, {KILN_F16, KILN_F32, KILN_F16}, 4e-3},
    {"y = gelu(x) * g", NULL, NULL, {KILN_F16, KILN_F16, KILN_F16}, 4e-3},
    {"y = x + z * w", NULL, NULL, {KILN_F32, KILN_F32, KILN_F32, KILN_F32}, 1e-5},
    {"m = max(x)", NULL, NULL, {KILN_BF16, KILN_F32}, 1e-6},
    {"s = mean(x)", NULL, "0", {KILN_F32, KILN_F32}, 1e-4},
    {"y = softmax(x)", NULL, "0", {KILN_F32, KILN_F32}, 1e-4},
    {"y = x - mean(x)", NULL, "0,-1", {KILN_F16, KILN_F16}, 4e-3},
    {"v = var(x); m = mean(x)", "v,m", "all", {KILN_F64, KILN_F64, KILN_F32}, 1e-5},
    {"i = argmax(x)", NULL, NULL, {KILN_F16, KILN_I64}, 0},
    {"y = where(mask, x, 0)", NULL, NULL, {KILN_BOOL, KILN_F32, KILN_F32}, 0},
    {"m = max(abs(x)); q = i8(round(x / maximum(m, 0.001) * 100))", "m,q", NULL, {KILN_F32, KILN_F32, KILN_I8}, 1},
    {"l = logsumexp(x)", NULL, "-2", {KILN_F16, KILN_F32}, 1e-3},
    {"d = mean(a * b)", NULL, NULL, {KILN_F32, KILN_F32, KILN_F32}, 1e-4},
    {"n = sum(x); y = x * 2 - n", "n,y", NULL, {KILN_I32, KILN_I64, KILN_I64}, 0},
    {"y = where(uniform(7, 3) < 0.5, x, 0)", NULL, NULL, {KILN_F16, KILN_F16}, 0},
    {"y = e4m3(x / s) * s", NULL, NULL, {KILN_BF16, KILN_F32, KILN_F32}, 0.13},
    {"y = reduce((a, b) -> where(b != 0, b, a), x, 0)", NULL, NULL, {KILN_I64, KILN_I64}, 0},
    {"s = maximum(absmax(x, block = 32), 0.01); y = x / s", "s,y", NULL, {KILN_BF16, KILN_F32, KILN_F32}, 1e-2},
    {"n = rms_norm(x, w); s = absmax(n, block = 128); y = n - s",
     "s,y",
     NULL,
     {KILN_F16, KILN_F16, KILN_F32, KILN_F32},
     4e-3},
    {"y = x - mean(x, block = 24) + max(x)", NULL, "0", {KILN_F32, KILN_F32}, 1e-4},
    {"a = any(x > 1.9); b = all(x > -1.9); y = min(x)", "a,b,y", NULL, {KILN_F32, KILN_BOOL, KILN_BOOL, KILN_F32}, 0},
};

kiln_status any_shapes_create(kiln_context *context, const any_shapes_program *of, kiln_program **out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    int axes[KILN_MAX_RANK];
    options.outputs = of->outputs;
    options.all_axes = of->axes && !strcmp(of->axes, "all");
    if (of->axes && !options.all_axes) options.axes = axes;
    for (const char *at = options.axes ? of->axes : ""; *at; at += *at == ',') {
        char *end;
        axes[options.axis_count++] = (int)strtol(at, &end, 10);
        at = end;
    }
    return kiln_program_create(context, of->text, &options, out);
}

/* Whether something of `in` chances happens. */
static bool happens(fuzz_random *random, int64_t in) { return fuzz_random_below(random, in) == 0; }

static void draw_sizes(fuzz_random *random, int least_rank, int64_t most, kiln_tensor *space) {
    static const int64_t usual[] = {1, 2, 3, 5, 8, 16, 31, 64, 100, 128, 257, 1000, 1024, 4096, 5001};
    space->rank = least_rank + (int32_t)fuzz_random_below(random, MOST_RANK - least_rank + 1);
    int64_t left = most;
    for (int i = space->rank - 1; i >= 0; i--) {
        int64_t size = happens(random, 3) ? 1 + fuzz_random_below(random, 40)
                                          : usual[fuzz_random_below(random, sizeof usual / sizeof *usual)];
        if (size > left) size = left;
        space->sizes[i] = size;
        left /= size;
    }
}

/* Strides of the sizes in some order, with room between elements, rows and such; some run backwards. */
static void lay_out(fuzz_random *random, bool plain, kiln_tensor *tensor, int64_t *low, int64_t *high) {
    int order[KILN_MAX_RANK];
    int64_t next = plain || !happens(random, 12) ? 1 : 2;
    for (int i = 0; i < tensor->rank; i++) order[i] = i;
    for (int i = tensor->rank - 1; i > 0 && !plain && happens(random, 3); i--) {
        const int other = (int)fuzz_random_below(random, i + 1), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
    *low = 0;
    *high = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        const int axis = order[i];
        const int64_t size = tensor->sizes[axis];
        const bool backwards = !plain && happens(random, 16);
        tensor->strides[axis] = backwards ? -next : next;
        *(backwards ? low : high) += (size - 1) * tensor->strides[axis];
        next *= size;
        if (!plain && happens(random, 6)) next += fuzz_random_below(random, 9);
    }
}

/* An input may lack leading axes, have one element along others, or repeat one. */
static void draw_input(fuzz_random *random, const kiln_tensor *space, bool whole, any_shapes_case *out, size_t t) {
    kiln_tensor *tensor = &out->tensors[t];
    const int drop = whole ? 0 : (int)fuzz_random_below(random, space->rank + 1) * happens(random, 2);
    tensor->rank = space->rank - drop;
    for (int i = 0; i < tensor->rank; i++) tensor->sizes[i] = space->sizes[i + drop];
    for (int i = 0; i < tensor->rank && !whole; i++)
        if (happens(random, 4)) tensor->sizes[i] = 1;
    lay_out(random, happens(random, 2), tensor, &out->low[t], &out->high[t]);
    for (int i = 0; i < tensor->rank && !whole; i++) {
        if (!happens(random, 10)) continue;
        *(tensor->strides[i] < 0 ? &out->low[t] : &out->high[t]) -= (tensor->sizes[i] - 1) * tensor->strides[i];
        tensor->strides[i] = 0;
    }
}

/* The first input is whole, so that it is the space. */
kiln_status any_shapes_draw(const any_shapes_program *of, const kiln_program *program, uint64_t seed, int64_t most,
                            any_shapes_case *out) {
    fuzz_random random = {seed};
    kiln_tensor space = {0};
    memset(out, 0, sizeof *out);
    out->inputs = kiln_program_input_count(program);
    out->count = out->inputs + kiln_program_output_count(program);
    draw_sizes(&random, of->axes && strcmp(of->axes, "all") && strcmp(of->axes, "0") ? 2 : 1, most, &space);
    const bool row_major = happens(&random, 2), aligned = happens(&random, 2);
    for (size_t t = 0; t < out->count; t++) {
        kiln_tensor *tensor = &out->tensors[t];
        const bool output = t >= out->inputs;
        tensor->type = of->types[t];
        if (output) {
            const kiln_status status = kiln_program_output_shape(program, out->tensors, t - out->inputs,
                                                                 happens(&random, 2), &tensor->rank, tensor->sizes);
            if (status) return status;
            lay_out(&random, row_major, tensor, &out->low[t], &out->high[t]);
        } else if (row_major && t == 0) {
            tensor->rank = space.rank;
            memcpy(tensor->sizes, space.sizes, sizeof space.sizes);
            lay_out(&random, true, tensor, &out->low[t], &out->high[t]);
        } else
            draw_input(&random, &space, t == 0, out, t);
        const int64_t shift = aligned ? 0 : fuzz_random_below(&random, 16);
        tensor->data = (void *)(((uintptr_t)(t + 1) << 40) + (uintptr_t)shift * kiln_type_size(tensor->type));
    }
    return KILN_OK;
}

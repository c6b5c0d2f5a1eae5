/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over blocks of columns and over axes of their own, columns and rows that an index chooses: random
 * programs, shapes, strides, types and schedules against the CPU reference. 77 where there is no GPU.
 *
 *   gpu_blocks [--seed S] [--cases N] [--case I] [--policy any_shape]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/types.h"
#include "gpu_device.h"
#include "support/fuzz_draw.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_TENSORS 6

/* $ stands for a number of columns, & for another, often a multiple of it, @ for the axes that rows keep, # for the
 * number of the row. */
static const char *const programs[] = {
    "s = absmax(x, block = $)",
    "s = absmax(x, block = $) / 448; e = x / s",
    "a = argmax(x, block = $); b = argmin(x, block = $)",
    "y = softmax(x * 0.5, block = $)",
    "y = var(x, block = $) + index(-1) * 0.001; n = size(-1)",
    "s = reduce((a, b) -> b != 0 ? b : a, x, 0, block = $)",
    "y = rms_norm(x, w); s = absmax(y, block = $) / 448; e = y / s",
    "y = x - mean(x, block = $) + max(x)",
    "y = softmax(x, block = $) * mean(x * x)",
    "y = softmax(x); s = max(y, block = $); t = max(s)",
    "y = x + reduce((a, b) -> b != 0 ? b : a, x, 0, block = $) * max(x)",
    "y = layer_norm(x, w, w); s = norm2(y, block = $); m = mean(s, block = &)",
    "a = sum(x * x, block = $); b = absmax(x, block = &); y = x / (b + 1) + a",
    "a = sum(x, block = $); b = prod(1 + x * 0.01, block = &); c = min(x)",
    "s = any(x > 1.9, block = $); y = s ? x : 0; n = count_nonzero(x)",
    "y = x * repeat(r, $)",
    "y = x * repeat(r, $) + max(x)",
    "y = rms_norm(x * repeat(r, $), w)",
    "y = x * repeat(r, $); t = absmax(y, block = &); e = y / (t + 1)",
    "y = softmax(x * repeat(r, &), block = $) - mean(x)",
    "i = argmax(x, block = $); j = argmin(x, block = &); y = x - max(x)",
    "y = var(x, block = $) * mean(x, block = &) + index(-1) * 0.001; m = mean(x, block = $)",
    "m = mean(x, block = $); v = mean((x - m) * (x - m), block = $); t = max(v) + sum(x, block = &)",
    "y = softmax(x - mean(x, block = &), block = $); s = reduce((a, b) -> b != 0 ? b : a, x, 0, block = &)",
    "n = count_nonzero(x > 1, block = $); y = repeat(r, $) * 2 + x; k = size(0) + 0 * sum(x, block = $)",
    "y = x / (1 + sumsq(x, axes = 0))",
    "y = x - mean(x, axes = (0, -1))",
    "s = sum(x, axes = all)",
    "e = x * 2 + 1; s = sum(x * 2 + 1, axes = @)",
    "e = exp(x); m = max(x, axes = @); k = argmin(x, axes = @)",
    "e = x * w - index(-1); s = mean(x * x); k = argmax(x)",
    "e = x > 1; f = i32(x * 5); r = reduce((a, b) -> b != 0 ? b : a, x, 0)",
    "l = logsumexp(x) - take(x, i64(mean(x) * 9))",
    "t = take(x * w + index(-1), i64(sum(x))); m = max(x); k = take(i64(x * 64), argmin(x))",
    "t = take(x * 2, 3); u = take(x, size(0)); v = take(x, -1)",
    "y = x - take(x, argmax(x)); z = gather(x, i64(x * 5))",
    "y = gather(x * w, (index(-1) * 7 + 3) % size(-1)) - mean(x)",
    "y = gather(gather(x, i32(x * 5)), index(0)) + take(w, 2) * x",
    "y = rows(t, take(i64(x * 3), 0)) * 2",
    "h = x + rows(t, take(i64(x * 3), 0)); y = rms_norm(h, w); m = max(h)",
    "l = logsumexp(rows(t, 3) + x) - take(x, 1)",
    "y = softmax(x * rows(t, take(i64(x * 3), size(-1) - 1)))",
    "y = rows(t, take(i64(x * 3), 0)) * x; d = sum(y, axes = @); s = sum(x)",
    "n = x * 2; put(p, # - 1) = softmax(n); put(q, 4 - #) = max(x)",
    "m = mean(x * 1); put(p, #) = x + 1",
    "z = x * 3; put(p, 5 - #) = z * 1; put(q, #) = take(x, 0)",
    "z = x - max(x); put(p, argmax(x) * 0 + #) = z; put(q, #) = count_nonzero(x)",
    "s = max(x); d = sum(x, axes = @); put(p, 2) = i32(index(-1) * 0 + 7) + 0 * x; put(q, #) = s * 2",
    "put(p, #) = x / (1 + absmax(x, block = $))",
    "put(B, 4 - #) = absmax(x, block = $); z = x / (1 + absmax(x))",
    "put(F, # - 1) = topk(x, $); put(q, 4 - #) = max(x)",
    "put(F, 3 - #) = argtopk(x, $); z = x - max(x)",
    "s = absmax(x, block = $); put(p, #) = softmax(x) * s; m = max(s)",
    "y = take(x, 5) * sum(x, block = $); z = gather(x, (index(-1) * 7 + 3) % size(-1))",
    "lengths(take(i64(x * 300), 0)); y = softmax(x); s = sum(x); m = mean(x)",
    "lengths(# * 7 - 3); y = rms_norm(x, w); v = var(x); k = argmax(x)",
    "lengths(size(0) * 40 - take(i64(x * 3), 0)); y = layer_norm(x, w, w)",
    "lengths(# * 90); s = reduce((a, b) -> b != 0 ? b : a, x, 0); y = x * 2; t = take(x, 5)",
    "lengths(5); y = logsumexp(x) + x; c = count_nonzero(x > 1); l = all(x > -1)",
    "lengths(# * 30); put(p, #) = x - mean(x); m = max(x)",
    "lengths(# * 600 + 1); y = x * w; l = logsumexp(x)",
    "lengths(# * 30 + 5); s = absmax(x, block = $) / 448; e = x / (s + 1)",
    "lengths(7); e = softmax(x, block = $)",
    "lengths(size(0) * 40 - #); e = x - mean(x, block = $); k = argmax(x, block = $)",
    "offsets(o); y = softmax(x); l = logsumexp(x); k = argmax(x)",
    "offsets(o); y = layer_norm(x); s = sum(x * x); m = mean(x)",
    "offsets(o); y = x * u - max(x) + index(-1) * 0.01; n = count_nonzero(x > 1)",
    "offsets(o); y = gather(x, i64(x * 5)) * 2; t = take(x, 3); a = take(x, argmin(x))",
    "offsets(o); s = reduce((a, b) -> b != 0 ? b : a, x, 0); y = x * uniform(3, 4); v = var(x)",
    "offsets(o); y = x * 2 + size(-1) + index(-2)",
    "y = rms_norm(x, w); d = sum(y * x, axes = @)",
    "m = absmax(x); t = max(m, axes = @); s = max(x, axes = all)",
    "c = mean(x, axes = @); v = mean(x * x, axes = @) - c * c; y = softmax(x)",
    "a = any(x > 1.9, axes = @); n = count_nonzero(x > 1, axes = all); s = sum(x)",
    "o = prod(1 + x * 0.01, axes = @); l = min(x, axes = all) - max(x, axes = all); y = x - mean(x)",
    "y = layer_norm(x, w, w); t = sqrt(sum(y * y, axes = all)); e = max(y, axes = @) / 3",
    "d = w - 0.5 * sum(x, axes = @) * w; s = sum(x)",
    "y = rms_norm(x, w); d = w + sum(y * x, axes = @); t = 2 * w * max(y, axes = all); m = max(y)",
    "i = max(floor(x), axes = @); k = argmax(x); s = sum(i32(x * 4), axes = @); e = sum(i64(x), axes = all)",
    "t = kth(x, 3); y = x >= t ? x : 0; m = max(x)",
    "m = median(x); d = median(abs(x - m)); y = x - m",
    "t = kth(x, i64(take(x, 0) * 9)); s = sum(x); a = argmax(x)",
    "y = softmax(x) * quantile(x, 0.3); n = nanmedian(x > 1 ? nan : x)",
    "e = quantile(x, take(x, 0) * 0.5); t = kth(i32(x * 64), 4); u = kth(i64(x * 512), -3); b = kth(x > 0, size(0))",
    "lengths(# * 30); m = median(x); t = kth_largest(x, 2); y = x + m",
    "t = kth_largest(x, 5); d = sum(x * t, axes = @); y = x - t",
    "s = median(x, block = $); y = kth(x, 2, block = $) + x",
    "s = sum(x, block = $); y = x - kth_largest(x, 2)",
    "y = kth(e4m3(x), 3) + x; h = kth(f16(x) * x, -2)",
    "y = cumsum(x)",
    "y = cumsum(i64(x * 64)); z = cummax(x); a = cummin(i32(x * 64)); e = cumprod(1 + x * 0.01)",
    "y = cumsum(softmax(x)); m = max(cumsum(x)); d = argmax(cummax(x))",
    /* Not of x - mean(x): the mean's rounding would add up, column by column. */
    "y = cumsum(x / absmax(x)) * w; z = cummax(cumsum(x > 0))",
    "y = cumsum(x) / (1 + sumsq(x)); t = kth(cumsum(x > 0), 3)",
    "y = softmax(cumsum(x) * 0.01)",
    "lengths(# * 30); y = cumsum(x); z = cummin(x) + max(x)",
    "y = cumsum(x, block = $)",
    "y = sort(x)",
    "i = argsort(x); y = sort(x, descending = true); r = argsort(argsort(x)); m = max(x)",
    "y = softmax(sort(x)) * w; z = sort_by(x, i32(w * 4))",
    "y = cumsum(sort(x, descending = true)) <= 0.5 * sum(x)",
    "lengths(# * 30); y = sort(x); i = argsort(x, descending = true)",
    "y = sort(x, block = $)",
    "y = sort(x, block = $) + max(x, block = $); z = sort(i64(x * 64))",
    "v, i = topk(x, $); y = v / (1 + sum(abs(v))) + min(x)",
    "k, i = topk(i32(x * 8), $); z = topk_by(x, i32(x * 8), $); m = max(k)",
    "y = x - max(topk(x, $)); z = first(sort(x), $); n = first(x, 1)",
    "lengths(# * 30); i = argtopk(x, 1); y = x * sum(topk(abs(x), 1))",
    "z = lgamma(1 + cumsum(x > 0)); m = max(z); y = z - m",
    "y = cumsum(1) + x; z = cummax(mean(x))",
    "y = softmax(x) * (cumsum(softmax(x)) <= 0.5); s = reduce((a, b) -> b != 0 ? b : a, x, 0)",
};

/* Those that a problem does not fit are left out. */
static const char *const schedules[] = {
    "",           "",       "lanes 8",          "lanes 32",         "block 64", "block 128, shared",
    "stream",     "tile",   "cluster 2",        "block 32, shared", "vector 2", "rows 2, block 32",
    "persistent", "phased", "stream, splits 2", "threads 4",        "calls",    "loops",
};

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *contexts[COUNT(schedules)];
    uint64_t seed;
    void (*reorder)(uint64_t seed);
    kiln_policy policy;
} test_run;

typedef struct drawn {
    char text[256];
    bool across; /* some reduction runs across rows */
    int axis, rank, schedule;
    int axes[2], axis_count; /* of the program: the axis, or the one before it, too */
    int64_t sizes[3], repeat;
    kiln_type type;
    bool pitched;
    int64_t rows; /* where offsets say where they are, one behind the other along the last axis; -1: nowhere */
} drawn;

/* ---- a case ---- */

static void write_program(const char *pattern, int64_t block, int64_t larger, drawn *c) {
    char axes[16] = "(", *at = axes + 1;
    for (int i = 0; i < c->rank; i++)
        if (i != c->axis) at += sprintf(at, "%s%d", at > axes + 1 ? ", " : "", i);
    sprintf(at, ")");
    char row[64] = "0";
    for (int i = 0; i < c->rank; i++)
        if (i != c->axis) snprintf(row + strlen(row), sizeof row - strlen(row), " * size(%d) + index(%d)", i, i);
    size_t used = 0;
    for (; *pattern && used + 24 < sizeof c->text; pattern++) {
        char *to = c->text + used;
        const size_t room = sizeof c->text - used;
        if (*pattern == '@' || *pattern == '#')
            used += (size_t)snprintf(to, room, "%s", *pattern == '@' ? axes : row);
        else if (*pattern == '$' || *pattern == '&')
            used += (size_t)snprintf(to, room, "%" PRId64, *pattern == '$' ? block : larger);
        else
            c->text[used++] = *pattern;
    }
    c->text[used] = '\0';
}

/* Columns of any number; few rows, many, or none. */
static void draw_across(fuzz_random *r, drawn *c) {
    int64_t most = 20000;
    for (int i = 0; i < c->rank; i++) {
        c->sizes[i] = 1 + fuzz_random_below(r, fuzz_random_below(r, 2) || most < 600 ? 9 : 600);
        most /= c->sizes[i];
    }
    if (fuzz_random_below(r, 16) == 0) c->sizes[(c->axis + 1) % c->rank] = 0;
}

/* Of blocks that do not divide them: few, or so many that rows are split. */
static int64_t draw_columns(fuzz_random *r) {
    static const int64_t most[] = {8, 40, 300, 3000, 3000, 25000};
    return 1 + fuzz_random_below(r, most[fuzz_random_below(r, (int64_t)COUNT(most))]);
}

/* Of any number, and their elements in all as they come. */
static void draw_rows(fuzz_random *r, drawn *c) {
    c->rank = 1 + (int)fuzz_random_below(r, 3) / 2;
    c->axis = c->rank - 1;
    c->axes[0] = -1;
    c->rows = fuzz_random_below(r, fuzz_random_below(r, 3) ? 60 : 3);
    c->sizes[0] = 1 + fuzz_random_below(r, 4);
    c->sizes[c->axis] = fuzz_random_below(r, fuzz_random_below(r, 3) ? 20000 : 40);
}

static drawn draw(uint64_t seed, long index) {
    static const kiln_type types[] = {KILN_F32, KILN_F16, KILN_BF16, KILN_F64};
    static const int64_t blocks[] = {1, 2, 4, 8, 16, 32, 64, 128, 3, 7, 100, 256};
    fuzz_random r = {seed * 1000003 + (uint64_t)index};
    drawn c = {.type = types[fuzz_random_below(&r, 4)], .pitched = fuzz_random_below(&r, 3) == 0, .rows = -1};
    const bool any = fuzz_random_below(&r, 2); /* sizes that nothing divides */
    int64_t block = blocks[fuzz_random_below(&r, fuzz_random_below(&r, 4) ? 8 : (int64_t)COUNT(blocks))];
    int64_t larger = block * (1 << fuzz_random_below(&r, 3));
    if (any) block = 1 + fuzz_random_below(&r, fuzz_random_below(&r, 2) ? 20 : 1500);
    if (any && fuzz_random_below(&r, 2)) larger = 1 + fuzz_random_below(&r, 300);
    const char *program = programs[fuzz_random_below(&r, (int64_t)COUNT(programs))];
    c.across = strchr(program, '@') != NULL;
    c.repeat = strstr(program, "repeat(r, &)") ? larger : block;
    c.schedule = (int)fuzz_random_below(&r, (int64_t)COUNT(schedules));
    c.rank = 2 + (int)fuzz_random_below(&r, 2);
    c.axis = fuzz_random_below(&r, 3) ? c.rank - 1 : (int)fuzz_random_below(&r, c.rank);
    write_program(program, block, larger, &c);
    for (int i = 0; i < c.rank; i++) c.sizes[i] = 1 + fuzz_random_below(&r, 9);
    c.sizes[c.axis] = larger * (1 + fuzz_random_below(&r, larger > 64 ? 3 : 20));
    if (any) c.sizes[c.axis] = draw_columns(&r);
    const bool first = strstr(program, "topk") != NULL;
    if (first && c.sizes[c.axis] < block) c.sizes[c.axis] = block;
    c.axes[0] = c.axis;
    c.axis_count = 1;
    if (c.across)
        draw_across(&r, &c);
    else if (strstr(program, "offsets"))
        draw_rows(&r, &c);
    else if (c.axis > 0 && !strchr(program, '#') && !strstr(program, "lengths") && !first &&
             fuzz_random_below(&r, 4) == 0)
        c.axes[c.axis_count++] = c.axis - 1;
    return c;
}

static void tell(const test_run *t, long index, const drawn *c, const char *why) {
    printf("gpu_blocks --seed %" PRIu64 " --case %ld   # %s; x=%s[", t->seed, index, c->text, kiln_type_name(c->type));
    for (int i = 0; i < c->rank; i++) printf("%s%" PRId64, i ? "," : "", c->sizes[i]);
    if (c->rows >= 0) printf("], %" PRId64 " rows [", c->rows);
    printf("]%s, axis %d%s, '%s': %s\n", c->pitched ? " pitched" : "", c->axis,
           c->axis_count > 1 ? " and the one before" : "", schedules[c->schedule], why);
}

/* ---- tensors ---- */

typedef struct memory {
    kiln_tensor host[MOST_TENSORS], device[MOST_TENSORS], reference[MOST_TENSORS];
    int64_t elements[MOST_TENSORS]; /* of the memory */
    size_t inputs, count;
} memory;

static void place(kiln_tensor *tensor, bool pitched, int64_t *elements) {
    int64_t stride = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        tensor->strides[i] = stride;
        stride *= (tensor->sizes[i] ? tensor->sizes[i] : 1) + (pitched && i == tensor->rank - 1 ? 3 : 0);
    }
    *elements = stride;
}

/* x; w, a row of weights; r, which has a value for several columns; t, five rows; o, offsets of rows, and u, a value of
 * each of them. */
static kiln_tensor like(const drawn *c, char name) {
    kiln_tensor tensor = {.type = c->type, .rank = c->rank};
    if (name == 'o') return (kiln_tensor){.type = c->rows % 2 ? KILN_I64 : KILN_I32, .rank = 1, .sizes = {c->rows + 1}};
    if (name == 'u') return (kiln_tensor){.type = c->type, .rank = 2, .sizes = {c->rows, 1}};
    for (int i = 0; i < c->rank; i++) tensor.sizes[i] = name == 'w' && i != c->axis ? 1 : c->sizes[i];
    if (name == 'r') tensor.sizes[c->axis] = (tensor.sizes[c->axis] + c->repeat - 1) / c->repeat;
    if (name == 't') tensor = (kiln_tensor){.type = c->type, .rank = 2, .sizes = {5, c->sizes[c->rank - 1]}};
    return tensor;
}

/* Rows that do not overlap; some are empty, and some reach out of the tensors, from where they are cut. */
static void fill_offsets(const drawn *c, fuzz_random *r, kiln_type type, char *data) {
    const int64_t all = c->sizes[c->axis], most = c->rows ? 2 * all / c->rows + 2 : 1;
    int64_t at = fuzz_random_below(r, 3) ? 0 : fuzz_random_below(r, 20) - 10;
    for (int64_t row = 0; row <= c->rows; row++) {
        kiln__store_i64(type, data + (size_t)row * kiln_type_size(type), at);
        at += fuzz_random_below(r, 4) ? fuzz_random_below(r, most) : 0;
    }
}

static bool fill_input(memory *m, size_t i, const drawn *c, char name, uint64_t seed) {
    fuzz_random r = {seed + 77 * i};
    const bool weights = name != 'x' && name != 'u';
    m->host[i] = like(c, name);
    place(&m->host[i], c->pitched, &m->elements[i]);
    char *data = malloc((size_t)m->elements[i] * 8 + 8);
    m->host[i].data = data;
    if (data && name == 'o') fill_offsets(c, &r, m->host[i].type, data);
    for (int64_t e = 0; data && name != 'o' && e < m->elements[i]; e++) {
        const double value = (double)fuzz_random_below(&r, 4096) / 1024 - (weights ? -1 : 2);
        kiln__store_f64(c->type, data + (size_t)e * kiln_type_size(c->type), value);
    }
    m->reference[i] = m->host[i];
    return data != NULL;
}

/* B, F, p and q are written by put: they have six rows, B of blocks, F of first columns, p of all, q of one. */
static kiln_status output_shape(const kiln_program *program, memory *m, size_t i, const drawn *c) {
    kiln_tensor *tensor = &m->host[i];
    const char name = kiln_program_output_name(program, i - m->inputs)[0];
    if (!strchr("BFpq", name))
        return kiln_program_output_shape(program, m->host, i - m->inputs, 0, &tensor->rank, tensor->sizes);
    const int64_t columns = c->sizes[c->axis], blocks = (columns + c->repeat - 1) / c->repeat;
    tensor->rank = name == 'q' ? 1 : 2;
    tensor->sizes[0] = 6;
    tensor->sizes[1] = name == 'B' ? blocks : name == 'F' ? c->repeat : columns;
    return KILN_OK;
}

/* Floats are f32 or, of an f64 program, f64; their reference is f64. */
static kiln_status make_output(memory *m, size_t i, const kiln_program *program, const drawn *c) {
    kiln_type type = KILN_F32;
    kiln_tensor *tensor = &m->host[i];
    *tensor = (kiln_tensor){.rank = 0};
    kiln_status status = kiln_program_output_type(program, m->host, NULL, i - m->inputs, &type);
    if (!status) status = output_shape(program, m, i, c);
    if (status) return status;
    if (kiln__type_is_float(type)) type = c->type == KILN_F64 ? KILN_F64 : KILN_F32;
    tensor->type = type;
    place(tensor, c->pitched && tensor->rank > 1, &m->elements[i]);
    m->reference[i] = *tensor;
    m->reference[i].type = kiln__type_is_float(type) ? KILN_F64 : type;
    m->reference[i].data = calloc((size_t)m->elements[i] + 1, 8);
    tensor->data = calloc((size_t)m->elements[i] + 1, 8);
    if (m->reference[i].data) memset(m->reference[i].data, 0xff, (size_t)m->elements[i] * 8); /* as the device's */
    return tensor->data && m->reference[i].data ? KILN_OK : KILN_E_MEMORY;
}

static bool to_device(const test_run *t, memory *m, size_t i) {
    kiln__CUdeviceptr at = 0;
    const size_t bytes = ((size_t)m->elements[i] + 1) * kiln_type_size(m->host[i].type);
    m->device[i] = m->host[i];
    if (t->driver->MemAlloc(&at, bytes)) return false;
    m->device[i].data = (void *)(uintptr_t)at;
    return i < m->inputs ? !t->driver->MemcpyHtoD(at, m->host[i].data, bytes - kiln_type_size(m->host[i].type))
                         : !t->driver->MemsetD8(at, 0xff, bytes);
}

static void release(const test_run *t, memory *m) {
    for (size_t i = 0; i < MOST_TENSORS; i++) {
        if (m->device[i].data) t->driver->MemFree((kiln__CUdeviceptr)(uintptr_t)m->device[i].data);
        if (m->reference[i].data != m->host[i].data) free(m->reference[i].data);
        free(m->host[i].data);
    }
}

/* ---- running and comparing ---- */

static int64_t offset_of(const kiln_tensor *tensor, int64_t element) {
    int64_t offset = 0;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        offset += element % tensor->sizes[i] * tensor->strides[i];
        element /= tensor->sizes[i];
    }
    return offset;
}

static bool compare(const test_run *t, memory *m, size_t i, char *why, size_t size) {
    const kiln_tensor *host = &m->host[i], *reference = &m->reference[i];
    const size_t element = kiln_type_size(host->type);
    int64_t count = 1;
    double largest = 1;
    for (int d = 0; d < host->rank; d++) count *= host->sizes[d];
    if (t->driver->MemcpyDtoH(host->data, (kiln__CUdeviceptr)(uintptr_t)m->device[i].data,
                              (size_t)m->elements[i] * element))
        return false;
    for (int64_t e = 0; e < count; e++) {
        const char *at = (const char *)reference->data + offset_of(reference, e) * 8;
        const double value = fabs(kiln__load_f64(KILN_F64, at));
        if (reference->type == KILN_F64 && isfinite(value) && value > largest) largest = value;
    }
    const double limit = host->type == KILN_F64 ? 1e-11 : kiln__type_is_float(host->type) ? 2e-5 : 0;
    for (int64_t e = 0; e < count; e++) {
        const double got = kiln__load_f64(host->type, (const char *)host->data + (size_t)offset_of(host, e) * element);
        const double wanted =
            kiln__load_f64(reference->type, (const char *)reference->data +
                                                (size_t)offset_of(reference, e) * kiln_type_size(reference->type));
        if (fabs(got - wanted) <= limit * largest || (isnan(got) && isnan(wanted)) || got == wanted) continue;
        snprintf(why, size, "output %zu, element %" PRId64 " is %.9g, the reference %.9g", i - m->inputs, e, got,
                 wanted);
        return false;
    }
    return true;
}

typedef enum verdict { PASSED, REFUSED, FAILED } verdict;

/* One letter each. */
static const char *inputs_of(const drawn *c) {
    const bool weights = strstr(c->text, ", w") || strstr(c->text, "* w") || strstr(c->text, "(w");
    const bool repeats = strstr(c->text, "repeat") != NULL;
    if (c->rows >= 0) return strstr(c->text, "* u ") ? "o,x,u" : "o,x";
    if (strstr(c->text, "rows(t")) return weights ? "x,t,w" : "x,t";
    if (weights) return repeats ? "x,w,r" : "x,w";
    return repeats ? "x,r" : "x";
}

static kiln_status create(const test_run *t, int schedule, const drawn *c, kiln_program **out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.axes = c->axes;
    options.axis_count = (size_t)c->axis_count;
    options.inputs = inputs_of(c);
    return kiln_program_create(t->contexts[schedule], c->text, &options, out);
}

/* Where the pinned schedule is none, the library's own. */
static kiln_status run_pinned(const test_run *t, const drawn *c, const memory *m, kiln_program **program) {
    kiln_status status = kiln_run(*program, m->device, m->count, NULL, 0, NULL);
    if (status != KILN_E_UNSUPPORTED || c->schedule == 0) return status;
    kiln_program_destroy(*program);
    status = create(t, 0, c, program);
    return status ? status : kiln_run(*program, m->device, m->count, NULL, 0, NULL);
}

static verdict run(const test_run *t, const drawn *c, uint64_t seed, kiln_program **program, memory *m, char *why,
                   size_t size) {
    const char *names = inputs_of(c);
    m->inputs = (strlen(names) + 1) / 2;
    kiln_status status = create(t, c->schedule, c, program);
    for (size_t i = 0; i < m->inputs && !status; i++)
        status = fill_input(m, i, c, names[2 * i], seed) ? KILN_OK : KILN_E_MEMORY;
    m->count = m->inputs + (status ? 0 : kiln_program_output_count(*program));
    for (size_t i = m->inputs; i < m->count && !status; i++) status = make_output(m, i, *program, c);
    if (!status) status = kiln_run_cpu(*program, m->reference, m->count, NULL, 0);
    for (size_t i = 0; i < m->count && !status; i++)
        if (!to_device(t, m, i)) status = KILN_E_DEVICE_MEMORY;
    if (!status) status = run_pinned(t, c, m, program);
    if (status) {
        snprintf(why, size, "%s", kiln_last_error());
        return status == KILN_E_UNSUPPORTED || strstr(why, "of size 0 has no value") ? REFUSED : FAILED;
    }
    if (t->driver->CtxSynchronize()) {
        snprintf(why, size, "the launch failed");
        return FAILED;
    }
    for (size_t i = m->inputs; i < m->count; i++)
        if (!compare(t, m, i, why, size)) return FAILED;
    return PASSED;
}

static verdict check(const test_run *t, long index) {
    const drawn c = draw(t->seed, index);
    char why[600] = "";
    kiln_program *program = NULL;
    memory m;
    memset(&m, 0, sizeof m);
    if (t->reorder) t->reorder(t->seed + (uint64_t)index);
    const verdict result = run(t, &c, t->seed * 31 + (uint64_t)index, &program, &m, why, sizeof why);
    if (result == FAILED || (result == REFUSED && getenv("GPU_BLOCKS_TELL"))) tell(t, index, &c, why);
    kiln_program_destroy(program);
    release(t, &m);
    return result;
}

static bool open_contexts(test_run *t) {
    for (size_t i = 0; i < COUNT(schedules); i++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = "";
        options.schedule = schedules[i];
        options.policy = t->policy;
        if (kiln_context_create(&options, &t->contexts[i])) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    test_run t = {.seed = (uint64_t)time(NULL) % 1000000};
    long cases = 2000, one = -1, counts[3] = {0};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed")) t.seed = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--policy") && !strcmp(argv[i + 1], "any_shape")) t.policy = KILN_POLICY_ANY_SHAPE;
        if (!strcmp(argv[i], "--cases")) cases = atol(argv[i + 1]);
        if (!strcmp(argv[i], "--case")) one = atol(argv[i + 1]);
    }
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    setenv("KILN_SOFTWARE_GPU_SMS", "4", 0);
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: %s\n", kiln_last_error());
        return 77;
    }
    t.reorder = gpu_device_reorder(t.driver);
    if (!open_contexts(&t)) {
        printf("%s\n", kiln_last_error());
        return 1;
    }
    for (long i = one < 0 ? 0 : one; i < (one < 0 ? cases : one + 1); i++) counts[check(&t, i)]++;
    for (size_t i = 0; i < COUNT(schedules); i++) kiln_context_destroy(t.contexts[i]);
    printf("seed %" PRIu64 ": %ld passed, %ld refused, %ld failed\n", t.seed, counts[PASSED], counts[REFUSED],
           counts[FAILED]);
    return counts[FAILED] || (one < 0 && counts[PASSED] < counts[REFUSED]) ? 1 : 0;
}

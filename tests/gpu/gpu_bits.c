/* SPDX-License-Identifier: Apache-2.0 */
/* Determinism: the same bits from run to run, and a row's bits do not depend on how many other rows there are; values
 * of all rows have the same bits from run to run, in whatever order blocks run. Runs on a GPU (77 without one) or, with
 * KILN_DRIVER and KILN_NVRTC set, on the software GPU: gpu_bits [most elements [type [any_shape]]], the latter by the
 * kernels that serve any shape. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"

#define REPEATS 20
#define ORDERS 6 /* on the software GPU, which is slow */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const programs[] = {"y = sum(x)",    "y = softmax(x)", "y = layer_norm(x)",
                                       "y = argmax(x)", "y = var(x)",     "y = reduce((a, b) -> b > 1 ? b : a, x, 0)"};
static const int64_t columns[] = {7, 33, 100, 1000, 1023, 8192, 50257, 200003};
static const int64_t rows[] = {1, 3, 7, 37, 64, 1000, 100000};
static const kiln_type types[] = {KILN_F32, KILN_F16, KILN_F64};

typedef struct bits {
    const kiln__driver *driver;
    kiln_context *kiln;
    int64_t most;
    const char *only; /* a type; NULL: all */
    gpu_reorder reorder;
    int passed, failed;
} bits;

/* A tensor of rows by columns, the rows along axis 0 or 1; all zero but for row 0. */
typedef struct layout {
    int64_t rows, cols;
    bool inner;   /* the columns are the last axis ... */
    int gap;      /* ... and between the input's rows lie so many elements */
    int64_t runs; /* else: so many such tensors, one behind the other, which are zero but for the first */
} layout;

static void fill_row(unsigned char *row, kiln_type type, int64_t cols) {
    uint64_t state = 88172645463325252u;
    for (int64_t i = 0; i < cols; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        kiln__store_f64(type, row + (size_t)i * kiln_type_size(type), (double)(state >> 40) * 0x1p-22 - 1);
    }
}

/* Row 0 to or from the device: rows that lie side by side with all of a run, where that is not much. */
static bool copy_row(bits *b, kiln__CUdeviceptr tensor, layout l, kiln_type type, unsigned char *row, bool to_device) {
    const size_t size = kiln_type_size(type), cols = (size_t)l.cols, step = l.inner ? size : (size_t)l.rows * size;
    const bool together = cols * step <= (size_t)1 << 26;
    unsigned char *run = l.inner ? row : together ? calloc(cols, step) : NULL;
    bool good = !together || run;
    for (size_t i = 0; good && to_device && run && run != row && i < cols; i++)
        memcpy(run + i * step, row + i * size, size);
    for (size_t i = 0; good && i < (run ? 1 : cols); i++) {
        const kiln__CUdeviceptr at = tensor + i * step;
        unsigned char *host = run ? run : row + i * size;
        const size_t bytes = run ? cols * step : size;
        good = !(to_device ? b->driver->MemcpyHtoD(at, host, bytes) : b->driver->MemcpyDtoH(host, at, bytes));
    }
    for (size_t i = 0; good && !to_device && run && run != row && i < cols; i++)
        memcpy(row + i * size, run + i * step, size);
    if (run != row) free(run);
    return good;
}

/* The bits of row 0's output; false where something failed. */
static bool run(bits *b, const char *text, layout l, kiln_type type, unsigned char *row, unsigned char *out,
                size_t out_bytes, bool again) {
    const int axis = 1;
    const int64_t sizes[3] = {l.inner ? l.rows : l.runs, l.cols, l.rows}, kept[2] = {sizes[0], l.rows};
    const int rank = l.inner ? 2 : 3;
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.axes = &axis;
    options.axis_count = 1;
    kiln_program *program = NULL;
    kiln__CUdeviceptr x = 0, y = 0;
    const size_t bytes = (size_t)(l.runs * l.rows * (l.cols + l.gap)) * kiln_type_size(type);
    bool whole = strstr(text, "softmax") || strstr(text, "norm"), index = strstr(text, "argmax") != NULL;
    kiln_type out_type = index ? KILN_I64 : type;
    layout shape = {l.rows, whole ? l.cols : 1, l.inner, 0, l.runs};
    bool good = kiln_program_create(b->kiln, text, &options, &program) == KILN_OK && !b->driver->MemAlloc(&x, bytes) &&
                !b->driver->MemAlloc(&y, (size_t)(l.runs * shape.rows * shape.cols) * 8) &&
                !b->driver->MemsetD8(x, 0, bytes) && copy_row(b, x, l, type, row, true);
    kiln_tensor tensors[2] = {
        kiln_tensor_contiguous((void *)(uintptr_t)x, type, rank, sizes),
        kiln_tensor_contiguous((void *)(uintptr_t)y, out_type, whole ? rank : rank - 1, whole ? sizes : kept)};
    if (l.gap) tensors[0].strides[0] = l.cols + l.gap;
    unsigned char *next = calloc(1, out_bytes);
    for (int i = 0; good && i < (again ? REPEATS : 1); i++) {
        if (b->reorder) b->reorder((uint64_t)i);
        good = kiln_run(program, tensors, 2, NULL, 0, NULL) == KILN_OK && !b->driver->CtxSynchronize() &&
               copy_row(b, y, shape, out_type, i ? next : out, false);
        if (good && i && memcmp(out, next, out_bytes)) {
            printf("%s of %s, %" PRId64 " x %" PRId64 " rows of %" PRId64 " columns%s: run %d has other bits\n", text,
                   kiln_type_name(type), l.runs, l.rows, l.cols, l.inner ? "" : " that lie side by side", i);
            good = false;
            break;
        }
    }
    if (!good && *kiln_last_error()) printf("%s: %s\n", text, kiln_last_error());
    free(next);
    if (x) b->driver->MemFree(x);
    if (y) b->driver->MemFree(y);
    kiln_program_destroy(program);
    return good;
}

static void check(bits *b, const char *text, kiln_type type, int64_t cols, bool inner, int gap) {
    if (b->only && strcmp(b->only, kiln_type_name(type))) return;
    size_t room = (size_t)cols * 8;
    unsigned char *row = malloc(room), *first = calloc(1, room), *other = calloc(1, room);
    bool have = false, good = row && first && other;
    if (good) fill_row(row, type, cols);
    for (size_t i = 0; good && i < 2 * COUNT(rows); i++) {
        const bool many = i >= COUNT(rows); /* several runs of rows, which may be tiles */
        layout l = {rows[i % COUNT(rows)], cols, inner, gap, many ? 5 : 1};
        if (many && (inner || l.rows == 1)) continue;
        if (l.rows * l.runs > b->most / (cols + gap)) continue;
        good = run(b, text, l, type, row, have ? other : first, room, l.rows == 7);
        if (good && have && memcmp(first, other, room)) {
            printf("%s of %s, %" PRId64 " columns along axis %d, %d behind each row: with %" PRId64 " x %" PRId64
                   " rows the first has other bits than alone\n",
                   text, kiln_type_name(type), cols, inner, gap, l.runs, l.rows);
            good = false;
        }
        have = true;
    }
    *(good ? &b->passed : &b->failed) += 1;
    free(row), free(first), free(other);
}

/* ---- values of all rows, beside those of rows --------------------------------------------------------------- */

#define OUTPUTS 3

/* @ stands for the axis that rows keep. The first output is of rows, the others of all. */
static const struct {
    const char *text, *outputs;
} across[] = {
    {"y = softmax(x); d = sum(y, axes = @)", "y,d"},
    {"y = layer_norm(x); d = sum(y * x, axes = @); m = mean(x, axes = all)", "y,d,m"},
    {"y = var(x); d = prod(1 + x * 0.001, axes = @); n = sqrt(sumsq(x, axes = all))", "y,d,n"},
    {"y = max(x); d = mean(x, axes = @) / (1 + sumsq(x, axes = all)); m = max(y, axes = @)", "y,d,m"},
    {"y = rms_norm(x, 1, 0.1); d = sum(rms_norm_grad(x, y, y), axes = @)", "y,d"},
};
/* Up to several rows for each of the blocks that add them up. */
static const int64_t shapes[][2] = {{1, 100},   {7, 33},    {64, 1023},  {600, 64},     {2200, 37},
                                    {1200, 67}, {9000, 17}, {300, 8192}, {100000, 1024}};

typedef struct all_rows {
    const char *outputs;
    char text[160];
    int axis;
    int64_t rows, cols;
    kiln_type type;
    kiln_program *program;
    size_t count; /* tensors: x, then the outputs */
    kiln_tensor tensors[1 + OUTPUTS];
    size_t bytes[1 + OUTPUTS];
    unsigned char *first[1 + OUTPUTS], *next[1 + OUTPUTS]; /* x; what the first run gave, and a later one */
} all_rows;

static bool make_program(bits *b, const char *pattern, all_rows *a) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.axes = &a->axis;
    options.axis_count = 1;
    options.outputs = a->outputs;
    snprintf(a->text, sizeof a->text, "%s", pattern);
    for (char *at = a->text; (at = strchr(at, '@')) != NULL;) *at = a->axis ? '0' : '1';
    if (kiln_program_create(b->kiln, a->text, &options, &a->program)) return false;
    a->count = 1 + kiln_program_output_count(a->program);
    return true;
}

static bool make_tensor(bits *b, all_rows *a, size_t t) {
    int32_t rank = 2;
    int64_t sizes[KILN_MAX_RANK] = {a->axis ? a->rows : a->cols, a->axis ? a->cols : a->rows};
    if (t && kiln_program_output_shape(a->program, a->tensors, t - 1, 0, &rank, sizes)) return false;
    a->bytes[t] = kiln_type_size(a->type);
    for (int i = 0; i < rank; i++) a->bytes[t] *= (size_t)sizes[i];
    kiln__CUdeviceptr memory = 0;
    a->first[t] = calloc(1, a->bytes[t]);
    a->next[t] = calloc(1, a->bytes[t]);
    const bool good = a->first[t] && a->next[t] && !b->driver->MemAlloc(&memory, a->bytes[t]);
    a->tensors[t] = kiln_tensor_contiguous((void *)(uintptr_t)memory, a->type, rank, sizes);
    if (!good || t) return good;
    fill_row(a->first[0], a->type, a->rows * a->cols);
    return !b->driver->MemcpyHtoD(memory, a->first[0], a->bytes[0]);
}

/* The bits of every output, run after run, on the software GPU each in another order. */
static bool repeats(bits *b, all_rows *a) {
    const int times = b->reorder ? ORDERS : REPEATS;
    bool good = true;
    for (int i = 0; good && i < times; i++) {
        if (b->reorder) b->reorder((uint64_t)i);
        for (size_t t = 1; t < a->count && good; t++)
            good = !b->driver->MemsetD8((kiln__CUdeviceptr)(uintptr_t)a->tensors[t].data, 0xff, a->bytes[t]);
        good = good && kiln_run(a->program, a->tensors, a->count, NULL, 0, NULL) == KILN_OK &&
               !b->driver->CtxSynchronize();
        for (size_t t = 1; t < a->count && good; t++)
            good = !b->driver->MemcpyDtoH(i ? a->next[t] : a->first[t],
                                          (kiln__CUdeviceptr)(uintptr_t)a->tensors[t].data, a->bytes[t]);
        for (size_t t = 1; t < a->count && good && i; t++) {
            if (!memcmp(a->first[t], a->next[t], a->bytes[t])) continue;
            printf("%s of %s, %" PRId64 " rows of %" PRId64
                   " columns along axis %d: output %zu of run %d has other bits\n",
                   a->text, kiln_type_name(a->type), a->rows, a->cols, a->axis, t - 1, i);
            good = false;
        }
    }
    return good;
}

static bool run_all_rows(bits *b, const char *pattern, all_rows *a) {
    bool good = make_program(b, pattern, a);
    for (size_t t = 0; t < a->count && good; t++) good = make_tensor(b, a, t);
    good = good && repeats(b, a);
    if (!good && *kiln_last_error()) printf("%s: %s\n", a->text, kiln_last_error());
    for (size_t t = 0; t < a->count; t++)
        if (a->tensors[t].data) b->driver->MemFree((kiln__CUdeviceptr)(uintptr_t)a->tensors[t].data);
    kiln_program_destroy(a->program);
    a->program = NULL;
    return good;
}

static void release(all_rows *a) {
    for (size_t t = 0; t < 1 + OUTPUTS; t++) {
        free(a->first[t]);
        free(a->next[t]);
    }
}

static void check_all_rows(bits *b, const char *pattern, const char *outputs, kiln_type type, const int64_t *shape,
                           int axis) {
    if ((b->only && strcmp(b->only, kiln_type_name(type))) || shape[0] * shape[1] > b->most) return;
    all_rows a = {.outputs = outputs, .axis = axis, .rows = shape[0], .cols = shape[1], .type = type}, alone = a;
    alone.rows = 1;
    bool good = run_all_rows(b, pattern, &a);
    /* The last axis is filled first: of columns there it is the first row that has the same elements alone. */
    if (axis == 1) good = good && run_all_rows(b, pattern, &alone);
    if (good && axis == 1 && memcmp(a.first[1], alone.first[1], alone.bytes[1])) {
        printf("%s of %s, %" PRId64 " columns: with %" PRId64 " rows the first has other bits than alone\n", a.text,
               kiln_type_name(type), a.cols, a.rows);
        good = false;
    }
    *(good ? &b->passed : &b->failed) += 1;
    release(&a);
    release(&alone);
}

int main(int argc, char **argv) {
    bits b = {.most = argc > 1 ? atoll(argv[1]) : 400000000, .only = argc > 2 ? argv[2] : NULL};
    const bool any_shape = argc > 3 && !strcmp(argv[3], "any_shape");
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    if (gpu_device_open(&b.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: %s\n", kiln_last_error());
        return 77;
    }
    b.reorder = gpu_device_reorder(b.driver);
    options.cache_dir = "";
    if (any_shape) options.policy = KILN_POLICY_ANY_SHAPE;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was found is told, whatever ends it */
    if (kiln_context_create(&options, &b.kiln) != KILN_OK) return 1;
    for (size_t p = 0; p < COUNT(programs); p++)
        for (size_t t = 0; t < COUNT(types); t++)
            for (size_t c = 0; c < COUNT(columns); c++)
                for (int inner = 0; inner < 2; inner++)
                    if (columns[c] <= b.most && (inner || columns[c] <= 8192)) /* else its copies take minutes */
                        check(&b, programs[p], types[t], columns[c], inner, 0);
    for (size_t p = 0; p < 3; p++)
        for (size_t t = 0; t < COUNT(types); t++)
            for (size_t c = 0; c < COUNT(columns) && columns[c] + 3 <= b.most; c++)
                for (int gap = 1; gap <= 3; gap += 2) check(&b, programs[p], types[t], columns[c], true, gap);
    /* Columns along axis 0 of several blocks, and in many chunks, whose partial results the last launch combines. */
    static const int64_t long_columns[] = {3000, 5000, 9000, 50000};
    static const char *const long_programs[] = {"y = sum(x)", "y = var(x + 1000)", "y = softmax(x)"};
    if (b.most < 7 * 50000) b.most = 7 * 50000;
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t c = 0; c < COUNT(long_columns); c++)
            for (size_t p = 0; p < COUNT(long_programs); p++)
                if (p < 2 || long_columns[c] == 9000) /* else its copies take minutes */
                    check(&b, long_programs[p], types[t], long_columns[c], false, 0);
    for (size_t p = 0; p < COUNT(across); p++)
        for (size_t t = 0; t < COUNT(types); t++)
            for (size_t i = 0; i < COUNT(shapes); i++)
                for (int axis = 0; axis < 2; axis++)
                    check_all_rows(&b, across[p].text, across[p].outputs, types[t], shapes[i], axis);
    kiln_context_destroy(b.kiln);
    printf("%d passed, %d failed\n", b.passed, b.failed);
    return b.failed != 0;
}

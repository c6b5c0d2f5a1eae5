/* SPDX-License-Identifier: Apache-2.0 */
/* What the language says of NaN, infinities, ties, empty rows, rows of one element, tensors without axes and of
 * accumulation, and functions of the caller's own: each rule in kernels and in the CPU reference. Runs on a GPU (77
 * without one) or, with --driver and
 * --nvrtc, on the software GPU. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"
#include "rule_groups.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ELEMENT_LIMIT = 20000, ROW = 1 };

/* A maximum of nothing has no value. */
static const char *const without_value[] = {
    "max(x)", "min(x)", "argmax(x)", "argmin(x)", "absmax(x)", "absmin(x)", "norm_inf(x)", "nanmax(x)", "logsumexp(x)",
};

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *kiln;
    const char *schedule;
    int passed, failed;
} test_run;

/* Where the rows of a group lie: three of them, the second of which is the group's. */
typedef struct shape {
    int rank, axis; /* axis: the reduced one; rank 0: a single element */
    int64_t columns;
} shape;

typedef struct buffers {
    kiln_tensor host[1 + RULES], gpu[1 + RULES];
    kiln__CUdeviceptr device[1 + RULES];
    size_t bytes[1 + RULES], count;
} buffers;

/* ---- one program ------------------------------------------------------------------------------------------ */

static int64_t elements(const kiln_tensor *tensor) {
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++) n *= tensor->sizes[i];
    return n;
}

/* The element of the tensor that belongs to the group's row and this column; one value a row has stands in all. */
static int64_t place(const kiln_tensor *tensor, const shape *s, int64_t column) {
    if (s->rank == 0) return 0;
    if (tensor->rank < s->rank || tensor->sizes[s->axis] == 1) return ROW;
    return s->axis == 0 ? column * 3 + ROW : ROW * s->columns + column;
}

static kiln_program *make_program(const test_run *t, const group *g, const shape *s, size_t *count) {
    char text[2048] = "", outputs[256] = "";
    for (*count = 0; *count < RULES && g->rules[*count].expression; ++*count) {
        size_t used = strlen(text), named = strlen(outputs);
        snprintf(text + used, sizeof text - used, "out%zu = %s\n", *count, g->rules[*count].expression);
        snprintf(outputs + named, sizeof outputs - named, "%sout%zu", *count ? "," : "", *count);
    }
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.outputs = outputs;
    options.axes = &s->axis;
    options.axis_count = s->rank ? 1 : 0;
    if (kiln_program_create(t->kiln, text, &options, &program)) printf("%s: %s\n", g->name, kiln_last_error());
    return program;
}

static bool add_tensor(const test_run *t, buffers *b, kiln_type type, int rank, const int64_t *sizes) {
    kiln_tensor *host = &b->host[b->count];
    *host = kiln_tensor_contiguous(NULL, type, rank, sizes);
    b->bytes[b->count] = (size_t)elements(host) * kiln_type_size(type);
    host->data = calloc(1, b->bytes[b->count] + 1);
    b->gpu[b->count] = *host;
    if (!host->data || t->driver->MemAlloc(&b->device[b->count], b->bytes[b->count] + 1)) return false;
    b->gpu[b->count].data = (void *)(uintptr_t)b->device[b->count];
    b->count++;
    return true;
}

static void release(const test_run *t, buffers *b) {
    for (size_t i = 0; i < b->count; i++) {
        t->driver->MemFree(b->device[i]);
        free(b->host[i].data);
    }
}

static bool make_tensors(const test_run *t, const group *g, const shape *s, const kiln_program *program, size_t count,
                         buffers *b) {
    const int64_t sizes[2] = {s->axis == 0 ? s->columns : 3, s->axis == 0 ? 3 : s->columns};
    const size_t size = kiln_type_size(g->type);
    if (!add_tensor(t, b, g->type, s->rank, sizes)) return false;
    for (int64_t i = 0; i < elements(b->host); i++)
        kiln__store_f64(g->type, (char *)b->host[0].data + (size_t)i * size, 1);
    for (int64_t column = 0; column < s->columns; column++)
        kiln__store_f64(g->type, (char *)b->host[0].data + (size_t)place(b->host, s, column) * size,
                        column < g->columns ? g->x[column] : g->pad);
    for (size_t i = 0; i < count; i++) {
        int32_t rank = 0;
        int64_t out[KILN_MAX_RANK] = {0};
        if (kiln_program_output_shape(program, b->host, i, i % 2, &rank, out) ||
            !add_tensor(t, b, g->output, rank, out))
            return false;
    }
    return !t->driver->MemcpyHtoD(b->device[0], b->host[0].data, b->bytes[0] + 1);
}

static bool compare(const test_run *t, const group *g, const shape *s, const buffers *b, const char *where) {
    bool good = true;
    for (size_t i = 1; i < b->count; i++) {
        const kiln_tensor *out = &b->host[i];
        const int64_t values = s->rank && out->rank == 2 && out->sizes[s->axis] == s->columns ? g->columns : 1;
        for (int64_t column = 0; column < values; column++) {
            const double expected = g->rules[i - 1].expected[column];
            const double got = kiln__load_f64(out->type, (char *)out->data +
                                                             (size_t)place(out, s, column) * kiln_type_size(out->type));
            if (isnan(expected) ? isnan(got) : got == expected || fabs(got - expected) <= 1e-6 * fabs(expected))
                continue;
            printf("%s: %s of %s, %" PRId64 " columns along axis %d of %d%s%s, in %s: column %" PRId64
                   " is %.9g, expected %.9g\n",
                   g->name, g->rules[i - 1].expression, kiln_type_name(g->type), s->columns, s->axis, s->rank,
                   *t->schedule ? ", " : "", t->schedule, where, column, got, expected);
            good = false;
        }
    }
    return good;
}

static void check(test_run *t, const group *g, const shape *s) {
    buffers b = {.count = 0};
    size_t count = 0;
    kiln_program *program = make_program(t, g, s, &count);
    bool ran = program && make_tensors(t, g, s, program, count, &b), good = ran;
    if (ran && kiln_run_cpu(program, b.host, b.count, NULL, 0)) ran = false;
    if (ran) good = compare(t, g, s, &b, "the reference");
    kiln_status status = ran ? kiln_run(program, b.gpu, b.count, NULL, 0, NULL) : KILN_OK;
    /* Elementwise programs have no such schedule. */
    bool none = status == KILN_E_UNSUPPORTED && *t->schedule;
    if (none || (ran && (status || t->driver->CtxSynchronize()))) ran = false;
    for (size_t i = 1; ran && i < b.count; i++) {
        memset(b.host[i].data, 0, b.bytes[i]);
        ran = !t->driver->MemcpyDtoH(b.host[i].data, b.device[i], b.bytes[i] + 1);
    }
    if (ran) good &= compare(t, g, s, &b, "the kernel");
    if (!ran && !none) printf("%s: %s\n", g->name, kiln_last_error());
    if (!none) *(ran && good ? &t->passed : &t->failed) += 1;
    release(t, &b);
    kiln_program_destroy(program);
}

/* ---- what has no value, and what has no element ----------------------------------------------------------- */

static kiln_status run_shape(const test_run *t, const char *text, int axis, int rank, const int64_t *sizes, bool gpu,
                             double *out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    buffers b = {.count = 0};
    int32_t out_rank = 0;
    int64_t out_sizes[KILN_MAX_RANK] = {0};
    options.axes = &axis;
    options.axis_count = rank ? 1 : 0;
    kiln_status status = kiln_program_create(t->kiln, text, &options, &program);
    if (!status && !add_tensor(t, &b, KILN_F64, rank, sizes)) status = KILN_E_MEMORY;
    if (!status) status = kiln_program_output_shape(program, b.host, 0, 0, &out_rank, out_sizes);
    if (!status && !add_tensor(t, &b, KILN_F64, out_rank, out_sizes)) status = KILN_E_MEMORY;
    if (!status && rank == 0) *(double *)b.host[0].data = 2;
    if (!status && t->driver->MemcpyHtoD(b.device[0], b.host[0].data, b.bytes[0] + 1)) status = KILN_E_LAUNCH;
    if (!status) status = gpu ? kiln_run(program, b.gpu, 2, NULL, 0, NULL) : kiln_run_cpu(program, b.host, 2, NULL, 0);
    if (!status && gpu && t->driver->MemcpyDtoH(b.host[1].data, b.device[1], b.bytes[1] + 1)) status = KILN_E_LAUNCH;
    if (!status && rank == 0) *out = *(double *)b.host[1].data;
    release(t, &b);
    kiln_program_destroy(program);
    return status;
}

static void expect(test_run *t, bool good, const char *text, const char *what) {
    if (!good) printf("%s: expected %s, got '%s'\n", text, what, kiln_last_error());
    *(good ? &t->passed : &t->failed) += 1;
}

static void check_empty(test_run *t) {
    static const int64_t columns[] = {4, 0}, rows[] = {0, 4}, both[] = {0, 0}, middle[] = {2, 0, 3};
    for (int gpu = 0; gpu < 2; gpu++) {
        double unused = 0;
        for (size_t i = 0; i < COUNT(without_value); i++) {
            char text[64];
            snprintf(text, sizeof text, "y = %s", without_value[i]);
            expect(t,
                   run_shape(t, text, 1, 2, columns, gpu, &unused) == KILN_E_SHAPE &&
                       strstr(kiln_last_error(), "axis 1"),
                   text, "that axis 1 is named");
            expect(t,
                   run_shape(t, text, -2, 3, middle, gpu, &unused) == KILN_E_SHAPE &&
                       strstr(kiln_last_error(), "axis 1"),
                   text, "that axis 1 is named");
            expect(t, run_shape(t, text, 1, 2, rows, gpu, &unused) == KILN_OK, text, "nothing to do without rows");
            expect(t, run_shape(t, text, 1, 2, both, gpu, &unused) == KILN_OK, text, "nothing to do without rows");
        }
        expect(t, run_shape(t, "y = x - sum(x)", 1, 2, columns, gpu, &unused) == KILN_OK, "x - sum(x)",
               "nothing to write");
        expect(t, run_shape(t, "y = x + 1", 0, 3, middle, gpu, &unused) == KILN_OK, "x + 1", "nothing to write");
    }
}

static void check_rank_0(test_run *t) {
    static const rule rules[] = {
        {"y = sum(x)", {2}},  {"y = softmax(x)", {1}}, {"y = x + 1", {3}},    {"y = argmax(x)", {0}},
        {"y = mean(x)", {2}}, {"y = max(x) - x", {0}}, {"y = var(x)", {NAN}}, {"y = norm2(x) * x", {4}},
    };
    for (size_t i = 0; i < COUNT(rules); i++)
        for (int gpu = 0; gpu < 2; gpu++) {
            double got = 77, expected = rules[i].expected[0];
            bool ran = run_shape(t, rules[i].expression, 0, 0, NULL, gpu, &got) == KILN_OK;
            expect(t, ran && (isnan(expected) ? isnan(got) : got == expected), rules[i].expression,
                   "a value for a tensor without axes");
        }
}

/* Variances of rows whose mean is far from 0, or from the first elements; so far in the last that they may be infinite.
 */
enum { FAR_KINDS = 5, OVERFLOWS = 4 };

static float far_value(int kind, int64_t i) {
    const float noise = (float)((i * 7919) % 1009) / 1009 - 0.5f;
    if (kind == OVERFLOWS) return i == 0 ? 5e18f : noise;
    if (kind == 0) return 1000 + noise;
    if (kind == 1) return i < 8 ? 1e4f : noise;
    if (kind == 2) return i % 5003 < 2500 ? noise : 100 + noise;
    return (float)i + noise;
}

static void check_far(test_run *t) {
    static const int64_t columns[] = {1023, 5003, 40000, 50257, 300000};
    kiln_program *program = NULL;
    if (kiln_program_create(t->kiln, "y = var(x)", NULL, &program)) printf("var: %s\n", kiln_last_error());
    for (size_t c = 0; c < COUNT(columns); c++) {
        buffers b = {.count = 0};
        double expected[FAR_KINDS] = {0}, got[FAR_KINDS] = {0};
        const int64_t sizes[2] = {FAR_KINDS, columns[c]}, values[1] = {FAR_KINDS};
        bool ran = program && add_tensor(t, &b, KILN_F32, 2, sizes) && add_tensor(t, &b, KILN_F64, 1, values);
        for (int64_t i = 0; ran && i < FAR_KINDS * columns[c]; i++)
            ((float *)b.host[0].data)[i] = far_value((int)(i / columns[c]), i % columns[c]);
        ran = ran && !kiln_run_cpu(program, b.host, 2, NULL, 0) &&
              !t->driver->MemcpyHtoD(b.device[0], b.host[0].data, b.bytes[0]) &&
              !kiln_run(program, b.gpu, 2, NULL, 0, NULL) && !t->driver->MemcpyDtoH(got, b.device[1], b.bytes[1]);
        if (ran) memcpy(expected, b.host[1].data, sizeof expected);
        for (int kind = 0; kind < FAR_KINDS; kind++) {
            const bool good = ran && (fabs(got[kind] - expected[kind]) <= 1e-4 * expected[kind] ||
                                      (kind == OVERFLOWS && got[kind] == INFINITY));
            if (!good)
                printf("var(x) of %" PRId64 " columns, kind %d: %.9g, expected %.9g; %s\n", columns[c], kind, got[kind],
                       expected[kind], ran ? "" : kiln_last_error());
            *(good ? &t->passed : &t->failed) += 1;
        }
        release(t, &b);
    }
    kiln_program_destroy(program);
}

/* y = x + m; n = m * 2, with n for m, which all threads of a row read before one of them stores it. */
static void check_in_place(test_run *t) {
    static const struct {
        int axis;
        int64_t sizes[2];
    } cases[] = {{1, {3, 4096}},  {1, {50, 40}},   {1, {50, 64}},    {1, {300, 1023}},
                 {1, {16, 1024}}, {1, {3, 50257}}, {1, {2, 300000}}, {1, {1, 2200000}},
                 {0, {128, 64}},  {0, {600, 30}},  {0, {3000, 400}}, {0, {1001, 33}}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        const int axis = cases[c].axis;
        const int64_t *sizes = cases[c].sizes, rows = sizes[!axis], columns = sizes[axis];
        int64_t row_sizes[2] = {axis ? rows : 1, axis ? 1 : rows}, wrong = 0;
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = NULL;
        buffers b = {.count = 0};
        options.outputs = "y,n";
        options.axes = &cases[c].axis;
        options.axis_count = 1;
        bool ran = !kiln_program_create(t->kiln, "y = x + m; n = m * 2", &options, &program) &&
                   add_tensor(t, &b, KILN_F32, 2, sizes) && add_tensor(t, &b, KILN_F32, 2, row_sizes) &&
                   add_tensor(t, &b, KILN_F32, 2, sizes);
        for (int64_t r = 0; ran && r < rows; r++) ((float *)b.host[1].data)[r] = (float)(r + 1);
        kiln_tensor tensors[4] = {b.gpu[0], b.gpu[1], b.gpu[2], b.gpu[1]};
        for (int i = 0; ran && i < 2; i++) ran = !t->driver->MemcpyHtoD(b.device[i], b.host[i].data, b.bytes[i]);
        ran = ran && !kiln_run(program, tensors, 4, NULL, 0, NULL);
        for (int i = 1; ran && i < 3; i++) ran = !t->driver->MemcpyDtoH(b.host[i].data, b.device[i], b.bytes[i]);
        for (int64_t i = 0; ran && i < rows * columns; i++)
            wrong += ((float *)b.host[2].data)[i] != (float)((axis ? i / columns : i % rows) + 1);
        for (int64_t r = 0; ran && r < rows; r++) wrong += ((float *)b.host[1].data)[r] != (float)(2 * (r + 1));
        char what[80];
        snprintf(what, sizeof what, "n for m, %" PRId64 "x%" PRId64 " over axis %d", sizes[0], sizes[1], axis);
        expect(t, ran && !wrong, what, "each element right");
        release(t, &b);
        kiln_program_destroy(program);
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static void check_group(test_run *t, const group *g) {
    for (int axis = 0; axis < 2; axis++) {
        const shape plain = {2, axis, g->columns}, longer = {2, axis, axis ? 5003 : 301};
        check(t, g, &plain);
        if (!isnan(g->pad)) check(t, g, &longer);
    }
}

static double squash(void *user, const double *x) {
    (void)user;
    return x[0] / (1 + fabs(x[0]));
}

static kiln_status make_context(const char *schedule, kiln_context **out) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_device_function function = KILN_DEVICE_FUNCTION_INIT;
    options.cache_dir = "";
    options.schedule = schedule;
    function.name = "squash";
    function.source = "__device__ float squash(float x) { return x / (1.0f + fabsf(x)); }";
    function.argument_count = 1;
    function.host = squash;
    const kiln_status status = kiln_context_create(&options, out);
    return status ? status : kiln_context_add_function(*out, &function);
}

int main(int argc, char **argv) {
    static const char *const schedules[] = {"", "stream, splits 3"};
    test_run t = {0};
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    for (int i = 1; i + 1 < argc; i += 2) {
        const bool driver = !strcmp(argv[i], "--driver");
        if (!driver && strcmp(argv[i], "--nvrtc")) return 2;
        setenv(driver ? "KILN_DRIVER" : "KILN_NVRTC", argv[i + 1], 1);
    }
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    for (size_t s = 0; s < COUNT(schedules); s++) {
        t.schedule = schedules[s];
        if (make_context(t.schedule, &t.kiln) != KILN_OK) return 1;
        for (size_t g = 0; g < rule_group_count; g++) check_group(&t, &rule_groups[g]);
        if (s == 0) {
            check_empty(&t);
            check_rank_0(&t);
            check_in_place(&t);
        }
        check_far(&t);
        kiln_context_destroy(t.kiln);
    }
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

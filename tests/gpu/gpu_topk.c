/* SPDX-License-Identifier: Apache-2.0 */
/* The largest of rows whose values are hard to choose among: in order, all the same, few different ones, NaN and both
 * zeros; to the bit against the CPU reference, in the schedule that Kiln chooses and in pinned ones. Runs on a GPU (77
 * without one) or, with --driver and --nvrtc, on the software GPU: gpu_topk [--seed S] [--cases N | --case I]
 * [--policy any_shape]. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "support/fuzz_draw.h"
#include "gpu_device.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { OUTPUTS = 2 };

/* Two outputs each; $: how many are chosen. */
static const char *const programs[] = {
    "a, b = topk(x, $)",
    "a = topk_by(0 - x, x, $); b = argtopk(x, $)",
    "a = topk(x, $); b = argtopk(x + 0 * cumsum(x), $)",
    "k = abs(x); a = topk_by(x, k, $); b = argtopk(k, $) + 1",
    "a = topk(x * (1 + abs(max(x))), $); b = argtopk(x, 1 + ($ >> 1))",
    "s = x * 0.7; a = topk_by(s, s + 1, $); b = argtopk(s + 1, $)", /* a product that a compiler may contract, or not */
};
static const char *const schedules[] = {
    "",        "",         "stream",  "block 32, stream, batch 1", "block 64, stream, batch 2", "block 32", "block 256",
    "lanes 8", "lanes 16", "vector 1"};
static const char *const orders[] = {"random",     "ascending", "descending", "the same",     "few values",
                                     "two values", "zeros",     "NaN",        "largest last", "by a hash"};

typedef struct test_run {
    const kiln__driver *driver;
    uint64_t seed;
    int passed, refused, failed;
    kiln_policy policy;
} test_run;

typedef struct drawn {
    char text[160];
    const char *schedule;
    kiln_type type;
    int order;
    int64_t rows, cols;
} drawn;

/* ---- cases ---- */

static drawn draw(uint64_t seed, long index) {
    static const kiln_type types[] = {KILN_F32, KILN_F32, KILN_F16, KILN_BF16, KILN_I32, KILN_F64, KILN_I64, KILN_U8};
    static const int64_t most[] = {40, 300, 3000, 20000, 60000}, most_chosen[] = {8, 8, 64, 600, 5000, 30000};
    fuzz_random r = {seed * 1000003 + (uint64_t)index};
    drawn c = {.type = types[fuzz_random_below(&r, (int64_t)COUNT(types))]};
    c.cols = 1 + fuzz_random_below(&r, most[fuzz_random_below(&r, (int64_t)COUNT(most))]);
    c.rows = 1 + fuzz_random_below(&r, c.cols > 3000 ? 2 : 20);
    c.order = (int)fuzz_random_below(&r, (int64_t)COUNT(orders));
    c.schedule = schedules[fuzz_random_below(&r, (int64_t)COUNT(schedules))];
    const int64_t limit = most_chosen[fuzz_random_below(&r, (int64_t)COUNT(most_chosen))];
    int64_t k = 1 + fuzz_random_below(&r, limit < c.cols ? limit : c.cols);
    if (c.order == 1 && c.cols > 6000) k = 1000 + fuzz_random_below(&r, 1047); /* rounds that have least room */
    size_t used = 0;
    for (const char *from = programs[fuzz_random_below(&r, (int64_t)COUNT(programs))]; *from; from++)
        if (*from == '$')
            used += (size_t)snprintf(c.text + used, sizeof c.text - used, "%" PRId64, k);
        else
            c.text[used++] = *from;
    return c;
}

static double value_of(const drawn *c, fuzz_random *r, int64_t column) {
    const bool unsigned_type = c->type == KILN_U8;
    const double uniform = (double)fuzz_random_below(r, 1 << 20) / (1 << 20);
    const double place = (double)column / (double)c->cols, wide = unsigned_type ? 250 : 1000;
    switch (c->order) {
    case 1: return place * wide;
    case 2: return (1 - place) * wide;
    case 3: return 3;
    case 4: return floor(uniform * 5);
    case 5: return uniform < 0.001 ? 7 : 2;
    case 6: return uniform < 0.01 ? 1 : uniform < 0.5 || !kiln__type_is_float(c->type) ? 0 : -0.0;
    case 7: return uniform < 0.1 && kiln__type_is_float(c->type) ? NAN : uniform < 0.15 ? wide : uniform * wide;
    case 8: return column + 9 > c->cols ? wide : uniform;
    case 9: return (uint32_t)column * 0x9e3779b1u >> 16 & 7 ? (unsigned_type ? 200 : 900) + uniform : uniform;
    default: return (unsigned_type ? uniform : 2 * uniform - 1) * wide;
    }
}

static void tell(const test_run *t, long index, const drawn *c, const char *why) {
    printf("gpu_topk --seed %" PRIu64 " --case %ld   # %s; x=%s[%" PRId64 ",%" PRId64 "], %s, '%s': %s\n", t->seed,
           index, c->text, kiln_type_name(c->type), c->rows, c->cols, orders[c->order], c->schedule, why);
}

/* ---- runs ---- */

typedef struct tensors {
    kiln_tensor host[1 + OUTPUTS], gpu[1 + OUTPUTS];
    size_t bytes[1 + OUTPUTS];
    char *got[1 + OUTPUTS];
} tensors;

static int64_t elements(const kiln_tensor *tensor) { return tensor->sizes[0] * tensor->sizes[1]; }

static bool add(const test_run *t, tensors *all, int i, kiln_type type, const int64_t *sizes) {
    kiln__CUdeviceptr device = 0;
    kiln_tensor *host = &all->host[i];
    *host = kiln_tensor_contiguous(NULL, type, 2, sizes);
    all->bytes[i] = (size_t)(elements(host) * kiln__type_bytes(type, 1));
    host->data = malloc(all->bytes[i]);
    all->got[i] = malloc(all->bytes[i]);
    if (!host->data || !all->got[i] || t->driver->MemAlloc(&device, all->bytes[i])) return false;
    all->gpu[i] = *host;
    all->gpu[i].data = (void *)(uintptr_t)device;
    return true;
}

static bool make(const test_run *t, long index, const drawn *c, const kiln_program *program, tensors *all) {
    fuzz_random r = {t->seed + 31 * (uint64_t)index};
    if (!add(t, all, 0, c->type, (int64_t[]){c->rows, c->cols})) return false;
    for (int64_t e = 0; e < c->rows * c->cols; e++)
        kiln__store_f64(c->type, (char *)all->host[0].data + e * kiln__type_bytes(c->type, 1),
                        value_of(c, &r, e % c->cols));
    for (int i = 0; i < OUTPUTS; i++) {
        int32_t rank = 0;
        int64_t sizes[KILN_MAX_RANK] = {0};
        kiln_type type = KILN_F32;
        if (kiln_program_output_shape(program, all->host, (size_t)i, 0, &rank, sizes) || rank != 2 ||
            kiln_program_output_type(program, all->host, NULL, (size_t)i, &type) || !add(t, all, i + 1, type, sizes))
            return false;
    }
    return !t->driver->MemcpyHtoD((kiln__CUdeviceptr)(uintptr_t)all->gpu[0].data, all->host[0].data, all->bytes[0]);
}

static bool is_nan(const kiln_tensor *of, const char *data, int64_t e) {
    return kiln__type_is_float(of->type) && isnan(kiln__load_f64(of->type, data + e * kiln__type_bytes(of->type, 1)));
}

static bool compare(const test_run *t, const tensors *all, char why[128]) {
    for (int i = 1; i <= OUTPUTS; i++) {
        const kiln_tensor *host = &all->host[i];
        const size_t size = (size_t)kiln__type_bytes(host->type, 1);
        if (t->driver->MemcpyDtoH(all->got[i], (kiln__CUdeviceptr)(uintptr_t)all->gpu[i].data, all->bytes[i]))
            return false;
        for (int64_t e = 0; e < elements(host); e++) {
            const char *expected = (const char *)host->data + (size_t)e * size, *got = all->got[i] + (size_t)e * size;
            if (!memcmp(expected, got, size) || (is_nan(host, host->data, e) && is_nan(host, all->got[i], e))) continue;
            snprintf(why, 128, "place %" PRId64 " of row %" PRId64 " of %s is %.9g, expected %.9g", e % host->sizes[1],
                     e / host->sizes[1], i == 1 ? "a" : "b", kiln__load_f64(host->type, got),
                     kiln__load_f64(host->type, expected));
            return false;
        }
    }
    return true;
}

static void release(const test_run *t, tensors *all) {
    for (int i = 0; i <= OUTPUTS; i++) {
        if (all->gpu[i].data) t->driver->MemFree((kiln__CUdeviceptr)(uintptr_t)all->gpu[i].data);
        free(all->host[i].data);
        free(all->got[i]);
    }
}

static void run_case(test_run *t, long index) {
    const drawn c = draw(t->seed, index);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_cpu_options exact = KILN_CPU_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    tensors all;
    char why[128] = "";
    memset(&all, 0, sizeof all);
    exact.precision = KILN_PRECISION_PROGRAM;
    options.cache_dir = "";
    options.policy = t->policy;
    setenv("KILN_SCHEDULE", c.schedule, 1);
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, c.text, NULL, &program);
    if (!status && !make(t, index, &c, program, &all)) status = KILN_E_MEMORY;
    if (!status) status = kiln_run(program, all.gpu, 1 + OUTPUTS, NULL, 0, NULL);
    const bool refused = status == KILN_E_UNSUPPORTED && *c.schedule;
    bool good = !status && !t->driver->CtxSynchronize() &&
                !kiln_run_cpu_with_options(program, all.host, 1 + OUTPUTS, NULL, 0, &exact);
    if (!good && !refused) snprintf(why, sizeof why, "%.120s", kiln_last_error());
    good = good && compare(t, &all, why);
    if (!good && !refused) tell(t, index, &c, why);
    *(good ? &t->passed : refused ? &t->refused : &t->failed) += 1;
    release(t, &all);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(int argc, char **argv) {
    test_run t = {.seed = 1};
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    long cases = 2000, first = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            t.seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--policy") && !strcmp(argv[i + 1], "any_shape"))
            t.policy = KILN_POLICY_ANY_SHAPE;
        else if (!strcmp(argv[i], "--cases"))
            cases = atol(argv[i + 1]);
        else if (!strcmp(argv[i], "--case"))
            first = atol(argv[i + 1]), cases = 1;
        else
            setenv(!strcmp(argv[i], "--driver") ? "KILN_DRIVER" : "KILN_NVRTC", argv[i + 1], 1);
    }
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    for (long i = first; i < first + cases; i++) run_case(&t, i);
    printf("seed %" PRIu64 ": %d passed, %d refused, %d failed\n", t.seed, t.passed, t.refused, t.failed);
    return t.failed != 0;
}

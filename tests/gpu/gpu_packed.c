/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of e2m1, two elements to a byte: random shapes, pitches, broadcasts and alignments in exact programs, to the
 * bit against the CPU reference, and nothing is written beside them. Runs on a GPU (77 without one) or, with --driver
 * and --nvrtc, on the software GPU: gpu_packed [--seed S] [--cases N]. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { GUARD = 64, MOST = 3 };

/* Sums are exact whatever their order; which zero is the larger depends on it, and + 0 makes one of both. */
typedef struct program {
    const char *text;
    int inputs;
} program;

static const program programs[] = {
    {"y = x", 1},
    {"y = x + x", 1},
    {"y = round_to(e2m1, x, 0.25)", 1},
    {"y = x * w", 2},
    {"y = x - max(x) + 0", 1},
    {"y = sum(x) * 0.25 - x", 1},
    {"y = x - max(x, block = 16) + 0", 1},
    {"y = x * 2 - max(x, block = 32) + max(x) + w + 0", 2},
    {"y = e2m1(x * w) - min(w) + 0", 2},
    {"y = where(x > 0, w, x)", 2},
};

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *kiln;
    uint64_t state;
    int passed, failed;
} test_run;

/* One tensor and the memory around it, host and device. */
typedef struct memory {
    kiln_tensor host, gpu;
    unsigned char *bytes;
    size_t size;
    kiln__CUdeviceptr device;
} memory;

static uint64_t draw(test_run *t, uint64_t below) {
    t->state ^= t->state << 13, t->state ^= t->state >> 7, t->state ^= t->state << 17;
    return (t->state >> 20) % below;
}

/* rows x cols, of a pitch beyond the columns now and then; rows 1: all share it. */
static bool make(test_run *t, memory *m, kiln_type type, int64_t rows, int64_t cols, bool output) {
    const int64_t pitch = cols + (draw(t, 3) == 0 ? 2 * (int64_t)draw(t, 20) : 0), sizes[] = {rows, cols};
    const int64_t strides[] = {pitch, 1};
    const size_t shift = (size_t[]){0, 0, 1, 2, 4, 8}[draw(t, 6)] * kiln_type_size(type);
    m->size = (size_t)kiln__type_bytes(type, rows * pitch) + 2 * GUARD + shift;
    m->bytes = malloc(m->size);
    if (!m->bytes || t->driver->MemAlloc(&m->device, m->size)) return false;
    for (size_t i = 0; i < m->size; i++) m->bytes[i] = (unsigned char)draw(t, 256);
    m->host = kiln_tensor_strided(m->bytes + GUARD + shift, type, 2, sizes, strides);
    for (int64_t i = 0; i < rows * pitch && type != KILN_E2M1 && !output; i++)
        kiln__store_f64(type, (char *)m->host.data + i * kiln__type_bytes(type, 1), (double)draw(t, 25) / 2 - 6);
    m->gpu = m->host;
    m->gpu.data = (void *)(uintptr_t)(m->device + GUARD + shift);
    return !t->driver->MemcpyHtoD(m->device, m->bytes, m->size);
}

/* Outputs and what is around them, a byte of a pitch included. */
static bool compare(test_run *t, const memory *y) {
    unsigned char *got = malloc(y->size);
    bool good = got && !t->driver->MemcpyDtoH(got, y->device, y->size);
    size_t at = 0;
    while (good && at < y->size && got[at] == y->bytes[at]) at++;
    good = good && at == y->size;
    if (!good)
        printf("byte %zu of the output's memory is 0x%02x, expected 0x%02x\n", at, got ? got[at] : 0, y->bytes[at]);
    free(got);
    return good;
}

static bool run(test_run *t, const program *p, memory *m) {
    kiln_tensor host[MOST], gpu[MOST];
    kiln_program *compiled = NULL;
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    options.precision = KILN_PRECISION_PROGRAM;
    for (int i = 0; i <= p->inputs; i++) host[i] = m[i].host, gpu[i] = m[i].gpu;
    bool good = kiln_program_create(t->kiln, p->text, NULL, &compiled) == KILN_OK;
    const size_t count = (size_t)p->inputs + 1;
    const kiln_status status = good ? kiln_run(compiled, gpu, count, NULL, 0, NULL) : KILN_E_INTERNAL;
    good = status == KILN_OK && !t->driver->CtxSynchronize() &&
           kiln_run_cpu_with_options(compiled, host, count, NULL, 0, &options) == KILN_OK;
    if (!good) printf("%s\n", kiln_last_error());
    good = good && compare(t, &m[p->inputs]);
    kiln_program_destroy(compiled);
    return good;
}

static void run_case(test_run *t) {
    static const kiln_type types[] = {KILN_E2M1, KILN_E2M1, KILN_F32, KILN_BF16, KILN_F64, KILN_I8};
    static const int64_t columns[] = {2, 16, 32, 48, 64, 96, 128, 160, 512, 1024, 4096};
    const program *p = &programs[draw(t, COUNT(programs))];
    const bool blocks = strstr(p->text, "block") != NULL;
    int64_t cols = draw(t, 2) ? columns[draw(t, COUNT(columns))] : 2 * (1 + (int64_t)draw(t, 700));
    if (blocks) cols = (cols + 31) / 32 * 32;
    const int64_t rows = 1 + (int64_t)draw(t, draw(t, 4) ? 9 : 200);
    memory m[MOST];
    memset(m, 0, sizeof m);
    bool packed = false, good = true;
    for (int i = 0; i <= p->inputs; i++) {
        const kiln_type type = !packed && i == p->inputs ? KILN_E2M1 : types[draw(t, COUNT(types))];
        packed |= type == KILN_E2M1;
        good = good && make(t, &m[i], type, i == 1 && p->inputs == 2 && draw(t, 2) ? 1 : rows, cols, i == p->inputs);
    }
    good = good && run(t, p, m);
    if (!good) {
        printf("  %s, %" PRId64 " x %" PRId64, p->text, rows, cols);
        for (int i = 0; i <= p->inputs; i++)
            printf(", %s[%" PRId64 "] by %" PRId64 " at %d", kiln_type_name(m[i].host.type), m[i].host.sizes[0],
                   m[i].host.strides[0], (int)((uintptr_t)m[i].gpu.data % 16));
        printf("\n");
    }
    *(good ? &t->passed : &t->failed) += 1;
    for (int i = 0; i <= p->inputs; i++) {
        if (m[i].device) t->driver->MemFree(m[i].device);
        free(m[i].bytes);
    }
}

int main(int argc, char **argv) {
    test_run t = {.state = 88172645463325252u};
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    int cases = 300;
    options.cache_dir = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            t.state += strtoull(argv[i + 1], NULL, 10) * 0x9e3779b97f4a7c15u;
        else if (!strcmp(argv[i], "--cases"))
            cases = atoi(argv[i + 1]);
        else
            setenv(!strcmp(argv[i], "--driver") ? "KILN_DRIVER" : "KILN_NVRTC", argv[i + 1], 1);
    }
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    if (kiln_context_create(&options, &t.kiln)) {
        printf("%s\n", kiln_last_error());
        return 1;
    }
    for (int i = 0; i < cases; i++) run_case(&t);
    kiln_context_destroy(t.kiln);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a server keeps: host memory of programs, remembered shapes, plans and loaded kernels, and how long it takes to
 * make each of them. On the stand-in for the driver, with the NVRTC that is found; 77 without one. The numbers of
 * docs/servers.md. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"

enum { PROGRAMS = 1000, SHAPES = 1000, PLANS = 200, KERNELS = 16 };

static const char text[] = "y = layer_norm(x, w, b, 1e-5)";

typedef struct bench {
    kiln_context *context;
    kiln_program *program;
    kiln_status status;
    double ms;
    size_t bytes;
} bench;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Allocated, in mappings of their own, too. */
static size_t used(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void begin(bench *b) {
    b->bytes = used();
    b->ms = now_ms();
}

static void show(const bench *b, const char *what, int count) {
    const double ms = now_ms() - b->ms;
    const long bytes = (long)used() - (long)b->bytes;
    if (!b->status) printf("%-44s %10ld %12.1f\n", what, bytes / count, ms / count * 1e3);
}

static void make_tensors(int64_t rows, int64_t cols, kiln_tensor tensors[4]) {
    const int64_t sizes[] = {rows, cols};
    char *data = (char *)((uintptr_t)1 << 40);
    tensors[0] = kiln_tensor_contiguous(data, KILN_BF16, 2, sizes);
    tensors[1] = kiln_tensor_contiguous(data + ((size_t)1 << 36), KILN_BF16, 1, sizes + 1);
    tensors[2] = kiln_tensor_contiguous(data + ((size_t)2 << 36), KILN_BF16, 1, sizes + 1);
    tensors[3] = kiln_tensor_contiguous(data + ((size_t)3 << 36), KILN_BF16, 2, sizes);
}

static void run(bench *b, int64_t rows, int64_t cols) {
    kiln_tensor tensors[4];
    make_tensors(rows, cols, tensors);
    if (!b->status) b->status = kiln_run(b->program, tensors, 4, NULL, 0, NULL);
}

static void measure_programs(bench *b) {
    static kiln_program *programs[PROGRAMS];
    begin(b);
    for (int i = 0; i < PROGRAMS && !b->status; i++)
        b->status = kiln_program_create(b->context, text, NULL, &programs[i]);
    show(b, "a program", PROGRAMS);
    for (int i = 0; i < PROGRAMS; i++) kiln_program_destroy(programs[i]);
}

static void measure_kernels(bench *b) {
    begin(b);
    for (int i = 0; i < KERNELS; i++) run(b, 64, 1024 + 128 * i);
    show(b, "a kernel, compiled, and its first shape", KERNELS);
}

static void measure_disk(bench *b, const kiln_context_options *options) {
    kiln_program *first = b->program;
    kiln_context *context = b->context;
    b->program = NULL;
    b->status = b->status ? b->status : kiln_context_create(options, &b->context);
    if (!b->status) b->status = kiln_program_create(b->context, text, NULL, &b->program);
    begin(b);
    for (int i = 0; i < KERNELS; i++) run(b, 64, 1024 + 128 * i);
    show(b, "a kernel, from the disk cache, and its shape", KERNELS);
    kiln_program_destroy(b->program);
    kiln_context_destroy(b->context);
    b->program = first;
    b->context = context;
}

static void measure_shapes(bench *b) {
    begin(b);
    for (int i = 0; i < SHAPES; i++) run(b, 65 + i, 1024);
    show(b, "a shape of a loaded kernel", SHAPES);
    begin(b);
    for (int i = 0; i < SHAPES; i++) run(b, 65 + i, 1024);
    show(b, "a launch of a shape seen before", SHAPES);
}

static void measure_plans(bench *b) {
    static kiln_plan *plans[PLANS];
    kiln_tensor tensors[4];
    make_tensors(64, 1024, tensors);
    begin(b);
    for (int i = 0; i < PLANS && !b->status; i++)
        b->status = kiln_plan_create(b->program, tensors, 4, NULL, 0, &plans[i]);
    show(b, "a plan of a loaded kernel", PLANS);
    for (int i = 0; i < PLANS; i++) kiln_plan_destroy(plans[i]);
}

static void show_kernels(bench *b) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    if (!b->status) b->status = kiln_context_get_stats(b->context, &stats);
    if (!b->status && stats.kernels)
        printf("%-44s %10lld\n", "the image and name of a loaded kernel",
               (long long)(stats.kernel_bytes / stats.kernels));
}

int main(void) {
    char folder[] = "/tmp/kiln_bench_memory_XXXXXX", command[64];
    fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    const kiln__driver *driver = NULL;
    kiln__CUcontext cuda = NULL;
    bench b = {.status = fake && mkdtemp(folder) ? KILN_OK : KILN_E_IO};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.driver_path = KILN_FAKE_DRIVER;
    options.cache_dir = folder;
    if (!b.status) b.status = kiln__driver_open(KILN_FAKE_DRIVER, &driver);
    if (!b.status && (driver->DevicePrimaryCtxRetain(&cuda, 0) || driver->CtxSetCurrent(cuda)))
        b.status = KILN_E_NO_CONTEXT;
    begin(&b);
    if (!b.status) b.status = kiln_context_create(&options, &b.context);
    printf("%s\n%-44s %10s %12s\n", text, "each", "bytes", "microseconds");
    show(&b, "a context", 1);
    if (!b.status) b.status = kiln_program_create(b.context, text, NULL, &b.program);
    run(&b, 64, 512); /* opens what is opened once */
    measure_programs(&b);
    measure_kernels(&b);
    measure_disk(&b, &options);
    measure_shapes(&b);
    measure_plans(&b);
    show_kernels(&b);
    if (b.status) fprintf(stderr, "bench_memory: %s %s\n", kiln_status_name(b.status), kiln_last_error());
    kiln_program_destroy(b.program);
    kiln_context_destroy(b.context);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) b.status = KILN_E_IO;
    if (b.status == KILN_E_NO_NVRTC) return 77;
    return b.status == KILN_OK ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch takes the host, for a shape seen before: kiln_plan_launch and kiln_run beside the driver's call that
 * both come down to, recorded with its handle, grid and arguments, and beside that call with the handle that the kernel
 * has in the context. And what kernels that follow one another take the GPU, with and without dependent launch.
 * All take turns, a burst each, on an idle stream; medians. Needs a GPU; 77 without. Usage: bench_launch */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/driver.h"

#define BURST 256 /* launches, fewer than a stream holds before the host has to wait */
#define ROUNDS 401
#define PAIR_ROUNDS 51
#define MEMORY ((size_t)256 << 20)
#define SKIP 77

typedef struct work {
    const char *text;
    kiln_type type;
    int64_t columns;
    size_t tensor_count, scalar_count;
} work;

static const work works[] = {
    {"y = softmax(x)", KILN_F16, 1024, 2, 0},
    {"y = softmax(x * scale + mask)", KILN_F16, 1024, 3, 1},
    {"y = layer_norm(x, w, b, 1e-5)", KILN_BF16, 4096, 4, 0},
};
#define WORKS (sizeof works / sizeof *works)

/* What Kiln said to the driver. */
typedef struct call {
    kiln__CUfunction function;
    unsigned grid[3], block[3], shared;
    _Alignas(16) unsigned char argument[4096];
} call;

typedef struct subject {
    const work *work;
    kiln_program *program;
    kiln_plan *plan, *dependent;
    kiln_tensor tensors[4];
    void *data[4];
    kiln_scalar scalar;
    call call;
    kiln__CUfunction in_context;
} subject;

/* ---- the driver ---- */

typedef kiln__CUresult launcher(kiln__CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                kiln__CUstream, void **, void **);

static kiln__driver *driver;
static launcher *launch_kernel;
static kiln__CUresult (*parameter_info)(kiln__CUkernel, size_t, size_t *, size_t *);
static kiln__CUresult (*synchronize)(kiln__CUstream);
static kiln__CUstream stream;
static call last;

static kiln__CUresult record(kiln__CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, kiln__CUstream on,
                             void **parameters, void **extra) {
    size_t offset = 0, size = 0;
    const kiln__CUresult result = parameter_info((kiln__CUkernel)(void *)function, 0, &offset, &size);
    if (result) return result;
    last = (call){function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, {0}};
    memcpy(last.argument, parameters[0], size < sizeof last.argument ? size : sizeof last.argument);
    return launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, on, parameters, extra);
}

/* Of device 0, in its primary context. */
static bool open_driver(void **memory) {
    const kiln__driver *opened = NULL;
    kiln__CUcontext context = NULL;
    kiln__CUdevice device = 0;
    kiln__CUdeviceptr address = 0;
    kiln__CUresult (*create_stream)(kiln__CUstream *, unsigned) = NULL;
    if (kiln__driver_open(NULL, &opened) || opened->DeviceGet(&device, 0)) return false;
    if (opened->DevicePrimaryCtxRetain(&context, device) || opened->CtxSetCurrent(context)) return false;
    void *library = dlopen(opened->path, RTLD_NOW);
    *(void **)&create_stream = library ? dlsym(library, "cuStreamCreate") : NULL;
    *(void **)&synchronize = library ? dlsym(library, "cuStreamSynchronize") : NULL;
    *(void **)&parameter_info = library ? dlsym(library, "cuKernelGetParamInfo") : NULL; /* CUDA 12.4 */
    if (!create_stream || !synchronize || !parameter_info || create_stream(&stream, 1)) return false;
    if (opened->MemAlloc(&address, 4 * MEMORY)) return false;
    driver = (kiln__driver *)(uintptr_t)opened;
    launch_kernel = driver->LaunchKernel;
    *memory = (void *)(uintptr_t)address;
    return true;
}

/* ---- launches ---- */

typedef enum way { CALL, CALL_IN_CONTEXT, PLAN, RUN, DEPENDENT, WAYS } way;

static kiln_status launch(const subject *s, way how) {
    const work *w = s->work;
    if (how == RUN) return kiln_run(s->program, s->tensors, w->tensor_count, &s->scalar, w->scalar_count, stream);
    if (how == PLAN || how == DEPENDENT)
        return kiln_plan_launch(how == PLAN ? s->plan : s->dependent, s->data, w->tensor_count, &s->scalar,
                                w->scalar_count, stream);
    const call *c = &s->call;
    void *parameters[1] = {(void *)(uintptr_t)c->argument};
    const kiln__CUresult result =
        launch_kernel(how == CALL ? c->function : s->in_context, c->grid[0], c->grid[1], c->grid[2], c->block[0],
                      c->block[1], c->block[2], c->shared, stream, parameters, NULL);
    return result ? kiln__driver_fail(driver, KILN_E_LAUNCH, result, "cuLaunchKernel") : KILN_OK;
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Microseconds of a launch in a burst: of the host alone, or until all of it is computed. */
static kiln_status time_burst(const subject *s, way how, bool until_done, double *us) {
    kiln_status status = KILN_OK;
    if (synchronize(stream)) return kiln__fail(KILN_E_LAUNCH, "the stream has failed");
    const double start = now_us();
    for (int i = 0; i < BURST && !status; i++) status = launch(s, how);
    if (until_done && synchronize(stream)) return kiln__fail(KILN_E_LAUNCH, "the stream has failed");
    *us = (now_us() - start) / BURST;
    return status;
}

static int compare(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The medians of bursts of `count` ways that take turns. */
static kiln_status measure(const subject *s, const way *ways, int count, int rounds, bool until_done, double *medians) {
    static double us[WAYS][ROUNDS];
    kiln_status status = KILN_OK;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count && !status; i++) {
            const int turn = (i + round) % count;
            status = time_burst(s, ways[turn], until_done, &us[turn][round]);
        }
    for (int i = 0; i < count; i++) {
        qsort(us[i], (size_t)rounds, sizeof us[i][0], compare);
        medians[i] = us[i][rounds / 2];
    }
    return status;
}

/* ---- programs ---- */

static void destroy(subject *s) {
    kiln_plan_destroy(s->plan);
    kiln_plan_destroy(s->dependent);
    kiln_program_destroy(s->program);
}

static kiln_status create(kiln_context *context, const work *w, int64_t rows, unsigned char *memory, subject *s) {
    const int64_t sizes[2] = {rows, w->columns};
    kiln_program_options of_program = KILN_PROGRAM_OPTIONS_INIT;
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.dependent_launch = 1;
    if (w->scalar_count) of_program.scalars = "scale";
    memset(s, 0, sizeof *s);
    s->work = w;
    s->scalar = kiln_scalar_f64(0.125);
    for (size_t i = 0; i < w->tensor_count; i++) {
        const bool row = i > 0 && i + 1 < w->tensor_count;
        s->data[i] = memory + i * MEMORY;
        s->tensors[i] = kiln_tensor_contiguous(s->data[i], w->type, row ? 1 : 2, row ? &sizes[1] : sizes);
    }
    kiln_status status = kiln_program_create(context, w->text, &of_program, &s->program);
    if (!status)
        status = kiln_plan_create(s->program, s->tensors, w->tensor_count, &s->scalar, w->scalar_count, &s->plan);
    if (!status)
        status = kiln_plan_create_with_options(s->program, s->tensors, w->tensor_count, &s->scalar, w->scalar_count,
                                               &options, &s->dependent);
    if (status) return status;
    driver->LaunchKernel = record;
    status = launch(s, PLAN);
    driver->LaunchKernel = launch_kernel;
    s->call = last;
    kiln__CUresult result = driver->KernelGetFunction(&s->in_context, (kiln__CUkernel)(void *)last.function);
    return result ? kiln__driver_fail(driver, KILN_E_LOAD, result, "cuKernelGetFunction") : status;
}

/* A few rows, which a GPU computes in less time than it takes to launch them. */
static kiln_status print_host_times(kiln_context *context, const work *w, unsigned char *memory) {
    static const way ways[] = {CALL, CALL_IN_CONTEXT, PLAN, RUN};
    double us[4];
    subject s;
    kiln_status status = create(context, w, 8, memory, &s);
    if (!status) status = measure(&s, ways, 4, ROUNDS, false, us);
    destroy(&s);
    if (!status)
        printf("%-32s %8.3f %8.3f %8.3f %+6.1f %% %8.3f %+6.1f %%\n", w->text, us[0], us[1], us[2],
               100 * (us[2] / us[0] - 1), us[3], 100 * (us[3] / us[0] - 1));
    return status;
}

/* Of what launches ask the driver besides. */
static void print_questions(void) {
    enum { CALLS = 100000 };
    kiln__CUdevice device = 0;
    int capturing = 0;
    const double start = now_us();
    for (int i = 0; i < CALLS; i++) driver->CtxGetDevice(&device);
    const double between = now_us();
    for (int i = 0; i < CALLS; i++) driver->StreamIsCapturing(stream, &capturing);
    printf("of these cuStreamIsCapturing %.3f, and in a run cuCtxGetDevice %.3f\n", (now_us() - between) / CALLS,
           (between - start) / CALLS);
}

/* Each kernel waits for the one before. */
static kiln_status print_pairs(kiln_context *context, const work *w, int64_t rows, unsigned char *memory) {
    static const way ways[] = {PLAN, DEPENDENT};
    double us[2];
    subject s;
    kiln_status status = create(context, w, rows, memory, &s);
    if (!status) status = measure(&s, ways, 2, PAIR_ROUNDS, true, us);
    destroy(&s);
    if (!status)
        printf("%-32s %8lld %8.2f %8.2f %+6.1f %%\n", w->text, (long long)rows, us[0], us[1],
               100 * (us[1] / us[0] - 1));
    return status;
}

int main(void) {
    kiln_context *context = NULL;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    void *memory = NULL;
    if (!open_driver(&memory)) {
        printf("skipped: no GPU of CUDA 12.4 or newer: %s\n", kiln_last_error());
        return SKIP;
    }
    options.cache_dir = "";
    kiln_status status = kiln_context_create(&options, &context);
    printf("us of the host for each launch, bursts of %d\n%-32s %8s %8s %8s %8s %8s\n", BURST, "", "driver", "in ctx",
           "plan", "", "run");
    for (size_t i = 0; i < WORKS && !status; i++) status = print_host_times(context, &works[i], memory);
    if (!status) print_questions();
    printf("us until all is computed, for each launch\n%-32s %8s %8s %8s\n", "", "rows", "plan", "early");
    for (size_t i = 0; i < WORKS && !status; i++)
        for (int64_t rows = 64; rows <= 16384 && !status; rows *= 4)
            status = print_pairs(context, &works[i], rows, memory);
    kiln_context_destroy(context);
    if (status == KILN_E_NO_NVRTC) return SKIP;
    if (status) fprintf(stderr, "bench_launch: %s %s\n", kiln_status_name(status), kiln_last_error());
    return status ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose kernel lies on disk: what Kiln itself costs from the request to handing the image to the driver, in a
 * warm process whose memory knows nothing of the kernel. The driver is the stand-in, whose load costs nothing. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "support/bound.h"
#include "support/fake_driver.h"
#include "gpu/driver.h"
#include "support/own_folder.h"

#include <time.h>

#define SHAPES 48
#define ROUNDS 11
#define LIMIT_US 150.0

static const char *const programs[] = {
    "y = softmax(x)",
    "d = x - mean(x); y = d * rsqrt(mean(d * d) + 1e-5) * w + b",
    "s = absmax(x); y = x / s",
    "y = gelu(x + b) * w",
};
#define PROGRAMS (sizeof programs / sizeof *programs)

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Shape number i: odd and even columns, short and long rows. */
static int64_t columns(int i) { return 64 + 331 * (int64_t)i; }

typedef struct sums {
    double us[PROGRAMS * SHAPES * ROUNDS], schedule, emit, lookup, image;
    size_t count;
} sums;

/* Makes a plan for each shape with a context of its own. */
static kiln_status make_plans(const char *cache, kiln_origin expected, sums *all) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = KILN_FAKE_NVRTC;
    kiln_context *context = NULL;
    kiln_status status = kiln_context_create(&options, &context);
    for (size_t p = 0; p < PROGRAMS && !status; p++) {
        kiln_program *program = NULL;
        status = kiln_program_create(context, programs[p], NULL, &program);
        size_t inputs = status ? 0 : kiln_program_input_count(program);
        for (int i = 0; i < SHAPES && !status; i++) {
            kiln_tensor tensors[KILN_MAX_TENSORS];
            const int64_t sizes[2] = {4096, columns(i)};
            for (size_t t = 0; t <= inputs; t++) {
                bool full = t == inputs || kiln_program_input_name(program, t)[0] == 'x';
                tensors[t] = kiln_tensor_contiguous((void *)((uintptr_t)(t + 1) << 40), KILN_F16, full ? 2 : 1,
                                                    full ? sizes : sizes + 1);
            }
            kiln_plan *plan = NULL;
            kiln_plan_info info = KILN_PLAN_INFO_INIT;
            double start = now_us();
            status = kiln_plan_create(program, tensors, inputs + 1, NULL, 0, &plan);
            double us = now_us() - start;
            if (!status) status = kiln_plan_get_info(plan, &info);
            bool shared = info.origin == KILN_ORIGIN_MEMORY; /* with a shape before it */
            if (!status && info.origin != expected && !shared)
                status = kiln__fail(KILN_E_INTERNAL, "the origin is %d, expected %d", (int)info.origin, (int)expected);
            kiln_plan_destroy(plan);
            if (status || !all || shared) continue;
            all->us[all->count++] = us;
            all->schedule += info.schedule_ms * 1e3;
            all->emit += info.emit_ms * 1e3;
            all->lookup += info.lookup_ms * 1e3;
            all->image += (double)info.image_bytes;
        }
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
    return status;
}

int main(void) {
    static sums all;
    own_folder cache;
    const kiln__driver *driver = NULL;
    kiln__CUcontext cuda = NULL;
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    kiln_status status = kiln__driver_open(KILN_FAKE_DRIVER, &driver);
    if (status || driver->DevicePrimaryCtxRetain(&cuda, 0) || driver->CtxSetCurrent(cuda) || !own_folder_make(&cache)) {
        fprintf(stderr, "bench_cache: no driver or no folder: %s\n", kiln_last_error());
        return 1;
    }
    status = make_plans(cache.path, KILN_ORIGIN_COMPILED, NULL);
    for (int round = 0; round < ROUNDS && !status; round++) status = make_plans(cache.path, KILN_ORIGIN_DISK, &all);
    if (status) fprintf(stderr, "bench_cache: %s\n", kiln_last_error());
    own_folder_remove(&cache);
    if (status) return 1;
    qsort(all.us, all.count, sizeof *all.us, compare);
    double median = all.us[all.count / 2], n = (double)all.count;
    printf(
        "a plan from the warm disk cache, without the driver's load: %.1f us (median of %zu plans of %zu kernels, "
        "90 %% under %.1f), limit %.0f; means: schedule %.1f, source %.1f, key and cache %.1f, image of %.0f bytes\n",
        median, all.count, PROGRAMS * SHAPES, all.us[all.count * 9 / 10], LIMIT_US, all.schedule / n, all.emit / n,
        all.lookup / n, all.image / n);
    return median < LIMIT_US ? 0 : 1;
}

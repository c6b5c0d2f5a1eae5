/* SPDX-License-Identifier: Apache-2.0 */
/* What kiln_run costs beyond the driver's launch, once a shape has been seen: run under callgrind by
 * tools/bench/dispatch.sh, against the stand-in driver. Usage: bench_dispatch <cache folder> [number of the program] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"

#define CALLS 10000
#define PROGRAMS 2

typedef struct work {
    const char *text;
    kiln_type type;
    int64_t sizes[2];
    size_t tensor_count;
    size_t first_one_row; /* inputs from here up to the output are [columns] */
} work;

static const work works[PROGRAMS] = {
    {"y = softmax(x)", KILN_F16, {1000, 1024}, 2, 1},
    {"y = layer_norm(x, w, b, 1e-5)", KILN_BF16, {512, 4096}, 4, 1},
};

/* Callgrind counts inside this function alone; hence its own name and no inlining. */
__attribute__((noinline)) kiln_status bench_steady_calls(const kiln_program *program, const kiln_tensor *tensors,
                                                         size_t count);
kiln_status bench_steady_calls(const kiln_program *program, const kiln_tensor *tensors, size_t count) {
    kiln_status status = KILN_OK;
    for (int i = 0; i < CALLS && status == KILN_OK; i++) status = kiln_run(program, tensors, count, NULL, 0, NULL);
    return status;
}

static kiln_status run(kiln_context *context, const work *w, fake_driver *fake) {
    kiln_tensor tensors[4];
    void *memory[4] = {NULL};
    kiln_program *program = NULL;
    kiln_status status = kiln_program_create(context, w->text, NULL, &program);
    for (size_t i = 0; i < w->tensor_count; i++) {
        bool one_row = i >= w->first_one_row && i + 1 < w->tensor_count;
        size_t elements = (size_t)w->sizes[1] * (one_row ? 1 : (size_t)w->sizes[0]);
        memory[i] = aligned_alloc(256, (elements * kiln_type_size(w->type) + 255) & ~(size_t)255);
        if (!memory[i]) status = KILN_E_MEMORY;
        tensors[i] = kiln_tensor_contiguous(memory[i], w->type, one_row ? 1 : 2, one_row ? &w->sizes[1] : w->sizes);
    }
    if (status == KILN_OK) status = kiln_run(program, tensors, w->tensor_count, NULL, 0, NULL);
    long before = fake->launches;
    if (status == KILN_OK) status = bench_steady_calls(program, tensors, w->tensor_count);
    printf("%s: %ld calls\n", w->text, (long)fake->launches - before);
    if (status == KILN_OK && fake->launches - before != CALLS) status = KILN_E_INTERNAL;
    for (size_t i = 0; i < w->tensor_count; i++) free(memory[i]);
    kiln_program_destroy(program);
    return status;
}

int main(int argc, char **argv) {
    fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    const kiln__driver *driver = NULL;
    kiln_context *context = NULL;
    kiln__CUcontext cuda = NULL;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = argc > 1 ? argv[1] : "";
    size_t first = argc > 2 ? (size_t)atoi(argv[2]) : 0, last = argc > 2 ? first : PROGRAMS - 1;
    options.driver_path = KILN_FAKE_DRIVER;
    kiln_status status = fake ? kiln__driver_open(KILN_FAKE_DRIVER, &driver) : KILN_E_NO_DRIVER;
    if (status == KILN_OK && (driver->DevicePrimaryCtxRetain(&cuda, 0) || driver->CtxSetCurrent(cuda)))
        status = KILN_E_NO_CONTEXT;
    if (status == KILN_OK) status = kiln_context_create(&options, &context);
    for (size_t i = first; i <= last && i < PROGRAMS && status == KILN_OK; i++) status = run(context, &works[i], fake);
    if (status != KILN_OK) fprintf(stderr, "bench_dispatch: %s %s\n", kiln_status_name(status), kiln_last_error());
    kiln_context_destroy(context);
    if (status == KILN_E_NO_NVRTC) return 77;
    return status == KILN_OK ? 0 : 1;
}

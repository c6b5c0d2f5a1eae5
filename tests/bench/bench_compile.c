/* SPDX-License-Identifier: Apache-2.0 */
/* How long kernels take to compile, cold, next to an empty kernel in the same process. Fails over 5 times as long.
 * Needs NVRTC and no GPU; 77 without NVRTC. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "jit/nvrtc.h"

#define ARCH 90
#define RUNS 7
#define LIMIT 5.0

typedef struct kernel {
    const char *name, *text;
    kiln_type type;
    int64_t sizes[2];   /* -1 rows: open */
    const char *shapes; /* of each tensor, output last: 'm' the whole, 'r' one row, 's' one value per row */
} kernel;

static const kernel kernels[] = {
    {"softmax f16 x 1024", "y = softmax(x)", KILN_F16, {-1, 1024}, "mm"},
    {"layer_norm bf16 x 4096", "y = layer_norm(x, w, b, 1e-5)", KILN_BF16, {-1, 4096}, "mrrm"},
    {"reduce_scale f32 x 128", "y = reduce_scale(x)", KILN_F32, {-1, 128}, "mm"},
    {"gelu f16, elementwise", "y = gelu_tanh(a + b) * c", KILN_F16, {-1, 1024}, "mrmm"},
};
#define KERNELS (sizeof kernels / sizeof kernels[0])

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double *values) {
    qsort(values, RUNS, sizeof *values, compare);
    return values[RUNS / 2];
}

static kiln_status time_empty(const kiln__nvrtc *nvrtc, double *ms) {
    const kiln__compile_request request = {"extern \"C\" __global__ void kiln_empty() {}\n", "kiln_empty.cu", ARCH,
                                           false};
    kiln__compile_result result = {0};
    double start = now_ms();
    kiln_status status = kiln__nvrtc_compile(nvrtc, &request, &result);
    *ms = now_ms() - start;
    kiln__compile_result_free(&result);
    return status;
}

/* From request to image: parsing, planning and writing the source are part of it. Each time in a context of its own, so
 * that nothing is found in memory. */
static kiln_status time_kernel(const kernel *k, double *ms) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *compiled = NULL;
    kiln_tensor tensors[4];
    size_t count = 0;
    for (const char *shape = k->shapes; *shape; shape++, count++)
        tensors[count] =
            kiln_tensor_contiguous(NULL, k->type, *shape == 'm' ? 2 : 1, *shape == 'r' ? &k->sizes[1] : k->sizes);
    kiln_status status = kiln_context_create(&options, &context);
    double start = now_ms();
    if (status == KILN_OK) status = kiln_program_create(context, k->text, NULL, &program);
    if (status == KILN_OK) status = kiln_compile(program, tensors, count, NULL, 0, ARCH, 0, 1, &compiled);
    *ms = now_ms() - start;
    kiln_kernel_destroy(compiled);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

int main(void) {
    const kiln__nvrtc *nvrtc = NULL;
    kiln_status status = kiln__nvrtc_open(NULL, &nvrtc);
    if (status != KILN_OK) {
        printf("skipped: %s\n", kiln_last_error());
        return 77;
    }
    /* Rounds of all kinds, so that a busy moment of the machine meets each of them alike; the first warms up. */
    double empty[RUNS + 1] = {0}, times[KERNELS][RUNS + 1] = {{0}};
    for (size_t run = 0; run <= RUNS && status == KILN_OK; run++) {
        status = time_empty(nvrtc, &empty[run]);
        for (size_t i = 0; i < KERNELS && status == KILN_OK; i++) status = time_kernel(&kernels[i], &times[i][run]);
    }
    if (status != KILN_OK) {
        fprintf(stderr, "bench_compile: %s\n", kiln_last_error());
        return 1;
    }
    double base = median(empty + 1);
    int over = 0;
    printf("NVRTC %d.%d, sm_%d, median of %d cold compiles\n", nvrtc->identity.major, nvrtc->identity.minor, ARCH,
           RUNS);
    printf("%-24s %8s %8s\n%-24s %8.1f %8s\n", "kernel", "ms", "ratio", "empty", base, "1.00");
    for (size_t i = 0; i < KERNELS; i++) {
        double ms = median(times[i] + 1);
        bool slow = ms / base > LIMIT;
        printf("%-24s %8.1f %8.2f%s\n", kernels[i].name, ms, ms / base, slow ? "  over the limit of 5" : "");
        over += slow;
    }
    return over ? 1 : 0;
}

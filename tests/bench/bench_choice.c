/* SPDX-License-Identifier: Apache-2.0 */
/* What a shape that a process has not seen costs before any compiler or cache is asked: choosing its schedule and
 * writing its source, by a program that is new, too. Needs no GPU. Usage: bench_choice [arch] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/bound.h"

#define TIMES 30

static const struct {
    const char *text, *axes, *tensors;
} cases[] = {
    {"y = gelu(x) * g", NULL, "bf16[4096,1024] bf16[4096,1024] bf16[4096,1024]"},
    {"y = x * 2", NULL, "f32[16,3,1000]{3000,1,3} f32[16,3,1000]"},
    {"y = softmax(x)", NULL, "f16[4096,128] f16[4096,128]"},
    {"y = softmax(x)", NULL, "f16[4096,8192] f16[4096,8192]"},
    {"y = layer_norm(x, w, b)", NULL, "bf16[4096,1024] bf16[1024] bf16[1024] bf16[4096,1024]"},
    {"s = sum(x)", NULL, "f32[16,10000000] f32[16]"},
    {"y = softmax(x)", "0", "f32[4096,1000] f32[4096,1000]"},
    {"s = sum(x)", "1", "f32[64,1000,1000] f32[64,1000]"},
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Milliseconds; below 0 where it fails. */
static double time_once(size_t i, int arch) {
    bound b;
    kiln__prepared prepared;
    if (bound_create(&b, cases[i].text, cases[i].axes, NULL, cases[i].tensors) != KILN_OK) return -1;
    const double start = now_ms();
    const kiln_status status = bound_prepare(&b, arch, &prepared);
    const double ms = status ? -1 : now_ms() - start;
    if (!status) kiln__prepared_free(&prepared);
    bound_destroy(&b);
    return ms;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const int arch = argc > 1 ? atoi(argv[1]) : 90;
    printf("median ms of the processor, of %d times, sm_%d\n", TIMES, arch);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ms[TIMES];
        for (int n = 0; n < TIMES; n++)
            if ((ms[n] = time_once(i, arch)) < 0) {
                fprintf(stderr, "%s: %s\n", cases[i].text, kiln_last_error());
                return 1;
            }
        qsort(ms, TIMES, sizeof *ms, by_value);
        printf("%7.3f  %s  %s%s%s\n", ms[TIMES / 2], cases[i].text, cases[i].tensors, cases[i].axes ? " axes " : "",
               cases[i].axes ? cases[i].axes : "");
    }
    return 0;
}

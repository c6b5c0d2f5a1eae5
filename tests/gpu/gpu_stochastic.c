/* SPDX-License-Identifier: Apache-2.0 */
/* Stochastic rounding in kernels, to the bit, as the reference rounds: between all neighbours of f16, bf16, e4m3,
 * e5m2 and e2m1, and random ones of f32, where u is just at the distance, beside it and anywhere; and that its mean is
 * what is rounded. Runs on a GPU (77 without one) or, with --driver and --nvrtc, on the software GPU. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { FOR_EACH = 3, MOST = 65536 * FOR_EACH * 2 };

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *kiln;
    int passed, failed;
} test_run;

typedef struct array {
    kiln_type type;
    void *host;
    kiln__CUdeviceptr device;
} array;

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* The last array is the program's output. */
static bool run(test_run *t, const char *text, array *arrays, size_t count, int64_t elements) {
    kiln_program *program = NULL;
    kiln_tensor tensors[3];
    bool good = kiln_program_create(t->kiln, text, NULL, &program) == KILN_OK;
    for (size_t i = 0; i < count && good; i++) {
        const size_t bytes = (size_t)elements * kiln_type_size(arrays[i].type);
        good = !t->driver->MemAlloc(&arrays[i].device, bytes) &&
               (i + 1 == count || !t->driver->MemcpyHtoD(arrays[i].device, arrays[i].host, bytes));
        tensors[i] = kiln_tensor_contiguous((void *)(uintptr_t)arrays[i].device, arrays[i].type, 1, &elements);
    }
    array *out = &arrays[count - 1];
    good = good && kiln_run(program, tensors, count, NULL, 0, NULL) == KILN_OK && !t->driver->CtxSynchronize() &&
           !t->driver->MemcpyDtoH(out->host, out->device, (size_t)elements * kiln_type_size(out->type));
    if (!good) printf("%s: %s\n", text, kiln_last_error());
    for (size_t i = 0; i < count; i++)
        if (arrays[i].device) t->driver->MemFree(arrays[i].device);
    for (size_t i = 0; i < count; i++) arrays[i].device = 0;
    kiln_program_destroy(program);
    return good;
}

static double load(const array *a, int64_t i) {
    return kiln__load_f64(a->type, (const char *)a->host + (size_t)i * kiln_type_size(a->type));
}

static void store(const array *a, int64_t i, double value) {
    kiln__store_f64(a->type, (char *)a->host + (size_t)i * kiln_type_size(a->type), value);
}

static bool same(double a, double b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

/* A code of the type, from all of them or, of f32, at random. */
static uint32_t code_at(kiln_type type, int64_t i, uint64_t *state) {
    return type == KILN_F32 ? (uint32_t)(draw(state) >> 32) : (uint32_t)i;
}

/* Pairs of what is rounded and u. */
static int64_t make(kiln_type type, const array *x, const array *u) {
    static const double special[] = {0,     -0.0, INFINITY, -INFINITY, NAN,   1e-310, -1e-45, 1e38, -3e38,
                                     1e300, 447,  450,      470,       65519, 65535,  60000,  62000};
    const int64_t codes = kiln__type_is_packed(type) ? 16 : kiln_type_size(type) == 1 ? 256 : 65536;
    uint64_t state = 88172645463325252u;
    int64_t count = 0;
    for (size_t i = 0; i < COUNT(special); i++) {
        store(x, count, special[i]);
        store(u, count++, (double)(i % 4) * 0.25);
    }
    for (int64_t i = 0; i < codes; i++) {
        const uint32_t code = code_at(type, i, &state), next = code + 1;
        const double low = kiln__load_f64(type, &code), step = kiln__load_f64(type, &next) - low;
        for (int k = 0; k < FOR_EACH && isfinite(step); k++) {
            const int bits = x->type == KILN_F64 ? 24 : 1 + (int)(draw(&state) % 12);
            const double part = (double)(draw(&state) >> (64 - bits)) * ldexp(1, -bits);
            const double any = (double)(draw(&state) >> 40) * 0x1p-24;
            store(x, count, low + part * step);
            store(u, count++, k == 0 ? any : k == 1 ? part : part - 0x1p-24);
        }
    }
    return count;
}

/* Of what x holds, which may be less than was made. */
static void check_values(test_run *t, kiln_type type, kiln_type wide) {
    const size_t size = kiln_type_size(wide);
    array arrays[] = {{.type = wide, .host = malloc(MOST * size)},
                      {.type = wide, .host = malloc(MOST * size)},
                      {.type = wide, .host = malloc(MOST * size)}};
    char text[64];
    bool good = arrays[0].host && arrays[1].host && arrays[2].host;
    if (!good) abort();
    const int64_t count = make(type, &arrays[0], &arrays[1]);
    snprintf(text, sizeof text, "y = round_to(%s, x, u)", kiln_type_name(type));
    for (int stored = 0; stored < 2 && good; stored++) {
        if (stored && kiln__type_is_packed(type)) break; /* gpu_packed.c has them */
        arrays[2].type = stored ? type : wide; /* a value of the type: as such it is stored without another rounding */
        good = run(t, text, arrays, 3, count);
        for (int64_t i = 0; i < count && good; i++) {
            const double value = load(&arrays[0], i), by = load(&arrays[1], i), got = load(&arrays[2], i);
            const double expected = kiln__round_stochastically(type, value, by);
            good = same(got, expected);
            if (!good)
                printf("%s of %s: %.17g by %.17g is %.17g, expected %.17g\n", text, kiln_type_name(wide), value, by,
                       got, expected);
        }
    }
    *(good ? &t->passed : &t->failed) += 1;
    for (size_t i = 0; i < COUNT(arrays); i++) free(arrays[i].host);
}

/* n values of one number: a mean further off than six standard deviations has a probability of 2e-9. */
static void check_mean(test_run *t, kiln_type type, float value) {
    enum { N = 100000 };
    array arrays[] = {{.type = KILN_F32, .host = malloc(N * sizeof(float))},
                      {.type = KILN_F32, .host = malloc(N * sizeof(float))}};
    char text[64];
    double sum = 0, low = kiln__round_stochastically(type, value, 1), high = kiln__round_stochastically(type, value, 0);
    if (!arrays[0].host || !arrays[1].host) abort();
    for (int64_t i = 0; i < N; i++) store(&arrays[0], i, value);
    snprintf(text, sizeof text, "y = round_to(%s, x, uniform(11, 5))", kiln_type_name(type));
    bool good = run(t, text, arrays, 2, N);
    for (int64_t i = 0; i < N && good; i++) sum += load(&arrays[1], i);
    const double part = (value - low) / (high - low), deviation = sqrt(part * (1 - part) / N) * fabs(high - low);
    if (good && fabs(sum / N - value) > 6 * deviation) {
        printf("%s: %g has the mean %.9g\n", text, (double)value, sum / N);
        good = false;
    }
    *(good ? &t->passed : &t->failed) += 1;
    for (size_t i = 0; i < COUNT(arrays); i++) free(arrays[i].host);
}

static void check(test_run *t) {
    static const kiln_type types[] = {KILN_F16, KILN_BF16, KILN_E4M3, KILN_E5M2, KILN_E2M1, KILN_F32};
    static const float means[] = {1.0001f, -3.3f, 200.1f, 1e-7f};
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i] != KILN_F32) check_values(t, types[i], KILN_F32);
        check_values(t, types[i], KILN_F64);
        for (size_t m = 0; m < COUNT(means) && types[i] != KILN_F32; m++) check_mean(t, types[i], means[m]);
    }
}

int main(int argc, char **argv) {
    test_run t = {0};
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        const bool driver = !strcmp(argv[i], "--driver");
        if (!driver && strcmp(argv[i], "--nvrtc")) return 2;
        setenv(driver ? "KILN_DRIVER" : "KILN_NVRTC", argv[i + 1], 1);
    }
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    if (kiln_context_create(&options, &t.kiln)) {
        printf("%s\n", kiln_last_error());
        return 1;
    }
    check(&t);
    kiln_context_destroy(t.kiln);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions from and to the floats of 8 bits and of 4 in kernels, to the bit, against a search in the tables of
 * their values: by instruction from sm_89 on, of e8m0 and e2m1 from sm_100 on, by integer arithmetic before. Runs on a
 * GPU (77 without one) or, with --driver and --nvrtc, on the software GPU, there for both. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"
#include "software_gpu/software_gpu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { RANDOM = 40001, NOT_A_NUMBER = -1 };

typedef struct format {
    kiln_type type;
    const char *name;
    int mantissa, bias, largest; /* largest: the code of the largest finite value */
    bool has_infinity;
    bool scale; /* e8m0: no sign and no mantissa, and rounded up */
    int sign;   /* the bit of it */
} format;

static const format formats[] = {{KILN_E4M3, "e4m3", 3, 7, 0x7e, false, false, 0x80},
                                 {KILN_E5M2, "e5m2", 2, 15, 0x7b, true, false, 0x80},
                                 {KILN_E8M0, "e8m0", 0, 127, 0xfe, false, true, 0},
                                 {KILN_E2M1, "e2m1", 1, 1, 0x7, false, false, 0x8}}; /* without a NaN: 6 */

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *kiln;
    const char *way;
    int passed, failed;
} test_run;

/* ---- what the conversions are ----------------------------------------------------------------------------- */

static double value_of(const format *f, int code) {
    if (f->scale) return code > f->largest ? NAN : ldexp(1, code - f->bias);
    const int magnitude = code & (f->sign - 1);
    const int exponent = magnitude >> f->mantissa, fraction = code & ((1 << f->mantissa) - 1);
    double value = exponent ? ldexp((1 << f->mantissa) + fraction, exponent - f->bias - f->mantissa)
                            : ldexp(fraction, 1 - f->bias - f->mantissa);
    if (magnitude > f->largest) value = f->has_infinity && fraction == 0 ? INFINITY : NAN;
    return code & f->sign ? -value : value;
}

/* middles[code]: where the code's values begin: half-way from the one below, exactly; of scales at that one. */
static void fill_middles(const format *f, double middles[256]) {
    for (int code = 1; code <= f->largest; code++)
        middles[code] = f->scale ? value_of(f, code - 1) : (value_of(f, code - 1) + value_of(f, code)) / 2;
}

/* The nearest code, the even one of two, or that of the scale above; what is too large becomes the largest. */
static int code_of(const format *f, const double middles[256], double value) {
    const double magnitude = fabs(value);
    int best = 0;
    if (isnan(value)) return f->type == KILN_E2M1 ? f->largest : NOT_A_NUMBER;
    for (int code = 1; code <= f->largest; code++)
        if (magnitude > middles[code] || (magnitude == middles[code] && code % 2 == 0 && !f->scale)) best = code;
    return best | (signbit(value) ? f->sign : 0);
}

static bool is_code(const format *f, int expected, int code) {
    return expected == NOT_A_NUMBER ? isnan(value_of(f, code)) : code == expected;
}

/* ---- one kernel ------------------------------------------------------------------------------------------- */

static bool run(test_run *t, const char *program, kiln_type in, const void *x, kiln_type out, void *y, int64_t count) {
    const size_t in_bytes = (size_t)kiln__type_bytes(in, count), out_bytes = (size_t)kiln__type_bytes(out, count);
    kiln__CUdeviceptr device_x = 0, device_y = 0;
    kiln_program *compiled = NULL;
    bool good = kiln_program_create(t->kiln, program, NULL, &compiled) == KILN_OK &&
                !t->driver->MemAlloc(&device_x, in_bytes) && !t->driver->MemAlloc(&device_y, out_bytes) &&
                !t->driver->MemcpyHtoD(device_x, x, in_bytes);
    const kiln_tensor tensors[] = {kiln_tensor_contiguous((void *)(uintptr_t)device_x, in, 1, &count),
                                   kiln_tensor_contiguous((void *)(uintptr_t)device_y, out, 1, &count)};
    good = good && kiln_run(compiled, tensors, 2, NULL, 0, NULL) == KILN_OK && !t->driver->CtxSynchronize() &&
           !t->driver->MemcpyDtoH(y, device_y, out_bytes);
    if (!good) printf("%s of %s to %s: %s\n", program, kiln_type_name(in), kiln_type_name(out), kiln_last_error());
    if (device_x) t->driver->MemFree(device_x);
    if (device_y) t->driver->MemFree(device_y);
    kiln_program_destroy(compiled);
    return good;
}

static void widen(test_run *t, const format *f, kiln_type wide) {
    unsigned char codes[256], got[256 * sizeof(double)];
    const int count = f->type == KILN_E2M1 ? 16 : 256;
    for (int i = 0; i < 256; i++) codes[i] = (unsigned char)i;
    for (int i = 0; i < 16 && count == 16; i++) kiln__store_packed(codes, i, (uint8_t)i);
    bool good = run(t, "y = x", f->type, codes, wide, got, count);
    for (int i = 0; good && i < count; i++) {
        const double value = kiln__load_f64(wide, got + (size_t)i * kiln_type_size(wide)),
                     expected = kiln__round_to(wide, value_of(f, i));
        good = isnan(expected) ? isnan(value) : value == expected && signbit(value) == signbit(expected);
        if (!good) printf("%s 0x%02x as %s is %g, expected %g\n", f->name, i, kiln_type_name(wide), value, expected);
    }
    *(good ? &t->passed : &t->failed) += 1;
}

/* Stored as the format, and converted on the way to an f32. */
static void narrow(test_run *t, const format *f, kiln_type wide, const void *x, int64_t count) {
    unsigned char *stored = malloc((size_t)count);
    float *converted = malloc((size_t)count * sizeof *converted);
    char program[32];
    double middles[256];
    fill_middles(f, middles);
    snprintf(program, sizeof program, "y = %s(x)", f->name);
    bool good = stored && converted && run(t, "y = x", wide, x, f->type, stored, count) &&
                run(t, program, wide, x, KILN_F32, converted, count);
    for (int64_t i = 0; good && i < count; i++) {
        const double value = kiln__load_f64(wide, (const char *)x + (size_t)i * kiln_type_size(wide));
        const int expected = code_of(f, middles, value);
        const double rounded = expected == NOT_A_NUMBER ? NAN : value_of(f, expected);
        const int code = kiln__type_is_packed(f->type) ? kiln__load_packed(stored, i) : stored[i];
        good = is_code(f, expected, code) && (isnan(rounded) ? isnan(converted[i]) : (double)converted[i] == rounded);
        if (!good)
            printf("%s %.17g as %s is 0x%02x and %g, expected 0x%02x and %g (%s)\n", kiln_type_name(wide), value,
                   f->name, code, (double)converted[i], (unsigned)expected & 0xff, rounded, t->way);
    }
    *(good ? &t->passed : &t->failed) += 1;
    free(stored);
    free(converted);
}

/* ---- the values ------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* Every value of a type of 16 bits. */
static void narrow_all(test_run *t, const format *f, kiln_type wide) {
    static uint16_t all[65536];
    for (size_t i = 0; i < COUNT(all); i++) all[i] = (uint16_t)i;
    narrow(t, f, wide, all, COUNT(all));
}

/* Each value of the format, each tie, and their neighbours, then random bits. */
static int64_t make_doubles(const format *f, bool as_float, double *to) {
    static const double special[] = {0.0,
                                     -0.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     -NAN,
                                     1e-45,
                                     -1e-40,
                                     1e-310,
                                     3e38,
                                     -1e300,
                                     0x1p-127,
                                     0x1p-127 + 0x1p-149,
                                     0x1p-127 - 0x1p-149};
    int64_t count = 0;
    for (size_t i = 0; i < COUNT(special); i++) to[count++] = special[i];
    for (int code = 0; code < f->largest; code++)
        for (int half = 0; half < 2; half++) {
            const double low = value_of(f, code), high = value_of(f, code + 1), at = half ? (low + high) / 2 : high;
            const double below = as_float ? nextafterf((float)at, 0) : nextafter(at, 0);
            const double above = as_float ? nextafterf((float)at, INFINITY) : nextafter(at, INFINITY);
            for (int sign = -1; sign <= 1; sign += 2)
                to[count++] = sign * at, to[count++] = sign * below, to[count++] = sign * above;
        }
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < RANDOM; i++) {
        const uint32_t bits = (uint32_t)(draw(&state) >> 32);
        float value;
        memcpy(&value, &bits, sizeof value); /* of any exponent */
        const double near = ldexp((double)(draw(&state) >> 11), (int)(draw(&state) % 48) - 84);
        to[count++] = i % 2 ? (double)value : near;
    }
    return count - count % 2; /* which packed ones are */
}

static void narrow_chosen(test_run *t, const format *f, kiln_type wide) {
    const size_t size = kiln_type_size(wide), most = RANDOM + 4096;
    double *chosen = malloc(most * sizeof *chosen);
    char *x = malloc(most * size);
    if (!chosen || !x) abort();
    const int64_t count = make_doubles(f, wide == KILN_F32, chosen);
    for (int64_t i = 0; i < count; i++) kiln__store_f64(wide, x + (size_t)i * size, chosen[i]);
    narrow(t, f, wide, x, count);
    free(x);
    free(chosen);
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static void check(test_run *t, const char *way) {
    static const kiln_type wide[] = {KILN_F32, KILN_F64, KILN_F16, KILN_BF16},
                           chosen[] = {KILN_F32, KILN_F64, KILN_I32, KILN_I64};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    t->way = way;
    if (kiln_context_create(&options, &t->kiln)) {
        printf("%s\n", kiln_last_error());
        t->failed++;
        return;
    }
    for (size_t f = 0; f < COUNT(formats); f++) {
        for (size_t i = 0; i < COUNT(wide); i++) widen(t, &formats[f], wide[i]);
        narrow_all(t, &formats[f], KILN_F16);
        narrow_all(t, &formats[f], KILN_BF16);
        for (size_t i = 0; i < COUNT(chosen); i++) narrow_chosen(t, &formats[f], chosen[i]);
    }
    kiln_context_destroy(t->kiln);
}

int main(int argc, char **argv) {
    test_run t = {0};
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    void (*set_arch)(int) = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        const bool driver = !strcmp(argv[i], "--driver");
        if (!driver && strcmp(argv[i], "--nvrtc")) return 2;
        setenv(driver ? "KILN_DRIVER" : "KILN_NVRTC", argv[i + 1], 1);
    }
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    if (software_gpu_find(dlopen(t.driver->path, RTLD_NOW | RTLD_NOLOAD), "software_gpu_set_arch", &set_arch)) {
        set_arch(80);
        check(&t, "integer arithmetic");
        set_arch(100);
        check(&t, "the instruction, scales too");
        set_arch(90);
    }
    check(&t, device.arch >= 89 || set_arch ? "the instruction" : "integer arithmetic");
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

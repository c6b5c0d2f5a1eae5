/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers come out at the ends of types and in the tails of functions, on the software GPU and the CPU reference
 * alike: integers and bools in programs of every kind, and how many units in the last place f32 functions are off. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static software_device device;

/* ---- one program on both ---------------------------------------------------------------------------------- */

typedef struct tensor_pair {
    kiln_tensor host, gpu;
    kiln__CUdeviceptr memory;
} tensor_pair;

static size_t bytes_of(const kiln_tensor *tensor) {
    size_t bytes = kiln_type_size(tensor->type);
    for (int i = 0; i < tensor->rank; i++) bytes *= (size_t)tensor->sizes[i];
    return bytes;
}

static tensor_pair make_pair(kiln_type type, int rank, const int64_t *sizes, const void *data) {
    tensor_pair pair = {.host = kiln_tensor_contiguous(NULL, type, rank, sizes)};
    const size_t bytes = bytes_of(&pair.host);
    pair.host.data = calloc(1, bytes);
    assert_non_null(pair.host.data);
    if (data != NULL) memcpy(pair.host.data, data, bytes);
    pair.gpu = pair.host;
    assert_int_equal(device.driver->MemAlloc(&pair.memory, bytes), 0);
    assert_int_equal(device.driver->MemcpyHtoD(pair.memory, pair.host.data, bytes), 0);
    pair.gpu.data = (void *)(uintptr_t)pair.memory;
    return pair;
}

static void free_pair(tensor_pair *pair) {
    assert_int_equal(device.driver->MemFree(pair->memory), 0);
    free(pair->host.data);
}

/* y of a program of x, one row of cols elements; how many it has, as the GPU (NULL: not run there) and the CPU have it.
 */
static size_t run_row(const char *program, kiln_type type, const void *x, int64_t cols, kiln_type output_type,
                      void *gpu, void *cpu) {
    const int64_t sizes[2] = {1, cols};
    kiln_program *made = NULL;
    int32_t rank = 0;
    int64_t shape[KILN_MAX_RANK];
    if (kiln_program_create(device.kiln, program, NULL, &made)) fail_msg("%s: %s", program, kiln_last_error());
    tensor_pair in = make_pair(type, 2, sizes, x);
    if (kiln_program_output_shape(made, &in.host, 0, 1, &rank, shape)) fail_msg("%s: %s", program, kiln_last_error());
    tensor_pair out = make_pair(output_type, rank, shape, NULL);
    const kiln_tensor host[] = {in.host, out.host}, there[] = {in.gpu, out.gpu};
    const size_t bytes = bytes_of(&out.host);
    if (gpu != NULL) {
        if (kiln_run(made, there, 2, NULL, 0, NULL)) fail_msg("%s: %s", program, kiln_last_error());
        assert_int_equal(device.driver->MemcpyDtoH(gpu, out.memory, bytes), 0);
    }
    if (kiln_run_cpu(made, host, 2, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    memcpy(cpu, out.host.data, bytes);
    free_pair(&in);
    free_pair(&out);
    kiln_program_destroy(made);
    return bytes / kiln_type_size(output_type);
}

/* ---- integers and bools ----------------------------------------------------------------------------------- */

enum { COLS = 4 };
#define LOW32 INT32_MIN
#define HIGH32 INT32_MAX
#define HIGH64 INT64_MAX
#define BIG (INT64_C(1) << 62)

typedef struct row_case {
    const char *program;
    kiln_type type;
    int64_t x[COLS];
    double expected[COLS]; /* the first alone where the program reduces */
} row_case;

static void check_row(const row_case *c, double tolerance) {
    char x[COLS * sizeof(int64_t)];
    double gpu[COLS], cpu[COLS];
    for (size_t i = 0; i < COLS; i++) kiln__store_i64(c->type, x + i * kiln_type_size(c->type), c->x[i]);
    const size_t count = run_row(c->program, c->type, x, COLS, KILN_F64, gpu, cpu);
    for (size_t i = 0; i < count; i++) {
        const double limit = tolerance * fabs(c->expected[i]);
        if (fabs(gpu[i] - c->expected[i]) <= limit && fabs(cpu[i] - c->expected[i]) <= limit) continue;
        if (gpu[i] == c->expected[i] && cpu[i] == c->expected[i]) continue; /* infinities */
        fail_msg("%s in %s: element %zu is %.17g on the GPU, %.17g on the CPU, expected %.17g", c->program,
                 kiln_type_name(c->type), i, gpu[i], cpu[i], c->expected[i]);
    }
}

static void integers_stay_integers_and_exact(void **state) {
    (void)state;
    static const row_case cases[] = {
        {"y = fma(x, x, 1)", KILN_I32, {5, 46340, -3, 0}, {26, 2147395601, 10, 1}},
        {"y = fma(x, 3, x)", KILN_I64, {BIG / 4 - 1, 1, 2, 3}, {(double)(BIG - 4), 4, 8, 12}},
        {"y = i64(3) ** x", KILN_I32, {17, 30, 0, -1}, {129140163, 205891132094649, 1, 0}},
        {"y = x ** x", KILN_I32, {9, -3, -1, 0}, {387420489, 0, -1, 1}},
        {"y = pow(x, 3)", KILN_I32, {1001, -7, 2, 0}, {1003003001, -343, 8, 0}},
        {"y = x ** 70", KILN_I32, {1, -1, 2, 0}, {1, 1, 0, 0}},
        {"y = x ** -1", KILN_I32, {1, -1, 2, 0}, {1, -1, 0, 0}},
        {"y = div_floor(x, 3)", KILN_I32, {7, -7, LOW32, 2}, {2, -3, -715827883, 0}},
        {"y = div_trunc(x, 3)", KILN_I32, {7, -7, LOW32, -2}, {2, -2, -715827882, 0}},
        {"y = div_floor(-7, x)", KILN_I8, {2, 0, -2, 7}, {-4, 0, 3, -1}},
        {"y = div_trunc(-7, x)", KILN_I64, {2, 0, -2, 7}, {-3, 0, 3, -1}},
        {"y = div_trunc(x, -1)", KILN_I32, {LOW32, HIGH32, 1, 0}, {LOW32, -HIGH32, -1, 0}},
        {"y = div_floor(x, 3) * 3 + x % 3 - x", KILN_I32, {7, -7, LOW32, HIGH32}, {0, 0, 0, 0}},
        {"y = div_trunc(x, 3) * 3 + fmod(x, 3) - x", KILN_I32, {7, -7, LOW32, HIGH32}, {0, 0, 0, 0}},
        {"y = sumsq(x)", KILN_I32, {60000, 60000, 60000, 60000}, {14400000000}},
        {"y = sumsq(x)", KILN_BOOL, {1, 0, 1, 1}, {3}},
        {"y = norm1(x)", KILN_I32, {LOW32, LOW32, HIGH32, 1}, {6442450944}},
        {"y = sum(x)", KILN_I32, {HIGH32, HIGH32, HIGH32, HIGH32}, {8589934588}},
        {"y = mean(x)", KILN_I32, {HIGH32, 7, -HIGH32, 1}, {2}},
        {"y = relu(x) - clamp(x, 3, 5)", KILN_I32, {HIGH32, 4, -1, 0}, {2147483642, 0, -3, -3}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check_row(&cases[i], 0);
}

/* Which are computed in 32 bits where those are known to hold what comes out, and no more than what does. */
static void indices_and_widened_integers_do_not_wrap(void **state) {
    (void)state;
    static const row_case cases[] = {
        {"y = i64(x) + 1", KILN_I32, {HIGH32, LOW32, 0, 7}, {2147483648, -2147483647, 1, 8}},
        {"y = abs(i64(x))", KILN_I32, {HIGH32, LOW32, 0, -7}, {HIGH32, 2147483648, 0, 7}},
        {"y = -i64(x)", KILN_I32, {HIGH32, LOW32, 0, -7}, {-HIGH32, 2147483648, 0, 7}},
        {"y = i64(x) * x", KILN_I32, {65536, -65536, 46341, 3}, {4294967296, 4294967296, 2147488281, 9}},
        {"y = minimum(i64(x), 5) - 2147483647",
         KILN_I32,
         {9, LOW32, 0, 5},
         {-2147483642, -4294967295, -HIGH32, -2147483642}},
        {"y = maximum(i64(x), 5) - 2147483647",
         KILN_I32,
         {9, LOW32, HIGH32, 5},
         {-2147483638, -2147483642, 0, -2147483642}},
        {"y = div_floor(i64(x), 7) * 7 + i64(x) % 7 - x", KILN_I32, {HIGH32, LOW32, -1, 6}, {0, 0, 0, 0}},
        {"y = div_floor(i64(x), 7)", KILN_I32, {HIGH32, LOW32, -1, 6}, {306783378, -306783379, -1, 0}},
        {"y = div_floor(i64(x), -1)", KILN_I32, {HIGH32, LOW32, -1, 6}, {-HIGH32, 2147483648, 1, -6}},
        {"y = i64(x) % -7", KILN_I32, {HIGH32, LOW32, -1, 6}, {-6, -2, -1, -1}},
        {"y = i64(x) & 255", KILN_I32, {HIGH32, LOW32, -1, 256}, {255, 0, 255, 0}},
        {"y = where(x > 0, i64(x) - 1, i64(x) + 1) * 2",
         KILN_I32,
         {HIGH32, LOW32, 1, 0},
         {4294967292, -4294967294, 0, 2}},
        {"y = (index(1) - 2) * 1073741824 + x", KILN_I32, {0, 0, 0, 0}, {LOW32, -1073741824, 0, 1073741824}},
        {"y = (index(1) - 2) * 4294967296 + x", KILN_I32, {0, 0, 0, 0}, {-8589934592, -4294967296, 0, 4294967296}},
        {"y = 2147483647 + index(1) + x", KILN_I32, {0, 0, 0, 0}, {HIGH32, 2147483648, 2147483649, 2147483650}},
        {"y = index(1) - x", KILN_I32, {LOW32, HIGH32, -1, 3}, {2147483648, -2147483646, 3, 0}},
        {"y = where(abs(index(1) - 2) < 2, x, 0)", KILN_I32, {1, 2, 3, 4}, {0, 2, 3, 4}},
        {"y = index(1) % 3 - div_floor(index(1), 2) + size(1) + x", KILN_I32, {0, 0, 0, 0}, {4, 5, 5, 3}},
        {"y = f64(index(1) - 3) / 2 + x", KILN_I32, {0, 0, 0, 0}, {-1.5, -1, -0.5, 0}},
        {"s = sum(where(index(1) - 1 == i64(x), 1, 0))", KILN_I32, {-1, 0, 1, 9}, {3}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check_row(&cases[i], 0);
}

static void functions_of_real_numbers_take_integers_as_floats(void **state) {
    (void)state;
    static const row_case cases[] = {
        {"y = gelu_tanh(x)", KILN_I32, {1300, HIGH32, -1, LOW32}, {1300, 2147483648.0, -0.15880800939172324, 0}},
        {"y = gelu(x)", KILN_I32, {1300, HIGH32, -1, LOW32}, {1300, 2147483648.0, -0.15865525393145705, 0}},
        {"y = silu(x)", KILN_I32, {1300, HIGH32, -1, LOW32}, {1300, 2147483648.0, -0.26894142136999512, 0}},
        {"y = hardswish(x)", KILN_I32, {1000000000, HIGH32, -3, 1}, {1e9, 2147483648.0, 0, 2. / 3}},
        {"y = softsign(x)", KILN_I32, {HIGH32, LOW32, 1, 0}, {1, -1, 0.5, 0}},
        {"y = softplus(x, 2)",
         KILN_I32,
         {HIGH32, LOW32, 0, 1},
         {2147483648.0, 0, 0.34657359027997265, 1.0634640055214863}},
        {"y = logsigmoid(x)", KILN_I32, {HIGH32, LOW32, 0, 1}, {0, LOW32, -0.69314718055994531, -0.31326168751822286}},
        {"y = lerp(x, -x, 0.5)", KILN_I32, {HIGH32, 1, 2, 3}, {0, 0, 0, 0}},
        {"y = norm2(x)", KILN_I32, {60000, 60000, 60000, 60000}, {120000}},
        {"y = rms_norm(x)", KILN_I32, {60000, 60000, 60000, 60000}, {1, 1, 1, 1}},
        {"y = l2_normalize(x)", KILN_I64, {BIG, BIG, BIG, BIG}, {0.5, 0.5, 0.5, 0.5}},
        {"y = softmax(x)", KILN_I32, {HIGH32, LOW32, HIGH32, LOW32}, {0.5, 0, 0.5, 0}},
        {"y = log_softmax(x)", KILN_I32, {HIGH32, LOW32, LOW32, LOW32}, {0, -4294967296, -4294967296, -4294967296}},
        {"y = logsumexp(x)", KILN_I32, {HIGH32, LOW32, LOW32, LOW32}, {HIGH32 + 1.0}},
        {"y = mean(x)", KILN_I64, {BIG, BIG, BIG, BIG}, {4611686018427387904.0}},
        {"y = mean(x)", KILN_I64, {HIGH64, HIGH64, HIGH64, HIGH64}, {9223372036854775807.0}},
        {"y = mean(x)", KILN_I64, {BIG, BIG, -BIG, -BIG}, {0}},
        {"y = mean(x)", KILN_I64, {BIG, 2, -BIG, 3}, {1.25}},
        {"y = mean(x)", KILN_I64, {-1, -1, -1, -2}, {-1.25}},
        {"y = mean(x)", KILN_I64, {-BIG - BIG, -BIG - BIG, -BIG - BIG, 1}, {-6917529027641081856.0}},
        {"y = mean(x)", KILN_I64, {1 << 30, 3, -2 * (BIG >> 30), -(BIG >> 30)}, {-2952790015.25}},
        {"y = nanmean(x)", KILN_I64, {BIG, BIG, BIG, BIG}, {4611686018427387904.0}},
        {"y = var(x)", KILN_I64, {BIG, -BIG, BIG, -BIG}, {2.835686391964208e37}},
        {"y = scale_i8(x)", KILN_I32, {LOW32, 0, 0, 0}, {16909320.314960629}},
        {"y = quantize_i8(x)", KILN_I32, {LOW32, HIGH32, 0, 0}, {-127, 127, 0, 0}},
        {"y = reduce_scale(x)", KILN_I32, {LOW32, HIGH32, 0, 1 << 30}, {-1, 1, 0, 0.5}},
        {"y = sigmoid_grad(x, x)", KILN_I32, {LOW32, 1000000, 0, 1}, {9.9035203188947282e27, -999999e12, 0, 0}},
        {"y = tanh_grad(x, 1)", KILN_I32, {100000, LOW32, 0, 1}, {-9999999999, -4611686018427387904.0, 1, 0}},
        {"y = softmax_grad(x, x)", KILN_I32, {60000, 0, 0, 0}, {60000 * (60000 - 3.6e9), 0, 0, 0}},
        {"y = layer_norm_grad(x, x, x)", KILN_I64, {BIG, 0, BIG, 0}, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check_row(&cases[i], 2e-6);
}

/* Values are bytes here: stored as they are. */
static void every_byte_but_0_is_true(void **state) {
    (void)state;
    static const struct {
        const char *program;
        kiln_type output_type;
        double expected[5]; /* the first alone where the program reduces */
    } cases[] = {
        {"y = sum(x)", KILN_I64, {4}},
        {"y = x", KILN_U8, {1, 0, 1, 1, 1}},
        {"y = x", KILN_BOOL, {1, 0, 1, 1, 1}},
        {"y = x + x", KILN_I32, {2, 0, 2, 2, 2}},
        {"y = x * 0.5", KILN_F32, {0.5, 0, 0.5, 0.5, 0.5}},
        {"y = x == true", KILN_I32, {1, 0, 1, 1, 1}},
        {"y = ~x", KILN_I32, {0, 1, 0, 0, 0}},
        {"y = x ^ true", KILN_I32, {0, 1, 0, 0, 0}},
        {"y = where(x, 3, 5)", KILN_I32, {3, 5, 3, 3, 3}},
        {"y = max(x) + min(x)", KILN_I32, {1}},
        {"y = ~max(x)", KILN_I32, {0}},
        {"y = ~min(x)", KILN_I32, {1}},
        {"y = min(x | true)", KILN_I32, {1}},
        {"y = max(x & false)", KILN_I32, {0}},
        {"y = ~minimum(x, !x)", KILN_I32, {1, 1, 1, 1, 1}},
        {"y = ~fmax(x, maximum(x, false))", KILN_I32, {0, 1, 0, 0, 0}},
        {"y = ~where(x, x, !x)", KILN_I32, {0, 0, 0, 0, 0}},
        {"y = argmin(x)", KILN_I64, {1}},
        {"y = argmax(x)", KILN_I64, {0}},
        {"y = count_nonzero(x)", KILN_I64, {4}},
        {"y = mean(x)", KILN_F64, {0.8}},
        {"y = any(x) + all(x)", KILN_I32, {1}},
        {"y = all(x | x)", KILN_I32, {0}},
    };
    static const uint8_t x[5] = {1, 0, 2, 255, 0x80};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char gpu[5 * sizeof(double)], cpu[5 * sizeof(double)];
        const kiln_type type = cases[i].output_type;
        const size_t size = kiln_type_size(type);
        const size_t count = run_row(cases[i].program, KILN_BOOL, x, 5, type, gpu, cpu);
        for (size_t k = 0; k < count; k++) {
            const double there = kiln__load_f64(type, gpu + k * size), here = kiln__load_f64(type, cpu + k * size);
            const double limit = 1e-7 * cases[i].expected[k];
            if (!(fabs(there - cases[i].expected[k]) <= limit && fabs(here - cases[i].expected[k]) <= limit))
                fail_msg("%s: element %zu is %g on the GPU, %g on the CPU, expected %g", cases[i].program, k, there,
                         here, cases[i].expected[k]);
            if (type == KILN_BOOL) assert_int_equal(gpu[k], cpu[k]); /* written as 0 or 1 */
        }
    }
}

/* Whole vectors of bools: what is reduced as it is stored. */
static void reductions_of_many_bools_see_every_byte(void **state) {
    (void)state;
    static const char *const programs[] = {"y = max(x)", "y = min(x)", "y = any(x)", "y = all(x)", "y = sum(x)"};
    static uint8_t x[1024];
    for (int odd = -1; odd < 1024; odd += 205) {
        for (int i = 0; i < 1024; i++) x[i] = i == odd ? 0 : (uint8_t)(2 * i | 0x80);
        for (size_t p = 0; p < COUNT(programs); p++) {
            int64_t gpu, cpu, expected = p == 4 ? 1024 - (odd >= 0) : p % 2 ? odd < 0 : 1;
            run_row(programs[p], KILN_BOOL, x, 1024, KILN_I64, &gpu, &cpu);
            if (gpu != expected || cpu != expected)
                fail_msg("%s: %lld and %lld, expected %lld", programs[p], (long long)gpu, (long long)cpu,
                         (long long)expected);
        }
    }
}

/* ---- f32 functions ---------------------------------------------------------------------------------------- */

enum { POINTS = 4000 };

/* By how many units in the last place of f32 a result may be off from x = low to high, spread by their logarithms where
 * the ends have the same sign. `absolute`: in units of 2^-24, what does not count where results pass through 0. */
typedef struct tail {
    const char *function;
    double low, high, ulps, absolute;
} tail;

static const tail tails[] = {
    {"sigmoid(x)", -104, -1e-4, 3, 0},
    {"sigmoid(x)", 1e-4, 1e30, 2, 0},
    {"silu(x)", -107, -1e-4, 3, 0},
    {"silu(x)", -1e30, -110, 0, 0},
    {"silu(x)", 1e-4, 3e38, 2, 0},
    {"normcdf(x)", -14.3, -1e-4, 6, 0},
    {"normcdf(x)", 1e-4, 1e30, 2, 0},
    {"normpdf(x)", -14.3, 14.3, 4, 0},
    {"gelu(x)", -14.6, -1e-4, 6, 0},
    {"gelu(x)", -1e30, -14.7, 0, 0},
    {"gelu(x)", 1e-4, 3e38, 3, 0},
    {"mish(x)", -107, -1e-4, 5, 0},
    {"mish(x)", -1e30, -110, 0, 0},
    {"mish(x)", 1e-4, 3e38, 3, 0},
    {"hardswish(x)", -2.9999, -1e-4, 2, 0},
    {"hardswish(x)", 1e-4, 3.4e38, 2, 0},
    {"softplus(x)", -103, -1e-4, 2, 0},
    {"softplus(x)", 1e-4, 3e38, 2, 0},
    {"logsigmoid(x)", 1e-4, 103, 2, 0},
    {"logsigmoid(x)", -3e38, -1e-4, 2, 0},
    {"elu(x)", -100, 100, 1, 0},
    {"sin(x)", -131072, 131072, 1.53, 0},
    {"sin(x)", 1e-40, 131072, 1.53, 0},
    {"sin(x)", 131072, 3e38, 1.53, 0},
    {"sin(x) + 0 * cos(x)", -200000, 200000, 1.53, 0},
    {"cos(x)", -131072, 131072, 1.53, 0},
    {"cos(x)", 1e-40, 131072, 1.53, 0},
    {"cos(x)", -3e38, -131072, 1.53, 0},
    {"softsign(x)", -1e30, -1e-4, 2, 0},
    /* The exponent, a cubic of up to 88, is rounded as other results are. */
    {"gelu_tanh(x)", -10.2, -4, 160, 0},
    {"gelu_tanh(x)", -4, -1e-4, 32, 0},
    {"gelu_tanh(x)", -3e38, -11, 0, 0},
    {"gelu_tanh(x)", 1e-4, 3e38, 2, 0},
    /* Gradients change their signs at -1.28 and -0.75. */
    {"silu_grad(x, 1)", -107, -2, 6, 0},
    {"silu_grad(x, 1)", -2, -1e-4, 4, 2},
    {"silu_grad(x, 1)", -1e30, -110, 0, 0},
    {"silu_grad(x, 1)", 1e-4, 1e30, 3, 0},
    {"gelu_grad(x, 1)", -13, -2, 8, 0},
    {"gelu_grad(x, 1)", -2, -1e-4, 4, 2},
    {"gelu_grad(x, 1)", -1e30, -14.7, 0, 0},
    {"gelu_grad(x, 1)", 1e-4, 1e30, 2, 0},
    {"gelu_tanh_grad(x, 1)", -10.2, -2, 200, 0},
    {"gelu_tanh_grad(x, 1)", -2, -1e-4, 8, 4},
    {"gelu_tanh_grad(x, 1)", -3e38, -11, 0, 0},
    {"gelu_tanh_grad(x, 1)", 1e-4, 3e38, 4, 0},
};

static double point(const tail *t, int i) {
    const double part = i / (POINTS - 1.0);
    if (t->low * t->high <= 0) return t->low + (t->high - t->low) * part;
    return t->low * pow(t->high / t->low, part);
}

static double unit_in_the_last_place(double value) {
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, exponent < FLT_MIN_EXP ? FLT_MIN_EXP - FLT_MANT_DIG : exponent - FLT_MANT_DIG);
}

static double ulps_off(const tail *t, float got, double expected) {
    if (fabs(expected) > (double)FLT_MAX) return isinf(got) && (got > 0) == (expected > 0) ? 0 : INFINITY;
    const double off = fabs((double)got - expected);
    if (isnan(got) || off <= t->absolute * 0x1p-24) return isnan(got) ? INFINITY : 0;
    return (double)got == (double)(float)expected ? 0 : off / unit_in_the_last_place(expected);
}

static void functions_are_within_ulps_of_double_precision(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < COUNT(tails); i++) {
        static float x[POINTS], gpu[POINTS], narrow[POINTS];
        static double wide[POINTS], expected[POINTS];
        char program[80];
        double worst = 0, where = 0;
        snprintf(program, sizeof program, "y = %s", tails[i].function);
        for (int k = 0; k < POINTS; k++) wide[k] = (double)(x[k] = (float)point(&tails[i], k));
        run_row(program, KILN_F32, x, POINTS, KILN_F32, gpu, narrow);
        run_row(program, KILN_F64, wide, POINTS, KILN_F64, NULL, expected);
        for (int k = 0; k < POINTS; k++) {
            const double off = ulps_off(&tails[i], gpu[k], expected[k]);
            if (off > worst) worst = off, where = wide[k];
        }
        print_message("%-22s from %8g to %8g: %.3g ulp at %.9g, %g allowed\n", tails[i].function, tails[i].low,
                      tails[i].high, worst, where, tails[i].ulps);
        wrong += !(worst <= tails[i].ulps);
    }
    assert_int_equal(wrong, 0);
}

/* ---- variances -------------------------------------------------------------------------------------------- */

static void variances_do_not_depend_on_how_far_off_rows_are(void **state) {
    (void)state;
    static const struct {
        int64_t cols;
        double at, step;
    } cases[] = {{3, 1e8, 8},       {64, 1e8, 8}, {1000, 1e8, 8},  {5000, -1e8, 8},
                 {20000, 1e6, 0.5}, {3, 1000, 1}, {300000, 1e8, 8}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const int64_t n = cases[i].cols;
        float *x = malloc((size_t)n * sizeof *x);
        double gpu[2], cpu[2], mean = 0, sum = 0;
        assert_non_null(x);
        for (int64_t k = 0; k < n; k++) x[k] = (float)(cases[i].at + cases[i].step * (double)(k * 7 % n));
        for (int64_t k = 0; k < n; k++) mean += ((double)x[k] - cases[i].at) / (double)n;
        for (int64_t k = 0; k < n; k++) {
            const double distance = (double)x[k] - cases[i].at - mean;
            sum += distance * distance;
        }
        run_row("y = var(x)", KILN_F32, x, n, KILN_F64, &gpu[0], &cpu[0]);
        run_row("y = std(x, 0)", KILN_F32, x, n, KILN_F64, &gpu[1], &cpu[1]);
        const double expected[] = {sum / (double)(n - 1), sqrt(sum / (double)n)};
        for (int k = 0; k < 2; k++)
            if (!(fabs(gpu[k] - expected[k]) <= 2e-5 * expected[k] && fabs(cpu[k] - expected[k]) <= 1e-9 * expected[k]))
                fail_msg("%lld columns from %g: %s is %.9g on the GPU, %.9g on the CPU, expected %.9g", (long long)n,
                         cases[i].at, k ? "std" : "var", gpu[k], cpu[k], expected[k]);
        free(x);
    }
}

static void equal_elements_have_no_variance(void **state) {
    (void)state;
    static float x[777];
    double gpu, cpu;
    for (size_t i = 0; i < COUNT(x); i++) x[i] = 0.1f;
    run_row("y = std(x)", KILN_F32, x, COUNT(x), KILN_F64, &gpu, &cpu);
    assert_true(gpu >= 0 && gpu < 1e-9 && cpu >= 0 && cpu < 1e-9);
}

static void both_zeros_have_the_sign_0(void **state) {
    (void)state;
    static const float x[COLS] = {-0.0f, 0.0f, -1e-45f, NAN};
    float gpu[COLS], cpu[COLS];
    run_row("y = sign(x)", KILN_F32, x, COLS, KILN_F32, gpu, cpu);
    for (int i = 0; i < 2; i++) assert_true(gpu[i] == 0 && cpu[i] == 0 && !signbit(gpu[i]) && !signbit(cpu[i]));
    assert_true(gpu[2] == -1 && cpu[2] == -1 && isnan(gpu[3]) && isnan(cpu[3]));
}

static void sines_of_zeros_are_what_they_were(void **state) {
    (void)state;
    static const float x[COLS] = {-0.0f, 0.0f, -1e-45f, INFINITY};
    float gpu[COLS], cpu[COLS];
    run_row("y = sin(x)", KILN_F32, x, COLS, KILN_F32, gpu, cpu);
    for (int i = 0; i < 3; i++)
        assert_true(gpu[i] == x[i] && cpu[i] == x[i] && signbit(gpu[i]) == signbit(x[i]) &&
                    signbit(cpu[i]) == signbit(x[i]));
    assert_true(isnan(gpu[3]) && isnan(cpu[3]));
}

static int open_device(void **unused) {
    (void)unused;
    return software_device_open(NULL, &device) != KILN_OK;
}

static int close_device(void **unused) {
    (void)unused;
    return software_device_close(&device) != KILN_OK;
}

int main(void) {
#if !defined(KILN_SOFTWARE_DRIVER)
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_stay_integers_and_exact),
        cmocka_unit_test(indices_and_widened_integers_do_not_wrap),
        cmocka_unit_test(functions_of_real_numbers_take_integers_as_floats),
        cmocka_unit_test(every_byte_but_0_is_true),
        cmocka_unit_test(reductions_of_many_bools_see_every_byte),
        cmocka_unit_test(functions_are_within_ulps_of_double_precision),
        cmocka_unit_test(variances_do_not_depend_on_how_far_off_rows_are),
        cmocka_unit_test(equal_elements_have_no_variance),
        cmocka_unit_test(both_zeros_have_the_sign_0),
        cmocka_unit_test(sines_of_zeros_are_what_they_were),
    };
    return cmocka_run_group_tests_name("numbers", tests, open_device, close_device);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Unusual tensors on the software GPU, which refuses every access outside of them: without elements along an axis, with
 * a value for several columns where rows have several axes, that begin between accesses, and with names that mean
 * something to a compiler or to the generator. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/extent.h"
#include "base/types.h"
#include "support/bound.h"
#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static software_device device;
static kiln_policy policy = KILN_POLICY_COMPILE;

typedef struct test_case {
    const char *program, *axes, *tensors;
    const char *scalars;
} test_case;

/* One tensor on both sides: `bytes` of them, from the lowest to the highest element. */
typedef struct placed {
    kiln_tensor host, gpu;
    unsigned char *memory;
    kiln__CUdeviceptr device;
    size_t bytes, shift;
} placed;

/* A tensor without elements has no memory at all. */
static void place(const kiln_tensor *tensor, placed *out) {
    const kiln__extent extent = kiln__extent_of(tensor);
    const size_t shift = (uintptr_t)tensor->data % 16; /* behind an access, before which there is memory */
    out->host = out->gpu = *tensor;
    out->host.data = out->gpu.data = NULL;
    out->bytes = (size_t)(extent.high - extent.low);
    if (!out->bytes) return;
    out->memory = malloc(out->bytes);
    assert_non_null(out->memory);
    assert_int_equal(device.driver->MemAlloc(&out->device, out->bytes + shift), 0);
    out->host.data = out->memory - extent.low;
    out->gpu.data = (void *)(uintptr_t)(out->device + shift - (kiln__CUdeviceptr)extent.low);
    for (size_t i = 0; i < out->bytes / kiln_type_size(tensor->type); i++)
        kiln__store_f64(tensor->type, out->memory + i * kiln_type_size(tensor->type), 1 + (double)(i % 7));
    assert_int_equal(device.driver->MemcpyHtoD(out->device + shift, out->memory, out->bytes), 0);
    out->shift = shift;
}

static bool is_right(const test_case *test, const placed *output, const char *name) {
    unsigned char *got = malloc(output->bytes + 1);
    const kiln_type type = output->host.type;
    const size_t size = kiln_type_size(type);
    bool right = true;
    assert_non_null(got);
    if (output->bytes)
        assert_int_equal(device.driver->MemcpyDtoH(got, output->device + output->shift, output->bytes), 0);
    for (size_t i = 0; i < output->bytes / size && right; i++) {
        const double value = kiln__load_f64(type, got + i * size);
        const double expected = kiln__load_f64(type, output->memory + i * size);
        right = fabs(value - expected) <= 1e-5 * fabs(expected) || (isnan(value) && isnan(expected));
        if (!right)
            print_message("%s of %s: element %zu of %s is %g, expected %g\n", test->program, test->tensors, i, name,
                          value, expected);
    }
    free(got);
    return right;
}

static kiln_program *make_program(const test_case *test) {
    kiln_program *program = NULL;
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    int axes[KILN_MAX_RANK] = {0};
    options.scalars = test->scalars;
    options.axes = test->axes ? axes : NULL;
    for (const char *at = test->axes; at && *at; at += strcspn(at, ","), at += *at == ',')
        axes[options.axis_count++] = atoi(at);
    if (kiln_program_create(device.kiln, test->program, &options, &program))
        fail_msg("%s: %s", test->program, kiln_last_error());
    return program;
}

/* How often a kernel for any shape has been taken. */
static int64_t taken(void) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(device.kiln, &stats), KILN_OK);
    return stats.any_shape;
}

static bool runs_right(const test_case *test) {
    placed all[KILN_MAX_TENSORS] = {{.bytes = 0}};
    kiln_tensor tensors[KILN_MAX_TENSORS], host[KILN_MAX_TENSORS], gpu[KILN_MAX_TENSORS];
    kiln_program *program = make_program(test);
    const size_t count = bound_tensors(test->tensors, tensors), inputs = kiln_program_input_count(program);
    const size_t scalar_count = kiln_program_scalar_count(program);
    kiln_scalar scalars[KILN_MAX_SCALARS];
    for (size_t i = 0; i < scalar_count; i++) scalars[i] = kiln_scalar_f64(1 + (double)i);
    for (size_t t = 0; t < count; t++) {
        place(&tensors[t], &all[t]);
        host[t] = all[t].host;
        gpu[t] = all[t].gpu;
    }
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.policy = policy;
    const int64_t before = taken();
    kiln_status status = kiln_run_with_options(program, gpu, count, scalars, scalar_count, NULL, &options);
    if (!status) assert_int_equal(taken() - before, policy == KILN_POLICY_ANY_SHAPE);
    const bool none = status == KILN_E_UNSUPPORTED && getenv("KILN_SCHEDULE"); /* the problem has no such schedule */
    if (!status) status = kiln_run_cpu(program, host, count, scalars, scalar_count);
    if (status && !none) print_message("%s of %s: %s\n", test->program, test->tensors, kiln_last_error());
    bool right = !status || none;
    for (size_t t = inputs; t < count && right && !none; t++)
        right = is_right(test, &all[t], kiln_program_output_name(program, t - inputs));
    for (size_t t = 0; t < count; t++) {
        if (all[t].bytes) assert_int_equal(device.driver->MemFree(all[t].device), 0);
        free(all[t].memory);
    }
    kiln_program_destroy(program);
    return right;
}

static int count_wrong(const test_case *cases, size_t count) {
    int wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += !runs_right(&cases[i]);
    return wrong;
}

/* By exact kernels and by those for any shape. */
static int count_wrong_of_both(const test_case *cases, size_t count) {
    int wrong = count_wrong(cases, count);
    policy = KILN_POLICY_ANY_SHAPE;
    wrong += count_wrong(cases, count);
    policy = KILN_POLICY_COMPILE;
    return wrong;
}

/* ---- rows without elements -------------------------------------------------------------------------------- */

static const test_case empty[] = {
    {"s = sum(x)", NULL, "f32[4,0] f32[4]", NULL},
    {"s = sum(x)", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = sum(x)", NULL, "f32[4,0]{1,0} f32[4]", NULL},
    {"s = sum(x)", NULL, "f32[4,0]{0,1} f32[4]", NULL},
    {"s = sum(x)", NULL, "f32[4,0]{1,4} f32[4]", NULL},
    {"s = sum(x)", NULL, "f32[1,0]{0,0} f32[1]", NULL},
    {"s = sum(x)", NULL, "f32[0]{0} f32[]", NULL},
    {"s = sum(x)", "0", "f32[0,4]{0,0} f32[4]", NULL},
    {"s = sum(x)", "0", "f32[0,4]{0,1} f32[4]", NULL},
    {"s = sum(x)", "0", "f16[0,256]{0,1} f16[256]", NULL},
    {"s = sum(x)", "0", "f32[0,300]{300,1} f32[300]", NULL},
    {"s = sum(x)", "1", "f32[3,0,5]{0,0,0} f32[3,5]", NULL},
    {"s = sum(x)", "1,2", "f32[3,0,5]{0,0,0} f32[3]", NULL},
    {"s = sum(x)", "1,2", "f32[3,5,0]{1,0,0} f32[3]", NULL},
    {"s = sum(x * x + x)", "0,2", "f16[0,64,0]{0,0,0} f32[64]", NULL},
    {"s = prod(x)", NULL, "i64[4,0]{0,0} i64[4]", NULL},
    {"s = all(x)", NULL, "bool[4,0]{0,0} bool[4]", NULL},
    {"s = mean(x)", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = var(x)", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = reduce((a, b) -> a * b, x, 1)", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = sum(x); t = sum(x * s)", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = sum(x * w)", NULL, "f32[4,0]{0,0} f32[0]{0} f32[4]", NULL},
    {"s = sum(x * w)", NULL, "f32[4,0] f32[1,0]{0,0} f32[4]", NULL},
    {"s = sum(exp(x - w))", NULL, "f32[4,0]{0,0} f32[4,1]{0,0} f32[4]", NULL},
    {"s = w + sum(x)", NULL, "f32[4,1] f32[4,0]{0,0} f32[4]", NULL},
    {"s = w + sum(x)", NULL, "f32[] f32[4,0]{0,0} f32[4]", NULL},
    {"s = w + sum(x)", "0", "f32[1,4] f32[0,4]{0,0} f32[4]", NULL},
    {"s = w * mean(x * v)", "0,2", "f32[1,4,1] f32[0,4,3]{0,0,0} f32[3] f32[4]", NULL},
    {"s = index(0) + sum(x + index(1))", NULL, "f32[4,0]{0,0} f32[4]", NULL},
    {"s = uniform(7, 0) + 1; t = sum(x)", NULL, "f32[4,0]{0,0} f32[4,0] f32[4]", NULL},
    {"y = x - sum(x)", NULL, "f32[4,0]{0,0} f32[4,0]", NULL},
    {"y = x - sum(x); s = sum(x)", NULL, "f32[4,0]{0,0} f32[4,0]{0,0} f32[4]", NULL},
    {"y = layer_norm(x, w, b)", NULL, "f16[4,0]{0,0} f16[0]{0} f16[0]{0} f16[4,0]", NULL},
    {"y = x * 2", NULL, "f32[4,0]{0,0} f32[4,0]{0,0}", NULL},
};

static int open_device(void **unused) {
    (void)unused;
    return software_device_open(NULL, &device) != KILN_OK;
}

static int close_device(void **unused) {
    (void)unused;
    return software_device_close(&device) != KILN_OK;
}

static void rows_without_elements_read_nothing(void **unused) {
    static const char *const schedules[] = {"shared", "stream, splits 2", "cluster 2"};
    int wrong = count_wrong(empty, COUNT(empty));
    for (size_t s = 0; s < COUNT(schedules); s++) { /* a context reads them when it is made */
        assert_int_equal(close_device(unused), 0);
        setenv("KILN_SCHEDULE", schedules[s], 1);
        assert_int_equal(open_device(unused), 0);
        wrong += count_wrong(empty, COUNT(empty));
    }
    assert_int_equal(close_device(unused), 0);
    unsetenv("KILN_SCHEDULE");
    assert_int_equal(open_device(unused), 0);
    assert_int_equal(wrong, 0);
}

/* ---- a value for several columns --------------------------------------------------------------------------- */

/* x's axes lie in memory in another order than columns are counted in. */
static const test_case repeated[] = {
    {"y = x * repeat(r, 8) + max(x)", "0,1", "f32[4,64]{1,4} f32[4,8] f32[4,64]", NULL},
    {"y = rms_norm(x * repeat(r, 8), w)", "0,1", "f32[4,576]{1,4} f16[4,72]{144,2} f16[4,576] f32[4,576]", NULL},
    {"y = x * repeat(r, 5) + max(x)", "0,2", "f32[4,3,40]{1,160,4} f32[4,3,8] f32[4,3,40]", NULL},
    {"s = sum(x * repeat(r, 4))", "0,1", "f32[8,16]{1,8} f32[8,4] f32[]", NULL},
    {"y = x * repeat(r, 8)", "0,1", "f32[4,64]{1,4} f32[4,8] f32[4,64]{1,4}", NULL},
};

static void values_for_several_columns_follow_their_axis(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong(repeated, COUNT(repeated)), 0);
}

/* ---- rows that begin between accesses -------------------------------------------------------------------------- */

static const test_case unaligned[] = {
    {"s = sum(x)", NULL, "f16[7,100]@2 f32[7]", NULL},
    {"s = sum(a * b)", NULL, "bf16[5,4000]@2 bf16[5,4000]{4003,1} f32[5]", NULL},
    {"s = sum(where(m, x, 0))", NULL, "bool[9,5000]{5001,1}@1 f32[9,5000]{5001,1} f32[9]", NULL},
    {"y = softmax(x)", NULL, "f16[7,1000]@2 f16[7,1000]@6", NULL},
    {"y = softmax(x)", NULL, "f16[2,20000]@6 f16[2,20000]{20001,1}", NULL},
    {"y = x - max(x)", NULL, "f32[5,3000]{3001,1}@4 f32[5,3000]", NULL},
    {"y = x * 2 + sum(x)", NULL, "f64[3,400]@8 f64[3,400]{401,1}", NULL},
    {"y = rms_norm(x, w) * b", NULL, "f32[4,5200]{5203,1} f32[5200]@4 f32[5200] f32[4,5200]@8", NULL},
    {"y = x / absmax(x); m = max(x)", NULL, "bf16[3,7000]@2 e4m3[3,7000]@1 f32[3]", NULL},
    {"y = rms_norm(x + r); z = x + r", NULL, "f32[3,3000]@4 f32[3,3000]@8 f32[3,3000]@12 f32[3,3000]", NULL},
    {"s = sum(rows(t, i))", NULL, "f16[9,1000]{1001,1} i64[7,1] f32[7]", NULL},
    {"l = logsumexp(rows(t, i) + x)", NULL, "f16[9,4000]{4001,1} i64[7,1] f16[7,4000]@2 f32[7]", NULL},
    {"n = softmax(x); put(y, i) = n", NULL, "f16[7,1000] i64[7,1] f16[9,1000]{1001,1}", NULL},
    {"n = x + sum(x); put(y, i) = n; z = n", NULL, "f16[7,1000]@2 i64[7,1] f16[9,1000]{1004,1} f16[7,1000]@6", NULL},
};

/* Vectors are read and written as wholes, each access a multiple of itself and within its tensor. */
static void rows_begin_anywhere(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong(unaligned, COUNT(unaligned)), 0);
}

/* ---- kernels for any shape -------------------------------------------------------------------------------------- */

/* Rows and columns that each row chooses, wherever they lie, and rows that end early. */
static const test_case chosen[] = {
    {"y = rows(t, i) * 2", NULL, "f32[9,64]{70,1} i32[4,1] f32[4,64]", NULL},
    {"y = rows(t, i) + x", NULL, "f16[9,64]{1,9} i64[4,1] f16[4,64]{66,1} f16[4,64]@2", NULL},
    {"y = softmax(rows(t, i) + rows(u, k))", NULL, "f32[9,400] i32[7,1] f16[8,400] i64[7,1]{3,1} f32[7,400]", NULL},
    {"n = x * 2; put(y, i) = n", NULL, "f32[7,100] i32[7,1] f32[9,100]{104,1}", NULL},
    {"y = x - gather(x, i)", NULL, "f32[7,100] i32[7,1] f32[7,100]", NULL},
    {"y = max(x) - take(x, i)", NULL, "f32[4,64]{66,1} i32[4,1] f32[4]", NULL},
    {"y = x - take(x, i)", NULL, "f16[5,300]@2 i64[5,1] f16[5,300]", NULL},
    {"y = x * take(x, argmax(x))", NULL, "f32[5,77] f32[5,77]", NULL},
    {"y = x - take(x, 3)", NULL, "f32[5,77] f32[5,77]", NULL},
    {"y = x - take(x, 3) + take(w, i)", "0", "f32[9,5] f32[9,5] i32[1,5] f32[9,5]", NULL},
    {"l = logsumexp(x) - take(x, i)", "1,2", "f32[3,5,8]{64,1,6} i32[3,1,1] f32[3]", NULL},
    {"lengths(n); y = softmax(x)", NULL, "i32[9,1] f32[9,40] f32[9,40]{41,1}", NULL},
    {"lengths(n); s = mean(x * w)", NULL, "i64[9,1] f16[9,40]@6 f16[40] f32[9]", NULL},
    {"lengths(index(0) + 1); y = x - max(x)", NULL, "f16[9,40]{48,1} f16[9,40]", NULL},
    {"lengths(n); y = x * 2", NULL, "i32[9,1] f16[9,40]@2 f32[9,40]", NULL},
    {"lengths(n); s = sum(x)", "0", "i32[1,9] f32[40,9] f32[9]", NULL},
    {"lengths(n * 4000); s = sum(x)", NULL, "i32[7,1] f16[7,30000] f32[7]", NULL},
    {"lengths(n); y = rows(t, i) - sum(x) + take(x, i)", NULL, "i32[6,1] f32[9,40] i32[6,1] f32[6,40]{1,6} f32[6,40]",
     NULL},
    {"offsets(o); y = x - max(x); s = sum(x)", NULL, "i32[8] f32[40] f32[40] f32[7]", NULL},
    {"offsets(o); y = softmax(x) * g", NULL, "i64[8] f16[3,40]{44,1}@2 f32[7,1] f16[3,40]", NULL},
    {"offsets(o); y = x + index(-1) + index(-2)", NULL, "i32[8] f32[3,40]{1,3} f32[3,40]", NULL},
    {"offsets(o); s = sum(x)", NULL, "i32[2] f32[1] f32[1]", NULL},
    {"y = cumsum(x)", NULL, "f32[5,77]{80,1} f32[5,77]", NULL},
    {"y = cumsum(x) / sum(x)", NULL, "f16[3,9000]@2 f32[3,9000]", NULL},
    {"y = cummax(x) - cummin(x); s = sum(cumsum(x) * 0.01)", "1,2", "f32[3,5,70]{1000,75,1} f32[3,5,70] f32[3]", NULL},
    {"y = cumsum(cumsum(x * 0.125))", "1,2", "f32[3,9,5]{1,15,3} f32[3,9,5]", NULL},
    {"y = cumsum(x)", "0", "i32[300,9] i64[300,9]", NULL},
    {"y = cumsum(x)", NULL, "f32[5,1] f32[5,1]", NULL},
    {"lengths(n * 9); y = cumsum(x)", NULL, "i32[6,1] f32[6,77] f32[6,77]", NULL},
    {"offsets(o); y = cumsum(x) + index(-1)", NULL, "i32[8] f32[3,40]{1,3} f32[3,40]", NULL},
    {"m = median(x); y = x - kth(x, k)", NULL, "f16[5,301]@2 i32[5,1] f16[5] f16[5,301]", NULL},
    {"y = x >= kth_largest(x, 3) ? x : 0", NULL, "f32[5,2] f32[5,2]", NULL},
    {"m = median(x) + max(x)", "0", "f32[300,40] f32[40]", NULL},
    {"q = quantile(x, 0.25)", "1,2", "f32[3,9,50]{1000,100,1} f32[3]", NULL},
    {"lengths(n * 9); m = median(x)", NULL, "i32[6,1] f32[6,77] f32[6]", NULL},
    {"offsets(o); y = x - kth(x, 1)", NULL, "i32[8] f32[3,40]{1,3} f32[3,40]", NULL},
    {"y = x - gather(x, i)", NULL, "f32[7,100]{101,1} i32[7,100] f32[7,100]", NULL},
    {"y = gather(x, i) / sum(x)", "1,2", "f16[3,9,50]{1000,100,1} i32[3,9,50]{1,150,3} f32[3,9,50]", NULL},
    {"y = gather(x, size(-1) - 1 - index(-1))", NULL, "f32[7,100]{1,7} f32[7,100]", NULL},
    {"y = gather(x * 2 + w, i)", "0", "f32[90,7] f32[90,7]{1,90} i64[90,7] f32[90,7]", NULL},
    /* Within the row, wherever it lies. */
    {"offsets(o); y = x * 0 + gather(x, index(-1) + 5)", NULL, "i32[8] f32[7] f32[7]", NULL},
    {"offsets(o); s = take(x, i) + take(x * 2, j)", NULL, "i32[8] f32[7] i32[7,1] i32[7,1] f32[7]", NULL},
    {"y = x + gather(w, i) + take(x, k)", "1,2",
     "f32[3,4,70]{1000,100,1} f32[3,4,70]{1000,100,1} i32[3,4,70] i32[3,1,1] f32[3,4,70]", NULL},
    {"y = x - take(x, index(0) * 60 + 55)", "1,2", "f32[3,9,50]{1000,100,1} f32[3,9,50]", NULL},
    {"y = x - take(x, 0)", NULL, "f32[5,1] f32[5,1]", NULL},
    {"y = x - gather(x, i)", NULL, "f32[5,1] i32[5,1] f32[5,1]", NULL},
    {"y = gather(w, j) + x", "0,1", "i32[1,1] i64[20,33] i32[20,33]{37,1} i64[20,33]{99,3}", NULL},
    /* Where an index is a row's, without anything that is reduced. */
    {"lengths(index(0) + 1); y = x * 2", NULL, "f32[9,50] f32[9,50]", NULL},
    {"lengths(n + index(0)); y = x * 2", NULL, "i32[9,1] f32[9,50] f32[9,50]", NULL},
    {"y = rows(t, index(0) * 2) * x", NULL, "f32[19,50] f32[6,50] f32[6,50]", NULL},
    {"n = x * 2; put(y, index(0) * 2) = n", NULL, "f32[5,50] f32[14,50]{60,1}", NULL},
    {"y = x * 2; s = index(0) * 1.5", "1", "f32[5,7] f32[5,7] f32[5]", NULL},
    {"y = x + index(0) * 100 + index(1)", NULL, "f32[5,7]{9,1} f32[5,7]", NULL},
    {"y = x + index(0) * 100", NULL, "f32[5,7] f32[5,7]{1,5}", NULL},
};

/* Values of blocks within rows: short last ones, several sizes, axes in any order, results that later ones ask for. */
static const test_case blocked[] = {
    {"y = x / absmax(x, block = 32)", NULL, "f16[7,4096] f16[7,4096]", NULL},
    {"y = x / absmax(x, block = 32)", NULL, "f16[7,100]@2 f16[7,100]{103,1}", NULL},
    {"n = absmax(x, block = 32); s = n; y = x / n", NULL, "f32[5,130] f32[5,5] f32[5,130]", NULL},
    {"n = absmax(x, block = 128) / 448; q = x / n; s = n", NULL, "bf16[3,1000]{1001,1} e4m3[3,1000] f32[3,8]", NULL},
    {"n = rms_norm(x, w); m = absmax(n, block = 128) / 448; q = n / m; s = m", NULL,
     "bf16[5,640] bf16[640] f32[5,640] f32[5,5]{9,1}", NULL},
    {"n = softmax(x); m = absmax(n, block = 16); s = m; y = n / m", "0,2", "f32[4,3,40] f32[4,3,3] f32[4,3,40]", NULL},
    {"y = max(absmax(x, block = 128)) + x", NULL, "f32[3,300] f32[3,300]", NULL},
    {"y = x - mean(x, block = 24) + sum(x)", NULL, "f32[3,100] f32[3,100]", NULL},
    {"m = max(x, block = 16); y = x / sum(exp(x - m), block = 64) + m", NULL, "f32[5,200] f32[5,200]", NULL},
    {"y = x + max(x, block = 33) * min(x, block = 7)", NULL, "f16[3,500]@6 f16[3,500]", NULL},
    {"y = x + max(x, block = 1000) * min(x, block = 7) + sum(x, block = 4)", NULL, "f32[3,5000] f32[3,5000]", NULL},
    {"a = argmax(x, block = 8)", NULL, "f32[3,50] i32[3,7]", NULL},
    {"n = argmin(x, block = 48) + index(1); a = n; y = n + sum(x)", NULL, "f16[3,500] i32[3,500] f32[3,500]", NULL},
    {"y = x - reduce((a, b) -> a * b, x * 0.25, 1, block = 20)", NULL, "f32[3,50] f32[3,50]", NULL},
    {"y = softmax(x, block = 64)", NULL, "f32[3,7] f32[3,7]", NULL},
    {"y = softmax(x, block = 64); m = max(x)", NULL, "f32[3,1] f32[3,1] f32[3]", NULL},
    {"y = softmax(x, block = 6)", "0", "f32[50,9] f32[50,9]", NULL},
    {"y = x * repeat(s, 16) + max(x)", NULL, "f32[3,100] f16[3,7]{1,3} f32[3,100]", NULL},
    {"y = x * repeat(s, 3)", NULL, "e4m3[3,100]@1 f16[3,34] f32[3,100]", NULL},
    {"y = x * repeat(s, 3)", NULL, "f16[3,100] f16[34] f32[3,100]", NULL},
    {"y = x * repeat(s, 3)", NULL, "f16[3,100] f16[3,1] f32[3,100]", NULL},
    {"n = x * repeat(s, 16); y = n; t = max(n, block = 24)", "1,2",
     "f16[3,5,70]{1000,75,1}@2 f32[3,5,5] f32[3,5,70] f32[3,5,3]", NULL},
    {"n = max(x, block = 1000); s = n; y = x - n", NULL, "f32[1,90000] f32[1,90] f32[1,90000]", NULL},
    {"n = x / absmax(x, block = 32); put(y, i) = n", NULL, "f16[7,100] i32[7,1] f16[9,100]{104,1}", NULL},
    {"y = x / absmax(x, block = 32) + take(x, i) + gather(x, j)", NULL, "f32[3,90] i32[3,1] i32[3,90] f32[3,90]", NULL},
    {"y = x / absmax(x, block = 32) + median(x)", NULL, "f32[3,90] f32[3,90]", NULL},
    {"y = x - sum(x, block = 4) + sum(x)", NULL, "f32[4,0]{0,0} f32[4,0]", NULL},
    {"z = sum(x, block = 4); y = sum(x)", "1,2", "f32[2,5,1] f32[2,5,1] f32[2]", NULL},
    {"y = repeat(s, 12) * x", "1,2", "f32[7,5,1] f32[7,5,1] f32[7,5,1]", NULL},
    {"y = repeat(s, 64) + sum(x)", NULL, "f32[2,1] f32[2,8] f32[2,1]", NULL},
    {"y = repeat(s, 8); z = argmax(x, block = 8) + sum(x)", NULL, "f32[2,1] f32[2,5] f32[2,1] f32[2,1]", NULL},
    {"lengths(n * 9); y = x - max(x, block = 11)", NULL, "i32[6,1] f32[6,77] f32[6,77]", NULL},
};

/* Values of all rows: of each column, of all elements, with scalars and inputs that all rows share. */
static const test_case across[] = {
    {"y = max(x); s = sum(x, axes = 0)", NULL, "f32[7,100] f32[7] f32[100]", NULL},
    {"y = max(x); s = sum(x, axes = 0)", NULL, "f16[300,100]@2 f32[300] f32[1,100]", NULL},
    {"y = x - max(x); s = sum(x * 0.5, axes = 0); t = max(x, axes = 0)", NULL,
     "f16[300,77]{80,1} f32[300,77] f32[77] f32[77]{2}", NULL},
    {"n = rms_norm(x, w); y = n; s = sum(n, axes = all); a = absmax(n, axes = all)", NULL,
     "f16[40,1000] f16[1000] f16[40,1000] f64[] f32[]", NULL},
    {"y = sum(x); d = v + sum(x * g, axes = 0)", NULL, "f32[70,33] f32[33] f32[70,33]{33,1} f32[70] f32[33]", NULL},
    {"y = sum(x); d = v * 2 + sum(x, axes = 0) * a", NULL, "f32[70,33]{1,70} f32[1] f32[70] f32[33]", "a"},
    {"y = sum(x); m = mean(x, axes = (0, 1)); c = count_nonzero(x > 3, axes = all)", NULL,
     "f32[9,8,33] f32[9,8] f32[33] i64[]", NULL},
    {"y = max(x); s = sum(x, axes = (0, 2)); e = any(x > 6, axes = all)", "1", "f32[9,8,33] f32[9,33] f32[8] bool[]",
     NULL},
    {"y = max(x); s = sum(x, axes = 0)", NULL, "f32[1,100] f32[1] f32[100]", NULL},
    {"y = max(x); s = sum(x, axes = 0)", NULL, "f32[7,1] f32[7] f32[1]", NULL},
    {"y = max(x); s = sum(x, axes = 0)", NULL, "f32[1,1] f32[1] f32[1]", NULL},
    {"y = sum(x); s = sum(x, axes = 0)", NULL, "f32[0,30]{30,1} f32[0] f32[30]", NULL},
    {"y = x * 2; s = sum(x, axes = 0); p = prod(x * 0.25, axes = all)", "1", "f32[5,8] f32[5,8] f32[8] f32[]", NULL},
    {"y = rows(t, i) * 2 + max(x); s = sum(x, axes = 0)", NULL, "f32[9,50] i32[20,1] f32[20,50] f32[20,50] f32[50]",
     NULL},
    {"s = sum(max(x), axes = 0); y = max(x)", NULL, "f32[50,20] f32[] f32[50]", NULL},
    {"z = sum(x); y = sum(x, axes = 0)", NULL, "f32[3,0]{0,0} f32[3] f32[0]{0}", NULL},
    {"k = sum(float(x)); m = max(-1 - y * y, axes = 0)", NULL, "u32[5,8] f32[5,8] f32[5] f32[8]", NULL},
    {"k = sum(float(x)); m = min(3e9 + y * y, axes = 0)", NULL, "i32[5,8] f32[5,8] f32[5] f32[8]", NULL},
    {"k = sum(x); m = max(i64(x) - 5000000000, axes = all)", NULL, "i32[5,8] i32[5] i64[]", NULL},
    {"y = x - median(x); s = sum(x, axes = 0)", NULL, "f32[50,20] f32[50,20] f32[20]", NULL},
};

/* Two elements to a byte. */
static const test_case packed[] = {
    {"q = x * 2", NULL, "f16[7,64] e2m1[7,64]", NULL},
    {"q = x * 2", NULL, "f16[7,46]@2 e2m1[7,46]{48,1}", NULL},
    {"y = q * 2", NULL, "e2m1[7,46] f32[7,46]{92,2}", NULL},
    {"y = q + p", NULL, "e2m1[7,46] e2m1[46] f32[7,46]@4", NULL},
    {"q = e2m1(x / absmax(x))", NULL, "f32[7,300]{301,1} e2m1[7,300]", NULL},
    {"s = absmax(x, block = 32); y = x * 2; t = s", NULL, "e2m1[5,100] f32[5,100] f32[5,4]", NULL},
    {"s = absmax(x, block = 32); q = x / s; t = s", NULL, "bf16[5,1000] e2m1[5,1000] e8m0[5,32]", NULL},
    {"y = q * repeat(s, 16)", NULL, "e2m1[5,100] e4m3[5,7] bf16[5,100]", NULL},
    {"y = q * repeat(s, 16) * t", "1,2", "e2m1[5,6,32]{1024,64,1} e4m3[5,6,2] f32[] bf16[5,6,32]", NULL},
    {"m = max(q); s = sum(q, axes = 0)", NULL, "e2m1[50,30] f32[50] f32[30]", NULL},
    {"m = max(q) + median(q)", NULL, "e2m1[5,4000] f32[5]", NULL},
    {"y = cumsum(q)", NULL, "e2m1[5,4006] f32[5,4006]", NULL},
    {"q = cummax(x)", NULL, "f16[5,46]@2 e2m1[5,46]", NULL},
};

static void kernels_for_any_shape_have_packed_elements(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong_of_both(packed, COUNT(packed)), 0);
}

static const test_case sorted[] = {
    {"y = sort(x)", NULL, "f32[5,77]{80,1} f32[5,77]", NULL},
    {"y = sort(x, descending = true)", NULL, "f16[3,9001]@2 f16[3,9001]", NULL},
    {"y = argsort(x); z = sort_by(w, x)", NULL, "f64[3,5000] f32[5000] i64[3,5000] f32[3,5000]", NULL},
    {"y = sort(x)", "0", "i8[300,9] i8[300,9]", NULL},
    {"y = sort(x) + argsort(x * 2)", NULL, "u16[3,20000] i64[3,20000]", NULL},
    {"y = sort(x)", NULL, "f32[5,1] f32[5,1]", NULL},
    {"v = topk(x, 4); i = argtopk(x, 4)", NULL, "bf16[7,100] bf16[7,4] i64[7,4]", NULL},
    {"v = topk(softmax(x), 8); s = sum(x)", NULL, "f32[7,3000]{3001,1} f32[7,8] f32[7]", NULL},
    {"v = topk(x, 3) / sum(topk(x, 3))", NULL, "f16[9,64] f32[9,3]", NULL},
    {"y = cumsum(sort(x))", NULL, "f32[3,500] f32[3,500]", NULL},
    {"y = sort(x) - median(x)", NULL, "f32[3,500] f32[3,500]", NULL},
    {"y = sort(x) + max(x, block = 8)", NULL, "f32[3,500] f32[3,500]", NULL},
    {"y = sort(x / absmax(x, block = 32)); s = sum(x)", NULL, "f16[3,700]@2 f32[3,700] f32[3]", NULL},
    {"y = sort(rows(t, i))", NULL, "f32[9,50] i32[20,1] f32[20,50]", NULL},
    {"lengths(n * 9); y = sort(x)", NULL, "i32[6,1] f32[6,77] f32[6,77]", NULL},
    {"y = sort(q)", NULL, "e2m1[5,100] f32[5,100]", NULL},
};

static void kernels_for_any_shape_sort(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong_of_both(sorted, COUNT(sorted)), 0);
}

static void kernels_for_any_shape_add_up_all_rows(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong_of_both(across, COUNT(across)), 0);
}

static void kernels_for_any_shape_serve_blocks(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong_of_both(blocked, COUNT(blocked)), 0);
    assert_int_equal(count_wrong_of_both(repeated, COUNT(repeated)), 0);
}

static void kernels_for_any_shape_serve_what_rows_choose(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong_of_both(chosen, COUNT(chosen)), 0);
    assert_int_equal(count_wrong_of_both(unaligned, COUNT(unaligned)), 0);
}

/* Rows so long that several blocks share each of them, and launches its phases. */
static const test_case shared[] = {
    {"y = softmax(x)", NULL, "f32[2,33001] f32[2,33001]", NULL},
    {"y = var(x)", NULL, "f16[1,66000]@2 f32[1]", NULL},
    {"y = sum(x)", "0", "f32[2100,7] f32[7]", NULL},
    {"y = x / mean(x); m = max(x)", "0", "f32[3000,40] f32[3000,40] f32[40]", NULL},
    {"y = rms_norm(x, w)", "0,2", "f32[60,3,701] f32[60,1,701] f32[60,3,701]", NULL},
    {"t = r + sum(x); y = x * r", "1", "f32[2,1,3] f32[2,9000,3] f32[2,3] f32[2,9000,3]", NULL},
    {"i = argmax(x); n = any(x > 6.5); l = logsumexp(x) - take(x, label)", NULL,
     "f32[2,9001]{1,2} i64[2,1] i64[2] bool[2] f32[2]", NULL},
    {"y = reduce((a, b) -> b > 6 ? b : a, x, 0)", NULL, "f32[2,40000] f32[2]", NULL},
    {"lengths(n * 9000); y = x / mean(x)", NULL, "i32[3,1] f32[3,40000] f32[3,40000]", NULL},
    {"y = rows(t, i) - max(x)", NULL, "f32[9,40000] i32[2,1] f32[2,40000] f32[2,40000]", NULL},
};

static void blocks_share_long_rows(void **unused) {
    (void)unused;
    static const test_case blocks = {"y = x / absmax(x, block = 32) + sum(x)", NULL, "f32[2,34001] f32[2,34001]", NULL};
    assert_int_equal(count_wrong_of_both(shared, COUNT(shared)), 0);
    policy = KILN_POLICY_ANY_SHAPE;
    assert_true(runs_right(&blocks));
    policy = KILN_POLICY_COMPILE;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

#define STRIDED "f32[3,4,8]{100,1,5}"

static const test_case named[] = {
    {"s = sum(x + x_row + x_step0 + x_step1 + in_x)", NULL,
     "f32[3,8]{16,2} f32[3,8]{17,3} f32[3,8]{20,2} f32[3,8] f32[3,8] f32[3]", NULL},
    {"s = sum(row + step0 + row_in_x + x + in_x) * stride0 + stride0_in_x", NULL,
     "f32[3,8]{16,2} f32[3,8]{17,3} f32[3,8]{20,2} f32[3,8]{16,2} f32[3,8]{18,2} f32[3,1] f32[3,1] f32[3]", NULL},
    {"y = a + a_row * stride1_in_a; s = sum(a) + a_step0", "1",
     STRIDED " " STRIDED " " STRIDED " f32[3,1,8] f32[3,4,8] f32[3,8]", NULL},
    {"y = __global__ * 2", NULL, "f32[4,8] f32[4,8]", NULL},
    {"__global__ = sum(__shared__ + __cluster_dims__)", NULL, "f32[4,8] f32[4,8] f32[4]", NULL},
    {"int = double + if * while / return; class = sum(template)", NULL,
     "f32[3,8]{16,2} f32[3,8] f32[3,8] f32[3,8] f32[3,8] f32[3,8] f32[3]", NULL},
    {"out = NULL + KILN_COLS + KILN_DEVICE + __CUDA_ARCH__ + threadIdx + args + v0 + rows", NULL,
     "f32[8] f32[8] f32[8] f32[8] f32[8] f32[8] f32[8] f32[8] f32[8]", NULL},
    {"y = x * scalar_x + scalar_scalar_x + row + _", NULL, "f32[3,8]{16,2} f32[3,8]", "scalar_x,scalar_scalar_x,row,_"},
    {"in_x = x * in_x_row; out_in_x = sum(x)", NULL, "f32[3,8]{16,2} f32[3,8]{16,2} f32[3,8] f32[3]", NULL},
};

static void names_mean_nothing_to_the_compiler(void **unused) {
    (void)unused;
    assert_int_equal(count_wrong(named, COUNT(named)), 0);
}

int main(void) {
#if !defined(KILN_SOFTWARE_DRIVER)
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_elements_read_nothing),
        cmocka_unit_test(values_for_several_columns_follow_their_axis),
        cmocka_unit_test(rows_begin_anywhere),
        cmocka_unit_test(kernels_for_any_shape_serve_what_rows_choose),
        cmocka_unit_test(kernels_for_any_shape_have_packed_elements),
        cmocka_unit_test(kernels_for_any_shape_sort),
        cmocka_unit_test(kernels_for_any_shape_serve_blocks),
        cmocka_unit_test(kernels_for_any_shape_add_up_all_rows),
        cmocka_unit_test(blocks_share_long_rows),
        cmocka_unit_test(names_mean_nothing_to_the_compiler),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

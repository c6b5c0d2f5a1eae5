/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU reference in the program's own types: what overflows, cancels or wraps on a GPU does so there, too. */
#define _GNU_SOURCE
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
#define MOST 8

static software_device device;

/* A vector x of a type, one output of a type, of which the first element counts. */
static const struct {
    const char *program;
    kiln_type in, out;
    int count;
    double x[MOST];
    double wide, own; /* in double; in the program's types */
    bool in_order;    /* what the types give depends on the order of combining, which is the schedule's */
} cases[] = {
    {"y = x * 1e30 / 1e30", KILN_F32, KILN_F32, 1, {1e30}, 1e30f, INFINITY, false},
    {"y = x * 1e30 * 0", KILN_F32, KILN_F32, 1, {1e30}, 0, NAN, false},
    {"y = x + 1e8 - 1e8", KILN_F32, KILN_F32, 1, {1}, 1, 0, false},
    {"y = log(exp(x))", KILN_F32, KILN_F32, 1, {100}, 100, INFINITY, false},
    {"y = x * 1e-30 * 1e30", KILN_F32, KILN_F32, 1, {1e-30}, 1e-30f, 0, false},
    {"y = norm2(x)", KILN_F32, KILN_F32, 4, {1e20, 1e20, 1e20, 1e20}, 2e20f, INFINITY, false},
    {"y = mean(x)", KILN_F32, KILN_F32, 4, {3e38, 3e38, 3e38, 3e38}, 3e38f, INFINITY, false},
    {"y = sum(x)", KILN_F32, KILN_F32, 4, {3e38, 3e38, -3e38, -3e38}, 0, NAN, true},
    {"y = sum(x)", KILN_F32, KILN_F32, 3, {1e8, 1, -1e8}, 1, 0, true},
    {"y = prod(x)", KILN_F32, KILN_F32, 4, {1e30, 1e30, 1e-30, 1e-30}, 1, NAN, true},
    {"y = reduce((a, b) -> a + b, x, 0)", KILN_F32, KILN_F32, 3, {1e8, 1, -1e8}, 1, 0, true},
    {"y = reduce((a, b) -> a * 1e30 * b / 1e30, x, 1)", KILN_F32, KILN_F32, 2, {1, 1e30}, 1e30f, INFINITY, true},
    {"y = f64(x) * 1e30 * 1e30 / 1e60", KILN_F32, KILN_F32, 1, {1}, 1, 1, false},
    {"y = x + 1e8 - 1e8", KILN_F64, KILN_F64, 1, {1}, 1, 1, false},
    {"y = sum(x)", KILN_F64, KILN_F64, 4, {1e308, 1e308, -1e308, -1e308}, INFINITY, NAN, true},
    {"y = x * 200 / 200", KILN_F16, KILN_F16, 1, {1000}, 1000, 1000, false}, /* computes in f32 */
    {"y = x * 200", KILN_F16, KILN_F16, 1, {1000}, INFINITY, INFINITY, false},
    {"y = f16(x * 200) / 200", KILN_F16, KILN_F16, 1, {1000}, INFINITY, INFINITY, false},
    /* The f32 in between is a tie between two f16; it loses the 2^-40 that decides in double. */
    {"y = x + 0.00048828125 + 9.094947017729282e-13", KILN_F16, KILN_F16, 1, {1}, 1 + 0x1p-10, 1, false},
    {"y = x * x", KILN_I32, KILN_I32, 1, {65536}, 0, 0, false},
    {"y = x + 2147483647", KILN_I32, KILN_I32, 1, {1}, -2147483648.0, -2147483648.0, false},
    {"y = sum(x * 3)", KILN_I32, KILN_I64, 2, {2147483647, 0}, 2147483645, 2147483645, false},
    {"y = x / 3", KILN_I32, KILN_F64, 1, {1}, 1.0 / 3, 1.0f / 3, false},
    {"y = x * pi()", KILN_F32, KILN_F64, 1, {1}, 3.14159274101257324, 3.14159274101257324, false},
    {"y = x * 16777217", KILN_F32, KILN_F64, 1, {1}, 16777216, 16777216, false},
    {"y = f32(x)", KILN_I64, KILN_F64, 1, {16777217}, 16777217, 16777216, false},
    {"y = argmax(x * 1e30)", KILN_F32, KILN_I64, 2, {1e30, 2e30}, 1, 0, false}, /* of two infinities the first */
};

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

static double run_case(size_t i, kiln_precision precision) {
    char x[MOST * 8], y[MOST * 8];
    const int64_t sizes[] = {cases[i].count}, reduced[] = {1};
    kiln_program *program = NULL;
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    int32_t rank;
    int64_t shape[KILN_MAX_RANK];
    options.precision = precision;
    assert_int_equal(kiln_program_create(device.kiln, cases[i].program, NULL, &program), KILN_OK);
    for (int k = 0; k < cases[i].count; k++)
        kiln__store_f64(cases[i].in, x + (size_t)k * kiln_type_size(cases[i].in), cases[i].x[k]);
    kiln_tensor tensors[] = {kiln_tensor_contiguous(x, cases[i].in, 1, sizes),
                             kiln_tensor_contiguous(y, cases[i].out, 1, sizes)};
    assert_int_equal(kiln_program_output_shape(program, tensors, 0, 1, &rank, shape), KILN_OK);
    if (shape[0] == 1) tensors[1] = kiln_tensor_contiguous(y, cases[i].out, 1, reduced);
    if (kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, &options))
        fail_msg("%s: %s", cases[i].program, kiln_last_error());
    kiln_program_destroy(program);
    return kiln__load_f64(cases[i].out, y);
}

static void overflow_cancellation_and_rounding_are_those_of_the_types(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double wide = run_case(i, KILN_PRECISION_DOUBLE), own = run_case(i, KILN_PRECISION_PROGRAM);
        if (!same(wide, cases[i].wide) || !same(own, cases[i].own))
            fail_msg("%s: in double %.9g, expected %.9g; in its own types %.9g, expected %.9g", cases[i].program, wide,
                     cases[i].wide, own, cases[i].own);
    }
}

/* Where a kernel gives an infinity or a NaN, so does the reference in the program's types. */
static void kernels_are_infinite_where_the_reference_is(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].in_order) continue;
        const int64_t sizes[] = {cases[i].count}, reduced[] = {1};
        char x[MOST * 8], y[MOST * 8];
        kiln_program *program = NULL;
        kiln__CUdeviceptr memory = 0;
        for (int k = 0; k < cases[i].count; k++)
            kiln__store_f64(cases[i].in, x + (size_t)k * kiln_type_size(cases[i].in), cases[i].x[k]);
        assert_int_equal(device.driver->MemAlloc(&memory, 2 * sizeof x), 0);
        assert_int_equal(device.driver->MemcpyHtoD(memory, x, sizeof x), 0);
        kiln_tensor tensors[] = {kiln_tensor_contiguous((void *)memory, cases[i].in, 1, sizes),
                                 kiln_tensor_contiguous((void *)(memory + sizeof x), cases[i].out, 1, sizes)};
        assert_int_equal(kiln_program_create(device.kiln, cases[i].program, NULL, &program), KILN_OK);
        int32_t rank;
        int64_t shape[KILN_MAX_RANK];
        assert_int_equal(kiln_program_output_shape(program, tensors, 0, 1, &rank, shape), KILN_OK);
        if (shape[0] == 1) tensors[1] = kiln_tensor_contiguous(tensors[1].data, cases[i].out, 1, reduced);
        if (kiln_run(program, tensors, 2, NULL, 0, NULL)) fail_msg("%s: %s", cases[i].program, kiln_last_error());
        assert_int_equal(device.driver->MemcpyDtoH(y, memory + sizeof x, sizeof y), 0);
        assert_int_equal(device.driver->MemFree(memory), 0);
        double found = kiln__load_f64(cases[i].out, y);
        if (isfinite(found) != isfinite(cases[i].own) ||
            (isfinite(found) && fabs(found - cases[i].own) > 1e-6 * fabs(found)))
            fail_msg("%s: %.9g on the GPU, %.9g on the CPU", cases[i].program, found, cases[i].own);
        kiln_program_destroy(program);
    }
}

static void options_are_checked(void **state) {
    (void)state;
    const int64_t sizes[] = {1};
    float x = 1, y = 0;
    kiln_program *program = NULL;
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    kiln_tensor tensors[] = {kiln_tensor_contiguous(&x, KILN_F32, 1, sizes),
                             kiln_tensor_contiguous(&y, KILN_F32, 1, sizes)};
    assert_int_equal(kiln_program_create(device.kiln, "y = x + 1", NULL, &program), KILN_OK);
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, NULL), KILN_OK);
    assert_true(y == 2);
    options.struct_size = sizeof options + 1;
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, &options), KILN_E_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), "kiln_cpu_options.struct_size is"));
    options.struct_size = sizeof(size_t); /* as of a version without what follows */
    options.precision = (kiln_precision)7;
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, &options), KILN_OK);
    options.struct_size = sizeof options;
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, &options), KILN_E_ARGUMENT);
    assert_string_equal(kiln_last_error(), "kiln_cpu_options.precision is 7, expected KILN_PRECISION_DOUBLE or "
                                           "KILN_PRECISION_PROGRAM");
    kiln_program_destroy(program);
}

/* A sum's error grows with the logarithm of its length, not with its length. */
static void long_sums_are_added_as_a_tree(void **state) {
    (void)state;
    enum { N = 3000001 };
    const int64_t sizes[] = {N}, reduced[] = {1};
    float *x = malloc(N * sizeof *x), s = 0;
    kiln_program *program = NULL;
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    options.precision = KILN_PRECISION_PROGRAM;
    assert_non_null(x);
    for (int i = 0; i < N; i++) x[i] = 0.1f;
    kiln_tensor tensors[] = {kiln_tensor_contiguous(x, KILN_F32, 1, sizes),
                             kiln_tensor_contiguous(&s, KILN_F32, 1, reduced)};
    assert_int_equal(kiln_program_create(device.kiln, "s = sum(x)", NULL, &program), KILN_OK);
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, NULL, 0, &options), KILN_OK);
    assert_true(fabs((double)s / (N * (double)0.1f) - 1) < 3e-6);
    kiln_program_destroy(program);
    free(x);
}

static void scalars_have_the_programs_type(void **state) {
    (void)state;
    const int64_t sizes[] = {1};
    float x = 1;
    double y = 0;
    kiln_program *program = NULL;
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    const kiln_scalar s = kiln_scalar_f64(0.1);
    kiln_tensor tensors[] = {kiln_tensor_contiguous(&x, KILN_F32, 1, sizes),
                             kiln_tensor_contiguous(&y, KILN_F64, 1, sizes)};
    how.scalars = "s";
    options.precision = KILN_PRECISION_PROGRAM;
    assert_int_equal(kiln_program_create(device.kiln, "y = where(x > 0, s, x)", &how, &program), KILN_OK);
    assert_int_equal(kiln_run_cpu_with_options(program, tensors, 2, &s, 1, &options), KILN_OK);
    assert_true(y == (double)0.1f);
    assert_int_equal(kiln_run_cpu(program, tensors, 2, &s, 1), KILN_OK);
    assert_true(y == 0.1);
    kiln_program_destroy(program);
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
        cmocka_unit_test(overflow_cancellation_and_rounding_are_those_of_the_types),
        cmocka_unit_test(kernels_are_infinite_where_the_reference_is),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(long_sums_are_added_as_a_tree),
        cmocka_unit_test(scalars_have_the_programs_type),
    };
    return cmocka_run_group_tests_name("precision", tests, open_device, close_device);
}

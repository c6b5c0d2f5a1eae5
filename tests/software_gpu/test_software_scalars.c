/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars in device memory, on the software GPU: kernels of every kind give bit for bit what they give for the value
 * itself, and a plan sees what is in memory when it is launched; also where it may begin before the launch before it
 * has ended. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* x is rows x cols of the type; y as well, or, where it reduces, has a value for each row or column. */
static const struct {
    const char *program, *schedule;
    kiln_type type, scalar;
    int64_t rows, cols;
    bool reduces;
    int axis;
    double first, second;
} cases[] = {
    {"y = x * s + 1", NULL, KILN_F16, KILN_F32, 5, 96, false, -1, 2.5, -0.75},
    {"y = x * s + s", "vector 1", KILN_F32, KILN_F64, 7, 33, false, -1, 0.1, 3},
    {"y = x * s", NULL, KILN_F64, KILN_F32, 5, 40, false, -1, 0.1, 3},
    {"y = softmax(x * s)", NULL, KILN_F16, KILN_F32, 9, 256, false, -1, 2, 0.5},
    {"y = softmax(x * s)", "lanes 8", KILN_F32, KILN_F32, 40, 64, false, -1, 2, 0.5},
    {"y = softmax(x * s)", "block 64, shared", KILN_F32, KILN_F32, 5, 300, false, -1, 2, 0.5},
    {"y = softmax(x * s)", "block 64, stream", KILN_F32, KILN_F32, 5, 300, false, -1, 2, 0.5},
    {"y = softmax(x * s)", "block 64, cluster 2", KILN_F32, KILN_F32, 3, 2048, false, -1, 2, 0.5},
    {"y = sum(x * s)", "block 64, splits 4", KILN_F32, KILN_F32, 2, 8192, true, -1, 2, 0.5},
    {"y = layer_norm(x, s)", NULL, KILN_BF16, KILN_F32, 4, 256, false, -1, 1e-5, 0.5},
    {"y = softmax(x * s)", NULL, KILN_F32, KILN_F32, 64, 40, false, 0, 2, 0.5},
    {"y = sum(x * s)", NULL, KILN_F16, KILN_F32, 300, 40, true, 0, 2, 0.5},
    {"y = sum(x * s, axes = 0) + s", NULL, KILN_F32, KILN_F32, 100, 67, true, 0, 2, 0.5},
    {"y = cumsum(x) * s", NULL, KILN_F32, KILN_F32, 3, 200, false, -1, 2, 0.5},
    {"y = x - kth(x, s)", NULL, KILN_F32, KILN_I64, 4, 100, false, -1, 1, 17},
    {"y = x - kth(x, s)", NULL, KILN_F32, KILN_I32, 4, 100, false, -1, 3, 99},
    {"y = x - take(x, s)", NULL, KILN_F16, KILN_I32, 4, 100, false, -1, 3, 99},
    {"y = x * dropout(x, 0.5, s)", NULL, KILN_F32, KILN_I64, 4, 100, false, -1, 3, 4},
    {"y = x / absmax(x * s, block = 32)", NULL, KILN_F32, KILN_F32, 4, 128, false, -1, 2, 0.5},
};

typedef struct memory {
    kiln__CUdeviceptr at;
    size_t bytes;
} memory;

static software_device device;

static memory allocate(size_t bytes) {
    memory m = {0, bytes};
    assert_int_equal(device.gpu.memory_allocate((unsigned long long *)&m.at, bytes), 0);
    return m;
}

static void put_value(memory m, kiln_type type, double value) {
    const float f32 = (float)value;
    const int32_t i32 = (int32_t)value;
    const int64_t i64 = (int64_t)value;
    const void *from = type == KILN_F32   ? (const void *)&f32
                       : type == KILN_F64 ? (const void *)&value
                       : type == KILN_I32 ? (const void *)&i32
                                          : (const void *)&i64;
    assert_int_equal(device.gpu.copy_to_device(m.at, from, kiln_type_size(type)), 0);
}

static kiln_scalar value_of(kiln_type type, double value) {
    if (type == KILN_F32) return kiln_scalar_f64((double)(float)value);
    if (type == KILN_F64) return kiln_scalar_f64(value);
    return (kiln_scalar){.type = type, .value.i64 = (int64_t)value};
}

static void expect(kiln_status status, const char *what) {
    if (status) fail_msg("%s: %s: %s", what, kiln_status_name(status), kiln_last_error());
}

static void fill(memory x, kiln_type type) {
    unsigned char *bytes = calloc(1, x.bytes);
    const size_t size = kiln_type_size(type);
    assert_non_null(bytes);
    for (size_t i = 0; i < x.bytes / size; i++) {
        const uint32_t drawn = (uint32_t)i * 2654435761u;
        const float f32 = (float)(drawn >> 25) / 16 - 3;
        const double f64 = (double)f32;
        const uint16_t f16 = (uint16_t)(0x3800 + (drawn >> 22)); /* also a number in bf16 */
        memcpy(bytes + i * size,
               size == 8   ? (const void *)&f64
               : size == 4 ? (const void *)&f32
                           : (const void *)&f16,
               size);
    }
    assert_int_equal(device.gpu.copy_to_device(x.at, bytes, x.bytes), 0);
    free(bytes);
}

static unsigned char *read_back(memory y) {
    unsigned char *bytes = malloc(y.bytes);
    assert_non_null(bytes);
    assert_int_equal(device.gpu.copy_to_host(bytes, y.at, y.bytes), 0);
    return bytes;
}

/* early: those in memory by a kernel that waits for the launch before it. */
static void compare(size_t i, kiln_policy policy, bool early) {
    const kiln_type type = cases[i].type;
    const int64_t sizes[] = {cases[i].rows, cases[i].cols}, along = sizes[cases[i].axis == 0];
    const bool across = strstr(cases[i].program, "axes = 0") != NULL;
    const int64_t out = cases[i].reduces ? across || cases[i].axis == 0 ? cases[i].cols : along : 0;
    const size_t elements = (size_t)(sizes[0] * sizes[1]), size = kiln_type_size(type);
    const int axis = across ? -1 : cases[i].axis;
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    kiln_plan *by_value = NULL, *in_memory = NULL;
    how.scalars = "s";
    how.axes = &axis;
    how.axis_count = 1;
    expect(kiln_program_create(device.kiln, cases[i].program, &how, &program), cases[i].program);
    memory x = allocate(elements * size), y = allocate((cases[i].reduces ? (size_t)out : elements) * size);
    memory s = allocate(8);
    fill(x, type);
    const kiln_tensor tensors[] = {kiln_tensor_contiguous((void *)(uintptr_t)x.at, type, 2, sizes),
                                   cases[i].reduces ? kiln_tensor_contiguous((void *)(uintptr_t)y.at, type, 1, &out)
                                                    : kiln_tensor_contiguous((void *)(uintptr_t)y.at, type, 2, sizes)};
    void *const data[] = {tensors[0].data, tensors[1].data};
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.policy = policy;
    const kiln_scalar unknown = kiln_scalar_device(NULL, cases[i].scalar);
    const kiln_scalar pointer = kiln_scalar_device((const void *)(uintptr_t)s.at, cases[i].scalar);
    const double values[] = {cases[i].first, cases[i].second};
    kiln_scalar value = value_of(cases[i].scalar, values[0]);
    const kiln_status status = kiln_plan_create_with_options(program, tensors, 2, &value, 1, &options, &by_value);
    if (status == KILN_E_UNSUPPORTED && policy == KILN_POLICY_ANY_SHAPE) goto end; /* the program has no such kernel */
    expect(status, cases[i].program);
    options.dependent_launch = early;
    expect(kiln_plan_create_with_options(program, tensors, 2, &unknown, 1, &options, &in_memory), cases[i].program);
    unsigned char *before = NULL;
    for (int v = 0; v < 2; v++) {
        value = value_of(cases[i].scalar, values[v]);
        expect(kiln_plan_launch(by_value, data, 2, &value, 1, NULL), cases[i].program);
        unsigned char *expected = read_back(y);
        put_value(s, cases[i].scalar, values[v]);
        expect(kiln_plan_launch(in_memory, data, 2, &pointer, 1, NULL), cases[i].program);
        unsigned char *found = read_back(y);
        if (memcmp(expected, found, y.bytes))
            fail_msg("%s, %s: the value in memory gives other bits", cases[i].program,
                     policy == KILN_POLICY_ANY_SHAPE ? "any shape" : cases[i].schedule);
        if (before && !memcmp(before, found, y.bytes)) fail_msg("%s: the value plays no part", cases[i].program);
        free(before);
        free(expected);
        before = found;
    }
    free(before);
end:
    kiln_plan_destroy(by_value);
    kiln_plan_destroy(in_memory);
    kiln_program_destroy(program);
    device.gpu.memory_free(x.at);
    device.gpu.memory_free(y.at);
    device.gpu.memory_free(s.at);
}

static void kernels_of_every_kind_read_them(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].schedule) setenv("KILN_SCHEDULE", cases[i].schedule, 1);
        assert_int_equal(software_device_open(NULL, &device), KILN_OK);
        unsetenv("KILN_SCHEDULE");
        for (int early = 0; early < 2; early++) {
            compare(i, KILN_POLICY_COMPILE, early);
            if (!cases[i].schedule) compare(i, KILN_POLICY_ANY_SHAPE, early);
        }
        assert_int_equal(software_device_close(&device), KILN_OK);
    }
}

/* The software GPU sees each access of a kernel that may begin early. */
static void a_kernel_that_does_not_wait_is_caught(void **unused) {
    (void)unused;
    const int64_t sizes[] = {4, 64};
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    kiln_program *program = NULL;
    assert_int_equal(software_device_open(NULL, &device), KILN_OK);
    expect(kiln_program_create(device.kiln, "y = x * 2", NULL, &program), "y = x * 2");
    memory x = allocate(1024), y = allocate(1024);
    const kiln_tensor tensors[] = {kiln_tensor_contiguous((void *)(uintptr_t)x.at, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous((void *)(uintptr_t)y.at, KILN_F32, 2, sizes)};
    fill(x, KILN_F32);
    options.dependent_launch = 1;
    device.gpu.plant("    kiln_launch_wait();\n", "");
    const kiln_status status = kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &options);
    device.gpu.plant(NULL, NULL);
    if (status != KILN_E_LAUNCH || !strstr(kiln_last_error(), "has not waited for the kernel launched before"))
        fail_msg("%s: %s", kiln_status_name(status), kiln_last_error());
    kiln_program_destroy(program);
    device.gpu.memory_free(x.at);
    device.gpu.memory_free(y.at);
    (void)software_device_close(&device); /* the failure stays with it */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_of_every_kind_read_them),
                                       cmocka_unit_test(a_kernel_that_does_not_wait_is_caught)};
    if (software_device_open(NULL, &device)) {
        printf("skipped: there is no software GPU: %s\n", kiln_last_error());
        return 77;
    }
    (void)software_device_close(&device);
    return cmocka_run_group_tests_name("software_scalars", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars that kernels read in memory: what a launch passes, what tells them from values, what is refused. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define SHAPE "f16[8,64]@256 f16[8,64]@512"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static kiln_tensor tensors[KILN_MAX_TENSORS];

static kiln_program *program_with_scalar(kiln_context *context, const char *text) {
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    how.scalars = "s";
    if (kiln_program_create(context, text, &how, &program)) fail_msg("%s", kiln_last_error());
    assert_int_equal(bound_tensors(SHAPE, tensors), 2);
    return program;
}

static bool passes(const launch_fixture *f, uint64_t address) {
    for (size_t i = 0; i + sizeof address <= (size_t)f->fake->argument_bytes; i += 8)
        if (!memcmp(f->fake->last_argument + i, &address, sizeof address)) return true;
    return false;
}

static void a_launch_passes_the_address(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = program_with_scalar(context, "y = softmax(x * s)");
    const uint64_t places[] = {UINT64_C(0x7700001230), UINT64_C(0x7700004564)};
    f->fake->argument_bytes = 32;
    for (size_t i = 0; i < COUNT(places); i++) {
        const kiln_scalar s = kiln_scalar_device((const void *)(uintptr_t)places[i], KILN_F32);
        launch_expect(kiln_run(program, tensors, 2, &s, 1, NULL), KILN_OK, "");
        assert_true(passes(f, places[i]));
    }
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    assert_int_equal(stats.shapes, 1); /* another address is no other shape, ... */
    const kiln_scalar others[] = {kiln_scalar_f64(2), kiln_scalar_device((const void *)(uintptr_t)64, KILN_F64),
                                  kiln_scalar_device((const void *)(uintptr_t)64, KILN_I32)};
    for (size_t i = 0; i < COUNT(others); i++)
        launch_expect(kiln_run(program, tensors, 2, &others[i], 1, NULL), KILN_OK, "");
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    assert_int_equal(stats.shapes, 4); /* ... another type is, and another kernel */
    assert_int_equal(stats.compiled, 4);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void bad_ones_are_refused(void **state) {
    static const struct {
        uintptr_t address;
        kiln_type type;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {0, KILN_F32, KILN_E_POINTER, "the device pointer of scalar 's' is NULL"},
        {0x7002, KILN_F32, KILN_E_POINTER,
         "the device pointer of scalar 's' is 0x7002, expected a multiple of 4 bytes"},
        {0x7004, KILN_I64, KILN_E_POINTER,
         "the device pointer of scalar 's' is 0x7004, expected a multiple of 8 bytes"},
        {0x7000, KILN_BF16, KILN_E_TYPE, "scalar 's' has type bf16 in device memory, expected f64, f32, i64 or i32"},
        {0x7000, (kiln_type)99, KILN_E_TYPE, NULL},
        {0x30000 + 16, KILN_F32, KILN_E_OVERLAP, "output 'y' overlaps scalar 's', which is read in device memory"},
        {0x30000 + 1024, KILN_F32, KILN_OK, ""},
        {0x10000, KILN_F32, KILN_OK, ""}, /* an input's first element */
    };
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = program_with_scalar(context, "y = x * s");
    tensors[0].data = (void *)(uintptr_t)0x10000;
    tensors[1].data = (void *)(uintptr_t)0x30000;
    for (int again = 0; again < 2; again++) /* the second time as a shape that is known */
        for (size_t i = 0; i < COUNT(cases); i++) {
            const kiln_scalar s = kiln_scalar_device((const void *)cases[i].address, cases[i].type);
            launch_expect(kiln_run(program, tensors, 2, &s, 1, NULL), cases[i].status, cases[i].sentence);
        }
    const kiln_scalar plain = {.type = KILN_F16};
    launch_expect(kiln_run(program, tensors, 2, &plain, 1, NULL), KILN_E_TYPE,
                  "scalar 's' has type f16, expected f64, i64 or i32");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void plans_are_for_one_or_the_other(void **state) {
    kiln_context *context = launch_context(*state, "", KILN_POLICY_COMPILE);
    kiln_program *program = program_with_scalar(context, "y = x * s");
    void *const data[] = {tensors[0].data, tensors[1].data};
    kiln_plan *plan = NULL;
    const kiln_scalar unknown = kiln_scalar_device(NULL, KILN_F32), value = kiln_scalar_f64(1);
    const kiln_scalar s = kiln_scalar_device((const void *)(uintptr_t)0x7000, KILN_F32);
    const kiln_scalar wide = kiln_scalar_device((const void *)(uintptr_t)0x7000, KILN_F64);
    launch_expect(kiln_plan_create(program, tensors, 2, &unknown, 1, &plan), KILN_OK, ""); /* which needs no address */
    launch_expect(kiln_plan_launch(plan, data, 2, &s, 1, NULL), KILN_OK, "");
    launch_expect(kiln_plan_launch(plan, data, 2, &unknown, 1, NULL), KILN_E_POINTER,
                  "the device pointer of scalar 's' is NULL");
    launch_expect(kiln_plan_launch(plan, data, 2, &value, 1, NULL), KILN_E_TYPE,
                  "scalar 's' has type f64, the plan was made for f32*");
    launch_expect(kiln_plan_launch(plan, data, 2, &wide, 1, NULL), KILN_E_TYPE,
                  "scalar 's' has type f64*, the plan was made for f32*");
    kiln_plan_destroy(plan);
    launch_expect(kiln_plan_create(program, tensors, 2, &value, 1, &plan), KILN_OK, "");
    launch_expect(kiln_plan_launch(plan, data, 2, &s, 1, NULL), KILN_E_TYPE,
                  "scalar 's' has type f32*, the plan was made for f64");
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* To the CPU reference the address is the host's, as a tensor's is. */
static void the_reference_reads_host_memory(void **state) {
    kiln_context *context = launch_context(*state, "", KILN_POLICY_COMPILE);
    kiln_program *program = program_with_scalar(context, "y = x * s");
    const float f32 = 1.5f;
    const double f64 = -2.25;
    const int32_t i32 = -7;
    const int64_t i64 = INT64_C(1) << 40;
    const struct {
        const void *at;
        kiln_type type;
        double value;
    } cases[] = {{&f32, KILN_F32, 1.5}, {&f64, KILN_F64, -2.25}, {&i32, KILN_I32, -7}, {&i64, KILN_I64, 0x1p40}};
    double x[4] = {1, 2, 3, 4}, y[4];
    const int64_t size = 4;
    const kiln_tensor both[] = {kiln_tensor_contiguous(x, KILN_F64, 1, &size),
                                kiln_tensor_contiguous(y, KILN_F64, 1, &size)};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const kiln_scalar s = kiln_scalar_device(cases[i].at, cases[i].type);
        launch_expect(kiln_run_cpu(program, both, 2, &s, 1), KILN_OK, "");
        for (int j = 0; j < 4; j++) assert_true(y[j] == x[j] * cases[i].value);
    }
    const kiln_scalar bad = kiln_scalar_device(NULL, KILN_F64);
    launch_expect(kiln_run_cpu(program, both, 2, &bad, 1), KILN_E_POINTER, "the device pointer of scalar 's' is NULL");
    kiln_type type = KILN_BOOL;
    launch_expect(kiln_program_output_type(program, both, &bad, 0, &type), KILN_OK, "");
    assert_int_equal(type, KILN_F64);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void records_and_preparations_know_them(void **state) {
    launch_fixture *f = *state;
    char path[128], line[1024] = "";
    kiln_context *context = launch_context_recording(f, path);
    kiln_program *program = program_with_scalar(context, "y = softmax(x * s)");
    const kiln_scalar unknown = kiln_scalar_device(NULL, KILN_F32);
    const kiln_scalar s = kiln_scalar_device((const void *)(uintptr_t)0x7000, KILN_F32);
    const kiln_problem problem = {program, tensors, 2, &unknown, 1, 0, 0, NULL};
    kiln_preparation *preparation = NULL;
    launch_expect(kiln_prepare(context, &problem, 1, NULL, &preparation), KILN_OK, "");
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_OK, "");
    kiln_prepare_destroy(preparation);
    launch_expect(kiln_run(program, tensors, 2, &s, 1, NULL), KILN_OK, "");
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    assert_int_equal(stats.compiled, 1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, "\"scalars\":[\"s=f32*\"]"));
    fclose(file);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(a_launch_passes_the_address),        WITH_LAUNCHES(bad_ones_are_refused),
        WITH_LAUNCHES(plans_are_for_one_or_the_other),     WITH_LAUNCHES(the_reference_reads_host_memory),
        WITH_LAUNCHES(records_and_preparations_know_them),
    };
    setenv("KILN_WORKER", KILN_BUILT_WORKER, 1);
    return cmocka_run_group_tests_name("device_scalars", tests, NULL, NULL);
}

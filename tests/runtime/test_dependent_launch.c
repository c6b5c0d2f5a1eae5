/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launch, where a call or a plan asks for it: how kernels are launched, and what tells them from
 * others. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache/pack_writer.h"
#include "runtime/packing.h"
#include "support/launch_fixture.h"

#define SHAPE "f16[8,64]@256 f16[8,64]@512"

static kiln_tensor tensors[KILN_MAX_TENSORS];

static kiln_status run(const kiln_program *program, kiln_policy policy, int dependent) {
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.policy = policy;
    options.dependent_launch = dependent;
    return kiln_run_with_options(program, tensors, bound_tensors(SHAPE, tensors), NULL, 0, NULL, &options);
}

static kiln_context_stats stats_of(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    return stats;
}

static void calls_that_ask_for_it_have_a_kernel_of_their_own(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    const kiln_policy policies[] = {KILN_POLICY_CONTEXT, KILN_POLICY_ANY_SHAPE};
    for (int p = 0; p < 2; p++) {
        const int64_t compiled = stats_of(context).compiled;
        const long dependent = f->fake->dependent_launches;
        for (int i = 0; i < 3; i++) {
            launch_expect(run(program, policies[p], 0), KILN_OK, "");
            assert_int_equal(f->fake->dependent_launches, dependent + i);
            launch_expect(run(program, policies[p], 1), KILN_OK, "");
            assert_int_equal(f->fake->dependent_launches, dependent + i + 1);
        }
        assert_int_equal(stats_of(context).compiled, compiled + 2);
        assert_int_equal(stats_of(context).shapes, 2 * p + 2);
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void plans_keep_what_they_were_made_for(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    const size_t count = bound_tensors(SHAPE, tensors);
    void *const data[] = {tensors[0].data, tensors[1].data};
    options.dependent_launch = 1;
    launch_expect(kiln_plan_create_with_options(program, tensors, count, NULL, 0, &options, &plan), KILN_OK, "");
    const long before = f->fake->dependent_launches;
    launch_expect(kiln_plan_launch(plan, data, count, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(f->fake->dependent_launches, before + 1);
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    const char *wait = strstr(info.source, "    kiln_launch_wait();\n"),
               *row = strstr(info.source, "kiln_row row(args");
    assert_true(wait && row && wait < row);
    assert_non_null(strstr(info.source, "    kiln_launch_dependents();\n"));
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void older_devices_and_drivers_do_without(void **state) {
    launch_fixture *f = *state;
    f->fake->arch = 86;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    const long before = f->fake->dependent_launches;
    launch_expect(run(program, KILN_POLICY_CONTEXT, 0), KILN_OK, "");
    launch_expect(run(program, KILN_POLICY_CONTEXT, 1), KILN_OK, "");
    assert_int_equal(f->fake->dependent_launches, before);
    assert_int_equal(stats_of(context).compiled, 1); /* nor is it another kernel */
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    f->fake->arch = 90;
}

static void packs_and_preparations_have_such_kernels(void **state) {
    launch_fixture *f = *state;
    char path[128], line[1024] = "";
    kiln_context *context = launch_context_recording(f, path);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.dependent_launch = 1;
    const size_t count = bound_tensors(SHAPE, tensors);
    const kiln_problem problem = {program, tensors, count, NULL, 0, 0, 0, &options};
    kiln_preparation *preparation = NULL;
    launch_expect(kiln_prepare(context, &problem, 1, NULL, &preparation), KILN_OK, "");
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_OK, "");
    kiln_prepare_destroy(preparation);
    launch_expect(run(program, KILN_POLICY_NEVER_COMPILE, 1), KILN_OK, "");
    launch_expect(run(program, KILN_POLICY_NEVER_COMPILE, 0), KILN_E_WOULD_COMPILE, NULL);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, ",\"dependent_launch\":true}"));
    fclose(file);

    kiln__pack_writer writer = {NULL, 0, 0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    const kiln__device device = kiln__device_typical(90);
    const kiln__call call = {.program = program, .tensors = tensors, .policy = KILN_POLICY_COMPILE, .dependent = true};
    launch_expect(kiln__packing_add_any_shape(&writer, &call, 90, false), KILN_OK, "");
    launch_expect(kiln__packing_add(&writer, &call, &device, false), KILN_OK, "");
    assert_int_equal(writer.count, 2);
    launch_expect(kiln__pack_writer_finish(&writer, &bytes, &size), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    const kiln_pack pack = {NULL, bytes, size};
    kiln_context_options how = KILN_CONTEXT_OPTIONS_INIT;
    how.cache_dir = "";
    how.driver_path = KILN_FAKE_DRIVER;
    how.nvrtc_path = f->nvrtc;
    how.policy = KILN_POLICY_NEVER_COMPILE;
    how.packs = &pack;
    how.pack_count = 1;
    assert_int_equal(kiln_context_create(&how, &context), KILN_OK);
    program = launch_program(context, "y = softmax(x)");
    launch_expect(run(program, KILN_POLICY_ANY_SHAPE, 1), KILN_OK, "");
    launch_expect(run(program, KILN_POLICY_CONTEXT, 1), KILN_OK, "");
    launch_expect(run(program, KILN_POLICY_CONTEXT, 0), KILN_E_WOULD_COMPILE, NULL);
    assert_true(stats_of(context).from_packs >= 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    kiln__pack_writer_free(&writer);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(calls_that_ask_for_it_have_a_kernel_of_their_own),
        WITH_LAUNCHES(plans_keep_what_they_were_made_for),
        WITH_LAUNCHES(older_devices_and_drivers_do_without),
        WITH_LAUNCHES(packs_and_preparations_have_such_kernels),
    };
    return cmocka_run_group_tests_name("dependent_launch", tests, NULL, NULL);
}

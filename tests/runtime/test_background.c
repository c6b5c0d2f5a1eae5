/* SPDX-License-Identifier: Apache-2.0 */
/* Exact kernels that are compiled in the background: what runs meanwhile, the swap, and how it all ends. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define SHAPE "f16[8,64] f16[8,64]"
#define LIMIT_MS 20000 /* of whatever is waited for */

static kiln_context_stats stats_of(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    return stats;
}

static void sleep_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Runs the program until so many kernels have been loaded. */
static void run_until_loaded(const kiln_program *program, int64_t loads) {
    for (int ms = 0; ms < LIMIT_MS && stats_of(program->context).loads < loads; ms += 5) {
        launch_expect(launch_run(program, SHAPE), KILN_OK, "");
        sleep_ms(5);
    }
    assert_int_equal(stats_of(program->context).loads, loads);
}

static int any_shape_of(const kiln_program *program) {
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    const size_t count = bound_tensors(SHAPE, tensors);
    assert_int_equal(kiln_plan_create(program, tensors, count, NULL, 0, &plan), KILN_OK);
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    kiln_plan_destroy(plan);
    return info.any_shape;
}

static void the_exact_kernel_takes_over(launch_fixture *f, const char *cache_dir) {
    kiln_context *context = launch_context(f, cache_dir, KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, SHAPE), KILN_OK, "");
    assert_int_equal(stats_of(context).any_shape, 1);
    assert_int_equal(stats_of(context).loads, 1);
    run_until_loaded(program, 2);
    assert_int_equal(any_shape_of(program), 0);
    assert_int_equal(stats_of(context).compiled, 2);
    assert_int_equal(stats_of(context).shapes, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void the_exact_kernel_takes_over_from_disk(void **state) {
    launch_fixture *f = *state;
    the_exact_kernel_takes_over(f, f->dir);
    /* It is there from the beginning where it is on disk. */
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    assert_int_equal(any_shape_of(program), 0);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void the_exact_kernel_takes_over_from_memory(void **state) { the_exact_kernel_takes_over(*state, ""); }

/* A definition of the first schedule's source that is not in the second's. */
static void find_own_line(const kiln_program *program, char *line, size_t size) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    (void)bound_tensors(SHAPE, tensors);
    const kiln__device device = kiln__device_typical(90);
    kiln__prepared first, second;
    assert_int_equal(kiln__prepare(program, tensors, NULL, &device, 0, &first), KILN_OK);
    assert_int_equal(kiln__prepare(program, tensors, NULL, &device, 1, &second), KILN_OK);
    const char *at = first.source;
    for (; *at; at += strcspn(at, "\n") + 1) {
        snprintf(line, size, "%.*s\n", (int)strcspn(at, "\n"), at);
        if (!strncmp(line, "#define", 7) && !strstr(second.source, line)) break;
    }
    assert_true(*at);
    kiln__prepared_free(&first);
    kiln__prepared_free(&second);
}

static void the_exact_kernel_takes_over_where_the_first_schedule_spills(void **state) {
    launch_fixture *f = *state;
    char line[256];
    kiln_context *context = launch_context(f, "", KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    find_own_line(program, line, sizeof line);
    setenv("FAKE_NVRTC_SPILL", line, 1);
    run_until_loaded(program, 2);
    assert_int_equal(stats_of(context).compiled, 3); /* the one for any shape, the one that spills, the next */
    assert_int_equal(stats_of(context).shapes, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    unsetenv("FAKE_NVRTC_SPILL");
}

static void a_plan_stays_and_the_next_one_is_exact(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_plan *plan = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    const size_t count = bound_tensors(SHAPE, tensors);
    assert_int_equal(kiln_plan_create(program, tensors, count, NULL, 0, &plan), KILN_OK);
    for (int ms = 0; ms < LIMIT_MS && any_shape_of(program); ms += 5) sleep_ms(5);
    assert_int_equal(any_shape_of(program), 0);
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    assert_int_equal(info.any_shape, 1);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_context_ends_while_compiling(void **state) {
    launch_fixture *f = *state;
    setenv("FAKE_NVRTC_MS", "150", 1);
    kiln_context *context = launch_context(f, "", KILN_POLICY_BACKGROUND);
    kiln_program *programs[6];
    static const char *const texts[] = {"y = softmax(x)", "y = x - max(x)", "y = x / sum(x)",
                                        "y = x * 2",      "y = exp(x)",     "y = x - mean(x)"};
    for (size_t i = 0; i < 6; i++) {
        programs[i] = launch_program(context, texts[i]);
        launch_expect(launch_run(programs[i], SHAPE), KILN_OK, "");
    }
    for (size_t i = 0; i < 6; i++) kiln_program_destroy(programs[i]); /* what waits for them lives on */
    kiln_context_destroy(context);
    unsetenv("FAKE_NVRTC_MS");
}

static void what_cannot_be_compiled_leaves_the_other_one(void **state) {
    launch_fixture *f = *state;
    setenv("FAKE_NVRTC_REFUSE", "define KILN_COLS", 1); /* of exact kernels alone */
    kiln_context *context = launch_context(f, "", KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    for (int ms = 0; ms < LIMIT_MS && !stats_of(context).failed_compiles; ms += 5) {
        launch_expect(launch_run(program, SHAPE), KILN_OK, "");
        sleep_ms(5);
    }
    for (int i = 0; i < 3; i++) launch_expect(launch_run(program, SHAPE), KILN_OK, "");
    assert_int_equal(stats_of(context).failed_compiles, 1);
    assert_int_equal(stats_of(context).loads, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    unsetenv("FAKE_NVRTC_REFUSE");
}

static void programs_without_the_other_kernel_wait(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_BACKGROUND);
    kiln_program *program = launch_program(context, "y = cumsum(x) - max(x, block = 2)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    assert_int_equal(stats_of(context).compiled, 1);
    assert_int_equal(stats_of(context).any_shape, 0);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_call_that_may_wait_gets_the_exact_kernel(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_ANY_SHAPE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    assert_int_equal(any_shape_of(program), 1);
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    const size_t count = bound_tensors("f16[8,64]@64 f16[8,64]@64", tensors);
    const kiln_policy policies[] = {KILN_POLICY_NEVER_COMPILE, KILN_POLICY_NEVER_COMPILE, KILN_POLICY_COMPILE,
                                    KILN_POLICY_NEVER_COMPILE};
    const int64_t compiled[] = {1, 1, 2, 2}, shapes[] = {1, 1, 1, 1};
    for (size_t i = 0; i < 4; i++) {
        options.policy = policies[i];
        launch_expect(kiln_run_with_options(program, tensors, count, NULL, 0, NULL, &options), KILN_OK, "");
        assert_int_equal(stats_of(context).compiled, compiled[i]);
        assert_int_equal(stats_of(context).shapes, shapes[i]);
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(the_exact_kernel_takes_over_from_disk),
        WITH_LAUNCHES(the_exact_kernel_takes_over_from_memory),
        WITH_LAUNCHES(the_exact_kernel_takes_over_where_the_first_schedule_spills),
        WITH_LAUNCHES(a_plan_stays_and_the_next_one_is_exact),
        WITH_LAUNCHES(a_context_ends_while_compiling),
        WITH_LAUNCHES(what_cannot_be_compiled_leaves_the_other_one),
        WITH_LAUNCHES(programs_without_the_other_kernel_wait),
        WITH_LAUNCHES(a_call_that_may_wait_gets_the_exact_kernel),
    };
    return cmocka_run_group_tests_name("background", tests, NULL, NULL);
}

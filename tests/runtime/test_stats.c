/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of each program, and that it adds up to what is counted of its context. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define TENSORS "f16[8,64] f16[8,64]"
enum { THREADS = 24, CALLS = 500 }; /* more threads than places to count in */

static kiln_program_stats stats_of(const kiln_program *program) {
    kiln_program_stats stats = KILN_PROGRAM_STATS_INIT;
    launch_expect(kiln_program_get_stats(program, &stats), KILN_OK, "");
    return stats;
}

static kiln_context_stats whole_of(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    launch_expect(kiln_context_get_stats(context, &stats), KILN_OK, "");
    return stats;
}

static void each_program_has_its_own_numbers(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *first = launch_program(context, "y = softmax(x)"), *second = launch_program(context, "y = x + 1");
    kiln_program *same = launch_program(context, "y = softmax( x )");
    static const kiln_program_stats nothing = KILN_PROGRAM_STATS_INIT;
    kiln_program_stats stats = stats_of(first);
    assert_memory_equal(&stats, &nothing, sizeof stats);
    setenv("FAKE_NVRTC_MS", "30", 1);
    launch_expect(launch_run(first, TENSORS), KILN_OK, "");
    unsetenv("FAKE_NVRTC_MS");
    launch_expect(launch_run(first, TENSORS), KILN_OK, "");
    launch_expect(launch_run(first, "f16[9,64] f16[9,64]"), KILN_OK, "");
    stats = stats_of(first);
    assert_int_equal(stats.launches, 3);
    assert_int_equal(stats.shapes, 2);
    assert_int_equal(stats.compiled, 1);
    assert_int_equal(stats.from_memory, 1); /* of the second shape */
    assert_int_equal(stats.loads, 1);
    assert_true(stats.compile_seconds >= 0.03 && stats.prepare_seconds >= stats.compile_seconds);
    launch_expect(launch_run(same, TENSORS), KILN_OK, ""); /* the first one's kernel */
    stats = stats_of(same);
    assert_int_equal(stats.compiled + stats.loads, 0);
    assert_int_equal(stats.from_memory, 1);
    assert_int_equal(stats.launches, 1);
    assert_true(stats.compile_seconds == 0 && stats.prepare_seconds > 0);
    stats = stats_of(second);
    assert_memory_equal(&stats, &nothing, sizeof stats);
    const kiln_context_stats whole = whole_of(context);
    assert_int_equal(whole.compiled, 1);
    assert_int_equal(whole.from_memory, 2);
    assert_int_equal(whole.shapes, 3);
    assert_true(whole.prepare_seconds >= stats_of(first).prepare_seconds + stats_of(same).prepare_seconds - 1e-6);
    kiln_program_destroy(first);
    kiln_program_destroy(same);
    kiln_program_destroy(second);
    assert_int_equal(whole_of(context).compiled, 1); /* of programs that are gone, too */
    kiln_context_destroy(context);

    context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    first = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(first, TENSORS), KILN_OK, "");
    assert_int_equal(stats_of(first).from_disk, 1);
    second = launch_program(context, "source_refused = x");
    assert_int_equal(launch_run(second, TENSORS), KILN_E_COMPILE);
    stats = stats_of(second);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.failed_compiles, 1);
    assert_int_equal(stats.launches + stats.shapes, 0);
    kiln_program_destroy(first);
    kiln_program_destroy(second);
    kiln_context_destroy(context);
}

static void launches_of_plans_count_and_those_that_fail_do_not(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    void *data[2] = {(void *)((uintptr_t)1 << 40), (void *)((uintptr_t)2 << 40)};
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
    assert_int_equal(stats_of(program).launches, 0);
    for (int i = 0; i < 3; i++) launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    launch_fail(f, "cuLaunchKernel", KILN__CUDA_ERROR_INVALID_VALUE, 1);
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_E_LAUNCH, NULL);
    assert_int_equal(stats_of(program).launches, 3);
    assert_int_equal(stats_of(program).shapes, 0);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

typedef struct launcher {
    pthread_t thread;
    const launch_fixture *fixture;
    const kiln_program *program;
    int failed;
} launcher;

static void *launch_many(void *user) {
    launcher *l = user;
    launch_use_device(l->fixture, 0);
    for (int i = 0; i < CALLS; i++) {
        l->failed += launch_run(l->program, TENSORS) != KILN_OK;
        kiln_program_stats stats = KILN_PROGRAM_STATS_INIT;
        l->failed += i % 50 == 0 && (kiln_program_get_stats(l->program, &stats) || stats.launches <= i);
    }
    return NULL;
}

static void no_launch_of_many_threads_is_lost(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launcher launchers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        launchers[i] = (launcher){.fixture = f, .program = program};
        assert_int_equal(pthread_create(&launchers[i].thread, NULL, launch_many, &launchers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(launchers[i].thread, NULL);
        assert_int_equal(launchers[i].failed, 0);
    }
    assert_int_equal(stats_of(program).launches, THREADS * CALLS);
    assert_int_equal(stats_of(program).compiled, 1);
    assert_int_equal(stats_of(program).shapes, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_child_goes_on_from_its_parents_numbers(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    for (int i = 0; i < 3; i++) launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    const pid_t child = fork();
    if (!child) {
        kiln_program_stats stats = KILN_PROGRAM_STATS_INIT;
        int wrong = kiln_program_get_stats(program, &stats) || stats.launches != 3 || stats.shapes != 0;
        wrong |= launch_run(program, TENSORS) || kiln_program_get_stats(program, &stats);
        wrong |= stats.launches != 4 || stats.shapes != 1 || stats.loads != 2 || stats.compiled != 1;
        _exit(wrong);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stats_of(program).launches, 3);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void bad_arguments_are_told(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_program_stats stats = KILN_PROGRAM_STATS_INIT, shorter = {.struct_size = 16};
    char sentence[128];
    launch_expect(kiln_program_get_stats(NULL, &stats), KILN_E_ARGUMENT, "program is NULL");
    launch_expect(kiln_program_get_stats(program, NULL), KILN_E_ARGUMENT, "stats is NULL");
    snprintf(sentence, sizeof sentence,
             "kiln_program_stats.struct_size is 16, expected sizeof(kiln_program_stats), %zu", sizeof stats);
    launch_expect(kiln_program_get_stats(program, &shorter), KILN_E_ARGUMENT, sentence);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(each_program_has_its_own_numbers),
        WITH_LAUNCHES(launches_of_plans_count_and_those_that_fail_do_not),
        WITH_LAUNCHES(no_launch_of_many_threads_is_lost),
        WITH_LAUNCHES(a_child_goes_on_from_its_parents_numbers),
        WITH_LAUNCHES(bad_arguments_are_told),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}

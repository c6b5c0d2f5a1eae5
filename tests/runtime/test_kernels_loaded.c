/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernels stay loaded: what is one kernel, which are dropped and which never, and that nothing is launched
 * after it was unloaded. The stand-in driver counts, and knows what it has unloaded. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"
#include "support/used_memory.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TENSORS "f16[8,64] f16[8,64]"

static kiln_context *limited_context(launch_fixture *f, int64_t kernels, int64_t bytes) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.loaded_max_count = kernels;
    options.loaded_max_bytes = bytes;
    kiln_context *context = NULL;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    f->fake->keep_unloaded = 1;
    f->fake->launches_of_unloaded = 0;
    return context;
}

/* The n-th of many programs whose kernels differ. */
static kiln_program *numbered(kiln_context *context, int n) {
    char text[64];
    snprintf(text, sizeof text, "y = x * %d + sum(x)", n + 2);
    return launch_program(context, text);
}

static void run_numbered(kiln_context *context, int n) {
    kiln_program *program = numbered(context, n);
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    kiln_program_destroy(program);
}

static long loaded(const launch_fixture *f) { return (long)f->fake->loads - (long)f->fake->unloads; }

/* ---- what is one kernel ---- */

static void comments_white_space_and_names_of_values_make_no_kernel(void **state) {
    launch_fixture *f = *state;
    static const char *const texts[] = {"y = x + 1 # 1",
                                        "y = x + 1 # 2",
                                        "y=x+1",
                                        "\n# above\ny  =  (x + 1);;\n",
                                        "t = x + 1; y = t",
                                        ("u = x + 1\ny = u # \\ ?"
                                         "?/")};
    for (int round = 0; round < 2; round++) { /* the second finds it on disk */
        kiln_context *context = limited_context(f, 0, 0);
        for (size_t i = 0; i < COUNT(texts); i++) {
            kiln_program *program = launch_program(context, texts[i]);
            launch_expect(launch_run(program, TENSORS), KILN_OK, "");
            kiln_program_destroy(program);
        }
        assert_int_equal(f->fake->loads, round + 1);
        assert_int_equal(launch_compiles(f), 1);
        kiln_context_destroy(context);
    }
}

static void names_of_tensors_do_make_a_kernel(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = limited_context(f, 0, 0);
    static const char *const texts[] = {"y = x + 1", "z = x + 1", "y = a + 1"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        kiln_program *program = launch_program(context, texts[i]);
        launch_expect(launch_run(program, TENSORS), KILN_OK, "");
        kiln_program_destroy(program);
        assert_int_equal(f->fake->loads, i + 1); /* they stand in the source, which stays readable */
    }
    kiln_context_destroy(context);
}

/* ---- which are dropped ---- */

static void beyond_the_limit_the_least_recently_used_are_dropped(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = limited_context(f, 16, 0);
    kiln_program *hot = numbered(context, 1000), *cold = numbered(context, 1001);
    launch_expect(launch_run(cold, TENSORS), KILN_OK, "");
    for (int n = 0; n < 100; n++) {
        launch_expect(launch_run(hot, TENSORS), KILN_OK, "");
        run_numbered(context, n);
        assert_true(loaded(f) <= 16);
        assert_int_equal(f->fake->unload_capture_mode, n < 14 ? f->fake->unload_capture_mode : 2); /* relaxed */
    }
    assert_int_equal(f->fake->loads, 102);
    assert_true(loaded(f) >= 14); /* an eighth at once */
    launch_expect(launch_run(hot, TENSORS), KILN_OK, "");
    assert_int_equal(f->fake->loads, 102);
    int compiles = launch_compiles(f);
    launch_expect(launch_run(cold, TENSORS), KILN_OK, ""); /* its shape was forgotten with its kernel */
    assert_int_equal(f->fake->loads, 103);
    assert_int_equal(launch_compiles(f), compiles); /* from disk */
    assert_int_equal(f->fake->launches_of_unloaded, 0);
    kiln_program_destroy(hot);
    kiln_program_destroy(cold);
    kiln_context_destroy(context);
    assert_int_equal(loaded(f), 0);
}

static void limits_count_kernels_or_bytes_of_each_device(void **state) {
    launch_fixture *f = *state;
    static const struct {
        int64_t kernels, bytes;
        long least, most;
    } cases[] = {{0, 0, 40, 40}, {-1, -1, 40, 40}, {8, -1, 7, 8}, {1, 0, 1, 1}, {-1, 1, 1, 1}, {-1, 400000, 2, 20}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_context *context = limited_context(f, cases[i].kernels, cases[i].bytes);
        for (int n = 0; n < 40; n++) run_numbered(context, n);
        if (loaded(f) < cases[i].least || loaded(f) > cases[i].most)
            fail_msg("limits %lld and %lld: %ld kernels are loaded, expected %ld to %ld", (long long)cases[i].kernels,
                     (long long)cases[i].bytes, loaded(f), cases[i].least, cases[i].most);
        long before = loaded(f);
        launch_use_device(f, 1);
        run_numbered(context, 0);
        assert_int_equal(loaded(f), before + 1); /* another device's count for themselves */
        launch_use_device(f, 0);
        kiln_context_destroy(context);
        assert_int_equal(loaded(f), 0);
    }
}

static void a_plans_kernel_is_not_dropped(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = limited_context(f, 4, 0);
    kiln_program *program = numbered(context, 1000);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plans[2] = {NULL};
    void *data[2] = {(void *)((uintptr_t)1 << 40), (void *)((uintptr_t)2 << 40)};
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    for (int i = 0; i < 2; i++) launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plans[i]), KILN_OK, "");
    kiln_plan_destroy(plans[0]);
    for (int n = 0; n < 20; n++) run_numbered(context, n);
    launch_expect(kiln_plan_launch(plans[1], data, 2, NULL, 0, NULL), KILN_OK, "");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    assert_int_equal(f->fake->loads, 21);
    kiln_plan_destroy(plans[1]);
    for (int n = 20; n < 40; n++) run_numbered(context, n);
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    assert_int_equal(f->fake->loads, 42);
    assert_true(loaded(f) <= 4);
    assert_int_equal(f->fake->launches_of_unloaded, 0);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static kiln_status run_on(const kiln_program *program, void *stream) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    size_t count = bound_tensors(TENSORS, tensors);
    for (size_t t = 0; t < count; t++) tensors[t].data = (void *)((uintptr_t)(t + 1) << 40);
    return kiln_run(program, tensors, 2, NULL, 0, stream);
}

static void a_kernel_of_a_graph_is_not_dropped_and_none_is_during_its_capture(void **state) {
    launch_fixture *f = *state;
    int stream, other;
    kiln_context *context = limited_context(f, 4, 0);
    kiln_program *program = numbered(context, 1000);
    launch_expect(run_on(program, &stream), KILN_OK, "");
    f->fake->captured_stream = &stream;
    launch_expect(run_on(program, &stream), KILN_OK, "");
    f->fake->captured_stream = NULL;
    for (int n = 0; n < 20; n++) run_numbered(context, n);
    launch_expect(run_on(program, &other), KILN_OK, "");
    assert_int_equal(f->fake->loads, 21);
    long unloads = f->fake->unloads;
    f->fake->captured_stream = &stream;
    for (int n = 20; n < 40; n++) {
        kiln_program *one = numbered(context, n);
        launch_expect(run_on(one, &stream), KILN_OK, "");
        kiln_program_destroy(one);
    }
    assert_int_equal(f->fake->unloads, unloads);
    f->fake->captured_stream = NULL;
    run_numbered(context, 100); /* what the graphs have stays */
    assert_true(loaded(f) >= 21);
    kiln_program *unknown = numbered(context, 1001);
    launch_expect(run_on(unknown, &other), KILN_OK, "");
    launch_fail(f, "cuStreamIsCapturing", 1, 1);
    launch_expect(run_on(unknown, &other), KILN_OK, ""); /* the driver does not tell: it may be */
    long loads = f->fake->loads;
    for (int n = 200; n < 220; n++) run_numbered(context, n);
    launch_expect(run_on(unknown, &other), KILN_OK, "");
    assert_int_equal(f->fake->loads, loads + 20);
    kiln_program_destroy(unknown);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(loaded(f), 0);
}

/* ---- threads ---- */

typedef struct crowded {
    pthread_t thread;
    const launch_fixture *f;
    kiln_program *const *programs;
    unsigned seed;
    int failed;
} crowded;

static void *run_once(void *user) {
    crowded *c = user;
    launch_use_device(c->f, 0);
    c->failed = launch_run(c->programs[0], TENSORS) != KILN_OK;
    return NULL;
}

/* cancelled: the thread that launches is, meanwhile. */
static void launch_held(launch_fixture *f, bool cancelled) {
    kiln_context *context = limited_context(f, 2, 0);
    kiln_program *program = numbered(context, 1000);
    crowded one = {.f = f, .programs = &program, .failed = -1};
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    f->fake->hold = 1;
    assert_int_equal(pthread_create(&one.thread, NULL, run_once, &one), 0);
    while (f->fake->hold != 2) sched_yield();
    for (int n = 0; n < 20; n++) run_numbered(context, n);
    assert_true(loaded(f) > 2); /* it was dropped, and what was dropped after it waits as well */
    if (cancelled) pthread_cancel(one.thread);
    f->fake->hold = 0;
    pthread_join(one.thread, NULL);
    assert_int_equal(one.failed, 0);
    assert_int_equal(f->fake->launches_of_unloaded, 0);
    for (int n = 20; n < 24; n++) run_numbered(context, n);
    assert_true(loaded(f) <= 2);
    long loads = f->fake->loads;
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    assert_int_equal(f->fake->loads, loads + 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_kernel_that_a_thread_is_about_to_launch_is_unloaded_afterwards(void **state) {
    launch_held(*state, false);
}

static void a_thread_is_cancelled_before_or_after_a_launch(void **state) { launch_held(*state, true); }

enum { THREADS = 6, PROGRAMS = 24, CALLS = 3000 };

static void *run_any(void *user) {
    crowded *c = user;
    launch_use_device(c->f, 0);
    for (int i = 0; i < CALLS; i++) {
        c->seed = c->seed * 1664525u + 1013904223u;
        const unsigned draw = c->seed >> 16;
        /* Mostly the same few, which others are dropping all the while. */
        const kiln_program *program = c->programs[draw % 16 ? draw % 4 : draw / 16 % PROGRAMS];
        c->failed += launch_run(program, TENSORS) != KILN_OK;
    }
    return NULL;
}

static void nothing_is_launched_after_it_was_unloaded(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = limited_context(f, 3, 0);
    kiln_program *programs[PROGRAMS];
    crowded all[THREADS];
    for (int n = 0; n < PROGRAMS; n++) programs[n] = numbered(context, n);
    for (unsigned t = 0; t < THREADS; t++) {
        all[t] = (crowded){.f = f, .programs = programs, .seed = t + 1};
        assert_int_equal(pthread_create(&all[t].thread, NULL, run_any, &all[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(all[t].thread, NULL);
        assert_int_equal(all[t].failed, 0);
    }
    assert_int_equal(f->fake->launches_of_unloaded, 0);
    assert_int_equal(f->fake->launches, THREADS * CALLS);
    assert_true(f->fake->unloads > 100);
    for (int n = 0; n < PROGRAMS; n++) kiln_program_destroy(programs[n]);
    kiln_context_destroy(context);
    assert_int_equal(loaded(f), 0);
}

/* ---- memory and time ---- */

static void creating_running_and_destroying_leaves_nothing(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = limited_context(f, 0, 0);
    size_t before = 0;
    for (int i = 0; i < 6000; i++) {
        run_numbered(context, i % 3);
        if (i == 1000) before = used_memory();
    }
    size_t after = used_memory();
    if (after > before + 20000) fail_msg("5,000 cycles left %zu bytes", after - before);
    kiln_context_destroy(context);
}

static int64_t found_in_memory(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    return stats.from_memory;
}

static void beyond_the_limit_of_shapes_the_least_recently_used_are_forgotten(void **state) {
    launch_fixture *f = *state;
    f->detail = KILN_LOG_DETAIL_INFO;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x + 1"), *hot = numbered(context, 0);
    const int64_t limit = 65536;
    kiln_tensor tensors[2];
    launch_expect(launch_run(hot, TENSORS), KILN_OK, "");
    for (int64_t n = 1; n < limit + 1000; n++) {
        for (uintptr_t t = 0; t < 2; t++) tensors[t] = kiln_tensor_contiguous((void *)((t + 1) << 40), KILN_F16, 1, &n);
        launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
        if (n % 1000 == 0) launch_expect(launch_run(hot, TENSORS), KILN_OK, "");
    }
    assert_string_equal(f->message, "forgot the 8192 shapes that were used least recently, of 65536");
    const int64_t found = found_in_memory(context); /* by each shape that is new */
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
    launch_expect(launch_run(hot, TENSORS), KILN_OK, "");
    assert_int_equal(found_in_memory(context), found);
    tensors[0].sizes[0] = tensors[1].sizes[0] = 1;
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(found_in_memory(context), found + 1);
    kiln_program_destroy(program);
    kiln_program_destroy(hot);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(comments_white_space_and_names_of_values_make_no_kernel),
        WITH_LAUNCHES(names_of_tensors_do_make_a_kernel),
        WITH_LAUNCHES(beyond_the_limit_the_least_recently_used_are_dropped),
        WITH_LAUNCHES(limits_count_kernels_or_bytes_of_each_device),
        WITH_LAUNCHES(a_plans_kernel_is_not_dropped),
        WITH_LAUNCHES(a_kernel_of_a_graph_is_not_dropped_and_none_is_during_its_capture),
        WITH_LAUNCHES(a_kernel_that_a_thread_is_about_to_launch_is_unloaded_afterwards),
        WITH_LAUNCHES(a_thread_is_cancelled_before_or_after_a_launch),
        WITH_LAUNCHES(nothing_is_launched_after_it_was_unloaded),
        WITH_LAUNCHES(creating_running_and_destroying_leaves_nothing),
        WITH_LAUNCHES(beyond_the_limit_of_shapes_the_least_recently_used_are_forgotten),
    };
    return cmocka_run_group_tests_name("kernels_loaded", tests, NULL, NULL);
}

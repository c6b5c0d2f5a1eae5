/* SPDX-License-Identifier: Apache-2.0 */
/* kiln_prepare: what is there afterwards, what is told of it, and every way in which it may end. */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define COUNT 6
#define SHAPE "f16[8,64] f16[8,64]"
static const char *const texts[COUNT] = {"y = softmax(x)", "y = x - max(x)", "y = x / sum(x)",
                                         "y = x * 12345",  "y = exp(x)",     "y = x - mean(x)"};

/* Programs and the problems that ask for them. */
typedef struct list {
    kiln_context *context;
    kiln_program *programs[COUNT];
    kiln_tensor tensors[COUNT][KILN_MAX_TENSORS];
    kiln_problem problems[COUNT];
} list;

static void make_list(list *l, kiln_context *context, int arch) {
    l->context = context;
    for (size_t i = 0; i < COUNT; i++) {
        l->programs[i] = launch_program(context, texts[i]);
        l->problems[i] = (kiln_problem)KILN_PROBLEM_INIT;
        l->problems[i].program = l->programs[i];
        l->problems[i].tensors = l->tensors[i];
        l->problems[i].tensor_count = bound_tensors(SHAPE, l->tensors[i]);
        l->problems[i].arch = arch;
    }
}

static void free_programs(list *l) {
    for (size_t i = 0; i < COUNT; i++) kiln_program_destroy(l->programs[i]);
}

static void free_list(list *l) {
    free_programs(l);
    kiln_context_destroy(l->context);
}

static kiln_context_stats stats_of(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    return stats;
}

static kiln_prepare_result result_of(const kiln_preparation *preparation, size_t index) {
    kiln_prepare_result result = KILN_PREPARE_RESULT_INIT;
    assert_int_equal(kiln_prepare_get_result(preparation, index, &result), KILN_OK);
    assert_int_equal(result.index, index);
    return result;
}

static kiln_preparation *prepare(list *l, int jobs) {
    kiln_preparation *preparation = NULL;
    kiln_prepare_options options = KILN_PREPARE_OPTIONS_INIT;
    options.jobs = jobs;
    launch_expect(kiln_prepare(l->context, l->problems, COUNT, &options, &preparation), KILN_OK, "");
    return preparation;
}

static void prepare_all(list *l, int jobs) {
    kiln_preparation *preparation = prepare(l, jobs);
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_OK, "");
    kiln_prepare_destroy(preparation);
}

static void run_all(const list *l) {
    for (size_t i = 0; i < COUNT; i++) launch_expect(launch_run(l->programs[i], SHAPE), KILN_OK, "");
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

/* Processes that compiled, other than this one, and compiles, by what the stand-in wrote. */
static void read_compiles(const char *path, int *compiles, int *elsewhere) {
    char line[128];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (*compiles = *elsewhere = 0; fgets(line, sizeof line, file); ++*compiles) {
        const char *pid = strchr(line, ' ');
        assert_non_null(pid);
        *elsewhere += atoi(pid) != getpid();
    }
    fclose(file);
}

/* ---- what is there afterwards ---- */

static void calls_find_what_was_prepared_in(launch_fixture *f, const char *cache_dir, int jobs) {
    list l;
    make_list(&l, launch_context(f, cache_dir, KILN_POLICY_COMPILE), 0);
    prepare_all(&l, jobs);
    assert_int_equal(stats_of(l.context).compiled, COUNT);
    assert_int_equal(stats_of(l.context).loads, 0); /* which is left to who has a CUDA context */
    assert_int_equal(stats_of(l.context).kernels, COUNT);
    run_all(&l);
    const kiln_context_stats after = stats_of(l.context);
    assert_int_equal(after.compiled, COUNT);
    assert_int_equal(after.from_memory, COUNT);
    assert_int_equal(after.loads, COUNT);
    assert_int_equal(after.kernels, COUNT); /* the bytes are not there twice */
    free_list(&l);
}

static void calls_find_what_was_prepared(void **state) {
    launch_fixture *f = *state;
    calls_find_what_was_prepared_in(f, "", 1);
    calls_find_what_was_prepared_in(f, "", 3);
    calls_find_what_was_prepared_in(f, f->dir, 0);
}

static void each_kernel_is_compiled_in_a_process_of_its_own(void **state) {
    launch_fixture *f = *state;
    char path[128];
    int compiles, elsewhere;
    list l;
    snprintf(path, sizeof path, "%s/compiles", f->dir);
    setenv("FAKE_NVRTC_COUNT", path, 1);
    make_list(&l, launch_context(f, "", KILN_POLICY_COMPILE), 0);
    prepare_all(&l, 3);
    read_compiles(path, &compiles, &elsewhere);
    assert_int_equal(compiles, COUNT);
    assert_int_equal(elsewhere, COUNT);
    free_list(&l);
    unsetenv("FAKE_NVRTC_COUNT");
}

static void without_the_worker_it_is_done_here(void **state) {
    launch_fixture *f = *state;
    list l;
    setenv("KILN_WORKER", "/nonexistent/kiln-worker", 1);
    make_list(&l, launch_context(f, "", KILN_POLICY_COMPILE), 0);
    prepare_all(&l, 3);
    assert_int_equal(launch_compiles(f), COUNT);
    run_all(&l);
    assert_int_equal(stats_of(l.context).compiled, COUNT);
    free_list(&l);
    setenv("KILN_WORKER", "/bin/true", 1); /* which is no worker */
    make_list(&l, launch_context(f, "", KILN_POLICY_COMPILE), 0);
    prepare_all(&l, 3);
    free_list(&l);
    setenv("KILN_WORKER", KILN_BUILT_WORKER, 1);
}

static void an_architecture_needs_no_device(void **state) {
    launch_fixture *f = *state;
    list l;
    launch_use_device(f, -1);
    make_list(&l, launch_context(f, f->dir, KILN_POLICY_COMPILE), 90);
    prepare_all(&l, 2);
    assert_int_equal(stats_of(l.context).compiled, COUNT);
    l.problems[0].arch = 0;
    kiln_preparation *preparation = NULL;
    launch_expect(kiln_prepare(l.context, l.problems, COUNT, NULL, &preparation), KILN_E_NO_CONTEXT, NULL);
    assert_null(preparation);
    free_list(&l);
    make_list(&l, launch_context(f, f->dir, KILN_POLICY_NEVER_COMPILE), 90); /* from disk */
    prepare_all(&l, 2);
    assert_int_equal(stats_of(l.context).compiled, 0);
    assert_int_equal(stats_of(l.context).from_disk, COUNT);
    free_list(&l);
}

static void a_context_that_never_compiles_prepares(void **state) {
    list l;
    make_list(&l, launch_context(*state, "", KILN_POLICY_NEVER_COMPILE), 0);
    launch_expect(launch_run(l.programs[0], SHAPE), KILN_E_WOULD_COMPILE, NULL);
    prepare_all(&l, 2);
    run_all(&l);
    free_list(&l);
}

static void calls_that_never_compile_go_over_to_what_was_prepared(void **state) {
    list l;
    make_list(&l, launch_context(*state, "", KILN_POLICY_NEVER_COMPILE), 0);
    kiln_call_options any_shape = KILN_CALL_OPTIONS_INIT;
    any_shape.policy = KILN_POLICY_ANY_SHAPE;
    for (size_t i = 0; i < COUNT; i++) l.problems[i].options = &any_shape;
    prepare_all(&l, 2);
    run_all(&l);
    run_all(&l);
    assert_int_equal(stats_of(l.context).loads, COUNT);
    assert_int_equal(stats_of(l.context).shapes, COUNT);
    for (size_t i = 0; i < COUNT; i++) l.problems[i].options = NULL;
    prepare_all(&l, 2);
    const int64_t compiled = stats_of(l.context).compiled;
    for (int i = 0; i < 3; i++) run_all(&l);
    assert_int_equal(stats_of(l.context).compiled, compiled);
    assert_int_equal(stats_of(l.context).loads, 2 * COUNT);
    assert_int_equal(stats_of(l.context).shapes, COUNT);
    free_list(&l);
}

static void what_several_problems_need_is_compiled_once(void **state) {
    launch_fixture *f = *state;
    list l;
    setenv("FAKE_NVRTC_MS", "30", 1);
    make_list(&l, launch_context(f, "", KILN_POLICY_COMPILE), 0);
    for (size_t i = 0; i < COUNT; i++) { /* the same, and with other numbers of rows */
        l.problems[i].program = l.programs[0];
        bound_tensors(i % 2 ? "f16[8,64] f16[8,64]" : "f16[9,64] f16[9,64]", l.tensors[i]);
    }
    kiln_preparation *preparation = prepare(&l, 4);
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_OK, "");
    int compiled = 0;
    for (size_t i = 0; i < COUNT; i++) compiled += result_of(preparation, i).origin == KILN_ORIGIN_COMPILED;
    assert_int_equal(compiled, 1);
    assert_int_equal(stats_of(l.context).compiled, 1);
    assert_true(stats_of(l.context).wait_seconds == 0); /* no thread waited for another */
    kiln_prepare_destroy(preparation);
    free_list(&l);
    unsetenv("FAKE_NVRTC_MS");
}

static void bytes_are_kept_within_the_limits(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    list l;
    kiln_context *context;
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.loaded_max_count = 3;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    make_list(&l, context, 0);
    prepare_all(&l, 1);
    assert_true(stats_of(context).kernels <= 3);
    run_all(&l);
    free_list(&l);
}

/* ---- what is told ---- */

typedef struct told {
    list *l;
    size_t calls, seen[COUNT], failed;
    bool inside, cancel;
    kiln_preparation *preparation;
} told;

static void tell(void *user, size_t done, size_t total, const kiln_prepare_result *result) {
    told *t = user;
    assert_false(t->inside); /* one at a time */
    t->inside = true;
    t->calls++;
    assert_int_equal(done, t->calls);
    assert_int_equal(total, COUNT);
    assert_true(result->done && result->index < COUNT);
    t->seen[result->index]++;
    t->failed += result->status != KILN_OK;
    assert_int_equal(*result->error != '\0', result->status != KILN_OK);
    if (t->cancel) kiln_context_cancel_compiles(t->l->context);
    sleep_ms(2);
    t->inside = false;
}

static void each_problem_is_told_once(void **state) {
    list l;
    told t = {.l = &l};
    kiln_preparation *preparation = NULL;
    kiln_prepare_options options = KILN_PREPARE_OPTIONS_INIT;
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    options.jobs = 3;
    options.callback = tell;
    options.user = &t;
    launch_expect(kiln_prepare(l.context, l.problems, COUNT, &options, &preparation), KILN_OK, "");
    int finished = -1;
    launch_expect(kiln_prepare_wait(preparation, 60000, &finished), KILN_OK, "");
    assert_int_equal(finished, 1);
    assert_int_equal(t.calls, COUNT); /* all before the wait is over */
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(t.seen[i], 1);
    assert_int_equal(t.failed, 0);
    size_t done, total;
    assert_int_equal(kiln_prepare_get_progress(preparation, &done, &total), KILN_OK);
    assert_int_equal(done, COUNT);
    assert_int_equal(total, COUNT);
    kiln_prepare_destroy(preparation);
    free_list(&l);
}

static void a_problem_that_fails_stops_no_other(void **state) {
    list l;
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    setenv("FAKE_NVRTC_REFUSE", "12345", 1); /* of number 3 */
    l.problems[1].tensor_count = 1;
    l.tensors[4][1].sizes[1] = 63;
    l.problems[5].arch = 12;
    kiln_preparation *preparation = prepare(&l, 2);
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_E_BINDING,
                  "problem 1, the first of 4 that failed among 6: 1 tensors are given, expected 2: 1 inputs and 1 "
                  "outputs");
    const kiln_status expected[COUNT] = {KILN_OK, KILN_E_BINDING, KILN_OK, KILN_E_COMPILE, KILN_E_SHAPE, KILN_E_ARCH};
    for (size_t i = 0; i < COUNT; i++) {
        const kiln_prepare_result result = result_of(preparation, i);
        assert_int_equal(result.done, 1);
        assert_int_equal(result.status, expected[i]);
        assert_int_equal(*result.error != '\0', expected[i] != KILN_OK);
    }
    kiln_prepare_destroy(preparation);
    assert_int_equal(stats_of(l.context).kernels, 2);
    unsetenv("FAKE_NVRTC_REFUSE");
    free_list(&l);
}

static void a_wait_may_be_short(void **state) {
    list l;
    setenv("FAKE_NVRTC_MS", "200", 1);
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    kiln_preparation *preparation = prepare(&l, 2);
    int finished = -1;
    launch_expect(kiln_prepare_wait(preparation, 1, &finished), KILN_OK, "");
    assert_int_equal(finished, 0);
    assert_int_equal(result_of(preparation, COUNT - 1).done, 0);
    size_t done, total;
    assert_int_equal(kiln_prepare_get_progress(preparation, &done, &total), KILN_OK);
    assert_true(done < total);
    kiln_prepare_destroy(preparation);
    free_list(&l);
    unsetenv("FAKE_NVRTC_MS");
}

static void bad_arguments_are_refused(void **state) {
    list l;
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    kiln_preparation *preparation = (void *)&l;
    kiln_prepare_options options = KILN_PREPARE_OPTIONS_INIT;
    launch_expect(kiln_prepare(NULL, l.problems, COUNT, NULL, &preparation), KILN_E_ARGUMENT, "context is NULL");
    assert_null(preparation);
    launch_expect(kiln_prepare(l.context, NULL, 1, NULL, &preparation), KILN_E_ARGUMENT, "problems is NULL");
    launch_expect(kiln_prepare(l.context, l.problems, 1, NULL, NULL), KILN_E_ARGUMENT,
                  "out is NULL, expected the address of a kiln_preparation pointer");
    options.jobs = -1;
    launch_expect(kiln_prepare(l.context, l.problems, 1, &options, &preparation), KILN_E_ARGUMENT,
                  "kiln_prepare_options.jobs is -1 and reserved 0, expected 0 to 256, and 0");
    options.struct_size = 3;
    launch_expect(kiln_prepare(l.context, l.problems, 1, &options, &preparation), KILN_E_ARGUMENT, NULL);
    launch_expect(kiln_prepare_wait(NULL, -1, NULL), KILN_E_ARGUMENT, "preparation is NULL");
    launch_expect(kiln_prepare_get_progress(NULL, NULL, NULL), KILN_E_ARGUMENT, "preparation is NULL");
    kiln_prepare_cancel(NULL);
    kiln_prepare_destroy(NULL);
    launch_expect(kiln_prepare(l.context, NULL, 0, NULL, &preparation), KILN_OK, ""); /* nothing is soon done */
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_OK, "");
    kiln_prepare_result result = KILN_PREPARE_RESULT_INIT;
    launch_expect(kiln_prepare_get_result(preparation, 0, &result), KILN_E_ARGUMENT,
                  "problem 0 is asked for, expected one of 0");
    kiln_prepare_destroy(preparation);
    list other;
    make_list(&other, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    l.problems[0].program = NULL;
    l.problems[1].program = other.programs[1];
    l.problems[2].reserved = 1;
    preparation = prepare(&l, 2);
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_E_ARGUMENT,
                  "problem 0, the first of 3 that failed among 6: program is NULL");
    assert_string_equal(result_of(preparation, 1).error, "the program belongs to another context");
    kiln_prepare_destroy(preparation);
    free_list(&other);
    free_list(&l);
}

/* ---- how it ends ---- */

static void it_can_be_cancelled(void **state) {
    list l;
    setenv("FAKE_NVRTC_MS", "20000", 1);
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    kiln_preparation *preparation = prepare(&l, 2);
    sleep_ms(30);
    kiln_prepare_cancel(preparation);
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_E_CANCELLED, NULL);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(result_of(preparation, i).status, KILN_E_CANCELLED);
    kiln_prepare_destroy(preparation);
    unsetenv("FAKE_NVRTC_MS");
    run_all(&l); /* nothing is remembered of it */
    prepare_all(&l, 2);
    free_list(&l);
}

typedef struct runner {
    launch_fixture *f;
    const kiln_program *program;
    kiln_status status;
} runner;

static void *run_in_a_thread(void *user) {
    runner *r = user;
    launch_use_device(r->f, 0);
    r->status = launch_run(r->program, SHAPE);
    return NULL;
}

static void who_waits_for_a_cancelled_compile_compiles(void **state) {
    list l;
    pthread_t thread;
    setenv("FAKE_NVRTC_MS", "300", 1);
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    kiln_preparation *preparation = prepare(&l, 2);
    runner r = {*state, l.programs[0], KILN_E_INTERNAL};
    sleep_ms(50); /* it is being compiled */
    assert_int_equal(pthread_create(&thread, NULL, run_in_a_thread, &r), 0);
    sleep_ms(50);
    kiln_prepare_destroy(preparation);
    pthread_join(thread, NULL);
    assert_int_equal(r.status, KILN_OK);
    free_list(&l);
    unsetenv("FAKE_NVRTC_MS");
}

static void a_callback_may_cancel(void **state) {
    list l;
    told t = {.l = &l, .cancel = true};
    kiln_preparation *preparation = NULL;
    kiln_prepare_options options = KILN_PREPARE_OPTIONS_INIT;
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    options.jobs = 1;
    options.callback = tell;
    options.user = &t;
    launch_expect(kiln_prepare(l.context, l.problems, COUNT, &options, &preparation), KILN_OK, "");
    launch_expect(kiln_prepare_wait(preparation, -1, NULL), KILN_E_CANCELLED, NULL);
    assert_int_equal(t.calls, COUNT);
    assert_int_equal(t.failed, COUNT - 1);
    kiln_prepare_destroy(preparation);
    free_list(&l);
}

static void programs_and_context_may_go_before_it(void **state) {
    const int jobs[] = {1, 3};
    for (size_t i = 0; i < 2; i++) {
        list l;
        setenv("FAKE_NVRTC_MS", "100", 1);
        make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
        kiln_preparation *preparation = prepare(&l, jobs[i]);
        memset(l.tensors, 0, sizeof l.tensors); /* it has its own */
        free_programs(&l);
        sleep_ms(30);
        kiln_context_destroy(l.context);
        int finished = 0;
        launch_expect(kiln_prepare_wait(preparation, 0, &finished), KILN_E_CANCELLED, NULL);
        assert_int_equal(finished, 1);
        kiln_prepare_cancel(preparation);
        kiln_prepare_destroy(preparation);
        unsetenv("FAKE_NVRTC_MS");
    }
}

static void a_process_ends_in_the_midst_of_it(void **state) {
    fflush(stderr);
    const pid_t child = fork();
    if (!child) {
        list l;
        alarm(20);
        setenv("FAKE_NVRTC_MS", "20000", 1);
        launch_use_device(*state, 0);
        make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 90);
        (void)prepare(&l, 3);
        sleep_ms(30);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_forked_child_does_not_hang(void **state) {
    list l;
#ifdef __SANITIZE_THREAD__
    skip(); /* its runtime ends a child whose new thread has the stack, and so the id, of a parent's thread */
#endif
#ifdef __SANITIZE_ADDRESS__ /* a child cannot allocate where another thread of its parent was about to */
    enum { attempts = 1, first_ms = 700, step_ms = 0 };
    setenv("FAKE_NVRTC_MS", "5000", 1);
#else
    enum { attempts = 4, first_ms = 0, step_ms = 7 };
    setenv("FAKE_NVRTC_MS", "100", 1);
#endif
    make_list(&l, launch_context(*state, "", KILN_POLICY_COMPILE), 0);
    for (int attempt = 0; attempt < attempts; attempt++) {
        kiln_preparation *preparation = prepare(&l, 2);
        sleep_ms(first_ms + step_ms * attempt);
        fflush(stderr);
        const pid_t child = fork();
        if (!child) {
            alarm(20);
            int finished = 0;
            kiln_prepare_result result = KILN_PREPARE_RESULT_INIT;
            if (kiln_prepare_wait(preparation, -1, &finished) != KILN_E_CANCELLED || !finished) _exit(1);
            if (kiln_prepare_get_result(preparation, 1, &result) || result.status != KILN_E_CANCELLED) _exit(2);
            kiln_prepare_cancel(preparation);
            kiln_prepare_destroy(preparation);
            setenv("FAKE_NVRTC_MS", "1", 1);
            if (launch_run(l.programs[0], SHAPE)) _exit(3);
            prepare_all(&l, 2);
            free_list(&l);
            _exit(0);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        kiln_prepare_destroy(preparation);
    }
    free_list(&l);
    unsetenv("FAKE_NVRTC_MS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(calls_find_what_was_prepared),
        WITH_LAUNCHES(each_kernel_is_compiled_in_a_process_of_its_own),
        WITH_LAUNCHES(without_the_worker_it_is_done_here),
        WITH_LAUNCHES(an_architecture_needs_no_device),
        WITH_LAUNCHES(a_context_that_never_compiles_prepares),
        WITH_LAUNCHES(calls_that_never_compile_go_over_to_what_was_prepared),
        WITH_LAUNCHES(what_several_problems_need_is_compiled_once),
        WITH_LAUNCHES(bytes_are_kept_within_the_limits),
        WITH_LAUNCHES(each_problem_is_told_once),
        WITH_LAUNCHES(a_problem_that_fails_stops_no_other),
        WITH_LAUNCHES(a_wait_may_be_short),
        WITH_LAUNCHES(bad_arguments_are_refused),
        WITH_LAUNCHES(it_can_be_cancelled),
        WITH_LAUNCHES(who_waits_for_a_cancelled_compile_compiles),
        WITH_LAUNCHES(a_callback_may_cancel),
        WITH_LAUNCHES(programs_and_context_may_go_before_it),
        WITH_LAUNCHES(a_process_ends_in_the_midst_of_it),
        WITH_LAUNCHES(a_forked_child_does_not_hang),
    };
    setenv("KILN_WORKER", KILN_BUILT_WORKER, 1);
    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}

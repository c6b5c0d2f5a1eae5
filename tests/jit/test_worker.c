/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles with a time limit: in kiln-worker, which is ended where it takes too long, is cancelled, or nobody waits.
 * The NVRTC is the stand-in, which hangs, crashes and refuses at words of the source. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "jit/nvrtc.h"
#include "jit/worker.h"
#include "support/own_folder.h"

static own_folder folder;
static char compiles_path[300];

static int set_up(void **state) {
    (void)state;
    if (!own_folder_make(&folder)) return 1;
    snprintf(compiles_path, sizeof compiles_path, "%s/compiles", folder.path);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    setenv("FAKE_NVRTC_COUNT", compiles_path, 1);
    setenv("FAKE_NVRTC_HANG", "in_hangs", 1);
    setenv("FAKE_NVRTC_CRASH", "in_crashes", 1);
    setenv("KILN_WORKER", KILN_BUILT_WORKER, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    own_folder_remove(&folder);
    return 0;
}

static kiln_context *open_context(int64_t limit_ms) {
    char cache[320];
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context;
    snprintf(cache, sizeof cache, "%s/cache", folder.path);
    options.cache_dir = cache;
    options.nvrtc_path = KILN_FAKE_NVRTC;
    options.compile_limit_ms = limit_ms;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    return context;
}

/* out: the image, where the caller wants it. */
static kiln_status compile(kiln_context *context, const char *text, kiln_kernel **out) {
    const int64_t sizes[] = {4, 1024};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes)};
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_status status = kiln_program_create(context, text, NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    kiln_program_destroy(program);
    if (out)
        *out = kernel;
    else
        kiln_kernel_destroy(kernel);
    return status;
}

/* How many compiles began, in any process; *last: the process of the last. */
static int count_compiles(int *last) {
    FILE *file = fopen(compiles_path, "r");
    int count = 0, process;
    for (char sum[17]; file && fscanf(file, "%16s %d", sum, &process) == 2; count++)
        if (last) *last = process;
    if (file) fclose(file);
    return count;
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static void a_worker_makes_the_same_kernel(void **state) {
    (void)state;
    kiln_context *here = open_context(0), *elsewhere = open_context(60000);
    kiln_kernel *first, *second;
    int process = getpid();
    assert_int_equal(compile(elsewhere, "y = softmax(x)", &second), KILN_OK);
    assert_int_equal(count_compiles(&process), 1);
    assert_int_not_equal(process, getpid());
    assert_int_equal(kiln_cache_clear(here, NULL, NULL), KILN_OK);
    assert_int_equal(compile(here, "y = softmax(x)", &first), KILN_OK);
    assert_int_equal(count_compiles(&process), 2);
    assert_int_equal(process, getpid());
    size_t bytes, others;
    const void *image = kiln_kernel_image(first, &bytes), *other = kiln_kernel_image(second, &others);
    assert_int_equal(bytes, others);
    assert_memory_equal(image, other, bytes);
    kiln_kernel_destroy(first);
    kiln_kernel_destroy(second);
    kiln_context_destroy(here);
    kiln_context_destroy(elsewhere);
}

static void a_compile_that_takes_too_long_is_ended_and_not_begun_again(void **state) {
    (void)state;
    kiln_context *context = open_context(300), *same = open_context(200), *longer = open_context(600);
    const int before = count_compiles(NULL);
    const double start = kiln__now_ms();
    assert_int_equal(compile(context, "y = hangs * 2", NULL), KILN_E_TIMEOUT);
    assert_non_null(strstr(kiln_last_error(), "took longer than 300 ms"));
    assert_true(kiln__now_ms() - start < 20000);
    assert_int_equal(count_compiles(NULL), before + 1);
    assert_int_equal(compile(context, "y = hangs * 2", NULL), KILN_E_TIMEOUT);
    assert_int_equal(compile(same, "y = hangs * 2", NULL), KILN_E_TIMEOUT); /* through the disk cache */
    assert_non_null(strstr(kiln_last_error(), "took longer than 300 ms to compile before; the limit is 200 ms"));
    assert_int_equal(count_compiles(NULL), before + 1);
    assert_int_equal(compile(longer, "y = hangs * 2", NULL), KILN_E_TIMEOUT);
    assert_int_equal(count_compiles(NULL), before + 2);
    assert_int_equal(compile(context, "y = x * 3", NULL), KILN_OK);
    kiln_context_destroy(context);
    kiln_context_destroy(same);
    kiln_context_destroy(longer);
}

/* The record of what took too long is as old as its file. */
static void age_records(int64_t seconds) {
    char pattern[320];
    glob_t found;
    const struct timespec then = {time(NULL) - (time_t)seconds, 0}, times[2] = {then, then};
    snprintf(pattern, sizeof pattern, "%s/cache/records/slow_*", folder.path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) utimensat(AT_FDCWD, found.gl_pathv[i], times, 0);
    globfree(&found);
}

static void what_took_too_long_is_tried_again_after_a_day(void **state) {
    (void)state;
    kiln_context *context = open_context(200);
    const int before = count_compiles(NULL);
    assert_int_equal(compile(context, "y = hangs * 13", NULL), KILN_E_TIMEOUT);
    age_records(23 * 3600);
    kiln_context *soon = open_context(200), *late = open_context(200);
    assert_int_equal(compile(soon, "y = hangs * 13", NULL), KILN_E_TIMEOUT);
    assert_int_equal(count_compiles(NULL), before + 1);
    age_records(25 * 3600);
    assert_int_equal(compile(late, "y = hangs * 13", NULL), KILN_E_TIMEOUT);
    assert_int_equal(count_compiles(NULL), before + 2);
    kiln_context_destroy(context);
    kiln_context_destroy(soon);
    kiln_context_destroy(late);
}

static void a_crash_or_a_refusal_of_the_compiler_is_a_status(void **state) {
    (void)state;
    kiln_context *context = open_context(60000), *here = open_context(0);
    char sentence[1024];
    assert_int_equal(compile(context, "y = crashes * 2", NULL), KILN_E_COMPILE);
    assert_non_null(strstr(kiln_last_error(), "ended before it was done"));
    assert_int_equal(compile(here, "y = source_refused * 2", NULL), KILN_E_COMPILE);
    snprintf(sentence, sizeof sentence, "%s", kiln_last_error());
    assert_int_equal(compile(context, "y = source_refused * 2", NULL), KILN_E_COMPILE);
    assert_string_equal(kiln_last_error(), sentence);
    kiln_context_destroy(context);
    kiln_context_destroy(here);
}

static void *compile_hanging(void *user) { return (void *)(intptr_t)compile(user, "y = hangs * 5", NULL); }

static void compiles_can_be_cancelled_by_another_thread(void **state) {
    (void)state;
    enum { THREADS = 4 };
    kiln_context *context = open_context(600000);
    pthread_t threads[THREADS];
    void *status;
    const int before = count_compiles(NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, compile_hanging, context), 0);
    for (int i = 0; i < 500 && count_compiles(NULL) == before; i++) pause_ms(20);
    pause_ms(50);
    kiln_context_cancel_compiles(context);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, KILN_E_CANCELLED);
    }
    assert_int_equal(count_compiles(NULL), before + 1);
    assert_int_equal(compile(context, "y = x * 5", NULL), KILN_OK);
    kiln_context_cancel_compiles(NULL);
    kiln_context_destroy(context);
}

/* A process that is killed leaves no compiler behind. */
static void a_worker_ends_with_the_process_that_started_it(void **state) {
    (void)state;
    const int before = count_compiles(NULL);
    int worker = 0, status;
    const pid_t child = fork();
    if (child == 0) {
        compile(open_context(600000), "y = hangs * 7", NULL);
        _exit(1);
    }
    for (int i = 0; i < 500 && count_compiles(&worker) == before; i++) pause_ms(20);
    assert_int_equal(count_compiles(&worker), before + 1);
    assert_int_equal(kill(worker, 0), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < 500; i++) {
        char path[64], line[64] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", worker); /* a zombie where nobody collects orphans */
        FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file) || strstr(line, ") Z ")) {
            if (file) fclose(file);
            return;
        }
        fclose(file);
        pause_ms(20);
    }
    fail_msg("the worker %d is still there", worker);
}

/* A child made meanwhile has none of its parent's compiles: it ends none, and makes its own. */
static void a_forked_child_leaves_its_parents_compiles_alone(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the child's new thread gets the id of a parent's, and the runtime ends it */
#endif
    kiln_context *context = open_context(600000);
    pthread_t thread;
    void *result;
    int before = count_compiles(NULL), end;
    assert_int_equal(pthread_create(&thread, NULL, compile_hanging, context), 0);
    for (int i = 0; i < 500 && count_compiles(NULL) == before; i++) pause_ms(20);
    const pid_t child = fork();
    if (child == 0) {
        kiln_context_cancel_compiles(context);
        _exit(compile(context, "y = x * 9", NULL) != KILN_OK);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    assert_int_equal(count_compiles(NULL), before + 2); /* the parent's goes on */
    kiln_context_cancel_compiles(context);
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, KILN_E_CANCELLED);
    kiln_context_destroy(context);
}

/* A process that was stopped while its worker was done has what the worker made. */
static void a_compile_that_was_done_in_time_counts_however_late_it_is_read(void **state) {
    (void)state;
    const int before = count_compiles(NULL);
    int end;
    setenv("FAKE_NVRTC_MS", "300", 1);
    const pid_t child = fork();
    if (child == 0) _exit(compile(open_context(2000), "y = x * 11", NULL) != KILN_OK);
    for (int i = 0; i < 500 && count_compiles(NULL) == before; i++) pause_ms(10);
    kill(child, SIGSTOP);
    pause_ms(2500);
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    unsetenv("FAKE_NVRTC_MS");
}

static void what_is_no_worker_and_no_limit_is_refused(void **state) {
    (void)state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context;
    options.cache_dir = "";
    options.nvrtc_path = KILN_FAKE_NVRTC;
    options.compile_limit_ms = -5;
    assert_int_equal(kiln_context_create(&options, &context), KILN_E_ARGUMENT);
    options.compile_limit_ms = 1000;
    options.worker_path = "/nonexistent/worker";
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    assert_int_equal(compile(context, "y = x", NULL), KILN_E_IO);
    assert_non_null(strstr(kiln_last_error(), "/nonexistent/worker"));
    kiln_context_destroy(context);
    options.worker_path = "/bin/true"; /* runs, and says nothing */
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    assert_int_equal(compile(context, "y = x", NULL), KILN_E_IO);
    assert_non_null(strstr(kiln_last_error(), "does not answer"));
    kiln_context_destroy(context);
    options.worker_path = "/usr/bin/yes"; /* runs for ever */
    options.compile_limit_ms = 200;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    assert_int_equal(compile(context, "y = x", NULL), KILN_E_IO);
    kiln_context_destroy(context);
    options.compile_limit_ms = 0;
    setenv("KILN_COMPILE_LIMIT", "soon", 1);
    assert_int_equal(kiln_context_create(&options, &context), KILN_E_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), "'soon'"));
    unsetenv("KILN_COMPILE_LIMIT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_makes_the_same_kernel),
        cmocka_unit_test(a_compile_that_takes_too_long_is_ended_and_not_begun_again),
        cmocka_unit_test(what_took_too_long_is_tried_again_after_a_day),
        cmocka_unit_test(a_crash_or_a_refusal_of_the_compiler_is_a_status),
        cmocka_unit_test(compiles_can_be_cancelled_by_another_thread),
        cmocka_unit_test(a_worker_ends_with_the_process_that_started_it),
        cmocka_unit_test(a_forked_child_leaves_its_parents_compiles_alone),
        cmocka_unit_test(a_compile_that_was_done_in_time_counts_however_late_it_is_read),
        cmocka_unit_test(what_is_no_worker_and_no_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

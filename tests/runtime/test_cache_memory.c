/* SPDX-License-Identifier: Apache-2.0 */
/* What a context remembers: one compile for each kernel among its threads, kernels that were refused, and what a forked
 * child may use of it. And what KILN_LOG=cache tells of an entry that was missed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/launch_fixture.h"

#define THREADS 12
#define TENSORS "f16[8,64] f16[8,64]"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- threads ---- */

typedef struct asker {
    pthread_t thread;
    const launch_fixture *fixture;
    kiln_program *program;
    pthread_barrier_t *start;
    kiln_status status;
    char error[256];
    kiln_plan_info info;
} asker;

static void *compile_one(void *user) {
    asker *a = user;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    size_t count = bound_tensors(TENSORS, tensors);
    kiln_kernel *kernel = NULL;
    pthread_barrier_wait(a->start);
    a->status = kiln_compile(a->program, tensors, count, NULL, 0, 90, 0, 1, &kernel);
    snprintf(a->error, sizeof a->error, "%s", kiln_last_error());
    if (!a->status) {
        size_t size = 0;
        const char *image = kiln_kernel_image(kernel, &size);
        kiln_kernel_get_info(kernel, &a->info);
        const char *code = kiln__source_code(a->info.source);
        if (size != strlen(code) + 1 || memcmp(image, code, size)) a->status = KILN_E_INTERNAL;
    }
    kiln_kernel_destroy(kernel);
    return NULL;
}

static void ask_at_once(kiln_program *program, asker askers[THREADS]) {
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.program = program, .start = &start, .info = KILN_PLAN_INFO_INIT};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, compile_one, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(askers[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

static void threads_compile_a_kernel_once(void **state) {
    launch_fixture *f = *state;
    setenv("FAKE_NVRTC_MS", "100", 1);
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    asker askers[THREADS];
    int compiled = 0;
    ask_at_once(program, askers);
    for (int i = 0; i < THREADS; i++) {
        if (askers[i].status) fail_msg("%s: %s", kiln_status_name(askers[i].status), askers[i].error);
        compiled += askers[i].info.origin == KILN_ORIGIN_COMPILED;
    }
    assert_int_equal(compiled, 1);
    assert_int_equal(launch_compiles(f), 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    unsetenv("FAKE_NVRTC_MS");
}

static void *run_one(void *user) {
    asker *a = user;
    launch_use_device(a->fixture, 0);
    pthread_barrier_wait(a->start);
    a->status = launch_run(a->program, TENSORS);
    return NULL;
}

static void threads_without_a_disk_compile_a_kernel_once(void **state) {
    launch_fixture *f = *state;
    setenv("FAKE_NVRTC_MS", "50", 1);
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.program = program, .start = &start, .fixture = f};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, run_one, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].status, KILN_OK);
    }
    assert_int_equal(f->fake->launches, THREADS);
    assert_int_equal(launch_compiles(f), 1);
    pthread_barrier_destroy(&start);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    unsetenv("FAKE_NVRTC_MS");
}

static void a_refused_kernel_is_remembered_with_its_log(void **state) {
    launch_fixture *f = *state;
    static const char *const caches[] = {"", NULL};
    for (size_t i = 0; i < COUNT(caches); i++) {
        kiln_context *context = launch_context(f, caches[i] ? caches[i] : f->dir, KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, "source_refused = x + 1");
        asker askers[THREADS];
        int before = launch_compiles(f) > 0 ? launch_compiles(f) : 0;
        f->messages = 0;
        ask_at_once(program, askers);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(askers[t].status, KILN_E_COMPILE);
            assert_string_equal(askers[t].error, askers[0].error);
            assert_non_null(strstr(askers[t].error, "NVRTC_ERROR_COMPILATION"));
        }
        assert_int_equal(f->messages, THREADS); /* each has the log */
        ask_at_once(program, askers);
        assert_int_equal(launch_compiles(f) - before, 1);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
        context = launch_context(f, caches[i] ? caches[i] : f->dir, KILN_POLICY_COMPILE);
        program = launch_program(context, "source_refused = x + 1");
        ask_at_once(program, askers); /* it was not published: another context tries itself */
        assert_int_equal(askers[0].status, KILN_E_COMPILE);
        assert_int_equal(launch_compiles(f) - before, 2);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
}

static void a_fault_of_the_compiler_itself_is_not_remembered(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "compile_fails = x + 1");
    for (int i = 1; i <= 3; i++) {
        launch_expect(launch_run(program, TENSORS), KILN_E_COMPILE, NULL);
        assert_int_equal(launch_compiles(f), i);
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- forks ---- */

static void expect_child(pid_t child) {
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status) fail_msg("the child ended with %d", status);
}

/* Exits with the number of the first line that does not hold. */
#define CHILD(condition) \
    do { \
        if (!(condition)) _exit(__LINE__ % 250 + 1); \
    } while (0)

static void a_child_keeps_the_bytes_and_loads_them_anew(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    void *data[2] = {(void *)((uintptr_t)1 << 40), (void *)((uintptr_t)2 << 40)};
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(f->fake->loads, 1);
    pid_t child = fork();
    if (!child) {
        CHILD(kiln_plan_launch(plan, data, 2, NULL, 0, NULL) == KILN_E_NO_CONTEXT);
        CHILD(strstr(kiln_last_error(), "before a fork"));
        CHILD(launch_run(program, TENSORS) == KILN_OK);
        CHILD(launch_run(program, TENSORS) == KILN_OK);
        CHILD(f->fake->loads == 2 && launch_compiles(f) == 1);
        kiln_plan_destroy(plan);
        pid_t grandchild = fork();
        if (!grandchild) {
            CHILD(launch_run(program, TENSORS) == KILN_OK);
            CHILD(f->fake->loads == 3 && launch_compiles(f) == 1);
            _exit(0);
        }
        int status = -1;
        CHILD(waitpid(grandchild, &status, 0) == grandchild && status == 0);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
        CHILD(f->fake->unloads == 1); /* its own alone */
        _exit(0);
    }
    expect_child(child);
    child = fork();
    if (!child) {
        kiln_plan_destroy(plan);
        kiln_program_destroy(program);
        kiln_context_destroy(context); /* the first call in the child */
        CHILD(f->fake->unloads == 0);
        _exit(0);
    }
    expect_child(child);
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    assert_int_equal(f->fake->loads, 1);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_child_forked_during_a_compile_does_not_wait_for_its_parents_thread(void **state) {
    launch_fixture *f = *state;
    static const char *const caches[] = {"", NULL};
    char begun[96];
    snprintf(begun, sizeof begun, "%s/begun", f->dir);
    setenv("FAKE_NVRTC_COUNT", begun, 1);
    setenv("FAKE_NVRTC_MS", "1000", 1);
    for (size_t i = 0; i < COUNT(caches); i++) {
        kiln_context *context = launch_context(f, caches[i] ? caches[i] : f->dir, KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, i ? "y = softmax(x)" : "y = log_softmax(x)");
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, 2);
        asker parent = {.program = program, .start = &start, .info = KILN_PLAN_INFO_INIT}, own = parent;
        assert_int_equal(pthread_create(&parent.thread, NULL, compile_one, &parent), 0);
        pthread_barrier_wait(&start);
        while (access(begun, F_OK) != 0) usleep(1000);
        pid_t child = fork();
        if (!child) {
            alarm(20);
            pthread_barrier_init(&start, NULL, 1);
            compile_one(&own);
            CHILD(own.status == KILN_OK);
            CHILD(own.info.origin == (i ? KILN_ORIGIN_DISK : KILN_ORIGIN_COMPILED));
            _exit(0);
        }
        expect_child(child);
        pthread_join(parent.thread, NULL);
        assert_int_equal(parent.status, KILN_OK);
        assert_int_equal(unlink(begun), 0);
        pthread_barrier_destroy(&start);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    unsetenv("FAKE_NVRTC_COUNT");
    unsetenv("FAKE_NVRTC_MS");
}

/* ---- why an entry was missed ---- */

/* Compiles; the last message is in f->message. */
static void compile_for(launch_fixture *f, const char *nvrtc, const char *text, const char *tensors, int arch, int ptx,
                        const char *schedule) {
    char level[8] = "";
    kiln_tensor list[KILN_MAX_TENSORS];
    size_t count = bound_tensors(tensors, list);
    kiln_kernel *kernel = NULL;
    snprintf(level, sizeof level, "%d", arch);
    setenv("FAKE_NVRTC_ARCH", level, 1);
    if (schedule) setenv("KILN_SCHEDULE", schedule, 1);
    kiln_context *context = launch_context_nvrtc(f, f->dir, KILN_POLICY_COMPILE, nvrtc);
    unsetenv("KILN_SCHEDULE");
    kiln_program *program = launch_program(context, text);
    f->messages = 0;
    *f->message = '\0';
    launch_expect(kiln_compile(program, list, count, NULL, 0, arch, ptx, 1, &kernel), KILN_OK, "");
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void expect_message(const launch_fixture *f, const char *const parts[4]) {
    for (int i = 0; i < 4 && parts[i]; i++)
        if (!strstr(f->message, parts[i])) fail_msg("'%s' does not tell '%s'", f->message, parts[i]);
}

static void the_log_tells_what_differs_from_the_nearest_entry(void **state) {
    launch_fixture *f = *state;
    char newer[160], older[160];
    snprintf(newer, sizeof newer, "%s/libnvrtc.so.11.3", f->dir);
    snprintf(older, sizeof older, "%s/libnvrtc.so.11.1", f->dir); /* the same file, asked for another architecture */
    launch_copy(f->nvrtc, newer);
    launch_copy(f->nvrtc, older);
    FILE *file = fopen(newer, "ab"); /* another build */
    assert_non_null(file);
    fputs("more", file);
    fclose(file);
    setenv("KILN_LOG", "all,cache", 1);
    static const char softmax[] = "y = softmax(x)", lanes[] = "lanes 32, registers, vector 8",
                      columns[] = "f16[*,1024] f16[*,1024]";
    compile_for(f, f->nvrtc, softmax, columns, 90, 0, lanes);
    expect_message(f, (const char *const[4]){"cache: no entry", "| 1024 columns", "none of its 0 entries"});
    compile_for(f, f->nvrtc, softmax, columns, 90, 0, lanes);
    assert_int_equal(f->messages, 0); /* a hit */
    compile_for(f, f->nvrtc, "y = x + 1", columns, 90, 0, NULL);
    expect_message(f, (const char *const[4]){"none of its 1 entries is of this program"});
    compile_for(f, older, softmax, columns, 80, 0, lanes);
    expect_message(f, (const char *const[4]){"differs in architecture (sm_90, asked for sm_80)"});
    compile_for(f, f->nvrtc, softmax, columns, 90, 1, lanes);
    expect_message(f, (const char *const[4]){"differs in kind (cubin, asked for PTX)"});
    compile_for(f, newer, softmax, columns, 90, 0, lanes);
    expect_message(f, (const char *const[4]){"differs in NVRTC (11.1 build ", ", asked for 11.1 build "});
    compile_for(f, f->nvrtc, softmax, columns, 90, 0, "block 256");
    expect_message(f, (const char *const[4]){"differs in source text (line ", "asked for \""});
    setenv("KILN_LOG", "other", 1);
    compile_for(f, f->nvrtc, "y = x + 2", columns, 90, 0, NULL);
    assert_int_equal(f->messages, 0);
    unsetenv("KILN_LOG");
    compile_for(f, f->nvrtc, "y = x + 3", columns, 90, 0, NULL);
    assert_int_equal(f->messages, 0);
}

static void without_a_callback_the_log_goes_to_standard_error(void **state) {
    launch_fixture *f = *state;
    char path[128], text[2048] = "";
    snprintf(path, sizeof path, "%s/stderr", f->dir);
    for (int asked = 0; asked < 2; asked++) {
        (void)(asked ? setenv("KILN_LOG", "cache", 1) : unsetenv("KILN_LOG"));
        int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), before = dup(STDERR_FILENO);
        assert_true(file >= 0 && before >= 0);
        fflush(stderr);
        dup2(file, STDERR_FILENO);
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = f->dir;
        options.nvrtc_path = f->nvrtc;
        kiln_context *context = NULL;
        kiln_status status = kiln_context_create(&options, &context);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        kiln_kernel *kernel = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        size_t count = bound_tensors(asked ? "f16[*,64] f16[*,64]" : "f16[*,32] f16[*,32]", tensors);
        if (!status) status = kiln_compile(program, tensors, count, NULL, 0, 90, 0, 1, &kernel);
        fflush(stderr);
        dup2(before, STDERR_FILENO);
        close(before);
        memset(text, 0, sizeof text);
        assert_true(pread(file, text, sizeof text - 1, 0) >= 0);
        close(file);
        assert_int_equal(status, KILN_OK);
        assert_int_equal(strstr(text, "kiln: cache: no entry ") != NULL, asked);
        kiln_kernel_destroy(kernel);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    unsetenv("KILN_LOG");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(threads_compile_a_kernel_once),
        WITH_LAUNCHES(threads_without_a_disk_compile_a_kernel_once),
        WITH_LAUNCHES(a_refused_kernel_is_remembered_with_its_log),
        WITH_LAUNCHES(a_fault_of_the_compiler_itself_is_not_remembered),
        WITH_LAUNCHES(a_child_keeps_the_bytes_and_loads_them_anew),
        WITH_LAUNCHES(a_child_forked_during_a_compile_does_not_wait_for_its_parents_thread),
        WITH_LAUNCHES(the_log_tells_what_differs_from_the_nearest_entry),
        WITH_LAUNCHES(without_a_callback_the_log_goes_to_standard_error),
    };
    return cmocka_run_group_tests_name("cache_memory", tests, NULL, NULL);
}

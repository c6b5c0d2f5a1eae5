/* SPDX-License-Identifier: Apache-2.0 */
/* Forked children: whatever another thread of the parent held or was doing, a child that calls Kiln is served and uses
 * none of its parent's handles. With the argument `unwiped` the kernel refuses to wipe memory at a fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/folder.h"
#include "support/launch_fixture.h"

#define TENSORS "f16[8,64] f16[8,64]"

/* The linker puts it in the place of madvise. */
int __real_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice);
static bool unwiped;
static int refusals;
int __wrap_madvise(void *address, size_t size, int advice) {
    if (!unwiped || advice != MADV_WIPEONFORK) return __real_madvise(address, size, advice);
    refusals++;
    errno = EINVAL;
    return -1;
}

#define CHILD(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "in the child, line %d: %s; %s\n", __LINE__, #condition, kiln_last_error()); \
            _exit(1); \
        } \
    } while (0)

/* In a child that waits for nobody. */
static void in_a_child(void (*body)(void *user), void *user) {
    fflush(stderr);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(20);
        body(user);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status) fail_msg("the child ended with status 0x%x", (unsigned)status);
}

static void each_generation_has_a_number_of_its_own(void **state) {
    (void)state;
    const int own = kiln__process();
    assert_true(own > 0);
    assert_int_equal(kiln__process(), own);
    assert_int_equal(refusals > 0, unwiped);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (!child) {
            const int second = kiln__process();
            CHILD(second > 0 && second != own && second == kiln__process());
            pid_t grandchild = fork();
            if (!grandchild) {
                const int third = kiln__process();
                CHILD(third > 0 && third != own && third != second);
                _exit(0);
            }
            int status = -1;
            CHILD(waitpid(grandchild, &status, 0) == grandchild && status == 0);
            CHILD(second == kiln__process());
            _exit(0);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(kiln__process(), own);
}

typedef struct world {
    launch_fixture *f;
    kiln_context *context;
    kiln_program *program;
    kiln_plan *plan;
} world;

static void start(world *w, launch_fixture *f, kiln_policy policy) {
    *w = (world){.f = f, .context = launch_context(f, f->dir, policy)};
    w->program = launch_program(w->context, "y = softmax(x)");
}

static void end(world *w) {
    kiln_plan_destroy(w->plan);
    kiln_program_destroy(w->program);
    kiln_context_destroy(w->context);
}

static void *const data[2] = {(void *)((uintptr_t)1 << 40), (void *)((uintptr_t)2 << 40)};

static void use_a_parents_plan(void *user) {
    world *w = user;
    long launches = w->f->fake->launches;
    CHILD(kiln_plan_launch(w->plan, data, 2, NULL, 0, NULL) == KILN_E_NO_CONTEXT);
    CHILD(w->f->fake->launches == launches);
    CHILD(launch_run(w->program, TENSORS) == KILN_OK);
    CHILD(w->f->fake->launches == launches + 1);
    end(w);
    CHILD(w->f->fake->unloads == 1); /* its own */
}

static void a_child_does_not_launch_its_parents_plan(void **state) {
    world w;
    start(&w, *state, KILN_POLICY_COMPILE);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    launch_expect(kiln_plan_create(w.program, tensors, 2, NULL, 0, &w.plan), KILN_OK, "");
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    in_a_child(use_a_parents_plan, &w);
    launch_expect(kiln_plan_launch(w.plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    end(&w);
}

/* ---- locks that another thread holds ---- */

static void *get_system_info(void *user) {
    kiln_system_info info = {.struct_size = sizeof info};
    kiln_context_get_system_info(((world *)user)->context, &info, NULL, NULL);
    return NULL;
}

static void ask_and_run(void *user) {
    world *w = user;
    kiln_system_info info = {.struct_size = sizeof info};
    const char *driver_error = NULL, *nvrtc_error = NULL;
    unsetenv("FAKE_NVRTC_OPEN_MS");
    unsetenv("FAKE_DRIVER_INIT_MS");
    CHILD(kiln_context_get_system_info(w->context, &info, &driver_error, &nvrtc_error) == KILN_OK);
    CHILD(!*driver_error && !*nvrtc_error && *info.nvrtc_path && info.device_count > 0);
    CHILD(launch_run(w->program, TENSORS) == KILN_OK);
    end(w);
}

static void a_child_made_while_nvrtc_is_opened_opens_it_itself(void **state) {
#ifdef __SANITIZE_THREAD__
    skip(); /* its runtime ends a child whose new thread has the stack, and so the id, of a parent's thread */
#endif
    launch_fixture *f = *state;
    world w;
    pthread_t thread;
    start(&w, f, KILN_POLICY_COMPILE);
    setenv("FAKE_NVRTC_OPEN_MS", "1500", 1);
    assert_int_equal(pthread_create(&thread, NULL, get_system_info, &w), 0);
    void *library = NULL;
    while (!(library = dlopen(f->nvrtc, RTLD_NOW | RTLD_NOLOAD))) usleep(1000);
    atomic_int *opens = dlsym(library, "fake_nvrtc_opens");
    assert_non_null(opens);
    while (!atomic_load(opens)) usleep(1000);
    in_a_child(ask_and_run, &w);
    pthread_join(thread, NULL);
    unsetenv("FAKE_NVRTC_OPEN_MS");
    dlclose(library);
    end(&w);
}

static void a_child_made_while_the_driver_is_opened_opens_it_itself(void **state) {
    launch_fixture *f = *state;
    char driver[128];
    snprintf(driver, sizeof driver, "%s/libcuda.so.1", f->dir);
    launch_copy(KILN_FAKE_DRIVER, driver);
    fake_driver *fake = fake_driver_find(driver);
    assert_non_null(fake);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    world w = {.f = f};
    pthread_t thread;
    options.cache_dir = f->dir;
    options.driver_path = driver;
    options.nvrtc_path = f->nvrtc;
    assert_int_equal(kiln_context_create(&options, &w.context), KILN_OK);
    setenv("FAKE_DRIVER_INIT_MS", "1500", 1);
    assert_int_equal(pthread_create(&thread, NULL, get_system_info, &w), 0);
    while (!fake->inits) usleep(1000);
    pid_t child = fork();
    if (!child) {
        alarm(20);
        kiln_system_info info = {.struct_size = sizeof info};
        unsetenv("FAKE_DRIVER_INIT_MS");
        CHILD(kiln_context_get_system_info(w.context, &info, NULL, NULL) == KILN_OK);
        CHILD(!strcmp(info.driver_path, driver) && info.device_count > 0);
        kiln_context_destroy(w.context);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pthread_join(thread, NULL);
    unsetenv("FAKE_DRIVER_INIT_MS");
    kiln_context_destroy(w.context);
}

static void *compile(void *user) {
    world *w = user;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_kernel *kernel = NULL;
    size_t count = bound_tensors(TENSORS, tensors);
    kiln_status status = kiln_compile(w->program, tensors, count, NULL, 0, 90, 0, 1, &kernel);
    kiln_kernel_destroy(kernel);
    return status ? user : NULL;
}

static void compile_in_the_child(void *user) {
    world *w = user;
    unsetenv("FAKE_NVRTC_MS");
    CHILD(!compile(w));
    kiln_program_destroy(w->program);
    w->program = launch_program(w->context, "y = log_softmax(x)");
    CHILD(!compile(w));
    end(w);
}

static void a_child_made_while_nvrtc_compiles_has_an_nvrtc_of_its_own(void **state) {
    launch_fixture *f = *state;
    world w = {.f = f, .context = launch_context(f, "", KILN_POLICY_COMPILE)};
    pthread_t thread;
    void *failed = NULL;
    w.program = launch_program(w.context, "y = softmax(x)");
    setenv("FAKE_NVRTC_LOCK", "1", 1);
    setenv("FAKE_NVRTC_MS", "1500", 1);
    assert_int_equal(pthread_create(&thread, NULL, compile, &w), 0);
    while (launch_compiles(f) < 1) usleep(1000);
    usleep(50000);
    in_a_child(compile_in_the_child, &w);
    pthread_join(thread, &failed);
    assert_null(failed);
    unsetenv("FAKE_NVRTC_LOCK");
    unsetenv("FAKE_NVRTC_MS");
    assert_int_equal(launch_compiles(f), 1);
    end(&w);
}

static void go_on_without_threads(void *user) {
    world *w = user;
    setenv("FAKE_NVRTC_MS", "1", 1);
    kiln_program *other = launch_program(w->context, "y = x * 2");
    CHILD(launch_run(other, TENSORS) == KILN_OK); /* compiled by a thread of its own */
    CHILD(launch_run(w->program, TENSORS) == KILN_OK);
    kiln_program_destroy(other);
    end(w);
}

static void a_child_made_while_kernels_compile_in_the_background_goes_on(void **state) {
#ifdef __SANITIZE_THREAD__
    skip(); /* as above */
#endif
    world w;
    setenv("FAKE_NVRTC_MS", "300", 1);
    start(&w, *state, KILN_POLICY_BACKGROUND);
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
#ifdef __SANITIZE_ADDRESS__ /* its allocator does not unlock in a child what a thread of the parent's has locked */
    while (launch_compiles(*state) < 2) usleep(1000);
    usleep(50000);
#endif
    in_a_child(go_on_without_threads, &w);
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    for (int ms = 0; ms < 20000 && stats.loads < 2; ms += 5) {
        usleep(5000);
        launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
        assert_int_equal(kiln_context_get_stats(w.context, &stats), KILN_OK);
    }
    assert_int_equal(stats.loads, 2); /* the parent's own thread compiled the exact one */
    unsetenv("FAKE_NVRTC_MS");
    end(&w);
}

typedef struct holder {
    pthread_t thread;
    pthread_barrier_t step;
    world *w;
} holder;

/* Holds the context's lock, having half changed what it guards. */
static void *hold(void *user) {
    holder *h = user;
    kiln_context *context = h->w->context;
    pthread_mutex_lock(&context->lock);
    kiln__hash kernels = context->kernels;
    kiln__ring obtaining = context->obtaining;
    kiln__text recorded = context->recorded;
    memset(&context->kernels, 0x5a, sizeof context->kernels);
    memset(&context->obtaining, 0x5a, sizeof context->obtaining);
    memset(&context->recorded, 0x5a, sizeof context->recorded);
    pthread_barrier_wait(&h->step);
    pthread_barrier_wait(&h->step);
    context->kernels = kernels;
    context->obtaining = obtaining;
    context->recorded = recorded;
    pthread_mutex_unlock(&context->lock);
    return NULL;
}

static void go_on(void *user) {
    world *w = user;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    CHILD(kiln_plan_launch(w->plan, data, 2, NULL, 0, NULL) == KILN_E_NO_CONTEXT);
    CHILD(launch_run(w->program, TENSORS) == KILN_OK);
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    CHILD(kiln_plan_create(w->program, tensors, 2, NULL, 0, &plan) == KILN_OK);
    CHILD(kiln_plan_launch(plan, data, 2, NULL, 0, NULL) == KILN_OK);
    CHILD(launch_compiles(w->f) == 1); /* from disk */
    kiln_plan_destroy(plan);
    end(w);
    CHILD(w->f->fake->unloads == 1);
}

static void destroy_all(void *user) { end(user); }

static void a_child_made_while_a_context_is_locked_starts_anew(void **state) {
    world w;
    holder h = {.w = &w};
    start(&w, *state, KILN_POLICY_COMPILE);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    launch_expect(kiln_plan_create(w.program, tensors, 2, NULL, 0, &w.plan), KILN_OK, "");
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    pthread_barrier_init(&h.step, NULL, 2);
    assert_int_equal(pthread_create(&h.thread, NULL, hold, &h), 0);
    pthread_barrier_wait(&h.step);
    in_a_child(go_on, &w);
    in_a_child(destroy_all, &w);
    pthread_barrier_wait(&h.step);
    pthread_join(h.thread, NULL);
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    launch_expect(kiln_plan_launch(w.plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    pthread_barrier_destroy(&h.step);
    end(&w);
}

/* ---- threads within kiln_run, and within pruning ---- */

static void run_and_drop(void *user) {
    world *w = user;
    CHILD(launch_run(w->program, TENSORS) == KILN_OK);
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "y = x * %d", i + 2);
        kiln_program *program = launch_program(w->context, text);
        CHILD(launch_run(program, TENSORS) == KILN_OK);
        kiln_program_destroy(program);
    }
    CHILD(w->f->fake->loads - w->f->fake->unloads <= 5); /* its own four, and its parent's */
    end(w);
}

static void a_child_made_while_a_thread_launches_drops_kernels_all_the_same(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    world w = {.f = f};
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.loaded_max_count = 4;
    assert_int_equal(kiln_context_create(&options, &w.context), KILN_OK);
    w.program = launch_program(w.context, "y = softmax(x)");
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    atomic_uint *inside = kiln__readers_enter(&w.context->readers); /* as a thread that is in kiln_run */
    in_a_child(run_and_drop, &w);
    kiln__readers_leave(inside);
    end(&w);
}

static void fill_the_cache(void *user) {
    world *w = user;
    kiln__pruned left;
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "y = x * %d", i + 2);
        kiln_program *program = launch_program(w->context, text);
        CHILD(launch_run(program, TENSORS) == KILN_OK);
        kiln_program_destroy(program);
    }
    /* Whatever is there but records, which the limit is not for. Which kernels stay is decided by their keys. */
    CHILD(kiln__disk_prune(w->context->disk, -1, -1, &left) == KILN_OK);
    CHILD(left.kept_bytes > 500000 && left.kept_bytes <= 1000000);
    end(w);
}

/* In the midst of a child's taking over its parent's context, where another thread may fork. */
static void (*while_adopting)(void);
static world *adopted;
int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    void (*body)(void) = while_adopting;
    while_adopting = NULL;
    if (body) body();
    return __real_pthread_cond_init(condition, attributes);
}

static void run_and_end(void *user) {
    CHILD(launch_run(((world *)user)->program, TENSORS) == KILN_OK);
    end(user);
}

static void *fork_in_a_thread(void *user) {
    launch_use_device(adopted->f, 0);
    CHILD(pthread_mutex_trylock(&adopted->context->lock) == EBUSY); /* so that a grandchild knows of it */
    in_a_child(run_and_end, adopted);
    return user;
}

static void fork_again(void) {
    pthread_t thread;
    CHILD(!pthread_create(&thread, NULL, fork_in_a_thread, NULL));
    pthread_join(thread, NULL);
}

static void adopt_and_fork(void *user) {
    adopted = user;
    while_adopting = fork_again;
    run_and_end(user);
    CHILD(!while_adopting);
}

static void a_child_of_a_child_that_takes_a_context_over_starts_anew(void **state) {
    world w;
    start(&w, *state, KILN_POLICY_COMPILE);
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    in_a_child(adopt_and_fork, &w);
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    end(&w);
}

static void a_child_made_while_a_thread_prunes_keeps_to_the_limit(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    world w = {.f = f};
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.cache_max_bytes = 1000000;
    assert_int_equal(kiln_context_create(&options, &w.context), KILN_OK);
    w.context->disk->step_ms = 10000; /* however slow the machine */
    w.program = launch_program(w.context, "y = softmax(x)");
    launch_expect(launch_run(w.program, TENSORS), KILN_OK, "");
    assert_false(atomic_flag_test_and_set(&w.context->disk->pruning)); /* as a thread that prunes */
    in_a_child(fill_the_cache, &w);
    atomic_flag_clear(&w.context->disk->pruning);
    end(&w);
}

int main(int argc, char **argv) {
    unwiped = argc > 1 && !strcmp(argv[1], "unwiped");
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(each_generation_has_a_number_of_its_own),
        WITH_LAUNCHES(a_child_does_not_launch_its_parents_plan),
        WITH_LAUNCHES(a_child_made_while_nvrtc_is_opened_opens_it_itself),
        WITH_LAUNCHES(a_child_made_while_the_driver_is_opened_opens_it_itself),
        WITH_LAUNCHES(a_child_made_while_nvrtc_compiles_has_an_nvrtc_of_its_own),
        WITH_LAUNCHES(a_child_made_while_kernels_compile_in_the_background_goes_on),
        WITH_LAUNCHES(a_child_made_while_a_context_is_locked_starts_anew),
        WITH_LAUNCHES(a_child_made_while_a_thread_launches_drops_kernels_all_the_same),
        WITH_LAUNCHES(a_child_of_a_child_that_takes_a_context_over_starts_anew),
        WITH_LAUNCHES(a_child_made_while_a_thread_prunes_keeps_to_the_limit),
    };
    return cmocka_run_group_tests_name(unwiped ? "fork_unwiped" : "fork", tests, NULL, NULL);
}

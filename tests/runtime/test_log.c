/* SPDX-License-Identifier: Apache-2.0 */
/* What the log is told, at which level, and that what is not told is not formatted either. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/folder.h"
#include "runtime/context.h"
#include "support/launch_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TENSORS "f16[8,64] f16[8,64]"
enum { MOST = 128 };

/* All that one context's log was told. */
typedef struct told {
    pthread_mutex_t lock;
    int count;
    kiln_log_level levels[MOST];
    char lines[MOST][512];
} told;

static void hear(void *user, kiln_log_level level, const char *message) {
    told *t = user;
    pthread_mutex_lock(&t->lock);
    if (t->count < MOST) {
        t->levels[t->count] = level;
        snprintf(t->lines[t->count++], sizeof t->lines[0], "%s", message);
    }
    pthread_mutex_unlock(&t->lock);
}

/* How often a sentence was formatted for the log or for an error. */
void __real_kiln__printable_format(char *out, size_t capacity, bool lines, const char *format, va_list arguments);
void __wrap_kiln__printable_format(char *out, size_t capacity, bool lines, const char *format, va_list arguments);
static atomic_int formatted;
void __wrap_kiln__printable_format(char *out, size_t capacity, bool lines, const char *format, va_list arguments) {
    formatted++;
    __real_kiln__printable_format(out, capacity, lines, format, arguments);
}

static kiln_context_options options_of(const launch_fixture *f, told *t, kiln_log_detail detail) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.log = hear;
    options.log_user = t;
    options.log_detail = detail;
    return options;
}

static kiln_context *create(const kiln_context_options *options) {
    kiln_context *context = NULL;
    launch_expect(kiln_context_create(options, &context), KILN_OK, "");
    return context;
}

/* A sentence, '*' for any part of it. */
static bool matches(const char *pattern, const char *text) {
    if (*pattern == '*') return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
    return *pattern == *text && (!*text || matches(pattern + 1, text + 1));
}

typedef struct event {
    kiln_log_level level;
    const char *pattern;
} event;

static void expect(const told *t, const event *events, int count) {
    for (int i = 0; i < t->count || i < count; i++)
        if (i >= t->count || i >= count || t->levels[i] != events[i].level || !matches(events[i].pattern, t->lines[i]))
            fail_msg("event %d is %d '%s', expected %d '%s'", i, i < t->count ? (int)t->levels[i] : -1,
                     i < t->count ? t->lines[i] : "none", i < count ? (int)events[i].level : -1,
                     i < count ? events[i].pattern : "none");
}

/* Compiles in one context, finds the kernel on disk in the next one, and in memory. */
static void run_twice(const kiln_context_options *options, bool again) {
    kiln_context *context = create(options);
    kiln_program *program = launch_program(context, "y = softmax(x)"), *same = NULL;
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    if (again) {
        same = launch_program(context, "y = softmax( x )");
        launch_expect(launch_run(same, TENSORS), KILN_OK, "");
    }
    kiln_program_destroy(same);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_kernels_way_is_told(void **state) {
    launch_fixture *f = *state;
    told t;
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_DEBUG);
    run_twice(&options, false);
    static const event compiled[] = {
        {KILN_LOG_INFO, "kernels are launched through the driver '*', CUDA *"},
        {KILN_LOG_INFO, "kernels are compiled by NVRTC 11.1, '*libnvrtc.so.11.2'"},
        {KILN_LOG_INFO, "compiling for sm_90, schedule '*': y = softmax(x) | x f16, y f16 | 64 columns"},
        {KILN_LOG_INFO, "compiled in *.* ms, * bytes: y = softmax(x) | x f16, y f16 | 64 columns"},
        {KILN_LOG_DEBUG, "loaded on device 0 in *.* ms, * registers: y = softmax(x) | x f16, y f16 | 64 columns"},
    };
    expect(&t, compiled, COUNT(compiled));
    options = options_of(f, &t, KILN_LOG_DETAIL_DEBUG);
    run_twice(&options, true);
    static const event found[] = {
        {KILN_LOG_INFO, "kernels are launched through the driver '*', CUDA *"},
        {KILN_LOG_DEBUG, "found in the disk cache in *.* ms: y = softmax(x) | x f16, y f16 | 64 columns"},
        {KILN_LOG_DEBUG, "loaded on device 0 in *.* ms, * registers: *"},
        {KILN_LOG_DEBUG, "found in memory in *.* ms: y = softmax( x ) | x f16, y f16 | 64 columns"},
    };
    expect(&t, found, COUNT(found));
}

static void levels_are_chosen_by_the_options_and_by_the_user(void **state) {
    launch_fixture *f = *state;
    static const struct {
        kiln_log_detail detail;
        const char *variable;
        int told; /* of 4 of INFO and 1 of DEBUG */
    } table[] = {
        {KILN_LOG_DETAIL_DEFAULT, NULL, 0},     {KILN_LOG_DETAIL_ERROR, NULL, 0},
        {KILN_LOG_DETAIL_WARNING, NULL, 0},     {KILN_LOG_DETAIL_INFO, NULL, 4},
        {KILN_LOG_DETAIL_DEBUG, NULL, 5},       {KILN_LOG_DETAIL_DEFAULT, "info", 4},
        {KILN_LOG_DETAIL_DEFAULT, "debug", 5},  {KILN_LOG_DETAIL_DEFAULT, "x,info", 4},
        {KILN_LOG_DETAIL_DEFAULT, "inform", 0}, {KILN_LOG_DETAIL_WARNING, "debug", 0},
        {KILN_LOG_DETAIL_INFO, "error", 4},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        told t;
        kiln_context_options options = options_of(f, &t, table[i].detail);
        options.cache_dir = "";
        if (table[i].variable) setenv("KILN_LOG", table[i].variable, 1);
        run_twice(&options, false);
        unsetenv("KILN_LOG");
        if (t.count != table[i].told) fail_msg("line %zu told %d events, expected %d", i, t.count, table[i].told);
    }
    told t;
    kiln_context *context = NULL;
    kiln_context_options options = options_of(f, &t, (kiln_log_detail)5);
    launch_expect(kiln_context_create(&options, &context), KILN_E_ARGUMENT,
                  "log_detail is 5, expected a kiln_log_detail");
}

static void an_older_programs_options_end_before_the_level(void **state) {
    launch_fixture *f = *state;
    told t;
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_DEBUG); /* which an older library does not see */
    options.struct_size = offsetof(kiln_context_options, log_detail);
    options.cache_dir = "/dev/null/cache";
    run_twice(&options, false);
    static const event warned[] = {{KILN_LOG_WARNING, "the disk cache '/dev/null/cache' cannot be written: *"}};
    expect(&t, warned, 1);
}

static void what_is_not_told_is_not_formatted(void **state) {
    launch_fixture *f = *state;
    told t;
    for (int detail = KILN_LOG_DETAIL_DEBUG; detail >= KILN_LOG_DETAIL_ERROR; detail--) {
        kiln_context_options options = options_of(f, &t, (kiln_log_detail)detail);
        options.cache_dir = "";
        formatted = 0;
        run_twice(&options, true);
        assert_int_equal(formatted, t.count);
        assert_int_equal(t.count > 0, detail >= KILN_LOG_DETAIL_INFO);
    }
}

static void a_failed_compile_tells_its_log_and_its_time(void **state) {
    launch_fixture *f = *state;
    told t;
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_INFO);
    kiln_context *context = create(&options);
    kiln_program *program = launch_program(context, "source_refused = x * 3");
    launch_expect(launch_run(program, TENSORS), KILN_E_COMPILE, NULL);
    static const event failed[] = {
        {KILN_LOG_INFO, "kernels are launched through *"},
        {KILN_LOG_INFO, "kernels are compiled by *"},
        {KILN_LOG_INFO, "compiling for sm_90, *"},
        {KILN_LOG_ERROR, "*"},
        {KILN_LOG_INFO, "compiling failed after *.* ms (KILN_E_COMPILE): source_refused = x * 3 | *"},
    };
    expect(&t, failed, COUNT(failed));
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void an_nvrtc_that_is_older_than_the_device_is_told(void **state) {
    launch_fixture *f = *state;
    told t;
    char nvrtc[160];
    snprintf(nvrtc, sizeof nvrtc, "%s/libnvrtc-80.so", f->dir);
    launch_copy(KILN_FAKE_NVRTC, nvrtc); /* the other may be open already, with its architectures */
    setenv("FAKE_NVRTC_ARCH", "80", 1);
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_INFO);
    options.nvrtc_path = nvrtc;
    kiln_context *context = create(&options);
    kiln_program *program = launch_program(context, "y = x * 3");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    static const event ptx[] = {
        {KILN_LOG_INFO, "kernels are launched through *"},
        {KILN_LOG_INFO, "kernels are compiled by *"},
        {KILN_LOG_INFO, "compiling for sm_90, *"},
        {KILN_LOG_INFO, "compiling failed after *.* ms (KILN_E_ARCH): *"},
        {KILN_LOG_INFO, "NVRTC 11.* does not know sm_90: the driver compiles PTX for compute_80 when it is loaded"},
        {KILN_LOG_INFO, "compiling for compute_80, *"},
        {KILN_LOG_INFO, "compiled in *"},
    };
    expect(&t, ptx, COUNT(ptx));
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void *run_one(void *program) {
    kiln__CUcontext cuda = NULL;
    kiln__driver const *driver = NULL;
    if (kiln__driver_open(KILN_FAKE_DRIVER, &driver) || driver->DevicePrimaryCtxRetain(&cuda, 0) ||
        driver->CtxSetCurrent(cuda))
        return NULL;
    launch_run(program, TENSORS);
    return NULL;
}

static void waiting_for_another_thread_is_told(void **state) {
    launch_fixture *f = *state;
    told t;
    pthread_t threads[4];
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_INFO);
    options.cache_dir = "";
    kiln_context *context = create(&options);
    kiln_program *program = launch_program(context, "y = x * 3");
    setenv("FAKE_NVRTC_MS", "200", 1);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_one, program), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    unsetenv("FAKE_NVRTC_MS");
    int waited = 0, compiled = 0;
    for (int i = 0; i < t.count; i++) {
        waited += matches("waited *.* ms while another thread or process compiled: y = x * 3 | *", t.lines[i]);
        compiled += matches("compiled in *", t.lines[i]);
    }
    assert_int_equal(compiled, 1);
    assert_int_equal(waited, 3);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* Contexts of one folder know nothing of each other, as those of two processes. */
static void waiting_for_another_process_is_told(void **state) {
    launch_fixture *f = *state;
    told first, second;
    pthread_t thread;
    kiln_context_options options = options_of(f, &first, KILN_LOG_DETAIL_INFO);
    kiln_context *compiling = create(&options), *waiting;
    options = options_of(f, &second, KILN_LOG_DETAIL_DEBUG);
    waiting = create(&options);
    kiln_program *slow = launch_program(compiling, "y = x * 3"), *same = launch_program(waiting, "y = x * 3");
    setenv("FAKE_NVRTC_MS", "300", 1);
    assert_int_equal(pthread_create(&thread, NULL, run_one, slow), 0);
    while (launch_compiles(f) < 1) usleep(1000);
    launch_expect(launch_run(same, TENSORS), KILN_OK, "");
    pthread_join(thread, NULL);
    unsetenv("FAKE_NVRTC_MS");
    static const event waited[] = {
        {KILN_LOG_INFO, "kernels are launched through *"},
        {KILN_LOG_INFO, "kernels are compiled by *"},
        {KILN_LOG_INFO, "waited *.* ms while another thread or process compiled: y = x * 3 | *"},
        {KILN_LOG_DEBUG, "found in the disk cache in *.* ms: y = x * 3 | *"},
        {KILN_LOG_DEBUG, "loaded on device 0 in *"},
    };
    expect(&second, waited, COUNT(waited));
    for (int i = 0; i < first.count; i++) assert_false(matches("waited *", first.lines[i]));
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    launch_expect(kiln_context_get_stats(compiling, &stats), KILN_OK, "");
    assert_true(stats.wait_seconds == 0);
    kiln_program_destroy(slow);
    kiln_program_destroy(same);
    kiln_context_destroy(compiling);
    kiln_context_destroy(waiting);
}

static void what_is_dropped_is_told(void **state) {
    launch_fixture *f = *state;
    told t;
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_INFO);
    options.loaded_max_count = 2;
    options.cache_max_bytes = 200000;
    kiln_context *context = create(&options);
    context->disk->step_ms = 10000;
    int dropped = 0, pruned = 0;
    for (int i = 0; i < 16; i++) {
        char text[64];
        snprintf(text, sizeof text, "y = x * %d", i);
        kiln_program *program = launch_program(context, text);
        launch_expect(launch_run(program, TENSORS), KILN_OK, "");
        kiln_program_destroy(program);
    }
    for (int i = 0; i < t.count; i++) {
        dropped += matches("dropped the * loaded kernels that were used least recently, beyond the limits of the "
                           "context, in *.* ms",
                           t.lines[i]);
        pruned += matches("pruned * entries of the disk cache '*', which may have 200000 bytes", t.lines[i]);
    }
    assert_true(dropped > 0);
    assert_true(pruned > 0);
    kiln_context_destroy(context);
}

static void what_the_cache_has_no_room_for_is_told_once(void **state) {
    launch_fixture *f = *state;
    told t;
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_DEFAULT);
    options.cache_max_bytes = 1000;
    kiln_context *context = create(&options);
    kiln_program *program = launch_program(context, "y = x * 3");
    launch_expect(launch_run(program, TENSORS), KILN_OK, "");
    launch_expect(launch_run(program, "f16[8,128] f16[8,128]"), KILN_OK, "");
    static const event warned[] = {
        {KILN_LOG_WARNING, "the disk cache '*' may have 1000 bytes, and a kernel needs *: it is not kept"}};
    expect(&t, warned, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void missing_kernels_that_are_recorded_are_told(void **state) {
    launch_fixture *f = *state;
    char record[128];
    told t;
    snprintf(record, sizeof record, "%s/record.jsonl", f->dir);
    kiln_context_options options = options_of(f, &t, KILN_LOG_DETAIL_INFO);
    options.cache_dir = "";
    options.record_path = record;
    options.policy = KILN_POLICY_NEVER_COMPILE;
    kiln_context *context = create(&options);
    kiln_program *program = launch_program(context, "y = x * 3");
    launch_expect(launch_run(program, TENSORS), KILN_E_WOULD_COMPILE, NULL);
    launch_expect(launch_run(program, TENSORS), KILN_E_WOULD_COMPILE, NULL);
    static const event recorded[] = {{KILN_LOG_INFO, "kernels are launched through *"},
                                     {KILN_LOG_INFO, "recorded in '*/record.jsonl': y = x * 3"}};
    expect(&t, recorded, COUNT(recorded));
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(a_kernels_way_is_told),
        WITH_LAUNCHES(levels_are_chosen_by_the_options_and_by_the_user),
        WITH_LAUNCHES(an_older_programs_options_end_before_the_level),
        WITH_LAUNCHES(what_is_not_told_is_not_formatted),
        WITH_LAUNCHES(a_failed_compile_tells_its_log_and_its_time),
        WITH_LAUNCHES(an_nvrtc_that_is_older_than_the_device_is_told),
        WITH_LAUNCHES(waiting_for_another_thread_is_told),
        WITH_LAUNCHES(waiting_for_another_process_is_told),
        WITH_LAUNCHES(what_is_dropped_is_told),
        WITH_LAUNCHES(what_the_cache_has_no_room_for_is_told_once),
        WITH_LAUNCHES(missing_kernels_that_are_recorded_are_told),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

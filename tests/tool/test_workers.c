/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes: every task is answered, whatever its worker does. And the progress bar's line. */
#define _GNU_SOURCE
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

#include "progress.h"
#include "workers.h"

enum { TASKS = 40 };

typedef struct seen {
    kiln_status status[TASKS];
    char message[TASKS][128];
    size_t done;
    bool stop_at_failure, cannot_begin;
    int behaviour; /* 0: all is well; tasks that are multiples of 7 do otherwise */
} seen;

enum { WELL, EXITS, CRASHES, HANGS, FAILS };

static void *begin(void *user) {
    const seen *s = user;
    if (!s->cannot_begin) return user;
    kiln__fail(KILN_E_INTERNAL, "it cannot begin");
    return NULL;
}

static void work(void *user, void *own, size_t task, task_result *result) {
    const seen *s = own;
    assert_ptr_equal(user, own);
    result->compiled = task % 2;
    if (task % 7) return;
    if (s->behaviour == EXITS) _exit(3);
    if (s->behaviour == CRASHES) kill(getpid(), 9);
    while (s->behaviour == HANGS) pause();
    if (s->behaviour != FAILS) return;
    result->status = KILN_E_TYPE;
    strcpy(result->message, "it fails");
}

static bool done(void *user, size_t task, const task_result *result) {
    seen *s = user;
    s->done++;
    s->status[task] = result->status;
    snprintf(s->message[task], sizeof s->message[task], "%.100s", result->message);
    assert_true(result->status || result->compiled == task % 2);
    return !s->stop_at_failure || !result->status;
}

static void tick(void *user) { (void)user; }

static void run(seen *s, int jobs, size_t count) {
    const worker_pool pool = {jobs, 0.3, count, s, begin, work, done, tick};
    assert_int_equal(workers_run(&pool), KILN_OK);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

static void every_task_is_answered(void **state) {
    (void)state;
    static const struct {
        int behaviour;
        kiln_status status;
        const char *message;
    } cases[] = {
        {WELL, KILN_OK, ""},
        {EXITS, KILN_E_COMPILE, "the compiler ended its process with exit code 3"},
        {CRASHES, KILN_E_COMPILE, "the compiler was killed by signal 9 (Killed)"},
        {HANGS, KILN_E_COMPILE, "the compiler took longer than 0.3 seconds and was stopped"},
        {FAILS, KILN_E_TYPE, "it fails"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int jobs = 1; jobs <= 5; jobs += 4) {
            seen *s = calloc(1, sizeof *s);
            assert_non_null(s);
            s->behaviour = cases[i].behaviour;
            run(s, jobs, cases[i].behaviour == HANGS ? 10 : TASKS);
            assert_int_equal(s->done, cases[i].behaviour == HANGS ? 10 : TASKS);
            for (size_t t = 0; t < s->done; t++) {
                assert_int_equal(s->status[t], t % 7 ? KILN_OK : cases[i].status);
                assert_string_equal(s->message[t], t % 7 ? "" : cases[i].message);
            }
            free(s);
        }
    }
}

static void a_failure_can_end_the_run(void **state) {
    (void)state;
    seen s = {.behaviour = FAILS, .stop_at_failure = true};
    run(&s, 1, TASKS);
    assert_int_equal(s.done, 1); /* the first task is the first failure */
}

static void a_worker_that_cannot_begin_says_why(void **state) {
    (void)state;
    seen s = {.cannot_begin = true};
    run(&s, 2, 3);
    assert_int_equal(s.done, 3);
    for (int t = 0; t < 3; t++) assert_string_equal(s.message[t], "it cannot begin");
}

static void the_bar_tells_rate_and_time_left(void **state) {
    (void)state;
    static const struct {
        size_t done, total, failed;
        double seconds;
        const char *line;
    } cases[] = {
        {0, 200, 0, 0, "[          ] 0/200, 0.0 per second"},
        {50, 200, 0, 4, "[##        ] 50/200, 12.5 per second, 0:12 left"},
        {199, 200, 3, 100, "[######### ] 199/200, 2.0 per second, 0:00 left, 3 failed"},
        {1, 1000, 0, 10, "[          ] 1/1000, 0.1 per second, 166:30 left"},
        {0, 0, 0, 1, "[##########] 0/0, 0.0 per second"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        progress_format(text, sizeof text, 10, cases[i].done, cases[i].total, cases[i].failed, cases[i].seconds);
        assert_string_equal(text, cases[i].line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_answered),
        cmocka_unit_test(a_failure_can_end_the_run),
        cmocka_unit_test(a_worker_that_cannot_begin_says_why),
        cmocka_unit_test(the_bar_tells_rate_and_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One compile for each key among processes: they wait for each other, and never for one that was killed, was stopped,
 * cannot publish, or cannot be seen. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/crowd.h"

#define COMPILE_MS 60
#define WAIT_MS (COMPILE_MS + 1000.0) /* the compile and a second */
#define WITH_CROWD(test) cmocka_unit_test_setup_teardown(test, crowd_set_up, crowd_tear_down)

static void expect_all(const crowd_result *result, int right) {
    if (result->wrong) fail_msg("%d requests failed, first with %s", result->wrong, kiln_status_name(result->status));
    assert_int_equal(result->right, right);
}

static void processes_started_together_compile_each_kernel_once(void **state) {
    crowd *c = *state;
    enum { PROCESSES = 64, KERNELS = 20 };
    int kernels = 0;
    for (int i = 0; i < PROCESSES; i++) crowd_start(c, 0, KERNELS, COMPILE_MS);
    crowd_open_gate(c);
    crowd_result result = crowd_wait(c, PROCESSES);
    expect_all(&result, PROCESSES * KERNELS);
    assert_int_equal(crowd_compiles(c, &kernels), KERNELS);
    assert_int_equal(kernels, KERNELS);
    assert_int_equal(crowd_files(c, ".k1"), KERNELS);
    assert_int_equal(crowd_files(c, ".lock"), 0);
    assert_int_equal(crowd_files(c, ".tmp-"), 0);
    if (result.longest_ms > WAIT_MS) fail_msg("a request took %.0f ms, expected %.0f", result.longest_ms, WAIT_MS);
}

static void a_killed_holder_is_followed_at_once(void **state) {
    crowd *c = *state;
    enum { WAITING = 8 };
    pid_t holder = crowd_start(c, 0, 1, 60000);
    crowd_open_gate(c);
    crowd_wait_for_lock(c);
    for (int i = 0; i < WAITING; i++) crowd_start(c, 0, 1, COMPILE_MS);
    usleep(100000);
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    crowd_result result = crowd_wait(c, WAITING);
    expect_all(&result, WAITING);
    assert_in_range(crowd_compiles(c, NULL), 1,
                    2); /* the holder's, if it came so far, and that of the one that followed */
    assert_int_equal(crowd_files(c, ".lock"), 0);
    if (result.longest_ms > WAIT_MS) fail_msg("a request took %.0f ms, expected %.0f", result.longest_ms, WAIT_MS);
}

static void a_stopped_holder_is_not_waited_for(void **state) {
    crowd *c = *state;
    enum { WAITING = 8 };
    pid_t holder = crowd_start(c, 0, 1, 2000);
    crowd_open_gate(c);
    crowd_wait_for_lock(c);
    kill(holder, SIGSTOP);
    for (int i = 0; i < WAITING; i++) crowd_start(c, 0, 1, COMPILE_MS);
    crowd_result result = crowd_wait(c, WAITING);
    expect_all(&result, WAITING);
    const int compiles = crowd_compiles(c, NULL); /* the holder's, if it came so far, and that of one that followed */
    assert_in_range(compiles, 1, 2);
    assert_int_equal(crowd_files(c, ".lock"), 0);
    if (result.longest_ms > WAIT_MS) fail_msg("a request took %.0f ms, expected %.0f", result.longest_ms, WAIT_MS);
    kill(holder, SIGCONT); /* it publishes an equal entry and leaves the locks of others alone */
    result = crowd_wait(c, 1);
    expect_all(&result, 1);
    assert_int_equal(crowd_files(c, ".k1"), 1);
    assert_int_equal(crowd_files(c, ".lock"), 0);
}

static void a_long_compile_is_waited_for(void **state) {
    crowd *c = *state;
    enum { WAITING = 4, LONG_MS = 2500 };
    for (int i = 0; i < WAITING; i++) crowd_start(c, 0, 1, LONG_MS);
    crowd_open_gate(c);
    crowd_result result = crowd_wait(c, WAITING);
    expect_all(&result, WAITING);
    assert_int_equal(crowd_compiles(c, NULL), 1);
    if (result.longest_ms > LONG_MS + 1000) fail_msg("a request took %.0f ms", result.longest_ms);
}

static void what_cannot_be_published_is_not_waited_for_in_turn(void **state) {
    crowd *c = *state;
    enum { PROCESSES = 16, SLOW_MS = 200 };
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY}, little = {2000, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0); /* a full disk: children inherit it */
    for (int i = 0; i < PROCESSES; i++) crowd_start(c, 0, 1, SLOW_MS);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    crowd_open_gate(c);
    crowd_result result = crowd_wait(c, PROCESSES);
    expect_all(&result, PROCESSES);
    assert_int_equal(crowd_compiles(c, NULL), PROCESSES);
    assert_int_equal(crowd_files(c, ".k1"), 0);
    assert_int_equal(crowd_files(c, ".tmp-"), 0);
    assert_int_equal(crowd_files(c, ".lock"), 0);
    if (result.longest_ms > SLOW_MS + 1000) fail_msg("a request took %.0f ms", result.longest_ms);
}

/* ---- shared folders, where what another machine does may not be seen ---- */

/* The path of kernel 0's lock: of its entry, which a process makes and the test removes. */
static void find_lock(crowd *c, char path[256]) {
    crowd_start(c, 0, 1, 0);
    crowd_open_gate(c);
    crowd_wait(c, 1);
    FILE *listing;
    char command[256];
    snprintf(command, sizeof command, "find '%s' -name '*.k1'", c->cache);
    listing = popen(command, "r");
    assert_non_null(listing);
    assert_int_equal(fscanf(listing, "%255s", path), 1);
    pclose(listing);
    assert_int_equal(unlink(path), 0);
    strcpy(strstr(path, ".k1"), ".lock");
}

static void a_loser_that_sees_no_entry_compiles(void **state) {
    crowd *c = *state;
    char path[256];
    find_lock(c, path);
    int winner = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(winner >= 0);
    assert_int_equal(flock(winner, LOCK_EX), 0);
    crowd_start(c, 0, 1, COMPILE_MS);
    usleep(200000);
    assert_int_equal(unlink(path), 0); /* the winner is done; its entry is not visible here */
    assert_int_equal(flock(winner, LOCK_UN), 0);
    close(winner);
    crowd_result result = crowd_wait(c, 1);
    expect_all(&result, 1);
    assert_int_equal(crowd_compiles(c, NULL), 2);
    assert_int_equal(crowd_files(c, ".k1"), 1);
}

static void a_lock_whose_stamps_are_not_seen_is_not_waited_for(void **state) {
    crowd *c = *state;
    char path[256];
    find_lock(c, path);
    int winner = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(winner, LOCK_EX), 0); /* alive on another machine, and never heard of */
    crowd_start(c, 0, 1, COMPILE_MS);
    crowd_result result = crowd_wait(c, 1);
    close(winner);
    expect_all(&result, 1);
    if (result.longest_ms > WAIT_MS) fail_msg("the request took %.0f ms, expected %.0f", result.longest_ms, WAIT_MS);
}

static void without_locks_all_compile_and_all_are_right(void **state) {
    crowd *c = *state;
    enum { PROCESSES = 8 };
    char path[256];
    find_lock(c, path);
    assert_int_equal(mkdir(path, 0700), 0); /* nobody can lock a folder in the lock's place */
    for (int i = 0; i < PROCESSES; i++) crowd_start(c, 0, 1, COMPILE_MS);
    crowd_result result = crowd_wait(c, PROCESSES);
    expect_all(&result, PROCESSES);
    assert_in_range(crowd_compiles(c, NULL), 2, PROCESSES + 1);
    assert_int_equal(crowd_files(c, ".k1"), 1);
    crowd_start(c, 0, 1, COMPILE_MS);
    int before = crowd_compiles(c, NULL);
    result = crowd_wait(c, 1);
    expect_all(&result, 1);
    assert_int_equal(crowd_compiles(c, NULL), before); /* whoever published last */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_CROWD(processes_started_together_compile_each_kernel_once),
        WITH_CROWD(a_killed_holder_is_followed_at_once),
        WITH_CROWD(a_stopped_holder_is_not_waited_for),
        WITH_CROWD(a_long_compile_is_waited_for),
        WITH_CROWD(what_cannot_be_published_is_not_waited_for_in_turn),
        WITH_CROWD(a_loser_that_sees_no_entry_compiles),
        WITH_CROWD(a_lock_whose_stamps_are_not_seen_is_not_waited_for),
        WITH_CROWD(without_locks_all_compile_and_all_are_right),
    };
    return cmocka_run_group_tests_name("cache_processes", tests, NULL, NULL);
}

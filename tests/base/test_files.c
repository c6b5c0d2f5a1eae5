/* SPDX-License-Identifier: Apache-2.0 */
/* A library lives in somebody's process: no signal of a write ends it, no sandbox makes it spin or keep nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cache/lock.h"
#include "support/cache_fixture.h"

#define SKIPPED 77
/* In a child: fails by a number of its own. */
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
            _exit(1); \
        } \
    } while (0)

/* Runs what may end, stop or confine its process in one of its own; false where the system does not allow the test. */
static bool in_child(void (*run)(cache_fixture *f), cache_fixture *f) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        run(f);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("ended by signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != SKIPPED) assert_int_equal(WEXITSTATUS(status), 0);
    return WEXITSTATUS(status) != SKIPPED;
}

static bool pends(int signal) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal);
}

static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, bytes};
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void write_where_it_fails(cache_fixture *f) {
    char path[PATH_MAX], bytes[64] = "";
    int ends[2];
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    EXPECT(pipe(ends) == 0 && close(ends[0]) == 0);
    EXPECT(kiln__file_write(ends[1], "x", 1) == -1 && errno == EPIPE);
    snprintf(path, sizeof path, "%s/file", f->dir);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    EXPECT(fd >= 0);
    limit_files(40);
    EXPECT(kiln__file_write(fd, bytes, sizeof bytes) == 40);
    EXPECT(kiln__file_write(fd, bytes, sizeof bytes) == -1 && errno == EFBIG);
    EXPECT(!kiln__file_write_all(fd, bytes, sizeof bytes) && errno == EFBIG);
    EXPECT(!pends(SIGPIPE) && !pends(SIGXFSZ));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < NSIG; i++) EXPECT(sigismember(&before, i) == sigismember(&after, i));
    struct sigaction action;
    EXPECT(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    EXPECT(sigaction(SIGXFSZ, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    /* A caller's own pending signal stays its own. */
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    raise(SIGPIPE);
    EXPECT(kiln__file_write(ends[1], "x", 1) == -1 && errno == EPIPE);
    EXPECT(pends(SIGPIPE));
}

static void a_write_that_fails_raises_no_signal(void **state) { in_child(write_where_it_fails, *state); }

static void print_to_nobody(cache_fixture *f) {
    int ends[2];
    (void)f;
    EXPECT(pipe(ends) == 0 && close(ends[0]) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    setenv("KILN_LOG", "all", 1);
    setenv("KILN_PACKS", "/nowhere.kpack", 1); /* of which the log is told */
    options.cache_dir = "";
    if (kiln_context_create(&options, &context) != KILN_OK) _exit(1);
    kiln_context_destroy(context);
}

static void a_log_that_nobody_reads_ends_nothing(void **state) { in_child(print_to_nobody, *state); }

static void publish_too_much(cache_fixture *f) {
    limit_files(100); /* a part of it can be written */
    EXPECT(!kiln__disk_put(f->disk, &f->key, &sample));
    EXPECT(f->messages == 1 && strstr(f->message, "cannot be written: File too large"));
    EXPECT(kiln__disk_record_put(f->disk, "nvrtc", "small", 5));
    limit_files(0);
    EXPECT(!kiln__disk_put(f->disk, &f->key, &sample));
    EXPECT(!kiln__disk_record_put(f->disk, "nvrtc", "small", 5));
}

static void a_limit_on_files_costs_the_entry_alone(void **state) {
    cache_fixture *f = *state;
    in_child(publish_too_much, f);
    expect_miss(f);
    kiln__pruned left;
    assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
    assert_int_equal(left.kept, 0);
    assert_int_equal(left.kept_bytes, 0); /* nothing half written */
}

/* Answers these system calls with an error, as sandboxes do. Skips the test where the system has no filters. */
static void deny(const int *calls, size_t count, int error) {
    struct sock_filter filter[32];
    unsigned short n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(SKIPPED);
}

static double cpu_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec * 1e-6;
}

/* Newer architectures have only the later form of each call. */
#ifndef SYS_poll
#define SYS_poll SYS_ppoll
#define SYS_eventfd SYS_eventfd2
#define SYS_select SYS_pselect6
#endif

static void cache_in_sandbox(cache_fixture *f) {
    static const int calls[] = {SYS_poll,     SYS_ppoll,  SYS_getrandom, SYS_eventfd,
                                SYS_eventfd2, SYS_select, SYS_pselect6};
    deny(calls, f->messages ? COUNT(calls) : 3, f->messages ? ENOSYS : EPERM);
    f->messages = 0;
    const atomic_uint never = 0; /* cancelled */
    kiln__claim claim;
    kiln__entry found;
    struct stat first, later;
    char path[PATH_MAX];
    EXPECT(!kiln__disk_claim(f->disk, &f->key, &claim, &found, &never, 0) && claim.file >= 0);
    snprintf(path, sizeof path, "%s/%.2s/%s", f->dir, f->key.hex, claim.name);
    EXPECT(stat(path, &first) == 0);
    const double before = cpu_ms();
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    EXPECT(cpu_ms() - before < 50); /* a thread that spins takes what it gets */
    EXPECT(stat(path, &later) == 0);
    EXPECT(memcmp(&first.st_mtim, &later.st_mtim, sizeof first.st_mtim) != 0); /* and it is marked as alive */
    EXPECT(kiln__disk_put(f->disk, &f->key, &sample));
    kiln__disk_release(&claim);
    EXPECT(f->messages == 0);
    EXPECT(kiln__disk_get(f->disk, &f->key, &found));
    kiln__entry_free(&found);
}

static void a_sandbox_that_denies_waiting_and_random_numbers_keeps_the_cache(void **state) {
    cache_fixture *f = *state;
    for (int i = 0; i < 2; i++) { /* EPERM, ENOSYS */
        f->messages = i;
        if (!in_child(cache_in_sandbox, f)) skip();
        assert_int_equal(kiln__disk_clear(f->disk, NULL, NULL), KILN_OK);
    }
}

/* Threads and forked children name their temporary files apart, though nothing but their moments differ. */
static void *put_many(void *user) {
    cache_fixture *f = user;
    for (int i = 0; i < 50; i++)
        if (!kiln__disk_put(f->disk, &f->key, &sample)) return f;
    return NULL;
}

static void put_from_threads(cache_fixture *f) {
    pthread_t threads[4];
    void *failed = NULL;
    for (int i = 0; i < 4; i++) EXPECT(pthread_create(&threads[i], NULL, put_many, f) == 0);
    for (int i = 0; i < 4; i++) EXPECT(pthread_join(threads[i], &failed) == 0 && failed == NULL);
}

static void writers_do_not_meet(void **state) {
    cache_fixture *f = *state;
    in_child(put_from_threads, f);
    expect_hit(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_write_that_fails_raises_no_signal),
        WITH_FOLDER(a_log_that_nobody_reads_ends_nothing),
        WITH_FOLDER(a_limit_on_files_costs_the_entry_alone),
        WITH_FOLDER(a_sandbox_that_denies_waiting_and_random_numbers_keeps_the_cache),
        WITH_FOLDER(writers_do_not_meet),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}

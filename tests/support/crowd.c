/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that ask a cache for kernels. A kernel is right where its image is its own code: that is what the stand-in
 * makes of it. */
#define _GNU_SOURCE
#include "crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/source.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void keep_clock(size_t processor, _Atomic double *ms) {
    enum { TICK_MS = 5 };
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(1);
    for (double before = now_ms();;) {
        usleep(TICK_MS * 1000);
        double now = now_ms(), tick = now - before;
        atomic_store(ms, atomic_load(ms) + (tick < 2 * TICK_MS ? tick : 2 * TICK_MS));
        before = now;
    }
}

/* The keepers have process groups of their own, so that nobody who waits for the crowd waits for them. */
static void start_clocks(crowd_clocks *clocks) {
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t i = 0; i < CPU_SETSIZE && clocks->count < CROWD_MAX_CLOCKS; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        _Atomic double *ms = &clocks->ms[clocks->count];
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            keep_clock(i, ms);
        }
        setpgid(child, child);
        clocks->keeper[clocks->count++] = child;
    }
}

static void stop_clocks(crowd_clocks *clocks) {
    for (int i = 0; i < clocks->count; i++) kill(clocks->keeper[i], SIGKILL);
    for (int i = 0, status; i < clocks->count; i++) {
        assert_int_equal(waitpid(clocks->keeper[i], &status, 0), clocks->keeper[i]);
        assert_true(WIFSIGNALED(status)); /* it kept its clock until now */
    }
}

/* Milliseconds since the last reading, which is replaced. */
static double read_clocks(const crowd_clocks *clocks, double reading[CROWD_MAX_CLOCKS]) {
    double least = HUGE_VAL;
    for (int i = 0; i < clocks->count; i++) {
        double now = atomic_load(&clocks->ms[i]);
        if (now - reading[i] < least) least = now - reading[i];
        reading[i] = now;
    }
    return least;
}

int crowd_set_up(void **state) {
    crowd *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->clocks = mmap(NULL, sizeof *c->clocks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(c->clocks, MAP_FAILED);
    start_clocks(c->clocks);
    assert_true(own_folder_make(&c->folder));
    snprintf(c->cache, sizeof c->cache, "%s/cache", c->folder.path);
    snprintf(c->count, sizeof c->count, "%s/count", c->folder.path);
    assert_int_equal(pipe2(c->gate, O_CLOEXEC), 0);
    assert_int_equal(pipe2(c->results, O_CLOEXEC), 0);
    setenv("FAKE_NVRTC_COUNT", c->count, 1);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    *state = c;
    return 0;
}

int crowd_tear_down(void **state) {
    crowd *c = *state;
    for (int i = 0; i < 2; i++) {
        if (c->gate[i] >= 0) close(c->gate[i]);
        close(c->results[i]);
    }
    stop_clocks(c->clocks);
    munmap(c->clocks, sizeof *c->clocks);
    own_folder_remove(&c->folder);
    unsetenv("FAKE_NVRTC_COUNT");
    free(c);
    return 0;
}

kiln_context *crowd_context(const char *cache, kiln_policy policy, kiln_log_callback log, void *user) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache;
    options.nvrtc_path = KILN_FAKE_NVRTC;
    options.policy = policy;
    options.log = log;
    options.log_user = user;
    kiln_context *context = NULL;
    return kiln_context_create(&options, &context) ? NULL : context;
}

kiln_status crowd_request(kiln_context *context, int i, kiln_plan_info *info) {
    const int64_t sizes[2] = {-1, 32 + 8 * i};
    const kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes),
                                    kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes)};
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_plan_info own = KILN_PLAN_INFO_INIT;
    kiln_status status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status) status = kiln_kernel_get_info(kernel, &own);
    if (!status) {
        size_t size = 0;
        const char *image = kiln_kernel_image(kernel, &size);
        const char *code = kiln__source_code(own.source);
        if (size != strlen(code) + 1 || memcmp(image, code, size) != 0) status = KILN_E_INTERNAL;
    }
    if (info) *info = own;
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    return status;
}

static crowd_result ask(const crowd *c, int first, int count) {
    crowd_result result = {0};
    double reading[CROWD_MAX_CLOCKS] = {0};
    kiln_context *context = crowd_context(c->cache, KILN_POLICY_COMPILE, NULL, NULL);
    for (int i = first; i < first + count; i++) {
        read_clocks(c->clocks, reading);
        kiln_status status = crowd_request(context, i, NULL);
        double ms = read_clocks(c->clocks, reading);
        if (ms > result.longest_ms) result.longest_ms = ms;
        if (status && !result.status) result.status = status;
        *(status ? &result.wrong : &result.right) += 1;
    }
    kiln_context_destroy(context);
    return result;
}

pid_t crowd_start(crowd *c, int first, int count, int compile_ms) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind, stopped or waiting */
    char delay[16], byte;
    snprintf(delay, sizeof delay, "%d", compile_ms);
    setenv("FAKE_NVRTC_MS", delay, 1);
    if (c->gate[1] >= 0) close(c->gate[1]);
    while (read(c->gate[0], &byte, 1) > 0) {
    }
    crowd_result result = ask(c, first, count);
    _exit(write(c->results[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
}

void crowd_open_gate(crowd *c) {
    close(c->gate[1]);
    c->gate[1] = -1;
}

crowd_result crowd_wait(crowd *c, int processes) {
    crowd_result sum = {0}, one;
    for (int i = 0; i < processes; i++) {
        assert_int_equal(read(c->results[0], &one, sizeof one), sizeof one);
        sum.right += one.right;
        sum.wrong += one.wrong;
        if (!sum.status) sum.status = one.status;
        if (one.longest_ms > sum.longest_ms) sum.longest_ms = one.longest_ms;
    }
    for (int i = 0; i < processes; i++) assert_true(waitpid(0, NULL, 0) > 0);
    return sum;
}

int crowd_compiles(const crowd *c, int *kernels) {
    char line[64], seen[256][17];
    int count = 0, different = 0;
    FILE *file = fopen(c->count, "r");
    while (file && fgets(line, sizeof line, file)) {
        int i = 0;
        while (i < different && strncmp(seen[i], line, 16) != 0) i++;
        if (i == different && different < 256) snprintf(seen[different++], sizeof seen[0], "%.16s", line);
        count++;
    }
    if (file) fclose(file);
    if (kernels) *kernels = different;
    return count;
}

static const char *wanted;
static int wanted_count;
static char wanted_path[512];

static int count_file(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    if (kind == FTW_F && strstr(path + place->base, wanted)) {
        wanted_count++;
        snprintf(wanted_path, sizeof wanted_path, "%s", path);
    }
    return 0;
}

int crowd_files(const crowd *c, const char *text) {
    wanted = text;
    wanted_count = 0;
    nftw(c->cache, count_file, 8, FTW_PHYS);
    return wanted_count;
}

void crowd_wait_for_lock(const crowd *c) {
    for (int i = 0; i < 2000; i++, usleep(5000)) {
        if (crowd_files(c, ".lock") != 1) continue;
        int fd = open(wanted_path, O_RDWR | O_CLOEXEC);
        bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
        if (fd >= 0) close(fd);
        if (held) return;
    }
    fail_msg("no lock was taken");
}

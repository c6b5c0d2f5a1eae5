/* SPDX-License-Identifier: Apache-2.0 */
/* Threads run shapes that nobody has seen under KILN_POLICY_BACKGROUND, while compiles behind them are cancelled,
 * contexts end at any moment, and children are forked. After each round no process, no thread, no open file and no file
 * of a compile's own is left; at the end memory has not grown.
 *
 *   torture_background [--seconds 60] [--seed S] [--threads 8]   on the stand-ins for driver and NVRTC
 *   torture_background --launches 10000 [--threads 16]           on the GPU that there is: how long a call takes the
 * host, and how long one of a shape that was seen, which is the driver's launch and little else
 *
 * Exit status 77 without such a GPU. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/driver.h"
#include "kiln/kiln.h"
#include "support/own_folder.h"

enum { MOST_THREADS = 64, PROGRAMS = 3, CALLS = 40, HANG_SECONDS = 120, GROWTH_KB = 40 * 1024, WARM_ROUNDS = 5 };

#ifdef __SANITIZE_THREAD__ /* a child of several threads may start none */
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

static const char *const texts[PROGRAMS] = {"y = softmax(x)", "y = x - mean(x)", "y = x / max(abs(x))"};

typedef struct round_state {
    kiln_context *context;
    kiln_program *programs[PROGRAMS];
    kiln__driver const *driver;
    void *memory;       /* of tensors; on the stand-ins an address alone */
    atomic_int columns; /* of the next shape */
    int launches;       /* 0: chaos */
    bool forks;
    double *us; /* of each launch */
    atomic_int failed;
} round_state;

typedef struct worker {
    round_state *round;
    pthread_t thread;
    uint64_t random;
} worker;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static uint64_t draw(uint64_t *random, uint64_t below) {
    *random = *random * 6364136223846793005u + 1442695040888963407u; /* Knuth's generator */
    return (*random >> 33) % below;
}

static kiln_status run_shape(const round_state *r, int program, int64_t columns) {
    const int64_t sizes[] = {3, columns};
    char *bytes = r->memory;
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(bytes, KILN_F16, 2, sizes),
                                   kiln_tensor_contiguous(bytes + (1 << 20), KILN_F16, 2, sizes)};
    return kiln_run(r->programs[program], tensors, 2, NULL, 0, NULL);
}

/* ---- chaos ---- */

/* A child goes on with what it has, ends the context or leaves it. It gets the driver's errors where it launches. */
static void in_child(round_state *r, uint64_t random) {
    const kiln_status status = run_shape(r, 0, 2 + (int64_t)draw(&random, 3000));
    if (draw(&random, 2)) {
        for (int p = 0; p < PROGRAMS; p++) kiln_program_destroy(r->programs[p]);
        kiln_context_destroy(r->context);
    }
    _exit(status && !*kiln_last_error());
}

static bool fork_one(round_state *r, uint64_t random) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(HANG_SECONDS / 2);
        in_child(r, random);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* What a cancelled compile comes to is no failure; nor is a context without one for any shape yet. */
static bool is_expected(kiln_status status) { return !status || status == KILN_E_CANCELLED; }

static bool use_device(const kiln__driver *driver) {
    kiln__CUcontext primary;
    return !driver->DevicePrimaryCtxRetain(&primary, 0) && !driver->CtxSetCurrent(primary);
}

static void *work(void *user) {
    worker *w = user;
    round_state *r = w->round;
    if (!use_device(r->driver)) return NULL;
    for (int i = 0; i < CALLS; i++) {
        const int program = (int)draw(&w->random, PROGRAMS);
        const uint64_t what = draw(&w->random, 100);
        const kiln_status status = run_shape(r, program, 2 + (int64_t)draw(&w->random, 3000));
        if (!is_expected(status) && !atomic_exchange(&r->failed, 1))
            printf("kiln_run: %d, %s\n", status, kiln_last_error());
        if (what < 6) kiln_context_cancel_compiles(r->context);
        if (what >= 97 && r->forks && !fork_one(r, w->random) && !atomic_exchange(&r->failed, 1))
            printf("a child did not end well\n");
    }
    return NULL;
}

/* ---- what is left ---- */

static int count_entries(const char *path, const char *word) {
    DIR *dir = opendir(path);
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) count += !word || strstr(e->d_name, word) != NULL;
    if (dir) closedir(dir);
    return count;
}

static long status_of(const char *field) {
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, strlen(field))) value = atol(line + strlen(field));
    if (file) fclose(file);
    return value;
}

static bool nothing_is_left(const char *cache, int files, long threads_before) {
    const bool children = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
    const long threads = status_of("Threads:");
    const int open = count_entries("/proc/self/fd", NULL), parts = count_entries(cache, ".tmp");
    if (!children && threads <= threads_before && open <= files && !parts) return true;
    printf("left: %s, %ld threads where there were %ld, %d open files where there were %d, %d files of writers\n",
           children ? "a process" : "no process", threads, threads_before, open, files, parts);
    return false;
}

/* ---- rounds ---- */

static bool open_round(round_state *r, const char *cache, const char *driver, const char *nvrtc, int64_t limit_ms) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache;
    options.driver_path = driver;
    options.nvrtc_path = nvrtc;
    options.policy = KILN_POLICY_BACKGROUND;
    options.compile_limit_ms = limit_ms;
    options.record_path = "";
    bool good = kiln_context_create(&options, &r->context) == KILN_OK;
    for (int p = 0; p < PROGRAMS; p++)
        good = good && kiln_program_create(r->context, texts[p], NULL, &r->programs[p]) == KILN_OK;
    for (int p = 0; p < PROGRAMS; p++) good = good && run_shape(r, p, 64) == KILN_OK; /* its kernel for any shape */
    if (!good) printf("%s\n", kiln_last_error());
    return good;
}

static void close_round(round_state *r) {
    for (int p = 0; p < PROGRAMS; p++) kiln_program_destroy(r->programs[p]);
    kiln_context_destroy(r->context);
}

static void run_threads(round_state *r, worker *workers, int threads, void *(*what)(void *), uint64_t *random) {
    for (int t = 0; t < threads; t++) {
        workers[t] = (worker){r, 0, draw(random, UINT32_MAX)};
        if (pthread_create(&workers[t].thread, NULL, what, &workers[t])) abort();
    }
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
}

static bool run_round(const kiln__driver *driver, const char *folder, int threads, uint64_t *random, bool forks) {
    round_state r = {.driver = driver, .memory = (void *)((uintptr_t)1 << 40), .forks = forks};
    worker workers[MOST_THREADS];
    const int files = count_entries("/proc/self/fd", NULL);
    const long before = status_of("Threads:");
    const bool disk = draw(random, 2), processes = draw(random, 2);
    bool good = open_round(&r, disk ? folder : "", KILN_FAKE_DRIVER, KILN_FAKE_NVRTC, processes ? 20000 : 0);
    if (good) run_threads(&r, workers, threads, work, random);
    close_round(&r);
    return nothing_is_left(folder, files, before) && good && !r.failed;
}

static void *do_nothing(void *nothing) { return nothing; }

static int torture(long seconds, uint64_t seed, int threads) {
    const kiln__driver *driver;
    own_folder folder;
    uint64_t random = seed;
    long warm = 0;
    int rounds = 0;
    bool good = own_folder_make(&folder);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    setenv("FAKE_NVRTC_MS", "15", 1);
    setenv("KILN_WORKER", KILN_BUILT_WORKER, 0);
    good = good && !kiln__driver_open(KILN_FAKE_DRIVER, &driver) && use_device(driver);
    pthread_t first; /* a sanitizer has a thread of its own from the first on */
    good = good && !pthread_create(&first, NULL, do_nothing, NULL) && !pthread_join(first, NULL);
    const double end = now_us() + (double)seconds * 1e6;
    for (; good && now_us() < end; rounds++) {
        alarm(HANG_SECONDS);
        good = run_round(driver, folder.path, threads, &random, FORKS && rounds % 2 == 1);
        if (rounds == WARM_ROUNDS) warm = status_of("VmRSS:");
    }
    const long grown = warm ? status_of("VmRSS:") - warm : 0;
    if (grown > GROWTH_KB) printf("%ld KB more than after %d rounds\n", grown, WARM_ROUNDS);
    printf("torture_background --seed %llu --threads %d   # %d rounds, %ld KB more than after %d\n",
           (unsigned long long)seed, threads, rounds, grown, WARM_ROUNDS);
    own_folder_remove(&folder);
    return !good || grown > GROWTH_KB;
}

/* ---- how long a call takes ---- */

static void *launch_shapes(void *user) {
    const worker *w = user;
    round_state *r = w->round;
    if (!use_device(r->driver)) return NULL;
    for (int i; (i = atomic_fetch_add(&r->columns, 1)) < r->launches;) {
        const double begin = now_us();
        const kiln_status status = run_shape(r, i % PROGRAMS, 100 + i / PROGRAMS);
        r->us[i] = now_us() - begin;
        if (status && !atomic_exchange(&r->failed, 1)) printf("kiln_run: %d, %s\n", status, kiln_last_error());
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void tell_times(const round_state *r, int threads, const char *what) {
    qsort(r->us, (size_t)r->launches, sizeof *r->us, ascending);
    printf(
        "%d launches of shapes that were %s, %d threads: median %.0f us, 99 %% within %.0f, 99.9 %% within %.0f, the "
        "longest %.0f us\n",
        r->launches, what, threads, r->us[r->launches / 2], r->us[r->launches / 100 * 99],
        r->us[r->launches / 1000 * 999], r->us[r->launches - 1]);
}

static int measure(int launches, int threads) {
    static const char *const seen[] = {"not seen", "seen before"};
    round_state r = {.launches = launches};
    worker workers[MOST_THREADS];
    kiln__CUdeviceptr memory;
    uint64_t random = 1;
    if (kiln__driver_open(NULL, &r.driver) || !use_device(r.driver) || r.driver->MemAlloc(&memory, 2 << 20)) return 77;
    r.memory = (void *)(uintptr_t)memory;
    r.us = calloc((size_t)launches, sizeof *r.us);
    bool good = r.us && open_round(&r, "", NULL, NULL, 0);
    for (int i = 0; i < 2 && good; i++) {
        r.columns = 0;
        run_threads(&r, workers, threads, launch_shapes, &random);
        good = !r.failed && !r.driver->CtxSynchronize();
        if (good) tell_times(&r, threads, seen[i]);
    }
    close_round(&r);
    free(r.us);
    return !good;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {{"seconds", 1, NULL, 's'},
                                          {"seed", 1, NULL, 'e'},
                                          {"threads", 1, NULL, 't'},
                                          {"launches", 1, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
    long seconds = 60, threads = 0, launches = 0;
    uint64_t seed = (uint64_t)time(NULL);
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        const long number = optarg ? atol(optarg) : 0;
        if (option == 's') seconds = number;
        if (option == 'e') seed = (uint64_t)number;
        if (option == 't') threads = number;
        if (option == 'l') launches = number;
        if (option == '?') return 2;
    }
    if (!threads) threads = launches ? 16 : 8;
    if (threads < 1 || threads > MOST_THREADS || launches < 0) return 2;
    return launches ? measure((int)launches, (int)threads) : torture(seconds, seed, (int)threads);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A second process finds its kernel on disk: how long from the request to the loaded function, and that NVRTC is never
 * opened. Runs itself: once to fill a cache, then several times to measure. Needs a GPU; 77 without. */
#define _GNU_SOURCE
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/driver.h"

#define PROCESSES 9
#define LIMIT_MS 1.0
#define SKIP 77

extern char **environ;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool nvrtc_is_open(void) {
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, "libnvrtc") != NULL;
    if (maps) fclose(maps);
    return found;
}

/* Makes a plan in the current CUDA context. *ms: from the call to its return. */
static kiln_status make_plan(const char *cache, const kiln_tensor *tensors, double *ms, kiln_plan_info *info) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_status status = kiln_context_create(&options, &context);
    if (status == KILN_OK) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    double start = now_ms();
    if (status == KILN_OK) status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    *ms = now_ms() - start;
    if (status == KILN_OK) status = kiln_plan_get_info(plan, info);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* The child's part: "fill" or "measure". Writes the milliseconds to standard output. */
static int child(const char *what, const char *cache) {
    const kiln__driver *driver = NULL;
    kiln__CUcontext cuda = NULL;
    kiln__CUdevice device = 0;
    kiln__CUdeviceptr memory = 0;
    const int64_t sizes[2] = {1000, 1024};
    const size_t bytes = 1000 * 1024 * 2;
    if (kiln__driver_open(NULL, &driver) != KILN_OK || driver->DeviceGet(&device, 0) ||
        driver->DevicePrimaryCtxRetain(&cuda, device) || driver->CtxSetCurrent(cuda) ||
        driver->MemAlloc(&memory, 2 * bytes)) {
        fprintf(stderr, "skipped: no GPU: %s\n", driver ? "no context on device 0" : kiln_last_error());
        return SKIP;
    }
    kiln_tensor tensors[2] = {kiln_tensor_contiguous((void *)(uintptr_t)memory, KILN_F16, 2, sizes),
                              kiln_tensor_contiguous((void *)(uintptr_t)(memory + bytes), KILN_F16, 2, sizes)};
    double ms = 0;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status = make_plan(cache, tensors, &ms, &info);
    driver->MemFree(memory);
    if (status != KILN_OK) {
        fprintf(stderr, "bench_warm: %s\n", kiln_last_error());
        return 1;
    }
    kiln_origin expected = strcmp(what, "fill") ? KILN_ORIGIN_DISK : KILN_ORIGIN_COMPILED;
    if (info.origin != expected) {
        fprintf(stderr, "bench_warm: the kernel's origin is %d, expected %d\n", (int)info.origin, (int)expected);
        return 1;
    }
    if (expected == KILN_ORIGIN_DISK && nvrtc_is_open()) {
        fprintf(stderr, "bench_warm: the process has opened NVRTC\n");
        return 1;
    }
    printf("%.6f\n", ms);
    return 0;
}

/* Runs this program again; its exit status, and the number that it printed. */
static int run_self(const char *what, const char *cache, double *ms) {
    char *const argv[] = {(char[]){"bench_warm"}, (char *)(uintptr_t)what, (char *)(uintptr_t)cache, NULL};
    int ends[2];
    pid_t pid = 0;
    if (pipe(ends)) return 1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    bool told = output && fscanf(output, "%lf", ms) == 1;
    if (output) fclose(output);
    int status = 0;
    if (failed || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : !told;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static int remove_one(const char *path, const struct stat *unused, int flag, struct FTW *place) {
    (void)unused, (void)flag, (void)place;
    return remove(path);
}

int main(int argc, char **argv) {
    if (argc == 3) return child(argv[1], argv[2]);
    char cache[] = "/tmp/kiln_warm_XXXXXX";
    if (!mkdtemp(cache)) {
        perror("bench_warm: mkdtemp");
        return 1;
    }
    double cold = 0, warm[PROCESSES] = {0};
    int status = run_self("fill", cache, &cold);
    for (size_t i = 0; i < PROCESSES && status == 0; i++) status = run_self("measure", cache, &warm[i]);
    if (nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS)) fprintf(stderr, "bench_warm: '%s' is left behind\n", cache);
    if (status) return status;
    qsort(warm, PROCESSES, sizeof *warm, compare);
    double median = warm[PROCESSES / 2];
    printf("from the request to the loaded function: first process %.1f ms; later ones, from disk and without NVRTC, "
           "%.3f ms (median of %d, %.3f to %.3f), limit %.0f ms\n",
           cold, median, PROCESSES, warm[0], warm[PROCESSES - 1], LIMIT_MS);
    return median < LIMIT_MS ? 0 : 1;
}

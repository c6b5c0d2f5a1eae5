/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes of the GPU suite. NVRTC does not compile in several threads at once, so the work is spread over
 * processes, each with its own context on the same GPU. They take groups from a shared counter and report through
 * shared memory. A worker whose context broke is replaced, and its case counted as failed. */
#define _GNU_SOURCE
#include "gpu_workers.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_check.h"
#include "gpu_device.h"
#include "support/own_folder.h"

#define JOB_LIMIT 128
#define KIND_LIMIT 96
#define KIND_SIZE 80
#define BROKEN 3 /* exit status of a worker that wants to be replaced */

typedef struct report {
    long passed, failed;
    struct {
        char text[KIND_SIZE];
        long count;
    } kinds[KIND_LIMIT];
    double worst[KILN_TYPE_COUNT];
    pid_t worker;
    size_t group; /* being run, to blame a worker that died */
    int64_t rows; /* of it; 0 between cases */
} report;

typedef struct shared {
    atomic_size_t next;
    report reports[JOB_LIMIT];
} shared;

typedef struct job {
    const gpu_group *groups;
    size_t count;
    uint64_t seed;
    int threads, orders;
    shared *shared;
} job;

void gpu_schedule_kind(const char *schedule, char *kind, size_t size) {
    const char *end = strstr(schedule, ", pack");
    int length = end ? (int)(end - schedule) : (int)strlen(schedule);
    snprintf(kind, size, "%.*s%s", length, schedule, strstr(schedule, ", masked") ? ", masked" : "");
}

static void count_kind(report *to, const char *kind, long count) {
    for (size_t i = 0; i < KIND_LIMIT; i++) {
        if (!to->kinds[i].count) snprintf(to->kinds[i].text, KIND_SIZE, "%s", kind);
        if (strcmp(to->kinds[i].text, kind)) continue;
        to->kinds[i].count += count;
        return;
    }
}

/* ---- a worker --------------------------------------------------------------------------------------------- */

static void tell_failure(const job *work, const gpu_group *group, int64_t rows, const char *schedule, const char *why) {
    char *line = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&line, &size);
    if (!text) return;
    fprintf(text, "FAILED ");
    gpu_case_print(text, group, rows, work->seed);
    fprintf(text, "  [%s] %s\n", schedule, why);
    fclose(text);
    fwrite(line, 1, size, stdout); /* in one piece: other workers print too */
    fflush(stdout);
    free(line);
}

/* False if the context broke. */
static bool run_group(const job *work, const gpu_runner *runner, size_t index, report *to) {
    gpu_session session = {.group = &work->groups[index]};
    const gpu_group *group = session.group;
    bool broken = false;
    if (kiln_program_create(runner->kiln, group->program->text, NULL, &session.program) != KILN_OK) {
        tell_failure(work, group, group->rows[0], "", kiln_last_error());
        to->failed += group->rows_count;
        return true;
    }
    to->group = index;
    for (int i = 0; i < group->rows_count; i++) {
        if (broken) { /* not run, so not passed */
            tell_failure(work, group, group->rows[i], "", "not run: the CUDA context broke in the case before");
            to->failed++;
            continue;
        }
        gpu_outcome outcome;
        to->rows = group->rows[i];
        gpu_case_run(runner, &session, group->rows[i], &outcome);
        to->rows = 0;
        broken = outcome.broken;
        if (outcome.passed)
            to->passed++;
        else
            to->failed++;
        if (!outcome.passed) tell_failure(work, group, group->rows[i], outcome.schedule, outcome.why);
        if (outcome.worst > to->worst[group->type]) to->worst[group->type] = outcome.worst;
        char kind[KIND_SIZE];
        gpu_schedule_kind(*outcome.schedule ? outcome.schedule : "none", kind, sizeof kind);
        count_kind(to, kind, 1);
    }
    free(session.first_row);
    kiln_program_destroy(session.program);
    return !broken;
}

/* The exit status of a worker: 0 when no group is left. */
static int work_off(const job *work, report *to) {
    gpu_runner runner = {.seed = work->seed, .threads = work->threads};
    kiln__device device;
    /* In a disk cache of the worker's own every kernel is compiled by this build, and once. */
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    own_folder cache = {""};
    if (!own_folder_make(&cache)) {
        fprintf(stderr, "a worker has no folder for its cache\n");
        return 1;
    }
    options.cache_dir = cache.path;
    if (gpu_device_open(&runner.driver, &runner.cuda, &device) != KILN_OK ||
        kiln_context_create(&options, &runner.kiln) != KILN_OK) {
        fprintf(stderr, "a worker cannot start: %s\n", kiln_last_error());
        own_folder_remove(&cache);
        return 1;
    }
    /* The software GPU checks every access itself: bands around the tensors would only hide some. */
    runner.reorder = gpu_device_reorder(runner.driver);
    runner.guard_bytes = runner.reorder ? 0 : GPU_GUARD_BYTES;
    runner.orders = runner.reorder ? work->orders : 1;
    int status = 0;
    while (status == 0) {
        size_t index = atomic_fetch_add(&work->shared->next, 1);
        if (index >= work->count) break;
        if (!run_group(work, &runner, index, to)) status = BROKEN;
    }
    kiln_context_destroy(runner.kiln);
    own_folder_remove(&cache);
    return status;
}

/* ---- all workers ------------------------------------------------------------------------------------------ */

static bool start_worker(const job *work, report *to) {
    fflush(stdout);
    pid_t worker = fork();
    if (worker == 0) {
        int status = work_off(work, to);
        fflush(stdout);
        _exit(status);
    }
    to->worker = worker; /* by the parent alone: the memory is shared */
    return worker > 0;
}

/* A worker ended without finishing its case: by a signal, say. */
static void blame(const job *work, report *to, int status) {
    char why[80];
    snprintf(why, sizeof why, "the worker process ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    const gpu_group *group = &work->groups[to->group];
    bool at_or_after = false;
    for (int i = 0; to->rows && i < group->rows_count; i++) {
        at_or_after |= group->rows[i] == to->rows;
        if (!at_or_after) continue;
        tell_failure(work, group, group->rows[i], "", why);
        to->failed++;
    }
    to->rows = 0;
}

/* Returns how many workers could not work at all. */
static int run_workers(const job *work, int jobs) {
    int running = 0, lost = 0;
    for (int i = 0; i < jobs; i++) running += start_worker(work, &work->shared->reports[i]);
    lost = jobs - running;
    while (running > 0) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR) continue;
        if (ended < 0) break;
        report *to = work->shared->reports;
        while (to < work->shared->reports + jobs && to->worker != ended) to++;
        if (to == work->shared->reports + jobs) continue;
        running--;
        if (status == 0) continue;
        bool can_go_on = WIFSIGNALED(status) || WEXITSTATUS(status) == BROKEN;
        blame(work, to, status);
        if (!can_go_on)
            lost++;
        else if (work->shared->next < work->count)
            running += start_worker(work, to);
    }
    return lost;
}

static void tell_totals(const job *work, int jobs) {
    report total = {0};
    for (int i = 0; i < jobs; i++) {
        const report *from = &work->shared->reports[i];
        total.passed += from->passed;
        total.failed += from->failed;
        for (size_t k = 0; k < KIND_LIMIT && from->kinds[k].count; k++)
            count_kind(&total, from->kinds[k].text, from->kinds[k].count);
        for (size_t t = 0; t < KILN_TYPE_COUNT; t++)
            if (from->worst[t] > total.worst[t]) total.worst[t] = from->worst[t];
    }
    printf("\ncases  schedule\n");
    for (size_t k = 0; k < KIND_LIMIT && total.kinds[k].count; k++)
        printf("%5ld  %s\n", total.kinds[k].count, total.kinds[k].text);
    printf("\nlargest errors: f16 %.0f ulp, bf16 %.0f ulp, f32 %.2g and f64 %.2g of the row's largest magnitude\n",
           total.worst[KILN_F16], total.worst[KILN_BF16], total.worst[KILN_F32], total.worst[KILN_F64]);
    printf("seed %llu\n%ld passed, %ld failed\n", (unsigned long long)work->seed, total.passed, total.failed);
    work->shared->reports[0].failed = total.failed;
    work->shared->reports[0].passed = total.passed;
}

int gpu_run_groups(const gpu_group *groups, size_t count, const gpu_run_options *options) {
    int jobs = options->jobs < JOB_LIMIT ? options->jobs : JOB_LIMIT;
    if ((size_t)jobs > count) jobs = (int)count;
    shared *memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("gpu_suite: mmap");
        return 1;
    }
    job work = {groups, count, options->seed, options->threads, options->orders, memory};
    long cases = 0;
    for (size_t i = 0; i < count; i++) cases += groups[i].rows_count;
    int lost = 0;
    if (jobs > 1)
        lost = run_workers(&work, jobs);
    else
        lost = work_off(&work, &memory->reports[0]) == 1;
    tell_totals(&work, jobs);
    const report *total = &memory->reports[0];
    long unaccounted = cases - total->passed - total->failed;
    if (lost) printf("%d worker processes could not run\n", lost);
    if (unaccounted) printf("%ld cases did not run\n", unaccounted);
    int status = total->failed || lost || unaccounted ? 1 : 0;
    munmap(memory, sizeof *memory);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs, shapes, axes, strides, types and alignments on the GPU against the CPU reference. Worker processes
 * take runs of cases from a shared counter. Exits with 77 where there is no GPU. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "gpu_device.h"

#define JOB_LIMIT 128
#define BATCH 4          /* cases taken at once: they mostly share a kernel */
#define CASE_SECONDS 120 /* a case that takes longer hangs */
#define BROKEN 3         /* exit status of a worker that wants to be replaced */
#define KIND_LIMIT 128
#define KIND_SIZE 120

static const char usage[] =
    "usage: gpu_fuzz [options]\n"
    "  --seed S       of the cases; without it one is drawn and printed\n"
    "  --cases N      how many; 2000 without it\n"
    "  --case I       this case alone, in this process\n"
    "  --jobs J       worker processes; without it one per CPU, 16 at most\n"
    "  --driver PATH  the CUDA driver library to use, as KILN_DRIVER\n"
    "  --nvrtc PATH   the NVRTC library to use, as KILN_NVRTC\n"
    "  --any-shape    by the kernels that serve any shape\n"
    "  --range        by those that serve a range of columns, where programs have one\n"
    "  --list         prints the cases and runs none\n"
    "Kernels are kept between runs in KILN_CACHE_DIR where it is set, else in a folder that is removed at the end.\n";

typedef struct kind {
    char text[KIND_SIZE];
    long count;
} kind;

typedef struct report {
    long passed, refused, failed;
    kind schedules[KIND_LIMIT], refusals[KIND_LIMIT];
    pid_t worker;
    long now;        /* the case being run, to blame a worker that died; -1 between cases */
    long first, end; /* the rest of its batch, which the worker that replaces it goes on with */
} report;

typedef struct shared {
    atomic_long next;
    report reports[JOB_LIMIT];
} shared;

typedef struct job {
    uint64_t seed;
    long first, end;
    const char *cache_dir;
    shared *shared;
    kiln_policy policy;
} job;

/* ---- what happened ---------------------------------------------------------------------------------------- */

static void count_kind(kind *kinds, const char *text, long count) {
    for (size_t i = 0; i < KIND_LIMIT; i++) {
        if (!kinds[i].count) snprintf(kinds[i].text, KIND_SIZE, "%s", text);
        if (strcmp(kinds[i].text, text)) continue;
        kinds[i].count += count;
        return;
    }
}

/* A sentence without the names and numbers that tell one case from another. */
static void generalise(const char *sentence, char out[KIND_SIZE]) {
    size_t used = 0;
    for (const char *at = sentence; *at && used + 2 < KIND_SIZE; at++) {
        const char *end = *at == '\'' ? strchr(at + 1, '\'') : NULL;
        bool digit = *at >= '0' && *at <= '9';
        if (digit && used && out[used - 1] == '#') continue;
        out[used++] = end ? '\'' : digit ? '#' : *at;
        if (end) at = end;
    }
    out[used] = '\0';
}

/* "block, shared, inner, masked": a schedule's line without its numbers. */
static void schedule_kind(const char *schedule, char out[KIND_SIZE]) {
    const char *vector = strstr(schedule, ", vector");
    int length = vector ? (int)(vector - schedule) : (int)strlen(schedule);
    size_t used = 0;
    for (int i = 0; i < length && used + 64 < KIND_SIZE; i++)
        if (schedule[i] < '0' || schedule[i] > '9') out[used++] = schedule[i];
    out[used] = '\0';
    static const char *const marks[] = {", across rows", ", splits",     ", persistent",
                                        ", online",      ", masked",     ", ordered",
                                        ", misaligned",  ", transpose,", ", in the workspace"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (strstr(schedule, marks[i])) strcat(out, marks[i]);
}

static void tell(const fuzz_case *c, const char *schedule, const char *why) {
    char *line = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&line, &size);
    if (!text) return;
    fuzz_case_print(text, c);
    if (*schedule) fprintf(text, " [%s]", schedule);
    fprintf(text, ": ");
    for (; *why; why++) fputc(*why == '\n' ? ' ' : *why, text);
    fputc('\n', text);
    fclose(text);
    fwrite(line, 1, size, stdout); /* in one piece: other workers print too */
    fflush(stdout);
    free(line);
}

/* ---- a worker --------------------------------------------------------------------------------------------- */

/* False if the CUDA context broke. */
static bool run_case(const job *work, fuzz_runner *runner, long index, report *to) {
    fuzz_case c;
    fuzz_outcome outcome;
    if (fuzz_case_draw_any(fuzz_runner_context(runner, 0), work->seed, index, &c)) {
        tell(&c, "", kiln_last_error());
        to->failed++;
        return true;
    }
    fuzz_case_run(runner, &c, &outcome);
    char text[KIND_SIZE];
    if (outcome.verdict == FUZZ_FAILED) {
        tell(&c, outcome.schedule, outcome.why);
        to->failed++;
    } else if (outcome.verdict == FUZZ_REFUSED) {
        generalise(outcome.why, text);
        count_kind(to->refusals, text, 1);
        to->refused++;
    } else {
        to->passed++;
    }
    if (*outcome.schedule) {
        schedule_kind(outcome.schedule, text);
        count_kind(to->schedules, text, 1);
    }
    return !outcome.broken;
}

/* Takes the next batch unless the worker before left one. False when there is none. */
static bool take(const job *work, report *to) {
    if (to->first < to->end) return true;
    to->first = atomic_fetch_add(&work->shared->next, BATCH);
    to->end = to->first + BATCH < work->end ? to->first + BATCH : work->end;
    return to->first < work->end;
}

/* The exit status of a worker: 0 when no case is left. */
static int work_off(const job *work, report *to) {
    fuzz_runner runner = {.cache_dir = work->cache_dir, .policy = work->policy};
    kiln__CUcontext cuda;
    kiln__device device;
    if (gpu_device_open(&runner.driver, &cuda, &device) != KILN_OK || !fuzz_runner_context(&runner, 0)) {
        fprintf(stderr, "gpu_fuzz: a worker cannot start: %s\n", kiln_last_error());
        return 1;
    }
    runner.reorder = gpu_device_reorder(runner.driver);
    int status = 0;
    while (status == 0 && take(work, to)) {
        while (status == 0 && to->first < to->end) {
            to->now = to->first++;
            alarm(CASE_SECONDS); /* SIGALRM ends the process, and the parent blames the case */
            if (!run_case(work, &runner, to->now, to)) status = BROKEN;
            to->now = -1;
        }
    }
    alarm(0);
    fuzz_runner_finish(&runner);
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

/* A worker ended without finishing its case: by a signal, say. Drawing needs no GPU. */
static void blame(const job *work, report *to, int status) {
    fuzz_runner runner = {.cache_dir = ""};
    fuzz_case c;
    char why[80];
    if (to->now < 0) return;
    snprintf(why, sizeof why, "the worker process ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fuzz_case_draw_any(fuzz_runner_context(&runner, 0), work->seed, to->now, &c);
    tell(&c, "", why);
    fuzz_runner_finish(&runner);
    to->failed++;
    to->now = -1;
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
        blame(work, to, status);
        if (WIFSIGNALED(status) || WEXITSTATUS(status) == BROKEN)
            running += start_worker(work, to);
        else
            lost++;
    }
    return lost;
}

static void tell_kinds(const char *title, const kind *kinds) {
    if (kinds[0].count) printf("\ncases  %s\n", title);
    for (size_t k = 0; k < KIND_LIMIT && kinds[k].count; k++) printf("%5ld  %s\n", kinds[k].count, kinds[k].text);
}

static int tell_totals(const job *work, int jobs, int lost) {
    report total = {0};
    for (int i = 0; i < jobs; i++) {
        const report *from = &work->shared->reports[i];
        total.passed += from->passed;
        total.refused += from->refused;
        total.failed += from->failed;
        for (size_t k = 0; k < KIND_LIMIT; k++) {
            if (from->schedules[k].count)
                count_kind(total.schedules, from->schedules[k].text, from->schedules[k].count);
            if (from->refusals[k].count) count_kind(total.refusals, from->refusals[k].text, from->refusals[k].count);
        }
    }
    long unaccounted = work->end - work->first - total.passed - total.refused - total.failed;
    tell_kinds("schedule", total.schedules);
    tell_kinds("refusal", total.refusals);
    if (lost) printf("%d worker processes could not run\n", lost);
    if (unaccounted) printf("%ld cases did not run\n", unaccounted);
    printf("\nseed %" PRIu64 "\n%ld passed, %ld refused, %ld failed\n", work->seed, total.passed, total.refused,
           total.failed);
    return total.failed || lost || unaccounted ? 1 : 0;
}

static int run_all(job *work, int jobs) {
    work->shared = mmap(NULL, sizeof *work->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work->shared == MAP_FAILED) {
        perror("gpu_fuzz: mmap");
        return 1;
    }
    work->shared->next = work->first;
    for (int i = 0; i < jobs; i++) work->shared->reports[i].now = -1;
    int lost = 0;
    if (jobs > 1)
        lost = run_workers(work, jobs);
    else
        lost = work_off(work, &work->shared->reports[0]) == 1;
    int status = tell_totals(work, jobs, lost);
    munmap(work->shared, sizeof *work->shared);
    return status;
}

static int list(const job *work) {
    fuzz_runner runner = {.cache_dir = ""};
    fuzz_case c;
    int status = 0;
    for (long i = work->first; i < work->end && !status; i++) {
        if (fuzz_case_draw_any(fuzz_runner_context(&runner, 0), work->seed, i, &c)) {
            fprintf(stderr, "gpu_fuzz: case %ld cannot be drawn: %s\n", i, kiln_last_error());
            status = 1;
        }
        fuzz_case_print(stdout, &c);
        putchar('\n');
    }
    fuzz_runner_finish(&runner);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------------------- */

typedef struct arguments {
    uint64_t seed;
    long cases, one;
    int jobs;
    bool list;
    kiln_policy policy;
} arguments;

static bool parse_number(const char *text, long long most, long long *out) {
    char *end = NULL;
    *out = strtoll(text, &end, 10);
    if (end != text && !*end && *out >= 0 && *out <= most) return true;
    fprintf(stderr, "gpu_fuzz: '%s' is no value for this option\n", text);
    return false;
}

static bool parse(int argc, char **argv, arguments *out) {
    static const struct option longs[] = {
        {"seed", required_argument, NULL, 's'},   {"cases", required_argument, NULL, 'n'},
        {"case", required_argument, NULL, 'c'},   {"jobs", required_argument, NULL, 'j'},
        {"driver", required_argument, NULL, 'd'}, {"nvrtc", required_argument, NULL, 'N'},
        {"list", no_argument, NULL, 'l'},         {"any-shape", no_argument, NULL, 'a'},
        {"range", no_argument, NULL, 'r'},        {NULL, 0, NULL, 0},
    };
    long long number = 0;
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        bool good = true;
        switch (option) {
        case 's':
            good = parse_number(optarg, INT64_MAX, &number);
            out->seed = (uint64_t)number;
            break;
        case 'n':
            good = parse_number(optarg, 1000000000, &number);
            out->cases = (long)number;
            break;
        case 'c':
            good = parse_number(optarg, 1000000000, &number);
            out->one = (long)number;
            break;
        case 'j':
            good = parse_number(optarg, JOB_LIMIT, &number) && number > 0;
            out->jobs = (int)number;
            break;
        case 'd': good = !setenv("KILN_DRIVER", optarg, 1); break;
        case 'N': good = !setenv("KILN_NVRTC", optarg, 1); break;
        case 'l': out->list = true; break;
        case 'a': out->policy = KILN_POLICY_ANY_SHAPE; break;
        case 'r': out->policy = KILN_POLICY_RANGE; break;
        default: return false;
        }
        if (!good) return false;
    }
    return optind == argc;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status, (void)type, (void)where;
    return remove(path);
}

int main(int argc, char **argv) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    arguments given = {.seed = (uint64_t)time(NULL) % 1000000,
                       .cases = 2000,
                       .one = -1,
                       .jobs = cpus < 1    ? 1
                               : cpus < 16 ? (int)cpus
                                           : 16};
    if (!parse(argc, argv, &given)) {
        fputs(usage, stderr);
        return 2;
    }
    bool one = given.one >= 0;
    setenv("KILN_SOFTWARE_GPU_SMS", "4", 0); /* a software GPU runs a grid's blocks side by side: few of them */
    char folder[] = "/tmp/gpu_fuzz.XXXXXX";
    const char *cache = getenv("KILN_CACHE_DIR");
    job work = {given.seed, one ? given.one : 0, one ? given.one + 1 : given.cases, cache, NULL, given.policy};
    if (given.list) return list(&work);
    if (one) given.jobs = 1;
    int arch = 0, status = gpu_probe(given.jobs, &arch);
    if (status) return status;
    /* Not without a disk cache: through it alone one kernel serves several programs and processes. */
    bool removes = !cache || !*cache;
    if (removes && !(work.cache_dir = mkdtemp(folder))) {
        perror("gpu_fuzz: a folder for kernels");
        return 1;
    }
    status = run_all(&work, given.jobs);
    if (removes) nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}

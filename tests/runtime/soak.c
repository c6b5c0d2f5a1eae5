/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by the thousand, each created, run and destroyed, as a service does that compiles what its users write: memory
 * must stay what it is after the warm-up, and a cycle take as long as in a process that has just begun. On the
 * stand-ins for the driver and NVRTC, so that it is Kiln alone that is measured. soak [--texts N] [--shapes N]
 * [--kernels N] [--remembered N] [--threads N] [--disk FOLDER] Prints ten lines and the two times; fails where memory
 * or time has grown. */
#define _GNU_SOURCE
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"

enum { INTERVALS = 10, MAX_THREADS = 64, ROUNDS = 5 };

typedef struct soak {
    long texts, shapes, kernels, remembered, threads; /* texts: of all threads together */
    const char *disk;                                 /* "" for none */
    kiln_context *context;
    kiln_program *resident; /* whose shapes are remembered all the while */
    kiln__CUcontext cuda;
    const kiln__driver *driver;
} soak;

/* What an interval showed. */
typedef struct reading {
    double resident_mb, used_mb, ms; /* ms: of the processor, for a cycle */
} reading;

typedef struct worker {
    pthread_t thread;
    const soak *s;
    long first, count;
    double ms;
    kiln_status status;
    char error[512];
} worker;

static double thread_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double resident_mb(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static kiln_status run_rows(const kiln_program *program, int64_t rows, int64_t cols) {
    const int64_t sizes[2] = {rows, cols};
    const kiln_tensor tensors[2] = {kiln_tensor_contiguous((void *)((uintptr_t)1 << 40), KILN_F16, 2, sizes),
                                    kiln_tensor_contiguous((void *)((uintptr_t)2 << 40), KILN_F16, 2, sizes)};
    return kiln_run(program, tensors, 2, NULL, 0, NULL);
}

/* One text. Its first shape is run twice: the second time it is only looked up, as one of those that are remembered is.
 */
static kiln_status cycle(const soak *s, long n) {
    char text[96];
    kiln_program *program = NULL;
    snprintf(text, sizeof text, "m = max(x)\ny = exp(x - m) * %ld # text %ld", n + 2, n);
    kiln_status status = kiln_program_create(s->context, text, NULL, &program);
    for (long i = 0; i < s->shapes && !status; i++) status = run_rows(program, 1 + n % 7, 64 * (1 + i));
    if (!status) status = run_rows(program, 1 + n % 7, 64);
    if (!status && s->remembered) status = run_rows(s->resident, 1 + n % s->remembered, 64);
    kiln_program_destroy(program);
    return status;
}

static void *work(void *user) {
    worker *w = user;
    if (w->s->driver->CtxSetCurrent(w->s->cuda)) w->status = KILN_E_NO_CONTEXT;
    double start = thread_ms();
    for (long n = w->first; n < w->first + w->count && !w->status; n++) w->status = cycle(w->s, n);
    w->ms = thread_ms() - start;
    snprintf(w->error, sizeof w->error, "%s", kiln_last_error());
    return NULL;
}

/* All threads, each its part of the texts from `first` on. */
static kiln_status run_interval(const soak *s, long first, long count, reading *out) {
    worker workers[MAX_THREADS];
    long each = count / s->threads;
    double ms = 0;
    kiln_status status = KILN_OK;
    for (long t = 0; t < s->threads; t++) {
        workers[t] = (worker){.s = s, .first = first + t * each, .count = each};
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t])) return KILN_E_MEMORY;
    }
    for (long t = 0; t < s->threads; t++) {
        pthread_join(workers[t].thread, NULL);
        ms += workers[t].ms;
        if (workers[t].status) fprintf(stderr, "soak: %s\n", workers[t].error);
        if (workers[t].status) status = workers[t].status;
    }
    *out = (reading){resident_mb(), (double)mallinfo2().uordblks / 1e6, ms / (double)(each * s->threads)};
    return status;
}

/* Memory that the interval's end has more of than the warm-up's: a twentieth, and what fits no page. */
static bool has_grown(double now, double before) { return now > before * 1.05 + 1; }

/* The first half warms up: caches fill, the allocator finds its size. */
static int judge_memory(const reading readings[INTERVALS]) {
    const reading *warm = &readings[INTERVALS / 2 - 1], *last = &readings[INTERVALS - 1];
    int faults = 0;
    if (has_grown(last->resident_mb, warm->resident_mb)) faults += printf("resident memory has grown\n") > 0;
    if (has_grown(last->used_mb, warm->used_mb)) faults += printf("allocated memory has grown\n") > 0;
    return faults;
}

static kiln_status start(soak *s) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    options.cache_dir = s->disk;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = KILN_FAKE_NVRTC;
    options.loaded_max_count = s->kernels;
    kiln_status status = kiln__driver_open(KILN_FAKE_DRIVER, &s->driver);
    if (!status && (s->driver->DevicePrimaryCtxRetain(&s->cuda, 0) || s->driver->CtxSetCurrent(s->cuda)))
        status = KILN_E_NO_CONTEXT;
    return status ? status : kiln_context_create(&options, &s->context);
}

static kiln_status start_remembering(soak *s) {
    kiln_status status = start(s);
    if (!status) status = kiln_program_create(s->context, "y = softmax(x)", NULL, &s->resident);
    for (long n = 0; n < s->remembered && !status; n++) status = run_rows(s->resident, n + 1, 64);
    return status;
}

static void finish(soak *s, kiln_status status) {
    if (status) fprintf(stderr, "soak: %s %s\n", kiln_status_name(status), kiln_last_error());
    kiln_program_destroy(s->resident);
    kiln_context_destroy(s->context);
}

/* A process beside the one that ages, forked before that has begun. It does a round for each byte that it is sent, and
 * tells the time of a cycle. The two take turns, so that whatever else the machine does slows both. */
typedef struct young {
    pid_t process;
    int orders, times; /* pipes */
} young;

/* Looks each remembered shape up once: some are found sooner than others. */
static long texts_a_round(const soak *s) { return s->remembered > s->threads ? s->remembered : 1000; }

static int serve_rounds(soak *s, int orders, int times) {
    char order;
    reading round = {0};
    kiln_status status = KILN_OK;
    for (long first = 0, count; !status && read(orders, &order, 1) == 1; first += count) {
        count = first ? texts_a_round(s) : s->texts / 2;
        if (!first) status = start_remembering(s);
        if (!status) status = run_interval(s, first, count, &round);
        if (!status && write(times, &round.ms, sizeof round.ms) != sizeof round.ms) break;
    }
    finish(s, status);
    return status != KILN_OK;
}

static bool fork_young(soak *s, young *out) {
    int orders[2], times[2];
    if (pipe(orders) || pipe(times)) return false;
    out->process = fork();
    if (out->process == 0) {
        close(orders[1]);
        close(times[0]);
        _exit(serve_rounds(s, orders[0], times[1]));
    }
    close(orders[0]);
    close(times[1]);
    out->orders = orders[1];
    out->times = times[0];
    return out->process > 0;
}

/* The least times of the rounds; in its first the young one warms up, as long as the old one did. */
static kiln_status judge_time(const soak *s, const young *other, int *faults) {
    double old_ms = 1e9, young_ms = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        reading own;
        double ms;
        kiln_status status = run_interval(s, s->texts + i * texts_a_round(s), texts_a_round(s), &own);
        if (status) return status;
        if (write(other->orders, "", 1) != 1 || read(other->times, &ms, sizeof ms) != sizeof ms) return KILN_E_INTERNAL;
        if (i > 0 && own.ms < old_ms) old_ms = own.ms;
        if (i > 0 && ms < young_ms) young_ms = ms;
    }
    printf("a cycle takes %.4f ms, in a process that has just begun %.4f\n", old_ms, young_ms);
    const double most = s->threads > 1 ? 2.5 : 1.5; /* threads wait for each other, at times more and at times less */
    if (old_ms > most * young_ms) *faults += printf("a cycle takes longer than before\n") > 0;
    return KILN_OK;
}

static int run(soak *s) {
    reading readings[INTERVALS];
    const fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    young other;
    if (!fork_young(s, &other)) return 1;
    kiln_status status = start_remembering(s);
    const long each = s->texts / INTERVALS;
    printf("  cycles  resident MB  allocated MB  loaded kernels  ms a cycle\n");
    for (int i = 0; i < INTERVALS && !status; i++) {
        status = run_interval(s, i * each, each, &readings[i]);
        printf("%8ld  %11.1f  %12.2f  %14ld  %10.4f\n", (i + 1) * each, readings[i].resident_mb, readings[i].used_mb,
               (long)fake->loads - (long)fake->unloads, readings[i].ms);
        fflush(stdout);
    }
    int faults = status ? 1 : judge_memory(readings);
    if (!status) status = judge_time(s, &other, &faults);
    close(other.orders);
    waitpid(other.process, NULL, 0);
    finish(s, status);
    return status || faults;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"texts", 1, NULL, 't'},   {"shapes", 1, NULL, 's'}, {"kernels", 1, NULL, 'k'}, {"remembered", 1, NULL, 'r'},
        {"threads", 1, NULL, 'j'}, {"disk", 1, NULL, 'd'},   {NULL, 0, NULL, 0}};
    soak s = {.texts = 10000, .shapes = 2, .kernels = 64, .remembered = 2000, .threads = 1, .disk = ""};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        long number = optarg ? atol(optarg) : 0;
        switch (option) {
        case 't': s.texts = number; break;
        case 's': s.shapes = number; break;
        case 'k': s.kernels = number; break;
        case 'r': s.remembered = number; break;
        case 'j': s.threads = number; break;
        case 'd': s.disk = optarg; break;
        default: return 2;
        }
    }
    if (s.threads < 1 || s.threads > MAX_THREADS || s.texts < INTERVALS * s.threads || s.shapes < 1 ||
        s.remembered < 0) {
        fprintf(stderr, "soak: expected 1 to %d threads, and at least ten texts for each\n", MAX_THREADS);
        return 2;
    }
    return run(&s);
}

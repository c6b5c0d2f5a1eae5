/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by the thousand, each created, run and destroyed, as a service does that compiles what its users write: memory
 * and the time of a cycle must stay what they are after the warm-up. On the stand-ins for the driver and NVRTC, so that
 * it is Kiln alone that is measured; beside work that never changes, so that a machine that slows down in between fails
 * nothing. soak [--texts N] [--shapes N] [--kernels N] [--remembered N] [--threads N] [--disk
 * FOLDER] Prints ten lines; fails where memory or time has grown. */
#define _GNU_SOURCE
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"

enum { INTERVALS = 10, MAX_THREADS = 64, TEXTS_A_MEASURE = 8 };

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
    double relative;                 /* the same as a multiple of a measure's */
} reading;

typedef struct worker {
    pthread_t thread;
    const soak *s;
    long first, count;
    double ms, measure_ms;
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

/* Texts and memory, as in a cycle, and always as much. */
static void measure(void) {
    char text[96];
    for (int i = 0; i < 100; i++) {
        char *copy = malloc(64 + (size_t)i * 40);
        int size = snprintf(text, sizeof text, "m = max(x)\ny = exp(x - m) * %d # text %d", i + 2, i);
        if (copy) memset(copy, size, 64 + (size_t)i * 40);
        free(copy);
    }
}

static double time_measure(void) {
    const double start = thread_ms();
    measure();
    return thread_ms() - start;
}

static void *work(void *user) {
    worker *w = user;
    if (w->s->driver->CtxSetCurrent(w->s->cuda)) w->status = KILN_E_NO_CONTEXT;
    const double start = thread_ms();
    for (long n = w->first; n < w->first + w->count && !w->status; n++) {
        if (n % TEXTS_A_MEASURE == 0) w->measure_ms += time_measure();
        w->status = cycle(w->s, n);
    }
    w->ms = thread_ms() - start - w->measure_ms;
    snprintf(w->error, sizeof w->error, "%s", kiln_last_error());
    return NULL;
}

/* All threads, each its part of the texts from `first` on. */
static kiln_status run_interval(const soak *s, long first, long count, reading *out) {
    worker workers[MAX_THREADS];
    long each = count / s->threads;
    double ms = 0, measure_ms = 0;
    kiln_status status = KILN_OK;
    for (long t = 0; t < s->threads; t++) {
        workers[t] = (worker){.s = s, .first = first + t * each, .count = each};
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t])) return KILN_E_MEMORY;
    }
    for (long t = 0; t < s->threads; t++) {
        pthread_join(workers[t].thread, NULL);
        ms += workers[t].ms;
        measure_ms += workers[t].measure_ms;
        if (workers[t].status) fprintf(stderr, "soak: %s\n", workers[t].error);
        if (workers[t].status) status = workers[t].status;
    }
    *out = (reading){resident_mb(), (double)mallinfo2().uordblks / 1e6, ms / (double)(each * s->threads),
                     ms / TEXTS_A_MEASURE / measure_ms};
    return status;
}

/* Memory that the interval's end has more of than the warm-up's: a twentieth, and what fits no page. */
static bool has_grown(double now, double before) { return now > before * 1.05 + 1; }

/* The first half warms up: caches fill, the allocator finds its size. A cycle's time is the least of those after it,
 * beside the measures of its interval, and may differ by what else the machine does. */
static int judge(const reading readings[INTERVALS]) {
    const reading *warm = &readings[INTERVALS / 2 - 1], *last = &readings[INTERVALS - 1];
    double before = readings[1].relative, after = last->relative;
    for (int i = 1; i < INTERVALS / 2; i++)
        if (readings[i].relative < before) before = readings[i].relative;
    for (int i = INTERVALS / 2; i < INTERVALS; i++)
        if (readings[i].relative < after) after = readings[i].relative;
    int faults = 0;
    if (has_grown(last->resident_mb, warm->resident_mb)) faults += printf("resident memory has grown\n") > 0;
    if (has_grown(last->used_mb, warm->used_mb)) faults += printf("allocated memory has grown\n") > 0;
    if (after > 1.5 * before) faults += printf("a cycle takes longer than before\n") > 0;
    return faults != 0;
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

static int run(soak *s) {
    reading readings[INTERVALS];
    const fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    kiln_status status = start(s);
    if (!status) status = kiln_program_create(s->context, "y = softmax(x)", NULL, &s->resident);
    for (long n = 0; n < s->remembered && !status; n++) status = run_rows(s->resident, n + 1, 64);
    const long each = s->texts / INTERVALS;
    printf("  cycles  resident MB  allocated MB  loaded kernels  ms a cycle  in measures\n");
    for (int i = 0; i < INTERVALS && !status; i++) {
        status = run_interval(s, i * each, each, &readings[i]);
        printf("%8ld  %11.1f  %12.2f  %14ld  %10.4f  %11.3f\n", (i + 1) * each, readings[i].resident_mb,
               readings[i].used_mb, (long)fake->loads - (long)fake->unloads, readings[i].ms, readings[i].relative);
        fflush(stdout);
    }
    if (status) fprintf(stderr, "soak: %s %s\n", kiln_status_name(status), kiln_last_error());
    kiln_program_destroy(s->resident);
    kiln_context_destroy(s->context);
    return status ? 1 : judge(readings);
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
    /* Whether the allocator gives memory back and takes it again in each cycle depends on how it happens to lie, and
     * doubles the time. */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return run(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by the thousand, each created, run and destroyed, as a service does that compiles what its users write: memory
 * must stay what it is after the warm-up, and a cycle may take no longer than in a process that has just started. On
 * the stand-ins for the driver and NVRTC, so that it is Kiln alone that is measured. soak [--texts N] [--shapes N]
 * [--kernels N] [--remembered N] [--threads N] [--disk FOLDER] prints ten lines, and fails where memory or time has
 * grown. --first N is the number of the first text; --new prints the time of a cycle after as many, in ms. */
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
#include "support/used_memory.h"

enum { INTERVALS = 10, MAX_THREADS = 64, NEW_TEXTS = 400 };

typedef struct soak {
    const char *program;
    long texts, shapes, kernels, remembered, threads, first; /* texts: of all threads together */
    const char *disk;                                        /* "" for none */
    bool is_new;
    kiln_context *context;
    kiln_program *resident; /* whose shapes are remembered all the while */
    kiln__CUcontext cuda;
    const kiln__driver *driver;
} soak;

/* What an interval showed. */
typedef struct reading {
    double resident_mb, used_mb, ms; /* ms: of the processor, for a cycle */
    double relative;                 /* the same as a multiple of a new process's; 0: not compared */
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

/* Without what is free, which depends on how many threads happened to compile at once. */
static double resident_mb(void) {
    long pages = 0;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
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
    const double start = thread_ms();
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
    out->resident_mb = resident_mb();
    out->used_mb = (double)used_memory() / 1e6;
    out->ms = ms / (double)(each * s->threads);
    out->relative = 0;
    return status;
}

/* Memory that the interval's end has more of than the warm-up's: a twentieth, and what fits no page. */
static bool has_grown(double now, double before) { return now > before * 1.05 + 1; }

/* ThreadSanitizer keeps something of each thread that has ended, and compiles have threads of their own: what is
 * resident grows with it, whatever Kiln does. */
#ifdef __SANITIZE_THREAD__
enum { RESIDENT_IS_OURS = 0 };
#else
enum { RESIDENT_IS_OURS = 1 };
#endif

/* The first half warms up: caches fill, the allocator finds its size. Of each interval after it a cycle's time is
 * compared with a new process's; the median of them, since the machine may slow down in between. */
static int judge(const reading readings[INTERVALS]) {
    const reading *warm = &readings[INTERVALS / 2 - 1], *last = &readings[INTERVALS - 1];
    int faults = 0, longer = 0;
    for (int i = INTERVALS / 2; i < INTERVALS; i++) longer += readings[i].relative > 1.5;
    if (RESIDENT_IS_OURS && has_grown(last->resident_mb, warm->resident_mb))
        faults += printf("resident memory has grown\n") > 0;
    if (has_grown(last->used_mb, warm->used_mb)) faults += printf("allocated memory has grown\n") > 0;
    if (longer > INTERVALS / 4) faults += printf("a cycle takes longer than in a new process\n") > 0;
    return faults != 0;
}

/* ---- new processes ---- */

/* The time of a cycle where nothing has piled up; 0 where the process fails. Its texts are its own, and so is its disk
 * cache, next to the other. */
static double new_process_ms(const soak *s, long first) {
    const long each = s->texts / INTERVALS < NEW_TEXTS ? s->texts / INTERVALS : NEW_TEXTS;
    char command[4096];
    double ms = 0;
    snprintf(
        command, sizeof command,
        "'%s' --new --texts %ld --first %ld --shapes %ld --kernels %ld --remembered %ld --threads %ld --disk '%s%s'",
        s->program, each, first, s->shapes, s->kernels, s->remembered, s->threads, s->disk, *s->disk ? ".new" : "");
    FILE *output = popen(command, "r");
    if (!output) return 0;
    const bool told = fscanf(output, "%lf", &ms) == 1;
    return pclose(output) == 0 && told ? ms : 0;
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

static kiln_status open_all(soak *s) {
    kiln_status status = start(s);
    if (!status) status = kiln_program_create(s->context, "y = softmax(x)", NULL, &s->resident);
    for (long n = 0; n < s->remembered && !status; n++) status = run_rows(s->resident, n + 1, 64);
    return status;
}

static kiln_status close_all(soak *s, kiln_status status) {
    if (status) fprintf(stderr, "soak: %s %s\n", kiln_status_name(status), kiln_last_error());
    kiln_program_destroy(s->resident);
    kiln_context_destroy(s->context);
    return status;
}

static int run_new(soak *s) {
    reading last;
    kiln_status status = open_all(s);
    if (!status) status = run_interval(s, s->first, s->texts, &last);
    if (!status) status = run_interval(s, s->first + s->texts, s->texts, &last);
    if (!status) printf("%g\n", last.ms);
    return close_all(s, status) ? 1 : 0;
}

static int run(soak *s) {
    reading readings[INTERVALS];
    const fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    const long each = s->texts / INTERVALS;
    kiln_status status = open_all(s);
    printf("  cycles  resident MB  allocated MB  loaded kernels  ms a cycle  of a new process's\n");
    for (int i = 0; i < INTERVALS && !status; i++) {
        status = run_interval(s, s->first + i * each, each, &readings[i]);
        if (i >= INTERVALS / 2 && !status) {
            const double ms = new_process_ms(s, s->first + s->texts * (i + 1));
            if (ms <= 0) status = KILN_E_INTERNAL;
            readings[i].relative = readings[i].ms / ms;
        }
        printf("%8ld  %11.1f  %12.2f  %14ld  %10.4f  %18.3f\n", (i + 1) * each, readings[i].resident_mb,
               readings[i].used_mb, (long)fake->loads - (long)fake->unloads, readings[i].ms, readings[i].relative);
        fflush(stdout);
    }
    return close_all(s, status) ? 1 : judge(readings);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"texts", 1, NULL, 't'},      {"shapes", 1, NULL, 's'},  {"kernels", 1, NULL, 'k'},
        {"remembered", 1, NULL, 'r'}, {"threads", 1, NULL, 'j'}, {"disk", 1, NULL, 'd'},
        {"first", 1, NULL, 'f'},      {"new", 0, NULL, 'n'},     {NULL, 0, NULL, 0}};
    soak s = {
        .program = argv[0], .texts = 10000, .shapes = 2, .kernels = 64, .remembered = 2000, .threads = 1, .disk = ""};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        long number = optarg ? atol(optarg) : 0;
        switch (option) {
        case 't': s.texts = number; break;
        case 's': s.shapes = number; break;
        case 'k': s.kernels = number; break;
        case 'r': s.remembered = number; break;
        case 'j': s.threads = number; break;
        case 'd': s.disk = optarg; break;
        case 'f': s.first = number; break;
        case 'n': s.is_new = true; break;
        default: return 2;
        }
    }
    if (s.threads < 1 || s.threads > MAX_THREADS || s.texts < INTERVALS * s.threads || s.shapes < 1 ||
        s.remembered < 0) {
        fprintf(stderr, "soak: expected 1 to %d threads, and at least ten texts for each\n", MAX_THREADS);
        return 2;
    }
#ifdef __GLIBC__
    /* Whether the allocator gives memory back and takes it again in each cycle depends on how it happens to lie, and
     * doubles the time. */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    /* How many arenas there are, and how full each, depends on which threads happened to allocate at once. */
    mallopt(M_ARENA_MAX, 1);
#endif
    return s.is_new ? run_new(&s) : run(&s);
}

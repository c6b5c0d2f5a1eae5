/* SPDX-License-Identifier: Apache-2.0 */
/* Times candidates of many problems on a GPU: what the model of schedules is fitted to.
 *
 *   gather PROBLEMS --cache-dir DIR --compile JOBS     compiles the candidates into the cache; needs no GPU
 *   gather PROBLEMS --cache-dir DIR --untimed          points without times; needs no GPU
 *   gather PROBLEMS --cache-dir DIR > POINTS           times those that are in the cache
 *   gather PROBLEMS --again POINTS > NEW               the same points with this build's features; needs no GPU, nor a
 * cache
 *
 * PROBLEMS is what problems.py draws. Of each problem's candidates as many as --candidates says (24) are taken: the one
 * that the library chooses; those that the model expects to be the fastest, half of the others; and some drawn by
 * --seed and the problem's number. A line of POINTS is a candidate: README.md tells its members.
 * Points without times tell the checksum of their source: equal ones are the same kernel.
 * Choices and features are those of this machine's GPU, whose numbers each point tells, and of the architecture's
 * typical one where there is none.
 * --any-shape: of each problem the kernel that serves any shape alone, which is compiled where it is timed.
 * --seconds ends in time; --skip N leaves out the first N problems, which a run before has done; --part I/N takes every
 * N-th problem from the I-th on, so that N GPUs share them. */
#define _GNU_SOURCE
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/extent.h"
#include "base/types.h"
#include "bench_clock.h"
#include "gather_points.h"
#include "jit/nvrtc.h"
#include "manifest.h"
#include "runtime/context.h"
#include "schedule/candidates.h"
#include "schedule/rank.h"

#define MOST_TAKEN 256
#define ROUNDS 7
#define HOPELESS 16 /* times as long as the copy: measured once */

typedef struct given {
    const char *problems, *cache_dir, *points;
    kiln__device device;
    int jobs, candidates, arch;
    bool list, untimed;
    bool any_shape; /* of each problem the kernel for any shape alone */
    long skip, part, parts;
    uint64_t seed;
    double end_ms;
} given;

/* A problem and those of its candidates that are taken, the library's own first. */
typedef struct task {
    long number;
    char family[32];
    manifest_entry entry;
    kiln_context *context;
    kiln_program *program;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    char pins[MOST_TAKEN][KILN__PINS_SIZE];
    int count;
} task;

static uint64_t draw(uint64_t *state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static kiln_status open_context(const given *g, const char *pins, kiln_context **out) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = g->cache_dir;
    options.schedule = pins;
    options.cache_max_bytes = -1;
    if (g->any_shape) options.policy = KILN_POLICY_ANY_SHAPE;
    return kiln_context_create(&options, out);
}

/* The task's problem, and what it is given to the model as. */
static kiln_status prepare(const task *t, const kiln__device *device, kiln__prepared *prepared, kiln__given *out) {
    kiln_status status = kiln__prepare(t->program, t->tensors, t->scalars, device, 0, prepared);
    if (status) return status;
    *out = (kiln__given){.ir = prepared->ir, .problem = &prepared->problem, .device = device};
    return kiln__traits_find(prepared->ir, &prepared->problem, &out->traits);
}

/* Candidates that give schedules of their own, in the model's order. */
typedef struct listed {
    kiln__pins points[KILN__MOST_CANDIDATES];
    char texts[KILN__MOST_CANDIDATES][160];
    int count;
} listed;

static void add_listed(listed *l, const kiln__pins *point, const char *text) {
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->texts[i], text)) return;
    snprintf(l->texts[l->count], sizeof l->texts[l->count], "%s", text);
    l->points[l->count++] = *point;
}

static kiln_status list_candidates(const kiln__given *of, listed *l) {
    const kiln__pins nothing = KILN__PINS_NONE;
    kiln__ranked *ranked;
    int count;
    kiln_status status = kiln__rank_all(of, &nothing, &ranked, &count);
    for (int i = 0; i < count && !status; i++) {
        kiln__schedule s;
        if (!kiln__schedule_choose(of->ir, of->problem, of->device, &ranked[i].point, 0, &s))
            add_listed(l, &ranked[i].point, s.text);
    }
    if (!status) free(ranked);
    return status;
}

/* The library's own, the first ones, and a share of the others, drawn. */
static kiln_status take_candidates(const given *g, task *t) {
    static listed l;
    const kiln__pins nothing = KILN__PINS_NONE;
    kiln__pins chosen;
    kiln__schedule s;
    kiln__prepared prepared;
    kiln__given of;
    if (g->any_shape) {
        t->count = 1;
        t->pins[0][0] = 0;
        return KILN_OK;
    }
    kiln_status status = prepare(t, &g->device, &prepared, &of);
    if (status) return status;
    l.count = 0;
    /* Pinned, as it is compiled for devices of other numbers, too. */
    status = kiln__schedule_choose_point(of.ir, of.problem, of.device, &nothing, 0, &s, &chosen);
    if (!status) add_listed(&l, &chosen, s.text);
    if (!status) status = list_candidates(&of, &l);
    kiln__prepared_free(&prepared);
    uint64_t state = (g->seed + (uint64_t)t->number) * 0x9e3779b97f4a7c15u + 1;
    for (int i = 1 + g->candidates / 2; i + 1 < l.count; i++) {
        const int other = i + (int)(draw(&state) % (uint64_t)(l.count - i));
        const kiln__pins kept = l.points[i];
        l.points[i] = l.points[other];
        l.points[other] = kept;
    }
    t->count = l.count < g->candidates ? l.count : g->candidates;
    for (int i = 0; i < t->count; i++) kiln__pins_write(&l.points[i], t->pins[i]);
    return status;
}

/* A line is an entry of a manifest, and the program's family beside. */
static kiln_status read_line(const char *line, size_t size, task *t) {
    json_t *object = json_loadb(line, size, 0, NULL);
    const char *family = json_string_value(json_object_get(object, "family"));
    snprintf(t->family, sizeof t->family, "%s", family ? family : "other");
    json_object_del(object, "family");
    char *entry = json_dumps(object, 0);
    kiln_status status =
        entry ? manifest_parse(entry, strlen(entry), &t->entry) : kiln__fail(KILN_E_FORMAT, "the line is no JSON");
    free(entry);
    json_decref(object);
    return status;
}

static kiln_status open_task(const given *g, const char *line, size_t size, long number, task *t) {
    *t = (task){.number = number};
    kiln_status status = read_line(line, size, t);
    if (!status) status = open_context(g, "", &t->context);
    return status ? status : manifest_bind(&t->entry, t->context, &t->program, t->tensors, t->scalars);
}

static void close_task(task *t) {
    kiln_program_destroy(t->program);
    kiln_context_destroy(t->context);
    manifest_entry_free(&t->entry);
}

/* The task's program in a context of its own with these pins; the caller destroys both. */
static kiln_status open_pinned(const given *g, const task *t, const char *pins, kiln_context **context,
                               kiln_program **program) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln_status status = open_context(g, pins, context);
    return status ? status : manifest_bind(&t->entry, *context, program, tensors, scalars);
}

static void compile_task(const given *g, const task *t) {
    for (int i = 0; i < t->count && kiln__now_ms() < g->end_ms; i++) {
        kiln_context *context = NULL;
        kiln_program *program = NULL;
        kiln_kernel *kernel = NULL;
        kiln_status status = open_pinned(g, t, t->pins[i], &context, &program);
        if (!status)
            status = kiln_compile(program, t->tensors, t->entry.tensor_count, t->scalars, t->entry.scalar_count,
                                  g->arch, 0, 1, &kernel);
        if (status) fprintf(stderr, "%ld, %s: %s\n", t->number, t->pins[i], kiln_last_error());
        kiln_kernel_destroy(kernel);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
}

/* ---- timing ---- */

typedef struct device_state {
    gpu gpu;
    bench_clock clock;
    char name[100];
    void *data[KILN_MAX_TENSORS];
    size_t capacity[KILN_MAX_TENSORS];
} device_state;

static int64_t bytes_of(const kiln_tensor *tensor) {
    return gpu_tensor_elements(tensor) * (int64_t)kiln_type_size(tensor->type);
}

/* Numbers of any type: small positive ones of f16, and of bytes. */
static kiln_status fill(const device_state *t, void *data, size_t bytes) {
    static unsigned char block[1 << 22];
    uint64_t state = 88172645463325252u;
    const kiln__CUdeviceptr at = (kiln__CUdeviceptr)(uintptr_t)data;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)(i % 2 ? 0x2c + draw(&state) % 16 : draw(&state));
    for (size_t i = 0; i < bytes; i += sizeof block) {
        const size_t size = bytes - i < sizeof block ? bytes - i : sizeof block;
        const kiln__CUresult result = t->gpu.driver->MemcpyHtoD(at + i, block, size);
        if (result) return gpu_status(&t->gpu, result, "copying to the device");
    }
    return KILN_OK;
}

/* Memory of its own for each tensor, which later tasks use again; as far behind an access as its problem says. */
static kiln_status place_tensors(device_state *t, task *of) {
    for (size_t i = 0; i < of->entry.tensor_count; i++) {
        const size_t shift = (uintptr_t)of->tensors[i].data % 16;
        const kiln__extent extent = kiln__extent_of(&of->tensors[i]);
        const size_t bytes = (size_t)(extent.high - extent.low) + shift;
        if (bytes > t->capacity[i]) {
            gpu_free(&t->gpu, t->data[i]);
            t->data[i] = NULL;
            t->capacity[i] = 0;
            kiln_status status = gpu_allocate(&t->gpu, bytes, &t->data[i]);
            if (!status) status = fill(t, t->data[i], bytes);
            if (status) return status;
            t->capacity[i] = bytes;
        }
        of->tensors[i].data = (char *)t->data[i] + shift - extent.low;
    }
    return KILN_OK;
}

/* ---- points ---- */

/* The device of a point: before points told its numbers, the architecture's typical one. */
static kiln__device device_of(const given *g, const json_t *point) {
    const json_t *numbers = json_object_get(point, "numbers");
    int64_t n[8];
    if (json_array_size(numbers) != 8) return g->device;
    for (size_t i = 0; i < 8; i++) n[i] = json_integer_value(json_array_get(numbers, i));
    return (kiln__device){(int)n[0], (int)n[1], (int)n[2], (int)n[3], n[4], n[5], n[6], n[7]};
}

static void print_point(const given *g, const task *t, int i, const kiln__prepared *prepared,
                        const kiln_plan_info *info, const char *device_name, const double us[3]) {
    gather_print_point(&(gather_point){.problem = t->number,
                                       .family = t->family,
                                       .program = t->entry.program,
                                       .pins = t->pins[i],
                                       .tensors = t->tensors,
                                       .tensor_count = t->entry.tensor_count,
                                       .chosen = i == 0,
                                       .device = &g->device,
                                       .device_name = device_name,
                                       .prepared = prepared,
                                       .info = info,
                                       .us = us});
}

static kiln_status prepare_candidate(const given *g, const task *t, const kiln_program *program,
                                     kiln__prepared *prepared) {
    return g->any_shape ? kiln__prepare_any_shape(program, t->tensors, t->scalars, prepared)
                        : kiln__prepare(program, t->tensors, t->scalars, &g->device, 0, prepared);
}

/* Without a GPU: what the cache has. */
static kiln_status describe_candidate(const given *g, const task *t, int i) {
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln__prepared prepared = {0};
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status = open_pinned(g, t, t->pins[i], &context, &program);
    if (!status && !g->any_shape) {
        context->policy = KILN_POLICY_NEVER_COMPILE;
        status = kiln_compile(program, t->tensors, t->entry.tensor_count, t->scalars, t->entry.scalar_count, g->arch, 0,
                              1, &kernel);
    }
    const bool compiled = !status && !g->any_shape;
    if (!status || status == KILN_E_WOULD_COMPILE) status = prepare_candidate(g, t, program, &prepared);
    if (!status && compiled) status = kiln_kernel_get_info(kernel, &info);
    if (!status && (!compiled || !strcmp(info.schedule, prepared.schedule.text)))
        print_point(g, t, i, &prepared, compiled ? &info : NULL, "none", NULL);
    kiln__prepared_free(&prepared);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static kiln_status describe_task(const given *g, const task *t) {
    kiln_status status = KILN_OK;
    for (int i = 0; i < t->count && !status; i++) status = describe_candidate(g, t, i);
    return status;
}

/* Of the candidate, run 0, twice and of the copy, run 1. */
static kiln_status time_runs(const bench_clock *clock, bench_run runs[2], double us[3]) {
    kiln_status status = bench_clock_time(clock, runs, 2, 1);
    const bool hopeless = runs[0].time.median > HOPELESS * runs[1].time.median;
    if (!status && !hopeless) status = bench_clock_time(clock, runs, 2, ROUNDS);
    us[0] = runs[0].time.median;
    us[2] = runs[1].time.median;
    if (!status && !hopeless) status = bench_clock_time(clock, runs, 2, ROUNDS);
    us[1] = runs[0].time.median;
    return status;
}

/* Only what the cache has: nothing is compiled here. */
static kiln_status time_candidate(const given *g, device_state *state, const task *t, int i, int64_t moved) {
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    void *data[KILN_MAX_TENSORS] = {NULL};
    for (size_t k = 0; k < t->entry.tensor_count; k++) data[k] = t->tensors[k].data;
    bench_run runs[2] = {{.data = data,
                          .data_count = t->entry.tensor_count,
                          .scalars = t->scalars,
                          .scalar_count = t->entry.scalar_count},
                         {.copied = moved}};
    kiln_status status = open_pinned(g, t, t->pins[i], &context, &program);
    if (!status) {
        if (!g->any_shape) context->policy = KILN_POLICY_NEVER_COMPILE;
        status = kiln_plan_create(program, t->tensors, t->entry.tensor_count, t->scalars, t->entry.scalar_count, &plan);
    }
    runs[0].plan = plan;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln__prepared prepared = {0};
    if (!status) status = prepare_candidate(g, t, program, &prepared);
    if (!status) status = kiln_plan_get_info(plan, &info);
    const bool same =
        !status && !strcmp(info.schedule, prepared.schedule.text); /* else it spilled, and another was taken */
    double us[3] = {0};
    if (same) status = time_runs(&state->clock, runs, us);
    if (same && !status)
        print_point(g, t, i, &prepared, &info, state->name, us);
    else if (status != KILN_E_WOULD_COMPILE)
        fprintf(stderr, "%ld, %s: %s\n", t->number, t->pins[i], kiln_last_error());
    kiln__prepared_free(&prepared);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status == KILN_E_LAUNCH || status == KILN_E_NO_CONTEXT ? status : KILN_OK;
}

static kiln_status time_task(const given *g, device_state *state, task *t) {
    int64_t moved = 0;
    kiln_status status = place_tensors(state, t);
    for (size_t i = 0; i < t->entry.tensor_count; i++) moved += bytes_of(&t->tensors[i]);
    for (int i = 0; i < t->count && !status && kiln__now_ms() < g->end_ms; i++)
        status = time_candidate(g, state, t, i, moved);
    fflush(stdout);
    return status;
}

/* ---- all problems ---- */

/* Those of one of `jobs` processes; state: NULL where they are compiled. */
static int go_through(const given *g, int job, device_state *state) {
    FILE *file = fopen(g->problems, "r");
    static task t;
    char *line = NULL;
    size_t capacity = 0;
    int failed = 0;
    if (!file) {
        perror(g->problems);
        return 1;
    }
    ssize_t size;
    for (long number = 0; (size = getline(&line, &capacity, file)) > 0 && kiln__now_ms() < g->end_ms; number++) {
        if (number < g->skip || number % g->parts != g->part || (!state && number / g->parts % g->jobs != job))
            continue;
        kiln_status status = open_task(g, line, (size_t)size, number, &t);
        if (!status) status = take_candidates(g, &t);
        if (!status && state)
            status = time_task(g, state, &t);
        else if (!status && g->untimed)
            status = describe_task(g, &t);
        else if (!status && !g->list)
            compile_task(g, &t);
        for (int i = 0; i < t.count && g->list; i++) printf("%ld: %s\n", number, t.pins[i]);
        if (status) fprintf(stderr, "problem %ld: %s\n", number, kiln_last_error());
        close_task(&t);
        failed |= status == KILN_E_LAUNCH; /* the device is lost */
        if (failed) break;
    }
    free(line);
    fclose(file);
    return failed;
}

/* ---- points once more ---- */

/* The problem of a number, which is the one of the point before or one further down. */
static kiln_status reach(const given *g, FILE *problems, long number, task *t) {
    static char *line;
    static size_t capacity;
    static long next;
    if (t->program && t->number == number) return KILN_OK;
    if (t->program) close_task(t);
    *t = (task){.number = -1};
    if (next > number) rewind(problems), next = 0;
    ssize_t size = 0;
    while (next <= number && (size = getline(&line, &capacity, problems)) > 0) next++;
    if (size <= 0) return kiln__fail(KILN_E_ARGUMENT, "there is no problem %ld", number);
    return open_task(g, line, (size_t)size, number, t);
}

/* What the library once chose is a candidate still, if not its choice. */
static kiln_status find_candidate(const kiln__given *of, const char *text, json_t *point, kiln__schedule *s) {
    static listed l;
    l.count = 0;
    kiln_status status = list_candidates(of, &l);
    for (int i = 0; i < l.count && !status; i++) {
        char pins[KILN__PINS_SIZE];
        if (strcmp(l.texts[i], text) != 0) continue;
        kiln__pins_write(&l.points[i], pins);
        json_object_set_new(point, "pins", json_string(pins));
        return kiln__schedule_choose(of->ir, of->problem, of->device, &l.points[i], 0, s);
    }
    return status;
}

/* A point with new features, if its pins still give its schedule. */
static kiln_status renew(const given *g, FILE *problems, json_t *point, task *t) {
    const char *pins = json_string_value(json_object_get(point, "pins"));
    const char *text = json_string_value(json_object_get(point, "schedule"));
    const kiln__device device = device_of(g, point);
    kiln__prepared prepared = {0};
    kiln__given of;
    kiln__pins pinned;
    kiln__schedule s;
    kiln__estimate e;
    kiln_status status = reach(g, problems, (long)json_integer_value(json_object_get(point, "problem")), t);
    if (!status) status = prepare(t, &device, &prepared, &of);
    if (!status) status = kiln__pins_parse(pins, &pinned);
    if (!status) status = kiln__schedule_choose(of.ir, of.problem, &device, &pinned, 0, &s);
    if (!status && !*pins && strcmp(s.text, text) != 0) status = find_candidate(&of, text, point, &s);
    if (!status && strcmp(s.text, text) != 0) status = kiln__fail(KILN_E_ARGUMENT, "it is '%s' now", s.text);
    if (!status) {
        kiln__model_estimate(&of, &s, &e);
        json_object_del(point, "terms");
        json_object_set_new(point, "features", gather_features(&e));
        json_object_set_new(point, "resources", gather_resources(&of, &s));
        json_object_set_new(point, "estimated_registers", json_integer(e.registers));
        json_object_set_new(point, "resident", json_integer(e.resident));
        json_dumpf(point, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    kiln__prepared_free(&prepared);
    return status;
}

static int renew_all(const given *g) {
    static task t;
    FILE *problems = fopen(g->problems, "r"), *points = fopen(g->points, "r");
    char *line = NULL;
    size_t capacity = 0;
    long number = 0, lost = 0;
    if (!problems || !points) {
        perror(problems ? g->points : g->problems);
        return 1;
    }
    for (ssize_t size; (size = getline(&line, &capacity, points)) > 0; number++) {
        json_t *point = json_loadb(line, (size_t)size, 0, NULL);
        const bool renewed = point && !renew(g, problems, point, &t);
        if (!renewed && ++lost <= 10) fprintf(stderr, "point %ld: %s\n", number, kiln_last_error());
        json_decref(point);
    }
    if (lost) fprintf(stderr, "%ld of %ld points are no longer what they were\n", lost, number);
    if (t.program) close_task(&t);
    free(line);
    fclose(problems);
    fclose(points);
    return 0;
}

/* The numbers of the first GPU here, where it is of the architecture that is asked for. */
static void find_device(given *g) {
    const kiln__driver *driver;
    kiln__device found;
    g->device = kiln__device_typical(g->arch);
    if (kiln__driver_open(NULL, &driver) == KILN_OK && kiln__driver_device(driver, 0, &found) == KILN_OK &&
        found.arch == g->arch)
        g->device = found;
}

static int compile_all(const given *g) {
    for (int job = 0; job < g->jobs; job++)
        if (fork() == 0) _exit(go_through(g, job, NULL));
    while (wait(NULL) > 0) {
    }
    return 0;
}

static int list_all(const given *g) {
    given one = *g;
    one.jobs = 1;
    return go_through(&one, 0, NULL);
}

static int time_all(const given *g) {
    static device_state state;
    int failed = 1;
    if (gpu_open(NULL, 0, &state.gpu) || bench_clock_create(&state.gpu, 64 << 20, &state.clock))
        fprintf(stderr, "%s\n", kiln_last_error());
    else {
        state.gpu.driver->DeviceGetName(state.name, sizeof state.name, state.gpu.device);
        failed = go_through(g, 0, &state);
    }
    for (int i = 0; i < KILN_MAX_TENSORS; i++) gpu_free(&state.gpu, state.data[i]);
    bench_clock_free(&state.clock);
    gpu_close(&state.gpu);
    return failed;
}

static bool parse_part(const char *text, given *g) {
    return sscanf(text, "%ld/%ld", &g->part, &g->parts) == 2 && g->part >= 0 && g->part < g->parts;
}

/* False where an option is none. */
static bool parse(int argc, char **argv, given *g) {
    static const struct option longs[] = {
        {"cache-dir", 1, NULL, 'd'}, {"compile", 1, NULL, 'c'}, {"candidates", 1, NULL, 'n'},
        {"seed", 1, NULL, 's'},      {"arch", 1, NULL, 'a'},    {"seconds", 1, NULL, 't'},
        {"skip", 1, NULL, 'k'},      {"list", 0, NULL, 'l'},    {"untimed", 0, NULL, 'u'},
        {"part", 1, NULL, 'p'},      {"again", 1, NULL, 'r'},   {"any-shape", 0, NULL, 'y'},
        {NULL, 0, NULL, 0}};
    bool is_right = true;
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (option) {
        case 'd': g->cache_dir = optarg; break;
        case 'c': g->jobs = atoi(optarg); break;
        case 'n': g->candidates = atoi(optarg) < MOST_TAKEN ? atoi(optarg) : MOST_TAKEN; break;
        case 's': g->seed = strtoull(optarg, NULL, 10); break;
        case 'a': g->arch = atoi(optarg); break;
        case 't': g->end_ms = kiln__now_ms() + 1e3 * atof(optarg); break;
        case 'l': g->list = true; break;
        case 'u': g->untimed = true; break;
        case 'y': g->any_shape = true; break;
        case 'k': g->skip = atol(optarg); break;
        case 'r': g->points = optarg; break;
        case 'p': is_right = is_right && parse_part(optarg, g); break;
        default: is_right = false;
        }
    return is_right && optind == argc - 1 && (g->cache_dir || g->points);
}

int main(int argc, char **argv) {
    given g = {.candidates = 24, .arch = 90, .seed = 1, .parts = 1, .end_ms = 1e300};
    if (!parse(argc, argv, &g)) {
        fprintf(stderr,
                "usage: gather PROBLEMS --cache-dir DIR [--compile JOBS] [--candidates N] [--seed S] [--arch N] "
                "[--seconds T] [--skip N] [--part I/N] [--list] [--untimed] [--any-shape]\n"
                "       gather PROBLEMS --again POINTS\n");
        return 2;
    }
    g.problems = argv[optind];
    find_device(&g);
    if (g.points) return renew_all(&g);
    if (g.list || g.untimed) return list_all(&g);
    return g.jobs > 0 ? compile_all(&g) : time_all(&g);
}

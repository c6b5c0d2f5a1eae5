/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates are planned as a record would make the library plan them, so that what is timed is what will run. All are
 * timed in a few rounds, the best of them once more in many, in turns with the library's own choice. */
#include "tune_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/extent.h"
#include "base/types.h"
#include "codegen/source.h"
#include "progress.h"
#include "runtime/tuned.h"

#define FEW_ROUNDS 5
#define LEAST_GAIN 0.01       /* less is not worth a record */
#define COMPARED_BYTES 262144 /* of each output, from its start */
#define TOLERANCE 0.02        /* of an output's largest value: sums are added in another order */

/* Device memory for the tensors, each aligned as the problem's is. */
typedef struct tune_memory {
    const gpu *gpu;
    const tune_problem *problem;
    void *blocks[KILN_MAX_TENSORS], *data[KILN_MAX_TENSORS];
    size_t bytes[KILN_MAX_TENSORS]; /* from data on */
} tune_memory;

/* Numbers of any type: as f16, bf16 and f32 small and positive, as integers anything. */
static kiln_status fill(const tune_memory *m, void *data, size_t bytes) {
    enum { block_size = 1 << 20 };
    unsigned char *block = malloc(block_size);
    uint64_t state = UINT64_C(88172645463325252);
    kiln_status status = block ? KILN_OK : kiln__out_of_memory();
    for (size_t i = 0; i < block_size && block; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block[i] = (unsigned char)(i % 2 ? 0x2c + state % 16 : state & 0xff);
    }
    for (size_t i = 0; i < bytes && !status; i += block_size) {
        const size_t size = bytes - i < block_size ? bytes - i : block_size;
        const kiln__CUdeviceptr at = (kiln__CUdeviceptr)(uintptr_t)data + i;
        status = gpu_status(m->gpu, m->gpu->driver->MemcpyHtoD(at, block, size), "copying to the device");
    }
    free(block);
    return status;
}

static kiln_status place(tune_memory *m) {
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < m->problem->tensor_count && !status; i++) {
        const kiln_tensor *tensor = &m->problem->tensors[i];
        const kiln__extent extent = kiln__extent_of(tensor);
        const size_t alignment = (size_t)kiln__alignment_of(tensor->data), before = (size_t)-extent.low;
        const size_t shift = (before + 15) / 16 * 16 + (alignment < 16 ? alignment : 0);
        m->bytes[i] = (size_t)extent.high;
        status = gpu_allocate(m->gpu, shift + m->bytes[i], &m->blocks[i]);
        if (status) break;
        m->data[i] = (char *)m->blocks[i] + shift;
        status = fill(m, m->blocks[i], shift + m->bytes[i]);
    }
    return status;
}

static void free_memory(tune_memory *m) {
    for (size_t i = 0; i < KILN_MAX_TENSORS; i++) gpu_free(m->gpu, m->blocks[i]);
}

/* ---- plans ---- */

static kiln_status make_plan(const tune_memory *m, tune_contender *c) {
    const tune_problem *p = m->problem;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    memcpy(tensors, p->tensors, sizeof tensors);
    for (size_t i = 0; i < p->tensor_count; i++) tensors[i].data = m->data[i];
    c->info = (kiln_plan_info)KILN_PLAN_INFO_INIT;
    kiln_status status = kiln_plan_create(p->program, tensors, p->tensor_count, p->scalars, p->scalar_count, &c->plan);
    return status ? status : kiln_plan_get_info(c->plan, &c->info);
}

static bool is_new(const tune_result *result, const kiln_plan_info *info) {
    for (size_t i = 0; i < result->count; i++) {
        const kiln_plan_info *other = &result->items[i].info;
        if (other->blocks == info->blocks && other->threads == info->threads && other->launches == info->launches &&
            strcmp(kiln__source_code(other->source), kiln__source_code(info->source)) == 0)
            return false;
    }
    return true;
}

/* The candidate's plan; one that cannot be had, or is another's, is left out. */
static kiln_status add_contender(const tune_memory *m, const tune_candidate *candidate, tune_result *out) {
    tune_contender *c = &out->items[out->count];
    const bool own = out->count == 0;
    *c = (tune_contender){.pins = candidate->pins};
    kiln__pins_write(&c->pins, c->words);
    kiln_status status = kiln__tuned_set(m->problem->program->context, &out->key, own ? NULL : &c->pins);
    if (!status) status = make_plan(m, c);
    if (own && !status) out->count = 1;
    if (own) return status;
    const bool had = !status && c->info.schedule_origin == KILN_SCHEDULE_RECORD;
    out->failed += !had;
    if (had && is_new(out, &c->info)) {
        out->count++;
        return KILN_OK;
    }
    kiln_plan_destroy(c->plan);
    return status == KILN_E_MEMORY ? status : KILN_OK;
}

static kiln_status plan_all(const tune_memory *m, const tune_candidates *candidates, double seconds, tune_result *out) {
    const progress time = progress_begin(0, true);
    kiln_status status = KILN_OK;
    out->items = calloc(candidates->count + 1, sizeof *out->items);
    if (!out->items) return kiln__out_of_memory();
    for (size_t i = 0; i < candidates->count && !status; i++) {
        if (i > 1 && progress_seconds(&time) > seconds) break;
        status = add_contender(m, &candidates->items[i], out);
    }
    return status;
}

/* ---- times ---- */

static kiln_status time_all(const tune_memory *m, const bench_clock *clock, tune_contender *items, size_t count,
                            int rounds) {
    const tune_problem *p = m->problem;
    bench_run *runs = calloc(count + 1, sizeof *runs);
    if (!runs) return kiln__out_of_memory();
    for (size_t i = 0; i < count; i++)
        runs[i] = (bench_run){items[i].plan, m->data, p->tensor_count, p->scalars, p->scalar_count, 0, {0, 0, 0}};
    kiln_status status = bench_clock_time(clock, runs, count, rounds);
    for (size_t i = 0; i < count && !status; i++) items[i].time = runs[i].time;
    free(runs);
    return status;
}

static int by_time(const void *a, const void *b) {
    const tune_contender *x = a, *y = b;
    if (x->time.median != y->time.median) return x->time.median < y->time.median ? -1 : 1;
    return strcmp(x->words, y->words);
}

static void sort(tune_contender *items, size_t count) {
    if (count > 2) qsort(items + 1, count - 1, sizeof *items, by_time); /* the library's own stays first */
}

/* Whether the gain is more than the noise: the times of three quarters of the one's rounds are below those of three
 * quarters of the other's. */
static bool is_faster(const bench_time *time, const bench_time *own) {
    return time->high < own->low && time->median <= own->median * (1 - LEAST_GAIN);
}

static kiln_status time_in_turns(const tune_memory *m, const bench_clock *clock, int rounds, tune_result *out) {
    kiln_status status = time_all(m, clock, out->items, out->count, FEW_ROUNDS);
    if (status || out->count < 2) return status;
    sort(out->items, out->count);
    const size_t finalists = out->count < TUNE_MOST_FINALISTS ? out->count : TUNE_MOST_FINALISTS;
    status = time_all(m, clock, out->items, finalists, rounds);
    sort(out->items, finalists);
    for (size_t i = 0; i < finalists; i++) out->items[i].final = true;
    if (!status && is_faster(&out->items[1].time, &out->items[0].time)) out->winner = 1;
    return status;
}

/* ---- results ---- */

static kiln_status run(const tune_memory *m, const tune_contender *c, size_t output, unsigned char *out, size_t size) {
    const tune_problem *p = m->problem;
    const kiln__CUdeviceptr at = (kiln__CUdeviceptr)(uintptr_t)m->data[output];
    kiln_status status = kiln_plan_launch(c->plan, m->data, p->tensor_count, p->scalars, p->scalar_count, NULL);
    if (status) return status;
    return gpu_status(m->gpu, m->gpu->driver->MemcpyDtoH(out, at, size), "copying from the device");
}

static double value_at(kiln_type type, const unsigned char *data, size_t i) {
    const uint8_t element = kiln__type_is_packed(type) ? kiln__load_packed(data, (int64_t)i) : 0;
    return kiln__load_f64(type, kiln__type_is_packed(type) ? &element : data + i * kiln_type_size(type));
}

/* Whether numbers of a type are the same but for rounding. */
static bool are_close(kiln_type type, const unsigned char *a, const unsigned char *b, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = value_at(type, a, i);
        if (isfinite(x) && fabs(x) > largest) largest = fabs(x);
    }
    for (size_t i = 0; i < count; i++) {
        const double x = value_at(type, a, i), y = value_at(type, b, i);
        const bool same = x == y || (isnan(x) && isnan(y));
        if (!same && !(fabs(x - y) <= TOLERANCE * largest)) return false;
    }
    return true;
}

static kiln_status compare_output(const tune_memory *m, const tune_contender *a, const tune_contender *b, size_t output,
                                  bool *close) {
    const kiln_type type = m->problem->tensors[output].type;
    const size_t most = COMPARED_BYTES, size = m->bytes[output] < most ? m->bytes[output] : most;
    unsigned char *first = malloc(size + 1), *second = malloc(size + 1);
    kiln_status status = first && second ? KILN_OK : kiln__out_of_memory();
    if (!status) status = run(m, a, output, first, size);
    if (!status) status = run(m, b, output, second, size);
    if (!status)
        *close = are_close(type, first, second, size * (kiln__type_is_packed(type) ? 2 : 1) / kiln_type_size(type));
    free(first);
    free(second);
    return status;
}

/* A winner that computes something else is none. */
static kiln_status check_winner(const tune_memory *m, tune_result *out) {
    kiln_status status = KILN_OK;
    const size_t inputs = kiln_program_input_count(m->problem->program);
    for (size_t o = inputs; o < m->problem->tensor_count && out->winner && !status; o++) {
        bool close = true;
        status = compare_output(m, &out->items[0], &out->items[out->winner], o, &close);
        out->different = !close;
        if (!close) out->winner = 0;
    }
    return status;
}

/* ---- together ---- */

kiln_status tune_measure(const gpu *g, const bench_clock *clock, const tune_problem *problem, const tune_limits *limits,
                         tune_result *out) {
    tune_candidates candidates;
    tune_memory memory = {.gpu = g, .problem = problem};
    *out = (tune_result){.count = 0};
    kiln_status status = tune_candidates_find(problem, limits->candidates, &candidates);
    out->listed = candidates.listed;
    out->key = candidates.key;
    out->description = candidates.description;
    candidates.key = (kiln__key){.size = 0};
    candidates.description = NULL;
    if (!status) status = place(&memory);
    if (!status) status = plan_all(&memory, &candidates, limits->seconds, out);
    if (!status) status = time_in_turns(&memory, clock, limits->rounds, out);
    if (!status) status = check_winner(&memory, out);
    free_memory(&memory);
    tune_candidates_free(&candidates);
    return status;
}

void tune_result_free(tune_result *result) {
    for (size_t i = 0; i < result->count; i++) kiln_plan_destroy(result->items[i].plan);
    free(result->items);
    free(result->description);
    kiln__key_free(&result->key);
    *result = (tune_result){.count = 0};
}

kiln_status tune_keep(const tune_problem *problem, const tune_result *result) {
    kiln_context *context = problem->program->context;
    const tune_contender *own = &result->items[0], *winner = &result->items[result->winner];
    char measured[160];
    kiln_status status = kiln__tuned_set(context, &result->key, result->winner ? &winner->pins : NULL);
    if (status) return status;
    if (!result->winner) {
        (void)kiln__disk_remove_tuned(context->disk, &result->key);
        return KILN_OK;
    }
    (void)snprintf(measured, sizeof measured, "%.2f us, the library's own choice %.2f us", winner->time.median,
                   own->time.median);
    const kiln__entry entry = kiln__tuned_entry(winner->words, result->description, measured, problem->device.arch);
    if (kiln__disk_put_tuned(context->disk, &result->key, &entry)) return KILN_OK;
    return kiln__fail(KILN_E_IO, "the tuned record cannot be written to the disk cache '%s'",
                      kiln__disk_path(context->disk));
}

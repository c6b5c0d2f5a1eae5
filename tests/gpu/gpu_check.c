/* SPDX-License-Identifier: Apache-2.0 */
/* One case of the GPU suite: draw the inputs, run, compare with the CPU reference by parts, look at the guard bands.
 * Inputs are drawn again for each part instead of being kept, so that the largest cases need little host memory. */
#define _GNU_SOURCE
#include "gpu_check.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/types.h"
#include "gpu_compare.h"

#define GUARD_PATTERN 0xa5
#define PART_ELEMENTS (256 * 1024)
#define TENSOR_LIMIT (GPU_INPUT_LIMIT + 1)

typedef struct buffer {
    kiln__CUdeviceptr base;
    size_t lead, size; /* the tensor lies at base + lead; guard bytes follow it */
} buffer;

typedef struct run {
    const gpu_runner *runner;
    gpu_session *session;
    const gpu_group *group;
    int64_t rows;
    kiln_tensor tensors[TENSOR_LIMIT]; /* on the device */
    size_t tensor_count, output;
    buffer buffers[TENSOR_LIMIT];
    size_t buffer_count; /* one fewer than tensors in place */
    /* Comparing, from several threads. */
    int64_t part_rows;
    atomic_llong next_row;
    pthread_mutex_t lock; /* of the outcome */
    gpu_outcome *outcome;
} run;

static bool fail(run *r, const char *format, ...) KILN_PRINTF(2, 3);
static bool fail(run *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&r->lock);
    if (r->outcome->passed) vsnprintf(r->outcome->why, sizeof r->outcome->why, format, arguments);
    r->outcome->passed = false;
    pthread_mutex_unlock(&r->lock);
    va_end(arguments);
    return false;
}

static bool cuda(run *r, kiln__CUresult result, const char *what) {
    if (result == KILN__CUDA_SUCCESS) return true;
    kiln__driver_fail(r->runner->driver, KILN_E_LAUNCH, result, what);
    pthread_mutex_lock(&r->lock);
    r->outcome->broken |= result != KILN__CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&r->lock);
    return fail(r, "%s", kiln_last_error());
}

/* ---- device memory ---------------------------------------------------------------------------------------- */

static void release(run *r) {
    for (size_t i = 0; i < r->buffer_count; i++) {
        if (r->buffers[i].base) r->runner->driver->MemFree(r->buffers[i].base);
        r->buffers[i].base = 0;
    }
}

/* Other workers may hold the memory just now: everything is given back and asked for again for a while. */
static bool allocate(run *r) {
    for (int attempt = 0;; attempt++) {
        kiln__CUresult result = KILN__CUDA_SUCCESS;
        for (size_t i = 0; i < r->buffer_count && result == KILN__CUDA_SUCCESS; i++)
            result = r->runner->driver->MemAlloc(&r->buffers[i].base,
                                                 r->buffers[i].lead + r->buffers[i].size + r->runner->guard_bytes);
        if (result == KILN__CUDA_SUCCESS) return true;
        release(r);
        if (result != KILN__CUDA_ERROR_OUT_OF_MEMORY || attempt == 200) return cuda(r, result, "cuMemAlloc");
        nanosleep(&(struct timespec){0, 300000000}, NULL);
    }
}

static bool lay_out(run *r) {
    r->tensor_count = gpu_case_tensors(r->group, r->rows, r->group->type, r->tensors);
    r->output = r->tensor_count - 1;
    r->buffer_count = r->group->variant == GPU_IN_PLACE ? r->output : r->tensor_count;
    for (size_t i = 0; i < r->buffer_count; i++) {
        const kiln_tensor *tensor = &r->tensors[i];
        size_t element = kiln_type_size(tensor->type);
        r->buffers[i].lead = r->runner->guard_bytes + (r->group->variant == GPU_SHIFTED ? element : 0);
        r->buffers[i].size = element * (size_t)tensor->sizes[0] * (tensor->rank > 1 ? (size_t)tensor->sizes[1] : 1);
    }
    if (!allocate(r)) return false;
    for (size_t i = 0; i < r->tensor_count; i++) {
        const buffer *b = &r->buffers[i < r->buffer_count ? i : 0];
        r->tensors[i].data = (void *)(uintptr_t)(b->base + b->lead);
    }
    return true;
}

/* ---- the inputs ------------------------------------------------------------------------------------------- */

/* Rows [from, to) of an input, rounded to its type. */
static void draw_rows(const run *r, int input, int64_t from, int64_t to, void *out) {
    size_t element = kiln_type_size(r->group->type);
    char *next = out;
    for (int64_t row = from; row < to; row++)
        for (int64_t col = 0; col < r->group->cols; col++, next += element)
            kiln__store_f64(r->group->type, next, gpu_input_value(r->group, input, r->runner->seed, row, col));
}

static size_t row_bytes(const run *r) { return kiln_type_size(r->group->type) * (size_t)r->group->cols; }

static bool is_one_row(const run *r, int input) { return r->group->program->inputs[input].one_row; }

static bool fill_input(run *r, int input, void *part) {
    int64_t rows = is_one_row(r, input) ? 1 : r->rows;
    kiln__CUdeviceptr to = (uintptr_t)r->tensors[input].data;
    for (int64_t from = 0; from < rows; from += r->part_rows) {
        int64_t end = from + r->part_rows < rows ? from + r->part_rows : rows;
        draw_rows(r, input, from, end, part);
        size_t bytes = (size_t)(end - from) * row_bytes(r);
        if (!cuda(r, r->runner->driver->MemcpyHtoD(to, part, bytes), "cuMemcpyHtoD")) return false;
        to += bytes;
    }
    return true;
}

/* Guard bands, then inputs, then poison over the output. */
static bool prepare(run *r, unsigned char poison) {
    const kiln__driver *driver = r->runner->driver;
    for (size_t i = 0; i < r->buffer_count; i++) {
        const buffer *b = &r->buffers[i];
        if (!cuda(r, driver->MemsetD8(b->base, GUARD_PATTERN, b->lead), "cuMemsetD8") ||
            !cuda(r, driver->MemsetD8(b->base + b->lead + b->size, GUARD_PATTERN, r->runner->guard_bytes),
                  "cuMemsetD8") ||
            !cuda(r, driver->MemsetD8(b->base + b->lead, poison, b->size), "cuMemsetD8"))
            return false;
    }
    void *part = malloc((size_t)r->part_rows * row_bytes(r));
    if (!part) return fail(r, "host memory ran out");
    bool good = true;
    for (int i = 0; good && i < r->group->program->input_count; i++) good = fill_input(r, i, part);
    free(part);
    return good;
}

/* ---- the answer ------------------------------------------------------------------------------------------- */

static bool compare_row(run *r, int64_t row, const char *got, const double *reference, int64_t count, double *worst) {
    kiln_type type = r->group->type;
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabs(reference[i]) > largest) largest = fabs(reference[i]);
    for (int64_t i = 0; i < count; i++) {
        const char *element = got + (size_t)i * kiln_type_size(type);
        double off = gpu_distance(type, element, reference[i], largest);
        if (off > *worst) *worst = off;
        if (off > gpu_limit(type))
            return fail(r, "row %lld, column %lld is %.9g, the reference %.9g: off by %.3g, limit %.3g", (long long)row,
                        (long long)i, kiln__load_f64(type, element), reference[i], off, gpu_limit(type));
    }
    return true;
}

typedef struct part_memory {
    void *inputs[GPU_INPUT_LIMIT], *downloaded;
    double *reference;
} part_memory;

static bool input_is_unchanged(run *r, int input, int64_t from, int64_t to, const part_memory *memory) {
    if (r->group->variant == GPU_IN_PLACE && input == 0) return true;
    if (is_one_row(r, input) && from > 0) return true; /* seen with the first part */
    size_t bytes = (size_t)(is_one_row(r, input) ? 1 : to - from) * row_bytes(r);
    size_t offset = is_one_row(r, input) ? 0 : (size_t)from * row_bytes(r);
    kiln__CUdeviceptr address = (uintptr_t)r->tensors[input].data + offset;
    if (!cuda(r, r->runner->driver->MemcpyDtoH(memory->downloaded, address, bytes), "cuMemcpyDtoH")) return false;
    if (!memcmp(memory->downloaded, memory->inputs[input], bytes)) return true;
    return fail(r, "input '%s' was changed in rows %lld to %lld", r->group->program->inputs[input].name,
                (long long)from, (long long)to - 1);
}

static bool compare_part(run *r, int64_t from, int64_t to, const part_memory *memory, double *worst) {
    kiln_tensor host[TENSOR_LIMIT];
    size_t count = gpu_case_tensors(r->group, to - from, KILN_F64, host);
    for (int i = 0; i < r->group->program->input_count; i++) {
        draw_rows(r, i, is_one_row(r, i) ? 0 : from, is_one_row(r, i) ? 1 : to, memory->inputs[i]);
        host[i].data = memory->inputs[i];
        if (!input_is_unchanged(r, i, from, to, memory)) return false;
    }
    host[count - 1].data = memory->reference;
    if (kiln_run_cpu(r->session->program, host, count, NULL, 0) != KILN_OK)
        return fail(r, "the CPU reference failed: %s", kiln_last_error());

    int64_t columns = r->group->program->reduces ? 1 : r->group->cols;
    size_t bytes = kiln_type_size(r->group->type) * (size_t)columns;
    kiln__CUdeviceptr address = (uintptr_t)r->tensors[r->output].data + (size_t)from * bytes;
    kiln__CUresult result = r->runner->driver->MemcpyDtoH(memory->downloaded, address, (size_t)(to - from) * bytes);
    if (!cuda(r, result, "cuMemcpyDtoH")) return false;
    for (int64_t row = from; row < to; row++)
        if (!compare_row(r, row, (char *)memory->downloaded + (size_t)(row - from) * bytes,
                         memory->reference + (row - from) * columns, columns, worst))
            return false;
    return true;
}

/* A thread's work: parts, until there are none left or one failed. */
static void *compare_parts(void *argument) {
    run *r = argument;
    part_memory memory = {{NULL}, NULL, NULL};
    size_t elements = (size_t)(r->part_rows * r->group->cols);
    bool good = cuda(r, r->runner->driver->CtxSetCurrent(r->runner->cuda), "cuCtxSetCurrent");
    memory.downloaded = malloc(elements * sizeof(double));
    memory.reference = malloc(elements * sizeof(double));
    bool enough = memory.downloaded && memory.reference;
    for (int i = 0; i < r->group->program->input_count; i++)
        enough &= (memory.inputs[i] = malloc(elements * sizeof(double))) != NULL;
    if (!enough) good = fail(r, "host memory ran out");

    double worst = 0;
    while (good) {
        int64_t from = atomic_fetch_add(&r->next_row, r->part_rows);
        if (from >= r->rows) break;
        good = compare_part(r, from, from + r->part_rows < r->rows ? from + r->part_rows : r->rows, &memory, &worst);
    }
    if (!good) r->next_row = r->rows;
    pthread_mutex_lock(&r->lock);
    if (worst > r->outcome->worst) r->outcome->worst = worst;
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < GPU_INPUT_LIMIT; i++) free(memory.inputs[i]);
    free(memory.downloaded);
    free(memory.reference);
    return NULL;
}

static bool compare_all(run *r) {
    enum { THREAD_LIMIT = 64 };
    pthread_t threads[THREAD_LIMIT];
    int wanted = r->runner->threads < THREAD_LIMIT ? r->runner->threads : THREAD_LIMIT, started = 0;
    if (wanted > r->rows / r->part_rows) wanted = (int)(r->rows / r->part_rows);
    r->next_row = 0;
    while (started < wanted - 1 && !pthread_create(&threads[started], NULL, compare_parts, r)) started++;
    compare_parts(r);
    while (started > 0) pthread_join(threads[--started], NULL);
    return r->outcome->passed;
}

static bool guards_are_whole(run *r) {
    unsigned char band[GPU_GUARD_BYTES + sizeof(double)];
    for (size_t i = 0; i < r->buffer_count; i++) {
        const buffer *b = &r->buffers[i];
        for (int after = 0; after < 2; after++) {
            kiln__CUdeviceptr address = after ? b->base + b->lead + b->size : b->base;
            size_t size = after ? r->runner->guard_bytes : b->lead;
            if (!cuda(r, r->runner->driver->MemcpyDtoH(band, address, size), "cuMemcpyDtoH")) return false;
            for (size_t at = 0; at < size; at++)
                if (band[at] != GUARD_PATTERN)
                    return fail(r, "tensor %zu: byte %zu %s it was written", i, after ? at : size - at,
                                after ? "after the end of" : "before the start of");
        }
    }
    return true;
}

/* The same bits for the first row, however many rows follow it. */
static bool first_row_is_as_before(run *r) {
    size_t bytes = r->group->program->reduces ? kiln_type_size(r->group->type) : row_bytes(r);
    void *bits = malloc(bytes);
    if (!bits) return fail(r, "host memory ran out");
    kiln__CUdeviceptr address = (uintptr_t)r->tensors[r->output].data;
    bool good = cuda(r, r->runner->driver->MemcpyDtoH(bits, address, bytes), "cuMemcpyDtoH");
    if (good && !r->session->first_row) {
        r->session->first_row = bits;
        return true;
    }
    if (good && memcmp(bits, r->session->first_row, bytes))
        good = fail(r, "the first row's result is not what it was with fewer rows");
    free(bits);
    return good;
}

static bool run_once(run *r, unsigned char poison) {
    if (!prepare(r, poison)) return false;
    if (kiln_run(r->session->program, r->tensors, r->tensor_count, NULL, 0, NULL) != KILN_OK)
        return fail(r, "%s", kiln_last_error());
    return cuda(r, r->runner->driver->CtxSynchronize(), "the launch") && guards_are_whole(r) && compare_all(r) &&
           first_row_is_as_before(r);
}

/* Preparing the plan apart tells the schedule; kiln_run then finds the same kernel in memory. */
static bool tell_schedule(run *r) {
    kiln_plan *plan = NULL;
    if (kiln_plan_create(r->session->program, r->tensors, r->tensor_count, NULL, 0, &plan) != KILN_OK)
        return fail(r, "%s", kiln_last_error());
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bool good = kiln_plan_get_info(plan, &info) == KILN_OK;
    if (good) snprintf(r->outcome->schedule, sizeof r->outcome->schedule, "%s", info.schedule);
    kiln_plan_destroy(plan);
    return good ? true : fail(r, "%s", kiln_last_error());
}

void gpu_case_run(const gpu_runner *runner, gpu_session *session, int64_t rows, gpu_outcome *outcome) {
    *outcome = (gpu_outcome){.passed = true};
    run r = {.runner = runner, .session = session, .group = session->group, .rows = rows, .outcome = outcome};
    r.part_rows = PART_ELEMENTS / r.group->cols > 1 ? PART_ELEMENTS / r.group->cols : 1;
    if (r.part_rows > rows) r.part_rows = rows;
    pthread_mutex_init(&r.lock, NULL);
    /* 0xff bytes are NaN in every float type. An integer could be the poison itself: it is run with a second one. */
    bool good = lay_out(&r) && tell_schedule(&r);
    for (int order = 0; good && order < runner->orders; order++) {
        if (runner->reorder) runner->reorder(runner->seed + (uint64_t)order);
        good = run_once(&r, order % 2 ? 0x5a : 0xff);
    }
    if (good && r.group->type == KILN_I32) run_once(&r, 0x5a);
    release(&r);
    pthread_mutex_destroy(&r.lock);
}

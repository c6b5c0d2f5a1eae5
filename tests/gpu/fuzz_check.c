/* SPDX-License-Identifier: Apache-2.0 */
/* One random case: memory with guard bands, the run on the GPU and on the CPU reference, the comparison. A buffer is
 * compared as a whole: what is not an output's element must be as it was. */
#include "fuzz_check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_compare.h"

#define GUARD_BYTES 512
#define GUARD_PATTERN 0xa5

typedef struct buffer {
    kiln__CUdeviceptr device; /* 0: the tensor lies in another's buffer */
    unsigned char *before, *after;
    size_t size, data; /* bytes; where the tensor's data pointer lies */
} buffer;

typedef struct run {
    fuzz_runner *runner;
    const fuzz_case *c;
    int count;
    buffer buffers[FUZZ_TENSOR_LIMIT];
    kiln_tensor device[FUZZ_TENSOR_LIMIT], host[FUZZ_TENSOR_LIMIT];
    void *reference[FUZZ_OUTPUT_LIMIT];
    fuzz_outcome *outcome;
} run;

static bool fail(run *r, const char *format, ...) KILN_PRINTF(2, 3);
static bool fail(run *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->outcome->why, sizeof r->outcome->why, format, arguments);
    va_end(arguments);
    r->outcome->verdict = FUZZ_FAILED;
    return false;
}

static bool cuda(run *r, kiln__CUresult result, const char *what) {
    if (result == KILN__CUDA_SUCCESS) return true;
    kiln__driver_fail(r->runner->driver, KILN_E_LAUNCH, result, what);
    r->outcome->broken = result != KILN__CUDA_ERROR_OUT_OF_MEMORY;
    return fail(r, "%s", kiln_last_error());
}

kiln_context *fuzz_runner_context(fuzz_runner *runner, int schedule) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = runner->cache_dir;
    options.schedule = fuzz_schedules[schedule] ? fuzz_schedules[schedule] : "";
    if (runner->policy) options.policy = runner->policy;
    if (!runner->contexts[schedule]) kiln_context_create(&options, &runner->contexts[schedule]);
    return runner->contexts[schedule];
}

void fuzz_runner_finish(fuzz_runner *runner) {
    for (int i = 0; i < FUZZ_SCHEDULE_COUNT; i++) {
        kiln_context_destroy(runner->contexts[i]);
        runner->contexts[i] = NULL;
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static void release(run *r) {
    for (int t = 0; t < r->count; t++) {
        buffer *b = &r->buffers[t];
        if (b->device) r->runner->driver->MemFree(b->device);
        free(b->before);
        free(b->after);
    }
    for (int o = 0; o < r->c->output_count; o++) free(r->reference[o]);
}

/* The buffer that a tensor lies in, and where in it its data pointer is. */
static buffer *home_of(run *r, int t, size_t *data) {
    const fuzz_tensor *tensor = &r->c->tensors[t];
    int owner = tensor->lies_in >= 0 ? tensor->lies_in : t;
    *data = r->buffers[owner].data;
    if (owner != t) *data += (size_t)tensor->ahead * kiln_type_size(tensor->view.type);
    return &r->buffers[owner];
}

static bool make_buffer(run *r, int t) {
    const fuzz_tensor *tensor = &r->c->tensors[t];
    buffer *b = &r->buffers[t];
    int64_t element = (int64_t)kiln_type_size(tensor->view.type), high = tensor->high;
    for (int o = r->c->input_count; o < r->count; o++) {
        const fuzz_tensor *other = &r->c->tensors[o];
        if (other->lies_in == t && other->ahead + other->high > high) high = other->ahead + other->high;
    }
    size_t guard = r->runner->reorder ? 0 : GUARD_BYTES;
    b->data = guard + (size_t)((tensor->shift - tensor->low) * element);
    b->size = b->data + (size_t)(high * element) + guard;
    if (!b->size) b->size = 1;
    b->before = malloc(b->size);
    b->after = malloc(b->size);
    if (!b->before || !b->after) return fail(r, "host memory ran out");
    memset(b->before, GUARD_PATTERN, b->size);
    return cuda(r, r->runner->driver->MemAlloc(&b->device, b->size), "cuMemAlloc");
}

static void fill(run *r, int t) {
    const kiln_tensor *view = &r->c->tensors[t].view;
    bool input = t < r->c->input_count;
    size_t data, element = kiln_type_size(view->type);
    unsigned char *base = home_of(r, t, &data)->before + data;
    int64_t count = fuzz_element_count(view);
    for (int64_t i = 0; i < count; i++) {
        unsigned char *at = base + fuzz_element_offset(view, i) * (int64_t)element;
        if (input)
            fuzz_store_value(r->c, t, i, at);
        else
            memset(at, r->c->poison, element);
    }
}

/* Integers of the reference are exact in the output's own type, everything else is double. */
static bool make_reference(run *r, int output) {
    const kiln_tensor *view = &r->c->tensors[r->c->input_count + output].view;
    kiln_type type = kiln__type_is_float(view->type) ? KILN_F64 : view->type;
    kiln_tensor *host = &r->host[r->c->input_count + output];
    r->reference[output] = calloc((size_t)fuzz_element_count(view) + 1, kiln_type_size(type));
    *host = kiln_tensor_contiguous(r->reference[output], type, view->rank, view->sizes);
    return r->reference[output] ? true : fail(r, "host memory ran out");
}

static bool lay_out(run *r) {
    for (int t = 0; t < r->count; t++)
        if (r->c->tensors[t].lies_in < 0 && !make_buffer(r, t)) return false;
    for (int t = r->count - 1; t >= 0; t--) fill(r, t); /* inputs last: in place an output has no poison */
    for (int t = 0; t < r->count; t++) {
        size_t data;
        buffer *b = home_of(r, t, &data);
        r->device[t] = r->host[t] = r->c->tensors[t].view;
        r->device[t].data = (void *)(uintptr_t)(b->device + data);
        r->host[t].data = b->before + data;
    }
    for (int o = 0; o < r->c->output_count; o++)
        if (!make_reference(r, o)) return false;
    for (int t = 0; t < r->count; t++) {
        buffer *b = &r->buffers[t];
        if (b->device && !cuda(r, r->runner->driver->MemcpyHtoD(b->device, b->before, b->size), "cuMemcpyHtoD"))
            return false;
    }
    return true;
}

/* ---- running ---------------------------------------------------------------------------------------------- */

/* Preparing the plan apart tells the schedule; kiln_run then finds the same kernel in memory. */
static kiln_status run_on_gpu(run *r, const kiln_program *program) {
    const fuzz_case *c = r->c;
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status =
        kiln_plan_create(program, r->device, (size_t)r->count, c->scalars, (size_t)c->scalar_count, &plan);
    if (!status) status = kiln_plan_get_info(plan, &info);
    if (!status) snprintf(r->outcome->schedule, sizeof r->outcome->schedule, "%s", info.schedule);
    if (!status) status = kiln_run(program, r->device, (size_t)r->count, c->scalars, (size_t)c->scalar_count, NULL);
    if (status) snprintf(r->outcome->why, sizeof r->outcome->why, "%s", kiln_last_error());
    kiln_plan_destroy(plan);
    return status;
}

static kiln_status run_scheduled(run *r, int schedule) {
    kiln_program *program = NULL;
    kiln_context *context = fuzz_runner_context(r->runner, schedule);
    kiln_status status = context ? fuzz_case_program(r->c, context, &program) : KILN_E_INTERNAL;
    if (status) snprintf(r->outcome->why, sizeof r->outcome->why, "%s", kiln_last_error());
    if (!status) status = run_on_gpu(r, program);
    kiln_program_destroy(program);
    return status;
}

static bool refuse(run *r) {
    r->outcome->verdict = FUZZ_REFUSED;
    return false;
}

/* True where there is a result to compare. */
static bool run_both(run *r) {
    kiln_program *program = NULL;
    kiln_context *context = fuzz_runner_context(r->runner, 0);
    kiln_status reference = context ? fuzz_case_program(r->c, context, &program) : KILN_E_INTERNAL;
    if (!reference)
        reference = kiln_run_cpu(program, r->host, (size_t)r->count, r->c->scalars, (size_t)r->c->scalar_count);
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s", reference ? kiln_last_error() : "");
    kiln_program_destroy(program);
    const int schedule = r->runner->policy == KILN_POLICY_ANY_SHAPE ? 0 : r->c->schedule;
    kiln_status status = run_scheduled(r, schedule);
    const bool lacks = r->runner->policy == KILN_POLICY_ANY_SHAPE && status == KILN_E_UNSUPPORTED && !reference;
    if (lacks && strstr(r->outcome->why, "no kernel serves any shape")) return refuse(r);
    if (status == KILN_E_UNSUPPORTED && schedule) status = run_scheduled(r, 0); /* not pinned, then */
    if (status && status == reference) return refuse(r);
    if (status == KILN_E_UNSUPPORTED && !reference && r->c->may_lack_schedule) return refuse(r);
    if (status != reference)
        return fail(r, "the GPU says %s (%s), the reference %s (%s)", kiln_status_name(status),
                    status ? kiln_last_error() : "", kiln_status_name(reference), sentence);
    return cuda(r, r->runner->driver->CtxSynchronize(), "the launch");
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

/* What programs without an f64 input compute in is f32, whatever they store. */
static bool computes_in_f32(const fuzz_case *c) {
    bool wide = false;
    for (int t = 0; t < c->input_count; t++) wide |= c->tensors[t].view.type == KILN_F64;
    return !wide;
}

/* A program with axes of its own has no rows that all of its outputs are of: an output is measured as a whole. */
static void position_of(const fuzz_case *c, const kiln_tensor *view, bool drops, int64_t i, int64_t *row,
                        int64_t *col) {
    *row = 0;
    *col = i;
    if (!c->own_axes) fuzz_element_position(c, view, drops, i, row, col);
}

/* Each row's largest finite magnitude, or the program's terms where these are larger. */
static double *measure_rows(const fuzz_case *c, const kiln_tensor *view, bool drops, const double *reference) {
    int64_t count = fuzz_element_count(view), rows = 1, row, col;
    for (int i = 0; i < c->rank; i++)
        if (!c->reduced[i]) rows *= c->sizes[i];
    double *largest = malloc((size_t)(rows > 0 ? rows : 1) * sizeof *largest);
    for (int64_t i = 0; largest && i < rows; i++) largest[i] = c->program->terms;
    for (int64_t i = 0; largest && i < count; i++) {
        position_of(c, view, drops, i, &row, &col);
        double magnitude = fabs(reference[i]);
        if (isfinite(magnitude) && magnitude > largest[row]) largest[row] = magnitude;
    }
    return largest;
}

static bool compare_floats(run *r, int t, const unsigned char *base, const double *reference) {
    const kiln_tensor *view = &r->c->tensors[t].view;
    bool drops = !r->c->own_axes && fuzz_drops_axes(r->c, view), good = true;
    bool narrow = computes_in_f32(r->c);
    double limit = gpu_limit(view->type == KILN_F64 && narrow ? KILN_F32 : view->type),
           *largest = measure_rows(r->c, view, drops, reference);
    if (!largest) return fail(r, "host memory ran out");
    int64_t count = fuzz_element_count(view), row, col;
    for (int64_t i = 0; good && i < count; i++) {
        const unsigned char *got = base + fuzz_element_offset(view, i) * (int64_t)kiln_type_size(view->type);
        position_of(r->c, view, drops, i, &row, &col);
        double expected = narrow && fabs(reference[i]) > FLT_MAX ? copysign(INFINITY, reference[i]) : reference[i];
        double off = gpu_distance(view->type, got, expected, largest[row]), value = kiln__load_f64(view->type, got);
        /* A small float was computed in f32, whose error may be more than its last places where terms cancel. */
        if (off <= limit || fabs(value - reference[i]) <= gpu_limit(KILN_F32) * largest[row]) continue;
        good =
            fail(r, "out%d, row %lld, column %lld (element %lld) is %.9g, the reference %.9g: off by %.3g, limit %.3g",
                 t - r->c->input_count, (long long)row, (long long)col, (long long)i, value, reference[i], off, limit);
    }
    free(largest);
    return good;
}

static bool compare_integers(run *r, int t, const unsigned char *base, const unsigned char *reference) {
    const kiln_tensor *view = &r->c->tensors[t].view;
    int64_t count = fuzz_element_count(view), size = (int64_t)kiln_type_size(view->type);
    for (int64_t i = 0; i < count; i++) {
        const unsigned char *got = base + fuzz_element_offset(view, i) * size;
        if (!memcmp(got, reference + i * size, (size_t)size)) continue;
        int64_t value = 0;
        memcpy(&value, got, (size_t)size);
        return fail(r, "out%d, element %lld is %lld (0x%llx), the reference %lld", t - r->c->input_count, (long long)i,
                    (long long)kiln__load_i64(view->type, got), (long long)value,
                    (long long)kiln__load_i64(view->type, reference + i * size));
    }
    return true;
}

/* Puts an output's elements back to what they were, so that only what must not be written can differ. */
static void restore(run *r, int t) {
    const kiln_tensor *view = &r->c->tensors[t].view;
    size_t data, size = kiln_type_size(view->type);
    buffer *b = home_of(r, t, &data);
    int64_t count = fuzz_element_count(view);
    for (int64_t i = 0; i < count; i++) {
        size_t at = (size_t)((int64_t)data + fuzz_element_offset(view, i) * (int64_t)size);
        memcpy(b->after + at, b->before + at, size);
    }
}

static bool compare(run *r) {
    const fuzz_case *c = r->c;
    for (int t = 0; t < r->count; t++) {
        buffer *b = &r->buffers[t];
        if (b->device && !cuda(r, r->runner->driver->MemcpyDtoH(b->after, b->device, b->size), "cuMemcpyDtoH"))
            return false;
    }
    for (int t = c->input_count; t < r->count; t++) {
        size_t data;
        const unsigned char *base = home_of(r, t, &data)->after + data;
        const void *reference = r->reference[t - c->input_count];
        if (kiln__type_is_float(c->tensors[t].view.type) ? !compare_floats(r, t, base, reference)
                                                         : !compare_integers(r, t, base, reference))
            return false;
    }
    for (int t = c->input_count; t < r->count; t++) restore(r, t);
    for (int t = 0; t < r->count; t++) {
        const buffer *b = &r->buffers[t];
        for (size_t i = 0; b->device && i < b->size; i++)
            if (b->before[i] != b->after[i])
                return fail(r, "tensor %d: byte %lld from its data pointer was written and is no element of an output",
                            t, (long long)i - (long long)b->data);
    }
    return true;
}

void fuzz_case_run(fuzz_runner *runner, const fuzz_case *c, fuzz_outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    run r = {.runner = runner, .c = c, .count = c->input_count + c->output_count, .outcome = outcome};
    if (runner->reorder) runner->reorder(c->seed + (uint64_t)c->index);
    if (lay_out(&r) && run_both(&r)) compare(&r);
    release(&r);
}

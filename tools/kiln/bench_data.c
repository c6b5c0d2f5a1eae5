/* SPDX-License-Identifier: Apache-2.0 */
/* Random inputs and the reference of a bench. Inputs repeat a pattern of a prime number of elements, so that neither
 * filling a large tensor nor knowing its elements on the host takes a copy of it. */
#include "bench_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "bench_terms.h"
#include "request_ir.h"
#include "ref/ref.h"
#include "tensor_spec.h"
#include "runtime/context.h"

#define PATTERN_ELEMENTS 4194319 /* a prime: rows of any length begin anywhere in it */
#define CHECKED_ELEMENTS (1 << 22)

static const unsigned char poison[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15; /* splitmix64, Steele et al. 2014 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void draw(kiln_type type, uint64_t *state, char *out, int64_t count) {
    const size_t size = kiln_type_size(type);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = next_random(state);
        char *element = out + (size_t)i * size;
        if (kiln__type_is_float(type))
            kiln__store_f64(type, element, (double)(bits >> 11) * 0x1p-51 - 2);
        else if (type == KILN_BOOL)
            kiln__store_i64(type, element, (int64_t)(bits >> 63));
        else
            kiln__store_i64(type, element, (int64_t)(bits % 101) - (kiln__type_is_unsigned(type) ? 0 : 50));
    }
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many rows an input has to choose from where it is the index of a put; 0: it is none. */
static int64_t rows_to_choose(const bench_data *data, size_t input) {
    const request *r = data->request;
    const size_t size = kiln_type_size(data->which->tensors[input].type);
    const int64_t most = size < sizeof(int64_t) ? (int64_t)1 << (8 * size - 1) : INT64_MAX;
    int64_t rows = 0;
    for (size_t i = 0; i < r->output_count; i++) {
        if (!request_is_put_index(r, input, i)) continue;
        const int64_t own = lesser(data->which->tensors[r->input_count + i].sizes[0], most);
        rows = rows ? lesser(rows, own) : own;
    }
    return rows;
}

/* An index of a put repeats nothing: of two rows that go to one place either is written. Nor do offsets. */
static int64_t pattern_length(const bench_data *data, size_t input) {
    const int64_t elements = gpu_tensor_elements(&data->which->tensors[input]);
    const bool repeats = !rows_to_choose(data, input) && !request_is_offsets(data->request, input);
    return !repeats ? elements : lesser(elements, PATTERN_ELEMENTS);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Different rows, in no order. */
static void draw_rows(kiln_type type, uint64_t *state, int64_t rows, char *out, int64_t count) {
    int64_t step = 1 + (int64_t)(next_random(state) % (uint64_t)rows), row = step - 1;
    while (common_divisor(step, rows) != 1) step++;
    for (int64_t i = 0; i < count; i++) {
        kiln__store_i64(type, out + (size_t)i * kiln_type_size(type), row);
        row = row >= rows - step % rows ? row - (rows - step % rows) : row + step % rows;
    }
}

/* Rows of one length, as far as it goes, of all that the tensors have. */
static void place_rows(const bench_data *data, kiln_type type, char *out, int64_t count) {
    int64_t all = 0;
    for (size_t i = 0; i < data->request->input_count; i++) {
        const kiln_tensor *tensor = &data->which->tensors[i];
        const int64_t columns = tensor->rank ? tensor->sizes[tensor->rank - 1] : 1;
        if (!request_is_offsets(data->request, i) && columns > all) all = columns;
    }
    for (int64_t i = 0; i < count; i++) {
        const double begin = count > 1 ? (double)all * (double)i / (double)(count - 1) : 0;
        kiln__store_i64(type, out + (size_t)i * kiln_type_size(type), (int64_t)begin);
    }
}

static kiln_status refuse_few_rows(const bench_data *data) {
    for (size_t i = 0; i < data->request->input_count; i++) {
        const int64_t rows = rows_to_choose(data, i), count = gpu_tensor_elements(&data->which->tensors[i]);
        if (rows && count > rows)
            return kiln__fail(KILN_E_SHAPE,
                              "'%s' puts %lld rows into %lld: expected a row of its own for each, so that the result "
                              "does not depend on their order",
                              kiln_program_input_name(data->request->program, i), (long long)count, (long long)rows);
    }
    return KILN_OK;
}

static kiln__CUdeviceptr address(const kiln_tensor *tensor, int64_t bytes) {
    return (kiln__CUdeviceptr)(uintptr_t)tensor->data + (kiln__CUdeviceptr)bytes;
}

/* Doubles the filled part by copying it behind itself until the memory is full. */
static kiln_status fill(bench_data *data, size_t i, uint64_t *state) {
    const kiln_tensor *tensor = &data->device[i];
    const int64_t size = (int64_t)kiln_type_size(tensor->type), bytes = gpu_tensor_elements(tensor) * size;
    const int64_t rows = rows_to_choose(data, i);
    int64_t filled = pattern_length(data, i) * size;
    data->patterns[i] = malloc((size_t)filled + 1);
    if (!data->patterns[i]) return kiln__out_of_memory();
    if (bytes == 0) return KILN_OK;
    if (request_is_offsets(data->request, i))
        place_rows(data, tensor->type, data->patterns[i], pattern_length(data, i));
    else if (rows)
        draw_rows(tensor->type, state, rows, data->patterns[i], pattern_length(data, i));
    else
        draw(tensor->type, state, data->patterns[i], pattern_length(data, i));
    const kiln__driver *driver = data->gpu->driver;
    kiln__CUresult result = driver->MemcpyHtoD(address(tensor, 0), data->patterns[i], (size_t)filled);
    while (filled < bytes && !result) {
        const int64_t more = filled < bytes - filled ? filled : bytes - filled;
        result = driver->MemcpyDtoDAsync(address(tensor, filled), address(tensor, 0), (size_t)more, NULL);
        filled += more;
    }
    return gpu_status(data->gpu, result, "filling an input");
}

/* Cuts the kept axis with the most rows into slices of at least one row, some thousands if they are short. */
static void choose_slices(bench_data *data, uint64_t *state) {
    const bench_case *c = data->which;
    data->axis = -1;
    data->elements = 1;
    for (int32_t k = 0; k < c->rank; k++) {
        data->elements *= c->sizes[k];
        if (!c->reduced[k] && (data->axis < 0 || c->sizes[k] > c->sizes[data->axis])) data->axis = (int)k;
    }
    data->slice_count = 1;
    data->checked = data->elements;
    if (c->by_position || data->elements <= CHECKED_ELEMENTS) data->axis = -1;
    if (data->axis < 0) return;
    const int64_t rows = c->sizes[data->axis], each = data->elements / rows;
    const int64_t wanted = CHECKED_ELEMENTS / each > 0 ? CHECKED_ELEMENTS / each : 1;
    if (wanted >= rows) {
        data->axis = -1;
        return;
    }
    data->slice_count = wanted < BENCH_MAX_SLICES ? (size_t)wanted : BENCH_MAX_SLICES;
    const int64_t length = wanted / (int64_t)data->slice_count;
    data->slices[0] = (bench_slice){(int64_t)(next_random(state) % (uint64_t)(rows - length + 1)), length};
    if (data->slice_count > 1) data->slices[1] = (bench_slice){rows - length, length};
    if (data->slice_count > 2) data->slices[2] = (bench_slice){0, length};
    data->checked = each * length * (int64_t)data->slice_count;
}

/* The tensor's own part of a slice: `runs` runs of `length` elements, `period` apart, from `start` on. */
typedef struct part {
    kiln_tensor tensor;
    int64_t start, length, period, runs;
} part;

static part part_of(const bench_data *data, size_t slice, const kiln_tensor *tensor) {
    const int32_t k = data->axis < 0 ? -1 : data->axis - (data->which->rank - tensor->rank);
    part p = {.tensor = *tensor, .runs = 1, .length = gpu_tensor_elements(tensor)};
    p.tensor.data = NULL;
    if (k < 0 || tensor->sizes[k] == 1) return p; /* broadcast along the axis: all of it */
    int64_t inner = 1;
    for (int32_t i = k + 1; i < tensor->rank; i++) inner *= tensor->sizes[i];
    for (int32_t i = 0; i < k; i++) p.runs *= tensor->sizes[i];
    p.tensor.sizes[k] = data->slices[slice].length;
    p.start = data->slices[slice].start * inner;
    p.length = data->slices[slice].length * inner;
    p.period = tensor->sizes[k] * inner;
    return p;
}

static kiln_status copy_input(const bench_data *data, size_t i, part *p) {
    const kiln_tensor *whole = &data->device[i];
    const int64_t pattern = pattern_length(data, i);
    const size_t size = kiln_type_size(whole->type);
    char *to = malloc((size_t)(p->runs * p->length) * size + 1);
    p->tensor.data = to;
    if (!to) return kiln__out_of_memory();
    for (int64_t run = 0; run < p->runs; run++) {
        int64_t at = p->start + run * p->period, left = p->length;
        while (left > 0) {
            const int64_t from = at % pattern, here = left < pattern - from ? left : pattern - from;
            memcpy(to, (const char *)data->patterns[i] + (size_t)from * size, (size_t)here * size);
            to += (size_t)here * size;
            at += here;
            left -= here;
        }
    }
    return tensor_spec_contiguous(&p->tensor);
}

/* What the sums behind each element of the outputs add up: one that happens to be near 0 is as far off as the same sum
 * of other inputs. tensors: of the slice; the outputs' data are not touched. */
static kiln_status run_terms(bench_data *data, size_t slice, const kiln_tensor *tensors) {
    const request *r = data->request;
    kiln_tensor own[KILN_MAX_TENSORS], viewed[KILN_MAX_TENSORS];
    kiln__shaped shaped;
    bool any = false;
    kiln__ir *ir = NULL;
    memcpy(own, tensors, sizeof own);
    kiln_status status = kiln__program_bind(r->program, own, r->scalars, &shaped, &ir);
    if (!status) status = bench_terms_make(ir, &any);
    if (!status) data->wide = ir->float_type == KILN__F64;
    for (size_t i = 0; i < r->output_count && any && !status; i++) {
        kiln_tensor *tensor = &own[r->input_count + i];
        tensor->data = calloc((size_t)gpu_tensor_elements(tensor) + 1, sizeof(double));
        data->terms[slice][i] = tensor->data;
        if (!tensor->data) status = kiln__out_of_memory();
    }
    if (!status) memcpy(viewed, shaped.tensors.at, (r->input_count + r->output_count) * sizeof *viewed);
    for (size_t i = 0; i < r->output_count && any && !status; i++)
        viewed[r->input_count + i].data = own[r->input_count + i].data;
    if (any && !status)
        status = kiln__ref_run(ir, viewed, shaped.tables, r->scalars, shaped.space.rank, shaped.space.sizes,
                               shaped.space.reduced);
    kiln__ir_destroy(ir);
    return status;
}

/* What a put does not write is what it was. */
static void expect_poison(const bench_data *data, size_t output, int64_t count, double *wanted) {
    const kiln_type type = data->which->tensors[data->request->input_count + output].type;
    if (!request_is_put(data->request, output)) return;
    for (int64_t i = 0; i < count; i++) wanted[i] = kiln__load_f64(type, poison);
}

static kiln_status run_reference(bench_data *data, size_t slice) {
    const request *r = data->request;
    kiln_tensor tensors[KILN_MAX_TENSORS] = {{0}};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < r->input_count + r->output_count && !status; i++) {
        part p = part_of(data, slice, &data->device[i]);
        if (i < r->input_count) {
            status = copy_input(data, i, &p);
        } else {
            p.tensor.type = KILN_F64;
            p.tensor.data = calloc((size_t)(p.runs * p.length) + 1, sizeof(double));
            data->wanted[slice][i - r->input_count] = p.tensor.data;
            if (p.tensor.data) expect_poison(data, i - r->input_count, p.runs * p.length, p.tensor.data);
            status = p.tensor.data ? tensor_spec_contiguous(&p.tensor) : kiln__out_of_memory();
        }
        tensors[i] = p.tensor;
    }
    if (!status) {
        status = kiln_run_cpu(r->program, tensors, r->input_count + r->output_count, r->scalars, r->scalar_count);
    }
    if (!status) status = run_terms(data, slice, tensors);
    for (size_t i = 0; i < r->input_count; i++) free(tensors[i].data);
    return status;
}

/* Patterns and what is compared are counted in whole bytes. */
static kiln_status refuse_packed(const request *r, const bench_case *which) {
    for (size_t i = 0; i < r->input_count + r->output_count; i++)
        if (kiln__type_is_packed(which->tensors[i].type))
            return kiln__fail(KILN_E_UNSUPPORTED, "tensors of %s are not measured: expected elements of whole bytes",
                              kiln_type_name(which->tensors[i].type));
    return KILN_OK;
}

kiln_status bench_data_create(const gpu *g, const request *r, const bench_case *which, uint64_t seed, bench_data *out) {
    *out = (bench_data){.gpu = g, .request = r, .which = which};
    kiln_status status = refuse_packed(r, which);
    if (!status) status = refuse_few_rows(out);
    if (!status) status = gpu_copy_in(g, which->tensors, r->input_count + r->output_count, 0, out->device);
    for (size_t i = 0; i < r->input_count && !status; i++) status = fill(out, i, &seed);
    choose_slices(out, &seed);
    for (size_t i = 0; i < out->slice_count && !status; i++) status = run_reference(out, i);
    return status;
}

void bench_data_free(bench_data *data) {
    if (!data->gpu) return;
    for (size_t i = 0; i < KILN_MAX_TENSORS; i++) {
        free(data->patterns[i]);
        for (size_t slice = 0; slice < BENCH_MAX_SLICES; slice++) {
            free(data->wanted[slice][i]);
            free(data->terms[slice][i]);
        }
    }
    gpu_free_tensors(data->gpu, data->device, data->request->input_count + data->request->output_count);
}

kiln_status bench_data_poison(const bench_data *data) {
    const request *r = data->request;
    for (size_t i = r->input_count; i < r->input_count + r->output_count; i++) {
        const kiln_tensor *tensor = &data->device[i];
        const size_t bytes = (size_t)gpu_tensor_elements(tensor) * kiln_type_size(tensor->type);
        kiln__CUresult result =
            bytes ? data->gpu->driver->MemsetD8(address(tensor, 0), 0xff, bytes) : KILN__CUDA_SUCCESS;
        if (result) return gpu_status(data->gpu, result, "poisoning an output");
    }
    return KILN_OK;
}

/* The largest error that is right, over the largest magnitude. Half a unit in the last place, and what another order of
 * the same sums and products makes. */
static double tolerance(kiln_type type) {
    switch (type) {
    case KILN_F64: return 1e-12;
    case KILN_F32: return 1e-5;
    case KILN_F16: return 1.5e-3;
    case KILN_BF16: return 1.2e-2;
    case KILN_E4M3: return 0.13;
    case KILN_E5M2: return 0.26;
    case KILN_E8M0: return 1; /* the power of two next to it */
    default: return 0;
    }
}

/* What rounding to the type may change a number by where its spacing is the least. */
static double least_rounding(kiln_type type) {
    switch (type) {
    case KILN_F32: return 0.51 * 0x1p-149;
    case KILN_F16: return 0.51 * 0x1p-24;
    case KILN_BF16: return 0.51 * 0x1p-133;
    case KILN_E4M3: return 0.51 * 0x1p-9;
    case KILN_E5M2: return 0.51 * 0x1p-16;
    default: return 0;
    }
}

static bool any_float_input(const request *r) {
    for (size_t i = 0; i < r->input_count; i++) {
        if (kiln__type_is_float(r->tensors[i].type)) return true;
    }
    return false;
}

static int64_t count_unwritten(const kiln_tensor *tensor) {
    const size_t size = kiln_type_size(tensor->type);
    const int64_t elements = gpu_tensor_elements(tensor);
    int64_t count = 0;
    if (!kiln__type_is_float(tensor->type) && tensor->type != KILN_BOOL) return 0; /* -1 may well be the result */
    for (int64_t i = 0; i < elements; i++)
        count += memcmp((const char *)tensor->data + (size_t)i * size, poison, size) == 0;
    return count;
}

/* Where both are infinite or no number they agree; a reference beyond the type's range is rounded first. */
static double difference(kiln_type type, const void *element, double wanted) {
    const double got = kiln__load_f64(type, element);
    if (got == wanted || (isnan(got) && isnan(wanted)) || got == kiln__round_to(type, wanted)) return 0;
    return isfinite(got) && isfinite(wanted) ? fabs(got - wanted) : INFINITY;
}

/* How an output is judged. */
typedef struct judgement {
    kiln_type type;
    double largest;    /* magnitude of the reference */
    double arithmetic; /* that of what is computed over that of what is stored; 0: terms do not count */
    double limit;      /* of the error over its scale */
    bool absolute;     /* of the error itself */
    bool right;
    double error;
} judgement;

static double largest_of(const bench_data *data, size_t slice, size_t output, const kiln_tensor *tensor) {
    const part p = part_of(data, slice, tensor);
    double largest = 0;
    for (int64_t i = 0; i < p.runs * p.length; i++) {
        const double wanted = data->wanted[slice][output][i];
        if (isfinite(wanted)) largest = fmax(largest, fabs(wanted));
    }
    return largest;
}

static void compare(const bench_data *data, size_t slice, size_t output, const kiln_tensor *got, judgement *j) {
    const part p = part_of(data, slice, got);
    const size_t size = kiln_type_size(got->type);
    const double *wanted = data->wanted[slice][output], *terms = data->terms[slice][output];
    for (int64_t run = 0; run < p.runs; run++) {
        const char *elements = (const char *)got->data + (size_t)(p.start + run * p.period) * size;
        for (int64_t i = 0, at = run * p.length; i < p.length; i++, at++) {
            const double error = difference(j->type, elements + (size_t)i * size, wanted[at]);
            const double own = terms && isfinite(terms[at]) ? terms[at] * j->arithmetic : 0;
            const double scale = fmax(j->largest, own);
            const double allowed = j->absolute ? j->limit : fmax(j->limit * scale, least_rounding(j->type));
            j->right = j->right && error <= allowed;
            j->error = fmax(j->error, scale > 0 ? error / scale : error);
        }
    }
}

/* Before anything is compared. */
static judgement judge(const bench_data *data, const kiln_tensor *got, size_t output) {
    const bool floating = kiln__type_is_float(got->type);
    judgement j = {.type = got->type, .limit = tolerance(got->type), .right = true};
    j.absolute = !floating && any_float_input(data->request); /* a number next to a tie */
    if (j.absolute) j.limit = 1;
    if (floating) j.arithmetic = tolerance(data->wide ? KILN_F64 : KILN_F32) / j.limit;
    for (size_t slice = 0; slice < data->slice_count; slice++)
        j.largest = fmax(j.largest, largest_of(data, slice, output, got));
    return j;
}

kiln_status bench_data_check(const bench_data *data, bench_error *out) {
    const request *r = data->request;
    *out = (bench_error){.right = true};
    for (size_t i = 0; i < r->output_count; i++) {
        kiln_tensor got = data->device[r->input_count + i];
        const size_t bytes = (size_t)gpu_tensor_elements(&got) * kiln_type_size(got.type);
        got.data = malloc(bytes + 1);
        if (!got.data) return kiln__out_of_memory();
        kiln_status status = gpu_copy_out(data->gpu, &data->device[r->input_count + i], &got);
        judgement j = judge(data, &got, i);
        for (size_t slice = 0; slice < data->slice_count && !status; slice++) compare(data, slice, i, &got, &j);
        if (!status && !request_is_put(r, i)) out->unwritten += count_unwritten(&got);
        free(got.data);
        if (status) return status;
        out->error = fmax(out->error, j.error);
        out->right = out->right && j.right && out->unwritten == 0;
    }
    return KILN_OK;
}

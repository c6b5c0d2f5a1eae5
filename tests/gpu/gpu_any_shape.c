/* SPDX-License-Identifier: Apache-2.0 */
/* One pack, no NVRTC, nothing to be compiled: random shapes, strides and alignments of twenty programs run, none is
 * refused, and each is right. gpu_any_shape [cases [seed [case]]]; 77 where there is no GPU. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"
#include "support/any_shapes.h"

#define MOST_ELEMENTS 12000

typedef struct memory {
    kiln__CUdeviceptr device;
    unsigned char *host; /* as it is before the run; then what the run made of it */
    size_t bytes, data;  /* where the tensor's data pointer is */
} memory;

typedef struct run {
    const kiln__driver *driver;
    kiln_program *program;
    const any_shapes_program *of;
    any_shapes_case c;
    memory memory[ANY_SHAPES_TENSORS];
    kiln_tensor device[ANY_SHAPES_TENSORS], host[ANY_SHAPES_TENSORS];
    void *reference[ANY_SHAPES_TENSORS];
} run;

/* ---- values ---- */

static double value_of(kiln_type type, fuzz_random *random) {
    const double unit = (double)(fuzz_random_next(random) >> 11) * 0x1p-53;
    if (type == KILN_BOOL) return unit < 0.5;
    if (!kiln__type_is_float(type)) return floor(unit * 9) - 4;
    return kiln__round_to(type, unit * 4 - 2);
}

/* An element as a number. */
static double number_at(kiln_type type, const unsigned char *at) { return kiln__load_f64(type, at); }

/* ---- memory ---- */

static bool make_memory(run *r, size_t t, fuzz_random *random) {
    const kiln_tensor *tensor = &r->c.tensors[t];
    const size_t size = kiln_type_size(tensor->type), shift = (size_t)((uintptr_t)tensor->data & 0xff);
    memory *m = &r->memory[t];
    m->data = shift + (size_t)-r->c.low[t] * size;
    m->bytes = m->data + (size_t)r->c.high[t] * size;
    m->host = calloc(1, m->bytes + 1);
    if (!m->host || r->driver->MemAlloc(&m->device, m->bytes + 1)) return false;
    for (int64_t i = 0; i < fuzz_element_count(tensor) && t < r->c.inputs; i++)
        kiln__store_f64(tensor->type, m->host + m->data + fuzz_element_offset(tensor, i) * (int64_t)size,
                        value_of(tensor->type, random));
    r->device[t] = r->host[t] = *tensor;
    r->device[t].data = (void *)(uintptr_t)(m->device + m->data);
    r->host[t].data = m->host + m->data;
    if (t >= r->c.inputs) {
        const kiln_type wide = kiln__type_is_float(tensor->type) ? KILN_F64 : tensor->type;
        r->reference[t] = calloc((size_t)fuzz_element_count(tensor) + 1, kiln_type_size(wide));
        r->host[t] = kiln_tensor_contiguous(r->reference[t], wide, tensor->rank, tensor->sizes);
        if (!r->reference[t]) return false;
    }
    return !r->driver->MemcpyHtoD(m->device, m->host, m->bytes);
}

static void release(run *r) {
    for (size_t t = 0; t < r->c.count; t++) {
        if (r->memory[t].device) r->driver->MemFree(r->memory[t].device);
        free(r->memory[t].host);
        free(r->reference[t]);
    }
}

/* ---- one case ---- */

static bool compare(run *r, size_t t) {
    const kiln_tensor *tensor = &r->c.tensors[t], *reference = &r->host[t];
    const memory *m = &r->memory[t];
    if (r->driver->MemcpyDtoH(m->host, m->device, m->bytes)) return false;
    for (int64_t i = 0; i < fuzz_element_count(tensor); i++) {
        const size_t size = kiln_type_size(tensor->type), wide = kiln_type_size(reference->type);
        const double found =
            number_at(tensor->type, m->host + m->data + fuzz_element_offset(tensor, i) * (int64_t)size);
        const double expected = number_at(reference->type, (unsigned char *)r->reference[t] + (size_t)i * wide);
        if (fabs(found - expected) <= r->of->tolerance * (1 + fabs(expected))) continue;
        if (isnan(found) && isnan(expected)) continue; /* the variance of one element */
        printf("output %zu, element %" PRId64 ": %g, expected %g\n", t - r->c.inputs, i, found, expected);
        return false;
    }
    return true;
}

static void print_case(const run *r, uint64_t seed, long index) {
    printf("gpu_any_shape 1 %" PRIu64 " %ld   # %s;", seed, index, r->of->text);
    for (size_t t = 0; t < r->c.count; t++) {
        const kiln_tensor *tensor = &r->c.tensors[t];
        printf(" %s[", kiln_type_name(tensor->type));
        for (int i = 0; i < tensor->rank; i++) printf(i ? ",%" PRId64 : "%" PRId64, tensor->sizes[i]);
        printf("]{");
        for (int i = 0; i < tensor->rank; i++) printf(i ? ",%" PRId64 : "%" PRId64, tensor->strides[i]);
        printf("}+%d", (int)((uintptr_t)tensor->data & 0xff));
    }
    printf("\n");
}

static bool run_case(const kiln__driver *driver, kiln_program *const *programs, uint64_t seed, long index) {
    const size_t p = (size_t)index % ANY_SHAPES_PROGRAMS;
    run r = {.driver = driver, .program = programs[p], .of = &any_shapes_programs[p]};
    fuzz_random random = {seed * 1000003 + (uint64_t)index};
    bool good = any_shapes_draw(r.of, r.program, fuzz_random_next(&random), MOST_ELEMENTS, &r.c) == KILN_OK;
    for (size_t t = 0; t < r.c.count && good; t++) good = make_memory(&r, t, &random);
    good = good && kiln_run(r.program, r.device, r.c.count, NULL, 0, NULL) == KILN_OK &&
           kiln_run_cpu(r.program, r.host, r.c.count, NULL, 0) == KILN_OK && !driver->CtxSynchronize();
    if (!good) printf("%s\n", kiln_last_error());
    for (size_t t = r.c.inputs; t < r.c.count && good; t++) good = compare(&r, t);
    if (!good) print_case(&r, seed, index);
    release(&r);
    return good;
}

/* ---- the pack ---- */

static bool pack_programs(kiln_pack_writer *writer, int arch) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = options.record_path = "";
    bool good = kiln_context_create(&options, &context) == KILN_OK;
    for (size_t p = 0; p < ANY_SHAPES_PROGRAMS && good; p++) {
        kiln_program *program = NULL;
        any_shapes_case c;
        good = any_shapes_create(context, &any_shapes_programs[p], &program) == KILN_OK &&
               any_shapes_draw(&any_shapes_programs[p], program, p, MOST_ELEMENTS, &c) == KILN_OK &&
               kiln_pack_writer_add(writer, program, c.tensors, c.count, NULL, 0, arch, 0) == KILN_OK;
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
    return good;
}

static kiln_context *without_compiler(const void *pack, size_t size) {
    const kiln_pack packs[] = {{NULL, pack, size}};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = options.record_path = "";
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    options.packs = packs;
    options.pack_count = 1;
    options.policy = KILN_POLICY_NEVER_COMPILE;
    kiln_context_create(&options, &context);
    return context;
}

static int run_cases(const kiln__driver *driver, kiln_context *context, long first, long end, uint64_t seed) {
    kiln_program *programs[ANY_SHAPES_PROGRAMS] = {NULL};
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    long failed = 0;
    for (size_t p = 0; p < ANY_SHAPES_PROGRAMS; p++)
        if (any_shapes_create(context, &any_shapes_programs[p], &programs[p])) return 1;
    for (long i = first; i < end; i++) failed += !run_case(driver, programs, seed, i);
    if (kiln_context_get_stats(context, &stats)) return 1;
    for (size_t p = 0; p < ANY_SHAPES_PROGRAMS; p++) kiln_program_destroy(programs[p]);
    printf("%ld cases, %ld failed; %" PRId64 " kernels loaded, %" PRId64 " times one for any shape\n", end - first,
           failed, stats.loads, stats.any_shape);
    return failed || stats.compiled || !stats.any_shape;
}

int main(int argc, char **argv) {
    const bool one_alone = argc > 3;
    const long first = one_alone ? atol(argv[3]) : 0, cases = argc > 1 ? atol(argv[1]) : 1000;
    const long end = one_alone ? first + 1 : cases;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const kiln__driver *driver;
    kiln__CUcontext cuda;
    kiln__device device;
    if (gpu_device_open(&driver, &cuda, &device) != KILN_OK) {
        printf("skipped: %s\n", kiln_last_error());
        return 77;
    }
    kiln_pack_writer *writer = NULL;
    const void *pack = NULL;
    size_t size = 0;
    if (kiln_pack_writer_create(&writer) || !pack_programs(writer, device.arch) ||
        kiln_pack_writer_finish(writer, &pack, &size)) {
        printf("%s\n", kiln_last_error());
        return 1;
    }
    kiln_context *context = without_compiler(pack, size);
    const int status = context ? run_cases(driver, context, first, end, seed) : 1;
    kiln_context_destroy(context);
    kiln_pack_writer_destroy(writer);
    return status;
}

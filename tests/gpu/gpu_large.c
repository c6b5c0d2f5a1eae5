/* SPDX-License-Identifier: Apache-2.0 */
/* More than 2^31 elements: columns, rows and flat arrays whose indices need 64 bits, most of them broadcast by stride
 * 0, so that they take little memory. gpu_large [elements]; 77 where there is no GPU, or one of software and no number.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MODULUS = 251 };

/* What an output's elements are. */
typedef enum kind {
    VALUE,   /* `value` */
    NUMBER,  /* the number of elements along the axes, plus `value` */
    COUNTING /* their own index modulo 251 */
} kind;

typedef struct large {
    const char *program;
    kiln_type type;
    int rank, axis;
    int64_t sizes[3]; /* -n: the number of elements over n */
    bool spiked;      /* x is 0 but for a 1 four rows before its end; else it is 1 everywhere, one element in memory */
    kiln_type output;
    kind kind;
    double value, tolerance;
} large;

static const large cases[] = {
    {"y = sum(x)", KILN_U8, 1, 0, {-1}, false, KILN_I64, NUMBER, 0, 0},
    {"y = sum(x)", KILN_F32, 1, 0, {-1}, false, KILN_F64, NUMBER, 0, 1e-6},
    {"y = sum(x)", KILN_F64, 2, 1, {2, -1}, false, KILN_F64, NUMBER, 0, 1e-12},
    {"y = sum(x)", KILN_F32, 2, 0, {-1, 3}, false, KILN_F64, NUMBER, 0, 1e-6},
    {"y = mean(x) + max(x)", KILN_F16, 3, 1, {3, -1, 2}, false, KILN_F32, VALUE, 2, 1e-6},
    {"y = argmax(x)", KILN_F32, 1, 0, {-1}, false, KILN_I64, VALUE, 0, 0},
    {"y = argmax(x)", KILN_U8, 1, 0, {-1}, true, KILN_I64, NUMBER, -4, 0},
    {"y = argmax(x)", KILN_U8, 2, 0, {-1, 2}, true, KILN_I64, NUMBER, -4, 0},
    {"y = sum(x)", KILN_U8, 1, 0, {-1}, true, KILN_I64, VALUE, 1, 0},
    {"y = max(x) + sum(x)", KILN_F16, 2, 0, {-1, 3}, true, KILN_F32, VALUE, 2, 0},
    {"y = max(x * index(0))", KILN_F64, 1, 0, {-1}, false, KILN_I64, NUMBER, -1, 0},
    {"y = argmax(x * index(-1))", KILN_I64, 1, 0, {-1}, false, KILN_I64, NUMBER, -1, 0},
    {"y = reduce((a, b) -> b != 0 ? b : a, x * index(0), 0)", KILN_I64, 1, 0, {-1}, false, KILN_I64, NUMBER, -1, 0},
    {"y = x + 1", KILN_U8, 1, 0, {-1}, false, KILN_U8, VALUE, 2, 0},
    {"y = x * (index(0) % 251)", KILN_I64, 1, 0, {-1}, false, KILN_U8, COUNTING, 0, 0},
    {"y = x * ((index(0) * 5 + index(1)) % 251)", KILN_I64, 2, 1, {-5, 5}, false, KILN_U8, COUNTING, 0, 0},
    {"y = sum(x) + index(0) % 251 - 3", KILN_I64, 2, 1, {-1, 3}, false, KILN_U8, COUNTING, 0, 0},
    {"y = x / sum(x)", KILN_F32, 2, 1, {-16, 32}, false, KILN_F16, VALUE, 0.03125, 0},
};

typedef struct test_run {
    const kiln__driver *driver;
    kiln_context *kiln;
    int64_t number; /* of elements */
} test_run;

static int64_t elements(const kiln_tensor *tensor) {
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++) n *= tensor->sizes[i];
    return n;
}

static bool allocate(const test_run *t, kiln_tensor *tensor, int64_t count) {
    kiln__CUdeviceptr memory = 0;
    size_t bytes = (size_t)count * kiln_type_size(tensor->type);
    kiln__CUresult result = t->driver->MemAlloc(&memory, bytes);
    if (!result) result = t->driver->MemsetD8(memory, 0, bytes);
    if (result) kiln__driver_fail(t->driver, KILN_E_LAUNCH, result, "memory for a tensor");
    tensor->data = (void *)(uintptr_t)memory;
    return !result;
}

static bool make_input(const test_run *t, const large *c, kiln_tensor *x) {
    unsigned char one[8];
    const size_t size = kiln_type_size(c->type);
    int64_t sizes[KILN_MAX_RANK] = {0};
    for (int i = 0; i < c->rank; i++) sizes[i] = c->sizes[i] < 0 ? t->number / -c->sizes[i] : c->sizes[i];
    *x = kiln_tensor_contiguous(NULL, c->type, c->rank, sizes);
    const int64_t spike = c->spiked ? (t->number - 4) * x->strides[0] : 0;
    const int64_t count = c->spiked ? elements(x) : 1;
    for (int i = 0; !c->spiked && i < c->rank; i++) x->strides[i] = 0;
    kiln__store_f64(c->type, one, 1);
    return allocate(t, x, count) &&
           !t->driver->MemcpyHtoD((kiln__CUdeviceptr)(uintptr_t)x->data + (size_t)spike * size, one, size);
}

static bool probe(const test_run *t, const large *c, const kiln_tensor *y, int64_t at) {
    unsigned char element[8];
    const size_t size = kiln_type_size(c->output);
    double expected = c->kind == COUNTING ? (double)(at % MODULUS)
                      : c->kind == NUMBER ? (double)t->number + c->value
                                          : c->value;
    if (c->spiked && at) expected = 0; /* in the other columns nothing is larger than the first */
    kiln__CUresult result =
        t->driver->MemcpyDtoH(element, (kiln__CUdeviceptr)(uintptr_t)y->data + (size_t)at * size, size);
    const double got = result ? NAN : kiln__load_f64(c->output, element);
    if (fabs(got - expected) <= c->tolerance * fabs(expected)) return true;
    printf("%s of %s: element %" PRId64 " is %.17g, expected %.17g\n", c->program, kiln_type_name(c->type), at, got,
           expected);
    return false;
}

/* The ends, both sides of 2^30 and of 2^31, and multiples of a prime. */
static bool look(const test_run *t, const large *c, const kiln_tensor *y) {
    const int64_t count = elements(y);
    bool good = true;
    for (int64_t i = 0; i < 16; i++) {
        const int64_t places[] = {i, count - 1 - i, (INT64_C(1) << 31) - 8 + i, (INT64_C(1) << 30) - 8 + i,
                                  i * INT64_C(134217757)};
        for (size_t p = 0; p < COUNT(places) && good; p++)
            if (places[p] >= 0 && places[p] < count) good = probe(t, c, y, places[p]);
    }
    return good;
}

static bool check(const test_run *t, const large *c) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    kiln_tensor tensors[2] = {{0}};
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK] = {0};
    options.axes = &c->axis;
    options.axis_count = 1;
    bool good = kiln_program_create(t->kiln, c->program, &options, &program) == KILN_OK &&
                make_input(t, c, &tensors[0]) &&
                kiln_program_output_shape(program, tensors, 0, 0, &rank, sizes) == KILN_OK;
    tensors[1] = kiln_tensor_contiguous(NULL, c->output, rank, sizes);
    good = good && allocate(t, &tensors[1], elements(&tensors[1])) &&
           kiln_run(program, tensors, 2, NULL, 0, NULL) == KILN_OK;
    kiln__CUresult result = good ? t->driver->CtxSynchronize() : KILN__CUDA_SUCCESS;
    if (result) kiln__driver_fail(t->driver, KILN_E_LAUNCH, result, "the launch");
    if (!good || result) printf("%s: %s\n", c->program, kiln_last_error());
    good = good && !result && look(t, c, &tensors[1]);
    for (int i = 0; i < 2; i++)
        if (tensors[i].data) t->driver->MemFree((kiln__CUdeviceptr)(uintptr_t)tensors[i].data);
    kiln_program_destroy(program);
    return good;
}

int main(int argc, char **argv) {
    test_run t = {.number = argc > 1 ? atoll(argv[1]) : (INT64_C(1) << 31) + 7};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    int passed = 0, failed = 0;
    if (gpu_device_open(&t.driver, &cuda, &device) != KILN_OK || (gpu_device_reorder(t.driver) && argc == 1)) {
        printf("skipped: no GPU for so many elements: %s\n", kiln_last_error());
        return 77;
    }
    options.cache_dir = "";
    if (kiln_context_create(&options, &t.kiln) != KILN_OK) return 1;
    for (size_t i = 0; i < COUNT(cases); i++) *(check(&t, &cases[i]) ? &passed : &failed) += 1;
    kiln_context_destroy(t.kiln);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

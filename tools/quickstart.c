/* SPDX-License-Identifier: Apache-2.0 */
/* What tools/quickstart.sh runs: five row programs, on the GPU if there is one, else compiled for sm_90 and
 * computed on the CPU reference. Ends in a table; exits with 1 where a result is off. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu/driver.h"

enum { MAX_TENSORS = 4, LAUNCHES = 31, OFFLINE_ARCH = 90 };

static const double HALF_TOLERANCE = 2;   /* units in the last place */
static const double F32_TOLERANCE = 4e-6; /* of the largest result */

/* One row of the table. Bit i of row_inputs: input i is one row that broadcasts, not a whole matrix. */
struct example {
    const char *title, *text;
    kiln_type type;
    int64_t rows, cols;
    unsigned row_inputs;
};

static const struct example examples[] = {
    {"softmax", "y = softmax(x)", KILN_F16, 4096, 1024, 0},
    {"layer_norm", "y = layer_norm(x, w, b, 1e-5)", KILN_BF16, 2048, 2048, 6},
    {"reduce_scale", "s = absmax(x); y = x / s", KILN_F32, 32768, 128, 0},
    {"gelu(a + b) * c", "y = gelu_tanh(a + b) * c", KILN_F16, 4096, 1024, 2},
    {"row sum", "s = sum(x)", KILN_F32, 4096, 1000, 0},
};
enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

/* Where it runs: driver is NULL without a GPU. */
struct machine {
    kiln_context *context;
    const kiln__driver *driver;
    kiln__CUdevice device;
};

/* The tensors of an example: inputs, then outputs; reference holds each output in f64. */
typedef struct problem {
    const struct example *example;
    kiln_program *program;
    size_t count, inputs;
    kiln_tensor host[MAX_TENSORS], reference[MAX_TENSORS];
} problem;

typedef struct outcome {
    char schedule[160], compile[32], time[32], error[48];
    const char *origin;
    bool wrong;
} outcome;

static bool failed(const char *what) {
    const char *error = kiln_last_error();
    fprintf(stderr, "quickstart: %s: %s\n", what, *error ? error : "out of memory");
    return false;
}

static int64_t element_count(const kiln_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
    return count;
}

static size_t byte_count(const kiln_tensor *tensor) {
    return (size_t)element_count(tensor) * kiln_type_size(tensor->type);
}

/* Uniform in [-2, 2], the same numbers in every run. */
static void fill(const kiln_tensor *tensor, uint64_t seed) {
    const int64_t count = element_count(tensor);
    const size_t size = kiln_type_size(tensor->type);
    uint64_t state = seed * 2654435761u + 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double value = (double)(state >> 40) / (double)(1 << 22) - 2;
        kiln__store_f64(tensor->type, (char *)tensor->data + (size_t)i * size, value);
    }
}

static void problem_free(problem *p) {
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        free(p->host[i].data);
        free(p->reference[i].data);
    }
    kiln_program_destroy(p->program);
}

static bool add_tensor(problem *p, kiln_type type, int32_t rank, const int64_t *sizes) {
    kiln_tensor *host = &p->host[p->count];
    kiln_tensor *reference = &p->reference[p->count++];
    *host = kiln_tensor_contiguous(NULL, type, rank, sizes);
    host->data = malloc(byte_count(host));
    *reference = kiln_tensor_contiguous(NULL, KILN_F64, rank, sizes);
    if (!host->data) return failed("memory");
    return true;
}

/* The program, random inputs, and what the reference makes of them, unrounded. */
static bool problem_make(const struct machine *machine, const struct example *example, problem *p) {
    *p = (problem){.example = example};
    if (kiln_program_create(machine->context, example->text, NULL, &p->program)) return failed(example->title);
    p->inputs = kiln_program_input_count(p->program);
    const int64_t matrix[2] = {example->rows, example->cols};
    for (size_t i = 0; i < p->inputs; i++) {
        const bool row = example->row_inputs >> i & 1;
        if (!add_tensor(p, example->type, row ? 1 : 2, row ? matrix + 1 : matrix)) return false;
        fill(&p->host[i], i);
    }
    for (size_t i = 0; i < kiln_program_output_count(p->program); i++) {
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        if (kiln_program_output_shape(p->program, p->host, i, 0, &rank, sizes)) return failed(example->title);
        if (!add_tensor(p, example->type, rank, sizes)) return false;
    }
    kiln_tensor tensors[MAX_TENSORS];
    memcpy(tensors, p->host, sizeof(tensors));
    for (size_t i = p->inputs; i < p->count; i++) {
        p->reference[i].data = malloc(byte_count(&p->reference[i]));
        if (!p->reference[i].data) return failed("memory");
        tensors[i] = p->reference[i];
    }
    if (kiln_run_cpu(p->program, tensors, p->count, NULL, 0)) return failed(example->title);
    return true;
}

/* Half types: in units in the last place of the expected value, but in none smaller than f32 arithmetic on numbers
 * as large as the largest result resolves, since a sum near zero has lost those digits. Else: as a part of the
 * largest result. */
static double largest_error(const kiln_tensor *result, const kiln_tensor *reference, bool in_ulp) {
    const int64_t count = element_count(result);
    const size_t size = kiln_type_size(result->type);
    const int digits = result->type == KILN_F16 ? 10 : 7;
    const int smallest = result->type == KILN_F16 ? -14 : -126;
    const double *expected = reference->data;
    double worst = 0, magnitude = 0;
    for (int64_t i = 0; i < count; i++) magnitude = fmax(magnitude, fabs(expected[i]));
    for (int64_t i = 0; i < count; i++) {
        const double rounded = kiln__round_to(result->type, expected[i]);
        const int exponent = rounded == 0 ? smallest : ilogb(rounded);
        const double ulp = ldexp(1, (exponent < smallest ? smallest : exponent) - digits);
        const double unit = in_ulp ? fmax(ulp, F32_TOLERANCE / HALF_TOLERANCE * magnitude) : magnitude;
        const double value = kiln__load_f64(result->type, (const char *)result->data + (size_t)i * size);
        const double difference = fabs(value - rounded);
        const double error = difference == 0 ? 0 : difference / unit;
        if (!(error <= worst)) worst = error; /* a NaN stays */
    }
    return worst;
}

static void judge(const problem *p, outcome *out) {
    const bool in_ulp = p->example->type == KILN_F16 || p->example->type == KILN_BF16;
    double worst = 0;
    for (size_t i = p->inputs; i < p->count; i++) {
        const double error = largest_error(&p->host[i], &p->reference[i], in_ulp);
        if (!(error <= worst)) worst = error;
    }
    out->wrong = !(worst <= (in_ulp ? HALF_TOLERANCE : F32_TOLERANCE));
    snprintf(out->error, sizeof(out->error), in_ulp ? "%.3g ulp%s" : "%.1e%s", worst, out->wrong ? " WRONG" : "");
}

static void describe(const kiln_plan_info *info, outcome *out) {
    static const char *const origins[] = {"in memory", "from disk", "compiled"};
    snprintf(out->schedule, sizeof(out->schedule), "%s", info->schedule);
    if (info->origin == KILN_ORIGIN_COMPILED) {
        snprintf(out->compile, sizeof(out->compile), "%.1f ms", info->compile_ms);
    } else {
        snprintf(out->compile, sizeof(out->compile), "-");
    }
    out->origin = origins[info->origin];
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of the launches, each between two events. */
static bool time_launches(const kiln__driver *driver, const kiln_plan *plan, void *const *data, size_t count,
                          outcome *out) {
    float times[LAUNCHES];
    kiln__CUevent start = NULL, end = NULL;
    bool ok = !driver->EventCreate(&start, 0) && !driver->EventCreate(&end, 0);
    for (int i = 0; ok && i < LAUNCHES; i++) {
        ok = !driver->EventRecord(start, NULL) && !kiln_plan_launch(plan, data, count, NULL, 0, NULL) &&
             !driver->EventRecord(end, NULL) && !driver->EventSynchronize(end) &&
             !driver->EventElapsedTime(&times[i], start, end);
    }
    if (start) driver->EventDestroy(start);
    if (end) driver->EventDestroy(end);
    if (!ok) return failed("timing");
    qsort(times, LAUNCHES, sizeof(times[0]), by_value);
    snprintf(out->time, sizeof(out->time), "%.1f us", (double)times[LAUNCHES / 2] * 1e3);
    return true;
}

static bool run_plan(const struct machine *machine, const problem *p, const kiln_tensor *device, outcome *out) {
    const kiln__driver *driver = machine->driver;
    void *data[MAX_TENSORS];
    for (size_t i = 0; i < p->count; i++) data[i] = device[i].data;

    kiln_plan *plan;
    if (kiln_plan_create(p->program, device, p->count, NULL, 0, &plan)) return failed(p->example->title);
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bool ok = !kiln_plan_get_info(plan, &info) && !kiln_plan_launch(plan, data, p->count, NULL, 0, NULL) &&
              !driver->CtxSynchronize();
    if (ok) describe(&info, out);
    for (size_t i = p->inputs; ok && i < p->count; i++) {
        ok = !driver->MemcpyDtoH(p->host[i].data, (kiln__CUdeviceptr)(uintptr_t)data[i], byte_count(&p->host[i]));
    }
    if (!ok) failed(p->example->title);
    if (ok) judge(p, out);
    ok = ok && time_launches(driver, plan, data, p->count, out);
    kiln_plan_destroy(plan);
    return ok;
}

/* Outputs are poisoned first, so that an element that no thread writes is found. */
static bool run_on_gpu(const struct machine *machine, const problem *p, outcome *out) {
    const kiln__driver *driver = machine->driver;
    kiln_tensor device[MAX_TENSORS];
    kiln__CUdeviceptr memory[MAX_TENSORS] = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < p->count; i++) {
        const size_t bytes = byte_count(&p->host[i]);
        device[i] = p->host[i];
        kiln__CUresult result = driver->MemAlloc(&memory[i], bytes);
        if (!result && i < p->inputs) result = driver->MemcpyHtoD(memory[i], p->host[i].data, bytes);
        if (!result && i >= p->inputs) result = driver->MemsetD8(memory[i], 0xff, bytes);
        device[i].data = (void *)(uintptr_t)memory[i];
        ok = !result || (kiln__driver_fail(driver, KILN_E_DEVICE_MEMORY, result, "device memory"), failed("memory"));
    }
    ok = ok && run_plan(machine, p, device, out);
    for (size_t i = 0; i < p->count; i++) {
        if (memory[i]) driver->MemFree(memory[i]);
    }
    return ok;
}

/* The kernel is compiled for real; the result is the reference's, rounded to the example's type. */
static bool run_without_gpu(const problem *p, outcome *out) {
    kiln_tensor shapes[MAX_TENSORS];
    memcpy(shapes, p->host, sizeof(shapes));
    for (size_t i = 0; i < p->count; i++) shapes[i].data = NULL;
    kiln_kernel *kernel;
    if (kiln_compile(p->program, shapes, p->count, NULL, 0, OFFLINE_ARCH, 0, 1, &kernel)) {
        return failed(p->example->title);
    }
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bool ok = !kiln_kernel_get_info(kernel, &info);
    if (ok) describe(&info, out);
    kiln_kernel_destroy(kernel);
    if (!ok || kiln_run_cpu(p->program, p->host, p->count, NULL, 0)) return failed(p->example->title);
    snprintf(out->error, sizeof(out->error), "is the reference");
    snprintf(out->time, sizeof(out->time), "no GPU");
    return true;
}

/* Makes the first device's primary context current; false where there is no GPU. */
static bool open_gpu(struct machine *machine) {
    kiln__CUcontext context;
    if (kiln__driver_open(NULL, &machine->driver)) return false;
    const kiln__driver *driver = machine->driver;
    const kiln__CUresult result = driver->DeviceGet(&machine->device, 0);
    if (!result && !driver->DevicePrimaryCtxRetain(&context, machine->device) && !driver->CtxSetCurrent(context)) {
        return true;
    }
    kiln__driver_fail(driver, KILN_E_NO_DEVICE, result, "no usable device");
    machine->driver = NULL;
    return false;
}

static void print_table(const outcome *outcomes) {
    int width = 8;
    for (int i = 0; i < EXAMPLES; i++) {
        const int length = (int)strlen(outcomes[i].schedule);
        if (length > width) width = length;
    }
    printf("\n%-16s %-16s %-*s  %9s  %-9s  %9s  %s\n", "program", "shape", width, "schedule", "compile", "cache",
           "time", "largest error");
    for (int i = 0; i < EXAMPLES; i++) {
        const outcome *o = &outcomes[i];
        char shape[48];
        snprintf(shape, sizeof(shape), "%s[%lld,%lld]", kiln_type_name(examples[i].type), (long long)examples[i].rows,
                 (long long)examples[i].cols);
        printf("%-16s %-16s %-*s  %9s  %-9s  %9s  %s\n", examples[i].title, shape, width, o->schedule, o->compile,
               o->origin, o->time, o->error);
    }
}

static bool run_all(const struct machine *machine, outcome *outcomes) {
    for (int i = 0; i < EXAMPLES; i++) {
        problem p;
        const bool ok = problem_make(machine, &examples[i], &p) &&
                        (machine->driver ? run_on_gpu(machine, &p, &outcomes[i]) : run_without_gpu(&p, &outcomes[i]));
        problem_free(&p);
        if (!ok) return false;
    }
    return true;
}

int main(void) {
    struct machine machine = {0};
    outcome outcomes[EXAMPLES] = {0};
    if (kiln_context_create(NULL, &machine.context)) {
        failed("context");
        return 1;
    }
    if (open_gpu(&machine)) {
        char name[128] = "";
        machine.driver->DeviceGetName(name, sizeof(name), machine.device);
        printf("Kiln %s on %s. Results are checked against the CPU reference in double precision.\n", kiln_version(),
               name);
    } else {
        printf("Kiln %s without a GPU (%s).\nThe kernels are compiled for sm_%d; the results are computed by the CPU "
               "reference and rounded to their type.\n",
               kiln_version(), kiln_last_error(), OFFLINE_ARCH);
    }
    bool ok = run_all(&machine, outcomes);
    if (ok) {
        print_table(outcomes);
        if (machine.driver) {
            printf("\ntime: the median of %d launches, one after the other\n"
                   "largest error: in units in the last place of the type, for f32 as a part of the largest result\n",
                   LAUNCHES);
        }
    }
    for (int i = 0; i < EXAMPLES; i++) ok = ok && !outcomes[i].wrong;
    if (machine.driver) machine.driver->DevicePrimaryCtxRelease(machine.device);
    kiln_context_destroy(machine.context);
    return ok ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every reduction and every function of the prelude along each axis of ranks 1 to 5, and along several, against the CPU
 * reference. Runs on a GPU (77 without one) or, with --driver and --nvrtc, on the software GPU. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/types.h"
#include "gpu_compare.h"
#include "gpu_device.h"
#include "kiln_sources.h"
#include "lang/ops.h"
#include "support/own_folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CALL_LIMIT = 160, CALL_SIZE = 96, BATCH = 24, LONGEST = 7 };

static const char usage[] = "usage: gpu_axes [--function TEXT] [--part I/N] [--driver PATH] [--nvrtc PATH]\n"
                            "  --function TEXT  calls that contain TEXT alone\n"
                            "  --part I/N       every Nth position of the axes, from the I-th on\n"
                            "  --driver PATH    the CUDA driver library to use, as KILN_DRIVER\n"
                            "  --nvrtc PATH     the NVRTC library to use, as KILN_NVRTC\n";

typedef struct calls {
    char items[CALL_LIMIT][CALL_SIZE];
    size_t count;
} calls;

/* Which axes of how many are reduced. */
typedef struct position {
    int rank, axes[KILN_MAX_RANK], axis_count;
    bool all;
    bool one; /* the reduced axes have one element each */
} position;

typedef struct test_run {
    const kiln__driver *driver;
    gpu_reorder reorder;
    kiln_context *kiln;
    const char *only; /* a part of the calls that are tested; NULL: all are */
    int part, parts;  /* of the positions */
    int passed, failed;
} test_run;

/* ---- the calls -------------------------------------------------------------------------------------------- */

static void add(calls *to, const char *only, const char *format, ...) KILN_PRINTF(3, 4);
static void add(calls *to, const char *only, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (to->count < CALL_LIMIT) vsnprintf(to->items[to->count], CALL_SIZE, format, arguments);
    va_end(arguments);
    if (to->count == CALL_LIMIT) abort();
    if (!only || strstr(to->items[to->count], only)) to->count++;
}

/* What is given for a parameter of this name; NULL where its default is taken. */
static const char *argument_for(const char *name, size_t length) {
    static const char *const arguments[][2] = {
        {"x", "x"}, {"y", "y"},       {"g", "g"},    {"t", "t"},    {"w", "w"},     {"b", "b"},
        {"a", "y"}, {"low", "-0.75"}, {"high", "1"}, {"p", "0.25"}, {"seed", "42"}, {"label", "label"},
        {"v", "y"}, {"k", "2"},       {"q", "0.3"},  {"keys", "y"},
    };
    for (size_t i = 0; i < COUNT(arguments); i++)
        if (strlen(arguments[i][0]) == length && !strncmp(arguments[i][0], name, length)) return arguments[i][1];
    return NULL;
}

/* The call of a function whose definition stands at `at`: "layer_norm(x, w = 1, b = 0, eps = 1e-5) = ...". */
static bool add_call(calls *to, const char *only, const char *at) {
    size_t length = strcspn(at, "(");
    char call[CALL_SIZE];
    int used = snprintf(call, sizeof call, "%.*s(", (int)length, at);
    const char *separator = "";
    for (const char *p = at + length; *p != ')' && p[1] != ')';) {
        p += 1 + strspn(p + 1, " ");
        size_t name = strcspn(p, " ,:=)"), whole = strcspn(p, ",)");
        const char *given = argument_for(p, name);
        bool has_default = memchr(p, '=', whole) != NULL;
        if (!given && !has_default) {
            printf("%.*s: nothing is given for its parameter '%.*s'\n", (int)length, at, (int)name, p);
            return false;
        }
        if (!given) break;
        used += snprintf(call + used, sizeof call - (size_t)used, "%s%s", separator, given);
        separator = ", ";
        p += whole;
    }
    add(to, only, "%s)", call);
    return true;
}

static bool list_calls(const char *only, calls *to) {
    static const char *const written[] = {
        "reduce((p, q) -> maximum(abs(p), abs(q)), x, 0)",
        "reduce((p, q) -> q > 0.5 ? q : p, x, 0)", /* the order of the columns decides */
        "any(x > 1.5)",
        "all(x > -1.5)",
        "std(x, 0)",
        "max(z)",
        "min(z)",
        "argmax(z)",
        "argmin(z)",
        "nansum(z)",
        "nanmean(z)",
        "nanmax(z)",
        "kth(z, 3)",
        "cumsum(x > 0)",
        "sort(x)",
        "argsort(z, descending = true) + sort_by(x, z)",
        "cummax(z) + min(x)",
        "x >= kth_largest(x, 3) ? x : 0",
        "nanmin(z)",
        "sum(w)",
        "index(0) + sum(x)",
        "x * index(-1) + sum(x)",
        "uniform(7, 0) + sum(x)",
        "sum(x + uniform(7, 0))",
        "size(-1) * x",
        "x - max(x * w)",
    };
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const kiln__op_info *info = kiln__op_describe((kiln__op)op);
        if (kiln__op_is_reduction((kiln__op)op) && *info->name && op != KILN__OP_REDUCE_USER)
            add(to, only, info->args == 2 ? "%s(x, 2)" : "%s(x)", info->name);
    }
    for (const char *at = kiln__source_prelude_kiln; (at = strstr(at, "\nfn ")) != NULL;) {
        at += 4;
        /* Has axes of its own, which no block stands beside; rows of one axis, of which gpu_blocks has some. */
        const bool has_axes = !strncmp(at, "scale_nvfp4_tensor(", 19);
        const bool chooses = !strncmp(at, "topk", 4) || !strncmp(at, "argtopk(", 8);
        if (*at != '_' && !has_axes && !chooses && !add_call(to, only, at)) return false;
    }
    for (size_t i = 0; i < COUNT(written); i++) add(to, only, "%s", written[i]);
    return true;
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

typedef struct operand {
    kiln_tensor host, gpu, reference; /* reference: an output's expected values, f64 */
    unsigned char *memory;
    size_t bytes;
    kiln__CUdeviceptr device;
} operand;

/* One program along some axes of a tensor. */
typedef struct problem {
    test_run *tester;
    const position *at;
    kiln_type type;
    bool strided;
    const calls *list;
    size_t first, count; /* the calls that are its outputs */
    kiln_program *program;
    int64_t sizes[KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    operand operands[KILN_MAX_TENSORS];
    size_t input_count;
} problem;

static double fraction(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Values for which sums do not cancel to nothing and no two elements are alike. */
static double input_value(const char *name, kiln_type type, int64_t i) {
    double u = fraction((uint64_t)i * 131 + (uint64_t)*name);
    if (!strcmp(name, "label")) return (double)(i % LONGEST);
    if (!kiln__type_is_float(type)) return floor(40 * u) - 20;
    switch (*name) {
    case 't': return i % 3 ? u : 0;
    case 'w': return 0.5 + u;
    case 'y': return 0.05 + 0.9 * u;
    case 'z': return i % 5 == 3 ? NAN : 4 * u - 2;
    case 'x': return 4 * u - 2;
    default: return 2 * u - 1;
    }
}

static int64_t elements(const kiln_tensor *tensor) {
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++) n *= tensor->sizes[i];
    return n;
}

static int64_t offset(const kiln_tensor *tensor, int64_t i) {
    int64_t at = 0;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        at += i % tensor->sizes[axis] * tensor->strides[axis];
        i /= tensor->sizes[axis];
    }
    return at;
}

/* Strides by which no two dimensions lie like one, some of them negative; an input's first dimension moves fastest. */
static void spread(kiln_tensor *tensor, bool input) {
    int64_t span = 1;
    for (int i = 0; i < tensor->rank; i++) {
        int axis = input ? i : tensor->rank - 1 - i;
        tensor->strides[axis] = axis % 2 ? -span : span;
        span = span * tensor->sizes[axis] + 1;
    }
}

/* Memory on both sides for a tensor of this shape, `shift` elements behind an aligned address. */
static bool place(problem *p, operand *o, int64_t shift) {
    int64_t low = 0, high = 1, element = (int64_t)kiln_type_size(o->host.type);
    for (int i = 0; i < o->host.rank; i++)
        *(o->host.strides[i] < 0 ? &low : &high) += (o->host.sizes[i] - 1) * o->host.strides[i];
    o->bytes = (size_t)((high - low + shift) * element);
    o->memory = malloc(o->bytes);
    if (!o->memory || p->tester->driver->MemAlloc(&o->device, o->bytes)) return false;
    memset(o->memory, 0xff, o->bytes);
    o->gpu = o->host;
    o->host.data = o->memory + (shift - low) * element;
    o->gpu.data = (void *)(uintptr_t)(o->device + (kiln__CUdeviceptr)((shift - low) * element));
    return true;
}

static bool make_input(problem *p, size_t i) {
    const char *name = kiln_program_input_name(p->program, i);
    bool label = !strcmp(name, "label"), weight = *name == 'w' || *name == 'b';
    operand *o = &p->operands[i];
    int64_t sizes[KILN_MAX_RANK] = {0};
    for (int axis = 0; axis < p->at->rank; axis++)
        sizes[axis] = (label && p->reduced[axis]) || (weight && !p->reduced[axis]) ? 1 : p->sizes[axis];
    o->host = kiln_tensor_contiguous(NULL, label ? KILN_I32 : p->type, p->at->rank, sizes);
    if (p->strided) spread(&o->host, true);
    if (!place(p, o, p->strided ? 1 : 0)) return false;
    size_t size = kiln_type_size(o->host.type);
    for (int64_t n = 0; n < elements(&o->host); n++)
        kiln__store_f64(o->host.type, (char *)o->host.data + offset(&o->host, n) * (int64_t)size,
                        input_value(name, o->host.type, n));
    return !p->tester->driver->MemcpyHtoD(o->device, o->memory, o->bytes);
}

static bool make_output(problem *p, size_t output) {
    operand *o = &p->operands[p->input_count + output];
    kiln_tensor inputs[KILN_MAX_TENSORS];
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK] = {0};
    for (size_t i = 0; i < p->input_count; i++) inputs[i] = p->operands[i].host;
    bool keep = output % 2 == 0;
    if (kiln_program_output_shape(p->program, inputs, output, keep, &rank, sizes)) return false;
    o->host = kiln_tensor_contiguous(NULL, kiln__type_is_float(p->type) ? p->type : KILN_F64, rank, sizes);
    o->reference = kiln_tensor_contiguous(NULL, KILN_F64, rank, sizes);
    o->reference.data = calloc((size_t)elements(&o->reference), sizeof(double));
    if (p->strided) spread(&o->host, false);
    return o->reference.data && place(p, o, 0) && !p->tester->driver->MemsetD8(o->device, 0xff, o->bytes);
}

static void release(problem *p) {
    for (size_t i = 0; i < COUNT(p->operands); i++) {
        if (p->operands[i].device) p->tester->driver->MemFree(p->operands[i].device);
        free(p->operands[i].memory);
        free(p->operands[i].reference.data);
    }
    kiln_program_destroy(p->program);
}

/* ---- one program ------------------------------------------------------------------------------------------ */

static kiln_status make_program(const problem *p, kiln_program **out) {
    kiln__text text = {0}, names = {0};
    for (size_t i = 0; i < p->count; i++) {
        kiln__text_printf(&text, "out%zu = %s\n", i, p->list->items[p->first + i]);
        kiln__text_printf(&names, "%sout%zu", i ? "," : "", i);
    }
    char *program = kiln__text_take(&text), *outputs = kiln__text_take(&names);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.outputs = outputs;
    options.axes = p->at->axes;
    options.axis_count = (size_t)p->at->axis_count;
    options.all_axes = p->at->all;
    kiln_status status = kiln_program_create(p->tester->kiln, program, &options, out);
    free(program);
    free(outputs);
    return status;
}

static void complain(const problem *p, size_t output, const char *format, ...) KILN_PRINTF(3, 4);
static void complain(const problem *p, size_t output, const char *format, ...) {
    va_list arguments;
    printf("%s of %s[", p->list->items[p->first + output], kiln_type_name(p->type));
    for (int i = 0; i < p->at->rank; i++) printf("%s%" PRId64, i ? "," : "", p->sizes[i]);
    printf("]%s, axes", p->strided ? " with strides" : "");
    for (int i = 0; i < p->at->axis_count; i++) printf(" %d", p->at->axes[i]);
    printf("%s: ", p->at->all ? " all" : "");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* Where a quotient lies next to a tie, a quantiser may round it either way: by one step. */
static bool is_next_step(const char *call, double got, double expected) {
    unsigned char code = 0;
    static const struct {
        const char *name;
        kiln_type type;
    } types[] = {{"_e4m3", KILN_E4M3}, {"_e5m2", KILN_E5M2}, {"_e2m1", KILN_E2M1}, {"_nvfp4", KILN_E2M1}};
    kiln_type type = KILN_I8;
    for (size_t i = 0; i < COUNT(types); i++)
        if (strstr(call, types[i].name)) type = types[i].type;
    if (strncmp(call, "quantize_", 9)) return false;
    if (type == KILN_I8) return fabs(got - expected) <= 1;
    kiln__store_f64(type, &code, got);
    return gpu_distance(type, &code, expected, 0) <= 1;
}

static bool compare(const problem *p, size_t output) {
    const operand *o = &p->operands[p->input_count + output];
    const double *expected = o->reference.data;
    const kiln_type type = o->host.type;
    /* Programs without an f64 input compute in f32. */
    const double limit = type == KILN_F64 && p->type != KILN_F64 ? gpu_limit(KILN_F32) : gpu_limit(type);
    double largest = 4;
    int steps = 0; /* ties are rare */
    for (int64_t i = 0; i < elements(&o->reference); i++)
        if (isfinite(expected[i]) && fabs(expected[i]) > largest) largest = fabs(expected[i]);
    for (int64_t i = 0; i < elements(&o->reference); i++) {
        const void *got = (char *)o->host.data + offset(&o->host, i) * (int64_t)kiln_type_size(type);
        const double value = kiln__load_f64(type, got);
        if (gpu_distance(type, got, expected[i], largest) <= limit) continue;
        /* A small float was computed in f32, whose error may be more than its last places where terms cancel. */
        if (fabs(value - expected[i]) <= gpu_limit(KILN_F32) * largest && type != KILN_F64) continue;
        if (is_next_step(p->list->items[p->first + output], value, expected[i]) && ++steps <= 2) continue;
        complain(p, output, "element %" PRId64 " is %.9g, expected %.9g", i, value, expected[i]);
        return false;
    }
    return true;
}

static bool run_on_gpu(problem *p, uint64_t order) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (size_t i = 0; i < p->input_count + p->count; i++) tensors[i] = p->operands[i].gpu;
    if (p->tester->reorder) p->tester->reorder(order);
    if (kiln_run(p->program, tensors, p->input_count + p->count, NULL, 0, NULL)) return false;
    kiln__CUresult result = p->tester->driver->CtxSynchronize();
    if (result) kiln__driver_fail(p->tester->driver, KILN_E_LAUNCH, result, "the launch");
    for (size_t i = 0; !result && i < p->count; i++) {
        const operand *o = &p->operands[p->input_count + i];
        result = p->tester->driver->MemcpyDtoH(o->memory, o->device, o->bytes);
    }
    return !result;
}

static bool set_up(problem *p) {
    for (int axis = 0; axis < p->at->rank; axis++) p->reduced[axis] = p->at->all;
    for (int i = 0; i < p->at->axis_count; i++)
        p->reduced[p->at->axes[i] < 0 ? p->at->axes[i] + p->at->rank : p->at->axes[i]] = true;
    bool several = p->at->all || p->at->axis_count > 1;
    static const int64_t kept[] = {3, 2, 4, 3, 2};
    for (int axis = 0; axis < p->at->rank; axis++)
        p->sizes[axis] = !p->reduced[axis] ? kept[axis] : p->at->one ? 1 : several ? 3 + axis % 2 : LONGEST;
    if (make_program(p, &p->program)) return false;
    p->input_count = kiln_program_input_count(p->program);
    for (size_t i = 0; i < p->input_count; i++)
        if (!make_input(p, i)) return false;
    for (size_t i = 0; i < p->count; i++)
        if (!make_output(p, i)) return false;
    return true;
}

static bool run_reference(problem *p) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (size_t i = 0; i < p->input_count + p->count; i++)
        tensors[i] = i < p->input_count ? p->operands[i].host : p->operands[i].reference;
    return kiln_run_cpu(p->program, tensors, p->input_count + p->count, NULL, 0) == KILN_OK;
}

static void check(test_run *tester, const calls *list, size_t first, size_t count, const position *at, kiln_type type,
                  bool strided) {
    problem p = {
        .tester = tester, .at = at, .type = type, .strided = strided, .list = list, .first = first, .count = count};
    const uint64_t orders = tester->reorder ? 2 : 1;
    bool ran = set_up(&p) && run_reference(&p);
    for (uint64_t order = 1; ran && order <= orders; order++) {
        ran = run_on_gpu(&p, order);
        for (size_t i = 0; ran && i < count; i++) *(compare(&p, i) ? &tester->passed : &tester->failed) += 1;
    }
    if (!ran) {
        complain(&p, 0, "with the %zu calls after it: %s", count - 1, kiln_last_error());
        tester->failed++;
    }
    release(&p);
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

/* Whether the call has a type for integers. */
static bool takes_integers(test_run *tester, const char *call) {
    const int64_t sizes[] = {3, LONGEST};
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    char text[CALL_SIZE + 8];
    snprintf(text, sizeof text, "out = %s", call);
    kiln_status status = kiln_program_create(tester->kiln, text, NULL, &program);
    size_t count = status ? 0 : kiln_program_input_count(program);
    for (size_t i = 0; i < count; i++) tensors[i] = kiln_tensor_contiguous(NULL, KILN_I32, 2, sizes);
    int32_t rank = 0;
    int64_t shape[KILN_MAX_RANK] = {0};
    if (!status) status = kiln_program_output_shape(program, tensors, 0, 1, &rank, shape);
    if (!status) tensors[count] = kiln_tensor_contiguous(NULL, KILN_F64, rank, shape);
    if (!status) status = kiln_compile(program, tensors, count + 1, NULL, 0, 90, 0, 0, &kernel);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    return status != KILN_E_TYPE;
}

static void check_calls(test_run *tester, const calls *list, const position *at, kiln_type type, bool strided) {
    for (size_t first = 0; first < list->count; first += BATCH)
        check(tester, list, first, list->count - first < BATCH ? list->count - first : BATCH, at, type, strided);
}

static const position several[] = {
    {3, {0, 2}, 2, false, false},  {4, {1, 3}, 2, false, false},     {4, {2, 1}, 2, false, false},
    {4, {-4, 1}, 2, false, false}, {5, {4, 0, -3}, 3, false, false}, {2, {0}, 0, true, false},
    {3, {0}, 0, true, false},      {5, {0}, 0, true, false},         {1, {0}, 1, false, true},
    {2, {-1}, 1, false, true},     {3, {1}, 1, false, true},         {4, {0, 2}, 2, false, true},
    {3, {0}, 0, true, true},
};

static bool check_all(test_run *tester) {
    static calls all, integers;
    if (!list_calls(tester->only, &all)) return false;
    for (size_t i = 0; i < all.count; i++)
        if (strncmp(all.items[i], "quantize_", 9) && takes_integers(tester, all.items[i])) /* whose ties are many */
            add(&integers, NULL, "%s", all.items[i]);
    int position_number = 0;
    for (int rank = 1; rank <= 5; rank++)
        for (int axis = 0; axis < rank; axis++) {
            if (position_number++ % tester->parts != tester->part) continue;
            const position at = {rank, {axis % 2 ? axis - rank : axis}, 1, false, false};
            check_calls(tester, &all, &at, KILN_F32, false);
            check_calls(tester, &all, &at, KILN_F32, true);
            check_calls(tester, &all, &at, KILN_F16, false);
            check_calls(tester, &integers, &at, KILN_I32, false);
        }
    for (size_t i = 0; i < COUNT(several); i++) {
        if (position_number++ % tester->parts != tester->part) continue;
        check_calls(tester, &all, &several[i], KILN_F32, false);
        check_calls(tester, &all, &several[i], KILN_BF16, true);
    }
    return true;
}

static bool parse(int argc, char **argv, test_run *out) {
    static const struct option longs[] = {
        {"function", required_argument, NULL, 'f'},
        {"part", required_argument, NULL, 'p'},
        {"driver", required_argument, NULL, 'd'},
        {"nvrtc", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (option == 'f')
            out->only = optarg;
        else if (option == 'p') {
            if (sscanf(optarg, "%d/%d", &out->part, &out->parts) != 2 || out->part < 0 || out->part >= out->parts)
                return false;
        } else if (option == 'd' || option == 'n')
            setenv(option == 'd' ? "KILN_DRIVER" : "KILN_NVRTC", optarg, 1);
        else
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv) {
    test_run tester = {.parts = 1};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln__CUcontext cuda = NULL;
    kiln__device device;
    own_folder cache;
    if (!parse(argc, argv, &tester)) {
        fputs(usage, stderr);
        return 2;
    }
    if (gpu_device_open(&tester.driver, &cuda, &device) != KILN_OK) {
        printf("skipped: no GPU: %s\n", kiln_last_error());
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was found is told, whatever ends it */
    tester.reorder = gpu_device_reorder(tester.driver);
    if (!own_folder_make(&cache)) return 1; /* through a disk cache one kernel serves several programs */
    options.cache_dir = cache.path;
    bool good = kiln_context_create(&options, &tester.kiln) == KILN_OK && check_all(&tester);
    kiln_context_destroy(tester.kiln);
    own_folder_remove(&cache);
    printf("%d passed, %d failed\n", tester.passed, tester.failed);
    return good && tester.passed && !tester.failed ? 0 : 1;
}

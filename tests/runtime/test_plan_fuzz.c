/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems of any size, up to 2^63 bytes: bound, planned, scheduled, written as source and launched on a driver
 * that does nothing, with no memory behind them. Each either comes out by the rules of tests/support/schedule_rules.c
 * or is refused with a sentence. A process of its own runs the cases, so that one that crashes or hangs is told, too.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/text.h"
#include "support/fake_driver.h"
#include "support/fuzz_draw.h"
#include "support/schedule_rules.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PICK(random, array) ((array)[below(random, COUNT(array))])

#define CASE_SECONDS 20       /* a case that takes longer hangs */
#define MOST_ATTEMPTS 32      /* of schedules: each would be a compilation */
#define MOST_SOURCE (1 << 20) /* bytes */
#define MANY_REDUCTIONS 500   /* of the largest program */

static const char usage[] = "usage: test_plan_fuzz [options]\n"
                            "  --seed S      of the cases; 1 without it\n"
                            "  --cases N     how many; 1200 without it\n"
                            "  --case I      this case alone, in this process; tells what comes of it\n"
                            "  --nvrtc PATH  compiles the kernels with this NVRTC, too\n";

static const struct {
    const char *text, *scalars;
} programs[] = {
    {"y = softmax(x)", NULL},
    {"y = softmax(x * k + m)", "k"},
    {"y = layer_norm(x, w, b)", NULL},
    {"y = rms_norm(x, w, eps)", "eps"},
    {"s = sum(x)", NULL},
    {"s = sum(a * b); y = a - b", NULL},
    {"i = argmax(x); m = max(x)", NULL},
    {"v = var(x); n = norm2(x)", NULL},
    {"y = gelu_tanh(a + b) * c", NULL},
    {"y = x", NULL},
    {"s = reduce((p, q) -> p * 0.5 + q, x, 0)", NULL},
    {"y = x + reduce((p, q) -> q != 0 ? q : p, x, 0)", NULL},
    {"y = x + index(0) * size(-1) - index(-1)", NULL},
    {"y = dropout(x, 0.5, 42)", NULL},
    {"y = uniform(1, 2)", NULL},
    {"a = max(x) - min(x); b = mean(x) + sumsq(x); i = argmin(x); y = x * b", NULL},
    {"s = a * 2; y = x * 2", "a"},
    {"s = a * 2; y = x * s; r = a - max(x)", NULL},
    {"y = x - sum(w)", NULL},
    {"y = x - max(x - sum(x - mean(x)))", NULL},
    {"q = quantize_e4m3(x); s = scale_e4m3(x)", NULL},
    {"s = cross_entropy_label(x, l)", NULL},
    {"s = absmax(x, block = 32); y = x / s", NULL},
    {"y = rms_norm(x, w); s = scale_e4m3(y, block = 16); q = quantize_e4m3(y, block = 16)", NULL},
    {"y = softmax(x, block = 8) + mean(x, block = 64) * k", "k"},
    {"y = x * repeat(r, 4) + max(x)", NULL},
    {"y = x - mean(x, axes = 0)", NULL},
    {"y = rms_norm(x, w); d = sum(g * y, axes = 0)", NULL},
    {"dx = layer_norm_grad(x, w, g); dw = sum(g * layer_norm(x), axes = 0); db = sum(g, axes = 0)", NULL},
    {"m = max(x); t = max(m, axes = 0); n = sqrt(sumsq(x, axes = all))", NULL},
    {"a = sum(x, axes = (0, 1)); b = max(x, axes = all); y = argmax(x)", NULL},
    {NULL, NULL}, /* many_reductions() */
};

/* What a case is: tensors without memory, a device, and a schedule's words. */
typedef struct problem {
    const char *text, *scalars;
    bool last, all;
    int axes[KILN_MAX_RANK], axis_count;
    int rank;
    int64_t sizes[KILN_MAX_RANK];
    kiln_tensor tensors[KILN_MAX_TENSORS];
    size_t count;
    kiln_scalar scalar[1];
    kiln__device device;
    char schedule[128];
    char refused[512]; /* what the last call said */
} problem;

/* ---- drawing ---------------------------------------------------------------------------------------------- */

static size_t below(fuzz_random *random, size_t n) { return (size_t)fuzz_random_below(random, (int64_t)n); }
static bool percent(fuzz_random *random, size_t chance) { return below(random, 100) < chance; }

/* As likely between 2^10 and 2^11 as between 2^50 and 2^51; often a power of two or next to one. */
static int64_t draw_extent(fuzz_random *random, int bits) {
    int64_t power = (int64_t)1 << below(random, (size_t)bits + 1), near = (int64_t)below(random, 3) - 1;
    int64_t any = power + fuzz_random_below(random, power);
    int64_t extent = percent(random, 50) ? any : power + near;
    return extent > 1 ? extent : percent(random, 20) ? 0 : 1 + (int64_t)below(random, 3);
}

static void draw_space(fuzz_random *random, problem *p) {
    static const int ranks[] = {0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 8};
    int bits = (int)below(random, 64), widest = 0;
    p->rank = PICK(random, ranks);
    for (int i = 0; i < p->rank; i++) {
        int own = percent(random, 30) ? bits : bits / 4;
        p->sizes[i] = draw_extent(random, own < 62 ? own : 62);
        for (int64_t size = p->sizes[i]; size > 1 && bits > 0; size /= 2) bits--;
        if (p->sizes[i] >= p->sizes[widest]) widest = i;
    }
    if (!p->rank || !percent(random, 20)) return;
    /* All that 64 bits can count, of elements or of bytes, one less or one more. */
    static const int64_t bytes[] = {1, 1, 2, 4, 8};
    int64_t others = PICK(random, bytes);
    for (int i = 0; i < p->rank; i++)
        if (i != widest && p->sizes[i]) others = kiln__times(others, p->sizes[i]);
    int64_t most = INT64_MAX / others - (int64_t)below(random, 40);
    p->sizes[widest] = most <= 0 ? 1 : percent(random, 10) && most < INT64_MAX / 2 ? most + 40 : most;
}

static void draw_axes(fuzz_random *random, problem *p) {
    size_t way = below(random, 100);
    p->last = way < 45;
    p->all = way >= 85;
    for (int i = 0; i < p->rank && !p->last && !p->all; i++)
        if (percent(random, 45)) p->axes[p->axis_count++] = percent(random, 50) ? i : i - p->rank;
    if (percent(random, 1)) p->axes[p->axis_count++ % KILN_MAX_RANK] = p->rank;
}

static void draw_strides(fuzz_random *random, bool input, kiln_tensor *t) {
    static const int64_t garbage[] = {0, 1, -1, 1000003, INT64_MAX, INT64_MIN, INT64_MIN / 2, (int64_t)1 << 60};
    bool reversed = percent(random, 40), shuffled = percent(random, 30), gaps = percent(random, 30);
    int64_t span = 1;
    int order[KILN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) order[i] = reversed ? i : t->rank - 1 - i;
    for (int i = t->rank - 1; i > 0 && shuffled; i--) {
        size_t other = below(random, (size_t)i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int k = 0; k < t->rank; k++) {
        int64_t *stride = &t->strides[order[k]], size = t->sizes[order[k]];
        if (gaps && percent(random, 40)) span = kiln__times(span, 2 + (int64_t)below(random, 15));
        *stride = percent(random, 10) ? -span : span;
        span = kiln__times(span, size > 0 ? size : 1);
        if (percent(random, input ? 10 : 1)) *stride = 0;
        if (percent(random, size > 1 ? 1 : 30)) *stride = PICK(random, garbage);
    }
}

static kiln_type draw_type(fuzz_random *random, kiln_type usual) {
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16, KILN_E4M3, KILN_E5M2,
                                      KILN_I64, KILN_I32, KILN_I16, KILN_I8,   KILN_U8,   KILN_BOOL,
                                      KILN_U16, KILN_U32, KILN_U64, KILN_E8M0};
    kiln_type other = PICK(random, types);
    return percent(random, 70) ? usual : other;
}

static void draw_tensor(fuzz_random *random, bool input, int rank, const int64_t *sizes, kiln_type type, size_t index,
                        kiln_tensor *out) {
    static const uintptr_t shifts[] = {0, 0, 0, 1, 2, 3, 4, 8};
    *out = kiln_tensor_contiguous(NULL, type, rank, sizes);
    if (percent(random, 45)) draw_strides(random, input, out);
    uintptr_t shift = PICK(random, shifts) * (percent(random, 97) ? kiln_type_size(type) : 1);
    if (percent(random, 98)) out->data = (void *)((((uintptr_t)index + 1) << 58) + shift);
}

static void draw_input(fuzz_random *random, const problem *p, kiln_type usual, size_t index, kiln_tensor *out) {
    int64_t sizes[KILN_MAX_RANK];
    int first = 0;
    bool whole = index == 0 || percent(random, 40), wrong = percent(random, 1);
    for (int i = 0; i < p->rank; i++) sizes[i] = !whole && percent(random, 50) ? 1 : p->sizes[i];
    while (first < p->rank && sizes[first] == 1 && percent(random, 50)) first++;
    if (wrong && p->rank > first) sizes[first] = kiln__times(sizes[first], 2);
    draw_tensor(random, true, p->rank - first, sizes + first, draw_type(random, usual), index, out);
}

/* As the program would have it, mostly. */
static void draw_output(fuzz_random *random, const kiln_program *program, const problem *p, kiln_type usual,
                        size_t output, size_t index, kiln_tensor *out) {
    int32_t rank = p->rank;
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, p->sizes, sizeof sizes);
    bool own = kiln_program_input_count(program) && percent(random, 95), keeps = percent(random, 50);
    if (own && kiln_program_output_shape(program, p->tensors, output, keeps, &rank, sizes) != KILN_OK) {
        rank = p->rank;
        memcpy(sizes, p->sizes, sizeof sizes);
    }
    draw_tensor(random, false, rank, sizes, draw_type(random, usual), index, out);
    if (index && percent(random, 5)) *out = p->tensors[0];
}

/* An architecture's numbers, sometimes those of a slice of it. */
static kiln__device draw_device(fuzz_random *random) {
    static const int archs[] = {70, 80, 80, 86, 90, 90, 90, 90, 100, 120, 121};
    kiln__device device = kiln__device_typical(PICK(random, archs));
    if (percent(random, 10)) device.sm_count = 1 + (int)below(random, 200);
    if (percent(random, 3)) device.shared_per_block = device.shared_per_sm = 65536;
    return device;
}

/* Words that a schedule is pinned with, any of them together. */
static void draw_schedule(fuzz_random *random, char *out, size_t size) {
    static const char *const words[] = {"lanes #", "block #",    "threads #", "registers", "shared",
                                        "stream",  "tile",       "pack #",    "rows #",    "steps #",
                                        "batch #", "splits #",   "cluster #", "grid",      "online",
                                        "phased",  "persistent", "single",    "shared",    "stream"};
    static const int numbers[] = {1,  2,   3,   4,   7,   8,    16,   31,   32,   32,   33,  64,
                                  64, 100, 128, 256, 512, 1000, 1024, 2048, 4095, 4096, 4097};
    size_t count = percent(random, 60) ? 0 : 1 + below(random, 4), used = 0;
    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *word = PICK(random, words), *number = strchr(word, '#');
        int value = PICK(random, numbers);
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", i ? ", " : "",
                                 number ? (int)(number - word) : (int)strlen(word), word);
        if (number) used += (size_t)snprintf(out + used, size - used, "%d", value);
    }
}

/* Up to more than the warps of a block, or the blocks of a cluster, exchange at once. */
static const char *many_reductions(fuzz_random *random) {
    static char text[MANY_REDUCTIONS * 24];
    size_t count = 1 + below(random, percent(random, 30) ? MANY_REDUCTIONS : 50), used = 0;
    const char *reduction = percent(random, 50) ? "max" : "sum";
    used = (size_t)snprintf(text, sizeof text, "y = x");
    for (size_t i = 2; i < count + 2; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " - %s(x * %zu)", reduction, i);
    return text;
}

/* Program and axes, before the program is parsed; everything about its tensors. */
static void draw_program(fuzz_random *random, problem *p) {
    size_t which = below(random, COUNT(programs));
    p->text = programs[which].text ? programs[which].text : many_reductions(random);
    p->scalars = programs[which].scalars;
    p->scalar[0] = percent(random, 50) ? kiln_scalar_f64(0.5) : kiln_scalar_i64(3);
    p->device = draw_device(random);
    draw_schedule(random, p->schedule, sizeof p->schedule);
    draw_space(random, p);
    draw_axes(random, p);
}

static void draw_tensors(fuzz_random *random, const kiln_program *program, problem *p) {
    size_t inputs = kiln_program_input_count(program);
    kiln_type usual = draw_type(random, percent(random, 50) ? KILN_F16 : KILN_F32);
    p->count = inputs + kiln_program_output_count(program);
    if (p->rank && percent(random, 6)) p->sizes[0] = -1; /* rows left open */
    for (size_t t = 0; t < inputs; t++) draw_input(random, p, usual, t, &p->tensors[t]);
    for (size_t t = inputs; t < p->count; t++) draw_output(random, program, p, usual, t - inputs, t, &p->tensors[t]);
}

/* ---- telling ---------------------------------------------------------------------------------------------- */

static void print_list(FILE *to, const char *open, int count, const int64_t *values, const char *close) {
    fputs(open, to);
    for (int i = 0; i < count; i++) fprintf(to, "%s%" PRId64, i ? "," : "", values[i]);
    fputs(close, to);
}

static void print_problem(FILE *to, const problem *p) {
    fprintf(to, "%.100s;", p->text);
    for (size_t t = 0; t < p->count; t++) {
        const kiln_tensor *tensor = &p->tensors[t];
        fprintf(to, " %s", kiln_type_name(tensor->type));
        print_list(to, "[", tensor->rank, tensor->sizes, "]");
        print_list(to, "{", tensor->rank, tensor->strides, "}");
        fprintf(to, "@%" PRIuPTR, (uintptr_t)tensor->data % 64);
    }
    fputs(p->last ? "; axes last" : p->all ? "; axes all" : "; axes", to);
    for (int i = 0; i < p->axis_count; i++) fprintf(to, " %d", p->axes[i]);
    fprintf(to, "; sm_%d, %d SMs; pinned '%s'", p->device.arch, p->device.sm_count, p->schedule);
}

/* ---- running ---------------------------------------------------------------------------------------------- */

/* What every call promises: success without a sentence, or a failure with one. */
static const char *status_fault(problem *p, kiln_status status) {
    snprintf(p->refused, sizeof p->refused, "%s", status ? kiln_last_error() : "");
    if (status == KILN_E_INTERNAL || status == KILN_E_MEMORY) return "memory ran out, or worse";
    if (status && !*kiln_last_error()) return "a refusal without a sentence";
    return strchr(kiln_last_error(), '\n') ? "a sentence of several lines" : NULL;
}

/* All stages up to the source, one schedule after another until none is left. */
static const char *plan_fault(problem *p, const kiln_program *program) {
    kiln__prepared prepared;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        kiln__clear_error();
        kiln_status status = kiln__prepare(program, p->tensors, p->scalar, &p->device, attempt, &prepared);
        const char *fault = NULL;
        /* There is none any more, or it is one that takes too long to compile. */
        const bool ends = status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT;
        if (attempt > 0 && status && !ends) fault = "another refusal of a later schedule";
        if (status && !fault)
            fault = attempt == 0 ? status_fault(p, status) : *kiln_last_error() ? NULL : "no sentence";
        if (status) return fault;
        if (!fault) fault = schedule_fault(&prepared.schedule, &prepared.problem, &p->device);
        if (!fault) fault = launch_fault(&prepared);
        if (!fault && strlen(prepared.source) > MOST_SOURCE) fault = "a bounded source";
        if (!fault && (!strstr(prepared.source, KILN__KERNEL_NAME) ||
                       (strstr(prepared.source, "kiln_phase0 ") && !strstr(prepared.source, "struct kiln_phase0"))))
            fault = "a complete source";
        if (fault) snprintf(p->refused, sizeof p->refused, "%s", prepared.schedule.text);
        kiln__prepared_free(&prepared);
        if (fault) return fault;
    }
    return "an end of the attempts";
}

/* The same by the way of the API, without a GPU. */
static const char *compile_fault(problem *p, const kiln_program *program, bool compiles) {
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    const kiln_status status = kiln_compile(program, p->tensors, p->count, p->scalar, p->scalars != NULL,
                                            p->device.arch, 0, compiles, &kernel);
    const char *fault = status_fault(p, status);
    if (status == KILN_E_COMPILE) fault = "a kernel that compiles";
    if (!status && !fault && kiln_kernel_get_info(kernel, &info)) fault = "no information";
    if (!status && !fault && (info.workspace_bytes < -1 || info.rows < -1 || info.cols < -1 || info.shared_bytes < 0))
        fault = "numbers of no kernel";
    kiln_kernel_destroy(kernel);
    return fault;
}

/* A plan on a driver that counts launches, and its launch. */
static const char *launch_on_fake(problem *p, const kiln_program *program, fake_driver *fake) {
    static _Alignas(16) unsigned char workspace[16]; /* a grid's counter is cleared in it */
    void *data[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status = kiln_plan_create(program, p->tensors, p->count, p->scalar, p->scalars != NULL, &plan);
    const char *fault = status_fault(p, status);
    if (fault || status) return fault;
    if (kiln_plan_get_info(plan, &info)) fault = "no information";
    for (size_t t = 0; t < p->count; t++) data[t] = p->tensors[t].data;
    const long before = fake->launches;
    status = kiln_plan_launch_with_workspace(plan, data, p->count, p->scalar, p->scalars != NULL, workspace,
                                             info.workspace_bytes, NULL);
    if (!fault) fault = status_fault(p, status);
    if (!fault && status == KILN_E_SIZE) fault = "a workspace of the bytes that were told to be enough";
    if (!fault && status == KILN_E_LAUNCH) fault = "a launch that the driver accepts";
    const long launches = fake->launches - before;
    if (!fault && !status && launches != info.launches && (launches || (info.rows && info.cols)))
        fault = "as many launches as were told";
    kiln_plan_destroy(plan);
    return fault;
}

/* NULL, or what is wrong. */
static const char *run_case(uint64_t seed, long index, const char *nvrtc, fake_driver *fake, problem *p) {
    fuzz_random random = {seed * 0xd1b54a32d192ed03u + (uint64_t)index * 0x8cb92ba72f3d8dd7u};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    memset(p, 0, sizeof *p);
    fuzz_random_next(&random);
    draw_program(&random, p);
    options.cache_dir = "";
    options.schedule = p->schedule;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = nvrtc ? nvrtc : KILN_FAKE_NVRTC;
    const char *fault = status_fault(p, kiln_context_create(&options, &context));
    if (fault || !context) return fault;
    how.scalars = p->scalars;
    how.axes = p->last ? NULL : p->axes;
    how.axis_count = (size_t)p->axis_count;
    how.all_axes = p->all;
    fault = status_fault(p, kiln_program_create(context, p->text, &how, &program));
    if (program && !fault) {
        draw_tensors(&random, program, p);
        fault = plan_fault(p, program);
        char refused[sizeof p->refused];
        memcpy(refused, p->refused, sizeof refused);
        if (!fault) fault = compile_fault(p, program, nvrtc != NULL);
        fake->arch = p->device.arch;
        fake->sm_count = p->device.sm_count;
        fake->shared_per_block = (int)p->device.shared_per_block;
        fake->shared_per_sm = (int)p->device.shared_per_sm;
        if (!fault && !nvrtc) fault = launch_on_fake(p, program, fake);
        if (!fault && *refused) memcpy(p->refused, refused, sizeof refused);
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return fault;
}

/* ---- the processes ---------------------------------------------------------------------------------------- */

typedef struct progress {
    long now, refused; /* the case being run; how many were refused */
} progress;

static fake_driver *open_fake(void) {
    const kiln__driver *driver;
    kiln__CUcontext context;
    fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    if (!fake || kiln__driver_open(KILN_FAKE_DRIVER, &driver) || driver->DevicePrimaryCtxRetain(&context, 0) ||
        driver->CtxSetCurrent(context))
        return NULL;
    return fake;
}

static int run_cases(uint64_t seed, long first, long end, const char *nvrtc, bool tells, progress *at) {
    fake_driver *fake = open_fake();
    problem p;
    if (!fake) return 2;
    for (long i = first; i < end; i++) {
        at->now = i;
        alarm(nvrtc ? 10 * CASE_SECONDS : CASE_SECONDS); /* SIGALRM ends the process */
        const char *fault = run_case(seed, i, nvrtc, fake, &p);
        at->refused += *p.refused != '\0';
        if (!fault && !tells) continue;
        printf("test_plan_fuzz --seed %" PRIu64 " --case %ld   # ", seed, i);
        print_problem(stdout, &p);
        printf(": %s%s (%s)\n", fault ? "expected " : "", fault ? fault : "fine", p.refused);
        fflush(stdout);
        if (fault) return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {{"seed", required_argument, NULL, 's'},
                                          {"cases", required_argument, NULL, 'n'},
                                          {"case", required_argument, NULL, 'c'},
                                          {"nvrtc", required_argument, NULL, 'N'},
                                          {NULL, 0, NULL, 0}};
    uint64_t seed = 1;
    long cases = 1200, one = -1;
    const char *nvrtc = NULL;
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (option == 's') seed = strtoull(optarg, NULL, 10);
        if (option == 'n') cases = atol(optarg);
        if (option == 'c') one = atol(optarg);
        if (option == 'N') nvrtc = optarg;
        if (option == '?') return fputs(usage, stderr), 2;
    }
    progress *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 2;
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    unsetenv("KILN_RECORD");
    if (one >= 0) return run_cases(seed, one, one + 1, nvrtc, true, at);
    int status = 0;
    pid_t worker = fork();
    if (worker == 0) exit(run_cases(seed, 0, cases, nvrtc, false, at));
    if (worker < 0 || waitpid(worker, &status, 0) != worker) return 2;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
        printf("test_plan_fuzz --seed %" PRIu64 " --case %ld   # ended with %s %d\n", seed, at->now,
               WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    else
        printf("%ld cases of seed %" PRIu64 ", %ld of them refused\n", cases, seed, at->refused);
    return status != 0;
}

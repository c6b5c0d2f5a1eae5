/* SPDX-License-Identifier: Apache-2.0 */
/* Points of rows that lie side by side, drawn at random and worked out by their builder alone, whatever would be
 * chosen: what it makes a schedule of runs on the software GPU as on the CPU reference, and touches nothing outside of
 * its tensors, which fill their allocations. `test_column_points 500 7` draws 500 of them, others than with another 7.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/extent.h"
#include "base/types.h"
#include "schedule/rank.h"
#include "support/bound.h"
#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int wanted_points = 32;

/* ---- a point, whatever would be chosen ---- */

static kiln__pins point;
static bool refused; /* the last time that a schedule was asked for */
static bool misaligned, wrapped;

kiln_status __wrap_kiln__rank(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count);
kiln_status __wrap_kiln__rank(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count) {
    (void)pins;
    assert_int_equal(g->problem->layout, KILN__LAYOUT_OUTER);
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    **out = (kiln__ranked){.point = point, .slowdown = 1};
    *count = 1;
    return KILN_OK;
}

static kiln_status see(kiln_status status, int attempt, const kiln__schedule *s) {
    refused = status == KILN_E_UNSUPPORTED && attempt == 0;
    if (!status) misaligned = s->edges == KILN__EDGES_MISALIGNED;
    if (!status) wrapped = s->edges == KILN__EDGES_WRAPPED;
    return status;
}

kiln_status __real_kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                         const kiln__pins *pins, int attempt, kiln__schedule *out);
kiln_status __wrap_kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                         const kiln__pins *pins, int attempt, kiln__schedule *out);
kiln_status __wrap_kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                         const kiln__pins *pins, int attempt, kiln__schedule *out) {
    return see(__real_kiln__schedule_choose(ir, problem, device, pins, attempt, out), attempt, out);
}

kiln_status __real_kiln__schedule_choose_point(const kiln__ir *ir, const kiln__problem *problem,
                                               const kiln__device *device, const kiln__pins *pins, int attempt,
                                               kiln__schedule *out, kiln__pins *taken);
kiln_status __wrap_kiln__schedule_choose_point(const kiln__ir *ir, const kiln__problem *problem,
                                               const kiln__device *device, const kiln__pins *pins, int attempt,
                                               kiln__schedule *out, kiln__pins *taken);
kiln_status __wrap_kiln__schedule_choose_point(const kiln__ir *ir, const kiln__problem *problem,
                                               const kiln__device *device, const kiln__pins *pins, int attempt,
                                               kiln__schedule *out, kiln__pins *taken) {
    return see(__real_kiln__schedule_choose_point(ir, problem, device, pins, attempt, out, taken), attempt, out);
}

/* ---- tensors that fill their allocations ---- */

enum { TENSORS = 4 };

typedef struct memory {
    unsigned char *got, *expected;
    kiln__CUdeviceptr device;
    size_t bytes;
} memory;

static memory make_memory(const kiln_tensor *tensor, bool output) {
    memory m = {.bytes = (size_t)kiln__extent_of(tensor).high};
    const size_t size = kiln_type_size(tensor->type);
    m.got = malloc(m.bytes);
    m.expected = malloc(m.bytes);
    assert_non_null(m.got);
    assert_non_null(m.expected);
    memset(m.got, 0x5a, m.bytes);
    for (size_t i = 0; !output && i < m.bytes / size; i++)
        kiln__store_f64(tensor->type, m.got + i * size, packed_value(tensor->type, i));
    memcpy(m.expected, m.got, m.bytes);
    assert_int_equal(packed_device.driver->MemAlloc(&m.device, m.bytes), 0);
    assert_int_equal(packed_device.driver->MemcpyHtoD(m.device, m.got, m.bytes), 0);
    return m;
}

static void free_memory(memory *m) {
    assert_int_equal(packed_device.driver->MemFree(m->device), 0);
    free(m->got);
    free(m->expected);
}

/* ---- a program of such a point ---- */

typedef struct trial {
    const char *program, *axes;
    char tensors[200]; /* inputs, then the output */
    uint64_t seed;
} trial;

static void fail_trial(const trial *t, const char *why) {
    char pins[KILN__PINS_SIZE];
    kiln__pins_write(&point, pins);
    fail_msg("%s over %s of %s, '%s', seed %llu: %s", t->program, t->axes, t->tensors, pins,
             (unsigned long long)t->seed, why);
}

/* Gaps byte for byte. */
static void compare(const trial *t, kiln_type type, const memory *m) {
    const size_t size = kiln_type_size(type);
    const double tolerance = type == KILN_F32 ? 2e-5 : type == KILN_F16 ? 0x1p-9 : 0x1p-6;
    for (size_t i = 0; i < m->bytes; i += size) {
        char why[96];
        if (!memcmp(m->got + i, m->expected + i, size)) continue;
        const double got = kiln__load_f64(type, m->got + i), expected = kiln__load_f64(type, m->expected + i);
        if (fabs(got - expected) <= tolerance * fmax(fabs(expected), 1)) continue;
        snprintf(why, sizeof why, "%g at %zu of %zu, expected %g", got, i / size, m->bytes / size, expected);
        fail_trial(t, why);
    }
}

/* False where the point is no schedule. */
static bool run_trial(const trial *t) {
    kiln_tensor gpu[KILN_MAX_TENSORS], host[TENSORS];
    memory memories[TENSORS];
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    const int axis = t->axes[0] - '0';
    const size_t count = bound_tensors(t->tensors, gpu);
    options.axes = &axis;
    options.axis_count = 1;
    assert_int_equal(kiln_program_create(packed_device.kiln, t->program, &options, &program), KILN_OK);
    for (size_t i = 0; i < count; i++) {
        memories[i] = make_memory(&gpu[i], i + 1 == count);
        host[i] = gpu[i];
        host[i].data = memories[i].expected;
        gpu[i].data = (void *)(uintptr_t)memories[i].device;
    }
    memory *out = &memories[count - 1];
    refused = false;
    packed_device.gpu.seed(t->seed);
    kiln_status status = kiln_run(program, gpu, count, NULL, 0, NULL);
    if (status && !refused) fail_trial(t, kiln_last_error());
    if (!status) status = kiln_run_cpu(program, host, count, NULL, 0);
    if (!status) {
        assert_int_equal(packed_device.driver->MemcpyDtoH(out->got, out->device, out->bytes), 0);
        compare(t, gpu[count - 1].type, out);
    }
    for (size_t i = 0; i < count; i++) free_memory(&memories[i]);
    kiln_program_destroy(program);
    return !refused;
}

/* ---- of as many neighbours as leave every remainder by the vector ---- */

/* w and b have a value for each column, v one for each row. */
typedef struct program {
    const char *text;
    bool w, b, v, reduces;
} program;

static const program rms_norm = {"y = rms_norm(x, w)", .w = true};
static const program layer_norm = {"y = layer_norm(x, w, b)", .w = true, .b = true};
static const program softmax = {"y = softmax(x + v)", .v = true};
static const program scaled = {"y = x * v + max(x)", .v = true};
static const program dot = {"s = sum(x * w) + v", .w = true, .v = true, .reduces = true};
static const program logsumexp = {"s = logsumexp(x)", .reduces = true};
static const program sum = {"s = sum(x)", .reduces = true};
static const program first = {"s = f32(argmax(x))", .reduces = true};
static const program last = {"y = x + reduce((a, b) -> b > 0.5 ? b : a, x, 0)", .reduces = false};
static const program spread = {"y = (x - mean(x)) / std(x) + index(-2) * 0.125", .reduces = false};
static const program *const programs[] = {&rms_norm, &layer_norm, &softmax, &scaled, &dot,
                                          &sum,      &logsumexp,  &first,   &spread};

typedef enum runs { ONE_RUN, TWO_RUNS, APART } runs;

typedef struct shape {
    const program *program;
    const char *type, *out;
    runs runs; /* of rows; APART: two, apart in what has a value for each row */
    int cols, run;
} shape;

static void bind(const shape *s, int run, trial *t) {
    const char *outer = s->runs ? "2," : "", *one = s->runs ? "1," : "";
    char *text = t->tensors, *end = text + sizeof t->tensors;
    t->program = s->program->text;
    t->axes = s->runs ? "1" : "0";
    text += snprintf(text, (size_t)(end - text), "%s[%s%d,%d]", s->type, outer, s->cols, run);
    if (s->program->w) text += snprintf(text, (size_t)(end - text), " f32[%s%d,1]", one, s->cols);
    if (s->program->b) text += snprintf(text, (size_t)(end - text), " %s[%s%d,1]", s->type, one, s->cols);
    if (s->program->v) text += snprintf(text, (size_t)(end - text), " %s[%s1,%d]", s->type, outer, run);
    if (s->program->v && s->runs == APART) text += snprintf(text, (size_t)(end - text), "{%d,%d,1}", run + 3, run);
    if (s->program->reduces && s->runs == APART)
        snprintf(text, (size_t)(end - text), " %s[2,%d]{%d,1}", s->out, run, run + 3);
    else if (s->program->reduces)
        snprintf(text, (size_t)(end - text), " %s[%s%d]", s->out, outer, run);
    else
        snprintf(text, (size_t)(end - text), " %s[%s%d,%d]", s->out, outer, s->cols, run);
}

/* They share a kernel. False where the point is no schedule. */
static bool run_point(const shape *s) {
    for (int run = s->run; run < s->run + point.vector_width; run++) {
        trial t = {.seed = (uint64_t)run};
        bind(s, run, &t);
        if (!run_trial(&t)) return false;
    }
    return true;
}

/* ---- points that are given ---- */

static void pin(const char *pins, bool misaligned_vectors) {
    assert_int_equal(kiln__pins_parse(pins, &point), KILN_OK);
    point.vectors_begin = misaligned_vectors ? KILN__BEGIN_ALIGNED : KILN__BEGIN_WITH_ROWS;
    if (!point.cluster) point.cluster = 1;
    if (!point.splits) point.splits = 1;
}

/* Few lanes, and what is exchanged among vectors that begin at different rows. */
static void few_lanes_may_be_misaligned(void **state) {
    static const struct {
        shape shape;
        const char *pins;
    } cases[] = {
        {{&rms_norm, "bf16", "bf16", ONE_RUN, 1024, 68}, "threads 64, stream, vector 8, splits 4, rows 24, phased"},
        {{&layer_norm, "bf16", "f32", ONE_RUN, 700, 68}, "threads 128, stream, vector 8, rows 24, online"},
        {{&rms_norm, "bf16", "f32", TWO_RUNS, 300, 36}, "threads 16, registers, vector 8, rows 24, cluster 8"},
        {{&sum, "f32", "f32", TWO_RUNS, 500, 36}, "threads 32, stream, vector 4, splits 14, rows 24"},
        {{&layer_norm, "f16", "f32", TWO_RUNS, 338, 20}, "threads 16, stream, vector 4, splits 7, rows 8, online"},
        {{&layer_norm, "f32", "f32", ONE_RUN, 130, 8}, "threads 16, stream, vector 2, splits 7, rows 8, online"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pin(cases[i].pins, true);
        assert_true(run_point(&cases[i].shape));
        assert_true(misaligned);
    }
}

/* The lanes of a warp that are not misaligned have the same rows, and are a power of two; vectors are whole. */
static void other_lanes_are_refused(void **state) {
    static const struct {
        const char *pins;
        bool misaligned;
    } cases[] = {
        {"threads 64, stream, vector 8, rows 24", false}, {"threads 32, stream, vector 4, rows 24", false},
        {"threads 64, stream, vector 8, rows 56", false}, {"threads 1, registers, vector 8, rows 128", false},
        {"threads 64, stream, vector 8, rows 4", false},  {"threads 64, stream, vector 8, rows 20", true},
        {"threads 64, stream, vector 3, rows 24", false}, {"threads 64, stream, vector 8, rows 4", true},
    };
    const shape any = {&sum, "bf16", "f32", ONE_RUN, 64, 68};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pin(cases[i].pins, cases[i].misaligned);
        if (run_point(&any)) fail_msg("'%s' is a schedule", cases[i].pins);
    }
}

/* The last launch of split columns goes through rows without their runs: no vector of it may be of two that are apart.
 */
static void split_columns_of_runs_that_are_apart_are_not_misaligned(void **state) {
    static const shape apart = {&sum, "f32", "f32", APART, 223, 37};
    (void)state;
    pin("threads 8, stream, vector 4, rows 44, phased", true);
    assert_true(run_point(&apart));
    pin("threads 8, stream, vector 4, splits 7, rows 44, phased", true);
    assert_false(run_point(&apart));
}

/* A user's combine has a rank's columns side by side: the last ranks of the last chunk have none. */
static void split_columns_in_order_end_where_the_row_does(void **state) {
    static const shape shapes[] = {{&last, "f32", "f32", ONE_RUN, 100000 / 16, 8},
                                   {&last, "f16", "f32", TWO_RUNS, 3001, 16}};
    (void)state;
    pin("threads 32, stream, vector 4, splits 8, rows 8, phased", false);
    for (size_t i = 0; i < COUNT(shapes); i++) assert_true(run_point(&shapes[i]));
}

/* ---- points that are drawn ---- */

static uint32_t random_state = 20270311;
static int draw(int count) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)count);
}
static int draw_of(const int *list, size_t count) { return list[draw((int)count)]; }
#define DRAW_OF(list) draw_of(list, COUNT(list))

static void draw_point(int width) {
    static const int lanes_of[] = {1, 2, 3, 4, 5, 7, 8, 16}, splits[] = {1, 2, 4, 7, 40}, clusters[] = {1, 1, 2, 8};
    static const int stagings[] = {KILN__STAGING_REGISTERS, KILN__STAGING_SHARED, KILN__STAGING_NONE,
                                   KILN__STAGING_NONE};
    point = KILN__PINS_NONE;
    point.vectors_begin = draw(4) ? KILN__BEGIN_ALIGNED : KILN__BEGIN_WITH_ROWS;
    point.staging = DRAW_OF(stagings);
    point.threads = 1 << draw(8);
    point.vector_width = width;
    const int lanes = DRAW_OF(lanes_of);
    point.rows_per_block = (lanes > 1 && point.vectors_begin > 0 ? lanes - 1 : lanes) * width;
    if (draw(16) == 0) point.rows_per_block += 1 + draw(width);
    point.online = draw(2) ? 1 : -1;
    point.splits = point.staging == KILN__STAGING_NONE ? DRAW_OF(splits) : 1;
    point.cluster = point.splits > 1 ? 1 : DRAW_OF(clusters);
}

static shape draw_shape(int width) {
    const int ranks = point.threads * point.cluster, most = ranks < 64 ? 500 : 1500;
    shape s = {.program = programs[draw((int)COUNT(programs))], .runs = (runs)draw(3)};
    s.type = draw(2) ? "f16" : "bf16";
    if (width <= 4 && draw(2)) s.type = "f32";
    s.out = draw(2) ? s.type : "f32";
    s.cols = 2 + draw(point.staging == KILN__STAGING_REGISTERS ? 4 * ranks : most);
    s.run = width + draw(3 * point.rows_per_block);
    return s;
}

static void points_that_are_drawn_give_what_the_reference_gives(void **state) {
    static const int widths[] = {2, 4, 8, 8};
    int built = 0, built_misaligned = 0;
    (void)state;
    for (int i = 0; i < 40 * wanted_points && built < wanted_points; i++) {
        const int width = DRAW_OF(widths);
        draw_point(width);
        const shape s = draw_shape(width);
        if (!run_point(&s)) continue;
        built++;
        built_misaligned += misaligned;
    }
    assert_int_equal(built, wanted_points);
    assert_true(built_misaligned > wanted_points / 2);
}

/* ---- vectors that go on from column to column ---- */

/* A kernel for each number of neighbours. */
static bool run_wrapped(const shape *s) {
    trial t = {.seed = (uint64_t)s->run};
    point.vectors_begin = KILN__BEGIN_WRAPPED;
    point.rows_per_block = s->run;
    bind(s, s->run, &t);
    const bool built = run_trial(&t);
    if (built) assert_true(wrapped);
    return built;
}

/* A block of one chunk and of several; rows that exchange at once, and by and by; the last columns of few ranks. */
static void wrapped_vectors_give_what_the_reference_gives(void **state) {
    static const struct {
        shape shape;
        const char *pins;
    } cases[] = {
        {{&sum, "f16", "f32", ONE_RUN, 5000, 7}, "threads 64, stream, vector 8, splits 16"},
        {{&sum, "f32", "f32", ONE_RUN, 333, 3}, "threads 16, stream, vector 4, splits 1"},
        {{&layer_norm, "f16", "f16", ONE_RUN, 700, 77}, "threads 32, stream, vector 8, splits 7, online"},
        {{&layer_norm, "bf16", "f32", ONE_RUN, 90, 121}, "threads 16, registers, vector 4, splits 1"},
        {{&first, "f16", "f32", ONE_RUN, 4001, 5}, "threads 32, stream, vector 8, splits 25"},
        {{&spread, "f16", "f16", ONE_RUN, 1025, 13}, "threads 32, stream, vector 8, splits 4, online"},
        {{&scaled, "f32", "f32", TWO_RUNS, 64, 11}, "threads 8, stream, vector 4, splits 2"},
        {{&dot, "bf16", "f32", APART, 96, 9}, "threads 16, stream, vector 8, splits 2"},
        {{&softmax, "f16", "f32", TWO_RUNS, 40, 15}, "threads 8, registers, vector 8, splits 1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pin(cases[i].pins, false);
        if (!run_wrapped(&cases[i].shape)) fail_msg("'%s' is none", cases[i].pins);
    }
}

/* Rows of ranks that are no whole vectors, or whose runs begin between them; more than a block has threads for; gaps.
 */
static void other_vectors_are_not_wrapped(void **state) {
    static const struct {
        shape shape;
        const char *pins;
    } cases[] = {
        {{&sum, "f16", "f32", ONE_RUN, 500, 7}, "threads 4, stream, vector 8"},
        {{&sum, "f16", "f32", TWO_RUNS, 501, 7}, "threads 64, stream, vector 8"},
        {{&sum, "f16", "f32", ONE_RUN, 500, 129}, "threads 64, stream, vector 8"},
        {{&sum, "f16", "f32", ONE_RUN, 500, 7}, "threads 64, shared, vector 8"},
        {{&sum, "f16", "f32", ONE_RUN, 500, 7}, "threads 64, registers, vector 8, cluster 2"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pin(cases[i].pins, false);
        if (run_wrapped(&cases[i].shape)) fail_msg("'%s' is a schedule", cases[i].pins);
    }
}

static void wrapped_points_that_are_drawn_give_what_the_reference_gives(void **state) {
    static const int widths[] = {2, 4, 8, 8};
    int built = 0;
    (void)state;
    for (int i = 0; i < 40 * wanted_points && built < wanted_points; i++) {
        const int width = DRAW_OF(widths);
        draw_point(width);
        point.cluster = 1;
        if (point.staging == KILN__STAGING_SHARED) point.staging = KILN__STAGING_NONE;
        shape s = draw_shape(width);
        s.run = 2 + draw(width * 1024 / point.threads < 150 ? width * 1024 / point.threads : 150);
        built += run_wrapped(&s);
    }
    assert_int_equal(built, wanted_points);
}

int main(int argc, char **argv) {
    if (argc > 1) wanted_points = atoi(argv[1]);
    if (argc > 2) random_state = (uint32_t)strtoul(argv[2], NULL, 10);
#if !defined(KILN_SOFTWARE_DRIVER)
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_lanes_may_be_misaligned),
                                       cmocka_unit_test(other_lanes_are_refused),
                                       cmocka_unit_test(split_columns_of_runs_that_are_apart_are_not_misaligned),
                                       cmocka_unit_test(split_columns_in_order_end_where_the_row_does),
                                       cmocka_unit_test(points_that_are_drawn_give_what_the_reference_gives),
                                       cmocka_unit_test(wrapped_vectors_give_what_the_reference_gives),
                                       cmocka_unit_test(other_vectors_are_not_wrapped),
                                       cmocka_unit_test(wrapped_points_that_are_drawn_give_what_the_reference_gives)};
    return cmocka_run_group_tests_name("points of columns", tests, open_packed_device, close_packed_device);
}

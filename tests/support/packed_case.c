/* SPDX-License-Identifier: Apache-2.0 */
/* One case: see packed_case.h. */
#define _POSIX_C_SOURCE 200809L
#include "packed_case.h"

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
#include "bound.h"

enum { TENSORS = 4, GUARD = 64 };

software_device packed_device;

typedef struct buffer {
    unsigned char *host, *expected;
    kiln__CUdeviceptr memory;
    size_t bytes, data; /* where in it the tensor's pointer is */
} buffer;

/* Floats of one sign, so that sums do not cancel; integers, some of them 0. */
double packed_value(kiln_type type, size_t i) {
    const double u = (double)(i * 40503u % 1009) / 1009;
    if (kiln__type_is_float(type)) return 4 * u + 0.25;
    return i % 5 < 2 ? 0 : (double)(int)(200 * u - 100);
}

static void make_buffer(const kiln_tensor *tensor, bool output, buffer *b) {
    const kiln__extent extent = kiln__extent_of(tensor);
    const size_t element = kiln_type_size(tensor->type), shift = (uintptr_t)tensor->data % 16;
    b->data = GUARD + shift;
    b->bytes = b->data + (size_t)extent.high + (output ? GUARD : 0); /* what is read ends where its memory ends */
    b->host = malloc(b->bytes);
    b->expected = malloc(b->bytes);
    assert_non_null(b->host);
    assert_non_null(b->expected);
    memset(b->host, 0x5a, b->bytes);
    for (size_t i = 0; !output && i < (size_t)extent.high / element; i++)
        kiln__store_f64(tensor->type, b->host + b->data + i * element, packed_value(tensor->type, i));
    memcpy(b->expected, b->host, b->bytes);
    assert_int_equal(packed_device.driver->MemAlloc(&b->memory, b->bytes), 0);
    assert_int_equal(packed_device.driver->MemcpyHtoD(b->memory, b->host, b->bytes), 0);
}

static double tolerance(kiln_type type) {
    return type == KILN_F16 ? 0x1p-9 : type == KILN_F32 ? 1e-5 : type == KILN_F64 ? 1e-6 : 0;
}

/* Byte for byte, gaps and guards included, but that floats may differ in their last bits. */
static void compare(const packed_case *c, kiln_type type, const buffer *b) {
    const size_t element = kiln_type_size(type);
    for (size_t i = b->data % element; i + element <= b->bytes; i += element) {
        if (!memcmp(b->host + i, b->expected + i, element)) continue;
        double got = kiln__load_f64(type, b->host + i), expected = kiln__load_f64(type, b->expected + i);
        if (!(fabs(got - expected) <= tolerance(type) * fmax(fabs(expected), type == KILN_F32 ? 0.05 : 1e-3)))
            fail_msg("%s over %s of %s (%s): %g at %zu, expected %g", c->program, c->axes, c->tensors,
                     c->pins ? c->pins : "", got, (i - b->data) / element, expected);
    }
}

static int axes_of(const char *text, int axes[8]) {
    int count = 0;
    for (; *text; text++)
        if (*text != ',') axes[count++] = *text - '0';
    return count;
}

/* ---- what the expected description pins ---- */

typedef struct pinning {
    char text[256];
    bool outer, flat, tile, lanes;
    int threads, rows, width; /* of a block of neighbouring rows: what a row's threads follow from */
} pinning;

static bool says(const char *pins, const char *word) {
    for (const char *at = pins; (at = strstr(at, word)) != NULL; at++)
        if (at == pins || at[-1] == ' ') return true;
    return false;
}

static void add_word(pinning *p, const char *word, const char *number) {
    const size_t used = strlen(p->text);
    if (!says(p->text, word))
        snprintf(p->text + used, sizeof p->text - used, "%s%s%s%s", used ? ", " : "", word, *number ? " " : "", number);
}

/* A description may end within a part. */
static void add_number(pinning *p, const char *word, const char *number) {
    if (atoi(number) > 0) add_word(p, word, number);
}

static bool is_flag(const pinning *p, const char *word) {
    static const char *const flags[] = {"registers", "shared", "stream", "tile", "online", "misaligned"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i])) return true;
    return !strcmp(word, "persistent") && !says(p->text, "grid"); /* a grid is always so */
}

/* "vector 8 x 2" is the pin "vector 8", "columns 32" is "threads 32", "64 rows per block" is "rows 64"; what follows
 * from others, and what nothing pins, is passed over. A tile of neighbouring rows has no words but its own. */
static void add_part(pinning *p, const char *part) {
    char word[32] = "", number[32] = "", rest[32] = "";
    const int found = sscanf(part, "%31s %31s %31[^\n]", word, number, rest);
    if (found == 1 && is_flag(p, word)) add_word(p, word, "");
    if (!strcmp(word, "columns")) add_number(p, "threads", number);
    if (!strcmp(number, "rows") && !(p->outer && p->tile) && !(p->lanes && !p->tile)) add_number(p, "rows", word);
    if (p->outer && p->tile) return;
    if (!strcmp(word, "block")) p->threads = atoi(number);
    if (!strcmp(word, "vector")) p->width = atoi(number);
    if (!strcmp(number, "rows")) p->rows = atoi(word);
    if (!strcmp(word, "vector") && p->flat && rest[0] == 'x' && rest[1]) add_number(p, "steps", rest + 2);
    if (!strcmp(word, "vector") || !strcmp(word, "splits") || !strcmp(word, "cluster") || !strcmp(word, "lanes"))
        add_number(p, word, number);
    if ((!strcmp(word, "block") && !p->outer) || (!strcmp(word, "threads") && p->flat)) add_number(p, word, number);
}

/* What the case pins, and the rest of what it expects, so that the schedule is what it is about whatever is chosen. */
static const char *pins_of(const packed_case *c, pinning *p) {
    *p = (pinning){.text = ""};
    snprintf(p->text, sizeof p->text, "%s", c->pins ? c->pins : "");
    if (!c->schedule) return c->pins;
    p->flat = !*c->axes;
    p->outer = !p->flat && !strstr(c->schedule, "inner");
    p->tile = strstr(c->schedule, "tile") || says(p->text, "tile");
    p->lanes = strstr(c->schedule, "lanes") || says(p->text, "lanes");
    char copy[256], *state = NULL;
    snprintf(copy, sizeof copy, "%s", c->schedule);
    for (char *part = strtok_r(copy, ",", &state); part; part = strtok_r(NULL, ",", &state)) add_part(p, part);
    char ranks[32];
    if (p->outer && p->threads && p->rows) {
        snprintf(ranks, sizeof ranks, "%d", p->threads * p->width / p->rows);
        add_word(p, "threads", ranks);
    }
    if (!p->outer && says(p->text, "block")) add_word(p, "cluster", "1");
    return p->text;
}

void run_packed_case(const packed_case *c, packed_result *result) {
    run_packed_case_by(KILN_POLICY_COMPILE, c, result);
}

void run_packed_case_by(kiln_policy policy, const packed_case *c, packed_result *result) {
    pinning pinned;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options of_program = KILN_PROGRAM_OPTIONS_INIT;
    kiln_tensor gpu[KILN_MAX_TENSORS], host[TENSORS];
    buffer buffers[TENSORS] = {{0}};
    int axes[8];
    kiln_context *kiln = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
#if defined(KILN_SOFTWARE_DRIVER)
    options.driver_path = KILN_SOFTWARE_DRIVER;
    options.nvrtc_path = KILN_SOFTWARE_NVRTC;
#endif
    options.cache_dir = "";
    options.schedule = pins_of(c, &pinned);
    options.policy = policy;
    of_program.axes = axes;
    of_program.axis_count = (size_t)axes_of(c->axes, axes);
    if (kiln_context_create(&options, &kiln)) fail_msg("%s: %s", pinned.text, kiln_last_error());
    assert_int_equal(kiln_program_create(kiln, c->program, &of_program, &program), KILN_OK);
    const size_t count = bound_tensors(c->tensors, gpu);
    for (size_t t = 0; t < count; t++) {
        buffer *b = &buffers[t];
        if (t + 1 == count && c->in_place)
            *b = buffers[0];
        else
            make_buffer(&gpu[t], t + 1 == count, b);
        host[t] = gpu[t];
        host[t].data = b->expected + b->data;
        gpu[t].data = (void *)(uintptr_t)(b->memory + b->data);
    }
    kiln_status status = kiln_plan_create(program, gpu, count, NULL, 0, &plan);
    if (!status) status = kiln_plan_get_info(plan, &info);
    if (!status) status = kiln_run(program, gpu, count, NULL, 0, NULL);
    if (!status) status = kiln_run_cpu(program, host, count, NULL, 0);
    if (status) fail_msg("%s over %s of %s, %s: %s", c->program, c->axes, c->tensors, pinned.text, kiln_last_error());
    const char *layout = c->schedule && strstr(c->schedule, "inner") ? "inner" : !*c->axes ? "flat" : "outer";
    if (!strstr(info.schedule, layout) || (c->schedule && !strstr(info.schedule, c->schedule)))
        fail_msg("%s over %s of %s, %s: %s, expected %s", c->program, c->axes, c->tensors, pinned.text, info.schedule,
                 c->schedule);
    assert_int_equal(packed_device.driver->CtxSynchronize(), 0);
    buffer *out = &buffers[count - 1];
    assert_int_equal(packed_device.driver->MemcpyDtoH(out->host, out->memory, out->bytes), 0);
    compare(c, gpu[count - 1].type, out);
    if (result && result->output) memcpy(result->output, out->host + out->data, result->bytes);
    for (size_t t = 0; t < count - c->in_place; t++) {
        assert_int_equal(packed_device.driver->MemFree(buffers[t].memory), 0);
        free(buffers[t].host);
        free(buffers[t].expected);
    }
    if (result) snprintf(result->schedule, sizeof result->schedule, "%s", info.schedule);
    if (result) result->most_cols = info.most_cols;
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(kiln);
}

bool packed_tests_are_skipped(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#if defined(KILN_SOFTWARE_DRIVER)
    return false;
#else
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return true;
#endif
}

int open_packed_device(void **state) {
    (void)state;
    return software_device_open(NULL, &packed_device) != KILN_OK;
}

int close_packed_device(void **state) {
    (void)state;
    return software_device_close(&packed_device) != KILN_OK;
}

void packed_draw(uint32_t *random, size_t count, int draw[]) {
    for (size_t i = 0; i < count; i++) {
        *random = *random * 1664525u + 1013904223u; /* Numerical Recipes' generator */
        draw[i] = (int)(*random >> 8);
    }
}

void expect_same_bits(const packed_case *a, const packed_case *b, size_t bytes, packed_result of[2]) {
    const packed_case *cases[] = {a, b};
    for (int i = 0; i < 2; i++) {
        of[i].bytes = bytes;
        of[i].output = malloc(bytes);
        assert_non_null(of[i].output);
        run_packed_case(cases[i], &of[i]);
    }
    if (memcmp(of[0].output, of[1].output, bytes))
        fail_msg("%s: other bits over %s (%s) than over %s (%s)", a->program, a->tensors, of[0].schedule, b->tensors,
                 of[1].schedule);
    for (int i = 0; i < 2; i++) free(of[i].output);
}

/* Each allocation in turn fails: every call says KILN_E_MEMORY or works all the same, and leaves nothing behind. The
 * linker puts the functions below in the place of malloc and its kin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch_fixture.h"
#include "packing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

/* Allocations until one fails; 0: none does. */
static long countdown;
static bool failed;

/* What was allocated and not yet freed while counting is on. The C library's own allocations are none of it. */
static void *live[65536];
static size_t live_count;
static bool counting;

static bool fails_now(void) {
    if (!countdown || --countdown) return false;
    failed = true;
    return true;
}

static void *add(void *memory) {
    if (counting && memory && live_count < sizeof live / sizeof *live) live[live_count++] = memory;
    return memory;
}

static void forget(const void *memory) {
    size_t i = live_count;
    while (i > 0 && live[i - 1] != memory) i--;
    if (i > 0) live[i - 1] = live[--live_count];
}

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : add(__real_malloc(size)); }
void *__wrap_calloc(size_t number, size_t size) { return fails_now() ? NULL : add(__real_calloc(number, size)); }
char *__wrap_strdup(const char *string) { return fails_now() ? NULL : add(__real_strdup(string)); }
void *__wrap_realloc(void *old, size_t size) {
    if (fails_now()) return NULL;
    forget(old);
    return add(__real_realloc(old, size));
}
void __wrap_free(void *memory) {
    forget(memory);
    __real_free(memory);
}

/* ---- the calls ---- */

static float x[4 * 33], y[4 * 33], s[4];
static const char *const text = "fn twice(a) = a + a\nm = reduce((a, b) -> maximum(a, b), twice(x) * k, -1e30)\n"
                                "y = exp(x - m) / sum(exp(x - m)); s = logsumexp(x)";

/* Everything that needs neither driver nor NVRTC. */
static kiln_status plan_and_run_on_the_cpu(launch_fixture *f) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_tensor tensors[3] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){4, 33}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){4, 33}),
                              kiln_tensor_contiguous(s, KILN_F32, 1, (int64_t[]){4})};
    kiln_scalar k = kiln_scalar_f64(0.5);
    options.cache_dir = f->dir;
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    how.scalars = "k";
    how.outputs = "y,s";
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, text, &how, &program);
    if (!status) status = kiln_compile(program, tensors, 3, &k, 1, 90, 0, 0, &kernel);
    if (!status) status = kiln_run_cpu(program, tensors, 3, &k, 1);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* A plan, a launch by it and one by kiln_run, on the stand-ins. */
static kiln_status launch_on_the_device(launch_fixture *f) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){4, 33}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){4, 33})};
    void *data[2] = {x, y};
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status) status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    if (!status) status = kiln_plan_launch(plan, data, 2, NULL, 0, NULL);
    if (!status) status = kiln_run(program, tensors, 2, NULL, 0, NULL);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static uint8_t *pack_bytes;
static size_t pack_size;

/* A plan from a pack in memory, and a kernel that is missing there and recorded. */
static kiln_status plan_from_a_pack(launch_fixture *f) {
    char record[128];
    const kiln_pack pack = {NULL, pack_bytes, pack_size};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL, *missing = NULL;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){4, 33}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){4, 33})};
    kiln_tensor shorter[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){4, 32}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){4, 32})};
    snprintf(record, sizeof record, "%s/record.jsonl", f->dir);
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    options.policy = KILN_POLICY_NEVER_COMPILE;
    options.packs = &pack;
    options.pack_count = 1;
    options.record_path = record;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status) status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    if (!status) status = kiln_plan_create(program, shorter, 2, NULL, 0, &missing);
    kiln_plan_destroy(plan);
    kiln_plan_destroy(missing);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status == KILN_E_WOULD_COMPILE && plan ? KILN_OK : status;
}

/* With the nth allocation failing, n = 1, 2, ... until none is left to fail. */
static void fail_each(launch_fixture *f, kiln_status (*calls)(launch_fixture *)) {
    assert_int_equal(calls(f), KILN_OK); /* what is opened once per process is open now */
    long n = 0;
    do {
        failed = false;
        live_count = 0;
        counting = true;
        countdown = ++n;
        kiln_status status = calls(f);
        countdown = 0;
        counting = false;
        /* Some memory is only for speed or for the cache: without it the work is done all the same. */
        if (status && status != KILN_E_MEMORY)
            fail_msg("allocation %ld: %s: %s", n, kiln_status_name(status), kiln_last_error());
        if (status) assert_string_equal(kiln_last_error(), "the host's memory ran out");
        if (live_count) fail_msg("allocation %ld: %zu blocks are left behind", n, live_count);
    } while (failed);
    assert_true(n > 20);
    assert_int_equal(calls(f), KILN_OK);
}

static void planning_and_the_reference_survive_every_failed_allocation(void **state) {
    fail_each(*state, plan_and_run_on_the_cpu);
}

static void launching_survives_every_failed_allocation(void **state) {
    launch_fixture *f = *state;
    fail_each(f, launch_on_the_device);
    assert_int_equal(f->fake->loads, f->fake->unloads);
}

static void packs_and_records_survive_every_failed_allocation(void **state) {
    launch_fixture *f = *state;
    pack_writer writer = {NULL, 0, 0};
    const kiln__device device = kiln__device_typical(90);
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){4, 33}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){4, 33})};
    assert_int_equal(packing_add(&writer, program, tensors, NULL, &device, false), KILN_OK);
    assert_int_equal(pack_writer_finish(&writer, &pack_bytes, &pack_size), KILN_OK);
    pack_writer_free(&writer);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    fail_each(f, plan_from_a_pack);
    free(pack_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(planning_and_the_reference_survive_every_failed_allocation),
        WITH_LAUNCHES(launching_survives_every_failed_allocation),
        WITH_LAUNCHES(packs_and_records_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What an application decides for a context: where its memory is from, and which CUDA context its calls work in. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

/* Memory of either kind, counted. */
typedef struct counted {
    atomic_long taken, given_back, bytes; /* bytes: not given back yet */
    atomic_bool refuses, crooked;
    atomic_long refused_request; /* the one that is refused, from 1; 0: none */
    void *stream;                /* of the last call */
} counted;

static void *take(counted *c, size_t bytes) {
    if (c->refuses || (c->refused_request > 0 && --c->refused_request == 0)) return NULL;
    c->taken++;
    c->bytes += (long)bytes;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void give_back(counted *c, void *memory, size_t bytes) {
    assert_non_null(memory);
    c->given_back++;
    c->bytes -= (long)bytes;
    free(memory);
}

static void *take_host(void *user, size_t bytes) {
    void *memory = take(user, bytes);
    return memory ? memset(memory, 0xa5, bytes) : NULL; /* nobody may count on zeros */
}

static void give_back_host(void *user, void *memory, size_t bytes) { give_back(user, memory, bytes); }

static void *take_device(void *user, size_t bytes, void *stream) {
    counted *c = user;
    c->stream = stream;
    char *memory = take(c, bytes);
    return memory && c->crooked ? memory + 8 : memory;
}

static void give_back_device(void *user, void *memory, size_t bytes, void *stream) {
    counted *c = user;
    assert_ptr_equal(stream, c->stream);
    give_back(c, c->crooked ? (char *)memory - 8 : memory, bytes);
}

static kiln_context *create(launch_fixture *f, kiln_context_options *options) {
    kiln_context *context = NULL;
    options->cache_dir = "";
    options->driver_path = KILN_FAKE_DRIVER;
    options->nvrtc_path = f->nvrtc;
    if (kiln_context_create(options, &context)) fail_msg("%s", kiln_last_error());
    return context;
}

/* ---- memory ---- */

static void what_a_context_keeps_is_in_the_applications_memory(void **state) {
    launch_fixture *f = *state;
    counted host = {0};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    options.host_allocator = (kiln_host_allocator){take_host, give_back_host, &host};
    options.loaded_max_count = 8;
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    for (int cols = 1; cols <= 40; cols++) { /* more than may stay loaded */
        char tensors[64];
        snprintf(tensors, sizeof tensors, "f32[4,%d] f32[4,%d]", 8 * cols, 8 * cols);
        for (int i = 0; i < 2; i++) launch_expect(launch_run(program, tensors), KILN_OK, "");
    }
    launch_expect(kiln_context_get_stats(context, &stats), KILN_OK, "");
    assert_true(stats.kernels > 0 && stats.kernels <= 8);
    assert_true(host.bytes > stats.kernel_bytes / 2);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    bound_tensors("f32[4,8]@16 f32[4,8]@16", tensors);
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_true(host.taken > 80);
    assert_int_equal(host.taken, host.given_back);
    assert_int_equal(host.bytes, 0);
}

static void without_host_memory_a_call_fails_and_the_next_works(void **state) {
    launch_fixture *f = *state;
    counted host = {0};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.host_allocator = (kiln_host_allocator){take_host, give_back_host, &host};
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    host.refuses = true;
    launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_E_MEMORY, "the host's memory ran out");
    host.refuses = false;
    bool refused = true;
    for (int request = 1; refused; request++) { /* each in turn, of a shape and a kernel that are new */
        char tensors[64];
        snprintf(tensors, sizeof tensors, "f32[4,%d] f32[4,%d]", 8 * request, 8 * request);
        host.refused_request = request;
        kiln_status status = launch_run(program, tensors);
        refused = host.refused_request == 0;
        host.refused_request = 0;
        if (status && (status != KILN_E_MEMORY || !refused)) fail_msg("request %d: %s", request, kiln_last_error());
        launch_expect(launch_run(program, tensors), KILN_OK, "");
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(host.taken, host.given_back);
    assert_int_equal(f->fake->loads, f->fake->unloads);
}

static void workspaces_are_from_the_device_allocator(void **state) {
    launch_fixture *f = *state;
    counted device = {0};
    int queue;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    options.device_allocator = (kiln_device_allocator){take_device, give_back_device, &device};
    options.schedule = "stream, splits 4";
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    bound_tensors("f16[8,65536]@64 f16[8,65536]@64", tensors);
    void *data[] = {tensors[0].data, tensors[1].data};
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    assert_true(info.workspace_bytes > 0);
    f->fake->allocations = 0;
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, &queue), KILN_OK, "");
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, &queue), KILN_OK, "");
    assert_ptr_equal(device.stream, &queue);
    assert_int_equal(device.taken, 2);
    assert_int_equal(device.given_back, 2);
    assert_int_equal(f->fake->allocations, 0);
    static _Alignas(16) unsigned char own[1 << 20];
    assert_true(info.workspace_bytes <= (int64_t)sizeof own);
    launch_expect(kiln_plan_launch_with_workspace(plan, data, 2, NULL, 0, own, sizeof own, NULL), KILN_OK, "");
    assert_int_equal(device.taken, 2);
    device.crooked = true;
    assert_int_equal(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_E_POINTER);
    assert_non_null(strstr(kiln_last_error(), "expected a multiple of 16 bytes"));
    device.crooked = false;
    device.refuses = true;
    assert_int_equal(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_E_DEVICE_MEMORY);
    assert_non_null(strstr(kiln_last_error(), "the device allocator has no "));
    device.refuses = false;
    launch_fail(f, "cuLaunchKernel", 719, 1);
    assert_int_equal(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_E_LAUNCH);
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(device.taken, device.given_back);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static kiln_status run_in(const kiln_program *program, const kiln_tensor *tensors, void *memory, int64_t bytes) {
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.workspace = memory;
    options.workspace_bytes = bytes;
    return kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &options);
}

static void a_run_takes_a_workspace_of_the_callers(void **state) {
    launch_fixture *f = *state;
    static _Alignas(16) unsigned char own[1 << 20];
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.schedule = "stream, splits 4";
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    bound_tensors("f16[8,65536]@64 f16[8,65536]@64", tensors);
    f->fake->allocations = 0;
    launch_expect(run_in(program, tensors, own, sizeof own), KILN_OK, ""); /* a new shape */
    launch_expect(run_in(program, tensors, own, sizeof own), KILN_OK, ""); /* a known one */
    assert_int_equal(f->fake->allocations, 0);
    assert_int_equal(run_in(program, tensors, own, 16), KILN_E_SIZE);
    assert_non_null(strstr(kiln_last_error(), "the workspace has 16 bytes, expected "));
    assert_int_equal(run_in(program, tensors, own + 8, sizeof own - 8), KILN_E_POINTER);
    assert_non_null(strstr(kiln_last_error(), "expected a multiple of 16 bytes"));
    launch_expect(run_in(program, tensors, NULL, 0), KILN_OK, "");
    assert_int_equal(f->fake->allocations, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void an_older_caller_has_no_workspace(void **state) {
    launch_fixture *f = *state;
    kiln_context_options none = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = create(f, &none);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.struct_size = offsetof(kiln_call_options, workspace);
    options.workspace = (void *)1; /* not there for that caller */
    bound_tensors("f16[8,1024]@64 f16[8,1024]@64", tensors);
    launch_expect(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &options), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void half_an_allocator_is_refused(void **state) {
    (void)state;
    counted memory = {0};
    kiln_context *context = NULL;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.host_allocator.allocate = take_host;
    options.host_allocator.user = &memory;
    launch_expect(kiln_context_create(&options, &context), KILN_E_ARGUMENT,
                  "kiln_context_options.host_allocator has one callback, expected both or none");
    options = (kiln_context_options)KILN_CONTEXT_OPTIONS_INIT;
    options.device_allocator.release = give_back_device;
    launch_expect(kiln_context_create(&options, &context), KILN_E_ARGUMENT,
                  "kiln_context_options.device_allocator has one callback, expected both or none");
    options = (kiln_context_options)KILN_CONTEXT_OPTIONS_INIT;
    options.device = -1;
    launch_expect(kiln_context_create(&options, &context), KILN_E_ARGUMENT,
                  "kiln_context_options.device is -1, expected 0 or more");
}

/* ---- the CUDA context ---- */

static kiln__CUcontext current_of(const launch_fixture *f) {
    kiln__CUcontext current = NULL;
    assert_int_equal(f->driver->CtxGetCurrent(&current), 0);
    return current;
}

static void calls_work_in_the_primary_context_and_leave_the_threads_own(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.primary_context = 1;
    options.device = 1;
    const long before = f->fake->primaries;
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    bound_tensors("f32[4,8]@64 f32[4,8]@64", tensors);
    void *data[] = {tensors[0].data, tensors[1].data};
    assert_int_equal(f->fake->primaries, before); /* not before it is needed */
    for (int device = -1; device < 2; device++) {
        const kiln__CUcontext own = (launch_use_device(f, device), current_of(f));
        const long retained = f->fake->primaries;
        launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
        launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_OK, "");
        launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_OK, "");
        assert_int_equal(f->fake->last_device, 1);
        launch_expect(launch_run(program, "f32[5,8] f32[4,8]"), KILN_E_SHAPE,
                      "output 'y' has shape [4, 8], expected [5, 8]");
        assert_ptr_equal(current_of(f), own);
        assert_int_equal(f->fake->primaries - retained, device < 0); /* once */
        kiln_plan_destroy(plan);
    }
    const long retained = f->fake->primaries;
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(f->fake->primaries, retained - 1);
}

static void a_device_that_is_not_there_is_told(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.primary_context = 1;
    options.device = 7;
    kiln_context *context = create(f, &options);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    assert_int_equal(launch_run(program, "f32[4,8] f32[4,8]"), KILN_E_NO_DEVICE);
    launch_use_device(f, -1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    options.device = 0;
    context = create(f, &options);
    program = launch_program(context, "y = softmax(x)");
    launch_fail(f, "cuDevicePrimaryCtxRetain", 2, 1);
    assert_int_equal(launch_run(program, "f32[4,8] f32[4,8]"), KILN_E_DEVICE_MEMORY);
    launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- statistics ---- */

static kiln_context_stats stats_of(kiln_context *context) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    launch_expect(kiln_context_get_stats(context, &stats), KILN_OK, "");
    return stats;
}

static void what_a_context_does_is_counted(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_context_stats stats = stats_of(context);
    assert_int_equal(stats.compiled + stats.from_memory + stats.kernels + stats.shapes, 0);
    setenv("FAKE_NVRTC_MS", "20", 1);
    launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_OK, "");
    unsetenv("FAKE_NVRTC_MS");
    stats = stats_of(context);
    assert_int_equal(stats.compiled, 1);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.kernels, 1);
    assert_int_equal(stats.shapes, 1);
    assert_true(stats.kernel_bytes > 1000);
    assert_true(stats.compile_seconds >= 0.02 && stats.compile_seconds < 20);
    launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_OK, ""); /* known: nothing to count */
    launch_expect(launch_run(program, "f32[5,8] f32[5,8]"), KILN_OK, "");
    stats = stats_of(context);
    assert_int_equal(stats.compiled, 1);
    assert_int_equal(stats.from_memory, 1);
    assert_int_equal(stats.shapes, 2);
    kiln_program_destroy(program);
    assert_int_equal(stats_of(context).shapes, 0);
    program = launch_program(context, "source_refused = x");
    assert_int_equal(launch_run(program, "f32[4,8] f32[4,8]"), KILN_E_COMPILE);
    stats = stats_of(context);
    assert_int_equal(stats.failed_compiles, 1);
    assert_int_equal(stats.refused, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), KILN_OK, "");
    stats = stats_of(context);
    assert_int_equal(stats.from_disk, 1);
    assert_int_equal(stats.compiled, 0);
    kiln_program_destroy(program);
    kiln_context_stats shorter = {.struct_size = 16};
    assert_int_equal(kiln_context_get_stats(context, &shorter), KILN_E_ARGUMENT);
    launch_expect(kiln_context_get_stats(context, NULL), KILN_E_ARGUMENT, "stats is NULL");
    launch_expect(kiln_context_get_stats(NULL, &stats), KILN_E_ARGUMENT, "context is NULL");
    kiln_context_destroy(context);
}

typedef struct compiling {
    const launch_fixture *fixture;
    const kiln_program *program;
    kiln_status status;
    atomic_bool done;
} compiling;

static void *compile(void *user) {
    compiling *c = user;
    launch_use_device(c->fixture, 0);
    c->status = launch_run(c->program, "f32[4,8] f32[4,8]");
    c->done = true;
    return NULL;
}

/* One thread compiles; a call that may not compile returns meanwhile, another one waits. */
static void a_call_that_may_not_compile_does_not_wait_for_others(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_call_options never = KILN_CALL_OPTIONS_INIT;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    compiling other = {.fixture = f, .program = program};
    pthread_t thread;
    bound_tensors("f32[4,8]@64 f32[4,8]@64", tensors);
    never.policy = KILN_POLICY_NEVER_COMPILE;
    setenv("FAKE_NVRTC_MS", "1500", 1);
    assert_int_equal(pthread_create(&thread, NULL, compile, &other), 0);
    while (launch_compiles(f) < 1) sched_yield();
    assert_int_equal(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &never), KILN_E_WOULD_COMPILE);
    assert_false(other.done);
    assert_true(stats_of(context).wait_seconds < 0.5);
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
    pthread_join(thread, NULL);
    unsetenv("FAKE_NVRTC_MS");
    assert_int_equal(other.status, KILN_OK);
    assert_int_equal(launch_compiles(f), 1);
    assert_true(stats_of(context).wait_seconds > 0.05);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(what_a_context_keeps_is_in_the_applications_memory),
        WITH_LAUNCHES(without_host_memory_a_call_fails_and_the_next_works),
        WITH_LAUNCHES(workspaces_are_from_the_device_allocator),
        WITH_LAUNCHES(a_run_takes_a_workspace_of_the_callers),
        WITH_LAUNCHES(an_older_caller_has_no_workspace),
        WITH_LAUNCHES(half_an_allocator_is_refused),
        WITH_LAUNCHES(calls_work_in_the_primary_context_and_leave_the_threads_own),
        WITH_LAUNCHES(a_device_that_is_not_there_is_told),
        WITH_LAUNCHES(what_a_context_does_is_counted),
        WITH_LAUNCHES(a_call_that_may_not_compile_does_not_wait_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

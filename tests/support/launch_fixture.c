/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins for the driver and NVRTC in a folder of each test's own. */
#define _GNU_SOURCE
#include "launch_fixture.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void launch_copy(const char *from, const char *to) {
    char buffer[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_int_equal(fwrite(buffer, 1, size, out), size);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

void launch_use_device(const launch_fixture *f, int device) {
    kiln__CUcontext context = NULL;
    if (device >= 0) assert_int_equal(f->driver->DevicePrimaryCtxRetain(&context, device), 0);
    assert_int_equal(f->driver->CtxSetCurrent(context), 0);
}

int set_up_launch(void **state) {
    launch_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    strcpy(f->dir, "/tmp/kiln_test_launch_XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->nvrtc, sizeof f->nvrtc, "%s/libnvrtc.so.11.2", f->dir);
    launch_copy(KILN_FAKE_NVRTC, f->nvrtc);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    f->fake = fake_driver_find(KILN_FAKE_DRIVER);
    assert_non_null(f->fake);
    assert_int_equal(kiln__driver_open(KILN_FAKE_DRIVER, &f->driver), KILN_OK);
    fake_driver *fake = f->fake;
    fake->loads = fake->unloads = fake->launches = fake->function_loads = 0;
    fake->keep_unloaded = 0;
    fake->captured_stream = NULL;
    fake->fail_symbol[0] = '\0';
    fake->argument_bytes = 0;
    fake->device_count = 2;
    fake->arch = 90;
    launch_use_device(f, 0);
    *state = f;
    return 0;
}

int tear_down_launch(void **state) {
    launch_fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    free(f);
    return system(command);
}

static void remember(void *user, kiln_log_level level, const char *message) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads may have something to say at once */
    launch_fixture *f = user;
    (void)level;
    pthread_mutex_lock(&lock);
    f->messages++;
    snprintf(f->message, sizeof f->message, "%s", message);
    pthread_mutex_unlock(&lock);
}

kiln_context *launch_context_nvrtc(launch_fixture *f, const char *cache_dir, kiln_policy policy, const char *nvrtc) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache_dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = nvrtc;
    options.policy = policy;
    options.log = remember;
    options.log_user = f;
    options.log_detail = f->detail;
    kiln_context *context = NULL;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    return context;
}

kiln_context *launch_context(launch_fixture *f, const char *cache_dir, kiln_policy policy) {
    return launch_context_nvrtc(f, cache_dir, policy, f->nvrtc);
}

kiln_context *launch_context_recording(launch_fixture *f, char path[128]) {
    snprintf(path, 128, "%s/record", f->dir);
    setenv("KILN_RECORD", path, 1);
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    unsetenv("KILN_RECORD");
    return context;
}

kiln_program *launch_program(kiln_context *context, const char *text) {
    kiln_program *program = NULL;
    if (kiln_program_create(context, text, NULL, &program)) fail_msg("%s: %s", text, kiln_last_error());
    return program;
}

int launch_compiles(const launch_fixture *f) {
    void *handle = dlopen(f->nvrtc, RTLD_NOW | RTLD_NOLOAD);
    if (!handle) return -1;
    atomic_int *count = dlsym(handle, "fake_nvrtc_compiles");
    int compiles = count ? atomic_load(count) : -1;
    dlclose(handle);
    return compiles;
}

void launch_fail(launch_fixture *f, const char *symbol, int result, int times) {
    f->fake->fail_result = result;
    f->fake->fail_times = times;
    strncpy(f->fake->fail_symbol, symbol, sizeof f->fake->fail_symbol - 1);
}

kiln_status launch_run(const kiln_program *program, const char *tensors) {
    kiln_tensor list[KILN_MAX_TENSORS];
    size_t count = bound_tensors(tensors, list);
    for (size_t t = 0; t < count; t++)
        if (!list[t].data) list[t].data = (void *)((uintptr_t)(t + 1) << 40);
    return kiln_run(program, list, count, NULL, 0, NULL);
}

void launch_expect(kiln_status status, kiln_status expected, const char *sentence) {
    if (status != expected || (sentence && strcmp(kiln_last_error(), sentence)))
        fail_msg("%s: %s\nexpected %s: %s", kiln_status_name(status), kiln_last_error(), kiln_status_name(expected),
                 sentence ? sentence : "any sentence");
    if (status && !*kiln_last_error()) fail_msg("%s came without a sentence", kiln_status_name(status));
}

bool launch_in_clusters(const kiln_program *program, const char *tensors) {
    kiln_tensor list[KILN_MAX_TENSORS];
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_plan *plan = NULL;
    const size_t count = bound_tensors(tensors, list);
    launch_expect(kiln_plan_create(program, list, count, NULL, 0, &plan), KILN_OK, "");
    launch_expect(kiln_plan_get_info(plan, &info), KILN_OK, "");
    const bool clusters = strncmp(info.schedule, "cluster", 7) == 0;
    kiln_plan_destroy(plan);
    return clusters;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The driver is opened, described and failed as its header says, against a stand-in for the driver library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"

static fake_driver *fake;
static const kiln__driver *driver;
static const char image[] = "any bytes";

static void fail_at(const char *symbol, int result) {
    strncpy(fake->fail_symbol, symbol, sizeof fake->fail_symbol - 1);
    fake->fail_result = result;
}

static int open_fake(void **unused) {
    (void)unused;
    fake = fake_driver_find(KILN_FAKE_DRIVER);
    if (!fake || kiln__driver_open(KILN_FAKE_DRIVER, &driver) != KILN_OK) return -1;
    kiln__CUcontext context = NULL;
    return driver->DevicePrimaryCtxRetain(&context, 0) || driver->CtxSetCurrent(context);
}

static int work_again(void **unused) {
    (void)unused;
    fail_at("", 0);
    fake->static_shared = 0;
    fake->last_dynamic_limit = -1;
    fake->device_count = 1;
    unsetenv("FAKE_DRIVER_INIT");
    return 0;
}

static void assert_error_names(const char *part) {
    if (!strstr(kiln_last_error(), part)) fail_msg("'%s' does not name '%s'", kiln_last_error(), part);
}

/* ---- opening ---------------------------------------------------------------------------------------------- */

static void a_path_is_opened_once(void **unused) {
    (void)unused;
    const kiln__driver *again = NULL;
    assert_int_equal(kiln__driver_open(KILN_FAKE_DRIVER, &again), KILN_OK);
    assert_ptr_equal(again, driver);
    assert_int_equal(driver->version, 13000);
    assert_non_null(strstr(driver->path, "fake_driver"));
    assert_non_null(driver->FuncLoad);
}

static void *open_in_thread(void *out) {
    kiln__driver_open(KILN_FAKE_DRIVER, out);
    return NULL;
}

static void threads_get_the_same_driver(void **unused) {
    (void)unused;
    pthread_t threads[8];
    const kiln__driver *drivers[8] = {0};
    for (size_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, &drivers[i]), 0);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_ptr_equal(drivers[i], driver);
    }
}

static void the_environment_names_the_library(void **unused) {
    (void)unused;
    const kiln__driver *found = NULL;
    setenv("KILN_DRIVER", KILN_FAKE_DRIVER, 1);
    assert_int_equal(kiln__driver_open(NULL, &found), KILN_OK);
    assert_ptr_equal(found, driver);
    setenv("KILN_DRIVER", "/nowhere/libcuda.so.1", 1);
    assert_int_equal(kiln__driver_open(NULL, &found), KILN_E_NO_DRIVER);
    assert_null(found);
    assert_error_names("/nowhere/libcuda.so.1");
    assert_int_equal(kiln__driver_open(KILN_FAKE_DRIVER, &found), KILN_OK);
    unsetenv("KILN_DRIVER");
}

static void a_library_without_the_functions_is_refused(void **unused) {
    (void)unused;
    const kiln__driver *found = NULL;
    assert_int_equal(kiln__driver_open("libc.so.6", &found), KILN_E_NO_DRIVER);
    assert_null(found);
    assert_error_names("libc.so.6");
    assert_error_names("cuInit");
    assert_error_names("CUDA 12.0");
}

/* The same file by a name that was not opened yet. */
static void alias(char *path, size_t size) {
    snprintf(path, size, "/tmp/kiln_fake_XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    assert_int_equal(symlink(KILN_FAKE_DRIVER, path), 0);
}

static void a_driver_that_does_not_start_is_told_apart(void **unused) {
    (void)unused;
    static const struct {
        const char *result;
        kiln_status status;
        const char *named;
    } cases[] = {
        {"100", KILN_E_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {"1", KILN_E_NO_DRIVER, "CUDA_ERROR_INVALID_VALUE"},
        {"804", KILN_E_NO_DRIVER, "804"}, /* one that the library has no words for */
    };
    char path[64];
    alias(path, sizeof path);
    const kiln__driver *found = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("FAKE_DRIVER_INIT", cases[i].result, 1);
        assert_int_equal(kiln__driver_open(path, &found), cases[i].status);
        assert_null(found);
        assert_error_names(cases[i].named);
    }
    unsetenv("FAKE_DRIVER_INIT");
    fake->device_count = 0;
    assert_int_equal(kiln__driver_open(path, &found), KILN_E_NO_DEVICE);
    assert_error_names("no device");
    fake->device_count = 1;
    assert_int_equal(kiln__driver_open(path, &found), KILN_OK); /* a failure is not remembered */
    unlink(path);
}

/* ---- the device ------------------------------------------------------------------------------------------- */

static void the_device_is_described(void **unused) {
    (void)unused;
    kiln__device device;
    assert_int_equal(kiln__driver_device(driver, 0, &device), KILN_OK);
    kiln__device h100 = kiln__device_typical(90);
    assert_int_equal(device.arch, 90);
    assert_int_equal(device.sm_count, h100.sm_count);
    assert_int_equal(device.threads_per_sm, h100.threads_per_sm);
    assert_int_equal(device.registers_per_sm, h100.registers_per_sm);
    assert_int_equal(device.shared_per_sm, h100.shared_per_sm);
    assert_int_equal(device.shared_per_block, h100.shared_per_block);
    assert_int_equal(device.l2_bytes, h100.l2_bytes);
    assert_int_equal(device.bandwidth, h100.bandwidth);
    assert_int_equal(kiln__driver_device(driver, 3, &device), KILN_E_NO_DEVICE);
    assert_error_names("device 3");
}

static void typical_devices_are_of_the_nearest_older_architecture(void **unused) {
    (void)unused;
    static const struct {
        int arch, sm_count;
        int64_t shared_per_block;
    } cases[] = {
        {52, 80, 96 << 10},  {70, 80, 96 << 10},   {80, 108, 163 << 10},  {86, 84, 99 << 10},   {88, 16, 163 << 10},
        {89, 142, 99 << 10}, {90, 132, 227 << 10}, {101, 148, 227 << 10}, {120, 188, 99 << 10}, {200, 48, 99 << 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln__device device = kiln__device_typical(cases[i].arch);
        assert_int_equal(device.arch, cases[i].arch);
        assert_int_equal(device.sm_count, cases[i].sm_count);
        assert_int_equal(device.shared_per_block, cases[i].shared_per_block);
        assert_true(device.shared_per_block <= device.shared_per_sm);
    }
}

/* ---- errors ----------------------------------------------------------------------------------------------- */

static void results_have_their_statuses(void **unused) {
    (void)unused;
    static const struct {
        kiln__CUresult result;
        kiln_status status;
    } cases[] = {
        {KILN__CUDA_ERROR_INVALID_VALUE, KILN_E_LAUNCH},
        {KILN__CUDA_ERROR_OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY},
        {KILN__CUDA_ERROR_INVALID_CONTEXT, KILN_E_NO_CONTEXT},
        {KILN__CUDA_ERROR_CONTEXT_IS_DESTROYED, KILN_E_NO_CONTEXT},
        {KILN__CUDA_ERROR_NO_DEVICE, KILN_E_NO_DEVICE},
        {KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, KILN_E_CAPTURE},
        {KILN__CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, KILN_E_CAPTURE},
        {12345, KILN_E_LAUNCH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(kiln__driver_fail(driver, KILN_E_LAUNCH, cases[i].result, "launch"), cases[i].status);
    kiln__driver_fail(driver, KILN_E_LAUNCH, KILN__CUDA_ERROR_OUT_OF_MEMORY, "softmax");
    assert_string_equal(kiln_last_error(), "softmax: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

/* ---- loading ---------------------------------------------------------------------------------------------- */

static kiln_status load(int64_t shared, kiln__loaded *loaded, bool *refused) {
    const kiln__needs needs = {.dynamic_shared = shared, .cluster = 1};
    return kiln__loaded_create(driver, 0, image, "kiln_softmax", &needs, loaded, refused);
}

static void a_kernel_is_loaded_at_once_and_in_relaxed_capture_mode(void **unused) {
    (void)unused;
    kiln__loaded loaded;
    bool refused = true;
    long loads = fake->loads, unloads = fake->unloads, functions = fake->function_loads;
    assert_int_equal(load(0, &loaded, &refused), KILN_OK);
    assert_false(refused);
    assert_int_equal(fake->loads, loads + 1);
    assert_int_equal(fake->function_loads, functions + 1);
    assert_int_equal(fake->load_capture_mode, KILN__STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(loaded.registers, 32);
    int mode = 1;
    assert_int_equal(driver->ThreadExchangeStreamCaptureMode(&mode), 0);
    assert_int_equal(mode, 0); /* as it was before */
    kiln__loaded_destroy(driver, &loaded);
    kiln__loaded_destroy(driver, &loaded); /* of nothing does nothing */
    assert_int_equal(fake->unloads, unloads + 1);
    assert_int_equal(driver->ThreadExchangeStreamCaptureMode(&mode), 0);
    assert_int_equal(mode, 1);
}

static void shared_memory_is_asked_for_beyond_48_kilobytes(void **unused) {
    (void)unused;
    static const struct {
        int fixed;
        int64_t dynamic;
        int limit;
        kiln_status status;
    } cases[] = {
        {0, 0, -1, KILN_OK},
        {0, 48 << 10, -1, KILN_OK},
        {0, 49 << 10, 49 << 10, KILN_OK},
        {1024, 48 << 10, 48 << 10, KILN_OK},
        {0, 227 << 10, 227 << 10, KILN_OK},
        {0, 228 << 10, -1, KILN_E_LOAD},
        {1024, 227 << 10, -1, KILN_E_LOAD},
        {0, (int64_t)1 << 32, -1, KILN_E_INTERNAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln__loaded loaded;
        bool refused = true;
        fake->static_shared = cases[i].fixed;
        fake->last_dynamic_limit = -1;
        assert_int_equal(load(cases[i].dynamic, &loaded, &refused), cases[i].status);
        assert_int_equal(fake->last_dynamic_limit, cases[i].limit);
        assert_false(refused);
        if (cases[i].status == KILN_OK) assert_int_equal(loaded.static_shared_bytes, cases[i].fixed);
        kiln__loaded_destroy(driver, &loaded);
    }
}

static void every_kernel_of_an_image_is_loaded_with_its_own_shared_memory(void **unused) {
    (void)unused;
    const kiln__needs needs = {.dynamic_shared = 64 << 10, .cluster = 1, .further = 2, .last_dynamic_shared = 50 << 10};
    kiln__loaded loaded;
    bool refused = true;
    const long functions = fake->function_loads;
    fake->last_dynamic_limit = -1;
    fake->static_shared = 0;
    assert_int_equal(kiln__loaded_create(driver, 0, image, "kiln_softmax", &needs, &loaded, &refused), KILN_OK);
    assert_int_equal(fake->function_loads, functions + 3);
    assert_int_equal(fake->last_dynamic_limit, 50 << 10);
    kiln__loaded_destroy(driver, &loaded);
}

static void a_failed_load_says_why_and_leaves_nothing(void **unused) {
    (void)unused;
    static const struct {
        const char *symbol;
        kiln__CUresult result;
        kiln_status status;
        bool refused;
    } cases[] = {
        {"cuThreadExchangeStreamCaptureMode", 1, KILN_E_LOAD, false},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_INVALID_IMAGE, KILN_E_LOAD, true},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_INVALID_VALUE, KILN_E_LOAD, true},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_NO_BINARY_FOR_GPU, KILN_E_LOAD, true},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_UNSUPPORTED_PTX_VERSION, KILN_E_LOAD, true},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY, false},
        {"cuLibraryLoadData", KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, KILN_E_CAPTURE, false},
        {"cuLibraryLoadData", 719, KILN_E_LOAD, false}, /* an earlier launch's fault */
        {"cuLibraryGetKernel", KILN__CUDA_ERROR_NOT_FOUND, KILN_E_LOAD, true},
        {"cuKernelGetFunction", KILN__CUDA_ERROR_INVALID_CONTEXT, KILN_E_NO_CONTEXT, false},
        {"cuKernelGetFunction", KILN__CUDA_ERROR_NO_BINARY_FOR_GPU, KILN_E_LOAD, true},
        {"cuFuncLoad", KILN__CUDA_ERROR_OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY, false},
        {"cuKernelGetAttribute", KILN__CUDA_ERROR_INVALID_VALUE, KILN_E_LOAD, false},
        {"cuKernelSetAttribute", KILN__CUDA_ERROR_INVALID_VALUE, KILN_E_LOAD, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln__loaded loaded;
        bool refused = false;
        fail_at(cases[i].symbol, cases[i].result);
        assert_int_equal(load(64 << 10, &loaded, &refused), cases[i].status);
        assert_error_names(cases[i].symbol);
        assert_true(refused == cases[i].refused);
        assert_null(loaded.library);
        assert_int_equal(fake->loads, fake->unloads);
        fail_at("", 0);
        int mode = 0;
        assert_int_equal(driver->ThreadExchangeStreamCaptureMode(&mode), 0);
        assert_int_not_equal(mode, KILN__STREAM_CAPTURE_MODE_RELAXED);
    }
}

static void without_a_context_nothing_is_loaded(void **unused) {
    (void)unused;
    kiln__CUcontext context = NULL;
    kiln__loaded loaded;
    bool refused = true;
    assert_int_equal(driver->CtxGetCurrent(&context), 0);
    assert_int_equal(driver->CtxSetCurrent(NULL), 0);
    assert_int_equal(load(0, &loaded, &refused), KILN_E_NO_CONTEXT);
    assert_false(refused);
    assert_int_equal(fake->loads, fake->unloads);
    assert_int_equal(driver->CtxSetCurrent(context), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_teardown(name, work_again)
    const struct CMUnitTest tests[] = {
        TEST(a_path_is_opened_once),
        TEST(threads_get_the_same_driver),
        TEST(the_environment_names_the_library),
        TEST(a_library_without_the_functions_is_refused),
        TEST(a_driver_that_does_not_start_is_told_apart),
        TEST(the_device_is_described),
        TEST(typical_devices_are_of_the_nearest_older_architecture),
        TEST(results_have_their_statuses),
        TEST(a_kernel_is_loaded_at_once_and_in_relaxed_capture_mode),
        TEST(shared_memory_is_asked_for_beyond_48_kilobytes),
        TEST(every_kernel_of_an_image_is_loaded_with_its_own_shared_memory),
        TEST(a_failed_load_says_why_and_leaves_nothing),
        TEST(without_a_context_nothing_is_loaded),
    };
    return cmocka_run_group_tests(tests, open_fake, NULL);
}

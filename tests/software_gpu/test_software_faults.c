/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the driver's and of NVRTC's table fails once, at each of its calls: the public call tells so,
 * nothing leaks, and the next one works. Each fault has a process of its own, since libraries are opened once per
 * process. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/source.h"
#include "jit/nvrtc_api.h"
#include "support/software_fixture.h"

#if !defined(KILN_SOFTWARE_DRIVER) || !defined(KILN_SOFTWARE_NVRTC)
#define NOT_BUILT
#define KILN_SOFTWARE_DRIVER ""
#define KILN_SOFTWARE_NVRTC ""
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CALL_LIMIT 200

extern char **environ;

/* ---- the process with the fault --------------------------------------------------------------------------- */

enum { CHILD_GOOD = 0, CHILD_BAD = 1, CHILD_NOT_REACHED = 2 };

/* Functions whose failure may go without a status, and why. */
static const struct {
    const char *function, *why;
} forgiven[] = {
    {"cuGetErrorName", "the failure that it was asked about keeps its own status"},
    {"cuGetErrorString", "as cuGetErrorName"},
    {"cuDeviceGetName", "a name for people"},
    {"cuDeviceTotalMem_v2", "a number for people"},
    {"cuDeviceGetCount", "kiln_context_get_system_info leaves out what it cannot find"},
    {"cuLibraryUnload", "kiln_context_destroy returns nothing"},
    {"cuThreadExchangeStreamCaptureMode", "giving the mode back fails only where taking it did"},
    {"cuLibraryLoadData", "an image from the disk cache that the driver refuses is compiled again"},
    {"cuLibraryGetKernel", "as cuLibraryLoadData"},
    {"cuKernelGetFunction", "as cuLibraryLoadData"},
    {"cuFuncLoad", "as cuLibraryLoadData"},
    {"cuMemPoolDestroy", "destroying a context has no way to fail"},
    {"nvrtcVersion", "kiln_context_get_system_info leaves out what it cannot find"},
    {"nvrtcGetNumSupportedArchs", "as nvrtcVersion"},
    {"nvrtcGetSupportedArchs", "as nvrtcVersion"},
    {"nvrtcDestroyProgram", "the compile itself has succeeded or failed before"},
};

static bool is_forgiven(const char *function) {
    for (size_t i = 0; i < COUNT(forgiven); i++)
        if (!strcmp(forgiven[i].function, function)) return true;
    return false;
}

/* Work without a context is refused; the refusal asks the driver for its name. */
static kiln_status work_without_context(const software_device *device) {
    const int64_t sizes[2] = {2, 8};
    kiln_tensor tensors[2];
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln__CUcontext context = NULL;
    for (int t = 0; t < 2; t++) tensors[t] = kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes);
    kiln_status status = kiln_program_create(device->kiln, "y = x + 1", NULL, &program);
    if (status) return status;
    kiln__CUresult result = device->driver->CtxGetCurrent(&context);
    if (!result) result = device->driver->CtxSetCurrent(NULL);
    if (result) status = kiln__driver_fail(device->driver, KILN_E_NO_DEVICE, result, "the current context");
    if (!status) {
        status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
        if (!status)
            status = kiln__fail(KILN_E_INTERNAL, "a plan without a context");
        else if (status == KILN_E_NO_CONTEXT && strstr(kiln_last_error(), "201"))
            status = KILN_OK;
    }
    if (!context) { /* it could not be told, and is still current */
        kiln_program_destroy(program);
        return status;
    }
    result = device->driver->CtxSetCurrent(context);
    if (result && !status) status = kiln__driver_fail(device->driver, KILN_E_NO_DEVICE, result, "cuCtxSetCurrent");
    if (result) device->driver->CtxSetCurrent(context); /* the fault was this call's alone */
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    return status;
}

/* The calls for cooperative grids, on a kernel with arguments of zeros: no elements at all. */
static kiln_status launch_cooperatively(const kiln__driver *driver, const void *image) {
    static const unsigned char zeros[4096];
    void *parameters[] = {(void *)(uintptr_t)zeros};
    const char *what = "";
    kiln__CUlibrary library = NULL;
    kiln__CUkernel kernel = NULL;
    kiln__CUfunction function = NULL;
    kiln__CUdeviceptr counter = 0;
    int blocks = 0, capturing = 0;
    const kiln__CUlaunchConfig config = {
        .grid_x = 1, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1};
    kiln__CUresult result = KILN__CUDA_SUCCESS;
#define STEP(call) \
    if (!result) what = #call, result = driver->call
    STEP(LibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    STEP(LibraryGetKernel(&kernel, library, KILN__KERNEL_NAME));
    STEP(KernelGetFunction(&function, kernel));
    STEP(OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0));
    STEP(OccupancyMaxActiveClusters(&blocks, function, &config));
    STEP(MemAlloc(&counter, sizeof(unsigned)));
    STEP(MemsetD32Async(counter, 0, 1, NULL));
    STEP(MemcpyDtoDAsync(counter, counter, sizeof(unsigned), NULL));
    STEP(StreamIsCapturing(NULL, &capturing));
    STEP(LaunchKernelEx(&config, function, parameters, NULL));
#undef STEP
    const kiln__CUresult freed = counter ? driver->MemFree(counter) : KILN__CUDA_SUCCESS;
    if (freed && !result) what = "MemFree", result = freed;
    if (library) driver->LibraryUnload(library);
    return result ? kiln__driver_fail(driver, KILN_E_LAUNCH, result, what) : KILN_OK;
}

/* PTX of a kernel for an older device, which this one runs too. */
static kiln_status compile_ptx(const software_device *device) {
    const int64_t sizes[2] = {-1, 8};
    kiln_tensor tensors[2];
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    size_t size = 0;
    for (int t = 0; t < 2; t++) tensors[t] = kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes);
    kiln_status status = kiln_program_create(device->kiln, "y = x + 1", NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 80, 1, 1, &kernel);
    if (!status) status = launch_cooperatively(device->driver, kiln_kernel_image(kernel, &size));
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    return status;
}

static kiln_status ask_for_information(const software_device *device) {
    kiln_device_info info = {.struct_size = sizeof info};
    kiln_system_info system = {.struct_size = sizeof system};
    kiln_status status = kiln_context_get_device_info(device->kiln, 0, &info);
    return status ? status : kiln_context_get_system_info(device->kiln, &system, NULL, NULL);
}

/* A day in the life of the library: a cluster of sixteen blocks, which must be allowed, a row that several blocks share
 * through a workspace, a compile or an image from the disk. */
static kiln_status work(const char *cache_dir, char *message, size_t size) {
    const software_case tests[] = {{"y = softmax(x)", KILN_F32, 1, 60001, false, 0},
                                   {"s = sum(x)", KILN_F32, 1, 600000, true, 0}};
    software_device device;
    kiln_status status = software_device_open(cache_dir, &device);
    snprintf(message, size, "%s", kiln_last_error());
    if (status) return status;
    for (size_t i = 0; i < COUNT(tests) && !status; i++) {
        software_result result = software_case_run(&device, &tests[i], &status);
        if (!status && result != SOFTWARE_RIGHT) status = kiln__fail(KILN_E_INTERNAL, "a wrong result");
    }
    if (!status) status = compile_ptx(&device);
    if (!status) status = work_without_context(&device);
    if (!status) status = ask_for_information(&device);
    snprintf(message, size, "%s", kiln_last_error());
    kiln_status closed = software_device_close(&device);
    if (!status && closed) snprintf(message, size, "%s", kiln_last_error());
    return status ? status : closed;
}

static int complain(const char *what, const char *function, long nth, int code, kiln_status status,
                    const char *message) {
    printf("%s, call %ld with code %d: %s (%s: %s)\n", function, nth, code, what, kiln_status_name(status), message);
    return CHILD_BAD;
}

static long live_objects(const software_gpu *gpu, const char *function) {
    software_gpu_counts driver, nvrtc;
    gpu->driver_counts(&driver);
    gpu->nvrtc_counts(&nvrtc);
    /* What a failing release leaves is the driver's fault. */
    if (!strcmp(function, "cuLibraryUnload")) driver.libraries = 0;
    if (!strcmp(function, "cuMemFree_v2")) driver.allocations = 0;
    if (!strcmp(function, "cuMemFreeAsync")) driver.allocations = driver.pools = 0;
    if (!strcmp(function, "cuMemPoolDestroy")) driver.pools = 0;
    if (!strcmp(function, "cuEventDestroy_v2")) driver.events = 0;
    if (!strcmp(function, "cuDevicePrimaryCtxRelease_v2")) driver.contexts = 0;
    if (!strcmp(function, "nvrtcDestroyProgram")) nvrtc.programs = 0;
    return driver.allocations + driver.libraries + driver.events + driver.pools + driver.contexts + nvrtc.programs;
}

/* arguments: function, which call, code, cache folder or "-" for an empty one */
static int child(char **arguments) {
    software_gpu gpu;
    char message[1024];
    const char *function = arguments[0], *cache_dir = strcmp(arguments[3], "-") ? arguments[3] : NULL;
    const long nth = atol(arguments[1]);
    const int code = atoi(arguments[2]);
    const bool of_nvrtc = !strncmp(function, "nvrtc", 5);
    if (!software_gpu_open(KILN_SOFTWARE_DRIVER, KILN_SOFTWARE_NVRTC, &gpu)) return CHILD_BAD;
    if (of_nvrtc)
        gpu.fail_nvrtc(function, nth, code);
    else
        gpu.fail_driver(function, nth, code);
    const kiln_status status = work(cache_dir, message, sizeof message);
    const bool reached = of_nvrtc ? gpu.nvrtc_failed() : gpu.driver_failed();
    gpu.fail_driver(NULL, 0, 0);
    gpu.fail_nvrtc(NULL, 0, 0);
    if (!reached)
        return status ? complain("fails without a fault", function, nth, code, status, message) : CHILD_NOT_REACHED;
    if (!status && !is_forgiven(function)) return complain("goes unnoticed", function, nth, code, status, message);
    if (status && (!*message || status == KILN_E_INTERNAL))
        return complain("has no clear status", function, nth, code, status, message);
    const kiln_status expected = of_nvrtc                                              ? KILN_OK
                                 : code == KILN__CUDA_ERROR_OUT_OF_MEMORY              ? KILN_E_DEVICE_MEMORY
                                 : code == KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? KILN_E_CAPTURE
                                                                                       : KILN_OK;
    if (status && expected && status != expected)
        return complain("has the wrong status", function, nth, code, status, message);
    if (live_objects(&gpu, function)) return complain("leaks", function, nth, code, status, message);
    const kiln_status again = work(cache_dir, message, sizeof message);
    if (again) return complain("breaks what comes after it", function, nth, code, again, message);
    return live_objects(&gpu, function) ? complain("leaks later", function, nth, code, again, message) : CHILD_GOOD;
}

/* ---- the sweep -------------------------------------------------------------------------------------------- */

static int run_child(const char *function, long nth, int code, const char *cache_dir) {
    char number[24], result[24];
    snprintf(number, sizeof number, "%ld", nth);
    snprintf(result, sizeof result, "%d", code);
    char self[] = "/proc/self/exe";
    char *arguments[] = {
        self, (char[]){"--child"}, (char *)(uintptr_t)function, number, result, (char *)(uintptr_t)cache_dir, NULL};
    pid_t pid = 0;
    int status = 0;
    fflush(stdout);
    assert_int_equal(posix_spawn(&pid, self, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Each call of the function fails in turn; of a further code only the first. Returns how many went wrong. */
static int sweep(const char *function, const int *codes, size_t code_count, const char *cache_dir) {
    int wrong = 0;
    for (size_t c = 0; c < code_count; c++) {
        const long limit = c == 0 ? CALL_LIMIT : 1;
        long nth = 1;
        for (; nth <= limit; nth++) {
            const int result = run_child(function, nth, codes[c], cache_dir);
            if (result == CHILD_NOT_REACHED) break;
            if (result != CHILD_GOOD && result != CHILD_BAD)
                printf("%s, call %ld with code %d: exit status %d\n", function, nth, codes[c], result);
            wrong += result != CHILD_GOOD;
        }
        if (nth == 1) {
            printf("%s is never called\n", function);
            wrong++;
        }
    }
    return wrong;
}

static void every_driver_function_may_fail(void **unused) {
    (void)unused;
    static const char *const functions[] = {
#define NAME(name, symbol, params) symbol,
        KILN__DRIVER_FUNCTIONS(NAME) KILN__DRIVER_OPTIONAL_FUNCTIONS(NAME)
#undef NAME
    };
    /* unknown error, out of memory, invalid image, no binary for GPU, launch failure, capture in progress */
    static const int codes[] = {999,
                                KILN__CUDA_ERROR_OUT_OF_MEMORY,
                                KILN__CUDA_ERROR_INVALID_IMAGE,
                                KILN__CUDA_ERROR_NO_BINARY_FOR_GPU,
                                719,
                                KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
    own_folder cache;
    int wrong = 0;
    assert_true(own_folder_make(&cache));
    assert_int_equal(run_child("none", 1, 1, cache.path), CHILD_NOT_REACHED); /* fills the cache */
    for (size_t i = 0; i < COUNT(functions); i++) wrong += sweep(functions[i], codes, COUNT(codes), cache.path);
    own_folder_remove(&cache);
    assert_int_equal(wrong, 0);
}

static void every_nvrtc_function_may_fail(void **unused) {
    (void)unused;
    static const char *const functions[] = {
#define NAME(ret, name, params) "nvrtc" #name,
        KILN__NVRTC_FUNCTIONS(NAME)
#undef NAME
    };
    static const int codes[] = {11, KILN__NVRTC_ERROR_OUT_OF_MEMORY, KILN__NVRTC_ERROR_COMPILATION};
    int wrong = 0;
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i], "nvrtcGetErrorString")) /* which has no way to fail */
            wrong += sweep(functions[i], codes, COUNT(codes), "-");
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
#ifdef NOT_BUILT
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    if (argc == 6 && !strcmp(argv[1], "--child")) return child(argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_driver_function_may_fail),
        cmocka_unit_test(every_nvrtc_function_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

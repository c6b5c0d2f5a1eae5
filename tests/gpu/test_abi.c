/* SPDX-License-Identifier: Apache-2.0 */
/* The project's own declarations of the CUDA driver and NVRTC are those of the real cuda.h and nvrtc.h: every type's
 * size, every value and every function's type when this file compiles, every symbol's name when it runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/driver_api.h"
#include "jit/nvrtc_api.h"

#ifdef KILN_HAVE_CUDA_H
#include <cuda.h>
#if CUDA_VERSION < 12000 /* too old to declare what is needed */
#undef KILN_HAVE_CUDA_H
#endif
#endif
#ifdef KILN_HAVE_NVRTC_H
#include <nvrtc.h>
#endif

#if defined(KILN_HAVE_CUDA_H) || defined(KILN_HAVE_NVRTC_H)
#define HAVE_HEADERS

#define SAME_LAYOUT(ours, theirs) \
    _Static_assert(sizeof(ours) == sizeof(theirs) && _Alignof(ours) == _Alignof(theirs), #ours " differs " \
                                                                                               "from " #theirs)
#define SAME_VALUE(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " differs from " #theirs)
#define TEXT_OF(macro) TEXT(macro)
#define TEXT(token) #token

typedef struct names {
    const char *looked_up; /* by the loader */
    const char *declared;  /* by the header, its macros applied */
} names;

/* Entries that are meant to differ: older versions of a function with the same type. */
static const names older[] = {
    {"cuEventElapsedTime", "cuEventElapsedTime_v2"},
};

static void assert_same_names(const names *pairs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int meant = 0;
        for (size_t j = 0; j < sizeof older / sizeof older[0]; j++)
            meant |= !strcmp(pairs[i].looked_up, older[j].looked_up) && !strcmp(pairs[i].declared, older[j].declared);
        if (!meant) assert_string_equal(pairs[i].looked_up, pairs[i].declared);
    }
}

/* The library of the toolkit in which the header was found; NULL where there is none. */
static void *open_library(const char *path, char *found, size_t size) {
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", NULL};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const char *root = roots[i] ? getenv(roots[i]) : "/usr/local/cuda";
        if (!root) continue;
        snprintf(found, size, "%s/lib64/%s", root, path);
        void *handle = dlopen(found, RTLD_LAZY | RTLD_LOCAL);
        if (handle) return handle;
    }
    return NULL;
}

static void assert_library_has(const char *path, const names *pairs, size_t count) {
    char found[512];
    void *library = open_library(path, found, sizeof found);
    if (!library) {
        print_message("no %s in the toolkit: symbols are not compared\n", path);
        skip();
    }
    for (size_t i = 0; i < count; i++)
        if (!dlsym(library, pairs[i].looked_up)) fail_msg("%s has no %s", found, pairs[i].looked_up);
}
#endif

#ifdef KILN_HAVE_CUDA_H
SAME_LAYOUT(kiln__CUresult, CUresult);
SAME_LAYOUT(kiln__CUdevice, CUdevice);
SAME_LAYOUT(kiln__CUdeviceptr, CUdeviceptr);
SAME_LAYOUT(kiln__CUcontext, CUcontext);
SAME_LAYOUT(kiln__CUlibrary, CUlibrary);
SAME_LAYOUT(kiln__CUkernel, CUkernel);
SAME_LAYOUT(kiln__CUfunction, CUfunction);
SAME_LAYOUT(kiln__CUstream, CUstream);
SAME_LAYOUT(kiln__CUevent, CUevent);
SAME_LAYOUT(kiln__CUmemoryPool, CUmemoryPool);
SAME_LAYOUT(kiln__CUmemPool_attribute, CUmemPool_attribute);
SAME_LAYOUT(kiln__CUmemPoolProps, CUmemPoolProps);
SAME_LAYOUT(kiln__CUlaunchAttribute, CUlaunchAttribute);
_Static_assert(offsetof(kiln__CUlaunchAttribute, value) == offsetof(CUlaunchAttribute, value), "value");
SAME_VALUE(KILN__LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(KILN__LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
           CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME_LAYOUT(kiln__CUlaunchConfig, CUlaunchConfig);
#define SAME_CONFIG_MEMBER(ours, theirs) \
    _Static_assert(offsetof(kiln__CUlaunchConfig, ours) == offsetof(CUlaunchConfig, theirs), #ours)
SAME_CONFIG_MEMBER(grid_x, gridDimX);
SAME_CONFIG_MEMBER(block_x, blockDimX);
SAME_CONFIG_MEMBER(shared_bytes, sharedMemBytes);
SAME_CONFIG_MEMBER(stream, hStream);
SAME_CONFIG_MEMBER(attributes, attrs);
SAME_CONFIG_MEMBER(attribute_count, numAttrs);
#define SAME_PROPS_MEMBER(ours, theirs) \
    _Static_assert(offsetof(kiln__CUmemPoolProps, ours) == offsetof(CUmemPoolProps, theirs), #ours)
SAME_PROPS_MEMBER(allocation_type, allocType);
SAME_PROPS_MEMBER(handle_types, handleTypes);
SAME_PROPS_MEMBER(location_type, location.type);
SAME_PROPS_MEMBER(location_id, location.id);
SAME_PROPS_MEMBER(win32_security_attributes, win32SecurityAttributes);
SAME_PROPS_MEMBER(max_size, maxSize);
SAME_PROPS_MEMBER(usage, usage);
SAME_PROPS_MEMBER(reserved, reserved);
SAME_LAYOUT(kiln__CUdevice_attribute, CUdevice_attribute);
SAME_LAYOUT(kiln__CUfunction_attribute, CUfunction_attribute);
SAME_LAYOUT(kiln__CUstreamCaptureMode, CUstreamCaptureMode);
SAME_LAYOUT(kiln__CUstreamCaptureStatus, CUstreamCaptureStatus);
SAME_LAYOUT(kiln__CUjit_option, CUjit_option);
SAME_LAYOUT(kiln__CUlibraryOption, CUlibraryOption);
_Static_assert(__builtin_types_compatible_p(kiln__CUdevice, CUdevice), "CUdevice");
_Static_assert(__builtin_types_compatible_p(kiln__CUdeviceptr, CUdeviceptr), "CUdeviceptr");

SAME_VALUE(KILN__CUDA_SUCCESS, CUDA_SUCCESS);
#define SAME_ERROR(name) SAME_VALUE(KILN__CUDA_ERROR_##name, CUDA_ERROR_##name)
SAME_ERROR(INVALID_VALUE);
SAME_ERROR(OUT_OF_MEMORY);
SAME_ERROR(NOT_INITIALIZED);
SAME_ERROR(NO_DEVICE);
SAME_ERROR(INVALID_DEVICE);
SAME_ERROR(INVALID_IMAGE);
SAME_ERROR(INVALID_CONTEXT);
SAME_ERROR(NO_BINARY_FOR_GPU);
SAME_ERROR(INVALID_PTX);
SAME_ERROR(UNSUPPORTED_PTX_VERSION);
SAME_ERROR(INVALID_SOURCE);
SAME_ERROR(NOT_FOUND);
SAME_ERROR(CONTEXT_IS_DESTROYED);
SAME_ERROR(STREAM_CAPTURE_UNSUPPORTED);
SAME_ERROR(STREAM_CAPTURE_WRONG_THREAD);
SAME_VALUE(KILN__MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(KILN__MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(KILN__MEMPOOL_ATTR_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
#define SAME_DEVICE_ATTRIBUTE(name) SAME_VALUE(KILN__DEVICE_ATTRIBUTE_##name, CU_DEVICE_ATTRIBUTE_##name)
SAME_DEVICE_ATTRIBUTE(WARP_SIZE);
SAME_DEVICE_ATTRIBUTE(MAX_THREADS_PER_BLOCK);
SAME_DEVICE_ATTRIBUTE(MULTIPROCESSOR_COUNT);
SAME_DEVICE_ATTRIBUTE(MEMORY_CLOCK_RATE);
SAME_DEVICE_ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH);
SAME_DEVICE_ATTRIBUTE(L2_CACHE_SIZE);
SAME_DEVICE_ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR);
SAME_DEVICE_ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR);
SAME_DEVICE_ATTRIBUTE(COMPUTE_CAPABILITY_MINOR);
SAME_DEVICE_ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_DEVICE_ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_DEVICE_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
#define SAME_FUNC_ATTRIBUTE(name) SAME_VALUE(KILN__FUNC_ATTRIBUTE_##name, CU_FUNC_ATTRIBUTE_##name)
SAME_FUNC_ATTRIBUTE(SHARED_SIZE_BYTES);
SAME_FUNC_ATTRIBUTE(LOCAL_SIZE_BYTES);
SAME_FUNC_ATTRIBUTE(NUM_REGS);
SAME_FUNC_ATTRIBUTE(MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_FUNC_ATTRIBUTE(NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME_FUNC_ATTRIBUTE(PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME_VALUE(KILN__STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(KILN__STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);

/* From here on the table's types are the real ones, whose layout was compared above, so that the types of whole
 * functions can be compared exactly. */
#define kiln__CUresult CUresult
#define kiln__CUcontext CUcontext
#define kiln__CUlibrary CUlibrary
#define kiln__CUkernel CUkernel
#define kiln__CUfunction CUfunction
#define kiln__CUstream CUstream
#define kiln__CUevent CUevent
#define kiln__CUmemoryPool CUmemoryPool
#define kiln__CUmemPoolProps CUmemPoolProps
#define kiln__CUlaunchConfig CUlaunchConfig
#define kiln__CUmemPool_attribute CUmemPool_attribute
#define kiln__CUdevice_attribute CUdevice_attribute
#define kiln__CUfunction_attribute CUfunction_attribute
#define kiln__CUstreamCaptureMode CUstreamCaptureMode
#define kiln__CUstreamCaptureStatus CUstreamCaptureStatus
#define kiln__CUjit_option CUjit_option
#define kiln__CUlibraryOption CUlibraryOption

#define SAME_FUNCTION(name, symbol, params) \
    _Static_assert(__builtin_types_compatible_p(kiln__CUresult(*) params, __typeof__(&cu##name)), \
                   symbol " has another type in cuda.h");
KILN__DRIVER_FUNCTIONS(SAME_FUNCTION)
#if CUDA_VERSION >= 12040
KILN__DRIVER_OPTIONAL_FUNCTIONS(SAME_FUNCTION)
#endif

#define NAMES(name, symbol, params) {symbol, TEXT_OF(cu##name)},
static const names driver_names[] = {KILN__DRIVER_FUNCTIONS(NAMES)
#if CUDA_VERSION >= 12040
                                         KILN__DRIVER_OPTIONAL_FUNCTIONS(NAMES)
#endif
};
#define DRIVER_NAME_COUNT (sizeof driver_names / sizeof driver_names[0])

static void driver_symbols_are_those_of_the_header(void **unused) {
    (void)unused;
    assert_same_names(driver_names, DRIVER_NAME_COUNT);
}

static void driver_symbols_are_in_the_library(void **unused) {
    (void)unused;
    assert_library_has("stubs/libcuda.so", driver_names, DRIVER_NAME_COUNT);
}
#endif

#ifdef KILN_HAVE_NVRTC_H
SAME_LAYOUT(kiln__nvrtcProgram, nvrtcProgram);
SAME_LAYOUT(kiln__nvrtcResult, nvrtcResult);
SAME_VALUE(KILN__NVRTC_SUCCESS, NVRTC_SUCCESS);
SAME_VALUE(KILN__NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY);
SAME_VALUE(KILN__NVRTC_ERROR_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION);
SAME_VALUE(KILN__NVRTC_ERROR_COMPILATION, NVRTC_ERROR_COMPILATION);

#define kiln__nvrtcProgram nvrtcProgram
#define kiln__nvrtcResult nvrtcResult
#define SAME_NVRTC_FUNCTION(ret, name, params) \
    _Static_assert(__builtin_types_compatible_p(ret(*) params, __typeof__(&nvrtc##name)), \
                   "nvrtc" #name " has another type in nvrtc.h");
KILN__NVRTC_FUNCTIONS(SAME_NVRTC_FUNCTION)

#define NVRTC_NAMES(ret, name, params) {"nvrtc" #name, TEXT_OF(nvrtc##name)},
static const names nvrtc_names[] = {KILN__NVRTC_FUNCTIONS(NVRTC_NAMES)};
#define NVRTC_NAME_COUNT (sizeof nvrtc_names / sizeof nvrtc_names[0])

static void nvrtc_symbols_are_those_of_the_header(void **unused) {
    (void)unused;
    assert_same_names(nvrtc_names, NVRTC_NAME_COUNT);
}

static void nvrtc_symbols_are_in_the_library(void **unused) {
    (void)unused;
    assert_library_has("libnvrtc.so", nvrtc_names, NVRTC_NAME_COUNT);
}
#endif

int main(void) {
#ifdef HAVE_HEADERS
    const struct CMUnitTest tests[] = {
#ifdef KILN_HAVE_CUDA_H
        cmocka_unit_test(driver_symbols_are_those_of_the_header),
        cmocka_unit_test(driver_symbols_are_in_the_library),
#endif
#ifdef KILN_HAVE_NVRTC_H
        cmocka_unit_test(nvrtc_symbols_are_those_of_the_header),
        cmocka_unit_test(nvrtc_symbols_are_in_the_library),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    printf("skipped: neither nvrtc.h nor a cuda.h of CUDA 12.0 or newer was found when this was built\n");
    return 77;
#endif
}

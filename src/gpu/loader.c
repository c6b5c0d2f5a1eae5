/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a compiled kernel into the current context's device, completely, when the plan is made.
 * A lazy load at the first launch could wait for work that is running, or break a stream capture. */
#include "gpu/driver.h"

#include <stdio.h>

/* What a block, and a cluster of blocks, may have without asking for more. */
#define DEFAULT_SHARED_LIMIT (48 * 1024)
#define PORTABLE_CLUSTER 8

/* Results that speak of the image's bytes, so that compiling again may help. An invalid value can only be the image's
 * fault where every other argument is NULL or 0. */
static bool blames_image(kiln__CUresult result, bool loading) {
    switch (result) {
    case KILN__CUDA_ERROR_INVALID_IMAGE:
    case KILN__CUDA_ERROR_NO_BINARY_FOR_GPU:
    case KILN__CUDA_ERROR_INVALID_PTX:
    case KILN__CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case KILN__CUDA_ERROR_INVALID_SOURCE:
    case KILN__CUDA_ERROR_NOT_FOUND: return true;
    case KILN__CUDA_ERROR_INVALID_VALUE: return loading;
    default: return false;
    }
}

static kiln_status load(const kiln__driver *driver, const void *image, const char *name, kiln__CUlibrary *out,
                        bool *refused) {
    char what[320];
    kiln__CUresult result = driver->LibraryLoadData(out, image, NULL, NULL, 0, NULL, NULL, 0);
    if (result == KILN__CUDA_SUCCESS) return KILN_OK;
    *out = NULL;
    *refused = blames_image(result, true);
    snprintf(what, sizeof what, "kernel '%s' cannot be loaded: cuLibraryLoadData", name);
    return kiln__driver_fail(driver, KILN_E_LOAD, result, what);
}

static kiln_status load_kernel(const kiln__driver *driver, kiln__CUlibrary library, const char *name,
                               kiln__CUkernel *out, bool *refused) {
    char what[320];
    const char *step = "cuLibraryGetKernel";
    kiln__CUfunction function = NULL;
    kiln__CUresult result = driver->LibraryGetKernel(out, library, name);
    if (result == KILN__CUDA_SUCCESS) {
        step = "cuKernelGetFunction";
        result = driver->KernelGetFunction(&function, *out);
    }
    if (result == KILN__CUDA_SUCCESS && driver->FuncLoad) {
        step = "cuFuncLoad";
        result = driver->FuncLoad(function);
    }
    if (result == KILN__CUDA_SUCCESS) return KILN_OK;
    *refused = blames_image(result, false);
    snprintf(what, sizeof what, "kernel '%s' cannot be loaded: %s", name, step);
    return kiln__driver_fail(driver, KILN_E_LOAD, result, what);
}

static kiln_status read_numbers(const kiln__driver *driver, kiln__CUdevice device, const char *name,
                                kiln__loaded *out) {
    int static_shared = 0;
    const struct {
        int *value;
        kiln__CUfunction_attribute attribute;
    } wanted[] = {
        {&out->registers, KILN__FUNC_ATTRIBUTE_NUM_REGS},
        {&out->local_bytes, KILN__FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&static_shared, KILN__FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
    };
    char what[320];
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        kiln__CUresult result = driver->KernelGetAttribute(wanted[i].value, wanted[i].attribute, out->kernel, device);
        if (result != KILN__CUDA_SUCCESS) {
            snprintf(what, sizeof what, "attribute %d of kernel '%s' cannot be read: cuKernelGetAttribute",
                     wanted[i].attribute, name);
            return kiln__driver_fail(driver, KILN_E_LOAD, result, what);
        }
    }
    out->static_shared_bytes = static_shared;
    return KILN_OK;
}

static kiln_status raise_limits(const kiln__driver *driver, kiln__CUdevice device, const char *name,
                                const kiln__needs *needs, const kiln__loaded *kernel) {
    const struct {
        bool set;
        kiln__CUfunction_attribute attribute;
        int value;
    } raised[] = {
        {needs->dynamic_shared + kernel->static_shared_bytes > DEFAULT_SHARED_LIMIT,
         KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)needs->dynamic_shared},
        {needs->cluster > PORTABLE_CLUSTER, KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1},
    };
    kiln__CUresult result = KILN__CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof raised / sizeof raised[0] && result == KILN__CUDA_SUCCESS; i++)
        if (raised[i].set)
            result = driver->KernelSetAttribute(raised[i].attribute, raised[i].value, kernel->kernel, device);
    if (result == KILN__CUDA_SUCCESS) return KILN_OK;
    char what[320];
    snprintf(what, sizeof what,
             "kernel '%s' cannot have %lld bytes of dynamic shared memory per block in clusters of %d: "
             "cuKernelSetAttribute",
             name, (long long)needs->dynamic_shared, needs->cluster);
    return kiln__driver_fail(driver, KILN_E_LOAD, result, what);
}

/* The kernel's numbers, read, and its limits, raised: each kernel of a library has its own. */
static kiln_status add_kernel(const kiln__driver *driver, kiln__CUdevice device, const char *name,
                              const kiln__needs *needs, kiln__loaded *out, bool *refused) {
    kiln_status status = load_kernel(driver, out->library, name, &out->kernel, refused);
    if (status == KILN_OK) status = read_numbers(driver, device, name, out);
    if (status == KILN_OK) status = raise_limits(driver, device, name, needs, out);
    return status;
}

static kiln_status add_further(const kiln__driver *driver, kiln__CUdevice device, const char *name,
                               const kiln__needs *needs, kiln__CUlibrary library, bool *refused) {
    kiln_status status = KILN_OK;
    for (int k = 1; k <= needs->further && status == KILN_OK; k++) {
        char numbered[128];
        kiln__loaded kernel = {.library = library};
        kiln__needs its = *needs;
        if (k == needs->further) its.dynamic_shared = needs->last_dynamic_shared;
        snprintf(numbered, sizeof numbered, "%s%d", name, k);
        status = add_kernel(driver, device, numbered, &its, &kernel, refused);
    }
    return status;
}

kiln_status kiln__loaded_create(const kiln__driver *driver, kiln__CUdevice device, const void *image, const char *name,
                                const kiln__needs *needs, kiln__loaded *out, bool *refused) {
    *refused = false;
    *out = (kiln__loaded){0};
    if (needs->dynamic_shared < 0 || needs->dynamic_shared > INT32_MAX)
        return kiln__fail(KILN_E_INTERNAL, "kernel '%s' wants %lld bytes of dynamic shared memory per block", name,
                          (long long)needs->dynamic_shared);
    kiln__CUstreamCaptureMode mode = KILN__STREAM_CAPTURE_MODE_RELAXED;
    kiln__CUresult result = driver->ThreadExchangeStreamCaptureMode(&mode);
    if (result != KILN__CUDA_SUCCESS)
        return kiln__driver_fail(driver, KILN_E_LOAD, result, "cuThreadExchangeStreamCaptureMode");

    kiln__loaded loaded = {0};
    kiln_status status = load(driver, image, name, &loaded.library, refused);
    if (status == KILN_OK) status = add_kernel(driver, device, name, needs, &loaded, refused);
    if (status == KILN_OK) status = add_further(driver, device, name, needs, loaded.library, refused);
    if (status != KILN_OK && loaded.library) driver->LibraryUnload(loaded.library);
    /* Giving the mode back fails only where the exchange above would have failed too. */
    driver->ThreadExchangeStreamCaptureMode(&mode);
    if (status == KILN_OK) *out = loaded;
    return status;
}

void kiln__loaded_destroy(const kiln__driver *driver, kiln__loaded *loaded) {
    if (!loaded->library) return;
    kiln__CUstreamCaptureMode mode = KILN__STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = driver->ThreadExchangeStreamCaptureMode(&mode) == KILN__CUDA_SUCCESS;
    driver->LibraryUnload(loaded->library);
    if (relaxed) driver->ThreadExchangeStreamCaptureMode(&mode);
    *loaded = (kiln__loaded){0};
}

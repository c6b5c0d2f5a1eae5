/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the CUDA driver library, once per path, and turns its results into statuses.
 * The record of open libraries is the only state; entries are never removed, so pointers to them stay good. */
#define _GNU_SOURCE
#include "gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"

#define DEFAULT_PATH "libcuda.so.1"

typedef struct opened {
    struct opened *next;
    char *requested; /* the path as asked for: what a later call is compared with */
    kiln__driver driver;
} opened;

static kiln__process_lock opened_lock = KILN__PROCESS_LOCK_INIT;
static opened *opened_list;

kiln_status kiln__driver_fail(const kiln__driver *driver, kiln_status status, kiln__CUresult result, const char *what) {
    const char *name = NULL, *text = NULL;
    if (driver->GetErrorName(result, &name) != KILN__CUDA_SUCCESS || !name) name = "unknown";
    if (driver->GetErrorString(result, &text) != KILN__CUDA_SUCCESS || !text) text = "CUDA error";
    if (result == KILN__CUDA_ERROR_OUT_OF_MEMORY)
        status = KILN_E_DEVICE_MEMORY;
    else if (result == KILN__CUDA_ERROR_INVALID_CONTEXT || result == KILN__CUDA_ERROR_CONTEXT_IS_DESTROYED)
        status = KILN_E_NO_CONTEXT;
    else if (result == KILN__CUDA_ERROR_NO_DEVICE)
        status = KILN_E_NO_DEVICE;
    else if (result >= KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
             result <= KILN__CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        status = KILN_E_CAPTURE;
    return kiln__fail(status, "%s: %s (%s, %d)", what, text, name, result);
}

/* Where the library came from, which a bare soname does not tell. */
static void tell_path(kiln__driver *driver, const char *requested) {
    const char *path = requested;
    Dl_info info;
    void *address = NULL;
    memcpy(&address, &driver->Init, sizeof address);
    if (dladdr(address, &info) && info.dli_fname) path = info.dli_fname;
    snprintf(driver->path, sizeof driver->path, "%s", path);
}

static kiln_status find_functions(void *handle, const char *path, kiln__driver *driver) {
    /* A function pointer's bytes are copied: ISO C has no cast from void * to one. */
#define FIND(name, symbol, params) \
    { \
        void *address = dlsym(handle, symbol); \
        memcpy(&driver->name, &address, sizeof address); \
    }
#define REQUIRE(name, symbol, params) \
    FIND(name, symbol, params) \
    if (!driver->name) \
        return kiln__fail(KILN_E_NO_DRIVER, \
                          "the CUDA driver '%s' has no function %s; a driver for CUDA 12.0 or " \
                          "newer is needed", \
                          path, symbol);
    KILN__DRIVER_FUNCTIONS(REQUIRE)
    KILN__DRIVER_OPTIONAL_FUNCTIONS(FIND)
#undef REQUIRE
#undef FIND
    return KILN_OK;
}

static kiln_status initialise(kiln__driver *driver) {
    kiln__CUresult result = driver->Init(0);
    if (result != KILN__CUDA_SUCCESS) {
        char what[600];
        snprintf(what, sizeof what, "the CUDA driver '%s' cannot be initialised: cuInit", driver->path);
        return kiln__driver_fail(driver, KILN_E_NO_DRIVER, result, what);
    }
    int count = 0;
    result = driver->DeviceGetCount(&count);
    if (result != KILN__CUDA_SUCCESS) return kiln__driver_fail(driver, KILN_E_NO_DEVICE, result, "cuDeviceGetCount");
    if (count < 1) return kiln__fail(KILN_E_NO_DEVICE, "the CUDA driver '%s' finds no device", driver->path);
    result = driver->DriverGetVersion(&driver->version);
    if (result != KILN__CUDA_SUCCESS) return kiln__driver_fail(driver, KILN_E_NO_DRIVER, result, "cuDriverGetVersion");
    return KILN_OK;
}

/* Called under the lock. */
static kiln_status open_library(const char *path, const kiln__driver **out) {
    for (const opened *entry = opened_list; entry; entry = entry->next) {
        if (!strcmp(entry->requested, path)) {
            *out = &entry->driver;
            return KILN_OK;
        }
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        return kiln__fail(KILN_E_NO_DRIVER, "the CUDA driver cannot be opened: %s", reason ? reason : path);
    }
    kiln_status status = KILN_OK;
    opened *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->requested = strdup(path))) {
        status = kiln__out_of_memory();
        goto cleanup;
    }
    status = find_functions(handle, path, &entry->driver);
    if (status != KILN_OK) goto cleanup;
    tell_path(&entry->driver, path);
    /* The handle stays open from here on, even on failure: a driver that ran may have left threads behind. */
    handle = NULL;
    status = initialise(&entry->driver);
    if (status != KILN_OK) goto cleanup;
    entry->next = opened_list;
    opened_list = entry;
    *out = &entry->driver;
    entry = NULL;
cleanup:
    if (entry) free(entry->requested);
    free(entry);
    if (handle) dlclose(handle);
    return status;
}

kiln_status kiln__driver_open(const char *path, const kiln__driver **out) {
    *out = NULL;
    if (!path) path = secure_getenv("KILN_DRIVER");
    if (!path || !*path) path = DEFAULT_PATH;
    kiln__process_lock_take(&opened_lock);
    kiln_status status = open_library(path, out);
    kiln__process_lock_leave(&opened_lock);
    return status;
}

kiln_status kiln__driver_device(const kiln__driver *driver, kiln__CUdevice ordinal, kiln__device *out) {
    int major = 0, minor = 0, sms = 0, threads = 0, registers = 0, shared_sm = 0, shared_block = 0, l2 = 0;
    int clock = 0, bus = 0; /* of the memory: kHz, bits */
    const struct {
        int *value;
        kiln__CUdevice_attribute attribute;
    } wanted[] = {
        {&major, KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&minor, KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&sms, KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&threads, KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {&registers, KILN__DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&shared_sm, KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
        {&shared_block, KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {&l2, KILN__DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {&clock, KILN__DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
        {&bus, KILN__DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        kiln__CUresult result = driver->DeviceGetAttribute(wanted[i].value, wanted[i].attribute, ordinal);
        if (result != KILN__CUDA_SUCCESS) {
            char what[80];
            snprintf(what, sizeof what, "cuDeviceGetAttribute(%d) of device %d", wanted[i].attribute, ordinal);
            return kiln__driver_fail(driver, KILN_E_NO_DEVICE, result, what);
        }
    }
    *out = (kiln__device){.arch = major * 10 + minor,
                          .sm_count = sms,
                          .threads_per_sm = threads,
                          .registers_per_sm = registers,
                          .shared_per_sm = shared_sm,
                          .shared_per_block = shared_block,
                          .l2_bytes = l2,
                          .bandwidth = (int64_t)clock * bus / 4000000}; /* two transfers a clock */
    /* Where the driver does not tell, that of the architecture. */
    if (!out->bandwidth) out->bandwidth = kiln__device_typical(out->arch).bandwidth;
    return KILN_OK;
}

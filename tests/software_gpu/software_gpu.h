/* SPDX-License-Identifier: Apache-2.0 */
/* The knobs of the software GPU, for tests in C and C++; installed as kiln/software_gpu.h. libkiln_software_driver and
 * libkiln_software_nvrtc export these functions; software_gpu_open finds them. docs/software-gpu.md explains each. */
#ifndef KILN_SOFTWARE_GPU_H
#define KILN_SOFTWARE_GPU_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of a library that dlopen gave, stores the function of this name in *function. */
static inline bool software_gpu_find(void *library, const char *name, void *function) {
    void *address = library ? dlsym(library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* Objects that exist now, and launches that succeeded so far. */
typedef struct software_gpu_counts {
    long allocations, libraries, events, pools, contexts, programs, launches;
} software_gpu_counts;

typedef struct software_gpu {
    /* The order of threads and blocks, poison and the arrival of asynchronous copies are drawn from it. */
    void (*seed)(uint64_t seed);
    /* The nth call of `function` from now on ("cuMemAlloc_v2", "nvrtcCompileProgram") fails with `code`; 0: none does.
     */
    void (*fail_driver)(const char *function, long nth, int code);
    void (*fail_nvrtc)(const char *function, long nth, int code);
    /* Whether that call has come. */
    bool (*driver_failed)(void);
    bool (*nvrtc_failed)(void);
    /* Replaces text in every source compiled from now on; each compile of a source without it fails. NULL: as it is. */
    void (*plant)(const char *from, const char *to);
    void (*driver_counts)(software_gpu_counts *counts);
    void (*nvrtc_counts)(software_gpu_counts *counts);
    /* sm_<arch> of the device, with that architecture's shared memory. */
    void (*set_arch)(int arch);
    /* So many multiprocessors: what a cooperative grid may fill. 0: as the architecture's largest device. */
    void (*set_sms)(int count);
    /* What follows uses the driver's own calls; results are CUresult, 0 where all went well. */
    int (*driver_init)(unsigned flags);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*memory_allocate)(unsigned long long *address, size_t bytes);
    int (*memory_free)(unsigned long long address);
    int (*copy_to_device)(unsigned long long to, const void *from, size_t bytes);
    int (*copy_to_host)(void *to, unsigned long long from, size_t bytes);
} software_gpu;

/* False where a path is not the software GPU's. The libraries stay open. */
static inline bool software_gpu_open(const char *driver_path, const char *nvrtc_path, software_gpu *out) {
    void *driver = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL), *nvrtc = dlopen(nvrtc_path, RTLD_NOW | RTLD_LOCAL);
    return software_gpu_find(driver, "software_gpu_seed", &out->seed) &&
           software_gpu_find(driver, "software_gpu_fail", &out->fail_driver) &&
           software_gpu_find(nvrtc, "software_gpu_fail", &out->fail_nvrtc) &&
           software_gpu_find(driver, "software_gpu_failed", &out->driver_failed) &&
           software_gpu_find(nvrtc, "software_gpu_failed", &out->nvrtc_failed) &&
           software_gpu_find(nvrtc, "software_gpu_plant", &out->plant) &&
           software_gpu_find(driver, "software_gpu_count", &out->driver_counts) &&
           software_gpu_find(nvrtc, "software_gpu_count", &out->nvrtc_counts) &&
           software_gpu_find(driver, "software_gpu_set_arch", &out->set_arch) &&
           software_gpu_find(driver, "software_gpu_set_sms", &out->set_sms) &&
           software_gpu_find(driver, "cuInit", &out->driver_init) &&
           software_gpu_find(driver, "cuDevicePrimaryCtxRetain", &out->context_retain) &&
           software_gpu_find(driver, "cuCtxSetCurrent", &out->context_set) &&
           software_gpu_find(driver, "cuMemAlloc_v2", &out->memory_allocate) &&
           software_gpu_find(driver, "cuMemFree_v2", &out->memory_free) &&
           software_gpu_find(driver, "cuMemcpyHtoD_v2", &out->copy_to_device) &&
           software_gpu_find(driver, "cuMemcpyDtoH_v2", &out->copy_to_host);
}

/* The device's context becomes this thread's, as the CUDA runtime's first call makes it. */
static inline bool software_gpu_attach(const software_gpu *gpu) {
    void *context = NULL;
    return !gpu->driver_init(0) && !gpu->context_retain(&context, 0) && !gpu->context_set(context);
}

/* New memory of the device with a copy of these bytes, or, from NULL, with bytes that nobody wrote. NULL where a call
 * failed. The caller frees it with software_gpu_free. */
static inline void *software_gpu_array(const software_gpu *gpu, const void *from, size_t bytes) {
    unsigned long long address = 0;
    if (gpu->memory_allocate(&address, bytes)) return NULL;
    if (from && gpu->copy_to_device(address, from, bytes)) {
        gpu->memory_free(address);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

static inline bool software_gpu_read(const software_gpu *gpu, void *to, const void *array, size_t bytes) {
    return !gpu->copy_to_host(to, (uintptr_t)array, bytes);
}

/* False where somebody wrote outside of the array. NULL is no array, and fine. */
static inline bool software_gpu_free(const software_gpu *gpu, void *array) {
    return !array || !gpu->memory_free((uintptr_t)array);
}

#endif

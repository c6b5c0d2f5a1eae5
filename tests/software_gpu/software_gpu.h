/* SPDX-License-Identifier: Apache-2.0 */
/* The knobs of the software GPU, for tests in C and C++. libkiln_software_driver and libkiln_software_nvrtc export
 * these functions; software_gpu_open finds them. docs/software-gpu.md explains each. */
#ifndef KILN_TESTS_SOFTWARE_GPU_H
#define KILN_TESTS_SOFTWARE_GPU_H

#include <dlfcn.h>
#include <stdbool.h>
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
           software_gpu_find(driver, "software_gpu_set_sms", &out->set_sms);
}

#endif

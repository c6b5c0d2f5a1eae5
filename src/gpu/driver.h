/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the CUDA driver at run time; reads devices, loads kernels, launches them. Knows nothing of programs. */
#ifndef KILN_GPU_DRIVER_H
#define KILN_GPU_DRIVER_H

#include <stdbool.h>

#include "base/status.h"
#include "gpu/driver_api.h"
#include "schedule/device.h"

/* An opened driver library. Opened once per path in a process, never closed; cuInit has succeeded. */
typedef struct kiln__driver {
#define KILN__DRIVER_MEMBER(name, symbol, params) kiln__CUresult(*name) params;
    KILN__DRIVER_FUNCTIONS(KILN__DRIVER_MEMBER)
    KILN__DRIVER_OPTIONAL_FUNCTIONS(KILN__DRIVER_MEMBER)
#undef KILN__DRIVER_MEMBER
    char path[512];
    int version; /* 13000 */
} kiln__driver;

/* path: an option's value, NULL: KILN_DRIVER (secure_getenv), else libcuda.so.1. KILN_E_NO_DRIVER: cannot be opened, or
 * lacks a function (names it, and that CUDA 12.0 is needed); KILN_E_NO_DEVICE: cuInit found none. Thread-safe. */
kiln_status kiln__driver_open(const char *path, const kiln__driver **out);

/* status with "<what>: <cuGetErrorString> (<cuGetErrorName>)". Out of memory, missing contexts and captures get their
 * own status instead of the given one. */
kiln_status kiln__driver_fail(const kiln__driver *driver, kiln_status status, kiln__CUresult result, const char *what);

/* The numbers of a device. */
kiln_status kiln__driver_device(const kiln__driver *driver, kiln__CUdevice ordinal, kiln__device *out);

/* A kernel loaded for a device; serves every context of that device. */
typedef struct kiln__loaded {
    kiln__CUlibrary library;
    kiln__CUkernel kernel; /* the first of the image's, whose the numbers are */
    int registers, local_bytes;
    int64_t static_shared_bytes;
} kiln__loaded;

/* What launches of the image's kernels have: more must be asked for, of each kernel. */
typedef struct kiln__needs {
    int64_t dynamic_shared;      /* bytes per block */
    int cluster;                 /* blocks of a cluster, 1: there are none */
    int further;                 /* kernels beside the first, which have its name with 1, 2, ... behind it */
    int64_t last_dynamic_shared; /* of the last of the further ones */
} kiln__needs;

/* Loads the image, really (not at the first launch), for the current context's device, and allows what launches need.
 * Works while a stream of the thread is captured (relaxed capture mode inside) or says KILN_E_CAPTURE. KILN_E_LOAD
 * where the driver refuses the image (*refused true: bad image rather than a lack of memory or context). */
kiln_status kiln__loaded_create(const kiln__driver *driver, kiln__CUdevice device, const void *image, const char *name,
                                const kiln__needs *needs, kiln__loaded *out, bool *refused);
void kiln__loaded_destroy(const kiln__driver *driver, kiln__loaded *loaded);

#endif

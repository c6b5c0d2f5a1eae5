/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on a GPU with tensors in host memory: copies in, launches, copies out. */
#ifndef KILN_TOOL_DEVICE_MEMORY_H
#define KILN_TOOL_DEVICE_MEMORY_H

#include "gpu/driver.h"

typedef struct gpu {
    const kiln__driver *driver;
    kiln__CUdevice device;
    kiln__CUcontext context; /* the device's primary one, current on the calling thread */
} gpu;

/* Opens the driver and makes the primary context of this device current. KILN_E_NO_DRIVER, KILN_E_NO_DEVICE;
 * KILN_E_LAUNCH for what the driver refuses. */
kiln_status gpu_open(const char *driver_path, int ordinal, gpu *out);
void gpu_close(gpu *g);

int64_t gpu_tensor_elements(const kiln_tensor *tensor);
/* Device memory; 0 bytes are one. out is an address as tensors hold it. KILN_E_DEVICE_MEMORY. */
kiln_status gpu_allocate(const gpu *g, size_t bytes, void **out);
void gpu_free(const gpu *g, void *data);
/* A driver's result as a status that says what was done. */
kiln_status gpu_status(const gpu *g, kiln__CUresult result, const char *what);

/* Allocates tensors[i]'s elements on the device, for each i, and copies the first copied ones there. out[i] is
 * tensors[i] with the device address. Free with gpu_free_tensors, also after a failure. */
kiln_status gpu_copy_in(const gpu *g, const kiln_tensor *tensors, size_t count, size_t copied, kiln_tensor *out);
kiln_status gpu_copy_out(const gpu *g, const kiln_tensor *from, const kiln_tensor *to);
void gpu_free_tensors(const gpu *g, kiln_tensor *tensors, size_t count);

/* Launches the plan once on the default stream and waits. *kernel_ms: its time on the device. */
kiln_status gpu_launch(const gpu *g, const kiln_plan *plan, const kiln_tensor *tensors, size_t tensor_count,
                       const kiln_scalar *scalars, size_t scalar_count, double *kernel_ms);

#endif

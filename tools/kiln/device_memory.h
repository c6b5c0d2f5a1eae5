/* Runs a program on the first GPU with tensors that lie in host memory: copies in, launches, copies out. */
#ifndef KILN_TOOL_DEVICE_MEMORY_H
#define KILN_TOOL_DEVICE_MEMORY_H

#include "gpu/driver.h"

typedef struct gpu {
    const kiln__driver *driver;
    kiln__CUdevice device;
    kiln__CUcontext context; /* the device's primary one, current on the calling thread */
} gpu;

/* Opens the driver and makes device 0's primary context current. KILN_E_NO_DRIVER, KILN_E_NO_DEVICE; KILN_E_LAUNCH
 * for what the driver refuses. */
kiln_status gpu_open(const char *driver_path, gpu *out);
void gpu_close(gpu *g);

/* Allocates tensors[i]'s elements on the device, for each i, and copies the first copied ones there. out[i] is
 * tensors[i] with the device address. Free with gpu_free_tensors, also after a failure. */
kiln_status gpu_copy_in(const gpu *g, const kiln_tensor *tensors, size_t count, size_t copied, kiln_tensor *out);
kiln_status gpu_copy_out(const gpu *g, const kiln_tensor *from, const kiln_tensor *to);
void gpu_free_tensors(const gpu *g, kiln_tensor *tensors, size_t count);

/* Launches the plan once on the default stream and waits. *kernel_ms: its time on the device. */
kiln_status gpu_launch(const gpu *g, const kiln_plan *plan, const kiln_tensor *tensors, size_t tensor_count,
                       const kiln_scalar *scalars, size_t scalar_count, double *kernel_ms);

#endif

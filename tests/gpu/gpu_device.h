/* SPDX-License-Identifier: Apache-2.0 */
/* Device 0 for tests that run on a GPU, or their skipping where there is none. */
#ifndef KILN_TESTS_GPU_DEVICE_H
#define KILN_TESTS_GPU_DEVICE_H

#include "gpu/driver.h"

/* Opens the driver (KILN_DRIVER, else the system's) and makes device 0's context current on the calling thread. */
kiln_status gpu_device_open(const kiln__driver **driver, kiln__CUcontext *context, kiln__device *device);

/* Where the driver is the software GPU, the function that sets the seed that orders of threads are drawn from; else
 * NULL. */
typedef void (*gpu_reorder)(uint64_t seed);
gpu_reorder gpu_device_reorder(const kiln__driver *driver);

/* Looks for device 0: 0 and its architecture, or 77 with the reason printed where there is none. With several jobs
 * a process that then ends does so, since this one must still fork; with one job nothing forks,
 * which debugging tools prefer. */
int gpu_probe(int jobs, int *arch);

#endif

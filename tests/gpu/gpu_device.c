/* SPDX-License-Identifier: Apache-2.0 */
/* Device 0 for tests that run on a GPU, or their skipping where there is none. */
#define _GNU_SOURCE
#include "gpu_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "software_gpu/software_gpu.h"

kiln_status gpu_device_open(const kiln__driver **driver, kiln__CUcontext *context, kiln__device *device) {
    kiln__CUdevice ordinal = 0;
    kiln_status status = kiln__driver_open(NULL, driver);
    if (status != KILN_OK) return status;
    kiln__CUresult result = (*driver)->DeviceGet(&ordinal, 0);
    if (result == KILN__CUDA_SUCCESS) result = (*driver)->DevicePrimaryCtxRetain(context, ordinal);
    if (result == KILN__CUDA_SUCCESS) result = (*driver)->CtxSetCurrent(*context);
    if (result != KILN__CUDA_SUCCESS)
        return kiln__driver_fail(*driver, KILN_E_NO_DEVICE, result, "a context on device 0");
    return kiln__driver_device(*driver, ordinal, device);
}

gpu_reorder gpu_device_reorder(const kiln__driver *driver) {
    gpu_reorder reorder = NULL;
    void *library = dlopen(driver->path, RTLD_NOW | RTLD_NOLOAD);
    return software_gpu_find(library, "software_gpu_seed", &reorder) ? reorder : NULL;
}

static int probe_here(int *arch) {
    const kiln__driver *driver;
    kiln__CUcontext context;
    kiln__device device = {0};
    kiln_status status = gpu_device_open(&driver, &context, &device);
    if (status != KILN_OK) printf("skipped: no GPU: %s\n", kiln_last_error());
    *arch = device.arch;
    return status == KILN_OK ? 0 : 77;
}

int gpu_probe(int jobs, int *arch) {
    int ends[2];
    *arch = 0;
    if (jobs == 1) return probe_here(arch);
    if (pipe(ends)) return 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int status = probe_here(arch);
        fflush(stdout);
        if (write(ends[1], arch, sizeof *arch) != sizeof *arch) status = 1;
        _exit(status);
    }
    close(ends[1]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) status = 1 << 8;
    if (status == 0 && read(ends[0], arch, sizeof *arch) != sizeof *arch) status = 1 << 8;
    close(ends[0]);
    return WEXITSTATUS(status);
}

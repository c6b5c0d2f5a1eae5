/* SPDX-License-Identifier: Apache-2.0 */
/* One set of calls for both kinds of memory: see arrays.h. */
#include "arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>

bool arrays_on_gpu(void) {
    static int devices = -1;
    if (devices < 0 && (cudaGetDeviceCount(&devices) || cudaFree(NULL))) devices = 0; /* cudaFree makes a context */
    return devices > 0;
}

static void *device_create(size_t bytes) {
    void *array = NULL;
    if (cudaMallocManaged(&array, bytes, cudaMemAttachGlobal)) return NULL;
    if (!cudaMemset(array, 0, bytes) && !cudaDeviceSynchronize()) return array;
    cudaFree(array);
    return NULL;
}

static void device_destroy(void *array) { cudaFree(array); }

static kiln_status device_wait(void) {
    const cudaError_t error = cudaStreamSynchronize(NULL);
    if (error) fprintf(stderr, "the kernel failed: %s\n", cudaGetErrorString(error));
    return error ? KILN_E_LAUNCH : KILN_OK;
}
#else
bool arrays_on_gpu(void) { return false; }
static void *device_create(size_t bytes) {
    (void)bytes;
    return NULL;
}
static void device_destroy(void *array) { (void)array; }
static kiln_status device_wait(void) { return KILN_OK; }
#endif

void *array_create(size_t bytes) { return arrays_on_gpu() ? device_create(bytes) : calloc(1, bytes); }

void array_destroy(void *array) {
    if (arrays_on_gpu())
        device_destroy(array);
    else
        free(array);
}

kiln_status arrays_run(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                       const kiln_scalar_binding *scalars, size_t scalar_count) {
    if (!arrays_on_gpu()) return kiln_run_cpu_named(program, bindings, binding_count, scalars, scalar_count, NULL);
    const kiln_status status = kiln_run_named(program, bindings, binding_count, scalars, scalar_count, NULL, NULL);
    return status ? status : device_wait();
}

int report(const char *what, kiln_status status) {
    fprintf(stderr, "%s: %s: %s\n", what, kiln_status_name(status), kiln_last_error());
    return 1;
}

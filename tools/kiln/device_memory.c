/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory and launches through the driver's run-time table.
 * The primary context is used, the one that the runtime API's users have. */
#include "device_memory.h"

#include <stdio.h>

#include "base/types.h"

kiln_status gpu_open(const char *driver_path, int ordinal, gpu *out) {
    *out = (gpu){0};
    kiln_status status = kiln__driver_open(driver_path, &out->driver);
    if (status) {
        out->driver = NULL;
        return status;
    }
    char what[80];
    (void)snprintf(what, sizeof what, "device %d cannot be used", ordinal);
    kiln__CUresult result = out->driver->DeviceGet(&out->device, ordinal);
    if (result) return kiln__driver_fail(out->driver, KILN_E_NO_DEVICE, result, what);
    result = out->driver->DevicePrimaryCtxRetain(&out->context, out->device);
    if (result) {
        out->context = NULL;
        (void)snprintf(what, sizeof what, "the primary context of device %d cannot be had", ordinal);
        return gpu_status(out, result, what);
    }
    return gpu_status(out, out->driver->CtxSetCurrent(out->context), "the primary context cannot be made current");
}

void gpu_close(gpu *g) {
    if (!g->context) return;
    (void)g->driver->CtxSetCurrent(NULL);
    (void)g->driver->DevicePrimaryCtxRelease(g->device);
    g->context = NULL;
}

int64_t gpu_tensor_elements(const kiln_tensor *tensor) {
    int64_t elements = 1;
    for (int32_t i = 0; i < tensor->rank; i++) elements *= tensor->sizes[i];
    return elements;
}

static size_t tensor_bytes(const kiln_tensor *tensor) {
    return (size_t)kiln__type_bytes(tensor->type, gpu_tensor_elements(tensor));
}

/* Addresses are integers in the driver and pointers in a tensor. */
static kiln__CUdeviceptr address_of(const kiln_tensor *tensor) { return (kiln__CUdeviceptr)(uintptr_t)tensor->data; }

kiln_status gpu_status(const gpu *g, kiln__CUresult result, const char *what) {
    return result ? kiln__driver_fail(g->driver, KILN_E_LAUNCH, result, what) : KILN_OK;
}

kiln_status gpu_allocate(const gpu *g, size_t bytes, void **out) {
    kiln__CUdeviceptr address = 0;
    char what[64];
    kiln__CUresult result = g->driver->MemAlloc(&address, bytes ? bytes : 1); /* the driver refuses 0 bytes */
    (void)snprintf(what, sizeof what, "%zu bytes of device memory", bytes);
    if (result) return kiln__driver_fail(g->driver, KILN_E_DEVICE_MEMORY, result, what);
    *out = (void *)(uintptr_t)address;
    return KILN_OK;
}

void gpu_free(const gpu *g, void *data) {
    if (data) (void)g->driver->MemFree((kiln__CUdeviceptr)(uintptr_t)data);
}

kiln_status gpu_copy_in(const gpu *g, const kiln_tensor *tensors, size_t count, size_t copied, kiln_tensor *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = tensors[i];
        out[i].data = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = tensor_bytes(&tensors[i]);
        kiln_status status = gpu_allocate(g, bytes, &out[i].data);
        if (!status && i < copied && bytes) {
            status = gpu_status(g, g->driver->MemcpyHtoD(address_of(&out[i]), tensors[i].data, bytes),
                                "copying to the device");
        }
        if (status) return status;
    }
    return KILN_OK;
}

kiln_status gpu_copy_out(const gpu *g, const kiln_tensor *from, const kiln_tensor *to) {
    const size_t bytes = tensor_bytes(to);
    if (bytes == 0) return KILN_OK;
    return gpu_status(g, g->driver->MemcpyDtoH(to->data, address_of(from), bytes), "copying from the device");
}

void gpu_free_tensors(const gpu *g, kiln_tensor *tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gpu_free(g, tensors[i].data);
        tensors[i].data = NULL;
    }
}

static kiln_status launch_between(const gpu *g, const kiln_plan *plan, void *const *data, size_t count,
                                  const kiln_scalar *scalars, size_t scalar_count, kiln__CUevent start,
                                  kiln__CUevent stop, double *kernel_ms) {
    const kiln__driver *driver = g->driver;
    float elapsed = 0;
    kiln__CUresult result = driver->EventRecord(start, NULL);
    if (result) return kiln__driver_fail(driver, KILN_E_LAUNCH, result, "recording an event");
    kiln_status status = kiln_plan_launch(plan, data, count, scalars, scalar_count, NULL);
    if (status) return status;
    result = driver->EventRecord(stop, NULL);
    if (!result) result = driver->CtxSynchronize();
    if (!result) result = driver->EventElapsedTime(&elapsed, start, stop);
    if (result) return kiln__driver_fail(driver, KILN_E_LAUNCH, result, "waiting for the kernel");
    *kernel_ms = (double)elapsed;
    return KILN_OK;
}

kiln_status gpu_launch(const gpu *g, const kiln_plan *plan, const kiln_tensor *tensors, size_t tensor_count,
                       const kiln_scalar *scalars, size_t scalar_count, double *kernel_ms) {
    void *data[KILN_MAX_TENSORS];
    kiln__CUevent events[2] = {NULL, NULL};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < tensor_count; i++) data[i] = tensors[i].data;
    for (size_t i = 0; i < 2 && !status; i++) {
        kiln__CUresult result = g->driver->EventCreate(&events[i], 0);
        if (result) status = kiln__driver_fail(g->driver, KILN_E_LAUNCH, result, "creating an event");
    }
    if (!status) {
        status = launch_between(g, plan, data, tensor_count, scalars, scalar_count, events[0], events[1], kernel_ms);
    }
    for (size_t i = 0; i < 2; i++) {
        if (events[i]) (void)g->driver->EventDestroy(events[i]);
    }
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA context that calls work in: the calling thread's own, or, where the options ask for it, the primary context
 * of one device, which is retained when it is first needed and current during each call. */
#include "runtime/context.h"

/* With the context's lock held. */
static kiln_status retain(kiln_context *context, const kiln__driver *driver) {
    kiln__CUdevice device;
    kiln__CUresult result = driver->DeviceGet(&device, context->primary_ordinal);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_DEVICE, result, "cuDeviceGet");
    result = driver->DevicePrimaryCtxRetain(&context->primary, device);
    if (result) {
        context->primary = NULL;
        return kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuDevicePrimaryCtxRetain");
    }
    context->primary_device = device;
    return KILN_OK;
}

static kiln_status primary_of(kiln_context *context, const kiln__driver *driver, kiln__CUcontext *out) {
    pthread_mutex_lock(&context->lock);
    kiln_status status = context->primary ? KILN_OK : retain(context, driver);
    *out = context->primary;
    pthread_mutex_unlock(&context->lock);
    return status;
}

kiln_status kiln__primary_enter(kiln_context *context, kiln__current *out) {
    const kiln__driver *driver;
    kiln__CUcontext primary;
    kiln_status status = kiln__context_driver(context, &driver);
    if (!status) status = primary_of(context, driver, &primary);
    if (status) return status;
    kiln__CUresult result = driver->CtxGetCurrent(&out->before);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuCtxGetCurrent");
    if (out->before == primary) return KILN_OK;
    result = driver->CtxSetCurrent(primary);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuCtxSetCurrent");
    out->driver = driver;
    return KILN_OK;
}

void kiln__primary_release(kiln_context *context, const kiln__driver *driver) {
    if (context->primary && driver) driver->DevicePrimaryCtxRelease(context->primary_device);
    context->primary = NULL;
}

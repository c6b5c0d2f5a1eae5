/* SPDX-License-Identifier: Apache-2.0 */
/* What a context knows of devices. The driver takes up to a millisecond to tell the clock of a device's memory, one
 * thread after another, and a call for a new shape needs it: it is asked once. */
#include <stdlib.h>

#include "runtime/context.h"

struct kiln__known_device {
    kiln__known_device *next;
    kiln__CUdevice ordinal;
    kiln__device numbers;
};

/* With the lock held. */
static bool find(const kiln_context *context, kiln__CUdevice ordinal, kiln__device *out) {
    const kiln__known_device *known = context->devices;
    while (known && known->ordinal != ordinal) known = known->next;
    if (known) *out = known->numbers;
    return known != NULL;
}

kiln_status kiln__context_device(kiln_context *context, const kiln__driver *driver, kiln__CUdevice ordinal,
                                 kiln__device *out) {
    pthread_mutex_lock(&context->lock);
    const bool known = find(context, ordinal, out);
    pthread_mutex_unlock(&context->lock);
    if (known) return KILN_OK;
    kiln_status status = kiln__driver_device(driver, ordinal, out);
    kiln__known_device *device = status ? NULL : malloc(sizeof *device);
    if (!device) return status; /* without memory it is asked again */
    pthread_mutex_lock(&context->lock);
    *device = (kiln__known_device){context->devices, ordinal, *out};
    context->devices = device;
    pthread_mutex_unlock(&context->lock);
    return KILN_OK;
}

void kiln__devices_free(kiln_context *context) {
    while (context->devices) {
        kiln__known_device *device = context->devices;
        context->devices = device->next;
        free(device);
    }
}

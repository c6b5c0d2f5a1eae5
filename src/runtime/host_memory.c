/* SPDX-License-Identifier: Apache-2.0 */
/* The host memory that a context keeps from call to call, by the application's callbacks where it gave some. */
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

void *kiln__host_allocate(const kiln_context *context, size_t bytes) {
    const kiln_host_allocator *host = &context->host_allocator;
    if (!host->allocate) return calloc(1, bytes);
    void *memory = host->allocate(host->user, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void kiln__host_release(const kiln_context *context, void *memory, size_t bytes) {
    const kiln_host_allocator *host = &context->host_allocator;
    if (!host->allocate)
        free(memory);
    else if (memory)
        host->release(host->user, memory, bytes);
}

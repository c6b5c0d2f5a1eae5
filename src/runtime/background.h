/* SPDX-License-Identifier: Apache-2.0 */
/* Exact kernels that are compiled behind those for any shape: by threads of the context's, which touch no driver. What
 * they have compiled is found in memory by the next call for the shape, which loads it. */
#ifndef KILN_RUNTIME_BACKGROUND_H
#define KILN_RUNTIME_BACKGROUND_H

#include "runtime/context.h"

/* While a context is created; before it is destroyed: what is compiling is cancelled and waited for; in a forked child,
 * with the lock held, which has none of the threads and gives up what they were doing. */
void kiln__background_begin(kiln_context *context);
void kiln__background_stop(kiln_context *context);
void kiln__background_forked(kiln_context *context);

/* Compiles the exact kernel of a call some time; NULL where that cannot be. The caller releases it. */
kiln__awaited *kiln__background_start(const kiln__call *call, const kiln__device *device);
void kiln__awaited_release(kiln__awaited *awaited); /* NULL: does nothing */
/* Frees the bytes of the kernel, which has been loaded. */
void kiln__background_collect(kiln_context *context, const kiln__awaited *awaited);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the log is told of kernels; docs/observing.md has the list. Numbers come before the program's text, which may be
 * cut. */
#include <stdlib.h>

#include "runtime/context.h"

enum { least_wait_ms = 1 }; /* shorter than that it is no waiting */

/* NULL where the level is off, or without memory. The caller frees it. */
static char *described(const kiln_context *context, kiln_log_level level, const kiln__prepared *prepared) {
    return kiln__logs(&context->logger, level) ? kiln__prepared_describe(prepared) : NULL;
}

void kiln__event_compiling(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image) {
    char *what = described(context, KILN_LOG_INFO, prepared);
    if (what)
        kiln__log(&context->logger, KILN_LOG_INFO, "compiling for %s_%d, schedule '%s': %s",
                  image->facts.is_ptx ? "compute" : "sm", image->facts.arch, prepared->schedule.text, what);
    free(what);
}

void kiln__event_compiled(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image,
                          kiln_status status, double ms) {
    char *what = described(context, KILN_LOG_INFO, prepared);
    if (what && status)
        kiln__log(&context->logger, KILN_LOG_INFO, "compiling failed after %.1f ms (%s): %s", ms,
                  kiln_status_name(status), what);
    else if (what)
        kiln__log(&context->logger, KILN_LOG_INFO, "compiled in %.1f ms, %zu bytes: %s", ms, image->size, what);
    free(what);
}

void kiln__event_obtained(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image,
                          kiln_status status) {
    static const char *const places[] = {[KILN_ORIGIN_MEMORY] = "memory",
                                         [KILN_ORIGIN_DISK] = "the disk cache",
                                         [KILN_ORIGIN_PACK] = "a pack",
                                         [KILN_ORIGIN_CALLBACKS] = "the application's cache"};
    const bool waited = image->wait_ms >= least_wait_ms, found = !status && image->origin != KILN_ORIGIN_COMPILED;
    char *what = waited || found ? described(context, waited ? KILN_LOG_INFO : KILN_LOG_DEBUG, prepared) : NULL;
    if (what && waited)
        kiln__log(&context->logger, KILN_LOG_INFO, "waited %.1f ms while another thread or process compiled: %s",
                  image->wait_ms, what);
    if (what && found)
        kiln__log(&context->logger, KILN_LOG_DEBUG, "found in %s in %.1f ms: %s", places[image->origin],
                  image->lookup_ms, what);
    free(what);
}

void kiln__event_stands_in(const kiln_context *context, const kiln__prepared *prepared) {
    char *what = described(context, KILN_LOG_INFO, prepared);
    if (what) kiln__log(&context->logger, KILN_LOG_INFO, "stands in for a kernel that cannot be had: %s", what);
    free(what);
}

void kiln__event_loaded(const kiln_context *context, const kiln__prepared *prepared, const kiln__kernel_entry *kernel,
                        double ms) {
    char *what = described(context, KILN_LOG_DEBUG, prepared);
    if (what)
        kiln__log(&context->logger, KILN_LOG_DEBUG, "loaded on device %d in %.1f ms, %d registers: %s", kernel->device,
                  ms, kernel->loaded.registers, what);
    free(what);
}

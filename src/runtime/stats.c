/* SPDX-License-Identifier: Apache-2.0 */
/* What a context has done so far, in numbers: counted where a kernel is obtained or loaded, never where one that is
 * known is launched. */
#include <string.h>

#include "runtime/context.h"

void kiln__count(_Atomic int64_t *counter, int64_t more) {
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

void kiln__count_ms(_Atomic int64_t *nanoseconds, double since_ms) {
    kiln__count(nanoseconds, (int64_t)((kiln__now_ms() - since_ms) * 1e6));
}

static int64_t read(const _Atomic int64_t *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

kiln_status kiln_context_get_stats(kiln_context *context, kiln_context_stats *stats) {
    kiln__clear_error();
    if (!context || !stats) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "stats" : "context");
    const size_t size = stats->struct_size;
    kiln_status status = kiln__check_struct_size("kiln_context_stats", size, sizeof *stats, sizeof *stats);
    if (status) return status;
    kiln__context_enter(context);
    const kiln__counters *counters = &context->counters;
    kiln_context_stats all = {.struct_size = size,
                              .from_memory = read(&counters->obtained[KILN_ORIGIN_MEMORY]),
                              .from_disk = read(&counters->obtained[KILN_ORIGIN_DISK]),
                              .from_packs = read(&counters->obtained[KILN_ORIGIN_PACK]),
                              .compiled = read(&counters->obtained[KILN_ORIGIN_COMPILED]),
                              .refused = read(&counters->refused),
                              .failed_compiles = read(&counters->failed_compiles),
                              .loads = read(&counters->loads),
                              .compile_seconds = (double)read(&counters->compile_ns) * 1e-9,
                              .wait_seconds = (double)read(&counters->wait_ns) * 1e-9};
    pthread_mutex_lock(&context->lock);
    for (const kiln__shelf *shelf = context->shelves; shelf; shelf = shelf->next) {
        all.kernels += shelf->count;
        all.kernel_bytes += shelf->bytes;
    }
    all.shapes = kiln__dispatch_count(context);
    pthread_mutex_unlock(&context->lock);
    memcpy(stats, &all, size);
    return KILN_OK;
}

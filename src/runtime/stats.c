/* SPDX-License-Identifier: Apache-2.0 */
/* What a context and its programs have done so far, in numbers: counted where a kernel is obtained or loaded. Where one
 * that is known is launched, the launch is counted and nothing else. */
#include <string.h>

#include "runtime/context.h"

void kiln__count(kiln__counters *counters, int what, int64_t more) {
    for (; counters; counters = counters->whole)
        atomic_fetch_add_explicit(&counters->of[what], more, memory_order_relaxed);
}

double kiln__count_ms(kiln__counters *counters, int what, double since_ms) {
    const double ms = kiln__now_ms() - since_ms;
    kiln__count(counters, what, (int64_t)(ms * 1e6));
    return ms;
}

static int64_t read(const kiln__counters *counters, int what) {
    return atomic_load_explicit(&counters->of[what], memory_order_relaxed);
}

static double seconds(const kiln__counters *counters, int what) { return (double)read(counters, what) * 1e-9; }

kiln_status kiln_context_get_stats(kiln_context *context, kiln_context_stats *stats) {
    kiln__clear_error();
    if (!context || !stats) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "stats" : "context");
    const size_t size = stats->struct_size;
    kiln_status status = kiln__check_struct_size("kiln_context_stats", size, sizeof *stats, sizeof *stats);
    if (status) return status;
    kiln__context_enter(context);
    const kiln__counters *counters = &context->counters;
    kiln_context_stats all = {.struct_size = size,
                              .from_memory = read(counters, KILN_ORIGIN_MEMORY),
                              .from_packs = read(counters, KILN_ORIGIN_PACK),
                              .from_disk = read(counters, KILN_ORIGIN_DISK),
                              .compiled = read(counters, KILN_ORIGIN_COMPILED),
                              .refused = read(counters, KILN__REFUSED),
                              .failed_compiles = read(counters, KILN__FAILED_COMPILES),
                              .loads = read(counters, KILN__LOADS),
                              .from_callbacks = read(counters, KILN_ORIGIN_CALLBACKS),
                              .any_shape = read(counters, KILN__ANY_SHAPE_OBTAINED),
                              .compile_seconds = seconds(counters, KILN__COMPILE_NS),
                              .wait_seconds = seconds(counters, KILN__WAIT_NS),
                              .prepare_seconds = seconds(counters, KILN__PREPARE_NS)};
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

kiln_status kiln_program_get_stats(const kiln_program *program, kiln_program_stats *stats) {
    kiln__clear_error();
    if (!program || !stats) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", program ? "stats" : "program");
    const size_t size = stats->struct_size;
    kiln_status status = kiln__check_struct_size("kiln_program_stats", size, sizeof *stats, sizeof *stats);
    if (status) return status;
    kiln_context *context = program->context;
    kiln__context_enter(context);
    const kiln__usage *usage = program->usage;
    const kiln__counters *counters = &usage->counters;
    kiln_program_stats all = {.struct_size = size,
                              .from_memory = read(counters, KILN_ORIGIN_MEMORY),
                              .from_packs = read(counters, KILN_ORIGIN_PACK),
                              .from_disk = read(counters, KILN_ORIGIN_DISK),
                              .compiled = read(counters, KILN_ORIGIN_COMPILED),
                              .refused = read(counters, KILN__REFUSED),
                              .failed_compiles = read(counters, KILN__FAILED_COMPILES),
                              .loads = read(counters, KILN__LOADS),
                              .from_callbacks = read(counters, KILN_ORIGIN_CALLBACKS),
                              .any_shape = read(counters, KILN__ANY_SHAPE_OBTAINED),
                              .compile_seconds = seconds(counters, KILN__COMPILE_NS),
                              .wait_seconds = seconds(counters, KILN__WAIT_NS),
                              .prepare_seconds = seconds(counters, KILN__PREPARE_NS)};
    for (int i = 0; i < KILN__LAUNCH_PLACES; i++)
        all.launches += atomic_load_explicit(&usage->places[i].launches, memory_order_relaxed);
    pthread_mutex_lock(&context->lock);
    all.shapes = kiln__dispatch_count_of(program);
    pthread_mutex_unlock(&context->lock);
    memcpy(stats, &all, size);
    return KILN_OK;
}

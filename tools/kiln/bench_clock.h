/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels and the copy of the same bytes in turns, each between two events with the L2 flushed before. */
#ifndef KILN_TOOL_BENCH_CLOCK_H
#define KILN_TOOL_BENCH_CLOCK_H

#include "device_memory.h"

typedef struct bench_clock {
    const gpu *gpu;
    void *flushed;
    size_t flush_bytes;
    kiln__CUevent start, stop;
} bench_clock;

/* Microseconds. */
typedef struct bench_time {
    double median, low, high;
} bench_time; /* low, high: quartiles */

/* l2_bytes: of the device; the flush writes twice as much. *out is freed with bench_clock_free in any case. */
kiln_status bench_clock_create(const gpu *g, int64_t l2_bytes, bench_clock *out);
void bench_clock_free(bench_clock *clock);

/* What is timed. plan NULL: a copy that moves so many bytes. */
typedef struct bench_run {
    const kiln_plan *plan;
    void *const *data;
    size_t data_count;
    const kiln_scalar *scalars;
    size_t scalar_count;
    int64_t copied;
    bench_time time; /* the result */
} bench_run;

/* Each of the rounds launches every run once, beginning with another one each time. */
kiln_status bench_clock_time(const bench_clock *clock, bench_run *runs, size_t count, int rounds);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Events, the flush and medians of a bench. Everything is launched on the default stream.
 * The flush also hides the host's time for the next launch, so that the device never waits for it. */
#include "bench_clock.h"

#include <stdlib.h>

#define LEAST_FLUSH (32 << 20)

kiln_status bench_clock_create(const gpu *g, int64_t l2_bytes, bench_clock *out) {
    *out = (bench_clock){.gpu = g, .flush_bytes = LEAST_FLUSH};
    if (2 * l2_bytes > LEAST_FLUSH) out->flush_bytes = (size_t)(2 * l2_bytes);
    kiln_status status = gpu_allocate(g, out->flush_bytes, &out->flushed);
    if (!status) status = gpu_status(g, g->driver->EventCreate(&out->start, 0), "creating an event");
    if (!status) status = gpu_status(g, g->driver->EventCreate(&out->stop, 0), "creating an event");
    return status;
}

void bench_clock_free(bench_clock *clock) {
    if (!clock->gpu) return;
    if (clock->start) (void)clock->gpu->driver->EventDestroy(clock->start);
    if (clock->stop) (void)clock->gpu->driver->EventDestroy(clock->stop);
    gpu_free(clock->gpu, clock->flushed);
}

static kiln__CUdeviceptr address(const void *data) { return (kiln__CUdeviceptr)(uintptr_t)data; }

typedef struct copy_buffers {
    void *from, *to;
    size_t bytes;
} copy_buffers; /* half of what a copy moves */

static kiln_status launch(const bench_clock *clock, const bench_run *run, const copy_buffers *copy) {
    const kiln__driver *driver = clock->gpu->driver;
    if (run->plan)
        return kiln_plan_launch(run->plan, run->data, run->data_count, run->scalars, run->scalar_count, NULL);
    return gpu_status(clock->gpu, driver->MemcpyDtoDAsync(address(copy->to), address(copy->from), copy->bytes, NULL),
                      "copying on the device");
}

static kiln_status time_once(const bench_clock *clock, const bench_run *run, const copy_buffers *copy, double *us) {
    const kiln__driver *driver = clock->gpu->driver;
    float elapsed = 0;
    kiln__CUresult result = driver->MemsetD8(address(clock->flushed), 0, clock->flush_bytes);
    if (!result) result = driver->EventRecord(clock->start, NULL);
    kiln_status status = result ? gpu_status(clock->gpu, result, "flushing the L2") : launch(clock, run, copy);
    if (status) return status;
    result = driver->EventRecord(clock->stop, NULL);
    if (!result) result = driver->EventSynchronize(clock->stop);
    if (!result) result = driver->EventElapsedTime(&elapsed, clock->start, clock->stop);
    *us = (double)elapsed * 1e3;
    return gpu_status(clock->gpu, result, "waiting for a kernel");
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bench_time summarise(double *times, int rounds) {
    qsort(times, (size_t)rounds, sizeof *times, by_size);
    return (bench_time){times[rounds / 2], times[rounds / 4], times[rounds * 3 / 4]};
}

static kiln_status take_turns(const bench_clock *clock, bench_run *runs, size_t count, int rounds,
                              const copy_buffers *copy, double *times) {
    kiln_status status = KILN_OK;
    for (size_t k = 0; k < 2 * count && !status; k++) status = launch(clock, &runs[k % count], copy);
    for (int round = 0; round < rounds; round++) {
        for (size_t k = 0; k < count && !status; k++) {
            const size_t i = (k + (size_t)round) % count;
            status = time_once(clock, &runs[i], copy, &times[i * (size_t)rounds + (size_t)round]);
        }
    }
    for (size_t i = 0; i < count && !status; i++) runs[i].time = summarise(times + i * (size_t)rounds, rounds);
    return status;
}

kiln_status bench_clock_time(const bench_clock *clock, bench_run *runs, size_t count, int rounds) {
    copy_buffers copy = {0};
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].plan) copy.bytes = ((size_t)runs[i].copied / 2 + 511) / 512 * 512;
    }
    double *times = calloc(count * (size_t)rounds, sizeof *times);
    kiln_status status = times ? KILN_OK : kiln__out_of_memory();
    if (!status) status = gpu_allocate(clock->gpu, copy.bytes, &copy.from);
    if (!status) status = gpu_allocate(clock->gpu, copy.bytes, &copy.to);
    if (!status) status = take_turns(clock, runs, count, rounds, &copy, times);
    gpu_free(clock->gpu, copy.from);
    gpu_free(clock->gpu, copy.to);
    free(times);
    return status;
}

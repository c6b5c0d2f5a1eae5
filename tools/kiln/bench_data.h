/* SPDX-License-Identifier: Apache-2.0 */
/* A case's tensors on the device, filled with random numbers, and what the CPU reference makes of them. */
#ifndef KILN_TOOL_BENCH_DATA_H
#define KILN_TOOL_BENCH_DATA_H

#include "bench_case.h"
#include "device_memory.h"

#define BENCH_MAX_SLICES 3

/* Rows start .. start + length of the space, along one axis. */
typedef struct bench_slice {
    int64_t start, length;
} bench_slice;

/* How far a kernel's outputs are from the reference. */
typedef struct bench_error {
    double error;      /* the largest, over the largest magnitude of its output or, larger, of what cancelled in it */
    int64_t unwritten; /* elements that still hold the poison */
    bool right;
} bench_error;

typedef struct bench_data {
    const gpu *gpu;
    const request *request;
    const bench_case *which;
    kiln_tensor device[KILN_MAX_TENSORS];
    void *patterns[KILN_MAX_TENSORS]; /* the inputs' random numbers, repeated to their ends */
    int64_t checked, elements;        /* of the space: compared with the reference, and all */
    int axis;                         /* of the slices; -1: the whole space is one */
    bench_slice slices[BENCH_MAX_SLICES];
    size_t slice_count;
    double *wanted[BENCH_MAX_SLICES][KILN_MAX_TENSORS]; /* of each slice and output */
    double *terms[BENCH_MAX_SLICES][KILN_MAX_TENSORS];  /* the size of what its sums add up; NULL: it has none */
    bool wide;                                          /* the program computes in f64 */
} bench_data;

/* Allocates, fills, and runs the reference on as many rows as a second or so allows; at least on one. Inputs are
 * uniform in -2 .. 2, integers of up to 100. *out is freed with bench_data_free in any case. */
kiln_status bench_data_create(const gpu *g, const request *r, const bench_case *which, uint64_t seed, bench_data *out);
void bench_data_free(bench_data *data);

/* Overwrites the outputs with bytes of all ones: NaN in every floating type. */
kiln_status bench_data_poison(const bench_data *data);
/* Compares what a kernel has written since. */
kiln_status bench_data_check(const bench_data *data, bench_error *out);

#endif

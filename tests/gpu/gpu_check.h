/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one case of the GPU suite on the current device and compares every byte that it may and may not have written. */
#ifndef KILN_TESTS_GPU_CHECK_H
#define KILN_TESTS_GPU_CHECK_H

#include "gpu/driver.h"
#include "gpu_cases.h"

#define GPU_GUARD_BYTES 4096
typedef struct gpu_runner {
    const kiln__driver *driver;
    kiln__CUcontext cuda; /* current on the calling thread */
    kiln_context *kiln;
    uint64_t seed;
    int threads;        /* that the CPU reference is spread over */
    size_t guard_bytes; /* around each tensor, GPU_GUARD_BYTES at most */
    /* On a software GPU: sets the seed that orders threads are drawn from, and how many orders to run each case in. */
    void (*reorder)(uint64_t seed);
    int orders;
} gpu_runner;

/* What the cases of one group share. */
typedef struct gpu_session {
    const gpu_group *group;
    kiln_program *program;
    void *first_row; /* its result's bytes, the same for any number of rows; NULL before the first case */
} gpu_session;

typedef struct gpu_outcome {
    bool passed;
    bool broken; /* the CUDA context cannot be used any more */
    char schedule[160];
    char why[512];
    double worst; /* f16, bf16: ulp; others: the largest error over the row's largest magnitude */
} gpu_outcome;

void gpu_case_run(const gpu_runner *runner, gpu_session *session, int64_t rows, gpu_outcome *outcome);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU suite's worker processes and what they report. */
#ifndef KILN_TESTS_GPU_WORKERS_H
#define KILN_TESTS_GPU_WORKERS_H

#include "gpu_cases.h"

typedef struct gpu_run_options {
    uint64_t seed;
    int jobs, threads; /* processes (one: this one), and threads of each for the CPU reference */
    int orders;        /* that each case's threads run in, one after another, where the GPU is the software one */
} gpu_run_options;

/* Runs all groups and prints the failures and the totals. The exit status. */
int gpu_run_groups(const gpu_group *groups, size_t count, const gpu_run_options *options);

/* "block 128, shared, inner, masked" of a schedule's line: its kind without its sizes. */
void gpu_schedule_kind(const char *schedule, char *kind, size_t size);

#endif

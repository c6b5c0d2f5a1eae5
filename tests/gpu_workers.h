/* The GPU suite's worker processes and what they report. */
#ifndef KILN_TESTS_GPU_WORKERS_H
#define KILN_TESTS_GPU_WORKERS_H

#include "gpu_cases.h"

/* Runs all groups in `jobs` processes (one: in this one) and prints the failures and the totals. The exit status. */
int gpu_run_groups(const gpu_group *groups, size_t count, uint64_t seed, int jobs, int threads);

/* "block 128, shared, inner, masked" of a schedule's line: its kind without its sizes. */
void gpu_schedule_kind(const char *schedule, char *kind, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of a chosen schedule, as pins: the words of kiln_context_options.schedule. */
#ifndef KILN_TOOL_BENCH_NEIGHBOURS_H
#define KILN_TOOL_BENCH_NEIGHBOURS_H

#include <stddef.h>

#define BENCH_MAX_CONTENDERS 128 /* the chosen one and its neighbours */
#define BENCH_PINS_SIZE 64

typedef struct bench_neighbours {
    char pins[BENCH_MAX_CONTENDERS - 1][BENCH_PINS_SIZE];
    size_t count;
} bench_neighbours;

/* schedule: as in kiln_plan_info. Not every neighbour is possible for the problem: the library says so. */
void bench_neighbours_find(const char *schedule, bench_neighbours *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that a bench times for one case: the chosen one, with --candidates those around it, and those of
 * --schedule. */
#ifndef KILN_TOOL_BENCH_CONTENDER_H
#define KILN_TOOL_BENCH_CONTENDER_H

#include "bench_clock.h"
#include "bench_data.h"
#include "bench_neighbours.h"

/* A schedule with its plan. pins: "" of the chosen one. */
typedef struct bench_contender {
    char pins[BENCH_PINS_SIZE];
    kiln_context *context; /* of its own; NULL: the request's */
    kiln_program *program;
    kiln_plan *plan;
    kiln_plan_info info;
    bench_error error;
    bench_time time;
} bench_contender;

typedef struct bench_contenders {
    bench_contender *items; /* the chosen one first */
    size_t count;
    bench_time copy;
} bench_contenders;

/* Plans for the data's tensors: the chosen one, with --candidates those around it, and those of --schedule, each once,
 * without those that are impossible for the tensors. KILN_E_ARGUMENT quotes a word of --schedule that pins nothing.
 * *out is freed with bench_contenders_free in any case. */
kiln_status bench_contenders_create(const bench_data *data, bench_contenders *out);
void bench_contenders_free(bench_contenders *contenders);

/* Launches each once on poisoned outputs and compares, then times all and the copy in turns. */
kiln_status bench_contenders_measure(bench_contenders *contenders, const bench_data *data, const bench_clock *clock,
                                     int rounds);

/* The one of least time among those with right results; the chosen one where none is right. */
const bench_contender *bench_contenders_fastest(const bench_contenders *contenders);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Times a problem's candidates on a GPU, and judges whether one is faster than the library's own choice. */
#ifndef KILN_TOOL_TUNE_MEASURE_H
#define KILN_TOOL_TUNE_MEASURE_H

#include "bench_clock.h"
#include "tune_candidates.h"

#define TUNE_MOST_FINALISTS 5 /* the library's own choice among them */

typedef struct tune_contender {
    kiln__pins pins;
    char words[KILN__PINS_SIZE]; /* "" of the library's own */
    kiln_plan *plan;
    kiln_plan_info info;
    bench_time time;
    bool final; /* timed in the long rounds, too, from which time is then */
} tune_contender;

typedef struct tune_result {
    tune_contender *items; /* the library's own first, then the fastest first */
    size_t count, failed;  /* failed: could not be compiled or loaded */
    size_t listed;
    kiln__key key;
    char *description;
    size_t winner;  /* 0: the library's own stays */
    bool different; /* what would have won has other results than the library's own: it is not kept */
} tune_result;

typedef struct tune_limits {
    size_t candidates; /* besides the library's own */
    double seconds;    /* of compiling; what is compiled by then is timed */
    int rounds;
} tune_limits;

/* Compiles, times and judges. Leaves in the program's context what its tuned records say. *out is freed with
 * tune_result_free in any case, before the program. */
kiln_status tune_measure(const gpu *g, const bench_clock *clock, const tune_problem *problem, const tune_limits *limits,
                         tune_result *out);
void tune_result_free(tune_result *result);

/* The winner's record into the disk cache of the program's context; where the library's own choice stays, a record that
 * was there goes. KILN_E_IO. */
kiln_status tune_keep(const tune_problem *problem, const tune_result *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How a bench prints its cases: a table for people, CSV, JSON. */
#ifndef KILN_TOOL_BENCH_REPORT_H
#define KILN_TOOL_BENCH_REPORT_H

#include "bench_contender.h"
#include "json_output.h"

typedef enum bench_verdict { BENCH_OK, BENCH_SLOW, BENCH_WRONG, BENCH_FAILED } bench_verdict;

/* A measured case. contenders and data are empty where it failed. */
typedef struct bench_result {
    const bench_case *which;
    const bench_data *data;
    const bench_contenders *contenders;
    bench_verdict verdict;
    const char *failure; /* NULL, or the sentence */
} bench_result;

const char *bench_verdict_name(bench_verdict verdict);

/* label_width: of the longest label. */
void bench_print_head(int label_width);
void bench_print_row(const bench_result *result, int label_width);
void bench_print_csv_head(void);
void bench_print_csv_row(const bench_result *result);
json_t *bench_json(const request *r, const bench_result *result);

#endif

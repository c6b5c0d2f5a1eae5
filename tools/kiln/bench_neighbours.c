/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of a schedule, derived from the words of its own description: more and fewer threads, the other
 * stagings, larger and smaller vectors, batches, splits, clusters and tiles. */
#include "bench_neighbours.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static void add(bench_neighbours *list, const char *format, ...) KILN_PRINTF(2, 3);

static void add(bench_neighbours *list, const char *format, ...) {
    va_list values;
    if (list->count == sizeof list->pins / sizeof *list->pins) return;
    va_start(values, format);
    (void)vsnprintf(list->pins[list->count++], BENCH_PINS_SIZE, format, values);
    va_end(values);
}

/* The number behind a word of a schedule's description; 0 where the word is not there. */
static long number_of(const char *schedule, const char *word) {
    const char *at = strstr(schedule, word);
    return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

/* Of "8 rows per block"; 1 where that is not there. */
static long rows_of(const char *schedule) {
    const char *at = strstr(schedule, " rows per block");
    while (at && at > schedule && at[-1] >= '0' && at[-1] <= '9') at--;
    return at ? strtol(at, NULL, 10) : 1;
}

static const char *group_of(long threads) { return threads <= 32 ? "lanes" : "block"; }

/* A quarter, half, the same, twice and four times as many threads. */
static void add_threads(bench_neighbours *list, long threads, const char *staging) {
    for (long t = threads / 4 > 0 ? threads / 4 : 1; t <= 4 * threads && t <= 1024; t *= 2) {
        if (staging)
            add(list, "%s %ld, %s", group_of(t), t, staging);
        else
            add(list, "threads %ld", t);
    }
}

static void add_halves(bench_neighbours *list, const char *word, long number) {
    if (number > 1) add(list, "%s %ld", word, number / 2);
    add(list, "%s %ld", word, number * 2);
}

/* Rows whose columns are contiguous. */
static void add_row_neighbours(bench_neighbours *list, const char *schedule) {
    static const char *const words[] = {"online", "phased", "persistent", "single", "grid"};
    const long lanes = number_of(schedule, "lanes "), block = number_of(schedule, "block ");
    const long threads = lanes ? lanes : block ? block : 32, splits = number_of(schedule, "splits ");
    add_threads(list, threads, "registers");
    add_threads(list, threads, "shared");
    for (long t = 1; t <= 64 && threads <= 128; t *= 2) add(list, "%s %ld, tile", group_of(t), t);
    if (rows_of(schedule) > 1 || strstr(schedule, "tile")) add_halves(list, "rows", rows_of(schedule));
    if (threads >= 128) {
        add_threads(list, threads, "stream");
        for (long batch = 1; batch <= 8; batch *= 2) add(list, "stream, batch %ld", batch);
        for (long cluster = 2; cluster <= 16; cluster *= 2) {
            for (long t = 128; t <= 1024; t *= 2) add(list, "block %ld, cluster %ld", t, cluster);
        }
        add_halves(list, "splits", splits > 1 ? splits : 2);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) add(list, "%s", words[i]);
}

static void add_flat_neighbours(bench_neighbours *list, const char *schedule) {
    const long threads = number_of(schedule, "threads ");
    add_threads(list, threads ? threads : 256, NULL);
    for (long steps = 1; steps <= 8; steps *= 2) {
        add(list, "steps %ld", steps);
        add(list, "threads 128, steps %ld", steps);
    }
}

/* Reductions over leading axes: neighbouring rows are contiguous. */
static void add_outer_neighbours(bench_neighbours *list, const char *schedule) {
    const long columns = number_of(schedule, "columns "), splits = number_of(schedule, "splits ");
    add_threads(list, columns ? columns : 8, NULL);
    add(list, "registers");
    add(list, "stream");
    for (long batch = 2; batch <= 32; batch *= 2) add(list, "batch %ld", batch);
    add_halves(list, "rows", rows_of(schedule));
    add_halves(list, "splits", splits > 1 ? splits : 1);
    for (long cluster = 2; cluster <= 16; cluster *= 2) {
        add(list, "cluster %ld", cluster);
        add(list, "cluster %ld, shared", cluster);
        add(list, "cluster %ld, rows %ld", cluster, 2 * rows_of(schedule));
    }
}

void bench_neighbours_find(const char *schedule, bench_neighbours *out) {
    const long width = number_of(schedule, "vector ");
    out->count = 0;
    if (strstr(schedule, ", flat"))
        add_flat_neighbours(out, schedule);
    else if (strstr(schedule, ", outer"))
        add_outer_neighbours(out, schedule);
    else
        add_row_neighbours(out, schedule);
    if (width > 1) add(out, "vector %ld", width / 2);
}

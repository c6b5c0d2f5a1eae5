/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on standard error, where that is a terminal. */
#ifndef KILN_TOOL_PROGRESS_H
#define KILN_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct progress {
    bool shown;
    size_t total;
    double start; /* of the work, in seconds */
} progress;

/* hidden: --quiet, say. */
progress progress_begin(size_t total, bool hidden);
/* Draws it: how much is done, how many of these failed, how fast, how long it will take. */
void progress_show(const progress *bar, size_t done, size_t failed);
/* Takes the bar away, so that other lines can be written. */
void progress_clear(const progress *bar);
/* Seconds since progress_begin. */
double progress_seconds(const progress *bar);

/* "[#####     ] 50/100, 12.5 per second, 0:04 left, 2 failed" into text; width: of the bar alone. */
void progress_format(char *text, size_t size, int width, size_t done, size_t total, size_t failed, double seconds);

#endif

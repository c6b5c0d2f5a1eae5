/* SPDX-License-Identifier: Apache-2.0 */
/* Draws one line over and over. */
#define _GNU_SOURCE
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

progress progress_begin(size_t total, bool hidden) {
    return (progress){.shown = !hidden && isatty(STDERR_FILENO), .total = total, .start = now_s()};
}

double progress_seconds(const progress *bar) { return now_s() - bar->start; }

void progress_format(char *text, size_t size, int width, size_t done, size_t total, size_t failed, double seconds) {
    const int filled = total ? (int)((double)width * (double)done / (double)total) : width;
    const double rate = seconds > 0 ? (double)done / seconds : 0;
    const double left = rate > 0 ? (double)(total - done) / rate : 0;
    char bar[81];
    memset(bar, ' ', sizeof bar);
    memset(bar, '#', (size_t)filled);
    int used = snprintf(text, size, "[%.*s] %zu/%zu, %.1f per second", width, bar, done, total, rate);
    if (rate > 0 && used > 0 && (size_t)used < size) {
        used += snprintf(text + used, size - (size_t)used, ", %d:%02d left", (int)left / 60, (int)left % 60);
    }
    if (failed && used > 0 && (size_t)used < size)
        (void)snprintf(text + used, size - (size_t)used, ", %zu failed", failed);
}

void progress_show(const progress *bar, size_t done, size_t failed) {
    char text[160];
    if (!bar->shown) return;
    progress_format(text, sizeof text, 30, done, bar->total, failed, progress_seconds(bar));
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
}

void progress_clear(const progress *bar) {
    if (!bar->shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges on a profiler's time line, where one is attached; without one a range costs a comparison. */
#ifndef KILN_BASE_PROFILER_H
#define KILN_BASE_PROFILER_H

#include <stdatomic.h>
#include <stdbool.h>

/* Whether a profiler takes ranges; never false again. */
extern atomic_bool kiln__profiled;

/* Looks for a profiler, once in a process: before the first range of who calls it. A program with raised rights has
 * none. */
void kiln__profiler_open(void);

/* "what: text" begins on this thread: what is Kiln's word, text is a program's, made printable and cut. */
void kiln__range_push(const char *what, const char *text);
void kiln__range_pop(void);

/* True where it has begun. Ranges of a thread end in reverse order. */
static inline bool kiln__range_begin(const char *what, const char *text) {
    if (!atomic_load_explicit(&kiln__profiled, memory_order_acquire)) return false;
    kiln__range_push(what, text);
    return true;
}
static inline void kiln__range_end(bool begun) {
    if (begun) kiln__range_pop();
}

#endif

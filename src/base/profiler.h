/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges on a profiler's time line, where one is attached; without one a range costs a comparison. */
#ifndef KILN_BASE_PROFILER_H
#define KILN_BASE_PROFILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A place for a function of the profiler's, which it fills and empties at any time. NULL: there is no profiler, or it
 * does not want to hear of this. */
typedef struct kiln__profiler_place {
    _Atomic(void (*)(void)) function;
} kiln__profiler_place;

extern kiln__profiler_place kiln__profiler_push; /* begins a range */

static inline bool kiln__is_profiled(void) {
    return atomic_load_explicit(&kiln__profiler_push.function, memory_order_acquire) != NULL;
}

/* Looks for a profiler, once in a process. A program with raised rights has none. */
void kiln__profiler_open(void);

/* "what: text" begins on this thread: what is Kiln's word, text is a program's, made printable and cut. False where the
 * profiler has gone meanwhile. */
bool kiln__range_push(const char *what, const char *text);
void kiln__range_pop(void);

/* True where it has begun. Ranges of a thread end in reverse order. */
static inline bool kiln__range_begin(const char *what, const char *text) {
    return kiln__is_profiled() && kiln__range_push(what, text);
}
static inline void kiln__range_end(bool begun) {
    if (begun) kiln__range_pop();
}

#endif

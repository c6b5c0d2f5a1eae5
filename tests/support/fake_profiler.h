/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in for a profiler, tests/support/fake_profiler.c, has seen of ranges. */
#ifndef KILN_TESTS_FAKE_PROFILER_H
#define KILN_TESTS_FAKE_PROFILER_H

#include <stdatomic.h>

enum { FAKE_PROFILER_MOST = 64 };

typedef struct fake_profiler {
    atomic_int clients;                   /* that have attached it */
    atomic_int pushes, pops, foreign;     /* foreign: in another domain than one that was created here */
    char domain[32];                      /* the name of the last that was created */
    void (*enable)(int on);               /* gives the last client its functions, or takes them away */
    char ranges[FAKE_PROFILER_MOST][256]; /* messages, two blanks before each for every range that it lies in */
} fake_profiler;

typedef fake_profiler *fake_profiler_function(void); /* fake_profiler_state */

#endif

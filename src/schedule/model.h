/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule is expected to take: a sum of terms, each the time that one resource or one kind of waiting alone
 * would take, times the coefficients that tools/tune/ fits to measurements. */
#ifndef KILN_SCHEDULE_MODEL_H
#define KILN_SCHEDULE_MODEL_H

#include "schedule/build.h"

/* Microseconds, all of them. */
typedef enum kiln__term {
    KILN__TERM_MEMORY,   /* what must be moved, at the memory's speed */
    KILN__TERM_REREAD,   /* what is read again because it does not stay */
    KILN__TERM_QUEUE,    /* memory that waits because too few bytes are under way */
    KILN__TERM_ENDS,     /* sectors of which only a part is needed */
    KILN__TERM_PIECES,   /* short pieces of neighbouring rows: memory fills in longer ones */
    KILN__TERM_SHARE,    /* what all rows share, as often as it is read */
    KILN__TERM_LATE,     /* the same, where it is asked for only when a row is there */
    KILN__TERM_REQUESTS, /* accesses of warps ... */
    KILN__TERM_LINES,    /* ... and the lines of 128 bytes that they touch */
    KILN__TERM_ISSUE,    /* instructions, at the rate at which multiprocessors issue them */
    KILN__TERM_BANKS,    /* what passes through shared memory, by the banks' conflicts */
    KILN__TERM_CHAIN,    /* loads that wait for one another, as often as blocks take turns */
    KILN__TERM_SERIAL,   /* a thread's own instructions, one after another, likewise */
    KILN__TERM_EXCHANGE, /* threads that wait for one another, likewise */
    KILN__TERM_ALONE,    /* memory that nobody asks while a block computes: there are few beside it */
    KILN__TERM_CLUSTER,  /* blocks that start and end together */
    KILN__TERM_TAIL,     /* multiprocessors that have no more work while others do */
    KILN__TERM_SPILL,    /* values for which there are no registers */
    KILN__TERM_CODE,     /* machine code that is long to fetch */
    KILN__TERM_LAUNCH,   /* launches after the first, and what they hand on */
    KILN__TERMS
} kiln__term;

extern const char *const kiln__term_names[KILN__TERMS];

/* What the terms are made of, for those who want to see it. */
typedef struct kiln__estimate {
    int registers; /* of a thread, before they are limited */
    int resident;  /* blocks on a multiprocessor at a time */
    double terms[KILN__TERMS];
} kiln__estimate;

/* Of a schedule that is sketched or whole, for the problem's number of rows. */
void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out);

/* What a term adds to the time, times its coefficient, and the sum of all: microseconds. */
double kiln__model_part(const kiln__estimate *estimate, int term);
double kiln__model_time(const kiln__estimate *estimate);

#endif

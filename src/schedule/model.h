/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule is expected to take: terms, each the time that one resource or one kind of waiting alone would take,
 * and the coefficients that tools/tune/ fits to measurements. */
#ifndef KILN_SCHEDULE_MODEL_H
#define KILN_SCHEDULE_MODEL_H

#include "schedule/build.h"

/* Microseconds, all of them; tools/tune/README.md says how they are put together. */
typedef enum kiln__term {
    KILN__TERM_MEMORY, /* what must be moved, at the memory's speed */
    KILN__TERM_REREAD, /* what is read again, and what of sectors is read in vain */
    KILN__TERM_SHARE,  /* what all rows share, as often as it is read */
    KILN__TERM_LINES,  /* accesses of warps, by the lines of 128 bytes that they touch */
    KILN__TERM_ISSUE,  /* instructions, at the rate at which multiprocessors issue them */
    KILN__TERM_BANKS,  /* what passes through shared memory, by the banks' conflicts */
    KILN__TERM_TURN,   /* the time from a block's first load to its last store, as often as blocks take turns */
    KILN__TERM_TAIL,   /* multiprocessors that have no more work while others do */
    KILN__TERM_SPILL,  /* values for which there are no registers */
    KILN__TERM_LAUNCH, /* launches after the first */
    KILN__TERMS
} kiln__term;

extern const char *const kiln__term_names[KILN__TERMS];

/* What the terms are made of, for those who want to see it. */
typedef struct kiln__estimate {
    int registers;  /* of a thread, before they are limited */
    int resident;   /* blocks on a multiprocessor at a time */
    double blocks;  /* that take turns, of all launches */
    double turn_us; /* of one of them */
    double terms[KILN__TERMS];
} kiln__estimate;

/* Of a schedule that is whole; an open number of rows counts as KILN__OPEN_ROWS. */
void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How much there is to do by a schedule, and how much of it at a time: what the model's terms are made of. */
#ifndef KILN_SCHEDULE_WORK_H
#define KILN_SCHEDULE_WORK_H

#include "schedule/build.h"

typedef struct kiln__work {
    const kiln__given *g;
    const kiln__schedule *s;
    double rows, cols; /* pointwise: elements, 1 */
    double elements;
    double slots;    /* elements that threads go through, those that are none included */
    double vectors;  /* of all threads */
    double passes;   /* over a row: of the phases, and of the outputs that have columns */
    double phases;   /* that end in an exchange */
    double unstaged; /* the part of a row that does not stay between passes */
    double bytes;    /* that must be moved */
    double blocks;   /* of all launches */
    double turns;    /* how often a multiprocessor's blocks are followed by others */
    int registers;   /* of a thread, before they are limited */
    bool tight;      /* whether there may be no room for them: what is expected is a guess */
    int resident;    /* blocks that a multiprocessor has room for ... */
    double at_once;  /* ... and that it has at a time: fewer, where there are few in all */
} kiln__work;

#define KILN__REGISTERS_OFF 6 /* what is expected of the compiler is off by, in the median */

/* Of a schedule that is sketched or whole. */
kiln__work kiln__work_of(const kiln__given *g, const kiln__schedule *s);

/* Elements of a tensor that differ: not those of extents that it broadcasts over. */
double kiln__work_elements(const kiln__problem *problem, const kiln__operand *operand);

/* Rows that a group works on side by side. */
static inline double kiln__work_rows_in_flight(const kiln__work *w) {
    return kiln__row_of(w->s)->rows_in_flight ? w->s->team.rows_per_block : 1;
}

#endif

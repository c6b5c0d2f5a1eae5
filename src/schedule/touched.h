/* SPDX-License-Identifier: Apache-2.0 */
/* What memory the threads of a warp touch, by the addresses that they have. */
#ifndef KILN_SCHEDULE_TOUCHED_H
#define KILN_SCHEDULE_TOUCHED_H

#include "schedule/schedule.h"

#define KILN__LINE_BYTES 128
#define KILN__SECTOR_BYTES 32

/* Of one vector of each thread of a warp; not whole where a vector's accesses are averaged. */
typedef struct kiln__touched {
    double requests; /* accesses of a thread */
    double lines;    /* of 128 bytes, ... */
    double sectors;  /* ... and of 32, of all requests together */
} kiln__touched;

/* Elements of one access of a thread. */
static inline int kiln__access_elements(const kiln__access *access) {
    if (access->width) return access->width;
    return access->run > 1 ? access->run : 1;
}

/* A tensor that has columns, in a schedule that is sketched or whole: the first warp of the first block. */
kiln__touched kiln__warp_touches(const kiln__problem *problem, const kiln__schedule *s, int tensor);

#endif

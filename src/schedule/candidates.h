/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are worth comparing for a problem. */
#ifndef KILN_SCHEDULE_CANDIDATES_H
#define KILN_SCHEDULE_CANDIDATES_H

#include "schedule/schedule.h"

#define KILN__MOST_CANDIDATES 512

/* Lists what may be pinned, every choice of it made, by limits of the hardware alone: registers of a thread, shared
 * memory of a block, threads, clusters, widths of accesses. Each gives a schedule, or is refused, by
 * kiln__schedule_choose; several may give the same. Returns how many there are. */
int kiln__candidates_list(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          kiln__pins out[KILN__MOST_CANDIDATES]);

#endif

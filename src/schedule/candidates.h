/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are worth comparing for a problem. */
#ifndef KILN_SCHEDULE_CANDIDATES_H
#define KILN_SCHEDULE_CANDIDATES_H

#include "schedule/schedule.h"
#include "schedule/traits.h"

#define KILN__MOST_CANDIDATES 4096

/* Lists what may be pinned, every choice of it made, by limits of the hardware alone: registers of a thread, shared
 * memory of a block, threads, clusters, widths of accesses. Each gives a schedule, or is refused, by
 * kiln__schedule_choose; several may give the same. The first pins nothing: the library's own choice. Returns how many
 * there are. */
int kiln__candidates_list(const kiln__traits *traits, const kiln__problem *problem, const kiln__device *device,
                          kiln__pins out[KILN__MOST_CANDIDATES]);

#endif

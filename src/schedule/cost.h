/* SPDX-License-Identifier: Apache-2.0 */
/* How much machine code a kernel is, and what of it is compiled once and called. */
#ifndef KILN_SCHEDULE_COST_H
#define KILN_SCHEDULE_COST_H

#include "schedule/schedule.h"

/* Estimated, of all that is compiled for one request: some seconds on one core. */
#define KILN__MOST_INSTRUCTIONS 28000

/* Machine instructions for an element, all inlined: of all reductions, of outputs that have columns; and of what a row
 * has one of. KILN_E_MEMORY. */
kiln_status kiln__weigh(const kiln__ir *ir, const kiln__problem *problem, int64_t *reductions, int64_t *outputs,
                        int64_t *row);

/* Sets schedule->code.inlining, from the one that it has on: the most that keeps the kernel small enough to be compiled
 * in a fraction of a second. KILN_E_LIMIT tells the estimate where nothing does. */
kiln_status kiln__inlining_choose(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *schedule);

#endif

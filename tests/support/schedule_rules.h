/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every schedule, whatever the program, the columns, the types, the device and what is pinned. */
#ifndef KILN_TESTS_SCHEDULE_RULES_H
#define KILN_TESTS_SCHEDULE_RULES_H

#include "runtime/context.h"

/* The first rule that the schedule breaks, in C; NULL: it keeps them all. */
const char *schedule_fault(const kiln__schedule *schedule, const kiln__problem *problem, const kiln__device *device);

/* The same of what follows from it: the grid of so many rows, the workspace, the kernel's argument. A grid too large
 * for a device breaks none. */
const char *launch_fault(const kiln__prepared *prepared);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are worth comparing for a problem. */
#ifndef KILN_SCHEDULE_CANDIDATES_H
#define KILN_SCHEDULE_CANDIDATES_H

#include "schedule/build.h"

#define KILN__MOST_CANDIDATES 4096

/* Lists points, which say all that a builder takes from pins, as far as the hardware goes: registers of a thread,
 * shared memory of a block, threads, clusters, widths of accesses. What is pinned is so in all of them; a number that
 * nothing else would list, such as three chunks, is taken from the pins. Builders may refuse some, and several may give
 * the same schedule. `any`: also what is never the fastest, because threads have no work or too much of it, as pins may
 * want it nonetheless. Returns how many there are; 0: what is pinned cannot be together. */
int kiln__candidates_list(const kiln__given *g, const kiln__pins *pins, bool any,
                          kiln__pins out[KILN__MOST_CANDIDATES]);

/* Where neighbouring rows lie side by side: a few points of each order in which a row's columns can be combined. */
int kiln__candidates_of_orders(const kiln__given *g, const kiln__pins *pins, kiln__pins out[KILN__MOST_CANDIDATES]);

#endif

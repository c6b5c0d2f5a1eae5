/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a row's columns are combined, where neighbouring rows lie side by side. */
#ifndef KILN_SCHEDULE_COLUMN_ORDER_H
#define KILN_SCHEDULE_COLUMN_ORDER_H

#include "schedule/build.h"

/* What of a point decides it: how many threads, blocks and chunks share a row, and whether phases are reduced together.
 * The rest is open. */
kiln__pins kiln__order_of(const kiln__pins *point);

/* The pins, and what they leave open of the order: *count of them. The order decides a row's bits, so it follows from
 * the program, the columns and the types alone, not from how rows lie: of all orders out[0] has the one that the model
 * expects to be the best on average over typical layouts of rows. Where it takes clusters, out[1] has the best that
 * takes none, as the last resort of devices that have no room for them. KILN_E_MEMORY. */
#define KILN__MOST_ORDERS 2
kiln_status kiln__column_orders(const kiln__given *g, const kiln__pins *pins, kiln__pins out[KILN__MOST_ORDERS],
                                int *count);

#endif

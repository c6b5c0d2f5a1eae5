/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a row's columns are combined, where neighbouring rows lie side by side. */
#ifndef KILN_SCHEDULE_COLUMN_ORDER_H
#define KILN_SCHEDULE_COLUMN_ORDER_H

#include "schedule/build.h"

/* *out: the pins, with how many threads, blocks and chunks share a row, and whether phases are reduced together. These
 * decide a row's bits, so they follow from the program, the columns and the types alone, not from how rows lie: they
 * are those that the model expects to be the best on average over typical layouts of rows. Count of what is pinned is
 * what it was. KILN_E_MEMORY. */
kiln_status kiln__column_order(const kiln__given *g, const kiln__pins *pins, kiln__pins *out);

#endif

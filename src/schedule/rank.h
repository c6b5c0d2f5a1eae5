/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates in the order in which the model expects them to be fast. */
#ifndef KILN_SCHEDULE_RANK_H
#define KILN_SCHEDULE_RANK_H

#include "schedule/build.h"
#include "schedule/model.h"
#include "schedule/typical_rows.h"

/* A candidate, and the time that it is expected to take, in a unit of the problem's own, for as many rows as
 * KILN__RANK_BYTES are: the problem's own number counts for nothing, so that a row has the same bits however many
 * others there are. */
typedef struct kiln__ranked {
    kiln__pins point;
    double slowdown;
} kiln__ranked;

/* All candidates that builders make schedules of, the fastest first; equal ones stay in the order of
 * kiln__candidates_list. Of those that the model cannot tell from the fastest the one of the least code comes first.
 * *out is the caller's to free. KILN_E_MEMORY. Count 0: what is pinned is no schedule. */
kiln_status kiln__rank_all(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count);

/* The same of those that may be chosen: where neighbouring rows lie side by side, they combine a row's columns in the
 * orders of kiln__column_orders. Pins that none of these has may have what is never the fastest. */
kiln_status kiln__rank(const kiln__given *g, const kiln__pins *pins, kiln__ranked **out, int *count);

/* The same of a schedule that is sketched or whole; *many, if it is not NULL, gets its features for KILN__RANK_BYTES.
 * KILN_E_MEMORY. */
kiln_status kiln__rank_slowdown(const kiln__given *g, const kiln__schedule *s, kiln__estimate *many, double *slowdown);

#endif

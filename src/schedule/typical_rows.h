/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of rows that schedules are compared for. */
#ifndef KILN_SCHEDULE_TYPICAL_ROWS_H
#define KILN_SCHEDULE_TYPICAL_ROWS_H

#include "problem/problem.h"

#define KILN__RANK_BYTES 256e6    /* moved by as many rows as that takes: many times what caches hold ... */
#define KILN__RANK_FEW_BYTES 16e6 /* ... and the same for few rows, which leave multiprocessors without work */

/* Whether neighbouring rows differ in a tensor. One that differs only between runs of them counts as row-invariant:
 * with one run the two look the same. */
bool kiln__neighbours_differ(const kiln__problem *problem, const kiln__operand *operand);

/* Gives a problem so many rows as move the bytes. */
void kiln__set_typical_rows(double bytes, kiln__problem *p);

#endif

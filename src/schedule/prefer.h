/* SPDX-License-Identifier: Apache-2.0 */
/* Points in the order in which they are tried: measured on the programs that Kiln was first tuned for. */
#ifndef KILN_SCHEDULE_PREFER_H
#define KILN_SCHEDULE_PREFER_H

#include "schedule/build.h"

typedef struct kiln__preference {
    kiln__pins point;
    const char *reason;
    bool of_two_blocks; /* none for 1,024 threads of which a multiprocessor holds but one block */
} kiln__preference;

#define KILN__MOST_PREFERENCES 256

/* What is open of the pins is filled in; up to KILN__MOST_PREFERENCES. Returns how many there are. */
int kiln__prefer_rows(const kiln__given *g, const kiln__pins *pins, kiln__preference *out);
int kiln__prefer_columns(const kiln__given *g, const kiln__pins *pins, kiln__preference *out);

/* Teams of several rows in flight, and tiles of short rows: points are added behind `count`, which is returned anew.
 * Rows of so many vectors of 16 bytes, all staged inputs together; `bytes` in a vector. */
int kiln__prefer_rows_in_flight(const kiln__given *g, const kiln__pins *pins, const kiln__schedule *vectors,
                                int64_t load, int bytes, kiln__preference *out, int count);
kiln__pins kiln__prefer_row_tile(const kiln__given *g, const kiln__pins *pins, const kiln__schedule *vectors);

#endif

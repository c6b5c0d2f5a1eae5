// SPDX-License-Identifier: Apache-2.0
/* Scans of rows that lanes of a warp work on, by a phase: a rank's columns are neighbours, so that what is before them
 * in the row is what the ranks before it come to. */

/* Every rank gets the combination of the values of the ranks before it. */
template <class V> KILN_EXCHANGE V kiln_all_before(const V &value) {
    V before;
    kiln_scan_lanes<KILN_THREADS_PER_ROW>(value, before, kiln_lanes_together());
    return before;
}

// SPDX-License-Identifier: Apache-2.0
/* Scans of rows that a block works on, by a phase: a rank's columns are neighbours, so that what is before them in the
 * row is what the ranks before it come to. */

/* Every thread gets the combination of the values of the threads before it: of their warps, then of their lanes. */
template <class V> KILN_EXCHANGE V kiln_all_before(const V &value) {
    __shared__ V slots[KILN_THREADS / 32];
    const int warp = (int)threadIdx.x / 32;
    V before, warps;
    const V all = kiln_scan_lanes<32>(value, before);
    if (threadIdx.x % 32 == 0) slots[warp] = all;
    kiln_block_barrier();
    warps.clear();
    for (int w = 0; w < warp; ++w) warps = V::combine(warps, slots[w]);
    return V::combine(warps, before);
}

// SPDX-License-Identifier: Apache-2.0
/* Scans of rows that as many threads work on as the launch says: a rank's columns are neighbours, so that what is
 * before them in the row is what the ranks before it come to. */

/* Every rank gets the combination of the values of the ranks before it: of their warps, then of their lanes. */
template <class V> KILN_EXCHANGE V kiln_all_before(const V &value, const kiln_row &row) {
    __shared__ V slots[KILN_THREADS / 32];
    const int warp = (int)threadIdx.x / 32, shift = row.args.shape.row_shift;
    V before, warps;
    const V all = kiln_scan_lanes<32>(value, before, 0xffffffffu, 1 << shift);
    if (shift <= 5) return before;
    if (threadIdx.x % 32 == 0) slots[warp].copy(all);
    kiln_block_barrier();
    warps.clear();
#pragma unroll 1
    for (int w = 0; w < warp; ++w) warps = V::combine(warps, slots[w]);
    return V::combine(warps, before);
}

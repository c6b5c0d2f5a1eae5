// SPDX-License-Identifier: Apache-2.0
/* Scans of rows that as many threads work on as the launch says: a rank's columns are neighbours, so that what is
 * before them in the row is what the ranks before it come to. */

/* Every rank gets the combination of the values of the ranks before it: of their warps, then of their lanes. */
template <class V> KILN_EXCHANGE V kiln_all_before(V value, const kiln_row &row) {
    __shared__ V slots[KILN_THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, shift = row.args.shape.row_shift;
    V before, warps;
    before.clear();
#pragma unroll
    for (int step = 0; step < 5; ++step) {
        V other;
        other.copy(value.shuffle(1 << step, 0xffffffffu));
        if (step >= shift) continue;
        if (lane >> step & 1) before = V::combine(other, before);
        value = lane >> step & 1 ? V::combine(other, value) : V::combine(value, other);
    }
    if (shift <= 5) return before;
    if (lane == 0) slots[warp].copy(value);
    kiln_block_barrier();
    warps.clear();
#pragma unroll 1
    for (int w = 0; w < warp; ++w) warps = V::combine(warps, slots[w]);
    return V::combine(warps, before);
}

// SPDX-License-Identifier: Apache-2.0
/* Group: all blocks of a cooperative grid work on a row, one row after the other. */

KILN_DEVICE int kiln_rank() { return (int)(blockIdx.x * KILN_THREADS + threadIdx.x); }
KILN_DEVICE kiln_i64 kiln_row_index() { return 0; }

/* Every thread gets the combination of all threads' values. A block's value passes through the workspace, whose first
 * KILN_COUNTER_BYTES are the barrier's counter; every other row has places of its own there. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(V value, int turn, const kiln_arguments &args) {
    constexpr int warps = KILN_THREADS / 32, share = (KILN_BLOCKS_PER_ROW + 31) / 32;
    __shared__ V slots[warps], result;
    V *const partials = reinterpret_cast<V *>(args.workspace + KILN_COUNTER_BYTES +
                                              (2 * V::before + turn % 2 * (int)sizeof(V)) * KILN_BLOCKS_PER_ROW);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    value = kiln_combine_lanes<32>(value);
    if (lane == 0) slots[warp] = value;
    kiln_block_barrier();
    if (warp == 0) {
        value = kiln_combine_lanes<warps>(slots[lane % warps]);
        if (lane == 0) partials[blockIdx.x] = value;
    }
    kiln_grid_barrier(reinterpret_cast<kiln_u32 *>(args.workspace));
    if (warp == 0) {
        value.clear();
        for (int i = 0; i < share; ++i)
            if (lane * share + i < KILN_BLOCKS_PER_ROW) value = V::combine(value, partials[lane * share + i]);
        value = kiln_combine_lanes<32>(value);
        if (lane == 0) result = value;
    }
    kiln_block_barrier();
    return result;
}

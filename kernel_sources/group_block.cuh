// SPDX-License-Identifier: Apache-2.0
/* Group: the warps of a block work on a row, one row per block. */

KILN_DEVICE int kiln_rank() { return threadIdx.x; }
KILN_DEVICE kiln_i64 kiln_row_index() { return kiln_block() / KILN_SPLITS; }

/* The warp's lanes that work on the row. */
KILN_DEVICE kiln_u32 kiln_lanes_of_row() { return 0xffffffffu; }

KILN_DEVICE void kiln_row_barrier() { kiln_block_barrier(); }
KILN_DEVICE void kiln_rows_barrier() { kiln_block_barrier(); }
KILN_DEVICE bool kiln_any_of_rows(bool row) { return row; }

/* Every thread gets the combination of all threads' values, combined in the order of the threads. Each phase has
 * slots of its own (V is a type of its own), and so has every other row, so one barrier is enough. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(V value, int turn = 0) {
    __shared__ V slots[KILN_TURNS][KILN_THREADS / 32];
    const kiln_u32 lane = threadIdx.x % 32;
    value = kiln_combine_lanes<32>(value);
    if (lane == 0) slots[turn % KILN_TURNS][threadIdx.x / 32] = value;
    kiln_block_barrier();
    return kiln_combine_lanes<KILN_THREADS / 32>(slots[turn % KILN_TURNS][lane % (KILN_THREADS / 32)]);
}

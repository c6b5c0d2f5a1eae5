// SPDX-License-Identifier: Apache-2.0
/* Group: 1 to 32 lanes of a warp work on a row; several rows per block. */

KILN_DEVICE int kiln_rank() { return threadIdx.x % KILN_THREADS_PER_ROW; }
KILN_DEVICE kiln_i64 kiln_row_index() {
    return kiln_block() / KILN_SPLITS * KILN_ROWS_PER_BLOCK + threadIdx.x / KILN_THREADS_PER_ROW;
}

/* The warp's lanes that work on the caller's row. */
KILN_DEVICE kiln_u32 kiln_lanes_of_row() {
    const kiln_u32 lane = threadIdx.x % 32;
    const kiln_u32 first = KILN_THREADS_PER_ROW == 32 ? 0xffffffffu : (1u << KILN_THREADS_PER_ROW % 32) - 1u;
    return first << (lane / KILN_THREADS_PER_ROW * KILN_THREADS_PER_ROW);
}

KILN_DEVICE void kiln_row_barrier() { __syncwarp(kiln_lanes_of_row()); }
/* Of all rows that the warp has, whose lanes come here together: which of them do is not asked for first. */
KILN_DEVICE void kiln_rows_barrier() { __syncwarp(); }
KILN_DEVICE bool kiln_any_of_rows(bool row) { return __any_sync(0xffffffffu, row); }

/* Those that exchange values at the same time: where each of a warp's rows has its lanes to the end, all of them, and
 * the compiler need not ask which are there. */
#ifdef KILN_ROWS_TOGETHER
KILN_DEVICE kiln_u32 kiln_lanes_together() { return 0xffffffffu; }
#else
KILN_DEVICE kiln_u32 kiln_lanes_together() { return kiln_lanes_of_row(); }
#endif

/* Every rank gets the combination of all ranks' values, combined in the order of the ranks. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(V value) {
    return kiln_combine_lanes<KILN_THREADS_PER_ROW>(value, kiln_lanes_together());
}

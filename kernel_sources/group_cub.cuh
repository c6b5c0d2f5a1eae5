// SPDX-License-Identifier: Apache-2.0
/* Group: the warps of a block work on a row, one row per block, and CUB combines what its threads have. A yardstick for
 * group_block.cuh, which a schedule has where it is pinned. CUB's headers are found beside NVRTC. */
#include <cub/block/block_reduce.cuh>

KILN_DEVICE int kiln_rank() { return threadIdx.x; }
KILN_DEVICE kiln_i64 kiln_row_index() { return kiln_block(); }
KILN_DEVICE kiln_u32 kiln_lanes_of_row() { return 0xffffffffu; }
KILN_DEVICE void kiln_row_barrier() { kiln_block_barrier(); }
KILN_DEVICE void kiln_rows_barrier() { kiln_block_barrier(); }
KILN_DEVICE bool kiln_any_of_rows(bool row) { return row; }

template <class V> struct kiln_combination {
    KILN_DEVICE V operator()(const V &a, const V &b) const { return V::combine(a, b); }
};

/* Every thread gets the combination of all threads' values, in CUB's order. Each phase has places of its own. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value, int = 0) {
    typedef cub::BlockReduce<V, KILN_THREADS> reduction;
    __shared__ typename reduction::TempStorage storage;
    __shared__ V all;
    const V reduced = reduction(storage).Reduce(value, kiln_combination<V>());
    if (threadIdx.x == 0) all = reduced;
    kiln_block_barrier();
    return all;
}

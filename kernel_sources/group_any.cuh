// SPDX-License-Identifier: Apache-2.0
/* Group: how many threads work on a row is an argument, the same for all rows of a launch: up to 32 lanes of a warp, a
 * block, or several blocks where nothing is reduced. Where neighbouring rows lie side by side (rows_in_lanes), lanes
 * are rows, and a row's threads are those of the block's warps. Blocks are whole: threads past the last row work on a
 * row of no columns. */

KILN_DEVICE kiln_i64 kiln_row_index(const kiln_shape &shape) {
    if (shape.chunks > 1) return kiln_divide_any(kiln_block(), shape.chunks);
    if (shape.rows_in_lanes) return kiln_block() * 32 + threadIdx.x % 32;
    return kiln_block() * (KILN_THREADS >> shape.row_shift) + (threadIdx.x >> shape.row_shift);
}

/* Who works on the row, and on which runs of it. */
KILN_DEVICE void kiln_enter(kiln_row &row) {
    const kiln_shape &shape = row.args.shape;
    const int thread = shape.rows_in_lanes ? (int)threadIdx.x / 32 : (int)threadIdx.x & ((1 << shape.row_shift) - 1);
    const int threads = shape.rows_in_lanes ? KILN_THREADS / 32 : 1 << shape.row_shift;
    const kiln_i64 chunk = shape.chunks > 1 ? kiln_block() - row.index * shape.chunks : 0;
#ifdef KILN_BLOCK_RUN
    const bool one = false;
#else
    const bool one = shape.runs == 1;
#endif
    row.rank = one ? chunk * threads + thread : thread & ((1 << shape.run_shift) - 1);
    row.ranks = one ? (kiln_index)shape.chunks * threads : 1 << shape.run_shift;
    row.run = one ? 0 : (chunk * threads + thread) >> shape.run_shift;
    row.run_step = one ? 1 : (kiln_index)shape.chunks * threads >> shape.run_shift;
    row.there = row.index < shape.rows;
    row.runs = row.there ? shape.runs : 0;
    if (!row.there) row.index = 0;
}
KILN_DEVICE bool kiln_is_first(const kiln_row &row) { return row.there && row.rank == 0 && row.run == 0; }

/* Every rank gets the combination of all ranks' values, combined in the order of the threads. Each phase has slots of
 * its own: V is a type of its own. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(V value, const kiln_row &row, int turn = 0) {
    constexpr int warps = KILN_THREADS / 32, places = KILN_LANES_CAN_BE_ROWS ? KILN_THREADS : warps;
    __shared__ V slots_of_turns[KILN_TURNS][places];
    V(&slots)[places] = slots_of_turns[turn % KILN_TURNS];
    const kiln_shape &shape = row.args.shape;
    const kiln_u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    V other;
    if (KILN_LANES_CAN_BE_ROWS && shape.rows_in_lanes) {
        slots[threadIdx.x] = value;
        kiln_block_barrier();
        value.clear();
#pragma unroll
        for (int w = 0; w < warps; ++w) {
            other.copy(slots[w * 32 + lane]);
            value = V::combine(value, other);
        }
        return value;
    }
#pragma unroll
    for (int step = 0; step < 5; ++step) {
        other = value.shuffle(1 << step, 0xffffffffu);
        if (step < shape.row_shift)
            value = V::ordered && (lane >> step & 1) ? V::combine(other, value) : V::combine(value, other);
    }
    if (shape.row_shift <= 5) return value;
    if (lane == 0) slots[warp] = value;
    kiln_block_barrier();
    other.copy(slots[lane % warps]);
    return kiln_combine_lanes<warps>(other);
}

// SPDX-License-Identifier: Apache-2.0
/* Group: how many threads work on a row is an argument, the same for all rows of a launch: up to 32 lanes of a warp, a
 * block, or several blocks, which have a chunk of it each. Where neighbouring rows lie side by side (rows_in_lanes),
 * lanes are rows, and a row's threads are those of the block's warps. Blocks are whole: threads past the last row work
 * on a row of no columns. */

KILN_DEVICE kiln_i64 kiln_row_index(const kiln_shape &shape) {
    const kiln_i64 together = shape.chunks > 1 ? kiln_divide_any(kiln_block(), shape.chunks) : kiln_block();
    if (shape.rows_in_lanes) return together * 32 + threadIdx.x % 32;
    if (shape.chunks > 1) return together;
    return kiln_block() * (KILN_THREADS >> shape.row_shift) + (threadIdx.x >> shape.row_shift);
}

KILN_DEVICE int kiln_chunk(const kiln_shape &shape) {
    return shape.chunks > 1 ? (int)(kiln_block() - kiln_divide_any(kiln_block(), shape.chunks) * shape.chunks) : 0;
}
/* A block's threads that work on a row, and which of them this one is. */
KILN_DEVICE int kiln_threads_of_row(const kiln_shape &shape) {
    return shape.rows_in_lanes ? KILN_THREADS / 32 : 1 << shape.row_shift;
}
KILN_DEVICE int kiln_thread_of_row(const kiln_shape &shape) {
    return shape.rows_in_lanes ? (int)threadIdx.x / 32 : (int)threadIdx.x & ((1 << shape.row_shift) - 1);
}

/* Who works on the row, and on which runs of it. */
KILN_DEVICE void kiln_enter(kiln_row &row) {
    const kiln_shape &shape = row.args.shape;
    const int thread = kiln_thread_of_row(shape), threads = kiln_threads_of_row(shape);
    const kiln_i64 chunk = kiln_chunk(shape);
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

#ifdef KILN_SHARED_ROWS
/* Rows that blocks share: each phase is a launch of its own, whose blocks leave what their chunks come to in the
 * workspace. The launches behind it combine that once more, in the chunks' order. */
KILN_DEVICE bool kiln_is_now(const kiln_row &row, int stage) {
    return row.args.shape.stage < 0 || row.args.shape.stage == stage;
}
template <class Phase> KILN_DEVICE Phase &kiln_part(const kiln_row &row, kiln_i64 chunk) {
    const kiln_shape &shape = row.args.shape;
    Phase *const parts = reinterpret_cast<Phase *>(row.args.workspace + Phase::before * shape.rows * shape.chunks);
    return parts[chunk * shape.rows + row.index];
}
/* The chunks' results, of which each thread of the row gets a share. */
template <class Phase> KILN_EXCHANGE void kiln_gather(const kiln_row &row, Phase &phase) {
    const int chunks = row.args.shape.chunks, threads = kiln_threads_of_row(row.args.shape);
    const int share = (chunks + threads - 1) / threads, first = kiln_thread_of_row(row.args.shape) * share;
    const int end = !row.there ? 0 : first + share < chunks ? first + share : chunks;
#pragma unroll 4
    for (int chunk = first; chunk < end; ++chunk) phase = Phase::combine(phase, kiln_part<Phase>(row, chunk));
}
/* Whether the launch ends with what the phase comes to, which it leaves for those behind it. */
template <class Phase> KILN_DEVICE bool kiln_hands_on(const kiln_row &row, const Phase &phase) {
    if (row.args.shape.stage != Phase::exchange) return false;
    if (row.there && kiln_thread_of_row(row.args.shape) == 0) kiln_part<Phase>(row, kiln_chunk(row.args.shape)) = phase;
    return true;
}
#endif

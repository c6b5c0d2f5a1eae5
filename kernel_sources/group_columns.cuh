/* Group: neighbouring rows lie side by side, so neighbouring threads (lanes) work on neighbouring rows, KILN_PACK of them
 * each, and the members of a row's group are threads of different warps, of all blocks of a cluster where there are any.
 * Blocks are whole: threads past the last row work too, on the first, unseen. */

#define KILN_LANES (KILN_ROWS_PER_BLOCK / KILN_PACK)

#if KILN_BLOCKS_PER_ROW > 1
KILN_DEVICE int kiln_member() { return ((int)kiln_cluster_rank() * KILN_THREADS + (int)threadIdx.x) / KILN_LANES; }
#else
KILN_DEVICE int kiln_member() { return threadIdx.x / KILN_LANES; }
#endif

/* Which rows the thread works on: KILN_PIECES runs of KILN_VECTOR rows; between the runs lie those of the other lanes.
 * Blocks that work on the same chunk of neighbouring rows follow one another, so that they read neighbouring memory. */
KILN_DEVICE void kiln_place_at(kiln_row &row, kiln_i64 first, int apart) {
#pragma unroll
    for (int i = 0; i < KILN_PIECES; ++i) {
        const kiln_i64 index = first + i * apart, rest = row.args.rows - index;
        row.count[i] = rest <= 0 ? 0 : rest < KILN_VECTOR ? (int)rest : KILN_VECTOR;
        row.index[i] = rest <= 0 ? 0 : index;
    }
}
KILN_DEVICE void kiln_place(kiln_row &row) {
    const kiln_i64 tiles = (row.args.rows + KILN_ROWS_PER_BLOCK - 1) / KILN_ROWS_PER_BLOCK;
    row.chunk = KILN_SPLITS > 1 ? (int)(kiln_block() / tiles) : 0;
    const kiln_i64 tile = kiln_block() / KILN_BLOCKS_PER_ROW - row.chunk * tiles;
    kiln_place_at(row, tile * KILN_ROWS_PER_BLOCK + threadIdx.x % KILN_LANES * KILN_VECTOR, KILN_LANES * KILN_VECTOR);
}

/* Members whose values one slot of shared memory holds combined, for each row: those of a warp. */
#define KILN_WARP_MEMBERS (KILN_LANES < 32 ? 32 / KILN_LANES : 1)
#define KILN_SLOTS (KILN_THREADS / KILN_LANES / KILN_WARP_MEMBERS)

#if KILN_BLOCKS_PER_ROW > 1
/* For each row of the block the combination of all blocks' values, in the blocks' order. A thread's rows are its own. */
template <class V, class S> KILN_DEVICE void kiln_combine_blocks(S *values) {
    constexpr int words = (int)(sizeof(S) + 3) / 4;
    __shared__ struct alignas(S) alignas(kiln_u32) kiln_slot {
        kiln_u32 words[(int)(sizeof(S) + 3) / 4];
        KILN_MEMBER S &value() { return *reinterpret_cast<S *>(words); }
    } slots[KILN_BLOCKS_PER_ROW][KILN_ROWS_PER_BLOCK];
    kiln_exchange_begin<V>(0, KILN_BLOCKS_PER_ROW * KILN_ROWS_PER_BLOCK * words * 4);
    for (int i = threadIdx.x; i < KILN_ROWS_PER_BLOCK; i += KILN_THREADS) {
        kiln_slot own;
        own.value().copy(values[i]);
#pragma unroll
        for (int rank = 0; rank < KILN_BLOCKS_PER_ROW; ++rank)
#pragma unroll
            for (int w = 0; w < words; ++w)
                kiln_exchange_send<V>(0, &slots[kiln_cluster_rank()][i].words[w], rank, own.words[w]);
    }
    kiln_exchange_end<V>(0);
    for (int i = threadIdx.x; i < KILN_ROWS_PER_BLOCK; i += KILN_THREADS) {
        S all = slots[0][i].value();
#pragma unroll
        for (int rank = 1; rank < KILN_BLOCKS_PER_ROW; ++rank) all = S::combine(all, slots[rank][i].value());
        values[i].copy(all);
    }
}
#endif

/* Every member gets the combination of all members' values: of neighbours first, then of neighbouring pairs, and so on,
 * so that the order is the same however many lanes there are. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value) {
    typedef typename V::state state;
    const int lane = threadIdx.x % KILN_LANES, member = threadIdx.x / KILN_LANES;
#pragma unroll
    for (int mask = KILN_LANES; mask < 32; mask *= 2)
#pragma unroll
        for (int j = 0; j < KILN_PACK; ++j) {
            const state other = value.at[j].shuffle(mask, 0xffffffffu);
            value.at[j] = state::ordered && (threadIdx.x & mask) ? state::combine(other, value.at[j])
                                                                 : state::combine(value.at[j], other);
        }
    if (KILN_SLOTS == 1 && KILN_BLOCKS_PER_ROW == 1) return value;
    __shared__ state slots[KILN_SLOTS][KILN_ROWS_PER_BLOCK];
    if (member % KILN_WARP_MEMBERS == 0)
#pragma unroll
        for (int j = 0; j < KILN_PACK; ++j)
            slots[member / KILN_WARP_MEMBERS][j * KILN_LANES + lane].copy(value.at[j]);
    kiln_block_barrier();
    for (int i = threadIdx.x; i < KILN_ROWS_PER_BLOCK; i += KILN_THREADS) {
        state all[KILN_SLOTS];
#pragma unroll
        for (int m = 0; m < KILN_SLOTS; ++m) all[m].copy(slots[m][i]);
#pragma unroll
        for (int step = 1; step < KILN_SLOTS; step *= 2)
#pragma unroll
            for (int m = 0; m < KILN_SLOTS; m += 2 * step) all[m] = state::combine(all[m], all[m + step]);
        slots[0][i].copy(all[0]);
    }
#if KILN_BLOCKS_PER_ROW > 1
    kiln_combine_blocks<V>(slots[0]);
#endif
    kiln_block_barrier();
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j) value.at[j].copy(slots[0][j * KILN_LANES + lane]);
    return value;
}

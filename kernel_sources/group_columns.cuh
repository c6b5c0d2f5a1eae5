// SPDX-License-Identifier: Apache-2.0
/* Group: neighbouring rows lie side by side, so neighbouring threads (lanes) work on neighbouring rows,
 * KILN_VECTOR_WIDTH of them each, and the ranks of a row's group are threads of different warps, of all blocks of a
 * cluster where there are any. Blocks are whole: threads past the last row work too, on the first, unseen. */

#define KILN_LANES (KILN_ROWS_PER_BLOCK / KILN_VECTOR_WIDTH + KILN_MISALIGNED)

#ifdef KILN_TILE_ROWS
/* KILN_RUN_LANES neighbouring lanes and all their ranks follow one another. */
KILN_DEVICE int kiln_lane() {
    const int thread = (int)threadIdx.x, run = KILN_RUN_LANES * (KILN_THREADS / KILN_LANES);
    return thread / run * KILN_RUN_LANES + thread % KILN_RUN_LANES;
}
KILN_DEVICE int kiln_rank_thread() { return (int)threadIdx.x / KILN_RUN_LANES % (KILN_THREADS / KILN_LANES); }
KILN_DEVICE int kiln_rank() { return kiln_rank_thread() * KILN_RANKS_PER_THREAD; }
#elif defined KILN_WRAPPED
/* Each group of a block has a chunk. All of its ranks' rows are one array, a vector of which each thread has: what is
 * called its rank is that of its first row. Threads behind the last group work like the first ones, unseen. */
#define KILN_GROUP_VECTORS (KILN_THREADS_PER_ROW * KILN_KEPT_ROWS / KILN_VECTOR_WIDTH)
KILN_DEVICE int kiln_group() { return (int)threadIdx.x / KILN_GROUP_VECTORS; }
KILN_DEVICE int kiln_place_in_group() { return (int)threadIdx.x % KILN_GROUP_VECTORS * KILN_VECTOR_WIDTH; }
KILN_DEVICE int kiln_rank() { return kiln_place_in_group() / KILN_KEPT_ROWS; }
#else
KILN_DEVICE int kiln_lane() { return threadIdx.x % KILN_LANES; }
KILN_DEVICE int kiln_rank_thread() { return threadIdx.x / KILN_LANES; }
#if KILN_BLOCKS_PER_ROW > 1
KILN_DEVICE int kiln_rank() { return ((int)kiln_cluster_rank() * KILN_THREADS + (int)threadIdx.x) / KILN_LANES; }
#else
KILN_DEVICE int kiln_rank() { return kiln_rank_thread(); }
#endif
#endif

/* The rank that has run i of the thread's rows. */
KILN_DEVICE int kiln_rank_of(const kiln_row &row, int i) {
#ifdef KILN_WRAPPED
    return row.rank[i];
#else
    return kiln_rank();
#endif
}

/* Which rows the thread works on: KILN_RUNS runs of KILN_RUN_ROWS rows; between the runs lie those of the other lanes.
 * Blocks that work on the same chunk of neighbouring rows follow one another, so that they read neighbouring memory. */
KILN_DEVICE void kiln_place_at(kiln_row &row, kiln_i64 first, int stride) {
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
        const kiln_i64 index = first + i * stride, rest = row.args.rows - index;
        row.count[i] = rest <= 0 ? 0 : rest < KILN_RUN_ROWS ? (int)rest : KILN_RUN_ROWS;
        row.index[i] = rest <= 0 ? 0 : index;
    }
#if KILN_MISALIGNED
    row.offset = 0;
    row.there = (1u << row.count[0]) - 1;
#elif defined KILN_WRAPPED
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) row.rank[i] = 0;
#endif
}
/* Blocks of split rows are a grid of tiles of neighbouring rows, chunks of columns and runs of neighbours. The last
 * chunk, which may take longest, comes first. `back`: chunks and runs in the opposite order, as what a launch before
 * read last is still near; then the last chunk comes last, too. */
KILN_DEVICE int kiln_chunk(bool back) {
    const kiln_u32 y = back ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
    return KILN_SPLITS > 1 ? (int)(y ? y : gridDim.y) - 1 : 0;
}
KILN_DEVICE kiln_i64 kiln_tile(bool back) {
    const kiln_u32 z = back ? gridDim.z - 1 - blockIdx.z : blockIdx.z;
    return (KILN_SPLITS > 1 ? (kiln_i64)z * gridDim.x + blockIdx.x : kiln_block()) / KILN_BLOCKS_PER_ROW;
}

#if KILN_MISALIGNED
/* A block works on KILN_ROWS_PER_BLOCK of the rows that lie side by side, or on the last of them. Its vectors start up
 * to KILN_VECTOR_WIDTH - 1 rows before them, so that it takes a lane more than they have vectors. */
KILN_DEVICE void kiln_place(kiln_row &row, bool back = false) {
    const kiln_count kept = kiln_kept_rows(row.args), per_run = (kept + KILN_ROWS_PER_BLOCK - 1) / KILN_ROWS_PER_BLOCK;
    const kiln_count tile = (kiln_count)kiln_tile(back), run = tile / per_run;
    row.chunk = kiln_chunk(back);
    const kiln_count first = (tile - run * per_run) * KILN_ROWS_PER_BLOCK, rest = kept - first;
    const int rows = rest < KILN_ROWS_PER_BLOCK ? (int)rest : KILN_ROWS_PER_BLOCK;
    const kiln_i64 index = (kiln_i64)run * kept + first;
    const bool there = index < row.args.rows;
    row.index[0] = there ? index : 0;
    row.offset = (int)threadIdx.x % KILN_LANES * KILN_VECTOR_WIDTH - kiln_shift(row.args, row.index[0], kiln_rank());
    const int count = !there || rows <= row.offset            ? 0
                      : rows - row.offset < KILN_VECTOR_WIDTH ? rows - row.offset
                                                              : KILN_VECTOR_WIDTH;
    row.there = (1u << count) - 1;
    if (row.offset < 0) row.there &= ~0u << -row.offset;
}
#elif defined KILN_WRAPPED
KILN_DEVICE void kiln_place(kiln_row &row, bool back = false) {
    const int chunk = kiln_chunk(back) * KILN_GROUPS + kiln_group();
    const kiln_i64 first = kiln_tile(back) * KILN_KEPT_ROWS;
    const bool there = kiln_group() < KILN_GROUPS && chunk < KILN_SPLITS && first < row.args.rows;
    row.chunk = there ? chunk : 0;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
        const int place = kiln_place_in_group() + i;
        row.rank[i] = place / KILN_KEPT_ROWS;
        row.index[i] = (first < row.args.rows ? first : 0) + place % KILN_KEPT_ROWS;
        row.count[i] = there;
    }
}
#elif defined KILN_TILE_ROWS
/* A tile has KILN_TILE_ROWS rows, whole runs of those that lie side by side. Where a lane has no row it works on its
 * first one, unseen: nobody else stores there. */
KILN_DEVICE void kiln_place(kiln_row &row) {
    row.chunk = 0;
    row.first = kiln_block() * KILN_TILE_ROWS;
    const kiln_i64 rest = row.args.rows - row.first;
    row.rows = rest < 0 ? 0 : rest < KILN_TILE_ROWS ? (int)rest : KILN_TILE_ROWS;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
        const int at = kiln_lane() + i * KILN_LANES;
        row.count[i] = at < row.rows;
        row.index[i] = at < row.rows ? row.first + at : 0;
        row.tile[i] = at < row.rows ? at / KILN_KEPT_ROWS * (int)KILN_COLS * KILN_KEPT_ROWS + at % KILN_KEPT_ROWS
                      : i           ? row.tile[0]
                                    : 0;
    }
}
#else
KILN_DEVICE void kiln_place(kiln_row &row, bool back = false) {
    row.chunk = kiln_chunk(back);
    const kiln_i64 first = kiln_tile(back) * KILN_ROWS_PER_BLOCK;
    kiln_place_at(row, first + threadIdx.x % KILN_LANES * KILN_RUN_ROWS, KILN_LANES * KILN_RUN_ROWS);
}
#endif

/* Ranks whose values one slot of shared memory holds combined, for each row: those of a warp, if its lanes have the
 * same rows. */
#define KILN_WARP_RANKS (KILN_THREADS / KILN_LANES / KILN_SLOTS)

/* Each of the block's rows for one of its threads. */
#if KILN_ROWS_PER_BLOCK <= KILN_THREADS
#define KILN_EACH_ROW(i) if (const int i = (int)threadIdx.x; i < KILN_ROWS_PER_BLOCK)
#else
#define KILN_EACH_ROW(i) _Pragma("unroll 1") for (int i = threadIdx.x; i < KILN_ROWS_PER_BLOCK; i += KILN_THREADS)
#endif

/* Whether a slot has a place for row j of the thread's vector, and which: neighbouring lanes beside each other. */
#if KILN_MISALIGNED
KILN_DEVICE bool kiln_in_slot(const kiln_row &row, int j) { return (kiln_u32)(row.offset + j) < KILN_ROWS_PER_BLOCK; }
KILN_DEVICE int kiln_slot_row(const kiln_row &row, int, int j) {
    const kiln_u32 i = row.offset + j; /* a row of the block */
    return i % KILN_VECTOR_WIDTH * (KILN_LANES - 1) + i / KILN_VECTOR_WIDTH;
}
#else
KILN_DEVICE constexpr bool kiln_in_slot(const kiln_row &, int) { return true; }
KILN_DEVICE int kiln_slot_row(const kiln_row &, int lane, int j) { return j * KILN_LANES + lane; }
#endif

#if KILN_BLOCKS_PER_ROW > 1
/* For each row of the block the combination of all blocks' values, in the blocks' order. A thread's rows are its own.
 */
template <class V, class S> KILN_DEVICE void kiln_combine_blocks(S *values) {
    constexpr int words = (int)(sizeof(S) + 3) / 4;
    __shared__ struct alignas(S) alignas(kiln_u32) kiln_slot {
        kiln_u32 words[(int)(sizeof(S) + 3) / 4];
        KILN_MEMBER S &value() { return *reinterpret_cast<S *>(words); }
    } slots[KILN_BLOCKS_PER_ROW][KILN_ROWS_PER_BLOCK];
    kiln_exchange_begin<V>(0, KILN_BLOCKS_PER_ROW * KILN_ROWS_PER_BLOCK * words * 4);
    KILN_EACH_ROW(i) {
        kiln_slot own;
        own.value().copy(values[i]);
#pragma unroll 1
        for (int rank = 0; rank < KILN_BLOCKS_PER_ROW; ++rank)
#pragma unroll
            for (int w = 0; w < words; ++w)
                kiln_exchange_send<V, 1>(0, &slots[kiln_cluster_rank()][i].words[w], rank, &own.words[w]);
    }
    kiln_exchange_end<V>(0);
    KILN_EACH_ROW(i) {
        S all = slots[0][i].value();
#pragma unroll
        for (int rank = 1; rank < KILN_BLOCKS_PER_ROW; ++rank) all = S::combine(all, slots[rank][i].value());
        values[i].copy(all);
    }
}
#endif

/* The combination of N slots' values: of neighbours first, then of neighbouring pairs, and so on. Where these are more
 * than KILN_COMBINED_BYTES, each half by the same code: only a block's few last warps wait for it. */
template <int N, class S, int ROWS> KILN_DEVICE S kiln_combine_slots(const S (*slots)[ROWS], int i) {
    if constexpr (N > 1 && N * sizeof(S) > KILN_COMBINED_BYTES) {
        S all;
#pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            const S part = kiln_combine_slots<N / 2>(slots + half * (N / 2), i);
            all = half ? S::combine(all, part) : part;
        }
        return all;
    } else {
        S all[N];
#pragma unroll
        for (int m = 0; m < N; ++m) all[m].copy(slots[m][i]);
#pragma unroll
        for (int step = 1; step < N; step *= 2)
#pragma unroll
            for (int m = 0; m < N; m += 2 * step) all[m] = S::combine(all[m], all[m + step]);
        return all[0];
    }
}

#ifdef KILN_TILE_ROWS
/* All slots of each row into its first: those of each of KILN_RANK_GROUPS groups by KILN_COMBINE_LANES lanes, then the
 * groups' in their order. */
template <class S> KILN_DEVICE void kiln_combine_all_slots(S (*slots)[KILN_ROWS_PER_BLOCK]) {
    constexpr int count = KILN_SLOTS / KILN_RANK_GROUPS, tasks = KILN_ROWS_PER_BLOCK * KILN_RANK_GROUPS;
    constexpr int lanes = KILN_COMBINE_LANES;
    const int thread = (int)threadIdx.x;
    if constexpr (lanes > 1) {
        if (thread / 32 * 32 < tasks * lanes) { /* whole warps */
            const int task = thread / lanes < tasks ? thread / lanes : tasks - 1;
            const int row = task % KILN_ROWS_PER_BLOCK, first = task / KILN_ROWS_PER_BLOCK * count;
            S all = kiln_combine_slots<count / lanes>(slots + first + thread % lanes * (count / lanes), row);
#pragma unroll
            for (int other = 1; other < lanes; other *= 2) all = S::combine(all, all.shuffle(other, 0xffffffffu));
            if (thread % lanes == 0 && thread < tasks * lanes) slots[first][row].copy(all);
        }
    } else {
#pragma unroll 1
        for (int task = thread; task < tasks; task += KILN_THREADS) {
            const int row = task % KILN_ROWS_PER_BLOCK, first = task / KILN_ROWS_PER_BLOCK * count;
            slots[first][row].copy(kiln_combine_slots<count>(slots + first, row));
        }
    }
    if (KILN_RANK_GROUPS == 1) return;
    kiln_block_barrier();
#pragma unroll 1
    for (int row = thread; row < KILN_ROWS_PER_BLOCK; row += KILN_THREADS) {
        S all;
        all.copy(slots[0][row]);
#pragma unroll
        for (int group = 1; group < KILN_RANK_GROUPS; ++group) all = S::combine(all, slots[group * count][row]);
        slots[0][row].copy(all);
    }
}
#endif

/* A phase's value of the states of its rows. */
template <class V> KILN_DEVICE V kiln_of_rows(const typename V::state (&at)[KILN_VECTOR_WIDTH]) {
    V value;
    value.clear();
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) value.set(j, at[j]);
    return value;
}
#ifdef KILN_WRAPPED
/* Every rank gets the combination of all ranks' values, in the same order as by lanes: of KILN_EXCHANGED_ROWS rows at a
 * time. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(const V &value, const kiln_row &row) {
    typedef typename V::state state;
    __shared__ state slots[KILN_GROUPS][KILN_SLOTS][KILN_EXCHANGED_ROWS];
    const bool there = kiln_group() < KILN_GROUPS;
    const int group = there ? kiln_group() : 0, place = kiln_place_in_group();
    state at[KILN_VECTOR_WIDTH];
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j] = value.get(j);
#pragma unroll 1
    for (int first = 0; first < KILN_KEPT_ROWS; first += KILN_EXCHANGED_ROWS) {
        if (first > 0) kiln_block_barrier();
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const int i = place + j - row.rank[j] * KILN_KEPT_ROWS - first;
            if (there && (kiln_u32)i < KILN_EXCHANGED_ROWS) slots[group][row.rank[j]][i].copy(at[j]);
        }
        kiln_block_barrier();
#pragma unroll 1
        for (int task = threadIdx.x; task < KILN_GROUPS * KILN_EXCHANGED_ROWS; task += KILN_THREADS) {
            const int of = task / KILN_EXCHANGED_ROWS, i = task % KILN_EXCHANGED_ROWS;
            slots[of][0][i].copy(kiln_combine_slots<KILN_SLOTS>(slots[of], i));
        }
        kiln_block_barrier();
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const int i = place + j - row.rank[j] * KILN_KEPT_ROWS - first;
            if ((kiln_u32)i < KILN_EXCHANGED_ROWS) at[j].copy(slots[group][0][i]);
        }
    }
    return kiln_of_rows<V>(at);
}
#else
/* Every rank gets the combination of all ranks' values: of neighbours first, then of neighbouring pairs, and so on,
 * so that the order is the same however many lanes there are. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(const V &value, const kiln_row &row) {
    typedef typename V::state state;
    const int lane = kiln_lane(), rank = kiln_rank_thread();
    state at[KILN_VECTOR_WIDTH];
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j] = value.get(j);
#pragma unroll
    for (int mask = KILN_LANES; mask < KILN_LANES * KILN_WARP_RANKS; mask *= 2)
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const state other = at[j].shuffle(mask, 0xffffffffu);
            at[j] =
                state::ordered && (threadIdx.x & mask) ? state::combine(other, at[j]) : state::combine(at[j], other);
        }
#if KILN_SLOTS > 1 || KILN_BLOCKS_PER_ROW > 1
    __shared__ state slots[KILN_SLOTS][KILN_ROWS_PER_BLOCK];
    if (rank % KILN_WARP_RANKS == 0)
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
            if (kiln_in_slot(row, j)) slots[rank / KILN_WARP_RANKS][kiln_slot_row(row, lane, j)].copy(at[j]);
    kiln_block_barrier();
#ifdef KILN_TILE_ROWS
    kiln_combine_all_slots(slots);
#else
    KILN_EACH_ROW(i) { slots[0][i].copy(kiln_combine_slots<KILN_SLOTS>(slots, i)); }
#endif
#if KILN_BLOCKS_PER_ROW > 1
    kiln_combine_blocks<V>(slots[0]);
#endif
    kiln_block_barrier();
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
        at[j].copy(slots[0][kiln_in_slot(row, j) ? kiln_slot_row(row, lane, j) : 0]);
#endif
    return kiln_of_rows<V>(at);
}
#endif

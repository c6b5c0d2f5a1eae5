/* Group: the blocks of a cluster work on a row, each on its share of the packs. */

KILN_DEVICE int kiln_member() { return (int)kiln_cluster_rank() * KILN_THREADS + (int)threadIdx.x; }
KILN_DEVICE kiln_i64 kiln_row_index() { return kiln_block() / KILN_BLOCKS_PER_ROW; }

/* Every thread of every block gets the combination of all threads' values, combined in the order of the threads. The value
 * of each warp, or of each block where there are many, goes to all blocks. None of them ends before it has those of all, so
 * that all are there to be sent to, and none is ever more than one exchange ahead of another. turn: the row's number modulo
 * 4; every other one has slots of its own. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value, int turn = 0) {
    constexpr int warps = KILN_THREADS / 32, from_block = KILN_BLOCKS_PER_ROW * warps > 32 ? 1 : warps;
    constexpr int all = KILN_BLOCKS_PER_ROW * from_block;
    constexpr int words = (int)(sizeof(V) + 3) / 4, width = words > 2 ? 4 : words, writes = (words + width - 1) / width;
    __shared__ V own[KILN_TURNS][warps];
    __shared__ struct alignas(16) kiln_slot {
        kiln_u32 words[writes * width];
        KILN_MEMBER V &value() { return *reinterpret_cast<V *>(words); }
    } slots[KILN_TURNS][all];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    kiln_slot *const received = slots[turn % KILN_TURNS];
    kiln_exchange_begin<V>(turn, all * writes * width * 4);
    value = kiln_combine_lanes<32>(value);
    if (from_block < warps) {
        if (lane == 0) own[turn % KILN_TURNS][warp] = value;
        kiln_block_barrier();
        value = kiln_combine_lanes<warps>(own[turn % KILN_TURNS][lane % warps]);
    }
    if (warp < from_block && lane < KILN_BLOCKS_PER_ROW) {
        kiln_slot sent = {};
        sent.value() = value;
        const int place = (int)kiln_cluster_rank() * from_block + warp;
#pragma unroll
        for (int i = 0; i < writes; ++i)
            kiln_exchange_send<V, width>(turn, &received[place].words[i * width], lane, &sent.words[i * width]);
    }
    kiln_exchange_end<V>(turn);
    return kiln_combine_lanes<all>(received[lane % all].value());
}

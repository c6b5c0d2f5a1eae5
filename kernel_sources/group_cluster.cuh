/* Group: the blocks of a cluster work on a row, each on its share of the packs. */

KILN_DEVICE int kiln_member() { return (int)kiln_cluster_rank() * KILN_THREADS + (int)threadIdx.x; }
KILN_DEVICE kiln_i64 kiln_row_index() { return kiln_block() / KILN_BLOCKS_PER_ROW; }

/* Every thread of every block gets the combination of all threads' values, combined in the order of the threads. Each
 * warp's value goes to all blocks, none of which ends before it has those of all, so that all are there to be sent to. A
 * block is never more than one exchange ahead of another. turn: the row's number modulo 4; every other one has slots of
 * its own. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value, int turn = 0) {
    constexpr int warps = KILN_THREADS / 32, all = KILN_BLOCKS_PER_ROW * warps, share = (all + 31) / 32;
    constexpr int words = (int)(sizeof(V) + 3) / 4;
    __shared__ struct alignas(16) kiln_slot {
        kiln_u32 words[(int)(sizeof(V) + 3) / 4];
        KILN_MEMBER V &value() { return *reinterpret_cast<V *>(words); }
    } slots[KILN_TURNS][all];
    const int lane = (int)threadIdx.x % 32;
    kiln_slot *const received = slots[turn % KILN_TURNS];
    kiln_exchange_begin<V>(turn, all * words * 4);
    value = kiln_combine_lanes<32>(value);
    if (lane < KILN_BLOCKS_PER_ROW) {
        kiln_slot own;
        own.value() = value;
#pragma unroll
        for (int w = 0; w < words; ++w)
            kiln_exchange_send<V>(turn, &received[(int)kiln_cluster_rank() * warps + (int)threadIdx.x / 32].words[w],
                                  lane, own.words[w]);
    }
    kiln_exchange_end<V>(turn);
    value = received[lane * share % all].value();
#pragma unroll
    for (int i = 1; i < share; ++i) value = V::combine(value, received[lane * share % all + i].value());
    return kiln_combine_lanes<all / share>(value);
}

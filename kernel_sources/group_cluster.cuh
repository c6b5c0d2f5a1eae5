// SPDX-License-Identifier: Apache-2.0
/* Group: the blocks of a cluster work on a row, each on its share of the vectors. */

KILN_DEVICE int kiln_rank() { return (int)kiln_cluster_rank() * KILN_THREADS + (int)threadIdx.x; }
KILN_DEVICE kiln_i64 kiln_row_index() { return kiln_block() / KILN_BLOCKS_PER_ROW; }

/* A value as it travels between blocks, in whole words: 1, 2 or 4, which are 16 bytes, are what one st.async has. */
template <class V> struct alignas(16) kiln_slot {
    static constexpr int least = (int)(sizeof(V) + 3) / 4, width = least > 2 ? 4 : least;
    static constexpr int writes = (least + width - 1) / width, bytes = writes * width * 4;
    kiln_u32 words[writes * width];
    KILN_MEMBER V &value() { return *reinterpret_cast<V *>(words); }
};
/* The value into the slot of the same place in block `rank`. */
template <class V> KILN_DEVICE void kiln_send(int turn, kiln_slot<V> &slot, int rank, const V &value) {
    typedef kiln_slot<V> of;
    of sent = {};
    sent.value() = value;
#pragma unroll
    for (int i = 0; i < of::writes; ++i)
        kiln_exchange_send<V, of::width>(turn, &slot.words[i * of::width], rank, &sent.words[i * of::width]);
}

/* Every thread of every block gets the combination of all threads' values, combined in the order of the threads. The
 * value of each warp, or of each block where there are many, goes to all blocks. None of them ends before it has those
 * of all, so that all are there to be sent to, and none is ever more than one exchange ahead of another. turn: the
 * row's number modulo 4; every other one has slots of its own. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(V value, int turn = 0) {
    constexpr int warps = KILN_THREADS / 32, all = KILN_BLOCKS_PER_ROW * KILN_SENDERS;
    __shared__ V own[KILN_TURNS][warps];
    __shared__ kiln_slot<V> slots[KILN_TURNS][all];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    kiln_slot<V> *const received = slots[turn % KILN_TURNS];
    kiln_exchange_begin<V>(turn, all * kiln_slot<V>::bytes);
    value = kiln_combine_lanes<32>(value);
    if constexpr (KILN_SENDERS < warps) {
        if (lane == 0) own[turn % KILN_TURNS][warp] = value;
        kiln_block_barrier();
        value = kiln_combine_lanes<warps>(own[turn % KILN_TURNS][lane % warps]);
    }
    if (warp < KILN_SENDERS && lane < KILN_BLOCKS_PER_ROW)
        kiln_send(turn, received[(int)kiln_cluster_rank() * KILN_SENDERS + warp], lane, value);
    kiln_exchange_end<V>(turn);
    return kiln_combine_lanes<all>(received[lane % all].value());
}

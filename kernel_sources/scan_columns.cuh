// SPDX-License-Identifier: Apache-2.0
/* Scans of neighbouring rows that lie side by side. */

/* Every rank gets, of each row, the combination of the values of the ranks before it. */
template <class V> KILN_EXCHANGE V kiln_all_before(const V &value, const kiln_row &) {
    typedef typename V::state state;
    constexpr int ranks = KILN_THREADS / KILN_LANES;
    __shared__ state slots[ranks][KILN_VECTOR_WIDTH][KILN_LANES];
    const int lane = kiln_lane(), rank = kiln_rank_thread();
    state at[KILN_VECTOR_WIDTH];
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
        if (ranks > 1) slots[rank][j][lane].copy(value.get(j));
        at[j].clear();
    }
    if (ranks > 1) kiln_block_barrier();
    for (int r = 0; r < rank; ++r)
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j] = state::combine(at[j], slots[r][j][lane]);
    return kiln_of_rows<V>(at);
}

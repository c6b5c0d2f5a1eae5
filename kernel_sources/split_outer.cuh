/* Split rows that lie side by side: each phase is a launch of its own, and partial results pass from one to the next
 * through the workspace, those of one chunk side by side like the rows. */

/* Those of a chunk begin at a multiple of a pack. */
template <class Phase> KILN_DEVICE typename Phase::state *kiln_partials(const kiln_row &row, int chunk) {
    const kiln_i64 rows = (row.args.rows + KILN_PACK - 1) / KILN_PACK * KILN_PACK;
    return reinterpret_cast<typename Phase::state *>(row.args.workspace + rows * KILN_SPLITS * Phase::before) + chunk * rows;
}
/* Those of a run of rows, stored and loaded; of 4 bytes each in accesses of 16, with those of rows past the last one, which
 * are anything. */
template <class S> struct alignas(sizeof(S) == 4 ? 16 : alignof(S)) kiln_states {
    static constexpr bool in_words = sizeof(S) == 4 && KILN_VECTOR % 4 == 0 && !KILN_DRIFTS;
    static constexpr int words = in_words ? KILN_VECTOR / 4 : 0;
    S at[KILN_VECTOR];
    KILN_MEMBER void store(S *to, const kiln_span &span, int run) const {
#pragma unroll
        for (int i = 0; i < words; ++i)
            if (span.stores(run * KILN_VECTOR)) kiln_store16(to + 4 * i, reinterpret_cast<const uint4 *>(at)[i]);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR; ++j)
            if (!in_words && span.stores(run * KILN_VECTOR + j)) to[j] = at[j];
    }
    KILN_MEMBER void load(const S *from, const kiln_span &span, int run) {
#pragma unroll
        for (int i = 0; i < words; ++i) reinterpret_cast<uint4 *>(at)[i] = reinterpret_cast<const uint4 *>(from)[i];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR; ++j)
            if (!in_words && span.reads(run * KILN_VECTOR + j)) at[j] = from[j];
    }
};
template <class Phase> KILN_DEVICE void kiln_publish(const kiln_row &row, const Phase &partial) {
    const kiln_span span(row, 0, 0);
#pragma unroll
    for (int run = 0; run < KILN_PIECES; ++run) {
        kiln_states<typename Phase::state> states;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR; ++j) states.at[j] = partial.at[run * KILN_VECTOR + j];
        states.store(kiln_partials<Phase>(row, row.chunk) + row.index[run], span, run);
    }
}
/* The combination of a member's share of the chunks' partial results, in their order. */
template <class Phase, int MEMBERS> KILN_DEVICE Phase kiln_gather_share(const kiln_row &row, int member) {
    constexpr int share = (KILN_SPLITS + MEMBERS - 1) / MEMBERS;
    const kiln_span span(row, 0, 0);
    Phase all;
    all.clear();
#pragma unroll 8
    for (int i = 0; i < share; ++i) {
        const int chunk = member * share + i;
        if (KILN_SPLITS % MEMBERS && chunk >= KILN_SPLITS) break;
#pragma unroll
        for (int run = 0; run < KILN_PIECES; ++run) {
            kiln_states<typename Phase::state> states;
            states.load(kiln_partials<Phase>(row, chunk) + row.index[run], span, run);
#pragma unroll
            for (int j = 0; j < KILN_VECTOR; ++j) {
                typename Phase::state &of_row = all.at[run * KILN_VECTOR + j];
                if (span.reads(run * KILN_VECTOR + j)) of_row = Phase::state::combine(of_row, states.at[j]);
            }
        }
    }
    return all;
}
/* The combination of all chunks' partial results, in their order; the same in every block. */
template <class Phase> KILN_DEVICE Phase kiln_gather(const kiln_row &row) {
    return kiln_all_reduce(kiln_gather_share<Phase, KILN_THREADS_PER_ROW>(row, kiln_member()), row);
}
#ifdef KILN_ENDERS
template <class Phase> KILN_DEVICE Phase kiln_gather_end(const kiln_row &row) {
    Phase all = kiln_gather_share<Phase, KILN_ENDERS>(row, kiln_ender());
    kiln_combine_enders(all.at);
    return all;
}
#endif

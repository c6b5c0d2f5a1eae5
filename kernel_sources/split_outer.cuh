/* Split rows that lie side by side: each phase is a launch of its own, and partial results pass from one to the next
 * through the workspace, those of one chunk side by side like the rows. */

template <class Phase> KILN_DEVICE typename Phase::state *kiln_partials(const kiln_row &row, int chunk) {
    return reinterpret_cast<typename Phase::state *>(row.args.workspace + row.args.rows * KILN_SPLITS * Phase::before) +
           chunk * row.args.rows;
}
template <class Phase> KILN_DEVICE void kiln_publish(const kiln_row &row, const Phase &partial) {
    const kiln_span span(row, 0, 0);
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j)
        if (span.stores(j))
            kiln_partials<Phase>(row, row.chunk)[row.index[j / KILN_VECTOR] + j % KILN_VECTOR] = partial.at[j];
}
/* The combination of a member's share of the chunks' partial results, in their order. */
template <class Phase, int MEMBERS> KILN_DEVICE Phase kiln_gather_share(const kiln_row &row, int member) {
    constexpr int share = (KILN_SPLITS + MEMBERS - 1) / MEMBERS;
    const kiln_span span(row, 0, 0);
    const int end = member * share + share < KILN_SPLITS ? member * share + share : KILN_SPLITS;
    Phase all;
    all.clear();
#pragma unroll 8
    for (int chunk = member * share; chunk < end; ++chunk) {
#pragma unroll
        for (int j = 0; j < KILN_PACK; ++j)
            if (span.reads(j))
                all.at[j] = Phase::state::combine(
                    all.at[j], kiln_partials<Phase>(row, chunk)[row.index[j / KILN_VECTOR] + j % KILN_VECTOR]);
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

// SPDX-License-Identifier: Apache-2.0
/* Split rows: each phase is a launch of its own, and partial results pass from one to the next through the workspace.
 */

/* Where a phase's partial results of the row start: one for each chunk. */
template <class Phase> KILN_DEVICE Phase *kiln_partials(const kiln_row &row) {
    return reinterpret_cast<Phase *>(row.args.workspace + row.args.rows * KILN_SPLITS * Phase::before) +
           row.index * KILN_SPLITS;
}
template <class Phase> KILN_DEVICE void kiln_publish(const kiln_row &row, const Phase &partial) {
    kiln_partials<Phase>(row)[kiln_chunk()] = partial;
}
/* The combination of a rank's share of the chunks' partial results, in their order. */
template <class Phase, int RANKS> KILN_DEVICE Phase kiln_gather_share(const kiln_row &row, int rank) {
    const Phase *partials = kiln_partials<Phase>(row);
    constexpr int share = (KILN_SPLITS + RANKS - 1) / RANKS;
    Phase all;
    all.clear();
#pragma unroll 1
    for (int i = 0; i < share; ++i) {
        const int chunk = rank * share + i;
        if (chunk < KILN_SPLITS) all = Phase::combine(all, partials[chunk]);
    }
    return all;
}
/* The combination of all chunks' partial results, in their order; the same in every block. */
template <class Phase> KILN_EXCHANGE Phase kiln_gather(const kiln_row &row) {
    return kiln_all_reduce(kiln_gather_share<Phase, KILN_THREADS_PER_ROW>(row, kiln_rank()));
}
#ifdef KILN_FINAL_THREADS
template <class Phase> KILN_EXCHANGE Phase kiln_gather_final(const kiln_row &row) {
    Phase all[1] = {kiln_gather_share<Phase, KILN_FINAL_THREADS>(row, kiln_final_rank())};
    kiln_combine_final_threads(all);
    return all[0];
}
#endif

// SPDX-License-Identifier: Apache-2.0
/* Split rows that lie side by side: each phase is a launch of its own, as may be the combination of its chunks, and
 * partial results pass from one to the next through the workspace, those of one chunk side by side like the rows. */

/* Those of a chunk begin at a multiple of a vector; those of chunk number KILN_SPLITS, where there is one, are all
 * chunks' together. */
template <class Phase> KILN_DEVICE typename Phase::state *kiln_partials(const kiln_row &row, int chunk) {
    const kiln_i64 rows = (row.args.rows + KILN_VECTOR_WIDTH - 1) / KILN_VECTOR_WIDTH * KILN_VECTOR_WIDTH;
    return reinterpret_cast<typename Phase::state *>(row.args.workspace + rows * KILN_PUBLISHED * Phase::before) +
           chunk * rows;
}
/* Those of a run of rows, stored and loaded; of 4-byte values in accesses of KILN_PARTIAL_ACCESS bytes, if these are
 * more, with those of rows past the last one, which are anything. A phase's begin at a multiple of 8 bytes for each
 * row, so that single ones are not aligned. */
template <class S>
constexpr bool kiln_in_words = alignof(S) == 4 && KILN_PARTIAL_ACCESS > 4 &&
                               (int)sizeof(S) * KILN_RUN_ROWS % KILN_PARTIAL_ACCESS == 0;
template <class S> struct alignas(kiln_in_words<S> ? KILN_PARTIAL_ACCESS : alignof(S)) kiln_states {
    typedef typename kiln_word<KILN_PARTIAL_ACCESS>::type word;
    static constexpr int words = kiln_in_words<S> ? (int)sizeof(S) * KILN_RUN_ROWS / KILN_PARTIAL_ACCESS : 0;
    S at[KILN_RUN_ROWS];
    KILN_MEMBER void store(S *to, const kiln_span &span, int run) const {
#pragma unroll
        for (int i = 0; i < words; ++i)
            if (span.stores(run * KILN_RUN_ROWS))
                kiln_store_word(reinterpret_cast<word *>(to) + i, reinterpret_cast<const word *>(at)[i]);
#pragma unroll
        for (int j = 0; j < KILN_RUN_ROWS; ++j)
            if (words == 0 && span.stores(run * KILN_RUN_ROWS + j)) to[j] = at[j];
    }
    KILN_MEMBER void load(const S *from, const kiln_span &span, int run) {
#pragma unroll
        for (int i = 0; i < words; ++i) reinterpret_cast<word *>(at)[i] = reinterpret_cast<const word *>(from)[i];
#pragma unroll
        for (int j = 0; j < KILN_RUN_ROWS; ++j)
            if (words == 0 && span.reads(run * KILN_RUN_ROWS + j)) at[j] = from[j];
    }
};
template <class Phase> KILN_DEVICE void kiln_publish(const kiln_row &row, const Phase &partial, int chunk) {
    const kiln_span span(row, 0, 0);
#pragma unroll
    for (int run = 0; run < KILN_RUNS; ++run) {
        kiln_states<typename Phase::state> states;
#pragma unroll
        for (int j = 0; j < KILN_RUN_ROWS; ++j) states.at[j] = partial.get(run * KILN_RUN_ROWS + j);
        states.store(kiln_partials<Phase>(row, chunk) + row.index[run], span, run);
    }
}

/* A rank's share of the chunks' partial results, in their order: body.take(j, state) for each row j. */
template <class Phase, class By, class Body> KILN_DEVICE void kiln_each_partial(const kiln_row &row, Body &body) {
    constexpr int share = (KILN_SPLITS + By::count - 1) / By::count;
    const kiln_span span(row, 0, 0);
#pragma unroll 1
    for (int i = 0; i < share; ++i) {
#pragma unroll
        for (int run = 0; run < KILN_RUNS; ++run) {
            const int chunk = By::rank(row, run) * share + i;
            if (KILN_SPLITS % By::count && chunk >= KILN_SPLITS) continue;
            kiln_states<typename Phase::state> states;
            states.load(kiln_partials<Phase>(row, chunk) + row.index[run], span, run);
#pragma unroll
            for (int j = 0; j < KILN_RUN_ROWS; ++j)
                if (span.reads(run * KILN_RUN_ROWS + j)) body.take(run * KILN_RUN_ROWS + j, states.at[j]);
        }
    }
}
/* Who shares them: all ranks of a row, or the final_threads. */
struct kiln_by_ranks {
    static constexpr int count = KILN_THREADS_PER_ROW;
    static KILN_MEMBER int rank(const kiln_row &row, int run) { return kiln_rank_of(row, run); }
    template <class Phase> static KILN_MEMBER Phase reduce(const Phase &share, const kiln_row &row) {
        return kiln_all_reduce(share, row);
    }
};
#ifdef KILN_FINAL_THREADS
struct kiln_by_final_threads {
    static constexpr int count = KILN_FINAL_THREADS;
    static KILN_MEMBER int rank(const kiln_row &, int) { return kiln_final_rank(); }
    template <class Phase> static KILN_MEMBER Phase reduce(const Phase &share, const kiln_row &) {
        typename Phase::state all[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) all[j] = share.get(j);
        kiln_combine_final_threads(all);
        return kiln_of_rows<Phase>(all);
    }
};
#endif

/* The combination of what `of` makes of all chunks' partial results, the same in every block. */
template <class Phase, class Part, class By, class Of> struct kiln_gathered {
    const Of &of;
    typename Phase::state all[KILN_VECTOR_WIDTH];
    KILN_MEMBER void take(int j, const typename Part::state &part) {
        all[j] = Phase::state::combine(all[j], of(j, part));
    }
    static KILN_MEMBER Phase gather(const kiln_row &row, const Of &of) {
        kiln_gathered share = {of};
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) share.all[j].clear();
        kiln_each_partial<Part, By>(row, share);
        return By::reduce(kiln_of_rows<Phase>(share.all), row);
    }
};
template <class Phase, class By> struct kiln_gatherer {
    KILN_MEMBER const typename Phase::state &operator()(int, const typename Phase::state &part) const { return part; }
    static KILN_MEMBER Phase gather(const kiln_row &row) {
        return kiln_gathered<Phase, Phase, By, kiln_gatherer>::gather(row, kiln_gatherer());
    }
};
#ifdef KILN_TOGETHER_ROWS
/* The first phase's, then the second one's, each corrected once. */
template <class First, class Second, class By> struct kiln_gatherer<kiln_together_rows<First, Second>, By> {
    typedef kiln_together_rows<First, Second> phase;
    struct firsts {
        KILN_MEMBER const typename First::state &operator()(int, const typename phase::state &part) const {
            return part.first;
        }
    };
    struct seconds {
        const First &first;
        KILN_MEMBER typename Second::state operator()(int j, const typename phase::state &part) const {
            return kiln_correct(part.second, part.first, first.get(j));
        }
    };
    static KILN_MEMBER phase gather(const kiln_row &row) {
        phase together;
        together.first = kiln_gathered<First, phase, By, firsts>::gather(row, firsts());
        together.second = kiln_gathered<Second, phase, By, seconds>::gather(row, seconds{together.first});
        return together;
    }
};
#endif
template <class Phase> KILN_EXCHANGE Phase kiln_gather(const kiln_row &row) {
    return kiln_gatherer<Phase, kiln_by_ranks>::gather(row);
}
#ifdef KILN_FINAL_THREADS
template <class Phase> KILN_EXCHANGE Phase kiln_gather_final(const kiln_row &row) {
    return kiln_gatherer<Phase, kiln_by_final_threads>::gather(row);
}
#endif
#ifdef KILN_COMBINES
/* What a launch before has combined. */
template <class Phase> KILN_EXCHANGE Phase kiln_combined(const kiln_row &row) {
    typename Phase::state all[KILN_VECTOR_WIDTH];
    const kiln_span span(row, 0, 0);
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) all[j].clear();
#pragma unroll
    for (int run = 0; run < KILN_RUNS; ++run) {
        kiln_states<typename Phase::state> states;
        states.load(kiln_partials<Phase>(row, KILN_SPLITS) + row.index[run], span, run);
#pragma unroll
        for (int j = 0; j < KILN_RUN_ROWS; ++j)
            if (span.reads(run * KILN_RUN_ROWS + j)) all[run * KILN_RUN_ROWS + j] = states.at[j];
    }
    return kiln_of_rows<Phase>(all);
}
#endif

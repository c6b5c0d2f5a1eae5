// SPDX-License-Identifier: Apache-2.0
/* Several rows in flight: a group works on KILN_ROWS_PER_BLOCK rows, one after the other in each pass, and reads what
 * all rows share once for them. What it reduces of all of them is exchanged at once. They lie KILN_ROW_SPACING rows
 * apart, so that all of them begin at the same place of a vector. */

/* The group's first row, and how many it has. */
KILN_DEVICE kiln_i64 kiln_first_in_flight() {
    const kiln_i64 group = kiln_row_index();
    return group / KILN_ROW_SPACING * (KILN_ROW_SPACING * KILN_ROWS_PER_BLOCK) + group % KILN_ROW_SPACING;
}
KILN_DEVICE int kiln_count_in_flight(kiln_i64 rows, kiln_i64 first) {
    const kiln_i64 count = (rows - first + KILN_ROW_SPACING - 1) / KILN_ROW_SPACING;
    return count < KILN_ROWS_PER_BLOCK ? (int)count : KILN_ROWS_PER_BLOCK;
}

/* Of the several rows in flight: what each warp of the block reduced, what each block of the group did, and what all of
 * them did. */
template <class V> struct kiln_reductions {
    V own[KILN_ROWS_PER_BLOCK][KILN_THREADS / 32];
    V all[KILN_ROWS_PER_BLOCK];
#if KILN_BLOCKS_PER_ROW > 1
    kiln_slot<V> received[KILN_ROWS_PER_BLOCK][KILN_BLOCKS_PER_ROW];
#endif
};
/* Each phase has its own (V is a type of its own). */
template <class V> KILN_DEVICE kiln_reductions<V> &kiln_reductions_of() {
    __shared__ kiln_reductions<V> of;
    return of;
}

/* Row `r` of them: what this thread reduced of it, and, after the exchange, what all threads did. */
template <class V> KILN_DEVICE void kiln_contribute(const V &value, int r) {
    const V of_warp = kiln_combine_lanes<32>(value);
    if (threadIdx.x % 32 == 0) kiln_reductions_of<V>().own[r][threadIdx.x / 32] = of_warp;
}
template <class V> KILN_DEVICE V kiln_reduced(int r) { return kiln_reductions_of<V>().all[r]; }

/* Combines the values of all threads, in the order of the threads, for the first `count` rows: each warp those of some.
 */
template <class V> KILN_EXCHANGE void kiln_exchange(int count) {
    constexpr int warps = KILN_THREADS / 32;
    kiln_reductions<V> &of = kiln_reductions_of<V>();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#if KILN_BLOCKS_PER_ROW > 1
    kiln_exchange_begin<V>(0, count * KILN_BLOCKS_PER_ROW * kiln_slot<V>::bytes);
#endif
    kiln_block_barrier();
#pragma unroll 1
    for (int r = warp; r < count; r += warps) {
        const V value = kiln_combine_lanes<warps>(of.own[r][lane % warps]);
#if KILN_BLOCKS_PER_ROW > 1
        if (lane < KILN_BLOCKS_PER_ROW) kiln_send(0, of.received[r][kiln_cluster_rank()], lane, value);
    }
    kiln_exchange_end<V>(0);
#pragma unroll 1
    for (int r = warp; r < count; r += warps) {
        const V value = kiln_combine_lanes<KILN_BLOCKS_PER_ROW>(of.received[r][lane % KILN_BLOCKS_PER_ROW].value());
#endif
        if (lane == 0) of.all[r] = value;
    }
    kiln_block_barrier();
}

/* Staging: the rows stay in shared memory, filled by asynchronous copies; a thread reads only the vectors that it
 * copied itself. What all rows share stays in registers. */
struct kiln_staging {
    kiln_staged staged[KILN_STEPS];
#ifdef KILN_PEELED
    kiln_staged_of<1> single[KILN_ROWS_PER_BLOCK];
#endif

    static KILN_MEMBER int slot(int r, int step) { return (r * KILN_STEPS + step) * KILN_THREADS + (int)threadIdx.x; }

    /* Asks for all vectors of the `count` rows from row `first` on, then for what they share. The compiler leaves loads
     * behind that are made under a condition: of unaligned rows whoever has no vector or no element reads another's,
     * unseen. */
    KILN_MEMBER void fill(const kiln_arguments &args, kiln_i64 first, int count) {
#pragma unroll 1
        for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r) {
            kiln_row row(args, first + r * KILN_ROW_SPACING);
            if (r < count) {
                kiln_begin(row);
                each_step(row, [&](int step, kiln_index col, const kiln_span &span) {
                    kiln_staged::copy(kiln_shared, slot(r, step), row, col, span);
                });
            }
            kiln_copy_commit();
        }
        kiln_row any(args, first);
        kiln_begin(any);
        fill_invariants<0>(any);
#ifdef KILN_PEELED
#pragma unroll
        for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r) {
            kiln_row row(args, first + (r < count ? r : 0) * KILN_ROW_SPACING);
            kiln_begin(row);
            if (r > 0) single[r] = single[0]; /* what they share */
            single[r].load(row, kiln_single(row), kiln_span(row, 0, 0));
        }
#endif
    }
    /* One input after the other: where they are shifted, each takes twice its registers until it is. */
    template <int I> KILN_MEMBER void fill_invariants(const kiln_row &any) {
        if constexpr (I < KILN_INVARIANT_INPUTS) {
#ifdef KILN_PEELED
            single[0].template load_invariants<I>(any, kiln_single(any), kiln_span(any, 0, 0));
#pragma unroll
            for (int step = 0; step < KILN_STEPS; ++step) {
                const kiln_index col = kiln_inside(any, 0, step) ? kiln_column(any, step) : any.head;
                staged[step].template load_invariants<I>(any, col, kiln_span(any, col, step));
            }
#else
            each_step(any, [&](int step, kiln_index col, const kiln_span &span) {
                staged[step].template load_invariants<I>(any, col, span);
            });
#endif
            fill_invariants<I + 1>(any);
        }
    }
    template <class Do> static KILN_MEMBER void each_step(const kiln_row &row, const Do &it) {
#pragma unroll
        for (int step = 0; step < KILN_STEPS; ++step) {
            const kiln_index col = kiln_column(row, step);
            if (kiln_inside(row, col, step)) it(step, col, kiln_span(row, col, step));
        }
    }
    /* The single element of row `r`. */
    template <class Body> KILN_MEMBER void at_single(const kiln_row &row, int r, Body &body) {
#ifdef KILN_PEELED
        kiln_staged_of<1> own = single[0];
#pragma unroll
        for (int i = 1; i < KILN_ROWS_PER_BLOCK; ++i)
            if (i == r) own = single[i];
        if (kiln_has_single(row)) body.vector(row, own, kiln_single(row), kiln_span(row, 0, 0));
#endif
    }
    /* The vectors of row `r`. */
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, int r, Body &body) {
        each_step(row, [&](int step, kiln_index col, const kiln_span &span) {
            staged[step].recall(kiln_shared, slot(r, step));
            body.vector(row, staged[step], col, span);
        });
        at_single(row, r, body);
    }
    /* The last pass: what is computed of what all rows share serves all of them. */
    template <class Body> KILN_MEMBER void finish(kiln_row (&rows)[KILN_ROWS_PER_BLOCK], int count, Body &body) {
#pragma unroll
        for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r)
            if (r == 0 || r < count) at_single(rows[r], r, body);
        each_step(rows[0], [&](int step, kiln_index col, const kiln_span &span) {
#pragma unroll
            for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r) {
                if (r > 0 && r >= count) continue;
                staged[step].recall(kiln_shared, slot(r, step));
                body.vector(rows[r], staged[step], col, span);
            }
        });
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, int r, Online &online) {
#if KILN_ONLINE == 2
        typename Online::one_pass both = {row, online};
        each_vector(row, r, both);
        both.end();
#else
        each_vector(row, r, online.first);
        kiln_partial(row, online.first);
        each_vector(row, r, online.second);
#endif
    }
};

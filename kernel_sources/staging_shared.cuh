// SPDX-License-Identifier: Apache-2.0
/* Staging: the row stays in shared memory, filled by asynchronous copies. A thread reads only the vectors that it
 * copied itself, so that no barrier stands between the copy and the first reduction. Vectors beyond KILN_STAGED_STEPS
 * steps stay nowhere. */

#define KILN_CHUNKS \
    ((KILN_STAGED_STEPS + KILN_UNROLL - 1) / KILN_UNROLL) /* of steps, whose copies are waited for together */

struct kiln_staging {
    /* Does it for 0 .. COUNT - 1, for the ends apart from the loop, since they alone have masks. */
    template <int COUNT, class Do> static KILN_MEMBER void each_index(const Do &it) {
        if constexpr (KILN_ENDS && COUNT > 0) it(0);
#pragma unroll 1
        for (int i = KILN_ENDS; i < COUNT - KILN_ENDS; ++i) it(i);
        if constexpr (KILN_ENDS && COUNT > 1) it(COUNT - 1);
    }
    static KILN_MEMBER int slot(int step) { return step * KILN_THREADS + (int)threadIdx.x; }

    /* Asks for a chunk of the row's vectors. */
    KILN_MEMBER void fill_chunk(const kiln_row &row, int chunk) {
#pragma unroll
        for (int u = 0; u < KILN_UNROLL; ++u) {
            const int step = chunk * KILN_UNROLL + u;
            const kiln_index col = kiln_column(row, step);
            if (step < KILN_STAGED_STEPS && kiln_inside(row, col, step))
                kiln_staged::copy(kiln_shared, slot(step), row, col, kiln_span(row, col, step));
        }
        kiln_copy_commit();
    }
    KILN_MEMBER void fill(const kiln_row &row) {
        if constexpr (KILN_ENDS) fill_chunk(row, 0);
#pragma unroll 1
        for (int chunk = KILN_ENDS; chunk < KILN_CHUNKS - KILN_ENDS; ++chunk) fill_chunk(row, chunk);
        if constexpr (KILN_ENDS && KILN_CHUNKS > 1) fill_chunk(row, KILN_CHUNKS - 1);
    }
    template <class Body> KILN_MEMBER void each_of_chunk(const kiln_row &row, int chunk, Body &body) {
        kiln_staged staged[KILN_UNROLL];
#pragma unroll
        for (int u = 0; u < KILN_UNROLL; ++u) {
            const int step = chunk * KILN_UNROLL + u;
            const kiln_index col = kiln_column(row, step);
            if (step >= KILN_STAGED_STEPS || !kiln_inside(row, col, step)) continue;
            staged[u].recall(kiln_shared, slot(step));
            body.vector(row, staged[u], col, kiln_span(row, col, step));
        }
    }
    template <class Online> KILN_MEMBER void each_online_of_chunk(kiln_row &row, int chunk, Online &online) {
        const auto before = online.first;
        each_of_chunk(row, chunk, online.first);
        online.second = kiln_correct(online.second, before, online.first);
        kiln_partial(row, online.first);
        each_of_chunk(row, chunk, online.second);
    }
    template <bool ONLINE, class Phase> KILN_MEMBER void reduce_chunk(kiln_row &row, int chunk, Phase &phase) {
        if constexpr (ONLINE)
            each_online_of_chunk(row, chunk, phase);
        else
            each_of_chunk(row, chunk, phase);
    }
    template <class Phase> KILN_MEMBER void reduce_rest(kiln_row &row, Phase &phase) {
        if constexpr (KILN_STAGED_STEPS == KILN_STEPS)
            return;
        else if constexpr (KILN_ONLINE != 0)
            kiln_stream::each_online(row, KILN_STAGED_STEPS, phase);
        else
            kiln_stream::each_vector(row, KILN_STAGED_STEPS, phase);
    }
    template <class Body> KILN_MEMBER void each_staged(const kiln_row &row, Body &body) {
        each_index<KILN_CHUNKS>([&](int chunk) { each_of_chunk(row, chunk, body); });
    }
    /* The first phase takes chunks as they arrive, after fill. */
    template <bool ONLINE, class Phase> KILN_MEMBER void each_arriving(kiln_row &row, Phase &phase) {
        each_index<KILN_CHUNKS>([&](int chunk) {
            kiln_copy_wait_but(KILN_CHUNKS - 1 - chunk);
            reduce_chunk<ONLINE>(row, chunk, phase);
        });
    }
    template <class Phase> KILN_MEMBER void reduce_arriving(kiln_row &row, Phase &phase) {
        if constexpr (KILN_ONLINE == 2) {
            typename Phase::one_pass both = {row, phase};
            each_arriving<false>(row, both);
            both.end();
        } else {
            each_arriving<KILN_ONLINE == 1>(row, phase);
        }
        reduce_rest(row, phase);
    }
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, Body &body) {
        each_staged(row, body);
        if constexpr (KILN_STAGED_STEPS < KILN_STEPS) kiln_stream::each_vector(row, KILN_STAGED_STEPS, body);
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
        each_staged(row, online.first);
        kiln_partial(row, online.first);
        each_staged(row, online.second);
        if constexpr (KILN_STAGED_STEPS < KILN_STEPS) kiln_stream::each_online(row, KILN_STAGED_STEPS, online);
    }
};

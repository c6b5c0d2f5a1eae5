/* Residency: the row stays in shared memory, filled by asynchronous copies. A thread reads only the packs that it
 * copied itself, so that no barrier stands between the copy and the first reduction. Packs beyond KILN_HELD steps stay
 * nowhere. */

#define KILN_CHUNKS ((KILN_HELD + KILN_UNROLL - 1) / KILN_UNROLL) /* of steps, whose copies are waited for together */

struct kiln_residency {
    static KILN_MEMBER int slot(int step) { return step * KILN_THREADS + (int)threadIdx.x; }

    /* Asks for a chunk of the row's packs. */
    KILN_MEMBER void fill_chunk(const kiln_row &row, int chunk) {
#pragma unroll
        for (int u = 0; u < KILN_UNROLL; ++u) {
            const int step = chunk * KILN_UNROLL + u;
            const kiln_index col = kiln_column(row, step);
            if (step < KILN_HELD && kiln_inside(row, col, step))
                kiln_kept::copy(kiln_shared, slot(step), row, col, kiln_span(row, col, step));
        }
        kiln_copy_commit();
    }
    KILN_MEMBER void fill(const kiln_row &row) {
        if (KILN_ENDS) fill_chunk(row, 0);
        for (int chunk = KILN_ENDS; chunk < KILN_CHUNKS - KILN_ENDS; ++chunk) fill_chunk(row, chunk);
        if (KILN_ENDS && KILN_CHUNKS > 1) fill_chunk(row, KILN_CHUNKS - 1);
    }
    template <class Body> KILN_MEMBER void each_of_chunk(const kiln_row &row, int chunk, Body &body) {
        kiln_kept kept[KILN_UNROLL];
#pragma unroll
        for (int u = 0; u < KILN_UNROLL && Body::beside; ++u) {
            const int step = chunk * KILN_UNROLL + u;
            const kiln_index col = kiln_column(row, step);
            if (step < KILN_HELD && kiln_inside(row, col, step))
                kept[u].load_beside(row, col, kiln_span(row, col, step));
        }
#pragma unroll
        for (int u = 0; u < KILN_UNROLL; ++u) {
            const int step = chunk * KILN_UNROLL + u;
            const kiln_index col = kiln_column(row, step);
            if (step >= KILN_HELD || !kiln_inside(row, col, step)) continue;
            kept[u].recall(kiln_shared, slot(step));
            body.pack(row, kept[u], col, kiln_span(row, col, step));
        }
    }
    template <class Online> KILN_MEMBER void each_online_of_chunk(kiln_row &row, int chunk, Online &online) {
        const auto before = online.first;
        each_of_chunk(row, chunk, online.first);
        online.second = kiln_correct(online.second, before, online.first);
        kiln_partial(row, online.first);
        each_of_chunk(row, chunk, online.second);
    }
    template <class Phase> KILN_MEMBER void reduce_rest(kiln_row &row, Phase &phase) {
        if constexpr (KILN_HELD == KILN_STEPS)
            return;
        else if constexpr (KILN_ONLINE != 0)
            kiln_stream::each_online(row, KILN_HELD, phase);
        else
            kiln_stream::each_pack(row, KILN_HELD, phase);
    }
    template <class Body> KILN_MEMBER void each_of_step(const kiln_row &row, int step, Body &body) {
        const kiln_index col = kiln_column(row, step);
        if (!kiln_inside(row, col, step)) return;
        kiln_kept kept;
        kept.recall(kiln_shared, slot(step));
        body.pack(row, kept, col, kiln_span(row, col, step));
    }
    /* One pack after the other; several where what all rows share is loaded for them. */
    template <class Body> KILN_MEMBER void each_held(const kiln_row &row, Body &body) {
        if constexpr (Body::shares) {
            if (KILN_ENDS) each_of_chunk(row, 0, body);
#pragma unroll 1
            for (int chunk = KILN_ENDS; chunk < KILN_CHUNKS - KILN_ENDS; ++chunk) each_of_chunk(row, chunk, body);
            if (KILN_ENDS && KILN_CHUNKS > 1) each_of_chunk(row, KILN_CHUNKS - 1, body);
        } else {
            if (KILN_ENDS && KILN_HELD > 0) each_of_step(row, 0, body);
#pragma unroll 1
            for (int step = KILN_ENDS; step < KILN_HELD - KILN_ENDS; ++step) each_of_step(row, step, body);
            if (KILN_ENDS && KILN_HELD > 1) each_of_step(row, KILN_HELD - 1, body);
        }
    }
    /* The first phase takes chunks as they arrive, after fill. */
    template <bool ONLINE, class Phase> KILN_MEMBER void arrive(kiln_row &row, int chunk, Phase &phase) {
        kiln_copy_wait_but(KILN_CHUNKS - 1 - chunk);
        if constexpr (ONLINE)
            each_online_of_chunk(row, chunk, phase);
        else
            each_of_chunk(row, chunk, phase);
    }
    template <bool ONLINE, class Phase> KILN_MEMBER void each_arriving(kiln_row &row, Phase &phase) {
        if (KILN_ENDS) arrive<ONLINE>(row, 0, phase);
#pragma unroll 1
        for (int chunk = KILN_ENDS; chunk < KILN_CHUNKS - KILN_ENDS; ++chunk) arrive<ONLINE>(row, chunk, phase);
        if (KILN_ENDS && KILN_CHUNKS > 1) arrive<ONLINE>(row, KILN_CHUNKS - 1, phase);
    }
    template <class Phase> KILN_MEMBER void reduce_arriving(kiln_row &row, Phase &phase) {
        if constexpr (KILN_ONLINE == 2) {
            each_arriving<false>(row, phase.first);
            kiln_partial(row, phase.first);
            each_held(row, phase.second);
        } else {
            each_arriving<KILN_ONLINE == 1>(row, phase);
        }
        reduce_rest(row, phase);
    }
    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
        each_held(row, body);
        if (KILN_HELD < KILN_STEPS) kiln_stream::each_pack(row, KILN_HELD, body);
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
        each_held(row, online.first);
        kiln_partial(row, online.first);
        each_held(row, online.second);
        if (KILN_HELD < KILN_STEPS) kiln_stream::each_online(row, KILN_HELD, online);
    }
};

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
        for (int chunk = 0; chunk < KILN_CHUNKS; ++chunk) fill_chunk(row, chunk);
    }
    KILN_MEMBER void wait() { kiln_copy_wait(); }

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
    /* Masks are for the first chunk and the last: the others need none where those stand apart. */
    template <class Body> KILN_MEMBER void each_held(const kiln_row &row, Body &body) {
        if (KILN_ENDS_APART) each_of_chunk(row, 0, body);
#pragma unroll 1
        for (int chunk = KILN_ENDS_APART; chunk < KILN_CHUNKS - KILN_ENDS_APART; ++chunk)
            each_of_chunk(row, chunk, body);
        if (KILN_ENDS_APART && KILN_CHUNKS > 1) each_of_chunk(row, KILN_CHUNKS - 1, body);
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

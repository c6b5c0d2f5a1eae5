// SPDX-License-Identifier: Apache-2.0
/* Staging: a tile of neighbouring rows in shared memory, which all threads copied. Each thread is KILN_RANKS_PER_THREAD
 * ranks, who are neighbours, one after the other. */

struct kiln_staging {
    KILN_MEMBER void fill(kiln_row &row) { kiln_staged::fill(row); }

    template <class Body> static KILN_MEMBER void part(const kiln_row &row, int step, int part, Body &body) {
        const kiln_index col = kiln_column(row, step) + part;
        kiln_staged staged;
        staged.recall(row, col);
        body.vector(row, staged, col, kiln_span(row, col, step));
    }
    /* Does it for each step and part: bodies[part]. Threads without a row would read what others store. */
    template <class Bodies> static KILN_MEMBER void each_part(const kiln_row &row, Bodies &bodies) {
        constexpr int whole = KILN_WHOLE_STEPS, unroll = KILN_UNROLL;
        if (!row.count[0]) return;
#pragma unroll unroll
        for (int step = 0; step < whole; ++step)
#pragma unroll
            for (int v = 0; v < KILN_RANKS_PER_THREAD; ++v) part(row, step, v, bodies[v]);
        if constexpr (whole < KILN_STEPS)
#pragma unroll
            for (int v = 0; v < KILN_RANKS_PER_THREAD; ++v)
                if (kiln_column(row, whole) + v < KILN_COLS) part(row, whole, v, bodies[v]);
    }
    template <class Body> struct same {
        Body &body;
        KILN_MEMBER Body &operator[](int) { return body; }
    };
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, Body &body) {
        same<Body> bodies = {body};
        each_part(row, bodies);
    }
    /* The ranks' values, of neighbours first. */
    template <class Phase> KILN_MEMBER void reduce(const kiln_row &row, Phase &phase) {
        typedef typename Phase::state state;
        Phase parts[KILN_RANKS_PER_THREAD];
#pragma unroll
        for (int v = 0; v < KILN_RANKS_PER_THREAD; ++v) parts[v].clear();
        each_part(row, parts);
#pragma unroll
        for (int step = 1; step < KILN_RANKS_PER_THREAD; step *= 2)
#pragma unroll
            for (int v = 0; v < KILN_RANKS_PER_THREAD; v += 2 * step)
#pragma unroll
                for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
                    parts[v].at[j] = state::combine(parts[v].at[j], parts[v + step].at[j]);
        phase = parts[0];
    }
};

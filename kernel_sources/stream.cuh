// SPDX-License-Identifier: Apache-2.0
/* Vectors that stay nowhere: every pass reads them again, KILN_BATCH in flight at a time. KILN_WHOLE_STEPS are inside
 * for all ranks, of split rows in all chunks but the last, whose last ones have KILN_LAST_BATCH in flight. */

#ifndef KILN_ROW_STEPS
#define KILN_ROW_STEPS(row) KILN_STEPS
#endif

/* What a vector has of its row. INSIDE: it is known while compiling that all of it is there for all ranks. */
template <bool INSIDE> KILN_DEVICE kiln_span kiln_span_at(const kiln_row &row, kiln_index col, kiln_index step) {
#ifdef KILN_WRAPPED
    return kiln_span(row, col, step, INSIDE);
#else
    return kiln_span(row, col, step);
#endif
}

struct kiln_stream {
    /* WHOLE: all of the vectors are inside. */
    template <bool WHOLE, int BATCH>
    static KILN_MEMBER void load(const kiln_row &row, kiln_index step, kiln_staged (&staged)[BATCH]) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_ROW_STEPS(row) && (WHOLE || kiln_inside(row, col, step + k)))
                staged[k].load(row, col, kiln_span_at<WHOLE>(row, col, step + k));
        }
    }
    template <bool WHOLE, int BATCH, class Body>
    static KILN_MEMBER void each_loaded(const kiln_row &row, kiln_index step, const kiln_staged (&staged)[BATCH],
                                        Body &body) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_ROW_STEPS(row) && (WHOLE || kiln_inside(row, col, step + k)))
                body.vector(row, staged[k], col, kiln_span_at<WHOLE>(row, col, step + k));
        }
    }
    /* One after another. */
    template <bool WHOLE, class Body>
    static KILN_MEMBER void each_single(const kiln_row &row, kiln_index first, Body &body) {
#pragma unroll 1
        for (kiln_index step = first; step < KILN_STEPS; step += KILN_LAST_BATCH) {
            kiln_staged staged[KILN_LAST_BATCH];
            load<WHOLE>(row, step, staged);
            each_loaded<WHOLE>(row, step, staged, body);
        }
    }
    /* The vectors from step number `first` on: batches that are inside for all ranks ask for no column. What is known
     * to be empty is not instantiated: the compiler would take its time over it before it is gone. */
    template <class Body> static KILN_MEMBER void each_vector(const kiln_row &row, kiln_index first, Body &body) {
        constexpr bool all = KILN_WHOLE_STEPS == KILN_STEPS;
        constexpr kiln_index whole = KILN_WHOLE_STEPS / KILN_BATCH * KILN_BATCH;
        kiln_index inside = whole;
        if constexpr (all)
            if (!kiln_is_whole(row)) inside = KILN_LAST_CHUNK_STEPS / KILN_BATCH * KILN_BATCH;
        if constexpr (whole > 0)
            for (; first < inside; first += KILN_BATCH) {
                kiln_staged staged[KILN_BATCH];
                load<true>(row, first, staged);
                each_loaded<true>(row, first, staged, body);
            }
        if constexpr (all)
            if (!kiln_is_whole(row)) return each_single<false>(row, first, body);
#ifdef KILN_WRAPPED
        if constexpr (whole < KILN_STEPS) each_single<all>(row, first, body);
#else
        if constexpr (whole < KILN_STEPS)
            for (kiln_index step = whole > 0 ? whole : first; step < KILN_ROW_STEPS(row); step += KILN_BATCH) {
                kiln_staged staged[KILN_BATCH];
                load<all>(row, step, staged);
                each_loaded<all>(row, step, staged, body);
            }
#endif
    }
    /* From the last one back: what was read last is still near. */
    template <class Body> static KILN_MEMBER void each_vector_back(const kiln_row &row, kiln_index first, Body &body) {
        for (kiln_index step = first + (KILN_STEPS - 1 - first) / KILN_BATCH * KILN_BATCH; step >= first;
             step -= KILN_BATCH) {
            kiln_staged staged[KILN_BATCH];
            load<false>(row, step, staged);
            each_loaded<false>(row, step, staged, body);
        }
    }
    template <bool WHOLE, class Online>
    static KILN_MEMBER void online_batch(kiln_row &row, kiln_index step, Online &online) {
        kiln_staged staged[KILN_BATCH];
        load<WHOLE>(row, step, staged);
        const auto before = online.first;
        each_loaded<WHOLE>(row, step, staged, online.first);
        online.second = kiln_correct(online.second, before, online.first);
        kiln_partial(row, online.first);
        each_loaded<WHOLE>(row, step, staged, online.second);
    }
#ifdef KILN_WRAPPED
    /* The same in few instructions, as masks take many: each vector is read twice. What it comes to is corrected once
     * for the batch, as in all layouts: vector by vector a row would have other bits. */
    template <class Body> static KILN_MEMBER void each_of_batch(const kiln_row &row, kiln_index first, Body &body) {
#pragma unroll 1
        for (kiln_index step = first; step < first + KILN_BATCH && step < KILN_STEPS; ++step) {
            kiln_staged staged[1];
            load<false>(row, step, staged);
            each_loaded<false>(row, step, staged, body);
        }
    }
    template <class Online> static KILN_MEMBER void last_batch(kiln_row &row, kiln_index step, Online &online) {
        const auto before = online.first;
        each_of_batch(row, step, online.first);
        online.second = kiln_correct(online.second, before, online.first);
        kiln_partial(row, online.first);
        each_of_batch(row, step, online.second);
    }
#endif
    template <class Online> static KILN_MEMBER void each_online(kiln_row &row, kiln_index first, Online &online) {
        kiln_index step = first;
#ifdef KILN_WRAPPED
        const kiln_index inside = kiln_is_whole(row) ? KILN_STEPS : KILN_LAST_CHUNK_STEPS;
        for (; step + KILN_BATCH <= inside; step += KILN_BATCH) online_batch<true>(row, step, online);
#pragma unroll 1
        for (; step < KILN_STEPS; step += KILN_BATCH) last_batch(row, step, online);
#else
        for (; step < KILN_ROW_STEPS(row); step += KILN_BATCH) online_batch<false>(row, step, online);
#endif
    }
};

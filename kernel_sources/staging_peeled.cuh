// SPDX-License-Identifier: Apache-2.0
/* Staging: the row stays in the registers of its threads, vectors and the single elements beside them (KILN_PEELED).
 * All loads are issued before the first use. The compiler leaves those behind that are made under a condition, or whose
 * use comes late in a chain of additions: so whoever has no vector or no element reads another's, unseen, and each
 * vector is reduced apart. */

struct kiln_staging {
    kiln_staged staged[KILN_BATCH];
    kiln_staged_of<1> single;

    static KILN_MEMBER kiln_index column(const kiln_row &row, int k) {
        return kiln_inside(row, 0, k) ? kiln_column(row, k) : row.head;
    }
    KILN_MEMBER void fill(const kiln_row &row) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) staged[k].load(row, column(row, k), kiln_span(row, 0, k));
        single.load(row, kiln_single(row), kiln_span(row, 0, 0));
    }
    KILN_MEMBER void rematerialise() {
        constexpr int words = (int)sizeof staged / 4;
#pragma unroll
        for (int i = 0; i < words; ++i) kiln_rematerialise(reinterpret_cast<kiln_u32 *>(staged)[i]);
    }
    template <class Phase> KILN_MEMBER void each_vector(const kiln_row &row, Phase &phase) {
        Phase parts[KILN_BATCH + 1];
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            parts[k].clear();
            parts[k].vector(row, staged[k], column(row, k), kiln_span(row, 0, k));
            if (!kiln_inside(row, 0, k)) parts[k].clear();
        }
        parts[KILN_BATCH].clear();
        parts[KILN_BATCH].vector(row, single, kiln_single(row), kiln_span(row, 0, 0));
        if (!kiln_has_single(row)) parts[KILN_BATCH].clear();
#pragma unroll
        for (int step = 1; step <= KILN_BATCH; step *= 2)
#pragma unroll
            for (int k = 0; k + step <= KILN_BATCH; k += 2 * step) parts[k] = Phase::combine(parts[k], parts[k + step]);
        phase = parts[0];
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
#if KILN_ONLINE == 2
        /* Squares about the mean of a vector, until the thread has its own. */
        auto about = online.first;
        about.vector(row, staged[0], column(row, 0), kiln_span(row, 0, 0));
        kiln_partial(row, about);
        each_vector(row, online.first);
        each_vector(row, online.second);
        kiln_settle(row, online.second, online.first);
#else
        each_vector(row, online.first);
        kiln_partial(row, online.first);
        each_vector(row, online.second);
#endif
    }
    template <class Body> KILN_MEMBER void each_inside(const kiln_row &row, Body &body) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k)
            if (kiln_inside(row, 0, k)) body.vector(row, staged[k], kiln_column(row, k), kiln_span(row, 0, k));
    }
    /* The last pass. Who has a single element begins with it, so that nobody waits for it at the end. */
    template <class Body> KILN_MEMBER void finish(const kiln_row &row, Body &body) {
        if (kiln_has_single(row)) body.vector(row, single, kiln_single(row), kiln_span(row, 0, 0));
        each_inside(row, body);
    }
};

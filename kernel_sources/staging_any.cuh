// SPDX-License-Identifier: Apache-2.0
/* Staging: nowhere. Every pass reads the row again, KILN_BATCH vectors of a thread in flight at a time, and as many
 * single elements. */

struct kiln_staging {
    static KILN_MEMBER kiln_index column_of(const kiln_row &row, kiln_index i, const kiln_staged_of<1> &) {
        return kiln_single(row, i);
    }
    template <int N>
    static KILN_MEMBER kiln_index column_of(const kiln_row &row, kiln_index i, const kiln_staged_of<N> &) {
        return row.head + i * N;
    }
    /* Of so many vectors those of this rank. */
    template <int N, class Body> static KILN_MEMBER void each(const kiln_row &row, kiln_index count, Body &body) {
#pragma unroll 1
        for (kiln_index first = row.rank; first < count; first += KILN_BATCH * row.ranks) {
            kiln_staged_of<N> staged[KILN_BATCH];
#pragma unroll
            for (int k = 0; k < KILN_BATCH; ++k) {
                const kiln_index i = first + k * row.ranks;
                if (i < count) staged[k].load(row, column_of(row, i, staged[k]), kiln_span());
            }
#pragma unroll
            for (int k = 0; k < KILN_BATCH; ++k) {
                const kiln_index i = first + k * row.ranks;
                if (i < count) body.vector(row, staged[k], column_of(row, i, staged[k]), kiln_span());
            }
        }
    }
    static KILN_MEMBER kiln_index singles(const kiln_row &row) { return row.cols - row.vectors * KILN_VECTOR_WIDTH; }

    KILN_MEMBER void fill(const kiln_row &) {}
#if KILN_ORDERED
    /* A rank's columns are neighbours. */
    template <class Phase> KILN_MEMBER void each_vector(const kiln_row &row, Phase &phase) {
        const kiln_index share = kiln_divide_any(row.cols + row.ranks - 1, row.ranks), first = row.rank * share;
        const kiln_index end = first + share < row.cols ? first + share : row.cols;
#pragma unroll 1
        for (kiln_index col = first; col < end; ++col) {
            kiln_staged_of<1> staged;
            staged.load(row, col, kiln_span());
            phase.vector(row, staged, col, kiln_span());
        }
    }
#else
    /* Columns of a part ascend. */
    template <class Phase> KILN_MEMBER void each_vector(const kiln_row &row, Phase &phase) {
        each<KILN_VECTOR_WIDTH>(row, row.vectors, phase);
        Phase beside;
        beside.clear();
        each<1>(row, singles(row), beside);
        phase = Phase::combine(phase, beside);
    }
#endif
    template <class Body> KILN_MEMBER void finish(const kiln_row &row, Body &body) {
        each<KILN_VECTOR_WIDTH>(row, row.vectors, body);
        each<1>(row, singles(row), body);
    }
};

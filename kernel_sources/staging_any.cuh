// SPDX-License-Identifier: Apache-2.0
/* Staging: none. Every pass reads the row again, run by run, KILN_BATCH vectors of a thread in flight at a time, and
 * as many single elements, or pairs. */

struct kiln_staging {
    /* The column of a run's single element number i, or of its vector. */
    template <int N>
    static KILN_MEMBER kiln_index column_of(const kiln_row &row, kiln_index i, const kiln_staged_of<N> &) {
        if (N > KILN_SINGLE) return row.start + row.head + i * N;
        return row.start + i * N + (i * N < row.head ? 0 : row.vectors * KILN_VECTOR_WIDTH);
    }
    /* Of so many vectors, or elements, of a run those of this rank. */
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
    static KILN_MEMBER kiln_index singles(const kiln_row &row) {
        return (KILN_RUN(row) - row.vectors * KILN_VECTOR_WIDTH) / KILN_SINGLE;
    }

    KILN_MEMBER void fill(const kiln_row &) {}
#if KILN_ORDERED
    /* A thread's columns are neighbours, run by run. */
    template <class Body> static KILN_MEMBER void each_in_order(const kiln_row &row, Body &body) {
        const kiln_index run = row.args.shape.run, cols = KILN_ROW_COLUMNS(row);
        const kiln_index thread = row.run * row.ranks + row.rank, threads = row.run_step * row.ranks;
        const kiln_index singles = kiln_divide_any(cols / KILN_SINGLE + threads - 1, threads);
        const kiln_index share = singles * KILN_SINGLE, first = thread * share;
        const kiln_index end = !row.there ? 0 : first + share < cols ? first + share : cols;
#pragma unroll 1
        for (kiln_index col = first; col < end;) {
            kiln_row part = row;
            kiln_enter_run(part, kiln_divide_any(col, run));
            const kiln_index behind = part.start + run < end ? part.start + run : end;
#pragma unroll 1
            for (; col < behind; col += KILN_BATCH * KILN_SINGLE) {
                kiln_staged_of<KILN_SINGLE> staged[KILN_BATCH];
#pragma unroll
                for (int k = 0; k < KILN_BATCH; ++k) {
                    const kiln_index at = col + k * KILN_SINGLE;
                    if (at < behind) staged[k].load(part, at, kiln_span());
                }
#pragma unroll
                for (int k = 0; k < KILN_BATCH; ++k) {
                    const kiln_index at = col + k * KILN_SINGLE;
                    if (at < behind) body.vector(part, staged[k], at, kiln_span());
                }
            }
            col = behind;
#ifdef KILN_SCANS
            row.keep(part);
#endif
        }
    }
    template <class Phase> KILN_MEMBER void each_vector(const kiln_row &row, Phase &phase) {
        each_in_order(row, phase);
    }
#else
    /* Columns of vectors ascend, and those of single elements, each among themselves. */
    template <class Phase> KILN_MEMBER void each_vector(const kiln_row &row, Phase &phase) {
        Phase beside;
        beside.clear();
#pragma unroll 1
        for (kiln_index run = row.run; run < row.runs; run += row.run_step) {
            kiln_row part = row;
            kiln_enter_run(part, run);
#ifdef KILN_BLOCK_RUN
            Phase::blocks(part);
#endif
            each<KILN_VECTOR_WIDTH>(part, part.vectors, phase);
            each<KILN_SINGLE>(part, singles(part), beside);
        }
        phase = Phase::combine(phase, beside);
    }
#endif
    template <class Body> KILN_MEMBER void finish(const kiln_row &row, Body &body) {
#ifdef KILN_SCANS
        each_in_order(row, body);
#else
#pragma unroll 1
        for (kiln_index run = row.run; run < row.runs; run += row.run_step) {
            kiln_row part = row;
            kiln_enter_run(part, run);
#ifdef KILN_BLOCK_RUN
            Body::blocks(part);
#endif
            each<KILN_VECTOR_WIDTH>(part, part.vectors, body);
            each<KILN_SINGLE>(part, singles(part), body);
        }
#endif
    }
};

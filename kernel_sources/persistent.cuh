// SPDX-License-Identifier: Apache-2.0
/* A group that goes through many rows: the first reductions take vectors as they arrive, and a vector's place takes the
 * next row's as soon as the vector is done with, so that memory is busy all the time but while results are exchanged.
 */

struct kiln_pipeline : kiln_staging {
    /* A row's last pass, and the next row's first phase, if there is one. No store waits for what the next row asks
     * for. */
    template <class Body, class Phase>
    KILN_MEMBER void finish_and_reduce(const kiln_row &row, Body &body, kiln_row &next, bool more, Phase &phase) {
        if constexpr (KILN_STAGED_STEPS < KILN_STEPS) kiln_stream::each_vector_back(row, KILN_STAGED_STEPS, body);
        for (int chunk = 0; chunk < KILN_CHUNKS; ++chunk) {
            each_of_chunk(row, chunk, body);
            if (more) fill_chunk(next, chunk);
        }
        if (!more) return;
        for (int chunk = 0; chunk < KILN_CHUNKS; ++chunk) {
            kiln_copy_wait_but(KILN_CHUNKS - 1 - chunk);
            reduce_chunk<KILN_ONLINE == 1>(next, chunk, phase);
        }
        reduce_rest(next, phase);
    }
};

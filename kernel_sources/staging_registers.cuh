// SPDX-License-Identifier: Apache-2.0
/* Staging: the row stays in the registers of its threads. All loads are issued before the first use. */

struct kiln_staging {
    kiln_staged staged[KILN_BATCH];

    KILN_MEMBER void fill(const kiln_row &row) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col, k)) staged[k].load(row, col, kiln_span(row, col, k));
        }
#ifdef KILN_TRANSPOSE
        kiln_staged::fill_transposed(staged, row);
#endif
    }
    /* What was computed of the vectors is not staged, but computed again. */
    KILN_MEMBER void rematerialise() {
        constexpr int words = (int)sizeof staged / 4;
#pragma unroll
        for (int i = 0; i < words; ++i) kiln_rematerialise(reinterpret_cast<kiln_u32 *>(staged)[i]);
    }
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, Body &body) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col, k)) body.vector(row, staged[k], col, kiln_span(row, col, k));
        }
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
#if KILN_ONLINE == 2
        typename Online::one_pass both = {row, online};
        each_vector(row, both);
        both.end();
#else
        each_vector(row, online.first);
        kiln_partial(row, online.first);
        each_vector(row, online.second);
#endif
    }
};

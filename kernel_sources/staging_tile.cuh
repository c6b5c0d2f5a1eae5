// SPDX-License-Identifier: Apache-2.0
/* Staging: a tile of several whole rows in shared memory. Rows that are short or start anywhere are one flat array all
 * the same: it is copied in aligned pieces by all threads, whoever works on a row, and so are the outputs. */

struct kiln_staging {
    template <class Body> KILN_MEMBER void vector(const kiln_row &row, int step, Body &body) {
        const kiln_index col = kiln_column(row, step);
        if (!kiln_inside(row, col, step)) return;
        const kiln_span span(row, col, step);
        kiln_staged staged;
        staged.recall(row, col, span);
        body.vector(row, staged, col, span);
    }
    /* Masks, where there are any, are for the first step and the last. */
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, Body &body) {
        constexpr int unroll = KILN_UNROLL; /* nvcc knows no macros there */
        if constexpr (KILN_ENDS) vector(row, 0, body);
#pragma unroll unroll
        for (int k = KILN_ENDS; k < KILN_STEPS - KILN_ENDS; ++k) vector(row, k, body);
        if constexpr (KILN_ENDS && KILN_STEPS > 1) vector(row, KILN_STEPS - 1, body);
    }
};

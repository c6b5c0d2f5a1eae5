/* Residency: a tile of several whole rows in shared memory. Rows that are short or start anywhere are one flat array all
 * the same: it is copied in aligned pieces by all threads, whoever works on a row, and so are the outputs. */

struct kiln_residency {
    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
#pragma unroll KILN_UNROLL
        for (int k = 0; k < KILN_STEPS; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (!kiln_inside(row, col, k)) continue;
            kiln_kept kept;
            kept.recall(row, col);
            body.pack(row, kept, col, kiln_span(row, col, k));
        }
    }
};

/* Residency: nowhere; every phase reads the row again, KILN_BATCH packs in flight at a time. */

struct kiln_residency {
    KILN_MEMBER void fill(const kiln_row &) {}

    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
        for (kiln_index step = 0; step < KILN_STEPS; step += KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
#pragma unroll
            for (int k = 0; k < KILN_BATCH; ++k) {
                const kiln_index col = kiln_column(row, step + k);
                if (step + k < KILN_STEPS && kiln_inside(row, col)) kept[k].load(row, col, kiln_span(row, col));
            }
#pragma unroll
            for (int k = 0; k < KILN_BATCH; ++k) {
                const kiln_index col = kiln_column(row, step + k);
                if (step + k < KILN_STEPS && kiln_inside(row, col)) body.pack(row, kept[k], col, kiln_span(row, col));
            }
        }
    }
};

/* Residency: the row stays in shared memory, filled by asynchronous copies. A thread reads only the packs that it
 * copied itself, so that no barrier stands between the copy and the first reduction. */

extern __shared__ __align__(16) unsigned char kiln_shared[];

struct kiln_residency {
    KILN_MEMBER void fill(const kiln_row &row) {
#pragma unroll KILN_UNROLL
        for (int k = 0; k < KILN_STEPS; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col))
                kiln_kept::copy(kiln_shared, k * KILN_THREADS + (int)threadIdx.x, row, col, kiln_span(row, col));
        }
        kiln_copy_wait();
    }
    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
#pragma unroll KILN_UNROLL
        for (int k = 0; k < KILN_STEPS; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (!kiln_inside(row, col)) continue;
            kiln_kept kept;
            kept.recall(kiln_shared, k * KILN_THREADS + (int)threadIdx.x);
            body.pack(row, kept, col, kiln_span(row, col));
        }
    }
};

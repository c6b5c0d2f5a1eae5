// SPDX-License-Identifier: Apache-2.0
/* Residency: the row stays in the registers of its threads. All loads are issued before the first use. */

struct kiln_residency {
    kiln_kept kept[KILN_BATCH];

    KILN_MEMBER void fill(const kiln_row &row) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col, k)) kept[k].load(row, col, kiln_span(row, col, k));
        }
#ifdef KILN_SQUARES
        kiln_kept::fill_turned(kept, row);
#endif
    }
    /* What was computed of the packs is not kept, but computed again. */
    KILN_MEMBER void forget() {
        constexpr int words = (int)sizeof kept / 4;
#pragma unroll
        for (int i = 0; i < words; ++i) kiln_forget(reinterpret_cast<kiln_u32 *>(kept)[i]);
    }
    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col, k)) body.pack(row, kept[k], col, kiln_span(row, col, k));
        }
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
#if KILN_ONLINE == 2
        typename Online::one_pass both = {row, online};
        each_pack(row, both);
        both.end();
#else
        each_pack(row, online.first);
        kiln_partial(row, online.first);
        each_pack(row, online.second);
#endif
    }
};

/* Packs that stay nowhere: every pass reads them again, KILN_BATCH in flight at a time. */

struct kiln_stream {
    static KILN_MEMBER void load(const kiln_row &row, kiln_index step, kiln_kept (&kept)[KILN_BATCH]) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_STEPS && kiln_inside(row, col, step + k))
                kept[k].load(row, col, kiln_span(row, col, step + k));
        }
    }
    template <class Body>
    static KILN_MEMBER void each_loaded(const kiln_row &row, kiln_index step, const kiln_kept (&kept)[KILN_BATCH], Body &body) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_STEPS && kiln_inside(row, col, step + k))
                body.pack(row, kept[k], col, kiln_span(row, col, step + k));
        }
    }
    /* The packs from step number `first` on. */
    template <class Body> static KILN_MEMBER void each_pack(const kiln_row &row, kiln_index first, Body &body) {
        for (kiln_index step = first; step < KILN_STEPS; step += KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            each_loaded(row, step, kept, body);
        }
    }
    /* From the last one back: what was read last is still near. */
    template <class Body> static KILN_MEMBER void each_pack_back(const kiln_row &row, kiln_index first, Body &body) {
        for (kiln_index step = first + (KILN_STEPS - 1 - first) / KILN_BATCH * KILN_BATCH; step >= first; step -= KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            each_loaded(row, step, kept, body);
        }
    }
    template <class Online> static KILN_MEMBER void each_online(kiln_row &row, kiln_index first, Online &online) {
        for (kiln_index step = first; step < KILN_STEPS; step += KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            const auto before = online.first;
            each_loaded(row, step, kept, online.first);
            online.second = kiln_correct(online.second, before, online.first);
            kiln_partial(row, online.first);
            each_loaded(row, step, kept, online.second);
        }
    }
};

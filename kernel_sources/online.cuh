// SPDX-License-Identifier: Apache-2.0
/* Two phases that are reduced together: the second one's sums are about what a thread knows of the first, and are
 * corrected whenever that moves. */

template <class First, class Second> struct kiln_together {
    static constexpr bool ordered = false;
#if KILN_BLOCKS_PER_ROW > 1 || KILN_SPLITS > 1
    static constexpr int exchange = First::exchange, before = First::before;
#endif
    First first;
    Second second;
    KILN_MEMBER void clear() {
        first.clear();
        second.clear();
    }
    static KILN_MEMBER kiln_together combine(const kiln_together &a, const kiln_together &b) {
        kiln_together c;
        c.first = First::combine(a.first, b.first);
        c.second = Second::combine(kiln_correct(a.second, a.first, c.first), kiln_correct(b.second, b.first, c.first));
        return c;
    }
    KILN_MEMBER kiln_together shuffle(int lane_mask, kiln_u32 lanes) const {
        return {first.shuffle(lane_mask, lanes), second.shuffle(lane_mask, lanes)};
    }

#if KILN_ONLINE == 2
    /* Squares about the mean of a thread's first vector, until it has all its elements. */
    struct one_pass {
        kiln_row &row;
        kiln_together &online;
        bool begun;
        template <class Staged>
        KILN_MEMBER void vector(const kiln_row &, Staged &staged, kiln_index col, const kiln_span &span) {
            online.first.vector(row, staged, col, span);
            if (!begun) kiln_partial(row, online.first);
            begun = true;
            online.second.vector(row, staged, col, span);
        }
        KILN_MEMBER void end() { kiln_settle(row, online.second, online.first); }
    };
#endif
};

/* Lanes agree on the first phase, then each corrects its part of the second once. */
template <int COUNT, class First, class Second>
KILN_DEVICE kiln_together<First, Second> kiln_combine_lanes(kiln_together<First, Second> value,
                                                            kiln_u32 lanes = 0xffffffffu) {
    kiln_together<First, Second> all;
    all.first = kiln_combine_lanes<COUNT>(value.first, lanes);
    all.second = kiln_combine_lanes<COUNT>(kiln_correct(value.second, value.first, all.first), lanes);
    return all;
}

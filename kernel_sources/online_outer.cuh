// SPDX-License-Identifier: Apache-2.0
/* Two phases that are reduced together, of a vector of rows that lie side by side: the second one's sums are about what
 * a thread knows of the first, and are corrected whenever that moves. */
#define KILN_TOGETHER_ROWS

template <class First, class Second> struct kiln_together_rows {
    struct state { /* of one row */
        typename First::state first;
        typename Second::state second;
        KILN_MEMBER void clear() {
            first.clear();
            second.clear();
        }
    };
#if KILN_SPLITS > 1
    static constexpr int before = First::before;
#endif
    First first;
    Second second;
    KILN_MEMBER void clear() {
        first.clear();
        second.clear();
    }
    KILN_MEMBER state get(int j) const { return {first.get(j), second.get(j)}; }
    KILN_MEMBER void set(int j, const state &of_row) {
        first.set(j, of_row.first);
        second.set(j, of_row.second);
    }
};
template <class First, class Second> KILN_DEVICE Second kiln_correct(Second part, const First &from, const First &to) {
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) part.set(j, kiln_correct(part.get(j), from.get(j), to.get(j)));
    return part;
}
/* Ranks agree on the first phase, then each corrects its part of the second once. */
template <class First, class Second>
KILN_DEVICE kiln_together_rows<First, Second> kiln_all_reduce(const kiln_together_rows<First, Second> &value,
                                                              const kiln_row &row) {
    kiln_together_rows<First, Second> all;
    all.first = kiln_all_reduce(value.first, row);
    all.second = kiln_all_reduce(kiln_correct(value.second, value.first, all.first), row);
    return all;
}

// SPDX-License-Identifier: Apache-2.0
/* Selection: the least value that k values of the row are not above. The key of the one that is meant is found from its
 * highest digit on: each pass over the row counts how many values are not above the last one of each digit. Keys are
 * those of passes alone: elements are compared as they are, so that NaN counts for nothing, and comes last. */

template <class S, class V> struct kiln_selection {
    typedef kiln_order<S> order;
    typedef typename order::key key;
    V bounds[3]; /* the last value of each digit but the largest */
    key found;   /* the digits so far, and 0 behind them */
    int shift;   /* of the digit that is counted; below 0: there is none */
    KILN_MEMBER kiln_selection() : found(0), shift(order::bits - 2) { bound(); }
    KILN_MEMBER void bound() {
#pragma unroll
        for (int digit = 0; digit < 3; ++digit)
            bounds[digit] = (V)order::value(found + (((key)digit + 1) << shift) - 1);
    }
    /* By what a pass has counted: to the k-th of n values, or for k < 0 the -k-th from the last. The result is the one
     * that is meant after the last pass. */
    template <class Counts> KILN_MEMBER V narrow(const Counts &counts, kiln_i64 k, kiln_i64 n) {
        if (k < 0) k += n + 1;
        if (shift >= 0) {
            key digit = 0;
#pragma unroll
            for (int i = 0; i < 3; ++i) digit += counts.at[i] < k;
            found += digit << shift;
            shift -= 2;
        }
        if (shift >= 0) bound();
        return k < 1 || k > n ? (V)order::none() : (V)order::result(found);
    }
};

/* How many elements are not above each bound. */
struct kiln_counts {
    kiln_index at[3];
    template <class V, class Selection> KILN_MEMBER void take(V value, const Selection &selection) {
#pragma unroll
        for (int i = 0; i < 3; ++i) at[i] += value <= selection.bounds[i];
    }
};
KILN_DEVICE kiln_counts kiln_add_counts(const kiln_counts &a, const kiln_counts &b) {
    return {{a.at[0] + b.at[0], a.at[1] + b.at[1], a.at[2] + b.at[2]}};
}
KILN_DEVICE kiln_counts kiln_shuffle(const kiln_counts &v, int lane_mask, kiln_u32 lanes) {
    return {{kiln_shuffle(v.at[0], lane_mask, lanes), kiln_shuffle(v.at[1], lane_mask, lanes),
             kiln_shuffle(v.at[2], lane_mask, lanes)}};
}

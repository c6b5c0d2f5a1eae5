// SPDX-License-Identifier: Apache-2.0
/* Selection: the least value that k values of the row are not above. The values of a type are numbered in their order
 * by keys, unsigned numbers, and the key of the one that is meant is found from its highest digit on: each pass over
 * the row counts how many values are not above the last one of each digit. Keys are those of passes alone: elements are
 * compared as they are, so that NaN counts for nothing, and comes last. */

template <int BYTES> struct kiln_key { typedef kiln_u32 type; };
template <> struct kiln_key<8> { typedef kiln_u64 type; };

/* value: of a key, where infinity stands for the NaN beyond it. result: NaN for the last key, which is of a value
 * beyond all that are counted. Either zero is 0. none: where there is no value. */
template <class S> struct kiln_order { /* of integers */
    typedef typename kiln_key<sizeof(S)>::type key;
    static constexpr int bits = 8 * (int)sizeof(S);
    static constexpr key sign = (S)-1 < (S)0 ? (key)1 << (bits - 1) : 0;
    static KILN_MEMBER S value(key k) { return (S)(k ^ sign); }
    static KILN_MEMBER S result(key k) { return value(k); }
    static KILN_MEMBER S none() { return 0; }
};
template <> struct kiln_order<bool> {
    typedef kiln_u32 key;
    static constexpr int bits = 2;
    static KILN_MEMBER bool value(key k) { return k != 0; }
    static KILN_MEMBER bool result(key k) { return value(k); }
    static KILN_MEMBER bool none() { return false; }
};

/* Negative numbers are in the order of their bits' complements, before the others. */
template <class S, int MANTISSA> struct kiln_float_order {
    typedef typename kiln_key<sizeof(S)>::type key;
    static constexpr int bits = 8 * (int)sizeof(S);
    static constexpr key sign = (key)1 << (bits - 1), last = sign | (sign - 1);
    static constexpr key infinity = last - (((key)1 << MANTISSA) - 1);
    static KILN_MEMBER key bits_of(key k) { return k > infinity ? infinity ^ sign : k & sign ? k ^ sign : last - k; }
    static KILN_MEMBER float none() { return kiln_nan(); }
};
template <> struct kiln_order<float> : kiln_float_order<float, 23> {
    static KILN_MEMBER float value(key k) { return __uint_as_float(bits_of(k)); }
    static KILN_MEMBER float result(key k) { return k == last ? kiln_nan() : value(k) + 0.0f; }
};
template <> struct kiln_order<double> : kiln_float_order<double, 52> {
    static KILN_MEMBER double value(key k) { return __longlong_as_double((kiln_i64)bits_of(k)); }
    static KILN_MEMBER double result(key k) { return k == last ? (double)kiln_nan() : value(k) + 0.0; }
};
template <class S, int MANTISSA> struct kiln_half_order : kiln_float_order<S, MANTISSA> {
    typedef kiln_float_order<S, MANTISSA> order;
    static KILN_MEMBER float value(typename order::key k) {
        S half;
        half.bits = (unsigned short)order::bits_of(k);
        return kiln_widen(half);
    }
    static KILN_MEMBER float result(typename order::key k) { return k == order::last ? kiln_nan() : value(k) + 0.0f; }
};
template <> struct kiln_order<kiln_f16> : kiln_half_order<kiln_f16, 10> {};
template <> struct kiln_order<kiln_bf16> : kiln_half_order<kiln_bf16, 7> {};

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

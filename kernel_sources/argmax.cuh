// SPDX-License-Identifier: Apache-2.0
/* What argmax and argmin carry: a value and its column, which has the value's size where it can. NaN wins, and of
 * equals the first; none() loses to every value. */
template <int BYTES> struct kiln_arg_index { typedef kiln_index type; };
template <> struct kiln_arg_index<8> { typedef kiln_i64 type; };
template <class V> struct kiln_arg {
    typedef typename kiln_arg_index<sizeof(V)>::type column;
    V value;
    column index;
    static constexpr column nothing = (column)(~(kiln_u64)0 >> (65 - 8 * (int)sizeof(column)));
    static KILN_MEMBER kiln_arg none(V worst) { return {worst, nothing}; }
    /* A later column than all before. */
    KILN_MEMBER void take(bool better, V other, kiln_i64 at) {
        if (better || (other != other && value == value) || index == nothing) {
            value = other;
            index = (column)at;
        }
    }
    KILN_MEMBER void take_max(V other, kiln_i64 at) { take(other > value, other, at); }
    KILN_MEMBER void take_min(V other, kiln_i64 at) { take(other < value, other, at); }
};
template <class V> KILN_DEVICE bool kiln_arg_first(V a, kiln_i64 ai, V b, kiln_i64 bi, bool wins) {
    const bool a_nan = a != a, b_nan = b != b;
    return a_nan == b_nan ? (!a_nan && a != b ? wins : ai < bi) : a_nan;
}
template <class V> KILN_DEVICE kiln_arg<V> kiln_argmax(kiln_arg<V> a, kiln_arg<V> b) {
    return kiln_arg_first(a.value, a.index, b.value, b.index, a.value > b.value) ? a : b;
}
template <class V> KILN_DEVICE kiln_arg<V> kiln_argmin(kiln_arg<V> a, kiln_arg<V> b) {
    return kiln_arg_first(a.value, a.index, b.value, b.index, a.value < b.value) ? a : b;
}
template <class V> KILN_DEVICE kiln_arg<V> kiln_shuffle(kiln_arg<V> v, int lane_mask, kiln_u32 lanes) {
    return {kiln_shuffle(v.value, lane_mask, lanes), kiln_shuffle(v.index, lane_mask, lanes)};
}

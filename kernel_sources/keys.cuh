// SPDX-License-Identifier: Apache-2.0
/* Keys: the values of a type numbered in their order, by unsigned numbers of as many bytes. NaN comes last. */

template <int BYTES> struct kiln_key { typedef kiln_u32 type; };
template <> struct kiln_key<8> { typedef kiln_u64 type; };

/* value: of a key, where infinity stands for the NaN beyond it. result: NaN for the last key, which is of a value
 * beyond all that are counted. Either zero is 0. none: where there is no value. least: no value is below it. */
template <class S> struct kiln_order { /* of integers */
    typedef typename kiln_key<sizeof(S)>::type key;
    static constexpr int bits = 8 * (int)sizeof(S);
    static constexpr key sign = (S)-1 < (S)0 ? (key)1 << (bits - 1) : 0;
    static KILN_MEMBER S value(key k) { return (S)(k ^ sign); }
    static KILN_MEMBER S result(key k) { return value(k); }
    static KILN_MEMBER S none() { return 0; }
    static KILN_MEMBER S least() { return value(0); }
};
template <> struct kiln_order<bool> {
    typedef kiln_u32 key;
    static constexpr int bits = 1;
    static KILN_MEMBER bool value(key k) { return k != 0; }
    static KILN_MEMBER bool result(key k) { return value(k); }
    static KILN_MEMBER bool none() { return false; }
    static KILN_MEMBER bool least() { return false; }
};

/* Negative numbers are in the order of their bits' complements, before the others. */
template <class S, int MANTISSA> struct kiln_float_order {
    typedef typename kiln_key<sizeof(S)>::type key;
    static constexpr int bits = 8 * (int)sizeof(S);
    static constexpr key sign = (key)1 << (bits - 1), last = sign | (sign - 1);
    static constexpr key infinity = last - (((key)1 << MANTISSA) - 1);
    static KILN_MEMBER key bits_of(key k) { return k > infinity ? infinity ^ sign : k & sign ? k ^ sign : last - k; }
    static KILN_MEMBER float none() { return kiln_nan(); }
    static KILN_MEMBER float least() { return -kiln_infinity(); }
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

/* The key of a value: of either zero that of 0, of any NaN the last. */
template <class V> KILN_DEVICE typename kiln_order<V>::key kiln_key_of(V value) {
    typedef typename kiln_order<V>::key key;
    return (key)value ^ kiln_order<V>::sign;
}
KILN_DEVICE kiln_u32 kiln_key_of(bool value) { return value; }
KILN_DEVICE kiln_u32 kiln_key_of(float value) {
    typedef kiln_order<float> order;
    const kiln_u32 bits = __float_as_uint(value + 0.0f);
    return value != value ? order::last : bits & order::sign ? ~bits : bits | order::sign;
}
KILN_DEVICE kiln_u64 kiln_key_of(double value) {
    typedef kiln_order<double> order;
    const kiln_u64 bits = (kiln_u64)__double_as_longlong(value + 0.0);
    return value != value ? order::last : bits & order::sign ? ~bits : bits | order::sign;
}

// SPDX-License-Identifier: Apache-2.0
/* Stochastic rounding: to one of the two neighbours among the values of a type, to the one further from 0 where the
 * random number u is less than how far x is from the nearer one on the way to it. Every step is exact. */

template <class V> struct kiln_float_bits;
template <> struct kiln_float_bits<float> {
    typedef kiln_u32 word;
    static constexpr int mantissa = 23, bias = 127;
    static KILN_MEMBER word of(float f) { return __float_as_uint(f); }
    static KILN_MEMBER float value(word bits) { return __uint_as_float(bits); }
};
template <> struct kiln_float_bits<double> {
    typedef kiln_u64 word;
    static constexpr int mantissa = 52, bias = 1023;
    static KILN_MEMBER word of(double d) { return (word)__double_as_longlong(d); }
    static KILN_MEMBER double value(word bits) { return __longlong_as_double((kiln_i64)bits); }
};

/* a: |x|. In a format of M mantissa bits whose exponents are biased by BIAS subnormals are multiples of the least one;
 * of others the bits below the last are how far a is past the lower neighbour. */
template <int M, int BIAS, class V> KILN_DEVICE V kiln_round_magnitude(V a, V u) {
    typedef kiln_float_bits<V> bits;
    typedef typename bits::word word;
    if constexpr (BIAS < bits::bias) {
        const V least_normal = bits::value((word)(bits::bias + 1 - BIAS) << bits::mantissa);
        const V least = bits::value((word)(bits::bias + 1 - BIAS - M) << bits::mantissa);
        const V per_least = bits::value((word)(bits::bias - 1 + BIAS + M) << bits::mantissa);
        if (a < least_normal) {
            const V multiple = a * per_least, lower = (V)(int)multiple;
            return (lower + (lower < multiple && u < multiple - lower ? V(1) : V(0))) * least;
        }
    }
    constexpr word last = (word)1 << (bits::mantissa - M);
    const word whole = bits::of(a), rest = whole & (last - 1);
    return bits::value(whole - rest + (rest && u * (V)last < (V)rest ? last : 0));
}

/* largest: the largest finite value; above: what is larger becomes that. */
template <int M, int BIAS, class V> KILN_DEVICE V kiln_round_stochastically(V x, V u, V largest, V above) {
    typedef kiln_float_bits<V> bits;
    const typename bits::word sign = bits::of(x) & ((typename bits::word)1 << (8 * sizeof(V) - 1));
    const V rounded = kiln_round_magnitude<M, BIAS>(bits::value(bits::of(x) ^ sign), u);
    return x == x ? bits::value(bits::of(rounded > largest ? above : rounded) | sign) : x;
}

#define KILN_STOCHASTIC(type, M, BIAS, largest, above) \
    template <class V> KILN_DEVICE V kiln_round_to_##type(V x, V u) { \
        return kiln_round_stochastically<M, BIAS>(x, u, V(largest), V(above)); \
    }
KILN_STOCHASTIC(f32, 23, 127, __uint_as_float(0x7f7fffffu), kiln_infinity())
KILN_STOCHASTIC(f16, 10, 15, 65504.0f, kiln_infinity())
KILN_STOCHASTIC(bf16, 7, 127, __uint_as_float(0x7f7f0000u), kiln_infinity())
KILN_STOCHASTIC(e4m3, 3, 7, 448.0f, 448.0f)
KILN_STOCHASTIC(e5m2, 2, 15, 57344.0f, 57344.0f)
KILN_STOCHASTIC(e2m1, 1, 1, 6.0f, 6.0f)
#undef KILN_STOCHASTIC

// SPDX-License-Identifier: Apache-2.0
/* Operators of the language that CUDA C++ does not have, or has with other edge cases. Integers wrap around. */

template <class V> KILN_DEVICE V kiln_maximum(V a, V b) { return a > b || a != a ? a : b; }
template <class V> KILN_DEVICE V kiln_minimum(V a, V b) { return a < b || a != a ? a : b; }

KILN_DEVICE float kiln_infinity() { return __int_as_float(0x7f800000); }
KILN_DEVICE float kiln_nan() { return __int_as_float(0x7fffffff); }

/* Division by a value that a whole row shares: (x * reciprocal) * scale, where divisor = significand / scale with scale
 * a power of two, so that nothing overflows on the way, nor becomes subnormal that neither x nor the quotient is.
 * Unless KILN_FAST one residual step (Markstein, 1990) rounds the quotient as division does, but for the last bit where
 * x is under some 2^-100 or the quotient subnormal; NaN there, or 0, means that the plain product was already right: an
 * infinity or a zero, whose sign it has. */
struct kiln_quotient {
    float significand, reciprocal, scale;
    KILN_MEMBER kiln_quotient() {}
    KILN_MEMBER kiln_quotient(float divisor) {
        const int exponent = (__float_as_int(divisor) >> 23) & 0xff;
        const int biased = exponent == 0 ? 127 + 24 : exponent < 127 ? 127 : exponent >= 253 ? 1 : 254 - exponent;
        scale = __int_as_float(biased << 23);
        significand = divisor * scale;
        const float rough = kiln_fast_reciprocal(significand);
        const float better = fmaf(fmaf(-significand, rough, 1.0f), rough, rough);
        reciprocal = better == better ? better : rough;
    }
    KILN_MEMBER float divide(float x) const {
        float q = x * reciprocal;
        if (!KILN_FAST) {
            const float better = fmaf(fmaf(-q, significand, x), reciprocal, q);
            q = fabsf(better) > 0.0f ? better : q;
        }
        return q * scale;
    }
};

/* The same where the divisor is a sum of exponentials of which the largest is 1. part: of one of them. */
struct kiln_softmax_sum {
    float sum, reciprocal;
    KILN_MEMBER kiln_softmax_sum() {}
    KILN_MEMBER kiln_softmax_sum(float s) : sum(s) {
        const float rough = kiln_fast_reciprocal(s);
        reciprocal = fmaf(fmaf(-s, rough, 1.0f), rough, rough);
    }
    KILN_MEMBER float part(float x) const {
        const float q = x * reciprocal;
        return KILN_FAST ? q : fmaf(fmaf(-q, sum, x), reciprocal, q);
    }
    KILN_MEMBER float divide(float x) const {
        const float q = part(x);
        return fabsf(q) > 0.0f ? q : x * reciprocal;
    }
};

/* KILN_FAST: every output is of a type that hides the last bits: f16, bf16 or an 8-bit float. */
KILN_DEVICE float kiln_exp(float x) { return KILN_FAST ? __expf(x) : expf(x); }
KILN_DEVICE double kiln_exp(double x) { return exp(x); }
/* exp(x), x <= 0, beside a term that is 1, next to which what is under 2^-126 makes no difference and becomes 0. The
 * relative error is up to 2^-23 + |x| 2^-24. */
KILN_DEVICE float kiln_exp_beside_one(float x) {
    return kiln_fast_exp2_flush(KILN_FAST ? x * 1.44269504f : fmaf(x, 1.44269504f, x * 1.925963e-8f));
}
KILN_DEVICE double kiln_exp_beside_one(double x) { return exp(x); }
/* exp(u - m) 2^d, u <= m, in one multiplication and addition: u log2(e) less what m log2(e) is rounded to. d, 64 at
 * most, is one for all that have the same m: it cancels where they are divided by their sum. From 2^30 on what is not m
 * is so far from it that 2 does as a base, and nothing is rounded. */
struct kiln_centre {
    float scale, offset;
    KILN_MEMBER kiln_centre() {}
    KILN_MEMBER kiln_centre(float m) : scale(fabsf(m) < 1073741824.0f ? 1.44269504f : 1.0f) { offset = -m * scale; }
    KILN_MEMBER float exp(float u) const { return kiln_fast_exp2_flush(fmaf(u, scale, offset)); }
};
KILN_DEVICE float kiln_ratio(float a, float b) { return KILN_FAST ? kiln_fast_ratio(a, b) : a / b; }
KILN_DEVICE double kiln_ratio(double a, double b) { return a / b; }
/* Not KILN_FAST: no exponential overflows, so that a subnormal result is no 0 either. */
KILN_DEVICE float kiln_sigmoid(float x) {
    if (KILN_FAST) return kiln_ratio(1.0f, 1.0f + kiln_exp_beside_one(-x));
    const float e = kiln_exp(-fabsf(x)), r = 1.0f / (1.0f + e);
    return x < 0.0f ? e * r : r;
}
KILN_DEVICE double kiln_sigmoid(double x) {
    const double e = exp(-fabs(x)), r = 1.0 / (1.0 + e);
    return x < 0.0 ? e * r : r;
}
/* x sigmoid(y), also where sigmoid(y) alone has lost bits: the exponential is then e^44.25 times as large until it is
 * multiplied by x. */
KILN_DEVICE float kiln_times_sigmoid(float x, float y) {
    if (KILN_FAST) return x * kiln_sigmoid(y);
    const float e = kiln_exp((fabsf(y) > 80.0f ? 44.25f : 0.0f) - fabsf(y)), r = 1.0f / (1.0f + e);
    return x * (y < 0.0f ? e * r : r) * (y < -80.0f ? 6.0599518e-20f : 1.0f);
}

/* erfc(z) = t exp(-z z + P(t)), t = 1 / (1 + z / 2) for z >= 0, with a relative error under 1.2e-7 (the Chebyshev fit
 * of Press et al., Numerical Recipes, 6.2); exact enough where KILN_FAST, and without branches. */
KILN_DEVICE float kiln_erfc(float x) {
    if (!KILN_FAST) return erfcf(x);
    const float z = fabsf(x), t = kiln_fast_reciprocal(fmaf(0.5f, z, 1.0f));
    float p = 0.17087277f;
    p = fmaf(p, t, -0.82215223f);
    p = fmaf(p, t, 1.48851587f);
    p = fmaf(p, t, -1.13520398f);
    p = fmaf(p, t, 0.27886807f);
    p = fmaf(p, t, -0.18628806f);
    p = fmaf(p, t, 0.09678418f);
    p = fmaf(p, t, 0.37409196f);
    p = fmaf(p, t, 1.00002368f);
    p = fmaf(p, t, -1.26551223f);
    const float r = t * kiln_exp(fmaf(-z, z, p));
    return x < 0.0f ? 2.0f - r : r;
}
KILN_DEVICE double kiln_erfc(double x) { return erfc(x); }

/* The normal distribution, P(X <= x) = erfc(-x / sqrt(2)) / 2, and its density, exp(-x x / 2) / sqrt(2 pi). Where they
 * are small, what rounding leaves out of x x, or in f64 of erfc's argument z, changes them by 1 / 2 or 2 z as much of
 * theirs. */
KILN_DEVICE float kiln_exp_half_square(float a) { /* exp(-a a / 2), a from 0 to 40, where it is 0 */
    const float square = a * a, e = kiln_exp(-0.5f * square);
    return fmaf(-0.5f * fmaf(a, a, -square), e, e);
}
/* factor P(X <= x). P(X <= -a) exp(a a / 2) is u = 1 / (1 + 0.3 a) times a polynomial in w = u - 1, an interpolation at
 * Chebyshev's points for a from 0 to 14.6 with a relative error under 5e-9; w keeps the bits of a small a. */
KILN_DEVICE float kiln_times_normcdf(float factor, float x) {
    if (KILN_FAST) return 0.5f * factor * kiln_erfc(-0.70710678f * x);
    const float a = kiln_minimum(fabsf(x), 40.0f), u = kiln_fast_reciprocal(fmaf(0.3f, a, 1.0f)), w = -0.3f * a * u;
    float p = fmaf(fmaf(fmaf(-0.020962732f, w, -0.074372782f), w, -0.0729235165f), w, 0.00874623326f);
    p = fmaf(fmaf(fmaf(p, w, -0.0239822988f), w, -0.139894161f), w, 0.0809964263f);
    p = fmaf(fmaf(fmaf(p, w, 0.618143432f), w, 0.829807085f), w, 0.5f);
    const float e = kiln_exp_half_square(a), below = u * p;
    return factor * (x < 0.0f ? below : fmaf(-below, e, 1.0f)) * (x < 0.0f ? e : 1.0f);
}
KILN_DEVICE float kiln_normcdf(float x) { return kiln_times_normcdf(1.0f, x); }
KILN_DEVICE double kiln_normcdf(double x) {
    const double root = 0.70710678118654752, rest = -4.833646656726457e-17, z = -x * root, y = erfc(z);
    return 0.5 * (y > 0.0 && z > 0.0 ? fma(2.0 * z * fma(x, rest, fma(x, root, z)), y, y) : y);
}
KILN_DEVICE float kiln_normpdf(float x) {
    return 0.39894228f * (KILN_FAST ? kiln_exp(-0.5f * x * x) : kiln_exp_half_square(kiln_minimum(fabsf(x), 40.0f)));
}
KILN_DEVICE double kiln_normpdf(double x) {
    const double bounded = kiln_minimum(fabs(x), 40.0), square = bounded * bounded, e = exp(-0.5 * square);
    return 0.39894228040143268 * fma(-0.5 * fma(bounded, bounded, -square), e, e);
}

/* NaN of NaN, and 0 of either zero. */
KILN_DEVICE float kiln_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x + 0.0f; }
KILN_DEVICE double kiln_sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x + 0.0; }
template <class I> KILN_DEVICE I kiln_sign(I x) { return (x > 0) - (x < 0); }

/* The remainder with the divisor's sign, as in Python. Not a function of x - floor(x / y) * y, which rounds. */
KILN_DEVICE float kiln_remainder(float x, float y) {
    const float r = fmodf(x, y);
    return r == 0.0f ? copysignf(0.0f, y) : (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
KILN_DEVICE double kiln_remainder(double x, double y) {
    const double r = fmod(x, y);
    return r == 0.0 ? copysign(0.0, y) : (r < 0.0) != (y < 0.0) ? r + y : r;
}
KILN_DEVICE float kiln_fmod(float x, float y) { return fmodf(x, y); }
KILN_DEVICE double kiln_fmod(double x, double y) { return fmod(x, y); }

#if KILN_INTEGERS
template <class I> KILN_DEVICE I kiln_fmod(I x, I y) { return y == 0 || y == -1 ? 0 : x % y; }
template <class I> KILN_DEVICE I kiln_remainder(I x, I y) {
    const I r = kiln_fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

KILN_DEVICE int kiln_add(int a, int b) { return (int)((kiln_u32)a + (kiln_u32)b); }
KILN_DEVICE int kiln_sub(int a, int b) { return (int)((kiln_u32)a - (kiln_u32)b); }
KILN_DEVICE int kiln_mul(int a, int b) { return (int)((kiln_u32)a * (kiln_u32)b); }
KILN_DEVICE kiln_i64 kiln_add(kiln_i64 a, kiln_i64 b) { return (kiln_i64)((kiln_u64)a + (kiln_u64)b); }
KILN_DEVICE kiln_i64 kiln_sub(kiln_i64 a, kiln_i64 b) { return (kiln_i64)((kiln_u64)a - (kiln_u64)b); }
KILN_DEVICE kiln_i64 kiln_mul(kiln_i64 a, kiln_i64 b) { return (kiln_i64)((kiln_u64)a * (kiln_u64)b); }
KILN_DEVICE int kiln_abs(int a) { return a < 0 ? kiln_sub(0, a) : a; }
KILN_DEVICE kiln_i64 kiln_abs(kiln_i64 a) { return a < 0 ? kiln_sub(0LL, a) : a; }

/* x / 0 is 0, the smallest integer by -1 wraps around. */
template <class I> KILN_DEVICE I kiln_div_trunc(I x, I y) { return y == 0 ? 0 : y == -1 ? kiln_sub(I(0), x) : x / y; }
template <class I> KILN_DEVICE I kiln_div_floor(I x, I y) {
    return kiln_div_trunc(x, y) - (kiln_fmod(x, y) != 0 && (x < 0) != (y < 0));
}
/* x multiplied n times; 1 / x ** -n towards zero where n is negative. */
template <class I> KILN_DEVICE I kiln_power(I x, I n) {
    if (n < 0 && x != 1 && x != -1) return 0;
    I power = 1;
    for (; n != 0; n /= 2, x = kiln_mul(x, x))
        if (n % 2 != 0) power = kiln_mul(power, x);
    return power;
}

/* A count that is negative or as wide as the type shifts everything out. */
KILN_DEVICE int kiln_shl(int a, kiln_i64 n) { return n < 0 || n > 31 ? 0 : (int)((kiln_u32)a << n); }
KILN_DEVICE kiln_i64 kiln_shl(kiln_i64 a, kiln_i64 n) { return n < 0 || n > 63 ? 0 : (kiln_i64)((kiln_u64)a << n); }
KILN_DEVICE int kiln_shr(int a, kiln_i64 n) { return a >> (n < 0 || n > 31 ? 31 : n); }
KILN_DEVICE kiln_i64 kiln_shr(kiln_i64 a, kiln_i64 n) { return a >> (n < 0 || n > 63 ? 63 : n); }
KILN_DEVICE int kiln_popcount(int a) { return __popc(a); }
KILN_DEVICE kiln_i64 kiln_popcount(kiln_i64 a) { return __popcll(a); }
#endif

/* Casts between compute types: towards zero and saturating, NaN gives 0. */
KILN_DEVICE int kiln_to_i32(float x) { return x == x ? __float2int_rz(x) : 0; }
KILN_DEVICE int kiln_to_i32(double x) { return x == x ? __double2int_rz(x) : 0; }
KILN_DEVICE int kiln_to_i32(kiln_i64 x) { return kiln_nearest_i32(x); }
KILN_DEVICE int kiln_to_i32(bool x) { return x; }
KILN_DEVICE kiln_i64 kiln_to_i64(float x) { return x == x ? __float2ll_rz(x) : 0; }
KILN_DEVICE kiln_i64 kiln_to_i64(double x) { return x == x ? __double2ll_rz(x) : 0; }
KILN_DEVICE kiln_i64 kiln_to_i64(int x) { return x; }
KILN_DEVICE kiln_i64 kiln_to_i64(bool x) { return x; }

/* Through a storage type and back. */
template <class T, class V> KILN_DEVICE V kiln_round_to(V v) {
    T stored;
    kiln_narrow(v, stored);
    return (V)kiln_widen(stored);
}

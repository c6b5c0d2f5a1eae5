// SPDX-License-Identifier: Apache-2.0
/* Operators of the language that CUDA C++ does not have, or has with other edge cases. Integers wrap around. */

template <class V> KILN_DEVICE V kiln_maximum(V a, V b) { return a > b || a != a ? a : b; }
template <class V> KILN_DEVICE V kiln_minimum(V a, V b) { return a < b || a != a ? a : b; }

KILN_DEVICE float kiln_infinity() { return __int_as_float(0x7f800000); }
KILN_DEVICE float kiln_nan() { return __int_as_float(0x7fffffff); }

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
    KILN_MEMBER kiln_centre(float m) : scale(fabsf(m) < 1073741824.0f ? 1.44269504f : 1.0f) {
        offset = __fmul_rn(-m, scale); /* never part of another operation, whose bits would depend on the kernel */
    }
    KILN_MEMBER float exp(float u) const { return kiln_fast_exp2_flush(fmaf(u, scale, offset)); }
};
/* 2^(x scale + rest) = part root^2 for x scale from -254, where root is 0, to 0, in factors of which none is subnormal
 * before the product that they are parts of is. error: what scale was rounded off. */
struct kiln_exp2_parts {
    float part, root;
    KILN_MEMBER kiln_exp2_parts(float x, float scale, float error, float rest) {
        const float bias = 25166078.0f, even = fmaf(x, scale, bias); /* 1.5 * 2^24 + 254: even numbers from here on */
        root = __int_as_float((int)((kiln_u32)__float_as_int(even) << 23));
        part = kiln_fast_exp2_flush(fmaf(x, error, fmaf(x, scale, bias - even)) + rest);
    }
};
/* 1 / x for x from 2^-126 to 2^126; a step of Newton's rounds as division does. NaN of 0 and infinities. */
KILN_DEVICE float kiln_rounded_reciprocal(float x) {
    const float rough = kiln_fast_reciprocal(x);
    return fmaf(fmaf(-x, rough, 1.0f), rough, rough);
}
KILN_DEVICE float kiln_reciprocal(float x) { return KILN_FAST ? kiln_fast_reciprocal(x) : kiln_rounded_reciprocal(x); }
KILN_DEVICE float kiln_ratio(float a, float b) { return KILN_FAST ? kiln_fast_ratio(a, b) : a / b; }
KILN_DEVICE double kiln_ratio(double a, double b) { return a / b; }
KILN_DEVICE float kiln_sqrt(float x) { return KILN_FAST ? kiln_fast_sqrt(x) : sqrtf(x); }
KILN_DEVICE double kiln_sqrt(double x) { return sqrt(x); }
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

// SPDX-License-Identifier: Apache-2.0
/* Division by a value that a whole row shares: (x * reciprocal) * scale, where divisor = significand / scale with scale
 * a power of two, so that nothing overflows on the way, nor becomes subnormal that neither x nor the quotient is.
 * divide: one residual step (Markstein, 1990) rounds the quotient as division does, but for the last bit where
 * x is under some 2^-100 or the quotient subnormal; NaN there, or 0, means that the plain product was already right: an
 * infinity or a zero, whose sign it has. rough: without that step, 2 ulp. No quotient is rounded together with what it
 * is added to: of a difference of two either could be, and bits would depend on the kernel. */
struct kiln_quotient {
    float significand, reciprocal, scale;
    KILN_MEMBER kiln_quotient() {}
    KILN_MEMBER kiln_quotient(float divisor) {
        const int exponent = (__float_as_int(divisor) >> 23) & 0xff;
        const bool subnormal = exponent == 0, small = exponent < 127, largest = exponent >= 253;
        const int large = largest ? 1 : 254 - exponent;
        const int normal = small ? 127 : large, biased = subnormal ? 127 + 24 : normal;
        scale = __int_as_float(biased << 23);
        significand = divisor * scale;
        const float rough = kiln_fast_reciprocal(significand);
        const float better = fmaf(fmaf(-significand, rough, 1.0f), rough, rough);
        reciprocal = better == better ? better : rough;
    }
    KILN_MEMBER float divide(float x) const {
        const float q = x * reciprocal, better = fmaf(fmaf(-q, significand, x), reciprocal, q);
        return __fmul_rn(fabsf(better) > 0.0f ? better : q, scale);
    }
    KILN_MEMBER float rough(float x) const { return __fmul_rn(x * reciprocal, scale); }
};

/* The same by a constant from 2^-100 to 2^100, 1 over which is rounded to the reciprocal. */
KILN_DEVICE float kiln_divide_by(float x, float divisor, float reciprocal) {
    const float q = __fmul_rn(x, reciprocal), better = fmaf(fmaf(-q, divisor, x), reciprocal, q);
    return fabsf(better) > 0.0f ? better : q;
}

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
        return fmaf(fmaf(-q, sum, x), reciprocal, q);
    }
    KILN_MEMBER float divide(float x) const {
        const float q = part(x);
        return fabsf(q) > 0.0f ? q : rough(x);
    }
    KILN_MEMBER float rough(float x) const { return __fmul_rn(x, reciprocal); }
};

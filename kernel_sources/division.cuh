// SPDX-License-Identifier: Apache-2.0
/* Division by what many elements share. One residual step (Markstein, 1990) rounds a quotient as division does, but for
 * the last bit where x is under some 2^-100 or the quotient subnormal; NaN there, or 0, means that the plain product
 * was already right: an infinity or a zero, whose sign it has. rough: without that step, 2 ulp. No quotient is rounded
 * together with what it is added to: of a difference of two either could be, and bits would depend on the kernel. */

KILN_DEVICE float kiln_residual_step(float q, float x, float divisor, float reciprocal) {
    return fmaf(fmaf(-q, divisor, x), reciprocal, q);
}
/* By a number from 2^-100 to 2^100, 1 over which is rounded to the reciprocal. */
KILN_DEVICE float kiln_divide_by(float x, float divisor, float reciprocal) {
    const float q = __fmul_rn(x, reciprocal), better = kiln_residual_step(q, x, divisor, reciprocal);
    return fabsf(better) > 0.0f ? better : q;
}

/* By a value that a whole row shares: (x * reciprocal) * scale, where divisor = significand / scale with scale a power
 * of two, so that nothing overflows on the way, nor becomes subnormal that neither x nor the quotient is. */
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
        const float better = kiln_rounded_reciprocal(significand);
        reciprocal = better == better ? better : kiln_fast_reciprocal(significand);
    }
    KILN_MEMBER float divide(float x) const { return __fmul_rn(kiln_divide_by(x, significand, reciprocal), scale); }
    KILN_MEMBER float rough(float x) const { return __fmul_rn(x * reciprocal, scale); }
};

/* The same where the divisor is a sum of exponentials of which the largest is 1. part: of one of them. */
struct kiln_softmax_sum {
    float sum, reciprocal;
    KILN_MEMBER kiln_softmax_sum() {}
    KILN_MEMBER kiln_softmax_sum(float s) : sum(s), reciprocal(kiln_rounded_reciprocal(s)) {}
    KILN_MEMBER float part(float x) const { return kiln_residual_step(rough(x), x, sum, reciprocal); }
    KILN_MEMBER float divide(float x) const { return kiln_divide_by(x, sum, reciprocal); }
    KILN_MEMBER float rough(float x) const { return __fmul_rn(x, reciprocal); }
};

// SPDX-License-Identifier: Apache-2.0
/* The normal distribution and the error function that it is made of. */

/* exp(-a a / 2), a >= 0. Not KILN_FAST: up to 18.77, where it is 0. Where the distribution and its density are small,
 * what rounding leaves out of a a changes them by half as much of theirs. */
KILN_DEVICE float kiln_exp_half_square(float a) {
    const float square = a * a;
    if (KILN_FAST) return kiln_fast_exp2_flush(-0.72134752f * square);
    const kiln_exp2_parts e(square, -0.72134752f, -9.629815e-9f, __fmul_rn(-0.72134752f, fmaf(a, a, -square)));
    return e.part * e.root * e.root;
}
/* factor P(X <= x). P(X <= -a) exp(a a / 2) is u = 1 / (1 + 0.3 a) times a polynomial in w = u - 1, an interpolation at
 * Chebyshev's points for a from 0 to 14.6 with a relative error under 5e-9; w keeps the bits of a small a. KILN_FAST: a
 * polynomial in u, of the least largest relative error for a from 0 to 14, 1.5e-7. */
KILN_DEVICE float kiln_times_normcdf(float factor, float x) {
    const float a = KILN_FAST ? fabsf(x) : kiln_minimum(fabsf(x), 18.77f),
                u = kiln_fast_reciprocal(fmaf(0.3f, a, 1.0f));
    const float e = kiln_exp_half_square(a);
    if (KILN_FAST) {
        float p = fmaf(fmaf(0.035674788f, u, -0.157203138f), u, 0.206353605f);
        p = fmaf(fmaf(fmaf(p, u, -0.0536837317f), u, 0.128561676f), u, 0.0999134779f);
        const float below = fmaf(fmaf(p, u, 0.120753959f), u, 0.119629301f) * u;
        return factor * (x < 0.0f ? below * e : fmaf(-below, e, 1.0f));
    }
    const float w = -0.3f * a * u;
    float p = fmaf(fmaf(fmaf(-0.020962732f, w, -0.074372782f), w, -0.0729235165f), w, 0.00874623326f);
    p = fmaf(fmaf(fmaf(p, w, -0.0239822988f), w, -0.139894161f), w, 0.0809964263f);
    p = fmaf(fmaf(fmaf(p, w, 0.618143432f), w, 0.829807085f), w, 0.5f);
    const float below = u * p;
    return factor * (x < 0.0f ? below : fmaf(-below, e, 1.0f)) * (x < 0.0f ? e : 1.0f);
}
KILN_DEVICE float kiln_normcdf(float x) { return kiln_times_normcdf(1.0f, x); }
/* The same in f64, where rounding of erfc's argument z changes it by 2 z as much of its own. */
KILN_DEVICE double kiln_normcdf(double x) {
    const double root = 0.70710678118654752, rest = -4.833646656726457e-17, z = -x * root, y = erfc(z);
    return 0.5 * (y > 0.0 && z > 0.0 ? fma(2.0 * z * fma(x, rest, fma(x, root, z)), y, y) : y);
}
/* exp(-x x / 2) / sqrt(2 pi). */
KILN_DEVICE float kiln_normpdf(float x) {
    return 0.39894228f * kiln_exp_half_square(KILN_FAST ? x : kiln_minimum(fabsf(x), 18.77f));
}
KILN_DEVICE double kiln_normpdf(double x) {
    const double bounded = kiln_minimum(fabs(x), 40.0), square = bounded * bounded, e = exp(-0.5 * square);
    return 0.39894228040143268 * fma(-0.5 * fma(bounded, bounded, -square), e, e);
}
/* Its tail below -x sqrt(2), twice; exact enough where KILN_FAST. */
KILN_DEVICE float kiln_erfc(float x) { return KILN_FAST ? 2.0f * kiln_normcdf(-1.41421356f * x) : erfcf(x); }
KILN_DEVICE double kiln_erfc(double x) { return erfc(x); }

// SPDX-License-Identifier: Apache-2.0
/* The normal distribution and the error function that it is made of. */

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

// SPDX-License-Identifier: Apache-2.0
/* x / (1 + e^-y). Not KILN_FAST: e^-|y| is in parts, so that nothing overflows, nor becomes subnormal that the result
 * is not. */
KILN_DEVICE float kiln_times_sigmoid(float x, float y) {
    if (KILN_FAST) return x * kiln_reciprocal(1.0f + kiln_exp_beside_one(-y));
    const kiln_exp2_parts e(kiln_minimum(fabsf(y), 176.0f), -1.44269504f, -1.925963e-8f, -0.0f);
    const float most = e.part * e.root, r = kiln_reciprocal(fmaf(most, e.root, 1.0f));
    return x * (y < 0.0f ? most : 1.0f) * r * (y < 0.0f ? e.root : 1.0f);
}
/* The logistic function. */
KILN_DEVICE float kiln_sigmoid(float x) { return kiln_times_sigmoid(1.0f, x); }
KILN_DEVICE double kiln_sigmoid(double x) {
    const double e = exp(-fabs(x)), r = 1.0 / (1.0 + e);
    return x < 0.0 ? e * r : r;
}

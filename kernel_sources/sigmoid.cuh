// SPDX-License-Identifier: Apache-2.0
/* The logistic function. Not KILN_FAST: no exponential overflows, so that a subnormal result is no 0 either. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the C library lacks: erfinv, sigmoid, the normal distribution, Philox.
 * _DEFAULT_SOURCE is for lgamma_r: lgamma writes a global variable. */
#define _DEFAULT_SOURCE
#include "ref/special.h"

#include <math.h>

#define PI 3.14159265358979323846
#define TWO_OVER_SQRT_PI 1.12837916709551257390

double kiln__ref_erfinv(double x) {
    double a = fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? copysign(INFINITY, x) : NAN;
    /* A start good to 2e-3 (S. Winitzki, A handy approximation for the error function, 2008) ... */
    const double c = 0.147;
    double logarithm = log1p(a) + log1p(-a);
    double half = 2.0 / (PI * c) + logarithm / 2.0;
    double y = sqrt(fmax(sqrt(half * half - logarithm / c) - half, 0.0));
    /* ... and Halley's steps, which cube the error. Near 1 the complement 1 - a is exact and keeps all digits. */
    for (int i = 0; i < 3; i++) {
        double excess = a < 0.5 ? erf(y) - a : (1.0 - a) - erfc(y);
        double step = excess / (TWO_OVER_SQRT_PI * exp(-y * y));
        y -= step / (1.0 + y * step);
    }
    return copysign(y, x);
}

double kiln__ref_sigmoid(double x) {
    double e = exp(x < 0.0 ? x : -x);
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/* erfc(-x / sqrt(2)) / 2. What rounding leaves out of the argument z weighs z as much again: erfc falls as exp(-z z).
 */
double kiln__ref_normcdf(double x) {
    const double root = 0.70710678118654752, rest = -4.833646656726457e-17; /* of 1 / 2 */
    double z = -x * root;
    double y = erfc(z);
    if (z > 0.0 && y > 0.0) y -= 2.0 * z * fma(-x, rest, fma(-x, root, -z)) * y;
    return 0.5 * y;
}

/* exp(-x x / 2) / sqrt(2 pi), again with what is left out of the square. */
double kiln__ref_normpdf(double x) {
    const double bounded = fabs(x) > 40.0 ? 40.0 : x, square = bounded * bounded; /* 0 from there on */
    const double rest = fma(bounded, bounded, -square);
    return 0.39894228040143267794 * exp(-0.5 * square) * (1.0 - 0.5 * rest);
}

double kiln__ref_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

void kiln__ref_philox(uint32_t counter[4], const uint32_t key[2]) {
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * counter[0];
        uint64_t p1 = UINT64_C(0xCD9E8D57) * counter[2];
        counter[0] = (uint32_t)(p1 >> 32) ^ counter[1] ^ k0;
        counter[1] = (uint32_t)p1;
        counter[2] = (uint32_t)(p0 >> 32) ^ counter[3] ^ k1;
        counter[3] = (uint32_t)p0;
        k0 += UINT32_C(0x9E3779B9); /* the golden ratio */
        k1 += UINT32_C(0xBB67AE85); /* the square root of 3, less 1 */
    }
}

double kiln__ref_uniform(int64_t seed, int64_t offset, int64_t index) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)};
    const uint64_t block = (uint64_t)index >> 2;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)offset,
                           (uint32_t)((uint64_t)offset >> 32)};
    kiln__ref_philox(counter, key);
    return (double)(counter[index & 3] >> 8) * 0x1p-24;
}

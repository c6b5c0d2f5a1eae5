/* SPDX-License-Identifier: Apache-2.0 */
/* What operators give for two values: literals, while a program is typed, and those that the reference computes. */
#ifndef KILN_LANG_ARITHMETIC_H
#define KILN_LANG_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

/* With the dividend's sign; the smallest integer by -1 is undefined in C. */
static inline int64_t kiln__c_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

/* Towards zero; a / 0 is 0, and the smallest integer by -1 wraps around. */
static inline int64_t kiln__c_quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* a - floor(a / b) * b, with the divisor's sign. */
static inline int64_t kiln__python_remainder(int64_t a, int64_t b) {
    int64_t rest = kiln__c_remainder(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* floor(a / b), which that remainder goes with. */
static inline int64_t kiln__floor_quotient(int64_t a, int64_t b) {
    int64_t rest = kiln__c_remainder(a, b);
    return kiln__c_quotient(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}

/* a multiplied b times, wrapping around; 1 / a ** -b towards zero where b is negative. */
static inline int64_t kiln__int_power(int64_t a, int64_t b) {
    uint64_t power = 1, factor = (uint64_t)a;
    if (b < 0 && a != 1 && a != -1) return 0;
    for (uint64_t left = b < 0 ? 0 - (uint64_t)b : (uint64_t)b; left > 0; left >>= 1, factor *= factor)
        if ((left & 1) != 0) power *= factor;
    return (int64_t)power;
}

/* The same of unsigned integers. */
static inline uint64_t kiln__uint_remainder(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
static inline uint64_t kiln__uint_quotient(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static inline uint64_t kiln__uint_power(uint64_t a, uint64_t b) {
    uint64_t power = 1;
    for (; b > 0; b >>= 1, a *= a)
        if ((b & 1) != 0) power *= a;
    return power;
}

/* The same of floats, exactly; NaN where b is 0. */
static inline double kiln__python_fmod(double a, double b) {
    double rest = fmod(a, b);
    if (rest == 0) return copysign(0.0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

/* A NaN wins. */
static inline double kiln__minimum(double a, double b) { return isnan(a) || a < b ? a : b; }
static inline double kiln__maximum(double a, double b) { return isnan(a) || a > b ? a : b; }

/* clang-format off */
/* X(operator, what it gives for a and b) */
#define KILN__COMPARISONS(X) X(LT, a < b) X(LE, a <= b) X(GT, a > b) X(GE, a >= b) X(EQ, a == b) X(NE, a != b)
#define KILN__FLOAT_TESTS(X) X(ISNAN, isnan(a)) X(ISINF, isinf(a)) X(ISFINITE, isfinite(a))
/* SIGN: NaN of NaN, and 0 of either zero. */
#define KILN__FLOAT_OPERATORS(X) \
    X(ADD, a + b) X(SUB, a - b) X(MUL, a * b) X(DIV, a / b) X(NEG, -a) X(ABS, fabs(a)) \
    X(SIGN, a > 0 ? 1 : a < 0 ? -1 : a + 0.0) X(MOD, kiln__python_fmod(a, b)) X(REMAINDER, kiln__python_fmod(a, b)) \
    X(DIV_FLOOR, floor(a / b)) X(DIV_TRUNC, trunc(a / b)) \
    X(FMOD, fmod(a, b)) X(MINIMUM, kiln__minimum(a, b)) X(MAXIMUM, kiln__maximum(a, b)) \
    X(FMIN, fmin(a, b)) X(FMAX, fmax(a, b)) \
    X(FLOOR, floor(a)) X(CEIL, ceil(a)) X(TRUNC, trunc(a)) X(ROUND, nearbyint(a)) \
    X(POW, pow(a, b)) X(SQRT, sqrt(a)) X(RSQRT, 1 / sqrt(a)) X(EXP, exp(a)) X(EXP2, exp2(a)) \
    X(LOG, log(a)) X(LOG2, log2(a)) X(LOG10, log10(a)) \
    X(SIN, sin(a)) X(COS, cos(a)) X(TANH, tanh(a)) X(ATAN, atan(a)) X(ATAN2, atan2(a, b))
#define KILN__INT_OPERATORS(X) \
    X(SIGN, (a > 0) - (a < 0)) X(MOD, kiln__python_remainder(a, b)) X(REMAINDER, kiln__python_remainder(a, b)) \
    X(DIV_FLOOR, kiln__floor_quotient(a, b)) X(DIV_TRUNC, kiln__c_quotient(a, b)) \
    X(FMOD, kiln__c_remainder(a, b)) X(FLOOR, a) X(CEIL, a) X(TRUNC, a) X(ROUND, a) \
    X(MINIMUM, a < b ? a : b) X(MAXIMUM, a > b ? a : b) X(FMIN, a < b ? a : b) X(FMAX, a > b ? a : b) \
    X(BITAND, a & b) X(BITOR, a | b) X(BITXOR, a ^ b) X(BITNOT, ~a)
/* Beside the comparisons. */
#define KILN__UINT_OPERATORS(X) \
    X(ADD, a + b) X(SUB, a - b) X(MUL, a * b) X(NEG, 0 - a) X(ABS, a) X(SIGN, a > 0) \
    X(MOD, kiln__uint_remainder(a, b)) X(REMAINDER, kiln__uint_remainder(a, b)) X(FMOD, kiln__uint_remainder(a, b)) \
    X(DIV_FLOOR, kiln__uint_quotient(a, b)) X(DIV_TRUNC, kiln__uint_quotient(a, b)) X(POW, kiln__uint_power(a, b)) \
    X(FLOOR, a) X(CEIL, a) X(TRUNC, a) X(ROUND, a) \
    X(MINIMUM, a < b ? a : b) X(MAXIMUM, a > b ? a : b) X(FMIN, a < b ? a : b) X(FMAX, a > b ? a : b) \
    X(BITAND, a & b) X(BITOR, a | b) X(BITXOR, a ^ b) X(BITNOT, ~a)
/* clang-format on */

#endif

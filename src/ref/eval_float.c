/* Operators on floats, in double precision whatever the program's float type is.
 * One loop for each operator, so that the switch is paid once a block. */
#include <math.h>

#include "ref/eval.h"
#include "ref/special.h"

#define UNARY(op, expression) \
    case KILN__OP_##op: \
        for (size_t i = 0; i < n; i++) { \
            double a = x[i]; \
            out[i] = expression; \
        } \
        return true

static bool eval_unary(kiln__op op, double *out, const double *x, size_t n)
{
    switch ((int)op) {
        UNARY(NEG, -a);
        UNARY(ABS, fabs(a));
        UNARY(SIGN, a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a); /* a itself: NaN, and zeros with their sign */
        UNARY(EXP, exp(a));
        UNARY(EXP2, exp2(a));
        UNARY(EXPM1, expm1(a));
        UNARY(LOG, log(a));
        UNARY(LOG2, log2(a));
        UNARY(LOG1P, log1p(a));
        UNARY(LOG10, log10(a));
        UNARY(SQRT, sqrt(a));
        UNARY(RSQRT, 1.0 / sqrt(a));
        UNARY(CBRT, cbrt(a));
        UNARY(SIN, sin(a));
        UNARY(COS, cos(a));
        UNARY(TAN, tan(a));
        UNARY(ASIN, asin(a));
        UNARY(ACOS, acos(a));
        UNARY(ATAN, atan(a));
        UNARY(SINH, sinh(a));
        UNARY(COSH, cosh(a));
        UNARY(TANH, tanh(a));
        UNARY(ASINH, asinh(a));
        UNARY(ACOSH, acosh(a));
        UNARY(ATANH, atanh(a));
        UNARY(ERF, erf(a));
        UNARY(ERFC, erfc(a));
        UNARY(ERFINV, kiln__ref_erfinv(a));
        UNARY(LGAMMA, kiln__ref_lgamma(a));
        UNARY(FLOOR, floor(a));
        UNARY(CEIL, ceil(a));
        UNARY(TRUNC, trunc(a));
        UNARY(ROUND, nearbyint(a));
        UNARY(SIGMOID, kiln__ref_sigmoid(a));
    default:
        return false;
    }
}

#define BINARY(op, expression) \
    case KILN__OP_##op: \
        for (size_t i = 0; i < n; i++) { \
            double a = x[i], b = y[i]; \
            out[i] = expression; \
        } \
        return

void kiln__ref_eval_float(kiln__op op, double *out, const double *const args[3], size_t n)
{
    const double *x = args[0], *y = args[1], *z = args[2];
    if (eval_unary(op, out, x, n))
        return;
    switch ((int)op) {
        BINARY(ADD, a + b);
        BINARY(SUB, a - b);
        BINARY(MUL, a * b);
        BINARY(DIV, a / b);
        BINARY(MOD, kiln__ref_remainder(a, b));
        BINARY(REMAINDER, kiln__ref_remainder(a, b));
        BINARY(FMOD, fmod(a, b));
        BINARY(MINIMUM, kiln__ref_minimum(a, b));
        BINARY(MAXIMUM, kiln__ref_maximum(a, b));
        BINARY(FMIN, fmin(a, b));
        BINARY(FMAX, fmax(a, b));
        BINARY(POW, pow(a, b));
        BINARY(ATAN2, atan2(a, b));
        BINARY(FMA, fma(a, b, z[i]));
    default:
        return;
    }
}

/* Operators on integers and bools: exact, wrapping at the type's width.
 * Computed in unsigned 64-bit arithmetic; the low 32 bits of that are i32's own. */
#include "ref/eval.h"

static int64_t truncated_remainder(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b; /* the smallest integer by -1 is undefined in C */
}

static int64_t floored_remainder(int64_t a, int64_t b)
{
    int64_t r = truncated_remainder(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t shift_left(int64_t a, int64_t count, int width)
{
    return count < 0 || count >= width ? 0 : (int64_t)((uint64_t)a << count);
}

static int64_t shift_right(int64_t a, int64_t count, int width)
{
    int places = count < 0 || count >= width ? 63 : (int)count;
    return a < 0 ? ~(~a >> places) : a >> places;
}

static int64_t popcount(int64_t a, int width)
{
    return __builtin_popcountll(width == 32 ? (uint64_t)a & UINT32_MAX : (uint64_t)a);
}

/* Brings results of 64-bit arithmetic into the type. */
static void wrap(kiln__ctype type, int64_t *values, size_t n)
{
    if (type == KILN__I32)
        for (size_t i = 0; i < n; i++)
            values[i] = (int32_t)(uint32_t)values[i];
    else if (type == KILN__BOOL)
        for (size_t i = 0; i < n; i++)
            values[i] &= 1;
}

#define EACH(op, expression) \
    case KILN__OP_##op: \
        for (size_t i = 0; i < n; i++) { \
            int64_t a = x[i]; \
            out[i] = (int64_t)(expression); \
        } \
        break
#define ua ((uint64_t)a)
#define ub ((uint64_t)y[i])

void kiln__ref_eval_int(kiln__op op, kiln__ctype type, int64_t *out, const int64_t *const args[3], size_t n)
{
    const int64_t *x = args[0], *y = args[1];
    int width = type == KILN__I64 ? 64 : 32;
    switch ((int)op) {
        EACH(ADD, ua + ub);
        EACH(SUB, ua - ub);
        EACH(MUL, ua * ub);
        EACH(MOD, floored_remainder(a, y[i]));
        EACH(REMAINDER, floored_remainder(a, y[i]));
        EACH(FMOD, truncated_remainder(a, y[i]));
        EACH(NEG, 0 - ua);
        EACH(ABS, a < 0 ? 0 - ua : ua);
        EACH(SIGN, (a > 0) - (a < 0));
        EACH(BITAND, a & y[i]);
        EACH(BITOR, a | y[i]);
        EACH(BITXOR, a ^ y[i]);
        EACH(BITNOT, ~a);
        EACH(AND, a & y[i]);
        EACH(OR, a | y[i]);
        EACH(NOT, a == 0);
        EACH(SHL, shift_left(a, y[i], width));
        EACH(SHR, shift_right(a, y[i], width));
        EACH(POPCOUNT, popcount(a, width));
        EACH(MINIMUM, a < y[i] ? a : y[i]);
        EACH(MAXIMUM, a > y[i] ? a : y[i]);
        EACH(FMIN, a < y[i] ? a : y[i]);
        EACH(FMAX, a > y[i] ? a : y[i]);
        EACH(FLOOR, a);
        EACH(CEIL, a);
        EACH(TRUNC, a);
        EACH(ROUND, a);
    default:
        return;
    }
    wrap(type, out, n);
}

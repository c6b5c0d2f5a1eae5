/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's operators, each against the C library or against values known otherwise.
 * Blocks are longer than the reference's own, so that every case also crosses from one block to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/hand_ir.h"
#include "ref/ref.h"
#include "ref/special.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define N 600

static const bool last_axis[1] = {true};

/* out[i] = op(a[i], b[i], c[i]) through a program of one instruction. */
static void run_op(kiln__op op, kiln_type in, kiln__ctype result, kiln_type out_type, int args, void *const data[3],
                   int64_t n, void *out) {
    hand_ir program;
    hand_ir_start(&program);
    kiln_tensor tensors[4];
    uint32_t inputs[3] = {0, 0, 0};
    for (int i = 0; i < args; i++) {
        inputs[i] = hand_input(&program, in, true);
        tensors[i] = kiln_tensor_contiguous(data[i], in, 1, &n);
    }
    tensors[args] = kiln_tensor_contiguous(out, out_type, 1, &n);
    uint32_t value = args == 1   ? hand_unary(&program, op, result, inputs[0])
                     : args == 2 ? hand_binary(&program, op, result, inputs[0], inputs[1])
                                 : hand_ternary(&program, op, result, inputs[0], inputs[1], inputs[2]);
    hand_output(&program, out_type, value);
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 1, &n, last_axis), KILN_OK);
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

/* Awkward values first, then a spread of plain ones. */
static void fill(double *x, double low, double high) {
    static const double special[] = {0.0,    -0.0,   1.0,     -1.0,  0.5,    -0.5,     1.5,       2.5,
                                     -2.5,   1e-300, -1e-300, 1e300, -1e300, INFINITY, -INFINITY, NAN,
                                     5e-324, 709.0,  -745.0,  3.0,   -3.0,   1e-10,    20.0,      -20.0};
    for (size_t i = 0; i < N; i++)
        x[i] = i < COUNT(special) ? special[i] : low + (high - low) * (double)(i * 7919 % N) / N;
}

static double neg(double x) { return -x; }
static double rsqrt(double x) { return 1.0 / sqrt(x); }
static double half_even(double x) {
    double f = floor(x), d = x - f;
    return isinf(x) || d == 0 ? x : d < 0.5 || (d == 0.5 && fmod(f, 2.0) == 0.0) ? f : f + 1.0;
}
static double sign(double x) { return isnan(x) ? x : (x > 0) - (x < 0); }

static void float_functions_are_the_c_librarys(void **state) {
    (void)state;
    static const struct {
        kiln__op op;
        double (*function)(double);
    } cases[] = {
        {KILN__OP_NEG, neg},     {KILN__OP_ABS, fabs},    {KILN__OP_SIGN, sign},   {KILN__OP_EXP, exp},
        {KILN__OP_EXP2, exp2},   {KILN__OP_EXPM1, expm1}, {KILN__OP_LOG, log},     {KILN__OP_LOG2, log2},
        {KILN__OP_LOG1P, log1p}, {KILN__OP_LOG10, log10}, {KILN__OP_SQRT, sqrt},   {KILN__OP_RSQRT, rsqrt},
        {KILN__OP_CBRT, cbrt},   {KILN__OP_SIN, sin},     {KILN__OP_COS, cos},     {KILN__OP_TAN, tan},
        {KILN__OP_ASIN, asin},   {KILN__OP_ACOS, acos},   {KILN__OP_ATAN, atan},   {KILN__OP_SINH, sinh},
        {KILN__OP_COSH, cosh},   {KILN__OP_TANH, tanh},   {KILN__OP_ASINH, asinh}, {KILN__OP_ACOSH, acosh},
        {KILN__OP_ATANH, atanh}, {KILN__OP_ERF, erf},     {KILN__OP_ERFC, erfc},   {KILN__OP_LGAMMA, lgamma},
        {KILN__OP_FLOOR, floor}, {KILN__OP_CEIL, ceil},   {KILN__OP_TRUNC, trunc}, {KILN__OP_ROUND, half_even},
    };
    double x[N], y[N];
    for (size_t c = 0; c < COUNT(cases); c++) {
        fill(x, -4, 4);
        run_op(cases[c].op, KILN_F64, KILN__F64, KILN_F64, 1, (void *const[3]){x}, N, y);
        for (size_t i = 0; i < N; i++)
            if (!same(y[i], cases[c].function(x[i])))
                fail_msg("operator %d of %.17g gives %.17g, expected %.17g", (int)cases[c].op, x[i], y[i],
                         cases[c].function(x[i]));
    }
}

/* As NumPy and PyTorch have it: the sign of a zero is 0. */
static void both_zeros_have_the_sign_0(void **state) {
    (void)state;
    double x[] = {-0.0, 0.0, -5e-324, NAN}, y[4];
    run_op(KILN__OP_SIGN, KILN_F64, KILN__F64, KILN_F64, 1, (void *const[3]){x}, 4, y);
    assert_true(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && !signbit(y[1]) && y[2] == -1 && isnan(y[3]));
}

static void the_normal_distribution_is_good_to_the_last_places(void **state) {
    (void)state;
    static const struct {
        double x, below, density; /* from 60 decimal places */
    } cases[] = {{0, 0.5, 0.39894228040143268},
                 {-1, 0.15865525393145705, 0.24197072451914335},
                 {-13, 6.1171643995498797e-39, 7.9988277570068115e-38},
                 {-37.5, 4.6053530095819548e-308, 1.7282337322841052e-306},
                 {3, 0.99865010196836991, 0.0044318484119380072},
                 {-1e300, 0, 0},
                 {INFINITY, 1, 0},
                 {-INFINITY, 0, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double x = cases[i].x, below, density;
        run_op(KILN__OP_NORMCDF, KILN_F64, KILN__F64, KILN_F64, 1, (void *const[3]){&x}, 1, &below);
        run_op(KILN__OP_NORMPDF, KILN_F64, KILN__F64, KILN_F64, 1, (void *const[3]){&x}, 1, &density);
        if (!(fabs(below - cases[i].below) <= 2e-15 * cases[i].below)) fail_msg("normcdf(%g) is %.17g", x, below);
        if (!(fabs(density - cases[i].density) <= 2e-15 * cases[i].density))
            fail_msg("normpdf(%g) is %.17g", x, density);
    }
}

static double divide(double a, double b) { return a / b; }
static double floor_divide(double a, double b) { return floor(a / b); }
static double trunc_divide(double a, double b) { return trunc(a / b); }
static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double nan_max(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static double nan_min(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
static double python_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static void float_operators_of_two_arguments(void **state) {
    (void)state;
    static const struct {
        kiln__op op;
        double (*function)(double, double);
    } cases[] = {
        {KILN__OP_ADD, plus},
        {KILN__OP_SUB, minus},
        {KILN__OP_MUL, times},
        {KILN__OP_DIV, divide},
        {KILN__OP_MOD, python_mod},
        {KILN__OP_REMAINDER, python_mod},
        {KILN__OP_FMOD, fmod},
        {KILN__OP_MINIMUM, nan_min},
        {KILN__OP_MAXIMUM, nan_max},
        {KILN__OP_FMIN, fmin},
        {KILN__OP_FMAX, fmax},
        {KILN__OP_POW, pow},
        {KILN__OP_ATAN2, atan2},
        {KILN__OP_DIV_FLOOR, floor_divide},
        {KILN__OP_DIV_TRUNC, trunc_divide},
    };
    double x[N], y[N], z[N];
    for (size_t c = 0; c < COUNT(cases); c++)
        for (size_t turn = 0; turn < 24; turn++) { /* every special value meets every other */
            fill(x, -4, 4);
            fill(y, 5, -3);
            for (size_t i = 0; i < 24; i++) y[i] = x[(i + turn) % 24];
            run_op(cases[c].op, KILN_F64, KILN__F64, KILN_F64, 2, (void *const[3]){x, y}, turn == 0 ? N : 24, z);
            for (size_t i = 0; i < (turn == 0 ? N : 24); i++)
                if (!same(z[i], cases[c].function(x[i], y[i])))
                    fail_msg("operator %d of %.17g and %.17g gives %.17g", (int)cases[c].op, x[i], y[i], z[i]);
        }
}

static void remainders_take_the_divisors_sign(void **state) {
    (void)state;
    static const struct {
        double x, y, floored, truncated;
    } cases[] = {{7, 3, 1, 1},
                 {-7, 3, 2, -1},
                 {7, -3, -2, 1},
                 {-7, -3, -1, -1},
                 {6, -3, 0, 0},
                 {5.5, -2, -0.5, 1.5},
                 {-1, INFINITY, INFINITY, -1},
                 {1, INFINITY, 1, 1},
                 {1, 0, NAN, NAN},
                 {INFINITY, 2, NAN, NAN}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double x = cases[i].x, y = cases[i].y, floored, truncated;
        run_op(KILN__OP_REMAINDER, KILN_F64, KILN__F64, KILN_F64, 2, (void *const[3]){&x, &y}, 1, &floored);
        run_op(KILN__OP_FMOD, KILN_F64, KILN__F64, KILN_F64, 2, (void *const[3]){&x, &y}, 1, &truncated);
        assert_true(same(floored, cases[i].floored));
        assert_true(same(truncated, cases[i].truncated));
    }
}

static void fma_rounds_once(void **state) {
    (void)state;
    double x = 1 + 0x1p-30, y = 1 - 0x1p-30, z = -1, out;
    run_op(KILN__OP_FMA, KILN_F64, KILN__F64, KILN_F64, 3, (void *const[3]){&x, &y, &z}, 1, &out);
    assert_true(out == -0x1p-60);
}

static void f32_programs_compute_in_double(void **state) {
    (void)state;
    float x = 0.1f;
    double out;
    run_op(KILN__OP_EXP, KILN_F32, KILN__F32, KILN_F64, 1, (void *const[3]){&x}, 1, &out);
    assert_true(out == exp((double)0.1f));
}

static void erfinv_is_good_to_the_last_places(void **state) {
    (void)state;
    static const struct {
        double x, y;
    } cases[] = {{0.1, 0.08885599049425769},        {0.5, 0.4769362762044699},       {0.49999, 0.4769251504153166},
                 {0.9, 1.1630871536766743},         {0.99, 1.8213863677184494},      {1e-10, 8.862269254527581e-11},
                 {0.999999, 3.458910737275499},     {0.3, 0.2724627147267543},       {0.7, 0.7328690779592167},
                 {1 - 0x1p-53, 5.8635847487551676}, {1e-300, 8.862269254527581e-301}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int s = -1; s <= 1; s += 2) {
            double x = s * cases[i].x, y;
            run_op(KILN__OP_ERFINV, KILN_F64, KILN__F64, KILN_F64, 1, (void *const[3]){&x}, 1, &y);
            assert_true(fabs(y - s * cases[i].y) <= 6e-16 * cases[i].y);
        }
    assert_true(kiln__ref_erfinv(1) == INFINITY && kiln__ref_erfinv(-1) == -INFINITY);
    assert_true(isnan(kiln__ref_erfinv(1.5)) && isnan(kiln__ref_erfinv(NAN)) && kiln__ref_erfinv(0) == 0);
}

static void sigmoid_neither_overflows_nor_cancels(void **state) {
    (void)state;
    assert_true(kiln__ref_sigmoid(0) == 0.5);
    assert_true(kiln__ref_sigmoid(INFINITY) == 1 && kiln__ref_sigmoid(-INFINITY) == 0);
    assert_true(kiln__ref_sigmoid(1000) == 1 && kiln__ref_sigmoid(-1000) == 0);
    assert_true(fabs(kiln__ref_sigmoid(-700) - exp(-700)) <= 1e-15 * exp(-700));
    assert_true(isnan(kiln__ref_sigmoid(NAN)));
}

static void floats_are_compared_and_tested(void **state) {
    (void)state;
    double x[] = {1, 2, 2, NAN, 1, INFINITY, -0.0}, y[] = {2, 1, 2, 1, NAN, INFINITY, 0.0};
    static const struct {
        kiln__op op;
        int args;
        uint8_t expected[7];
    } cases[] = {{KILN__OP_LT, 2, {1, 0, 0, 0, 0, 0, 0}},      {KILN__OP_LE, 2, {1, 0, 1, 0, 0, 1, 1}},
                 {KILN__OP_GT, 2, {0, 1, 0, 0, 0, 0, 0}},      {KILN__OP_GE, 2, {0, 1, 1, 0, 0, 1, 1}},
                 {KILN__OP_EQ, 2, {0, 0, 1, 0, 0, 1, 1}},      {KILN__OP_NE, 2, {1, 1, 0, 1, 1, 0, 0}},
                 {KILN__OP_ISNAN, 1, {0, 0, 0, 1, 0, 0, 0}},   {KILN__OP_ISINF, 1, {0, 0, 0, 0, 0, 1, 0}},
                 {KILN__OP_ISFINITE, 1, {1, 1, 1, 0, 1, 0, 1}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t out[7];
        run_op(cases[i].op, KILN_F64, KILN__BOOL, KILN_BOOL, cases[i].args, (void *const[3]){x, y}, 7, out);
        assert_memory_equal(out, cases[i].expected, sizeof out);
    }
}

static void logic_and_selection(void **state) {
    (void)state;
    uint8_t a[] = {0, 0, 1, 1}, b[] = {0, 1, 0, 1}, out[4];
    static const struct {
        kiln__op op;
        int args;
        uint8_t expected[4];
    } cases[] = {{KILN__OP_AND, 2, {0, 0, 0, 1}},
                 {KILN__OP_OR, 2, {0, 1, 1, 1}},
                 {KILN__OP_NOT, 1, {1, 1, 0, 0}},
                 {KILN__OP_BITNOT, 1, {1, 1, 0, 0}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        run_op(cases[i].op, KILN_BOOL, KILN__BOOL, KILN_BOOL, cases[i].args, (void *const[3]){a, b}, 4, out);
        assert_memory_equal(out, cases[i].expected, 4);
    }
    hand_ir program;
    hand_ir_start(&program);
    uint32_t condition = hand_input(&program, KILN_BOOL, true), x = hand_input(&program, KILN_F64, true);
    uint32_t k = hand_int(&program, KILN__I32, -7), j = hand_input(&program, KILN_I32, true);
    hand_output(&program, KILN_F64,
                hand_ternary(&program, KILN__OP_WHERE, KILN__F64, condition, x, hand_float(&program, KILN__F64, NAN)));
    hand_output(&program, KILN_I32, hand_ternary(&program, KILN__OP_WHERE, KILN__I32, condition, k, j));
    int64_t n = 4;
    double reals[] = {1, 2, 3, 4}, picked[4];
    int32_t ints[] = {5, 6, 7, 8}, chosen[4];
    kiln_tensor tensors[] = {
        kiln_tensor_contiguous(b, KILN_BOOL, 1, &n), kiln_tensor_contiguous(reals, KILN_F64, 1, &n),
        kiln_tensor_contiguous(ints, KILN_I32, 1, &n), kiln_tensor_contiguous(picked, KILN_F64, 1, &n),
        kiln_tensor_contiguous(chosen, KILN_I32, 1, &n)};
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 1, &n, last_axis), KILN_OK);
    assert_true(isnan(picked[0]) && picked[1] == 2 && isnan(picked[2]) && picked[3] == 4);
    assert_memory_equal(chosen, ((int32_t[]){5, -7, 7, -7}), sizeof chosen);
}

#define LOW64 INT64_MIN
#define HIGH64 INT64_MAX

static void integers_are_exact_and_wrap(void **state) {
    (void)state;
    static const struct {
        kiln__op op;
        kiln__ctype type;
        int64_t a, b, expected;
    } cases[] = {
        {KILN__OP_ADD, KILN__I32, INT32_MAX, 1, INT32_MIN},
        {KILN__OP_ADD, KILN__I64, HIGH64, 1, LOW64},
        {KILN__OP_SUB, KILN__I32, INT32_MIN, 1, INT32_MAX},
        {KILN__OP_SUB, KILN__I64, LOW64, 1, HIGH64},
        {KILN__OP_MUL, KILN__I32, 65536, 65537, 65536},
        {KILN__OP_MUL, KILN__I64, HIGH64, HIGH64, 1},
        {KILN__OP_MUL, KILN__I32, -3, 5, -15},
        {KILN__OP_NEG, KILN__I32, INT32_MIN, 0, INT32_MIN},
        {KILN__OP_NEG, KILN__I64, LOW64, 0, LOW64},
        {KILN__OP_ABS, KILN__I32, INT32_MIN, 0, INT32_MIN},
        {KILN__OP_ABS, KILN__I64, -5, 0, 5},
        {KILN__OP_SIGN, KILN__I32, -9, 0, -1},
        {KILN__OP_SIGN, KILN__I64, 0, 0, 0},
        {KILN__OP_MOD, KILN__I32, 7, 3, 1},
        {KILN__OP_MOD, KILN__I32, -7, 3, 2},
        {KILN__OP_MOD, KILN__I32, 7, -3, -2},
        {KILN__OP_REMAINDER, KILN__I64, -7, -3, -1},
        {KILN__OP_MOD, KILN__I32, 7, 0, 0},
        {KILN__OP_FMOD, KILN__I64, -7, 3, -1},
        {KILN__OP_FMOD, KILN__I64, 7, 0, 0},
        {KILN__OP_DIV_FLOOR, KILN__I32, 7, 2, 3},
        {KILN__OP_DIV_TRUNC, KILN__I32, 7, 2, 3},
        {KILN__OP_DIV_FLOOR, KILN__I32, -7, 2, -4},
        {KILN__OP_DIV_TRUNC, KILN__I32, -7, 2, -3},
        {KILN__OP_DIV_FLOOR, KILN__I32, 7, -2, -4},
        {KILN__OP_DIV_TRUNC, KILN__I32, 7, -2, -3},
        {KILN__OP_DIV_FLOOR, KILN__I64, -8, -2, 4},
        {KILN__OP_DIV_TRUNC, KILN__I64, -8, -2, 4},
        {KILN__OP_DIV_FLOOR, KILN__I32, -7, 0, 0},
        {KILN__OP_DIV_TRUNC, KILN__I64, 7, 0, 0},
        {KILN__OP_DIV_FLOOR, KILN__I64, LOW64, -1, LOW64},
        {KILN__OP_DIV_TRUNC, KILN__I32, INT32_MIN, -1, INT32_MIN},
        {KILN__OP_DIV_FLOOR, KILN__I64, LOW64, HIGH64, -2},
        {KILN__OP_DIV_TRUNC, KILN__I64, LOW64, HIGH64, -1},
        {KILN__OP_POW, KILN__I32, 3, 17, 129140163},
        {KILN__OP_POW, KILN__I64, 3, 39, 4052555153018976267},
        {KILN__OP_POW, KILN__I32, 3, 21, 1870418611},
        {KILN__OP_POW, KILN__I32, 2, 32, 0},
        {KILN__OP_POW, KILN__I32, 0, 0, 1},
        {KILN__OP_POW, KILN__I32, -7, 1, -7},
        {KILN__OP_POW, KILN__I64, 2, 63, LOW64},
        {KILN__OP_POW, KILN__I64, -1, LOW64, 1},
        {KILN__OP_POW, KILN__I32, 2, -1, 0},
        {KILN__OP_POW, KILN__I32, 0, -3, 0},
        {KILN__OP_POW, KILN__I32, 1, -4, 1},
        {KILN__OP_POW, KILN__I32, -1, -3, -1},
        {KILN__OP_POW, KILN__I32, -1, INT32_MIN, 1},
        {KILN__OP_POW, KILN__I32, -2, -31, 0},
        {KILN__OP_FMOD, KILN__I64, LOW64, -1, 0},
        {KILN__OP_MOD, KILN__I64, LOW64, -1, 0},
        {KILN__OP_BITAND, KILN__I32, 12, 10, 8},
        {KILN__OP_BITOR, KILN__I32, 12, 10, 14},
        {KILN__OP_BITXOR, KILN__I32, -1, 10, -11},
        {KILN__OP_BITNOT, KILN__I32, 5, 0, -6},
        {KILN__OP_BITNOT, KILN__I64, LOW64, 0, HIGH64},
        {KILN__OP_SHL, KILN__I32, 1, 31, INT32_MIN},
        {KILN__OP_SHL, KILN__I32, 3, 32, 0},
        {KILN__OP_SHL, KILN__I32, 3, -1, 0},
        {KILN__OP_SHL, KILN__I64, 1, 63, LOW64},
        {KILN__OP_SHL, KILN__I64, 1, 64, 0},
        {KILN__OP_SHL, KILN__I32, -1, 4, -16},
        {KILN__OP_SHR, KILN__I32, -16, 2, -4},
        {KILN__OP_SHR, KILN__I32, -16, 40, -1},
        {KILN__OP_SHR, KILN__I32, -16, -2, -1},
        {KILN__OP_SHR, KILN__I32, 16, 32, 0},
        {KILN__OP_SHR, KILN__I32, INT32_MIN, 31, -1},
        {KILN__OP_SHR, KILN__I64, HIGH64, 62, 1},
        {KILN__OP_SHR, KILN__I64, 5, -1, 0},
        {KILN__OP_POPCOUNT, KILN__I32, -1, 0, 32},
        {KILN__OP_POPCOUNT, KILN__I64, -1, 0, 64},
        {KILN__OP_POPCOUNT, KILN__I32, 0xF0F0, 0, 8},
        {KILN__OP_MINIMUM, KILN__I64, -5, 3, -5},
        {KILN__OP_MAXIMUM, KILN__I64, -5, 3, 3},
        {KILN__OP_FMIN, KILN__I32, 4, 3, 3},
        {KILN__OP_FMAX, KILN__I32, 4, 3, 4},
        {KILN__OP_FLOOR, KILN__I32, -4, 0, -4},
        {KILN__OP_CEIL, KILN__I32, 4, 0, 4},
        {KILN__OP_TRUNC, KILN__I64, HIGH64, 0, HIGH64},
        {KILN__OP_ROUND, KILN__I64, LOW64, 0, LOW64},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t a = cases[i].a, b = cases[i].b, wide = 0;
        int32_t a32 = (int32_t)a, b32 = (int32_t)b;
        if (cases[i].type == KILN__I64)
            run_op(cases[i].op, KILN_I64, KILN__I64, KILN_I64, 2, (void *const[3]){&a, &b}, 1, &wide);
        else
            run_op(cases[i].op, KILN_I32, KILN__I32, KILN_I64, 2, (void *const[3]){&a32, &b32}, 1, &wide);
        if (wide != cases[i].expected)
            fail_msg("case %zu: %lld, expected %lld", i, (long long)wide, (long long)cases[i].expected);
    }
    int64_t big[] = {HIGH64, HIGH64 - 1};
    uint8_t less;
    run_op(KILN__OP_GT, KILN_I64, KILN__BOOL, KILN_BOOL, 2, (void *const[3]){big, big + 1}, 1, &less);
    assert_int_equal(less, 1); /* as doubles they were equal */
}

#define TOP64 (UINT64_C(1) << 63)
#define MAX64 UINT64_MAX

static void unsigned_integers_are_exact_and_wrap(void **state) {
    (void)state;
    static const struct {
        kiln__op op;
        kiln_type type;
        uint64_t a, b, expected;
    } cases[] = {
        {KILN__OP_ADD, KILN_U32, UINT32_MAX, 1, 0},
        {KILN__OP_ADD, KILN_U64, MAX64, 2, 1},
        {KILN__OP_SUB, KILN_U32, 0, 1, UINT32_MAX},
        {KILN__OP_SUB, KILN_U64, 0, 1, MAX64},
        {KILN__OP_MUL, KILN_U32, 65537, 65537, 131073},
        {KILN__OP_MUL, KILN_U64, TOP64 + 1, 3, TOP64 + 3},
        {KILN__OP_NEG, KILN_U32, 1, 0, UINT32_MAX},
        {KILN__OP_NEG, KILN_U64, TOP64, 0, TOP64},
        {KILN__OP_ABS, KILN_U32, UINT32_MAX, 0, UINT32_MAX},
        {KILN__OP_ABS, KILN_U64, MAX64, 0, MAX64},
        {KILN__OP_SIGN, KILN_U64, MAX64, 0, 1},
        {KILN__OP_SIGN, KILN_U32, 0, 0, 0},
        {KILN__OP_MOD, KILN_U64, MAX64, 10, 5},
        {KILN__OP_REMAINDER, KILN_U32, UINT32_MAX, 10, 5},
        {KILN__OP_FMOD, KILN_U64, MAX64, MAX64 - 1, 1},
        {KILN__OP_FMOD, KILN_U32, 7, UINT32_MAX, 7},
        {KILN__OP_MOD, KILN_U64, 7, 0, 0},
        {KILN__OP_DIV_FLOOR, KILN_U64, MAX64, 2, TOP64 - 1},
        {KILN__OP_DIV_TRUNC, KILN_U64, TOP64, MAX64, 0},
        {KILN__OP_DIV_TRUNC, KILN_U32, UINT32_MAX, UINT32_MAX, 1},
        {KILN__OP_DIV_FLOOR, KILN_U32, 9, 0, 0},
        {KILN__OP_POW, KILN_U32, 3, 21, 1870418611},
        {KILN__OP_POW, KILN_U64, 3, 40, 12157665459056928801u},
        {KILN__OP_POW, KILN_U64, MAX64, MAX64, MAX64},
        {KILN__OP_BITNOT, KILN_U32, 5, 0, UINT32_MAX - 5},
        {KILN__OP_BITNOT, KILN_U64, 0, 0, MAX64},
        {KILN__OP_BITXOR, KILN_U32, UINT32_MAX, 10, UINT32_MAX - 10},
        {KILN__OP_SHL, KILN_U32, 3, 31, UINT32_C(1) << 31},
        {KILN__OP_SHL, KILN_U32, 3, 32, 0},
        {KILN__OP_SHL, KILN_U64, 1, 63, TOP64},
        {KILN__OP_SHL, KILN_U64, 1, MAX64, 0},
        {KILN__OP_SHR, KILN_U32, UINT32_MAX, 31, 1},
        {KILN__OP_SHR, KILN_U32, UINT32_MAX, 32, 0},
        {KILN__OP_SHR, KILN_U64, MAX64, 63, 1},
        {KILN__OP_SHR, KILN_U64, MAX64, 64, 0},
        {KILN__OP_POPCOUNT, KILN_U32, UINT32_MAX, 0, 32},
        {KILN__OP_POPCOUNT, KILN_U64, MAX64, 0, 64},
        {KILN__OP_MINIMUM, KILN_U64, MAX64, 1, 1},
        {KILN__OP_MAXIMUM, KILN_U64, MAX64, 1, MAX64},
        {KILN__OP_MAXIMUM, KILN_U32, UINT32_MAX, 1, UINT32_MAX},
        {KILN__OP_FLOOR, KILN_U64, MAX64, 0, MAX64},
    };
    static const kiln__op comparisons[] = {KILN__OP_LT, KILN__OP_LE, KILN__OP_EQ,
                                           KILN__OP_GT, KILN__OP_GE, KILN__OP_NE};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t a = cases[i].a, b = cases[i].b, wide = 0;
        uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b;
        if (cases[i].type == KILN_U64)
            run_op(cases[i].op, KILN_U64, KILN__U64, KILN_U64, 2, (void *const[3]){&a, &b}, 1, &wide);
        else
            run_op(cases[i].op, KILN_U32, KILN__U32, KILN_U64, 2, (void *const[3]){&a32, &b32}, 1, &wide);
        if (wide != cases[i].expected)
            fail_msg("case %zu: %llu, expected %llu", i, (unsigned long long)wide,
                     (unsigned long long)cases[i].expected);
    }
    uint64_t large[] = {MAX64, TOP64, 1, MAX64}, other[] = {TOP64, 1, MAX64, MAX64};
    const uint8_t expected[][4] = {{0, 0, 1, 0}, {0, 0, 1, 1}, {0, 0, 0, 1}, {1, 1, 0, 0}, {1, 1, 0, 1}, {1, 1, 1, 0}};
    for (size_t i = 0; i < COUNT(comparisons); i++) {
        uint8_t found[4];
        run_op(comparisons[i], KILN_U64, KILN__BOOL, KILN_BOOL, 2, (void *const[3]){large, other}, 4, found);
        assert_memory_equal(found, expected[i], sizeof found);
    }
}

static void casts_from_and_to_unsigned_saturate(void **state) {
    (void)state;
    double x[] = {2.9, -2.9, 1e30, NAN, 0x1p63, 4294967295.5, -0.0, 0x1p64}, reals[4];
    int64_t signs[] = {-1, INT64_MIN, INT64_MAX, 7};
    uint64_t large[] = {MAX64, TOP64, 5, UINT32_MAX}, wide[8];
    int64_t back[4];
    run_op(KILN__OP_CAST, KILN_F64, KILN__U32, KILN_U64, 1, (void *const[3]){x}, 8, wide);
    assert_memory_equal(wide, ((uint64_t[]){2, 0, UINT32_MAX, 0, UINT32_MAX, UINT32_MAX, 0, UINT32_MAX}), sizeof wide);
    run_op(KILN__OP_CAST, KILN_F64, KILN__U64, KILN_U64, 1, (void *const[3]){x}, 8, wide);
    assert_memory_equal(wide, ((uint64_t[]){2, 0, MAX64, 0, TOP64, UINT32_MAX, 0, MAX64}), sizeof wide);
    run_op(KILN__OP_CAST, KILN_I64, KILN__U64, KILN_U64, 1, (void *const[3]){signs}, 4, wide);
    assert_memory_equal(wide, ((uint64_t[]){0, 0, INT64_MAX, 7}), sizeof signs);
    run_op(KILN__OP_CAST, KILN_I64, KILN__U32, KILN_U64, 1, (void *const[3]){signs}, 4, wide);
    assert_memory_equal(wide, ((uint64_t[]){0, 0, UINT32_MAX, 7}), sizeof signs);
    run_op(KILN__OP_CAST, KILN_U64, KILN__I64, KILN_I64, 1, (void *const[3]){large}, 4, back);
    assert_memory_equal(back, ((int64_t[]){INT64_MAX, INT64_MAX, 5, UINT32_MAX}), sizeof back);
    run_op(KILN__OP_CAST, KILN_U64, KILN__I32, KILN_I64, 1, (void *const[3]){large}, 4, back);
    assert_memory_equal(back, ((int64_t[]){INT32_MAX, INT32_MAX, 5, INT32_MAX}), sizeof back);
    run_op(KILN__OP_CAST, KILN_U64, KILN__BOOL, KILN_I64, 1, (void *const[3]){large}, 4, back);
    assert_memory_equal(back, ((int64_t[]){1, 1, 1, 1}), sizeof back);
    run_op(KILN__OP_CAST, KILN_U64, KILN__F64, KILN_F64, 1, (void *const[3]){large}, 4, reals);
    assert_true(reals[0] == 0x1p64 && reals[1] == 0x1p63 && reals[2] == 5 && reals[3] == 4294967295.0);
    run_op(KILN__OP_MAXIMUM, KILN_U64, KILN__U64, KILN_F64, 2, (void *const[3]){large, large}, 4, reals);
    assert_true(reals[0] == 0x1p64 && reals[1] == 0x1p63);
}

static void casts_truncate_and_saturate(void **state) {
    (void)state;
    double x[] = {2.9, -2.9, 1e30, -1e30, NAN, 0.25, 2147483647.5, -0.0};
    int64_t wide[8];
    uint8_t truth[8];
    run_op(KILN__OP_CAST, KILN_F64, KILN__I32, KILN_I64, 1, (void *const[3]){x}, 8, wide);
    assert_memory_equal(wide, ((int64_t[]){2, -2, INT32_MAX, INT32_MIN, 0, 0, INT32_MAX, 0}), sizeof wide);
    run_op(KILN__OP_CAST, KILN_F64, KILN__I64, KILN_I64, 1, (void *const[3]){x}, 8, wide);
    assert_memory_equal(wide, ((int64_t[]){2, -2, HIGH64, LOW64, 0, 0, 2147483647, 0}), sizeof wide);
    run_op(KILN__OP_CAST, KILN_F64, KILN__BOOL, KILN_BOOL, 1, (void *const[3]){x}, 8, truth);
    assert_memory_equal(truth, ((uint8_t[]){1, 1, 1, 1, 1, 1, 1, 0}), sizeof truth);
    int64_t ints[] = {HIGH64, -5, 0, LOW64};
    double reals[4];
    run_op(KILN__OP_CAST, KILN_I64, KILN__I32, KILN_I64, 1, (void *const[3]){ints}, 4, wide);
    assert_memory_equal(wide, ((int64_t[]){INT32_MAX, -5, 0, INT32_MIN}), 4 * sizeof *wide);
    run_op(KILN__OP_CAST, KILN_I64, KILN__BOOL, KILN_BOOL, 1, (void *const[3]){ints}, 4, truth);
    assert_memory_equal(truth, ((uint8_t[]){1, 1, 0, 1}), 4);
    run_op(KILN__OP_CAST, KILN_I64, KILN__F64, KILN_F64, 1, (void *const[3]){ints}, 4, reals);
    assert_true(reals[0] == 0x1p63 && reals[1] == -5 && reals[3] == -0x1p63);
}

static void values_round_through_storage_types(void **state) {
    (void)state;
    static const struct {
        kiln_type storage;
        double x, expected;
    } cases[] = {{KILN_F16, 1 + 0x1p-11, 1},    {KILN_BF16, 1.01, 0x1.02p0}, {KILN_E4M3, 1000, 448},
                 {KILN_F32, 0.1, (double)0.1f}, {KILN_I8, 2.5, 2},           {KILN_U8, -3, 0},
                 {KILN_F16, 1e6, INFINITY}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        hand_ir program;
        hand_ir_start(&program);
        hand_output(&program, KILN_F64,
                    hand_round_to(&program, cases[i].storage, hand_input(&program, KILN_F64, true)));
        double x = cases[i].x, out;
        int64_t n = 1;
        kiln_tensor tensors[] = {kiln_tensor_contiguous(&x, KILN_F64, 1, &n),
                                 kiln_tensor_contiguous(&out, KILN_F64, 1, &n)};
        assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 1, &n, last_axis), KILN_OK);
        assert_true(out == cases[i].expected);
    }
    hand_ir program;
    hand_ir_start(&program);
    hand_output(&program, KILN_I32, hand_round_to(&program, KILN_I8, hand_input(&program, KILN_I32, true)));
    int32_t ints[] = {300, -300, 77}, out[3];
    int64_t n = 3;
    kiln_tensor tensors[] = {kiln_tensor_contiguous(ints, KILN_I32, 1, &n),
                             kiln_tensor_contiguous(out, KILN_I32, 1, &n)};
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 1, &n, last_axis), KILN_OK);
    assert_memory_equal(out, ((int32_t[]){127, -128, 77}), sizeof out);
}

static void outputs_are_converted_to_their_type(void **state) {
    (void)state;
    double x[] = {2.5, -1e9, NAN, 3.5};
    int8_t small[4];
    uint16_t half[4];
    run_op(KILN__OP_ABS, KILN_F64, KILN__F64, KILN_I8, 1, (void *const[3]){x}, 4, small);
    assert_memory_equal(small, ((int8_t[]){2, 127, 0, 4}), sizeof small);
    run_op(KILN__OP_NEG, KILN_F64, KILN__F64, KILN_F16, 1, (void *const[3]){x}, 2, half);
    assert_int_equal(half[0], 0xC100);
    assert_int_equal(half[1], 0x7C00);
}

static void philox_gives_the_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } cases[] = {
        /* Random123's known-answer file, philox4x32 10 */
        {{0, 0, 0, 0}, {0, 0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
        {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
         {0xA4093822, 0x299F31D0},
         {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}},
    };
    uint32_t counter[4];
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__ref_philox(memcpy(counter, cases[i].counter, sizeof counter), cases[i].key);
        assert_memory_equal(counter, cases[i].expected, sizeof counter);
    }
    kiln__ref_philox(memcpy(counter, (uint32_t[4]){0xC90FDAA2, 0x2168C234, 0x13198A2E, 0x03707344}, 16), cases[2].key);
    for (int i = 0; i < 4; i++) { /* of neighbours */
        assert_true(kiln__ref_uniform(0, 0, i) == (cases[0].expected[i] >> 8) * 0x1p-24);
        assert_true(kiln__ref_uniform(0x299F31D0A4093822, 0x0370734413198A2E, (int64_t)0x85A308D3243F6A88 + i) ==
                    (counter[i] >> 8) * 0x1p-24);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_functions_are_the_c_librarys),
        cmocka_unit_test(both_zeros_have_the_sign_0),
        cmocka_unit_test(the_normal_distribution_is_good_to_the_last_places),
        cmocka_unit_test(float_operators_of_two_arguments),
        cmocka_unit_test(remainders_take_the_divisors_sign),
        cmocka_unit_test(fma_rounds_once),
        cmocka_unit_test(f32_programs_compute_in_double),
        cmocka_unit_test(erfinv_is_good_to_the_last_places),
        cmocka_unit_test(sigmoid_neither_overflows_nor_cancels),
        cmocka_unit_test(floats_are_compared_and_tested),
        cmocka_unit_test(logic_and_selection),
        cmocka_unit_test(integers_are_exact_and_wrap),
        cmocka_unit_test(unsigned_integers_are_exact_and_wrap),
        cmocka_unit_test(casts_from_and_to_unsigned_saturate),
        cmocka_unit_test(casts_truncate_and_saturate),
        cmocka_unit_test(values_round_through_storage_types),
        cmocka_unit_test(outputs_are_converted_to_their_type),
        cmocka_unit_test(philox_gives_the_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

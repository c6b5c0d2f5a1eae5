/* SPDX-License-Identifier: Apache-2.0 */
/* The prelude's quantisers in blocks, on the CPU reference: against scales that are counted in exponents and numbers
 * that are looked for among all that the type has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = 4, COLS = 96, BLOCK = 32, BLOCKS = COLS / BLOCK, FP4_BLOCK = 16 };

static float x[ROWS * COLS];
static double scales[ROWS * COLS / FP4_BLOCK], numbers[ROWS * COLS];

/* Of blocks far apart; one of zeros, one with the largest number of e4m3, one of subnormal numbers, one with a NaN. */
static void fill(void) {
    uint32_t state = 7;
    for (int i = 0; i < ROWS * COLS; i++) {
        state = state * 1664525u + 1013904223u;
        const int block = i / BLOCK, exponent = block * 17 % 60 - 30;
        x[i] = (float)ldexp((double)(state >> 8) / (1 << 23) - 1, exponent - (int)(state >> 4 & 7));
    }
    for (int i = 0; i < BLOCK; i++) {
        x[2 * BLOCK + i] = 0;
        x[5 * BLOCK + i] = (float)(i * 0x1p-149);
        x[6 * BLOCK + i] = i == 3 ? -448 : (float)i;
        x[7 * BLOCK + i] = i == 9 ? 511 : (float)-i;
        x[8 * BLOCK + i] = i == 20 ? 512 : 0.375f * (float)i;
    }
    x[10 * BLOCK + 5] = NAN;
}

static double largest_in(int block, int columns) {
    double most = 0;
    for (int i = 0; i < columns; i++) {
        const double value = fabs((double)x[block * columns + i]);
        if (isnan(value)) return NAN;
        most = value > most ? value : most;
    }
    return most;
}

static double largest_of(int block) { return largest_in(block, BLOCK); }

/* ---- types, as their specification has them ---- */

/* The numbers of 1 sign, so many bits of exponent and mantissa, up to the largest: how many they are, and each. */
typedef struct format {
    int exponent_bits, mantissa_bits;
    double largest;
    int largest_exponent;
} format;

static const format e4m3 = {4, 3, 448, 8}, e5m2 = {5, 2, 57344, 15}, e2m1 = {2, 1, 6, 2};

static double number(const format *f, int code) {
    const int exponent = code >> f->mantissa_bits, mantissa = code & ((1 << f->mantissa_bits) - 1);
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    return exponent == 0 ? ldexp(mantissa, 1 - bias - f->mantissa_bits)
                         : ldexp(mantissa + (1 << f->mantissa_bits), exponent - bias - f->mantissa_bits);
}

/* The nearest; of two the one with an even code; the largest beyond it. e2m1 has no NaN. */
static double rounded(const format *f, double value) {
    double best = 0;
    if (isnan(value)) return f == &e2m1 ? 6 : NAN;
    for (int code = 1; code < 128 && number(f, code) <= f->largest; code++) {
        const double candidate = number(f, code), off = fabs(fabs(value) - candidate),
                     before = fabs(fabs(value) - best);
        if (off < before || (off == before && code % 2 == 0)) best = candidate;
    }
    return copysign(best, value);
}

static double rounded_i8(double value) { return isnan(value) ? 0 : fmax(-128, fmin(127, nearbyint(value))); }

static double power_within(int exponent) { return ldexp(1, exponent < -127 ? -127 : exponent > 127 ? 127 : exponent); }

/* 2^(floor(log2(largest)) - emax) */
static double scale_down(const format *f, double largest) {
    if (isnan(largest)) return NAN;
    return largest == 0 ? 0x1p-127 : power_within(ilogb(largest) - f->largest_exponent);
}

/* The least power of two with which nothing is beyond the type's largest number. */
static double scale_up(const format *f, double largest) {
    if (isnan(largest)) return NAN;
    int exponent = -127;
    while (largest > ldexp(f->largest, exponent)) exponent++;
    return ldexp(1, exponent);
}

/* ---- the comparison ---- */

static void run(const char *program, const char *tensors) {
    bound b;
    fill();
    if (bound_create_outputs(&b, program, "s, q", NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    b.tensors[0].data = x;
    b.tensors[1].data = scales;
    b.tensors[2].data = numbers;
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    bound_destroy(&b);
}

static void same(const char *what, int at, double got, double wanted) {
    const bool good = isnan(wanted) ? isnan(got) : fabs(got - wanted) <= 1e-15 * fabs(wanted);
    if (!good) fail_msg("%s, %d: %.17g, expected %.17g", what, at, got, wanted);
}

static void scales_and_numbers_of_mx_follow_its_rules(void **state) {
    (void)state;
    static const struct {
        const char *program;
        const format *format;
        double (*scale)(const format *f, double largest);
    } cases[] = {
        {"s = scale_mx_e4m3(x); q = quantize_mx_e4m3(x)", &e4m3, scale_down},
        {"s = scale_mx_e4m3_up(x); q = quantize_mx_e4m3_up(x)", &e4m3, scale_up},
        {"s = scale_mx_e5m2(x); q = quantize_mx_e5m2(x)", &e5m2, scale_down},
        {"s = scale_mx_e5m2_up(x); q = quantize_mx_e5m2_up(x)", &e5m2, scale_up},
        {"s = scale_mx_e2m1(x); q = quantize_mx_e2m1(x)", &e2m1, scale_down},
        {"s = scale_mx_e2m1_up(x); q = quantize_mx_e2m1_up(x)", &e2m1, scale_up},
        {"s = scale_mx_e4m3(x, block = 8); q = quantize_mx_e4m3(x)", &e4m3, scale_down}, /* a block of its own */
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        run(cases[c].program, "f32[4,96] f64[4,3] f64[4,96]");
        for (int i = 0; i < ROWS * COLS; i++) {
            const double scale = cases[c].scale(cases[c].format, largest_of(i / BLOCK));
            same(cases[c].program, i / BLOCK, scales[i / BLOCK], scale);
            same(cases[c].program, i, numbers[i], rounded(cases[c].format, (double)x[i] / scale));
        }
    }
}

static double round_as(int which, double value) {
    return which == 0 ? rounded_i8(value) : rounded(which == 1 ? &e4m3 : &e5m2, value);
}

static void scales_and_numbers_of_blocks_follow_their_formulas(void **state) {
    (void)state;
    static const char *const programs[] = {
        "s = scale_i8(x, block = 32); q = quantize_i8(x, block = 32)",
        "s = scale_e4m3(x, block = 32); q = quantize_e4m3(x, block = 32)",
        "s = scale_e5m2(x, block = 32); q = quantize_e5m2(x, block = 32)",
    };
    static const double largest[] = {127, 448, 57344};
    for (int c = 0; c < 3; c++) {
        run(programs[c], "f32[4,96] f64[4,3] f64[4,96]");
        for (int i = 0; i < ROWS * COLS; i++) {
            const double scale = largest_of(i / BLOCK) / largest[c];
            same(programs[c], i / BLOCK, scales[i / BLOCK], scale);
            same(programs[c], i, numbers[i], scale == 0 ? 0 : round_as(c, (double)x[i] / scale));
        }
    }
}

/* The two levels of NVFP4: some blocks are beyond the scales' range and some below it, with a t of 2^-10. */
static void scales_and_numbers_of_nvfp4_follow_their_formulas(void **state) {
    (void)state;
    static const char program[] = "s = scale_nvfp4(x, 0.0009765625); q = quantize_nvfp4(x, 0.0009765625)";
    int zeros = 0, largest = 0;
    run(program, "f32[4,96] f64[4,6] f64[4,96]");
    for (int i = 0; i < ROWS * COLS; i++) {
        const double scale = rounded(&e4m3, largest_in(i / FP4_BLOCK, FP4_BLOCK) / 6 * 0x1p+10);
        same(program, i / FP4_BLOCK, scales[i / FP4_BLOCK], scale);
        same(program, i, numbers[i], scale == 0 ? 0 : rounded(&e2m1, (double)x[i] / scale * 0x1p+10));
        zeros += scale == 0;
        largest += scale >= 448;
    }
    assert_true(zeros > 0 && largest > 0 && zeros + largest < ROWS * COLS);
}

/* Of rows, and beside what rows have. */
static void the_scale_of_a_tensor_is_one_number(void **state) {
    (void)state;
    static const struct {
        const char *text, *outputs, *tensors;
        int at; /* of its tensor */
    } cases[] = {{"t = scale_nvfp4_tensor(x)", "t", "f32[4,96] f64[]", 1},
                 {"m = max(x); t = scale_nvfp4_tensor(x)", "m, t", "f32[4,96] f64[4] f64[]", 2}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        bound b;
        double largest[ROWS], t = 0;
        fill();
        x[10 * BLOCK + 5] = 0;
        if (bound_create_outputs(&b, cases[c].text, cases[c].outputs, NULL, NULL, cases[c].tensors))
            fail_msg("%s: %s", cases[c].text, kiln_last_error());
        b.tensors[0].data = x;
        b.tensors[1].data = largest;
        b.tensors[cases[c].at].data = &t;
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_OK);
        bound_destroy(&b);
        same(cases[c].text, 0, t, largest_in(0, ROWS * COLS) / 2688);
    }
}

/* Bytes as they are stored; 0 and NaN of e8m0 are the bytes 0 and 255. */
static void mx_is_stored_as_bytes(void **state) {
    (void)state;
    run("s = scale_mx_e4m3(x); q = quantize_mx_e4m3(x)", "f32[4,96] e8m0[4,3] e4m3[4,96]");
    const unsigned char *stored = (const unsigned char *)scales, *codes = (const unsigned char *)numbers;
    for (int block = 0; block < ROWS * BLOCKS; block++) {
        const double scale = scale_down(&e4m3, largest_of(block));
        assert_int_equal(stored[block], isnan(scale) ? 255 : ilogb(scale) + 127);
    }
    for (int i = 0; i < ROWS * COLS; i++) {
        const double value = number(&e4m3, codes[i] & 127), wanted = scale_down(&e4m3, largest_of(i / BLOCK));
        if (isnan(wanted))
            assert_int_equal(codes[i] & 127, 127);
        else
            same("bytes", i, codes[i] & 128 ? -value : value, rounded(&e4m3, (double)x[i] / wanted));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_and_numbers_of_mx_follow_its_rules),
        cmocka_unit_test(scales_and_numbers_of_blocks_follow_their_formulas),
        cmocka_unit_test(scales_and_numbers_of_nvfp4_follow_their_formulas),
        cmocka_unit_test(the_scale_of_a_tensor_is_one_number),
        cmocka_unit_test(mx_is_stored_as_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reference over whole tensors: reductions, phases, broadcasting, strides, in place, empty rows.
 * Programs are made by hand, so that a fault of the parser cannot hide one of the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/hand_ir.h"
#include "ref/ref.h"
#include "ref/special.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN(program, tensors, sizes, reduced) \
    assert_int_equal(kiln__ref_run(&(program).ir, tensors, NULL, NULL, (int)COUNT(sizes), sizes, reduced), KILN_OK)

static kiln_tensor vector(void *data, kiln_type type, int64_t n) { return kiln_tensor_contiguous(data, type, 1, &n); }
static kiln_tensor matrix(void *data, kiln_type type, int64_t rows, int64_t cols) {
    return kiln_tensor_contiguous(data, type, 2, (int64_t[]){rows, cols});
}

static const bool last_of_2[] = {false, true}, first_of_2[] = {true, false}, all_of_1[] = {true},
                  none_of_2[] = {false, false};

/* One reduction of n values; the result as a double or an integer. */
static void reduce(kiln__op op, kiln_type in, kiln__ctype type, const void *x, int64_t n, kiln_type out_type,
                   void *out) {
    hand_ir program;
    hand_ir_start(&program);
    hand_output(&program, out_type, hand_reduce(&program, op, type, hand_input(&program, in, n > 1)));
    kiln_tensor tensors[] = {vector((void *)(uintptr_t)x, in, n), vector(out, out_type, 1)};
    int64_t sizes[] = {n};
    RUN(program, tensors, sizes, all_of_1);
}

static void reductions_of_floats(void **state) {
    (void)state;
    static const double plain[] = {3, -1, 4, -1.5, 5}, with_nan[] = {1, NAN, 3}, infinite[] = {INFINITY, 1, -2},
                        both[] = {INFINITY, -INFINITY, 0};
    static const struct {
        kiln__op op;
        const double *x;
        int64_t n;
        double expected;
    } cases[] = {
        {KILN__OP_REDUCE_SUM, plain, 5, 9.5},         {KILN__OP_REDUCE_PROD, plain, 5, 90},
        {KILN__OP_REDUCE_MAX, plain, 5, 5},           {KILN__OP_REDUCE_MIN, plain, 5, -1.5},
        {KILN__OP_REDUCE_SUM, with_nan, 3, NAN},      {KILN__OP_REDUCE_PROD, with_nan, 3, NAN},
        {KILN__OP_REDUCE_MAX, with_nan, 3, NAN},      {KILN__OP_REDUCE_MIN, with_nan, 3, NAN},
        {KILN__OP_REDUCE_SUM, infinite, 3, INFINITY}, {KILN__OP_REDUCE_PROD, infinite, 3, -INFINITY},
        {KILN__OP_REDUCE_SUM, both, 3, NAN},          {KILN__OP_REDUCE_PROD, both, 3, NAN},
        {KILN__OP_REDUCE_MAX, both, 3, INFINITY},     {KILN__OP_REDUCE_MIN, both, 3, -INFINITY},
        {KILN__OP_REDUCE_MAX, plain, 1, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double out = 77;
        reduce(cases[i].op, KILN_F64, KILN__F64, cases[i].x, cases[i].n, KILN_F64, &out);
        assert_true(isnan(cases[i].expected) ? isnan(out) : out == cases[i].expected);
    }
}

static void reductions_of_integers_and_bools(void **state) {
    (void)state;
    static const int64_t x[] = {INT64_MAX, 1, -5};
    static const int32_t y[] = {-7, INT32_MIN, 9};
    static const uint8_t none[] = {0, 0, 0}, some[] = {0, 1, 0}, every[] = {1, 1, 1};
    int64_t out;
    reduce(KILN__OP_REDUCE_SUM, KILN_I64, KILN__I64, x, 3, KILN_I64, &out);
    assert_true(out == INT64_MAX - 4);
    reduce(KILN__OP_REDUCE_SUM, KILN_I64, KILN__I64, x, 2, KILN_I64, &out);
    assert_true(out == INT64_MIN);
    reduce(KILN__OP_REDUCE_PROD, KILN_I64, KILN__I64, x, 3, KILN_I64, &out);
    assert_true(out == (int64_t)(0 - (uint64_t)INT64_MAX * 5));
    reduce(KILN__OP_REDUCE_MAX, KILN_I64, KILN__I64, x + 1, 2, KILN_I64, &out);
    assert_true(out == 1);
    static const uint64_t u[] = {UINT64_C(1) << 63, 3, UINT64_MAX, 0};
    uint64_t large;
    reduce(KILN__OP_REDUCE_MAX, KILN_U64, KILN__U64, u, 4, KILN_U64, &large);
    assert_true(large == UINT64_MAX);
    reduce(KILN__OP_REDUCE_MIN, KILN_U64, KILN__U64, u, 3, KILN_U64, &large);
    assert_true(large == 3);
    reduce(KILN__OP_REDUCE_SUM, KILN_U64, KILN__U64, u, 3, KILN_U64, &large);
    assert_true(large == (UINT64_C(1) << 63) + 2);
    reduce(KILN__OP_REDUCE_ARGMAX, KILN_U64, KILN__I64, u, 4, KILN_I64, &out);
    assert_true(out == 2);
    reduce(KILN__OP_REDUCE_ARGMIN, KILN_U64, KILN__I64, u, 4, KILN_I64, &out);
    assert_true(out == 3);
    reduce(KILN__OP_REDUCE_MIN, KILN_I32, KILN__I32, y, 3, KILN_I64, &out);
    assert_true(out == INT32_MIN);
    reduce(KILN__OP_REDUCE_MAX, KILN_I32, KILN__I32, y, 2, KILN_I64, &out);
    assert_true(out == -7);
    static const struct {
        const uint8_t *x;
        int any, all;
    } cases[] = {{none, 0, 0}, {some, 1, 0}, {every, 1, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t truth;
        reduce(KILN__OP_REDUCE_ANY, KILN_BOOL, KILN__BOOL, cases[i].x, 3, KILN_BOOL, &truth);
        assert_int_equal(truth, cases[i].any);
        reduce(KILN__OP_REDUCE_ALL, KILN_BOOL, KILN__BOOL, cases[i].x, 3, KILN_BOOL, &truth);
        assert_int_equal(truth, cases[i].all);
    }
}

static void long_sums_and_products_keep_a_doubles_precision(void **state) {
    (void)state;
    enum { N = 300001 };
    double *x = malloc(N * sizeof *x), out;
    assert_non_null(x);
    for (int i = 0; i < N; i++) x[i] = 0.1;
    reduce(KILN__OP_REDUCE_SUM, KILN_F64, KILN__F64, x, N, KILN_F64, &out);
    assert_true(out == N * 0.1); /* which rounds once */
    for (int i = 0; i + 1 < N; i += 2) {
        x[i] = 1e17;
        x[i + 1] = -1e17;
    }
    x[N - 1] = 0.125;
    x[2] += 32;
    reduce(KILN__OP_REDUCE_SUM, KILN_F64, KILN__F64, x, N, KILN_F64, &out);
    assert_true(out == 32.125);
    for (int i = 0; i < N; i++) x[i] = i % 2 == 0 ? 3.0 : 1.0 / 3.0;
    reduce(KILN__OP_REDUCE_PROD, KILN_F64, KILN__F64, x, N, KILN_F64, &out);
    /* 3 * fl(1/3) = 1 - 2^-54, 150000 times */
    assert_true(fabs(out - 3 * exp(150000 * log1p(-0x1p-54))) < 1e-15);
    free(x);
}

static void user_reductions_combine_in_column_order(void **state) {
    (void)state;
    enum { N = 1000 };
    int64_t ints[N], expected = 7;
    double reals[N], real_expected = 7;
    for (int i = 0; i < N; i++) {
        ints[i] = i * 13 % 29 - 14;
        expected = (int64_t)((uint64_t)expected * 3 + (uint64_t)ints[i]);
        reals[i] = i < 20 ? (double)ints[i] : 0;
    }
    for (int i = 0; i < 20; i++) real_expected = real_expected * 3 + reals[i];
    hand_ir program;
    hand_ir_start(&program);
    uint32_t x = hand_input(&program, KILN_I64, true), y = hand_input(&program, KILN_F64, true);
    hand_output(&program, KILN_I64, hand_reduce_scaled(&program, KILN__OP_ADD, KILN__I64, 3, x, 7));
    hand_output(&program, KILN_F64, hand_reduce_scaled(&program, KILN__OP_ADD, KILN__F64, 3, y, 7));
    int64_t out, sizes[] = {N}, short_sizes[] = {20};
    double real_out;
    kiln_tensor tensors[] = {vector(ints, KILN_I64, N), vector(reals, KILN_F64, N), vector(&out, KILN_I64, 1),
                             vector(&real_out, KILN_F64, 1)};
    RUN(program, tensors, sizes, all_of_1);
    assert_true(out == expected);
    tensors[0].sizes[0] = tensors[1].sizes[0] = 20;
    RUN(program, tensors, short_sizes, all_of_1);
    assert_true(real_out == real_expected);
}

/* y = exp(x - max(x)) / sum(exp(x - max(x))) */
static void softmax(hand_ir *program, kiln_type type) {
    hand_ir_start(program);
    uint32_t x = hand_input(program, type, true);
    uint32_t m = hand_reduce(program, KILN__OP_REDUCE_MAX, KILN__F64, x);
    uint32_t e = hand_unary(program, KILN__OP_EXP, KILN__F64, hand_binary(program, KILN__OP_SUB, KILN__F64, x, m));
    uint32_t s = hand_reduce(program, KILN__OP_REDUCE_SUM, KILN__F64, e);
    hand_output(program, type, hand_binary(program, KILN__OP_DIV, KILN__F64, e, s));
}

static void phases_follow_each_other_on_any_row_length(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 2, 31, 255, 256, 257, 1000};
    hand_ir program;
    softmax(&program, KILN_F64);
    double x[3000], y[3000];
    for (size_t c = 0; c < COUNT(lengths); c++) {
        int64_t n = lengths[c], sizes[] = {3, n};
        for (int64_t i = 0; i < 3 * n; i++) x[i] = (double)(i * 37 % 101) / 10 - 700.0 * (double)(i / n);
        kiln_tensor tensors[] = {matrix(x, KILN_F64, 3, n), matrix(y, KILN_F64, 3, n)};
        RUN(program, tensors, sizes, last_of_2);
        for (int64_t r = 0; r < 3; r++) {
            double m = -INFINITY, s = 0;
            for (int64_t i = 0; i < n; i++) m = fmax(m, x[r * n + i]);
            for (int64_t i = 0; i < n; i++) s += exp(x[r * n + i] - m);
            for (int64_t i = 0; i < n; i++) assert_true(fabs(y[r * n + i] - exp(x[r * n + i] - m) / s) <= 1e-15);
        }
        kiln_tensor in_place[] = {tensors[0], tensors[0]};
        RUN(program, in_place, sizes, last_of_2);
        assert_memory_equal(x, y, (size_t)(3 * n) * sizeof *x);
    }
}

static void any_axes_are_reduced(void **state) {
    (void)state;
    enum { A = 3, B = 4, C = 5 };
    double x[A * B * C], out[A * B * C];
    for (int i = 0; i < A * B * C; i++) x[i] = i * i % 17;
    hand_ir program;
    hand_ir_start(&program);
    hand_output(&program, KILN_F64,
                hand_reduce_scaled(&program, KILN__OP_ADD, KILN__F64, 2, hand_input(&program, KILN_F64, true), 0));
    int64_t sizes[] = {A, B, C};
    for (int mask = 0; mask < 8; mask++)
        for (int keep = 0; keep < 2; keep++) {
            bool reduced[3];
            kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F64, 3, sizes)};
            int64_t kept[3];
            int rank = 0;
            for (int axis = 0; axis < 3; axis++) {
                reduced[axis] = (mask >> axis & 1) != 0;
                if (!reduced[axis] || keep) kept[rank++] = reduced[axis] ? 1 : sizes[axis];
            }
            tensors[1] = kiln_tensor_contiguous(out, KILN_F64, rank, kept);
            RUN(program, tensors, sizes, reduced);
            double expected[A * B * C] = {0};
            const int in_a = !reduced[0], in_b = !reduced[1], in_c = !reduced[2]; /* axes of the output */
            const int size_b = reduced[1] ? 1 : B, size_c = reduced[2] ? 1 : C;
            for (int a = 0; a < A; a++) /* in row-major order, which is the columns' order within each row */
                for (int b = 0; b < B; b++)
                    for (int c = 0; c < C; c++) {
                        int at = (in_a * a * size_b + in_b * b) * size_c + in_c * c;
                        expected[at] = expected[at] * 2 + x[(a * B + b) * C + c];
                    }
            int count = (reduced[0] ? 1 : A) * size_b * size_c;
            assert_memory_equal(out, expected, (size_t)count * sizeof *out);
        }
}

static void inputs_broadcast(void **state) {
    (void)state;
    double full[6] = {1, 2, 3, 4, 5, 6}, row[3] = {10, 20, 30}, col[2] = {100, 200}, one = 1000, y[6], s[2];
    hand_ir program;
    hand_ir_start(&program);
    uint32_t a = hand_input(&program, KILN_F64, true), b = hand_input(&program, KILN_F64, true);
    uint32_t c = hand_input(&program, KILN_F64, false), d = hand_input(&program, KILN_F64, false);
    uint32_t cd = hand_binary(&program, KILN__OP_ADD, KILN__F64, c, d);
    uint32_t sum =
        hand_binary(&program, KILN__OP_ADD, KILN__F64, hand_binary(&program, KILN__OP_ADD, KILN__F64, a, b), cd);
    hand_output(&program, KILN_F64, sum);
    kiln_tensor tensors[] = {matrix(full, KILN_F64, 2, 3), vector(row, KILN_F64, 3),
                             matrix(col, KILN_F64, 2, 1),  kiln_tensor_contiguous(&one, KILN_F64, 0, NULL),
                             matrix(y, KILN_F64, 2, 3),    vector(s, KILN_F64, 2)};
    int64_t sizes[] = {2, 3};
    static const double expected[] = {1111, 1122, 1133, 1214, 1225, 1236};
    RUN(program, tensors, sizes, last_of_2);
    assert_memory_equal(y, expected, sizeof y);
    memset(y, 0, sizeof y);
    RUN(program, tensors, sizes, none_of_2);
    assert_memory_equal(y, expected, sizeof y);
    /* A sum over what does not vary along the row counts it once for each column. */
    hand_output(&program, KILN_F64, hand_reduce(&program, KILN__OP_REDUCE_SUM, KILN__F64, cd));
    RUN(program, tensors, sizes, last_of_2);
    assert_true(s[0] == 3300 && s[1] == 3600);
    assert_memory_equal(y, expected, sizeof y);
}

static void strides_are_followed(void **state) {
    (void)state;
    double x[12], y[12];
    for (int i = 0; i < 12; i++) x[i] = i;
    hand_ir program;
    hand_ir_start(&program);
    uint32_t in = hand_input(&program, KILN_F64, true);
    hand_output(
        &program, KILN_F64,
        hand_binary(&program, KILN__OP_SUB, KILN__F64, in, hand_reduce(&program, KILN__OP_REDUCE_MIN, KILN__F64, in)));
    int64_t sizes[] = {2, 3};
    /* x reversed along both axes with gaps; y column-major */
    kiln_tensor tensors[] = {{x + 11, KILN_F64, 2, {2, 3}, {-6, -2}}, {y, KILN_F64, 2, {2, 3}, {1, 2}}};
    RUN(program, tensors, sizes, last_of_2);
    assert_memory_equal(y, ((double[]){4, 4, 2, 2, 0, 0}), 6 * sizeof *y);
    /* x[i][j] = i + j, by overlapping rows */
    tensors[0] = (kiln_tensor){x, KILN_F64, 2, {2, 3}, {1, 1}};
    tensors[1] = matrix(y, KILN_F64, 2, 3);
    RUN(program, tensors, sizes, first_of_2);
    assert_memory_equal(y, ((double[]){0, 0, 0, 1, 1, 1}), 6 * sizeof *y);
}

static void outputs_may_be_inputs(void **state) {
    (void)state;
    double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[3] = {1, 10, 100};
    int64_t sizes[] = {3, 3};
    hand_ir program;
    hand_ir_start(&program);
    uint32_t a = hand_input(&program, KILN_F64, true), b = hand_input(&program, KILN_F64, true);
    uint32_t product = hand_binary(&program, KILN__OP_MUL, KILN__F64, a, b);
    hand_output(&program, KILN_F64, hand_reduce(&program, KILN__OP_REDUCE_SUM, KILN__F64, product));
    /* The weights lie along columns, the sums along rows, in the same memory: all weights are read first. */
    kiln_tensor tensors[] = {matrix(x, KILN_F64, 3, 3), vector(w, KILN_F64, 3), vector(w, KILN_F64, 3)};
    RUN(program, tensors, sizes, last_of_2);
    assert_memory_equal(w, ((double[]){321, 654, 987}), sizeof w);
    /* Transposed: y[i][j] = x[j][i] * 1 in x's own memory. */
    double ones[3] = {1, 1, 1};
    hand_ir_start(&program);
    a = hand_input(&program, KILN_F64, true);
    b = hand_input(&program, KILN_F64, true);
    hand_output(&program, KILN_F64, hand_binary(&program, KILN__OP_MUL, KILN__F64, a, b));
    kiln_tensor transposed[] = {{x, KILN_F64, 2, {3, 3}, {1, 3}}, vector(ones, KILN_F64, 3), matrix(x, KILN_F64, 3, 3)};
    RUN(program, transposed, sizes, last_of_2);
    assert_memory_equal(x, ((double[]){1, 4, 7, 2, 5, 8, 3, 6, 9}), sizeof x);
}

static void two_outputs_may_each_be_an_input(void **state) {
    (void)state;
    enum { N = 700 };
    double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = -2 * i;
    }
    hand_ir program;
    hand_ir_start(&program);
    uint32_t a = hand_input(&program, KILN_F64, true), b = hand_input(&program, KILN_F64, true);
    hand_output(&program, KILN_F64, b);
    hand_output(&program, KILN_F64, a);
    kiln_tensor tensors[] = {vector(x, KILN_F64, N), vector(y, KILN_F64, N), vector(x, KILN_F64, N),
                             vector(y, KILN_F64, N)};
    int64_t sizes[] = {N};
    RUN(program, tensors, sizes, all_of_1);
    for (int i = 0; i < N; i++) assert_true(x[i] == -2 * i && y[i] == i);
}

static void positions_sizes_counts_and_scalars(void **state) {
    (void)state;
    enum { A = 2, B = 3, C = 200 };
    static int64_t i0[A * B * C], i2[A * B * C];
    static double chance[A * B * C];
    int64_t extent[A], sizes[] = {A, B, C};
    double count[A];
    static const bool reduced[] = {false, true, true};
    hand_ir program;
    hand_ir_start(&program);
    uint32_t x = hand_input(&program, KILN_F32, true);
    uint32_t along0 = hand_index(&program, 0, false), along2 = hand_index(&program, 2, true);
    uint32_t zero =
        hand_unary(&program, KILN__OP_CAST, KILN__I64, hand_binary(&program, KILN__OP_SUB, KILN__F32, x, x));
    hand_output(&program, KILN_I64, hand_binary(&program, KILN__OP_ADD, KILN__I64, along0, zero));
    hand_output(&program, KILN_I64, along2);
    hand_output(&program, KILN_F64, hand_uniform(&program, hand_scalar(&program, KILN__I64), along0));
    hand_output(&program, KILN_I64,
                hand_binary(&program, KILN__OP_MUL, KILN__I64, hand_size(&program, 1), hand_size(&program, 2)));
    hand_output(&program, KILN_F64,
                hand_binary(&program, KILN__OP_ADD, KILN__F64, hand_count(&program), hand_scalar(&program, KILN__F64)));
    static float ones[A * B * C];
    const int64_t kept[] = {A, 1, 1};
    kiln_tensor tensors[] = {
        kiln_tensor_contiguous(ones, KILN_F32, 3, sizes),  kiln_tensor_contiguous(i0, KILN_I64, 3, sizes),
        kiln_tensor_contiguous(i2, KILN_I64, 3, sizes),    kiln_tensor_contiguous(chance, KILN_F64, 3, sizes),
        kiln_tensor_contiguous(extent, KILN_I64, 3, kept), kiln_tensor_contiguous(count, KILN_F64, 1, kept)};
    const kiln_scalar scalars[] = {kiln_scalar_i64(-42), kiln_scalar_f64(0.5)};
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, scalars, 3, sizes, reduced), KILN_OK);
    double mean = 0;
    for (int i = 0; i < A * B * C; i++) {
        assert_int_equal(i0[i], i / (B * C));
        assert_int_equal(i2[i], i % C);
        assert_true(chance[i] == kiln__ref_uniform(-42, i / (B * C), i));
        mean += chance[i] / (A * B * C);
    }
    assert_true(mean > 0.45 && mean < 0.55);
    for (int a = 0; a < A; a++) assert_true(extent[a] == B * C && count[a] == B * C + 0.5);
}

static void empty_rows_give_identities(void **state) {
    (void)state;
    hand_ir program;
    hand_ir_start(&program);
    uint32_t x = hand_input(&program, KILN_F64, false), i = hand_index(&program, 0, false);
    uint32_t yes = hand_binary(&program, KILN__OP_GT, KILN__BOOL, x, x);
    hand_output(&program, KILN_F64, hand_reduce(&program, KILN__OP_REDUCE_SUM, KILN__F64, x));
    hand_output(&program, KILN_F64, hand_reduce(&program, KILN__OP_REDUCE_PROD, KILN__F64, x));
    hand_output(&program, KILN_BOOL, hand_reduce(&program, KILN__OP_REDUCE_ANY, KILN__BOOL, yes));
    hand_output(&program, KILN_BOOL, hand_reduce(&program, KILN__OP_REDUCE_ALL, KILN__BOOL, yes));
    hand_output(&program, KILN_F64, hand_reduce_scaled(&program, KILN__OP_ADD, KILN__F64, 2, x, -3));
    hand_output(&program, KILN_I64, i);
    hand_output(&program, KILN_F64, hand_binary(&program, KILN__OP_MUL, KILN__F64, x, x));
    double sum[2] = {9, 9}, product[2] = {9, 9}, user[2] = {9, 9};
    uint8_t any[2] = {9, 9}, all[2] = {9, 9};
    int64_t index[2] = {9, 9};
    static const bool reduced[] = {false, true, true};
    static const int64_t shapes[][3] = {{2, 0, 1}, {2, 3, 0}, {2, 0, 5}, {2, 0, 0}};
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const int64_t *sizes = shapes[s], rows[] = {2}, kept[] = {2, 1, 1};
        kiln_tensor tensors[] = {
            kiln_tensor_contiguous(NULL, KILN_F64, 3, sizes),   kiln_tensor_contiguous(sum, KILN_F64, 3, kept),
            kiln_tensor_contiguous(product, KILN_F64, 1, rows), kiln_tensor_contiguous(any, KILN_BOOL, 3, kept),
            kiln_tensor_contiguous(all, KILN_BOOL, 1, rows),    kiln_tensor_contiguous(user, KILN_F64, 1, rows),
            kiln_tensor_contiguous(index, KILN_I64, 3, kept),   kiln_tensor_contiguous(NULL, KILN_F64, 3, sizes)};
        assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 3, sizes, reduced), KILN_OK);
        for (int r = 0; r < 2; r++) {
            assert_true(sum[r] == 0 && product[r] == 1 && user[r] == -3);
            assert_true(any[r] == 0 && all[r] == 1 && index[r] == r);
        }
    }
}

static void a_maximum_of_nothing_is_an_error(void **state) {
    (void)state;
    static const kiln__op ops[] = {KILN__OP_REDUCE_MAX, KILN__OP_REDUCE_MIN};
    for (size_t i = 0; i < COUNT(ops); i++) {
        hand_ir program;
        hand_ir_start(&program);
        hand_output(&program, KILN_F64,
                    hand_reduce(&program, ops[i], KILN__F64, hand_input(&program, KILN_F64, false)));
        double out[2] = {9, 9};
        int64_t sizes[] = {2, 0}, no_rows[] = {0, 0};
        kiln_tensor tensors[] = {matrix(NULL, KILN_F64, 2, 0), matrix(out, KILN_F64, 2, 1)};
        assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 2, sizes, last_of_2), KILN_E_SHAPE);
        assert_non_null(strstr(kiln_last_error(), "axis 1"));
        assert_non_null(strstr(kiln_last_error(), i == 0 ? "max" : "min"));
        assert_true(out[0] == 9);
        tensors[0] = matrix(NULL, KILN_F64, 0, 0);
        tensors[1] = matrix(NULL, KILN_F64, 0, 1);
        RUN(program, tensors, no_rows, last_of_2);
    }
}

static void a_space_without_axes_has_one_element(void **state) {
    (void)state;
    hand_ir program;
    hand_ir_start(&program);
    uint32_t x = hand_input(&program, KILN_F32, false);
    hand_output(
        &program, KILN_F32,
        hand_binary(&program, KILN__OP_ADD, KILN__F32, x, hand_reduce(&program, KILN__OP_REDUCE_SUM, KILN__F32, x)));
    float in = 3, out = 0;
    int64_t sizes[] = {1};
    kiln_tensor tensors[] = {kiln_tensor_contiguous(&in, KILN_F32, 0, NULL),
                             kiln_tensor_contiguous(&out, KILN_F32, 0, NULL)};
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 0, sizes, all_of_1), KILN_OK);
    assert_true(out == 6);
}

static void a_space_too_large_is_refused(void **state) {
    (void)state;
    hand_ir program;
    hand_ir_start(&program);
    hand_output(&program, KILN_F32,
                hand_reduce(&program, KILN__OP_REDUCE_SUM, KILN__F32, hand_input(&program, KILN_F32, true)));
    float x = 0;
    int64_t sizes[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    kiln_tensor tensors[] = {{&x, KILN_F32, 2, {sizes[0], sizes[1]}, {0, 0}}, {&x, KILN_F32, 1, {sizes[0]}, {1}}};
    assert_int_equal(kiln__ref_run(&program.ir, tensors, NULL, NULL, 2, sizes, last_of_2), KILN_E_SIZE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_of_floats),
        cmocka_unit_test(reductions_of_integers_and_bools),
        cmocka_unit_test(long_sums_and_products_keep_a_doubles_precision),
        cmocka_unit_test(user_reductions_combine_in_column_order),
        cmocka_unit_test(phases_follow_each_other_on_any_row_length),
        cmocka_unit_test(any_axes_are_reduced),
        cmocka_unit_test(inputs_broadcast),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(outputs_may_be_inputs),
        cmocka_unit_test(two_outputs_may_each_be_an_input),
        cmocka_unit_test(positions_sizes_counts_and_scalars),
        cmocka_unit_test(empty_rows_give_identities),
        cmocka_unit_test(a_maximum_of_nothing_is_an_error),
        cmocka_unit_test(a_space_without_axes_has_one_element),
        cmocka_unit_test(a_space_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Order in a row: what kth and what is made of it come to on the CPU reference, for every type, NaN, infinities and
 * zeros, places that there are none of; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/types.h"
#include "runtime/context.h"
#include "schedule/device.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST 16

/* One row of x, and up to four outputs of f64 that have one value. */
static void run(const char *program, kiln_type type, const double *x, size_t n, const double *expected) {
    double memory[MOST], outputs[4];
    char tensors[128];
    bound b;
    snprintf(tensors, sizeof tensors, "%s[1,%zu] f64[1] f64[1] f64[1] f64[1]", kiln_type_name(type), n);
    for (size_t i = 0; i < n; i++) kiln__store_f64(type, (char *)memory + i * kiln_type_size(type), x[i]);
    if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    b.tensors[0].data = memory;
    for (size_t i = 1; i < b.tensor_count; i++) b.tensors[i].data = &outputs[i - 1];
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    for (size_t i = 0; i + 1 < b.tensor_count; i++) {
        const bool same = outputs[i] == expected[i] || (isnan(outputs[i]) && isnan(expected[i]));
        if (!same || (outputs[i] == 0 && signbit(outputs[i])))
            fail_msg("%s of %s: output %zu is %.17g, expected %.17g", program, kiln_type_name(type), i, outputs[i],
                     expected[i]);
    }
    bound_destroy(&b);
}

static void every_type_is_selected_from(void **state) {
    (void)state;
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16, KILN_I64, KILN_I32,  KILN_I16,
                                      KILN_I8,  KILN_U64, KILN_U32, KILN_U16,  KILN_U8,  KILN_E4M3, KILN_E5M2};
    static const double x[] = {5, 3, 8, 3, 0, 1, 4};
    for (size_t i = 0; i < COUNT(types); i++) {
        run("a = kth(x, 1); b = kth(x, 4); c = kth(x, -1); d = kth_largest(x, 3)", types[i], x, 7,
            (double[]){0, 3, 8, 4});
        run("a = kth(x, 2); b = kth(x, 3); c = median(x); d = quantile(x, 0.75)", types[i], x, 7,
            (double[]){1, 3, 3, 4.5});
        run("a = median(x); b = quantile(x, 0.5); c = quantile(x, 0); d = quantile(x, 1)", types[i], x, 6,
            (double[]){3, 3, 0, 8});
    }
    run("a = kth(x, 3) ? 1.0 : 0.0; b = kth(x, 4) ? 1.0 : 0.0; c = median(x); d = mean(x)", KILN_BOOL,
        (double[]){1, 0, 1, 0, 0}, 5, (double[]){0, 1, 0, 0.4});
    run("a = kth(x, 1); b = kth(x, 2); c = kth(x, 3); d = median(x)", KILN_I32, (double[]){7, -2147483648.0, -3}, 3,
        (double[]){-2147483648.0, -3, 7, -3});
}

static void nan_is_the_largest(void **state) {
    (void)state;
    static const double x[] = {INFINITY, NAN, -1, -INFINITY, 2, NAN, -0.0, 0.0};
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16};
    for (size_t i = 0; i < COUNT(types); i++) {
        run("a = kth(x, 1); b = kth(x, 3); c = kth(x, 6); d = kth(x, 7)", types[i], x, 8,
            (double[]){-INFINITY, 0, INFINITY, NAN});
        run("a = kth_largest(x, 1); b = kth_largest(x, 3); c = median(x); d = quantile(x, 0.1)", types[i], x, 8,
            (double[]){NAN, INFINITY, NAN, NAN});
        run("a = nanmedian(x); b = nanquantile(x, 1); c = nanquantile(x, 0.4); d = kth(x, 8)", types[i], x, 8,
            (double[]){0, INFINITY, 0, NAN});
        run("a = nanmedian(x * nan); b = nanquantile(x * nan, 0.5); c = median(x * 0); d = 1 + 0 * sum(x)", types[i],
            x + 6, 2, (double[]){NAN, NAN, 0, 1});
    }
    run("a = median(x); b = quantile(x, 0.5); c = quantile(x, 0.25); d = kth(x, 2)", KILN_F32,
        (double[]){INFINITY, INFINITY, 1}, 3, (double[]){INFINITY, INFINITY, INFINITY, INFINITY});
}

static void a_place_that_is_none_has_no_value(void **state) {
    (void)state;
    static const double x[] = {5, 3, 8};
    run("a = kth(x, 4); b = kth(x, -4); c = kth(x, i64(min(x)) - 3); d = kth(x, i64(min(x)) - 2)", KILN_F32, x, 3,
        (double[]){NAN, NAN, NAN, 3});
    run("a = kth(x, 4); b = kth(x, -4); c = kth(x, min(x) - 3); d = kth(x, min(x) - 4)", KILN_I32, x, 3,
        (double[]){0, 0, 0, 8});
    run("a = quantile(x, -0.5); b = quantile(x, 1.5); c = quantile(x, nan); d = quantile(x, mean(x) * 0)", KILN_F32, x,
        3, (double[]){NAN, NAN, NAN, 3});
}

/* Between others, of expressions and of one another. */
static void selections_stand_like_reductions(void **state) {
    (void)state;
    static const double x[] = {1, 9, 2, 8, 3};
    run("a = median(abs(x - median(x))); b = sum(x >= kth_largest(x, 2) ? x : 0); c = max(x) - kth(x, 2); "
        "d = kth(x - mean(x), i64(kth(x, 2)))",
        KILN_F64, x, 5, (double[]){2, 17, 7, 2 - 4.6});
    run("a = kth(x * x, 5); b = kth(index(-1), 2); c = kth(4, 5); d = median(median(x))", KILN_F64, x, 5,
        (double[]){81, 1, 4, 3});
}

/* One row of x, and outputs of f64 of as many columns. */
static void run_columns(const char *program, kiln_type type, const double *x, size_t n, const double *expected) {
    double memory[MOST], outputs[4][MOST];
    char tensors[128];
    bound b;
    snprintf(tensors, sizeof tensors, "%s[1,%zu] f64[1,%zu] f64[1,%zu] f64[1,%zu] f64[1,%zu]", kiln_type_name(type), n,
             n, n, n, n);
    for (size_t i = 0; i < n; i++) kiln__store_f64(type, (char *)memory + i * kiln_type_size(type), x[i]);
    if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    b.tensors[0].data = memory;
    for (size_t i = 1; i < b.tensor_count; i++) b.tensors[i].data = outputs[i - 1];
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    for (size_t i = 0; i < 4 * n; i++) {
        const double got = outputs[i / n][i % n];
        if (got != expected[i] && !(isnan(got) && isnan(expected[i])))
            fail_msg("%s of %s: column %zu of output %zu is %.17g, expected %.17g", program, kiln_type_name(type),
                     i % n, i / n, got, expected[i]);
    }
    bound_destroy(&b);
}

static void each_column_has_what_is_up_to_it(void **state) {
    (void)state;
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16, KILN_I64, KILN_I32,  KILN_I16,
                                      KILN_I8,  KILN_U64, KILN_U32, KILN_U16,  KILN_U8,  KILN_E4M3, KILN_E5M2};
    for (size_t i = 0; i < COUNT(types); i++)
        run_columns("a = cumsum(x); b = cumprod(x); c = cummax(x); d = cummin(x)", types[i], (double[]){2, 1, 4, 3}, 4,
                    (double[]){2, 3, 7, 10, 2, 2, 8, 24, 2, 2, 4, 4, 2, 1, 1, 1});
    run_columns("a = cumsum(x); b = cumprod(x); c = cummax(x) + 0; d = cummin(x) + 0", KILN_BOOL, (double[]){1, 0, 1},
                3, (double[]){1, 1, 2, 1, 0, 0, 1, 1, 1, 1, 0, 0});
    run_columns("a = cumsum(x); b = cumprod(x); c = cummax(x); d = cummin(x)", KILN_F32, (double[]){1, NAN, 2}, 3,
                (double[]){1, NAN, NAN, 1, NAN, NAN, 1, NAN, NAN, 1, NAN, NAN});
    run_columns("a = cumsum(x) / sum(x); b = cumsum(x - max(x)); c = x * max(cumsum(x)); d = cummax(cumsum(x))",
                KILN_F64, (double[]){4, -2, 6}, 3, (double[]){0.5, 0.25, 1, -2, -10, -10, 32, -16, 48, 4, 4, 8});
    run_columns("a = cumsum(1) + 0 * x; b = cumsum(x > 0); c = kth(cumsum(x), 2) + 0 * x; d = cumsum(median(x))",
                KILN_F64, (double[]){4, -2, 6}, 3, (double[]){1, 2, 3, 1, 1, 2, 4, 4, 4, 4, 8, 12});
}

/* Of the rows that lie side by side, and of several axes, in their order. */
typedef struct along {
    const char *axes;
    double expected[6];
} along;

static void run_along(const char *program, double x[6], const along *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double y[6];
        bound b;
        if (bound_create(&b, program, cases[i].axes, NULL, "f64[3,2] f64[3,2]")) fail_msg("%s", kiln_last_error());
        b.tensors[0].data = x;
        b.tensors[1].data = y;
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, 2, NULL, 0), KILN_OK);
        assert_memory_equal(y, cases[i].expected, sizeof y);
        bound_destroy(&b);
    }
}

static void columns_lie_along_any_axes(void **state) {
    (void)state;
    static const along scans[] = {
        {"0", {1, 2, 4, 6, 9, 12}}, {"1", {1, 3, 3, 7, 5, 11}}, {"0,1", {1, 3, 6, 10, 15, 21}}};
    static const along sorts[] = {{"0", {1, 0, 3, 2, 5, 4}}, {"1", {2, 5, 1, 4, 0, 3}}, {"0,1", {0, 1, 2, 3, 4, 5}}};
    run_along("y = cumsum(x)", (double[]){1, 2, 3, 4, 5, 6}, scans, COUNT(scans));
    run_along("y = sort(x)", (double[]){5, 2, 1, 4, 3, 0}, sorts, COUNT(sorts));
}

static void rows_are_sorted(void **state) {
    (void)state;
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16, KILN_I64, KILN_I32,  KILN_I16,
                                      KILN_I8,  KILN_U64, KILN_U32, KILN_U16,  KILN_U8,  KILN_E4M3, KILN_E5M2};
    for (size_t i = 0; i < COUNT(types); i++)
        run_columns("a = sort(x); b = argsort(x); c = sort(x, descending = true); d = argsort(x, descending = true)",
                    types[i], (double[]){2, 1, 4, 2}, 4, (double[]){1, 2, 2, 4, 1, 0, 3, 2, 4, 2, 2, 1, 2, 0, 3, 1});
    run_columns("a = sort(x) + 0; b = argsort(x); c = argsort(x, true); d = sort_by(index(-1), x)", KILN_BOOL,
                (double[]){1, 0, 1}, 3, (double[]){0, 1, 1, 1, 0, 2, 0, 2, 1, 1, 0, 2});
    run_columns("a = sort(x); b = argsort(x); c = sort(x, true); d = argsort(x, true)", KILN_F32,
                (double[]){1, NAN, -INFINITY, NAN}, 4,
                (double[]){-INFINITY, 1, NAN, NAN, 2, 0, 1, 3, NAN, NAN, 1, -INFINITY, 1, 3, 0, 2});
}

static void zeros_keep_their_signs_and_places(void **state) {
    (void)state;
    run_columns("a = 1 / sort(x); b = argsort(x); c = 1 / sort(x, true); d = argsort(x, true)", KILN_F64,
                (double[]){0.0, -0.0, 0.0}, 3,
                (double[]){INFINITY, -INFINITY, INFINITY, 0, 1, 2, INFINITY, -INFINITY, INFINITY, 0, 1, 2});
}

/* Of what is computed, of values of the row, of sorted rows; and reductions of them. */
static void sorted_rows_stand_like_elements(void **state) {
    (void)state;
    const double x[] = {4, -2, 6, 1};
    run_columns("a = argsort(argsort(x)); b = sort(x - max(x)) * index(-1); c = sort_by(x, -x); d = x - max(sort(-x))",
                KILN_F64, x, 4, (double[]){2, 0, 3, 1, 0, -5, -4, 0, 6, 4, 1, -2, 2, -4, 4, -1});
    run_columns("a = cumsum(sort(x)); b = sort(cumsum(x)); c = sort(kth(x, 2)) + 0 * x; d = sort(sort(x), true)",
                KILN_F64, x, 4, (double[]){-2, -1, 3, 9, 2, 4, 8, 9, 1, 1, 1, 1, 6, 4, 1, -2});
}

static void refuses(const char *program, const char *tensors, const char *expected) {
    bound b;
    kiln_status status = bound_create(&b, program, NULL, NULL, tensors);
    double memory[8] = {0};
    for (size_t i = 0; i < b.tensor_count; i++) b.tensors[i].data = memory;
    if (!status) status = kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0);
    if (!status) fail_msg("%s is accepted", program);
    if (!strstr(kiln_last_error(), expected)) fail_msg("%s: %s, expected %s", program, kiln_last_error(), expected);
    bound_destroy(&b);
}

static void what_is_no_place_is_refused(void **state) {
    (void)state;
    refuses("y = kth(x, 0)", "f32[2,4] f32[2]", "the k of 'kth' counts from 1 for the smallest or from -1");
    refuses("y = kth(x, 1.5)", "f32[2,4] f32[2]", "the k of 'kth' is an integer, found f32");
    refuses("y = kth(x, x)", "f32[2,4] f32[2]", "the k of 'kth' is an integer, found f32");
    refuses("y = kth(x, i64(x))", "f32[2,4] f32[2]", "'kth' takes one k for a row, found one for each element");
    refuses("y = kth(x)", "f32[2,4] f32[2]", "'kth' takes 2 arguments, found 1");
    refuses("y = kth(x, 1, axes = 0); z = sum(x)", "f32[2,4] f32[4] f32[2]", "'kth' runs across rows: expected sum");
    refuses("y = median(x, block = 2) + max(x)", "f32[2,4] f32[2,2]",
            "'kth' takes blocks of 2 columns that are not the program's rows: expected whole rows");
    refuses("y = cumsum(x, axes = 0); z = sum(x)", "f32[2,4] f32[2,4] f32[2]",
            "'cumsum' runs across rows: expected sum");
    refuses("y = cummax(x, block = 2) + max(x)", "f32[2,4] f32[2,4]", "'cummax' takes blocks of 2 columns");
    refuses("y = take(cumsum(x), 2)", "f32[2,4] f32[2]", "'take' takes a column of 'cumsum': expected one of inputs");
    refuses("y = median(x)", "f32[2,0] f32[2]", "over axis 1 of size 0 has no value");
    refuses("y = kth(x, 1)", "f32[2,0] f32[2]", "kth over axis 1 of size 0 has no value");
}

/* Two rows of four columns, and outputs of two columns of each. */
static void the_largest_are_chosen(void **state) {
    (void)state;
    static const kiln_type types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16, KILN_I64, KILN_I32,  KILN_I16,
                                      KILN_I8,  KILN_U64, KILN_U32, KILN_U16,  KILN_U8,  KILN_E4M3, KILN_E5M2};
    static const double x[] = {2, 4, 1, 4, 3, 0, 2, 3};
    static const double expected[3][4] = {{4, 4, 3, 3}, {1, 3, 0, 3}, {1, 2, 0, 2}};
    for (size_t t = 0; t < COUNT(types); t++) {
        double memory[8], outputs[3][4];
        char tensors[64];
        bound b;
        snprintf(tensors, sizeof tensors, "%s[2,4] f64[2,2] f64[2,2] f64[2,2]", kiln_type_name(types[t]));
        for (size_t i = 0; i < 8; i++) kiln__store_f64(types[t], (char *)memory + i * kiln_type_size(types[t]), x[i]);
        if (bound_create(&b, "v, i = topk(x, 2); s = first(sort(x), 2)", NULL, NULL, tensors))
            fail_msg("%s", kiln_last_error());
        b.tensors[0].data = memory;
        for (size_t o = 0; o < 3; o++) b.tensors[o + 1].data = outputs[o];
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_OK);
        for (size_t i = 0; i < 12; i++) {
            const double wanted = expected[i / 4][i % 4];
            if (outputs[i / 4][i % 4] != wanted)
                fail_msg("of %s value %zu of output %zu is %g, expected %g", kiln_type_name(types[t]), i % 4, i / 4,
                         outputs[i / 4][i % 4], wanted);
        }
        bound_destroy(&b);
    }
}

/* The outputs' shapes are asked, what is made of k columns among them. */
static void first_columns_go_into_more(void **state) {
    (void)state;
    double x[8] = {2, 4, 1, 4, 3, 0, 2, 3}, p[4], m[2], g[4];
    bound b;
    if (bound_create(&b,
                     "v, i = topk(x, 2); p = v / sum(v); m = max(v) - min(first(x, 3)); g = gather(x, i) + cumsum(v)",
                     NULL, NULL, "f64[2,4] f64[2,2] f64[2] f64[2,2]"))
        fail_msg("%s", kiln_last_error());
    b.tensors[0].data = x;
    b.tensors[1].data = p;
    b.tensors[2].data = m;
    b.tensors[3].data = g;
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK];
    assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_OK);
    assert_true(rank == 2 && sizes[0] == 2 && sizes[1] == 2);
    assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 1, 0, &rank, sizes), KILN_OK);
    assert_true(rank == 1 && sizes[0] == 2);
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_OK);
    assert_memory_equal(p, ((double[]){0.5, 0.5, 0.5, 0.5}), sizeof p);
    assert_memory_equal(m, ((double[]){3, 3}), sizeof m);
    assert_memory_equal(g, ((double[]){8, 12, 6, 9}), sizeof g);
    bound_destroy(&b);
}

/* Whatever comes to k, and the fewest of several. */
static void shapes_of_first_columns_are_told(void **state) {
    (void)state;
    static const struct {
        const char *program;
        int64_t columns;
    } cases[] = {
        {"y = first(topk(x, 5), 3)", 3},       {"y = first(first(x, 5), 2 + 2)", 4},
        {"y = topk(x, minimum(3, 9)) * 2", 3}, {"fn f(x, k = 3) = topk(x, k - 1), x\ny, z = f(x)", 2},
        {"y = sort(x) * max(topk(x, 2))", 8},  {"y = gather(x, argtopk(x, 3))", 3},
        {"y = x + sum(first(x, 2))", 8},       {"y = where(index(-1) < 2, topk(x, 4), 0)", 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double x[16] = {0}, y[16], z[16];
        char tensors[64];
        int32_t rank = 0;
        int64_t sizes[KILN_MAX_RANK];
        bound b;
        const bool two = strstr(cases[i].program, "y, z") != NULL;
        snprintf(tensors, sizeof tensors, "f64[2,8] f64[2,%d]%s", (int)cases[i].columns, two ? " f64[2,8]" : "");
        if (bound_create(&b, cases[i].program, NULL, NULL, tensors)) fail_msg("%s", kiln_last_error());
        for (size_t t = 0; t < b.tensor_count; t++) b.tensors[t].data = t == 0 ? x : t == 1 ? y : z;
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_OK);
        if (rank != 2 || sizes[1] != cases[i].columns)
            fail_msg("%s has %d columns", cases[i].program, rank == 2 ? (int)sizes[1] : 0);
        if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0))
            fail_msg("%s: %s", cases[i].program, kiln_last_error());
        bound_destroy(&b);
    }
}

/* Of columns that are chosen put writes as many. */
static void put_writes_first_columns(void **state) {
    (void)state;
    double x[8] = {2, 4, 1, 4, 3, 0, 2, 3}, y[6] = {0};
    int64_t to[2] = {2, 0};
    bound b;
    if (bound_create(&b, "put(y, s) = topk(x, 2)", NULL, NULL, "i64[2,1] f64[2,4] f64[3,2]"))
        fail_msg("%s", kiln_last_error());
    b.tensors[0].data = to;
    b.tensors[1].data = x;
    b.tensors[2].data = y;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_OK);
    assert_memory_equal(y, ((double[]){3, 3, 0, 0, 4, 4}), sizeof y);
    bound_destroy(&b);
}

/* Rows of one column and of none are in order; a row that is empty has a largest magnitude of 0. */
static void few_columns_are_in_order(void **state) {
    (void)state;
    run_columns("a = sort(x); b = argsort(x); c = topk(x, 1); d = argtopk(x, 1)", KILN_F32, (double[]){5}, 1,
                (double[]){5, 0, 5, 0});
    /* A single column is written whatever the row's length. */
    run_columns("lengths(0); a = sort(x); b = argsort(x); c = cumsum(x) + 1; d = x - 1", KILN_F32, (double[]){5}, 1,
                (double[]){5, 0, 6, 4});
    double x[2] = {3, 4}, n[1] = {0}, y[1] = {-1};
    bound b;
    if (bound_create(&b, "lengths(n); y = absmax(topk(x, 2))", NULL, NULL, "f64[1,1] f64[1,2] f64[1]"))
        fail_msg("%s", kiln_last_error());
    b.tensors[0].type = KILN_I64; /* whose 0 is the same bits */
    b.tensors[0].data = n;
    b.tensors[1].data = x;
    b.tensors[2].data = y;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, 3, NULL, 0), KILN_OK);
    assert_true(y[0] == 0);
    bound_destroy(&b);
}

/* By the schedule, for which there is a device. */
static void what_no_schedule_sorts_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *program, *tensors, *expected;
    } cases[] = {
        {"y = sum(x, axes = 0); z = sort(x)", "f32[64,100] f32[100] f32[64,100]", "rows are sorted beside no values"},
        {"y = sum(x, axes = 0); z = topk(x, 2)", "f32[64,100] f32[100] f32[64,2]", "rows are sorted beside no values"},
        {"y = sort(x) * sum(x, block = 100)", "f32[8,40000] f32[8,40000]",
         "no schedule has room for what is sorted of rows of 40000"},
        {"y = sort(x)", "f32[1,200000000] f32[1,200000000]", "it takes more than 2 GB"},
    };
    const kiln__device device = kiln__device_typical(90);
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__prepared prepared;
        bound b;
        assert_int_equal(bound_create(&b, cases[i].program, NULL, NULL, cases[i].tensors), KILN_OK);
        if (!kiln__prepare(b.program, b.tensors, NULL, &device, 0, &prepared))
            fail_msg("%s is accepted", cases[i].program);
        if (!strstr(kiln_last_error(), cases[i].expected))
            fail_msg("%s: %s, expected %s", cases[i].program, kiln_last_error(), cases[i].expected);
        bound_destroy(&b);
    }
}

static void what_is_no_first_column_is_refused(void **state) {
    (void)state;
    const char *x = "f32[2,4] f32[2,2]";
    refuses("y = topk(x, 0)", x, "how many columns 'argtopk' takes is written out: expected 1 to 268435456");
    refuses("y = first(x, 1.5)", x, "how many columns 'first' takes is written out: expected 1 to 268435456");
    refuses("y = first(x, 2) + x", x, "'+' takes the first 2 columns of rows beside others");
    refuses("y = first(first(x, 2), 3)", x, "'first' takes the first 2 columns of rows for more of them");
    refuses("y = kth(first(x, 3), 1)", "f32[2,4] f32[2]", "'kth' takes the first 3 columns of rows where it is of");
    refuses("y = sort(topk(x, 3))", x, "takes the first 3 columns of rows where it is of whole ones");
    refuses("y = mean(first(x, 3))", "f32[2,4] f32[2]", "a program that counts the columns of rows, as mean does");
    refuses("y = take(first(x, 3), 1)", "f32[2,4] f32[2]", "'take' takes a column of 'first': expected one of inputs");
    refuses("offsets(o); y = first(x, 3)", "i32[3] f32[12] f32[2,3]",
            "output 'y' has the first columns of rows: expected");
    refuses("y = first(x, 3)", x, "output 'y' has shape [2, 2], expected [2, 3]");
    refuses("y = first(x, 5)", "f32[2,4] f32[2,5]", "output 'y' has the first 5 columns of rows that have 4");
    refuses("y = first(x, 1) * max(x, block = 2)", x, "'first' takes rows along one axis, without blocks");
    refuses("a, b = max(x)", x, "2 names are assigned: expected the call of a function that has as many results");
    refuses("a, b, c = topk(x, 2)", x, "3 names are assigned, 'topk' has 2 results");
    refuses("fn f(x) = x, x\na, b = f(x) + 1", x, "2 names are assigned: expected the call of a function");
}

static void what_is_not_sorted_is_refused(void **state) {
    (void)state;
    refuses("y = sort(x, descending = x)", "f32[2,4] f32[2,4]",
            "the direction of sorting is written out: expected descending = true or false");
    refuses("y = argsort(x, axes = 0); z = sum(x)", "f32[2,4] i64[2,4] f32[2]", "'argsort' runs across rows");
    refuses("y = sort_by(x, x + 1, block = 2) + max(x)", "f32[2,4] f32[2,4]", "'argsort' takes blocks of 2 columns");
    refuses("y = take(sort(x), 2)", "f32[2,4] f32[2]", "'take' takes a column of 'sort': expected one of inputs");
    refuses("offsets(o); y = sort(x)", "i32[3] f32[4] f32[4]", "'argsort' takes rows that strides place: expected no");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_selected_from),
        cmocka_unit_test(nan_is_the_largest),
        cmocka_unit_test(a_place_that_is_none_has_no_value),
        cmocka_unit_test(selections_stand_like_reductions),
        cmocka_unit_test(each_column_has_what_is_up_to_it),
        cmocka_unit_test(columns_lie_along_any_axes),
        cmocka_unit_test(what_is_no_place_is_refused),
        cmocka_unit_test(rows_are_sorted),
        cmocka_unit_test(zeros_keep_their_signs_and_places),
        cmocka_unit_test(sorted_rows_stand_like_elements),
        cmocka_unit_test(the_largest_are_chosen),
        cmocka_unit_test(first_columns_go_into_more),
        cmocka_unit_test(what_is_no_first_column_is_refused),
        cmocka_unit_test(shapes_of_first_columns_are_told),
        cmocka_unit_test(put_writes_first_columns),
        cmocka_unit_test(few_columns_are_in_order),
        cmocka_unit_test(what_no_schedule_sorts_is_refused),
        cmocka_unit_test(what_is_not_sorted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

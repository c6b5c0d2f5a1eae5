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
static void columns_lie_along_any_axes(void **state) {
    (void)state;
    double x[6] = {1, 2, 3, 4, 5, 6}, y[6];
    static const struct {
        const char *axes;
        double expected[6];
    } cases[] = {{"0", {1, 2, 4, 6, 9, 12}}, {"1", {1, 3, 3, 7, 5, 11}}, {"0,1", {1, 3, 6, 10, 15, 21}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        if (bound_create(&b, "y = cumsum(x)", cases[i].axes, NULL, "f64[3,2] f64[3,2]"))
            fail_msg("%s", kiln_last_error());
        b.tensors[0].data = x;
        b.tensors[1].data = y;
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, 2, NULL, 0), KILN_OK);
        assert_memory_equal(y, cases[i].expected, sizeof y);
        bound_destroy(&b);
    }
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_selected_from),       cmocka_unit_test(nan_is_the_largest),
        cmocka_unit_test(a_place_that_is_none_has_no_value), cmocka_unit_test(selections_stand_like_reductions),
        cmocka_unit_test(each_column_has_what_is_up_to_it),  cmocka_unit_test(columns_lie_along_any_axes),
        cmocka_unit_test(what_is_no_place_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

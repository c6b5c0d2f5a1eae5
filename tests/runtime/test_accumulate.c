/* SPDX-License-Identifier: Apache-2.0 */
/* Values of all rows that are added to what there was: inputs that rows share, in expressions with them and in place.
 * On the CPU reference beside loops written out; what the kernel reads of them when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = 5, COLS = 300 }; /* more columns than the reference evaluates at a time */

static double x[ROWS * COLS], before[COLS], loss, results[3][ROWS * COLS];

static double at(int row, int col) { return x[row * COLS + col]; }

static void fill(void) {
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (double)((i * 37 + 11) % 101) / 16 - 3;
    for (int i = 0; i < COLS; i++) before[i] = (double)(i % 17) / 4 - 1;
    loss = 2.5;
}

static double column(int col) {
    double sum = 0;
    for (int row = 0; row < ROWS; row++) sum += at(row, col);
    return sum;
}

static double largest(void) {
    double most = 0;
    for (int i = 0; i < ROWS * COLS; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* On data of each tensor, inputs first, in the order of the text. */
static kiln_status run(const char *program, const char *tensors, double *const *data) {
    bound b;
    if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    for (size_t i = 0; i < b.tensor_count; i++) b.tensors[i].data = data[i];
    const kiln_status status = kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0);
    bound_destroy(&b);
    return status;
}

static void run_well(const char *program, const char *tensors, double *const *data) {
    fill();
    if (run(program, tensors, data)) fail_msg("%s: %s", program, kiln_last_error());
}

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g, expected %.17g", got, wanted);
}

static void what_rows_share_goes_with_values_of_all_rows(void **state) {
    (void)state;
    double *const data[] = {before, x, results[0], results[1]};
    run_well("d = w * 0.5 + sum(x, axes = 0); s = sum(x)", "f64[300] f64[5,300] f64[300] f64[5]", data);
    for (int col = 0; col < COLS; col++) near(results[0][col], before[col] / 2 + column(col));
    double *const own[] = {&loss, x, results[0], results[1]};
    run_well("t = t0 + max(absmax(x), axes = all); s = sum(x)", "f64[] f64[5,300] f64[] f64[5]", own);
    near(results[0][0], 2.5 + largest());
    run_well("t = t0 + max(absmax(x), axes = all); s = sum(x)", "f64[1,1] f64[5,300] f64[1,1] f64[5,1]", own);
    near(results[0][0], 2.5 + largest());
    /* A value of each column made of one of all elements; and what rows read, too. */
    double *const both[] = {x, before, results[0], results[1]};
    run_well("y = x * w; d = w * max(absmax(x), axes = all)", "f64[5,300] f64[300] f64[5,300] f64[300]", both);
    for (int col = 0; col < COLS; col++) near(results[1][col], before[col] * largest());
    for (int i = 0; i < ROWS * COLS; i++) near(results[0][i], x[i] * before[i % COLS]);
}

static void gradients_are_added_in_place(void **state) {
    (void)state;
    double *const data[] = {before, x, before, results[0]};
    double was[COLS];
    fill();
    memcpy(was, before, sizeof was);
    run_well("d = w + sum(x, axes = 0); s = sum(x)", "f64[300] f64[5,300] f64[300] f64[5]", data);
    for (int col = 0; col < COLS; col++) near(before[col], was[col] + column(col));
    double *const own[] = {&loss, x, &loss, results[0]};
    run_well("t = t0 + max(absmax(x), axes = all); s = sum(x)", "f64[] f64[5,300] f64[] f64[5]", own);
    near(loss, 2.5 + largest());
}

static void there_may_be_no_rows_and_no_columns(void **state) {
    (void)state;
    double *const data[] = {before, x, results[0], results[1]};
    run_well("d = w + sum(x, axes = 0); s = sum(x)", "f64[300] f64[0,300] f64[300] f64[0]", data);
    for (int col = 0; col < COLS; col++) near(results[0][col], before[col]);
    run_well("d = w + sum(x, axes = 0); t = t0 + sum(x, axes = all); s = sum(x)",
             "f64[0] f64[5,0] f64[] f64[0] f64[] f64[5]",
             (double *const[]){before, x, &loss, results[0], results[1], results[2]});
    near(results[1][0], 2.5);
}

static void an_output_of_rows_keeps_what_is_read_later(void **state) {
    (void)state;
    double *const data[] = {x, x, results[0], results[1]};
    fill();
    assert_int_equal(
        run("y = x * 2; d = x + sum(x, axes = 0); s = sum(x)", "f64[1,300] f64[1,300] f64[300] f64[1]", data),
        KILN_E_OVERLAP);
    assert_int_equal(run("t = sum(x, axes = all) + a; d = sum(x, axes = 0) * a; s = sum(x)",
                         "f64[5,300] f64[] f64[] f64[300] f64[5]",
                         (double *const[]){x, &loss, &loss, results[0], results[1]}),
                     KILN_E_OVERLAP);
    assert_string_equal(kiln_last_error(),
                        "output 't' overlaps input 'a', which values of all rows read after it is stored");
}

/* What the kernel of rows needs of them: nothing, so that they are neither loaded nor kept with a row. */
static void rows_do_not_read_them(void **state) {
    (void)state;
    bound b;
    kiln__prepared p;
    assert_int_equal(
        bound_create(&b, "d = w + sum(x, axes = 0); s = sum(x * x)", NULL, NULL, "f32[300] f32[*,300] f32[300] f32[*]"),
        KILN_OK);
    if (bound_prepare(&b, 90, &p)) fail_msg("%s", kiln_last_error());
    assert_int_equal(p.ir->read, 2);
    assert_int_equal(p.ir->later, 1);
    assert_false(p.schedule.tensors[0].staged);
    const char *code = kiln__source_code(p.source), *loads = strstr(code, "kiln_widen(args.in_w[col])");
    assert_non_null(loads);
    assert_null(strstr(loads + 1, "kiln_widen(args.in_w[col])"));
    assert_null(strstr(code, "fetch(in_w"));
    kiln__prepared_free(&p);
    bound_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rows_share_goes_with_values_of_all_rows),
        cmocka_unit_test(gradients_are_added_in_place),
        cmocka_unit_test(there_may_be_no_rows_and_no_columns),
        cmocka_unit_test(an_output_of_rows_keeps_what_is_read_later),
        cmocka_unit_test(rows_do_not_read_them),
    };
    return cmocka_run_group_tests_name("accumulate", tests, NULL, NULL);
}

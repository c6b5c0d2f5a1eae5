/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and rows that an index chooses: what they come to on the CPU reference, shapes of outputs, what is refused.
 */
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

enum { ROWS = 4, COLS = 6 };

static double x[ROWS * COLS], outputs[3][ROWS * COLS];
static int64_t many[ROWS * COLS];
static const int32_t one[ROWS] = {2, -1, 6, 5}; /* two of them are no columns */

static void fill(void) {
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] = (i * 37 + 11) % 101;
        many[i] = (i * 5) % (COLS + 2) - 1;
    }
}

/* x of ROWS x COLS, i of ROWS x 1, j of ROWS x COLS, as the program reads them. */
static void run(const char *program, const char *axes, const char *tensors, const void *second) {
    bound b;
    fill();
    if (bound_create(&b, program, axes, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    b.tensors[0].data = x;
    b.tensors[1].data = (void *)(uintptr_t)second;
    const size_t inputs = second ? 2 : 1;
    for (size_t i = inputs; i < b.tensor_count; i++) b.tensors[i].data = outputs[i - inputs];
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    bound_destroy(&b);
}

static void equal(double got, double wanted) {
    if (!(got == wanted || (isnan(got) && isnan(wanted)))) fail_msg("%.17g, expected %.17g", got, wanted);
}

static double at(int row, int64_t col) { return col >= 0 && col < COLS ? x[row * COLS + col] : (double)NAN; }

static void a_column_of_each_row_is_taken(void **state) {
    (void)state;
    run("t = take(x, i); m = take(x * 2 + index(-1), i) - max(x)", NULL, "f64[4,6] i32[4,1] f64[4] f64[4]", one);
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) most = fmax(most, at(row, col));
        equal(outputs[0][row], at(row, one[row]));
        equal(outputs[1][row], at(row, one[row]) * 2 + one[row] - most);
    }
    run("y = x - take(x, argmax(x)); k = take(i64(x), 9); f = take(x > 1, -1) ? 1.0 : 0.0", NULL,
        "f64[4,6] f64[4,6] f64[4] f64[4]", NULL);
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) most = fmax(most, at(row, col));
        for (int col = 0; col < COLS; col++) equal(outputs[0][row * COLS + col], at(row, col) - most);
        equal(outputs[1][row], 0); /* integers and bool have no NaN */
        equal(outputs[2][row], 0);
    }
}

static void a_column_of_each_element_is_gathered(void **state) {
    (void)state;
    run("y = gather(x, j) + mean(x) * 0; z = gather(gather(x, j), 5 - index(-1))", NULL,
        "f64[4,6] i64[4,6] f64[4,6] f64[4,6]", many);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            equal(outputs[0][row * COLS + col], at(row, many[row * COLS + col]));
            equal(outputs[1][row * COLS + col], at(row, many[row * COLS + 5 - col]));
        }
}

/* Columns are counted through all reduced axes, the last of them fastest. */
static void several_axes_are_one_row(void **state) {
    (void)state;
    run("t = take(x * 100 + index(1) * 10 + index(2), 4)", "1,2", "f64[4,2,3] f64[4]", NULL);
    for (int row = 0; row < ROWS; row++) equal(outputs[0][row], at(row, 4) * 100 + 1 * 10 + 1);
    run("t = take(x, 1)", "0", "f64[6,4]{1,6} f64[4]", NULL); /* transposed */
    for (int row = 0; row < ROWS; row++) equal(outputs[0][row], at(row, 1));
}

/* x is a table of ROWS rows of COLS columns; the program has as many rows as `one`. */
static void rows_of_a_table_are_read(void **state) {
    (void)state;
    run("y = rows(t, i) * 2; m = rows(t, i) * 0 + index(-1)", NULL, "f64[4,6] i32[4,1] f64[4,6] f64[4,6]", one);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            const bool is_row = one[row] >= 0 && one[row] < ROWS;
            equal(outputs[0][row * COLS + col], is_row ? at(one[row], col) * 2 : (double)NAN);
            equal(outputs[1][row * COLS + col], is_row ? col : (double)NAN);
        }
    run("s = max(rows(t, 4 - i)) + 0 * i", NULL, "f64[4,6] i32[4,1] f64[4]", one);
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) most = fmax(most, at(4 - one[row] < ROWS ? 4 - one[row] : 0, col));
        equal(outputs[0][row], 4 - one[row] >= 0 && 4 - one[row] < ROWS ? most : (double)NAN);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *program, *tensors;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"t = take(x, x)", "f32[4,6] f32[4]", KILN_E_TYPE, "1:5: the column of 'take' is an integer, found f32"},
        {"t = gather(x, mean(x))", "f32[4,6] f32[4]", KILN_E_TYPE,
         "1:5: the column of 'gather' is an integer, found f32"},
        {"t = take(x, j)", "f32[4,6] i32[4,6] f32[4]", KILN_E_TYPE,
         "1:5: 'take' takes one column for a row, found one for each element: expected gather(x, i) there"},
        {"t = take(uniform(1, 2) + x, 1)", "f32[4,6] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'uniform': expected one of inputs, positions and what is made of them"},
        {"t = take(max(x, block = 2), 1) + max(x)", "f32[4,6] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'block': expected one of inputs, positions and what is made of them"},
        {"t = take(x, i64(sum(x, axes = all))); m = max(x)", "f32[4,6] f32[4] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a value of all rows to make one of a row: two programs do that"},
        {"y = rows(t, t)", "f32[4,6] f32[4,6]", KILN_E_NAME,
         "1:5: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, 1) + max(t)", "f32[4,6] f32[4,6]", KILN_E_NAME,
         "1:18: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, 1) + rows(t, 2)", "f32[4,6] f32[6]", KILN_E_NAME,
         "1:18: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(x + 1, 1)", "f32[4,6] f32[6]", KILN_E_NAME,
         "1:5: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, j)", "f32[4,6] i32[4,6] f32[4,6]", KILN_E_TYPE,
         "1:5: 'rows' takes an integer that each row has one of and that no reduction gives, found one for each "
         "element"},
        {"y = rows(t, 1.5)", "f32[4,6] f32[6]", KILN_E_TYPE,
         "1:5: 'rows' takes an integer that each row has one of and that no reduction gives, found f32"},
        {"y = rows(t, argmax(x))", "f32[4,6] f32[3,6] f32[3,6]", KILN_E_UNSUPPORTED,
         "1:5: 'rows' takes an integer that each row has one of and that no reduction gives, found what a reduction "
         "gives"},
        {"y = take(rows(t, 1), 2)", "f32[4,6] f32[1]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'rows': expected one of inputs, positions and what is made of them"},
        {"y = rows(t, 1)", "f32[] f32[]", KILN_E_SHAPE, "tensor 't' has rank 0, expected rows along its axis 0"},
        {"y = rows(t, 1)", "f32[0,6] f32[6]", KILN_E_SHAPE, "tensor 't' has no rows: axis 0 of a table has size 0"},
        {"t = take(x, 1)", "f32[4,6] f32[6]", KILN_E_SHAPE,
         "output 't' has shape [6], expected [4, 1] or the same without its reduced axes"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln__prepared p;
        assert_int_equal(bound_create(&b, cases[i].program, NULL, NULL, cases[i].tensors), KILN_OK);
        const kiln_status status = bound_prepare(&b, 90, &p);
        if (status != cases[i].status || strcmp(kiln_last_error(), cases[i].sentence))
            fail_msg("%s: %s", cases[i].program, kiln_last_error());
        bound_destroy(&b);
    }
}

/* A row may be written while other threads still read columns of it. */
static void what_is_taken_from_is_not_written_over(void **state) {
    (void)state;
    bound b;
    fill();
    assert_int_equal(bound_create(&b, "y = x - take(x, 1)", NULL, NULL, "f64[4,6] f64[4,6]"), KILN_OK);
    b.tensors[0].data = b.tensors[1].data = x;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, 2, NULL, 0), KILN_E_OVERLAP);
    assert_string_equal(kiln_last_error(), "output 'y' overlaps input 'x', which is read at other places");
    bound_destroy(&b);
}

static void tensors_may_have_these_names(void **state) {
    (void)state;
    run("y = rows + gather * 0 + take(gather, 0) * 0; rows2 = rows", NULL, "f64[4,6] f64[4,6] f64[4,6] f64[4,6]", x);
    for (int i = 0; i < ROWS * COLS; i++) equal(outputs[0][i], x[i]);
}

static void outputs_have_the_shapes_of_rows(void **state) {
    (void)state;
    static const struct {
        const char *program, *tensors, *shape;
    } cases[] = {
        {"t = take(x, i)", "f32[4,6] i32[4,1]", "4"},        {"t = gather(x, i)", "f32[4,6] i32[4,6]", "4,6"},
        {"t = x - take(x, 2)", "f32[4,6]", "4,6"},           {"y = rows(t, i)", "f32[50,6] i32[4,1]", "4,6"},
        {"y = rows(t, i)", "f32[50,6] i32[2,4,1]", "2,4,6"}, {"y = rows(t, i) + w", "f32[50,1] i32[4,1] f32[6]", "4,6"},
        {"m = max(rows(t, i))", "f32[50,6] i32[4,1]", "4"},  {"t = take(x, i) + x * 0", "f32[4,1] i32[4,1]", "4,1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        char shape[64] = "";
        assert_int_equal(bound_create(&b, cases[i].program, NULL, NULL, cases[i].tensors), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_OK);
        for (int d = 0, used = 0; d < rank; d++)
            used += snprintf(shape + used, sizeof shape - (size_t)used, "%s%d", d ? "," : "", (int)sizes[d]);
        assert_string_equal(shape, cases[i].shape);
        bound_destroy(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_of_each_row_is_taken), cmocka_unit_test(a_column_of_each_element_is_gathered),
        cmocka_unit_test(several_axes_are_one_row),      cmocka_unit_test(rows_of_a_table_are_read),
        cmocka_unit_test(what_cannot_be_is_refused),     cmocka_unit_test(what_is_taken_from_is_not_written_over),
        cmocka_unit_test(tensors_may_have_these_names),  cmocka_unit_test(outputs_have_the_shapes_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

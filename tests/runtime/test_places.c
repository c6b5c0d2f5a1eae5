/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and rows that an index chooses, and rows of different lengths: what they come to on the CPU reference, shapes
 * of outputs, what is refused. */
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

static bool is_row(int row) { return row >= 0 && row < ROWS; }
static double at(int row, int64_t col) {
    return is_row(row) && col >= 0 && col < COLS ? x[row * COLS + col] : (double)NAN;
}

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
    run("s = sum(x, block = 3); t = take(x, 4)", NULL, "f64[4,6] f64[4,2] f64[4]", NULL); /* blocks are no rows */
    for (int row = 0; row < ROWS; row++) equal(outputs[1][row], at(row, 4));
    run("t = take(x, 1)", "0", "f64[6,4]{1,6} f64[4]", NULL); /* transposed */
    for (int row = 0; row < ROWS; row++) equal(outputs[0][row], at(row, 1));
}

/* x is a table of ROWS rows of COLS columns; the program has as many rows as `one`. */
static void rows_of_a_table_are_read(void **state) {
    (void)state;
    run("y = rows(t, i) * 2; m = rows(t, i) * 0 + index(-1)", NULL, "f64[4,6] i32[4,1] f64[4,6] f64[4,6]", one);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            equal(outputs[0][row * COLS + col], at(one[row], col) * 2);
            equal(outputs[1][row * COLS + col], is_row(one[row]) ? col : (double)NAN);
        }
    run("s = max(rows(t, 4 - i)) + 0 * i", NULL, "f64[4,6] i32[4,1] f64[4]", one);
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) most = fmax(most, at(4 - one[row], col));
        equal(outputs[0][row], is_row(4 - one[row]) ? most : (double)NAN);
    }
}

/* The output is a table of ROWS rows; `one` names two of them, row 2 and none else but what is no row. */
static void rows_are_written_where_an_index_says(void **state) {
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++) outputs[0][i] = outputs[1][i] = -1;
    run("n = x * 2; put(y, i) = n; put(m, 3 - index(0)) = max(x)", NULL, "f64[4,6] i32[4,1] f64[4,6] f64[4]", one);
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) {
            equal(outputs[0][row * COLS + col], row == one[0] ? at(0, col) * 2 : -1);
            most = fmax(most, at(row, col));
        }
        equal(outputs[1][3 - row], most);
    }
}

/* A cache of numbers and of their blocks' scales: blocks that divide the columns and blocks that do not, beside whole
 * rows or alone. */
static void rows_of_blocks_are_written(void **state) {
    (void)state;
    static const char *const others[] = {"", "; m = max(x)"};
    for (int i = 0; i < 4; i++) {
        const int block = i < 2 ? 3 : 4, blocks = (COLS + block - 1) / block;
        char text[200], tensors[200];
        snprintf(text, sizeof text, "s = absmax(x, block = %d) + 0 * i; put(y, i) = x / s; put(z, 3 - index(0)) = s%s",
                 block, others[i % 2]);
        snprintf(tensors, sizeof tensors, "f64[4,6] i32[4,1] f64[4,6] f64[4,%d]%s", blocks, i % 2 ? " f64[4]" : "");
        for (int k = 0; k < ROWS * COLS; k++) outputs[0][k] = outputs[1][k] = -1;
        run(text, NULL, tensors, one);
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < COLS; col++) {
                double most = 0;
                for (int k = col / block * block; k < COLS && k / block == col / block; k++)
                    most = fmax(most, at(0, k));
                equal(outputs[0][row * COLS + col], row == one[0] ? at(0, col) / most : -1);
                if (row == 0) equal(outputs[1][3 * blocks + col / block], most);
            }
    }
}

/* Of rows with lengths: what is behind one's end is neither read, though it is NaN, nor written. */
static void rows_end_where_their_lengths_say(void **state) {
    (void)state;
    static const int32_t given[ROWS] = {2, -1, COLS + 3, 5};
    static int64_t found[ROWS];
    bound b;
    fill();
    for (int i = 0; i < ROWS * COLS; i++) outputs[0][i] = -1;
    for (int row = 0; row < ROWS; row++)
        for (int col = given[row] < 0 ? 0 : given[row]; col < COLS; col++) x[row * COLS + col] = (double)NAN;
    assert_int_equal(bound_create(&b, "lengths(n); y = x * 2 - mean(x); s = sum(x); k = argmin(x) + 0 * size(-1)", NULL,
                                  NULL, "i32[4,1] f64[4,6] f64[4,6] f64[4] i64[4]"),
                     KILN_OK);
    b.tensors[0].data = (void *)(uintptr_t)given;
    b.tensors[1].data = x;
    for (int i = 0; i < 2; i++) b.tensors[2 + i].data = outputs[i];
    b.tensors[4].data = found;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_OK);
    bound_destroy(&b);
    for (int row = 0; row < ROWS; row++) {
        const int length = given[row] < 0 ? 0 : given[row] > COLS ? COLS : given[row];
        double sum = 0;
        int least = length ? 0 : -1;
        for (int col = 0; col < length; col++) {
            sum += at(row, col);
            if (at(row, col) < at(row, least)) least = col;
        }
        equal(outputs[1][row], sum);
        assert_int_equal(found[row], least);
        for (int col = 0; col < COLS; col++)
            equal(outputs[0][row * COLS + col], col < length ? at(row, col) * 2 - sum / length : -1);
    }
}

/* A block ends where its row does; one behind the end has no columns. */
static void blocks_end_with_their_rows(void **state) {
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++) outputs[1][i] = -1;
    run("lengths(index(0) * 2); s = sum(x, block = 3); y = x * 2 + 0 * max(x, block = 3); m = mean(x, block = 3)", NULL,
        "f64[4,6] f64[4,2] f64[4,6] f64[4,2]", NULL);
    for (int row = 0; row < ROWS; row++)
        for (int block = 0; block < 2; block++) {
            double sum = 0, count = 0;
            for (int col = block * 3; col < block * 3 + 3; col++) {
                equal(outputs[1][row * COLS + col], col < row * 2 ? at(row, col) * 2 : -1);
                sum += col < row * 2 ? at(row, col) : 0;
                count += col < row * 2;
            }
            equal(outputs[0][row * 2 + block], sum);
            equal(outputs[2][row * 2 + block], sum / count);
        }
}

/* What a row without columns has for a maximum of magnitudes: scales as of zeros. */
static void magnitudes_of_nothing_are_0(void **state) {
    (void)state;
    run("lengths(index(0) * 3); a = absmax(x); s = scale_e4m3(x); m = max(x)", NULL, "f64[4,6] f64[4] f64[4] f64[4]",
        NULL);
    assert_true(outputs[0][0] == 0 && outputs[1][0] == 0 && outputs[2][0] == -INFINITY);
    assert_true(outputs[0][1] > 0 && outputs[1][1] > 0);
}

/* Lengths may be computed: of a lower triangle. What 'take' finds behind the end is none. */
static void lengths_may_be_computed(void **state) {
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++) outputs[1][i] = -1;
    run("lengths(index(0) + 1); t = take(x, 1); y = x + 0 * max(x)", NULL, "f64[4,6] f64[4] f64[4,6]", NULL);
    for (int row = 0; row < ROWS; row++) {
        equal(outputs[0][row], row ? at(row, 1) : (double)NAN);
        for (int col = 0; col < COLS; col++) equal(outputs[1][row * COLS + col], col <= row ? at(row, col) : -1);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const bound_refusal cases[] = {
        {"t = take(x, x)", NULL, "f32[4,6] f32[4]", KILN_E_TYPE, "1:5: the column of 'take' is an integer, found f32"},
        {"t = gather(x, mean(x))", NULL, "f32[4,6] f32[4]", KILN_E_TYPE,
         "1:5: the column of 'gather' is an integer, found f32"},
        {"t = take(x, j)", NULL, "f32[4,6] i32[4,6] f32[4]", KILN_E_TYPE,
         "1:5: 'take' takes one column for a row, found one for each element: expected gather(x, i) there"},
        {"t = take(uniform(1, 2) + x, 1)", NULL, "f32[4,6] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'uniform': expected one of inputs, positions and what is made of them"},
        {"t = take(max(x, block = 2), 1) + max(x)", NULL, "f32[4,6] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'block': expected one of inputs, positions and what is made of them"},
        {"t = take(x, i64(sum(x, axes = all))); m = max(x)", NULL, "f32[4,6] f32[4] f32[4]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a value of all rows to make one of a row: two programs do that"},
        {"y = rows(t, t)", NULL, "f32[4,6] f32[4,6]", KILN_E_NAME,
         "1:5: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, 1) + max(t)", NULL, "f32[4,6] f32[4,6]", KILN_E_NAME,
         "1:18: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, 1) + rows(t, 2)", NULL, "f32[4,6] f32[6]", KILN_E_NAME,
         "1:18: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(x + 1, 1)", NULL, "f32[4,6] f32[6]", KILN_E_NAME,
         "1:5: rows(t, i) is of an input, which is read in no other way and with one i"},
        {"y = rows(t, j)", NULL, "f32[4,6] i32[4,6] f32[4,6]", KILN_E_TYPE,
         "1:5: the row of 'rows' is an integer that each row has one of, found one for each element"},
        {"y = rows(t, 1.5)", NULL, "f32[4,6] f32[6]", KILN_E_TYPE,
         "1:5: the row of 'rows' is an integer that each row has one of, found f32"},
        {"y = rows(t, argmax(x))", NULL, "f32[4,6] f32[3,6] f32[3,6]", KILN_E_UNSUPPORTED,
         "1:5: the row of 'rows' is an integer that each row has one of, found what a reduction gives: two "
         "programs do that"},
        {"put(y, x) = x", NULL, "f32[4,6] f32[9,6]", KILN_E_TYPE,
         "1:8: the row of 'put' is an integer that each row has one of, found f32"},
        {"put(y, index(-1)) = x", NULL, "f32[4,6] f32[9,6]", KILN_E_TYPE,
         "1:8: the row of 'put' is an integer that each row has one of, found one for each element"},
        {"put(y, 1) = x", NULL, "f32[4,6] f32[9,7]", KILN_E_SHAPE, "a row of output 'y' has shape [7], expected [6]"},
        {"put(m, 1) = max(x)", NULL, "f32[4,6] f32[9,6]", KILN_E_SHAPE,
         "a row of output 'm' has shape [6], expected []"},
        {"put(y, 1) = x / absmax(x, block = 3)", NULL, "f32[4,6] f32[9,7]", KILN_E_SHAPE,
         "a row of output 'y' has shape [7], expected [6] or, of one value for each block, [2]"},
        {"put(y, 1) = absmax(x, block = 4)", NULL, "f32[4,6] f32[9,3]", KILN_E_SHAPE,
         "a row of output 'y' has shape [3], expected [6] or, of one value for each block of 4, [2]"},
        {"y = take(rows(t, 1), 2)", NULL, "f32[4,6] f32[1]", KILN_E_UNSUPPORTED,
         "1:5: 'take' takes a column of 'rows': expected one of inputs, positions and what is made of them"},
        {"y = rows(t, 1)", NULL, "f32[] f32[]", KILN_E_SHAPE, "tensor 't' has rank 0, expected rows along its axis 0"},
        {"y = rows(t, 1)", NULL, "f32[0,6] f32[6]", KILN_E_SHAPE,
         "tensor 't' has no rows: axis 0 of a table has size 0"},
        {"lengths(n); y = max(x)", NULL, "f32[4,1] f32[4,6] f32[4]", KILN_E_TYPE,
         "1:9: the length of a row is an integer that each row has one of, found f32"},
        {"lengths(n); y = max(x)", NULL, "i32[4,6] f32[4,6] f32[4]", KILN_E_TYPE,
         "1:9: the length of a row is an integer that each row has one of, found one for each element"},
        {"lengths(argmax(x)); y = x", NULL, "f32[4,6] f32[4,6]", KILN_E_UNSUPPORTED,
         "1:9: the length of a row is an integer that each row has one of, found what a reduction gives: two programs "
         "do that"},
        {"lengths(3); y = max(x, block = 4)", NULL, "f32[4,6] f32[4,2]", KILN_E_UNSUPPORTED,
         "blocks of rows with lengths divide their columns, found blocks of 4 in 6"},
        {"lengths(3); y = x * repeat(r, 3)", NULL, "f32[4,6] f32[4,2] f32[4,6]", KILN_E_UNSUPPORTED,
         "1:9: rows with lengths are reduced whole, or in blocks of one size alone: other axes are for programs "
         "without them"},
        {"lengths(3); y = max(x, block = 2) + max(x)", NULL, "f32[4,6] f32[4,3]", KILN_E_UNSUPPORTED,
         "1:9: rows with lengths are reduced whole, or in blocks of one size alone: other axes are for programs "
         "without them"},
        {"lengths(3); y = sum(x, axes = 0); m = max(x)", NULL, "f32[4,6] f32[6] f32[4]", KILN_E_UNSUPPORTED,
         "1:9: rows with lengths are reduced whole, or in blocks of one size alone: other axes are for programs "
         "without them"},
        {"lengths(3); y = sum(x, axes = all)", NULL, "f32[4,6] f32[]", KILN_E_AXIS,
         "rows with lengths lie along one axis, found 2 that are reduced over"},
        {"lengths(3); y = x + max(x)", NULL, "e2m1[4,6] f32[4,6]", KILN_E_UNSUPPORTED,
         "tensor 'x' has two elements of e2m1 in a byte, which the program takes apart: expected reductions over the "
         "last axis or none, an element for each column, and the same order of axes in all tensors"},
        {"t = take(x, 1)", NULL, "f32[4,6] f32[6]", KILN_E_SHAPE,
         "output 't' has shape [6], expected [4, 1] or the same without its reduced axes"},
    };
    bound_expect_refusals(cases, COUNT(cases));
}

/* With the sentence of the GPU. */
static void a_row_of_another_shape_is_refused_on_the_cpu(void **state) {
    (void)state;
    bound b;
    fill();
    assert_int_equal(bound_create(&b, "put(y, 1) = x", NULL, NULL, "f64[4,6] f64[9,7]"), KILN_OK);
    b.tensors[0].data = x;
    b.tensors[1].data = outputs;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, 2, NULL, 0), KILN_E_SHAPE);
    assert_string_equal(kiln_last_error(), "a row of output 'y' has shape [7], expected [6]");
    bound_destroy(&b);
}

/* Tensors of no possible rank are refused before an axis of theirs is looked for. */
static void a_rank_is_checked_first(void **state) {
    (void)state;
    static const char *const programs[] = {"y = rows(x, 1)", "put(y, 1) = x", "offsets(x); y = x2",
                                           "offsets(x2); y = x"};
    for (size_t i = 0; i < 2 * COUNT(programs); i++) {
        bound b;
        kiln__prepared p;
        assert_int_equal(
            bound_create(&b, programs[i / 2], NULL, NULL, i < 4 ? "i32[4] i32[4]" : "i32[4] i32[4] i32[4]"), KILN_OK);
        b.tensors[0].rank = i % 2 ? 1000000 : -1;
        assert_int_equal(bound_prepare(&b, 90, &p), KILN_E_SHAPE);
        assert_non_null(
            strstr(kiln_last_error(), i % 2 ? "has rank 1000000, expected 0 to 8" : "has rank -1, expected"));
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
        cmocka_unit_test(a_column_of_each_row_is_taken),
        cmocka_unit_test(a_column_of_each_element_is_gathered),
        cmocka_unit_test(several_axes_are_one_row),
        cmocka_unit_test(rows_of_a_table_are_read),
        cmocka_unit_test(rows_are_written_where_an_index_says),
        cmocka_unit_test(rows_of_blocks_are_written),
        cmocka_unit_test(rows_end_where_their_lengths_say),
        cmocka_unit_test(magnitudes_of_nothing_are_0),
        cmocka_unit_test(blocks_end_with_their_rows),
        cmocka_unit_test(lengths_may_be_computed),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_row_of_another_shape_is_refused_on_the_cpu),
        cmocka_unit_test(a_rank_is_checked_first),
        cmocka_unit_test(what_is_taken_from_is_not_written_over),
        cmocka_unit_test(tensors_may_have_these_names),
        cmocka_unit_test(outputs_have_the_shapes_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over blocks of columns and over axes that the text names: what they come to on the CPU reference beside
 * loops written out, shapes of outputs, what is refused, and what is the same kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = 3, COLS = 24 };

static double x[ROWS * COLS], outputs[4][ROWS * COLS];

static double at(int row, int col) { return x[row * COLS + col]; }

static void fill(void) {
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (double)((i * 37 + 11) % 101) / 16 - 3;
}

/* Runs the program on x, in memory of 3 x 24 or, transposed, 24 x 3; outputs have these shapes. */
static void run(const char *program, const char *axes, const char *tensors) {
    bound b;
    fill();
    if (bound_create(&b, program, axes, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    b.tensors[0].data = x;
    for (size_t i = 1; i < b.tensor_count; i++) b.tensors[i].data = outputs[i - 1];
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    bound_destroy(&b);
}

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g, expected %.17g", got, wanted);
}

static double largest(int row, int first, int count) {
    double value = 0;
    for (int i = first; i < first + count; i++) value = fmax(value, fabs(at(row, i)));
    return value;
}

static double mean(int row, int first, int count) {
    double sum = 0;
    for (int i = first; i < first + count; i++) sum += at(row, i);
    return sum / count;
}

static void blocks_alone_are_rows(void **state) {
    (void)state;
    run("s = absmax(x, block = 8); q = x / absmax(x, block = 8); m = mean(x, block = 8)", NULL,
        "f64[3,24] f64[3,3] f64[3,24] f64[3,3]");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            const int block = col / 8;
            near(outputs[0][row * 3 + block], largest(row, block * 8, 8));
            near(outputs[1][row * COLS + col], at(row, col) / largest(row, block * 8, 8));
            near(outputs[2][row * 3 + block], mean(row, block * 8, 8));
        }
}

static void blocks_lie_within_rows(void **state) {
    (void)state;
    run("n = x - mean(x); s = absmax(x, block = 6); t = max(s); y = n / s", NULL,
        "f64[3,24] f64[3] f64[3,24]"); /* t and y: s and n are read */
    for (int row = 0; row < ROWS; row++) {
        near(outputs[0][row], largest(row, 0, COLS));
        for (int col = 0; col < COLS; col++)
            near(outputs[1][row * COLS + col], (at(row, col) - mean(row, 0, COLS)) / largest(row, col / 6 * 6, 6));
    }
}

static void blocks_have_several_sizes(void **state) {
    (void)state;
    run("a = mean(x, block = 4) + max(x) * 0; b = mean(x, block = 12); y = x - b", NULL,
        "f64[3,24] f64[3,6] f64[3,24]");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            near(outputs[0][row * 6 + col / 4], mean(row, col / 4 * 4, 4));
            near(outputs[1][row * COLS + col], at(row, col) - mean(row, col / 12 * 12, 12));
        }
    run("a = mean(x, block = 4) - mean(x, block = 12)", NULL, "f64[3,24] f64[3,6]");
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < 6; i++) near(outputs[0][row * 6 + i], mean(row, i * 4, 4) - mean(row, i / 3 * 12, 12));
}

static void a_block_of_more_columns_than_there_are_is_the_row(void **state) {
    (void)state;
    run("s = mean(x, block = 1000)", NULL, "f64[3,24] f64[3,1]");
    for (int row = 0; row < ROWS; row++) near(outputs[0][row], mean(row, 0, COLS));
    run("s = mean(x, block = 24) + max(x)", NULL, "f64[3,24] f64[3,1]");
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) most = fmax(most, at(row, col));
        near(outputs[0][row], mean(row, 0, COLS) + most);
    }
}

static int end_of(int first, int block) { return first + block < COLS ? first + block : COLS; }

static double mean_of_block(int row, int col, int block) {
    const int first = col / block * block;
    return mean(row, first, end_of(first, block) - first);
}

static double largest_of_block(int row, int col, int block) {
    const int first = col / block * block;
    return largest(row, first, end_of(first, block) - first);
}

/* 24 columns are three blocks of 7, and one of 3. */
static void the_last_block_may_be_short(void **state) {
    (void)state;
    run("s = absmax(x, block = 7); q = x / absmax(x, block = 7); n = size(0)", NULL,
        "f64[3,24] f64[3,4] f64[3,24] f64[3,4]");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            near(outputs[0][row * 4 + col / 7], largest_of_block(row, col, 7));
            near(outputs[1][row * COLS + col], at(row, col) / largest_of_block(row, col, 7));
            near(outputs[2][row * 4 + col / 7], ROWS);
        }
    run("m = mean(x, block = 7); r = reduce((a, b) -> a * 0.5 + b, x, 0, block = 23); v = var(x, block = 7)", NULL,
        "f64[3,24] f64[3,4] f64[3,2] f64[3,24]");
    for (int row = 0; row < ROWS; row++) {
        near(outputs[1][row * 2 + 1], at(row, 23));
        for (int col = 0; col < COLS; col++) {
            const int first = col / 7 * 7, end = end_of(first, 7);
            const double m = mean_of_block(row, col, 7);
            double squares = 0;
            for (int i = first; i < end; i++) squares += (at(row, i) - m) * (at(row, i) - m);
            near(outputs[0][row * 4 + col / 7], m);
            near(outputs[2][row * COLS + col], squares / (end - first - 1));
        }
    }
}

static void short_blocks_lie_within_rows(void **state) {
    (void)state;
    run("n = x - mean(x); m = mean(n, block = 10); t = max(m); y = x * m; s = m", NULL,
        "f64[3,24] f64[3] f64[3,24] f64[3,3]");
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY;
        for (int col = 0; col < COLS; col++) {
            const double m = mean_of_block(row, col, 10) - mean(row, 0, COLS);
            most = fmax(most, m);
            near(outputs[1][row * COLS + col], at(row, col) * m);
            near(outputs[2][row * 3 + col / 10], m);
        }
        near(outputs[0][row], most);
    }
}

static void sizes_need_not_divide_one_another(void **state) {
    (void)state;
    run("a = mean(x, block = 7); y = mean(x, block = 9) - a; b = mean(x, block = 100)", NULL,
        "f64[3,24] f64[3,24] f64[3,1]"); /* a is read */
    for (int row = 0; row < ROWS; row++) {
        near(outputs[1][row], mean(row, 0, COLS));
        for (int col = 0; col < COLS; col++)
            near(outputs[0][row * COLS + col], mean_of_block(row, col, 9) - mean_of_block(row, col, 7));
    }
    run("a = mean(x, block = 7) - mean(x, block = 14)", NULL, "f64[3,24] f64[3,4]");
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < 4; i++)
            near(outputs[0][row * 4 + i], mean_of_block(row, i * 7, 7) - mean_of_block(row, i * 7, 14));
}

/* Rows of both axes: the columns of the last one are three times 24. */
static void short_blocks_begin_anew_along_their_axis(void **state) {
    (void)state;
    run("s = mean(x, block = 9); t = max(x) * 0 + mean(x, block = 9)", "0,1", "f64[3,24] f64[3,3] f64[3,24]");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            near(outputs[0][row * 3 + col / 9], mean_of_block(row, col, 9));
            near(outputs[1][row * COLS + col], mean_of_block(row, col, 9));
        }
    run("s = mean(x, block = 9)", "0", "f64[24,3]{1,24} f64[3,3]"); /* x transposed */
    for (int block = 0; block < 3; block++)
        for (int row = 0; row < ROWS; row++) near(outputs[0][block * 3 + row], mean_of_block(row, block * 9, 9));
}

static void argmax_counts_within_blocks(void **state) {
    (void)state;
    static const char *const programs[] = {"i = argmax(x, block = 8); m = max(x)",
                                           "i = argmax(x, block = 7); m = max(x)",
                                           "i = argmax(x, block = 7); m = max(x, block = 24)"};
    for (size_t p = 0; p < COUNT(programs); p++) {
        const int block = p ? 7 : 8, blocks = p ? 4 : 3;
        run(programs[p], NULL,
            p == 0   ? "f64[3,24] f64[3,3] f64[3]"
            : p == 1 ? "f64[3,24] f64[3,4] f64[3]"
                     : "f64[3,24] f64[3,4] f64[3,1]");
        for (int row = 0; row < ROWS; row++)
            for (int b = 0; b < blocks; b++) {
                int best = b * block;
                for (int col = best; col < end_of(b * block, block); col++)
                    if (at(row, col) > at(row, best)) best = col;
                near(outputs[0][row * blocks + b], best - b * block);
            }
    }
}

static void positions_count_whole_axes(void **state) {
    (void)state;
    run("i = index(-1) + 0 * sum(x, block = 8); n = size(1) + 0 * x; j = index(0) + sum(x, block = 8) * 0", NULL,
        "f64[3,24] f64[3,24] f64[3,24] f64[3,3]");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            near(outputs[0][row * COLS + col], col);
            near(outputs[1][row * COLS + col], COLS);
            near(outputs[2][row * 3 + col / 8], row);
        }
}

static void blocks_lie_along_any_axis(void **state) {
    (void)state;
    run("s = mean(x, block = 8)", "0", "f64[24,3]{1,24} f64[3,3]"); /* x transposed */
    for (int block = 0; block < 3; block++)
        for (int row = 0; row < ROWS; row++) near(outputs[0][block * 3 + row], mean(row, block * 8, 8));
}

static void axes_of_the_text_are_the_programs(void **state) {
    (void)state;
    run("s = sum(x, axes = 0); y = x - mean(x, axes = 0)", NULL, "f64[3,24] f64[24] f64[3,24]");
    for (int col = 0; col < COLS; col++) {
        const double sum = at(0, col) + at(1, col) + at(2, col);
        near(outputs[0][col], sum);
        for (int row = 0; row < ROWS; row++) near(outputs[1][row * COLS + col], at(row, col) - sum / 3);
    }
    run("s = max(x, axes = all); t = min(x, axes = all)", "0", "f64[3,24] f64[] f64[]");
    double most = -INFINITY;
    for (int i = 0; i < ROWS * COLS; i++) most = fmax(most, x[i]);
    near(outputs[0][0], most);
    run("s = max(x, axes = (0, -1))", "0", "f64[3,24] f64[]");
    near(outputs[0][0], most);
}

static void values_of_all_rows_stand_beside_rows(void **state) {
    (void)state;
    run("n = x - mean(x); d = sum(n * x, axes = 0); t = max(absmax(x), axes = all); m = mean(x, axes = all) * 2", NULL,
        "f64[3,24] f64[24] f64[] f64[]"); /* n is read */
    double most = 0, sum = 0;
    for (int col = 0; col < COLS; col++) {
        double d = 0;
        for (int row = 0; row < ROWS; row++) {
            d += (at(row, col) - mean(row, 0, COLS)) * at(row, col);
            most = fmax(most, fabs(at(row, col)));
            sum += at(row, col);
        }
        near(outputs[0][col], d);
    }
    near(outputs[1][0], most);
    near(outputs[2][0], sum / (ROWS * COLS) * 2);
    run("s = sum(x, axes = 1); c = sum(x, axes = 0) / 3", NULL, "f64[3,24] f64[3] f64[24]");
    for (int row = 0; row < ROWS; row++) near(outputs[0][row], mean(row, 0, COLS) * COLS);
    for (int col = 0; col < COLS; col++) near(outputs[1][col], (at(0, col) + at(1, col) + at(2, col)) / 3);
    /* A single column stays, as it does in every output that is made of x, or goes. */
    for (int shape = 0; shape < 3; shape++) {
        static const char *const tensors[] = {"f64[3,1] f64[1] f64[3,1]", "f64[3,1] f64[] f64[3]",
                                              "f64[3,1] f64[1,1] f64[3,1]"};
        run("s = sum(x, axes = 0); y = x - max(x)", NULL, tensors[shape]);
        near(outputs[0][0], x[0] + x[1] + x[2]);
    }
    run("s = sum(x, axes = 0) + 1; p = prod(x, axes = all); t = sum(x)", NULL, "f64[0,24] f64[24] f64[] f64[0]");
    for (int col = 0; col < COLS; col++) near(outputs[0][col], 1);
    near(outputs[1][0], 1);
}

static void a_parameter_of_that_name_is_an_argument(void **state) {
    (void)state;
    run("fn f(x, block = 2) = x * block; fn g(x) = mean(x, block = 8); y = f(x, block = 3); s = g(x)", NULL,
        "f64[3,24] f64[3,24] f64[3,3]");
    for (int i = 0; i < ROWS * COLS; i++) near(outputs[0][i], 3 * x[i]);
    near(outputs[1][0], mean(0, 0, 8));
}

/* s has 3 x 4 values, of 7 columns each but for the last. */
static void run_with_short_repeats(double *s) {
    static const char *const programs[] = {"y = x * repeat(s, 7)", "y = x * repeat(s, 7) + 0 * max(x)",
                                           "y = x * repeat(s, 7) + 0 * max(x, block = 9)"};
    for (size_t p = 0; p < COUNT(programs); p++) {
        bound b;
        assert_int_equal(bound_create(&b, programs[p], NULL, NULL, "f64[3,24] f64[3,4] f64[3,24]"), KILN_OK);
        b.tensors[0].data = x;
        b.tensors[1].data = s;
        b.tensors[2].data = outputs[0];
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, 3, NULL, 0), KILN_OK);
        bound_destroy(&b);
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < COLS; col++)
                near(outputs[0][row * COLS + col], at(row, col) * s[row * 4 + col / 7]);
    }
}

/* s is x's first 3 x 4 elements in memory. */
static void inputs_have_values_for_several_columns(void **state) {
    (void)state;
    static double s[ROWS * 4];
    static const char *const programs[] = {"y = x * repeat(s, 6)", "y = x * repeat(s, 6) + 0 * max(x)",
                                           "y = x * repeat(s, 6) + 0 * max(x, block = 3)"};
    fill();
    for (int i = 0; i < ROWS * 4; i++) s[i] = i + 1;
    for (size_t p = 0; p < COUNT(programs); p++) {
        bound b;
        assert_int_equal(bound_create(&b, programs[p], NULL, NULL, "f64[3,24] f64[3,4] f64[3,24]"), KILN_OK);
        b.tensors[0].data = x;
        b.tensors[1].data = s;
        b.tensors[2].data = outputs[0];
        assert_int_equal(kiln_run_cpu(b.program, b.tensors, 3, NULL, 0), KILN_OK);
        bound_destroy(&b);
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < COLS; col++)
                near(outputs[0][row * COLS + col], at(row, col) * s[row * 4 + col / 6]);
    }
    run_with_short_repeats(s);
    bound b;
    assert_int_equal(bound_create(&b, programs[0], NULL, NULL, "f64[3,24] f64[3,5] f64[3,24]"), KILN_OK);
    b.tensors[0].data = b.tensors[1].data = b.tensors[2].data = x;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, 3, NULL, 0), KILN_E_SHAPE);
    assert_string_equal(kiln_last_error(),
                        "input 's' of shape [3, 30] does not broadcast with the inputs before it, of "
                        "shape [3, 24]");
    bound_destroy(&b);
}

static void outputs_have_shapes(void **state) {
    (void)state;
    static const struct {
        const char *program, *axes, *shape;
        int keep;
    } cases[] = {
        {"s = sum(x, block = 8)", NULL, "3,5,6", 0},
        {"s = sum(x, block = 8) + x", NULL, "3,5,48", 0},
        {"s = sum(x, block = 8) + sum(x)", NULL, "3,5,6", 0},
        {"s = sum(x); t = sum(x, block = 8)", NULL, "3,5", 0},
        {"s = sum(x); t = sum(x, block = 8)", NULL, "3,5,1", 1},
        {"s = sum(x, block = 5)", "1", "3,1,48", 0},
        {"s = sum(x, block = 8) + sum(x, block = 4) + sum(x)", NULL, "3,5,12", 0},
        {"s = size(0); t = sum(x, block = 8)", NULL, "3,5,6", 0},
        {"s = sum(x, axes = (0, 2))", NULL, "5", 0},
        {"s = sum(x, axes = all)", NULL, "", 0},
        {"s = sum(x, axes = (0, 1)); t = sum(x)", NULL, "48", 0},
        {"s = sum(x, axes = (0, 1)); t = sum(x)", NULL, "1,1,48", 1},
        {"s = sum(max(x), axes = (0, 1)); t = sum(x)", NULL, "", 0},
        {"s = sum(x, axes = all); t = sum(x)", NULL, "1,1,1", 1},
        {"s = sum(x, axes = 2); t = sum(x, axes = all)", NULL, "3,5", 0},
        {"s = sum(x, axes = (0, 2)); t = sum(x)", "1", "5", 0},
        {"s = sum(x, block = 48)", NULL, "3,5,1", 0},
        {"s = sum(x, block = 7)", NULL, "3,5,7", 0},
        {"s = sum(x, block = 7) + sum(x)", NULL, "3,5,7", 0},
        {"s = sum(x, block = 7)", "1", "3,1,48", 0},
        {"s = sum(x, block = 4)", "1", "3,2,48", 0},
        {"s = size(0); t = sum(x, block = 7)", NULL, "3,5,7", 0},
        {"s = size(0); t = sum(x, block = 7) + max(x)", NULL, "3,5", 0},
        {"s = sum(x, block = 8) + sum(x, block = 12)", NULL, "3,5,48", 0},
        {"s = sum(x, block = 7) + sum(x, block = 14)", NULL, "3,5,7", 0},
        {"s = sum(x, block = 7) + sum(x, block = 100)", NULL, "3,5,7", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        char shape[80] = "";
        assert_int_equal(bound_create(&b, cases[i].program, cases[i].axes, NULL, "f32[3,5,48]"), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, cases[i].keep, &rank, sizes), KILN_OK);
        for (int d = 0; d < rank; d++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%d", d ? "," : "", (int)sizes[d]);
        if (strcmp(shape, cases[i].shape) != 0)
            fail_msg("%s: [%s], expected [%s]", cases[i].program, shape, cases[i].shape);
        bound_destroy(&b);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const bound_refusal cases[] = {
        {"s = sum(x, block = 7)", NULL, "f32[3,24] f32[3,3]", KILN_E_SHAPE,
         "output 's' has shape [3, 3], expected [3, 24] or, of one value for each block of 7, [3, 4]"},
        {"s = sum(x, block = 7)", NULL, "f32[3,24] f32[4]", KILN_E_SHAPE,
         "output 's' has shape [4], expected [3, 24] or, of one value for each block of 7, [3, 4]"},
        {"s = sum(x, block = 7); t = x + sum(x, block = 10)", NULL, "f32[3,24] f32[3,4] f32[3,3]", KILN_E_SHAPE,
         "output 't' has shape [3, 3], expected [3, 24]"},
        {"s = sum(x, block = 8) + sum(x, block = 12)", NULL, "f32[3,24] f32[3,3]", KILN_E_SHAPE,
         "output 's' has shape [3, 3], expected [3, 24]"},
        {"s = sum(x, block = 100) + max(x)", NULL, "f32[3,100001] f32[3,1001]", KILN_E_UNSUPPORTED,
         "no schedule has room for blocks of 100 columns within rows of 100001: what they reduce takes shared memory, "
         "expected fewer columns"},
        {"s = sum(x, block = 8)", NULL, "f32[3,24] f32[3,4]", KILN_E_SHAPE,
         "output 's' has shape [3, 4], expected [3, 24] or, of one value for each block, [3, 3]"},
        {"s = sum(x * repeat(r, 7))", NULL, "f32[3,24] f32[3,4] f32[3,4]", KILN_E_SHAPE,
         "output 's' has shape [3, 4], expected [3, 1] or the same without its reduced axes"},
        {"s = max(x, block = 8); t = sum(x)", NULL, "f32[3,24] f32[3] f32[3]", KILN_E_SHAPE,
         "output 's' has shape [3], expected [3, 3]"},
        {"s = max(x, block = 8); t = sum(x)", NULL, "f32[3,24] f32[3,3] f32[4]", KILN_E_SHAPE,
         "output 't' has shape [4], expected [3, 1] or the same without its reduced axes"},
        {"s = max(x, block = 8); t = sum(x)", NULL, "f32[3,24] f32[3,3] f32[3,3]", KILN_E_SHAPE,
         "output 't' has shape [3, 3], expected [3, 1] or the same without its reduced axes"},
        {"s = max(x, block = 8); t = sum(x)", "-2,-1", "f32[2,3,24] f32[2,3] f32[2]", KILN_E_SHAPE,
         "output 's' has shape [2, 3], expected [2, 3, 3]"},
        {"s = sum(x, block = 8)", "0", "f32[*,24] f32[*,24]", KILN_E_SIZE,
         "axis 0 has blocks of 8: it cannot be left open"},
        {"s = sum(x, block = 8)", "", "f32[3,24] f32[3,24]", KILN_E_AXIS,
         "blocks of 8 lie along the last of the reduced axes, which are none"},
        {"s = sum(x, block = 8)", NULL, "f32[1,1,1,1,1,1,3,24] f32[1,1,1,1,1,1,3,3]", KILN_E_SHAPE,
         "blocks take 1 axes more: tensors have rank 8, expected at most 7"},
        {"s = sum(x, axes = 0) + sum(x)", NULL, "f32[3,24] f32[24]", KILN_E_UNSUPPORTED,
         "1:22: '+' takes a value of all rows to make one of a row: two programs do that"},
        {"y = x - mean(x, axes = all) + max(x)", NULL, "f32[3,24] f32[3,24]", KILN_E_UNSUPPORTED,
         "1:7: '-' takes a value of all rows to make one of a row: two programs do that"},
        {"s = sum(sum(x, axes = 0))", NULL, "f32[3,24] f32[]", KILN_E_UNSUPPORTED,
         "1:5: 'sum' takes a value of all rows to make one of a row: two programs do that"},
        {"s = max(x, axes = 0); t = sum(x)", NULL, "f32[0,24] f32[24] f32[0]", KILN_E_SHAPE,
         "max over axis 0 of size 0 has no value"},
        {"s = argmax(x, axes = 0); t = sum(x)", NULL, "f32[3,24] f32[24] f32[3]", KILN_E_UNSUPPORTED,
         "1:5: 'argmax' runs across rows: expected sum, prod, max, min, any or all there"},
        {"s = sum(x, axes = 0); t = sum(x)", NULL, "f32[2,3,24] f32[3,24] f32[2,3]", KILN_E_UNSUPPORTED,
         "reductions run over axes of rows and over others: expected all the axes that rows keep there, or all axes"},
        {"s = sum(x, axes = 0); t = sum(x); u = sum(x, block = 8)", NULL, "f32[3,24] f32[24] f32[3] f32[3,3]",
         KILN_E_UNSUPPORTED, "the program has blocks, and reductions across rows: expected one of them"},
        {"m = sum(x); y = sum(x, axes = 0)", NULL, "f32[0,64] f32[0] e2m1[64]", KILN_E_UNSUPPORTED,
         "tensor 'y' has two elements of e2m1 in a byte, which the program takes apart: expected reductions over the "
         "last "
         "axis or none, an element for each column, and the same order of axes in all tensors"},
        {"s = sum(x, axes = 0); t = sum(x)", NULL, "f32[3,100000] f32[100000] f32[3]", KILN_E_UNSUPPORTED,
         "no schedule has room for values of all rows of 100000 columns: they take shared memory, expected fewer "
         "columns, or a program of their own"},
        {"s = sum(x, axes = 0); t = sum(x)", NULL, "f32[3,24] f32[3] f32[3]", KILN_E_SHAPE,
         "output 's' has shape [3], expected [1, 24] or the same without the axes that all rows are reduced over"},
        {"s = sum(x, axes = 0); t = max(x)", NULL, "f32[3,24] f32[3,24] f32[3]", KILN_E_SHAPE,
         "output 's' has shape [3, 24], expected [1, 24] or the same without the axes that all rows are reduced over"},
        {"s = sum(x, axes = all); t = max(x)", NULL, "f32[3,24] f32[1,24] f32[3]", KILN_E_SHAPE,
         "output 's' has shape [1, 24], expected [1, 1] or the same without the axes that all rows are reduced over"},
        {"s = sum(x, axes = 0) * sum(x, axes = 1) * sum(x, axes = 2) * sum(x, axes = all) * sum(x, axes = (0, 1))",
         NULL, "f32[2,3,24] f32[24]", KILN_E_LIMIT,
         "1:83: 'sum' runs over axes 0 and 1: expected at most 4 sets of axes in a program"},
        {"s = sum(x, axes = 2)", NULL, "f32[3,24] f32[3]", KILN_E_AXIS,
         "axis 2 is out of range for tensors of rank 2, expected -2 to 1"},
        {"s = sum(x, block = 1) + sum(x, block = 2) + sum(x, block = 4) + sum(x, block = 8)", NULL,
         "f32[3,24] f32[3,24]", KILN_E_LIMIT, "1:65: a program has blocks of more than 3 sizes"},
    };
    bound_expect_refusals(cases, COUNT(cases));
}

static void a_maximum_of_no_rows_is_refused_on_the_cpu_as_well(void **state) {
    (void)state;
    bound b;
    assert_int_equal(bound_create(&b, "s = max(x, axes = 0); t = sum(x)", NULL, NULL, "f64[0,24] f64[24] f64[0]"),
                     KILN_OK);
    for (size_t i = 0; i < b.tensor_count; i++) b.tensors[i].data = i ? outputs[i - 1] : x;
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0), KILN_E_SHAPE);
    assert_string_equal(kiln_last_error(), "max over axis 0 of size 0 has no value");
    bound_destroy(&b);
}

static void what_is_repeated_alone_has_all_columns(void **state) {
    (void)state;
    static const char *const programs[] = {"y = repeat(s, 3) * 2", "y = repeat(s, 3) * r * r"};
    double s[6] = {1, 2, 3, 4, 5, 6}, r[3] = {1, -1, 1}, y[18];
    for (size_t p = 0; p < COUNT(programs); p++) {
        bound b;
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        assert_int_equal(
            bound_create(&b, programs[p], NULL, NULL, p ? "f64[3,2] f64[3,1] f64[3,6]" : "f64[3,2] f64[3,6]"), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_OK);
        assert_int_equal(rank, 2);
        assert_int_equal(sizes[1], 6);
        b.tensors[0].data = s;
        b.tensors[1].data = r;
        b.tensors[b.tensor_count - 1].data = y;
        if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0))
            fail_msg("%s: %s", programs[p], kiln_last_error());
        for (int i = 0; i < 18; i++) assert_true(y[i] == s[i / 3] * (p ? 1 : 2));
        bound_destroy(&b);
    }
}

/* On a GPU blocks within rows are lanes of a warp where they can be; all others are reduced in shared memory. */
static void sums_of_what_is_repeated_are_of_rows(void **state) {
    (void)state;
    static const char *const tensors[] = {"f32[3,28] f32[3,4]", "f32[3,24] f32[3,4]"};
    for (size_t i = 0; i < COUNT(tensors); i++) {
        bound b;
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        assert_int_equal(bound_create(&b, "s = sum(x * repeat(r, 7))", NULL, NULL, tensors[i]), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_OK);
        assert_int_equal(rank, 1);
        assert_int_equal(sizes[0], 3);
        bound_destroy(&b);
    }
}

static void blocks_that_no_warp_has_lie_in_shared_memory(void **state) {
    (void)state;
    static const struct {
        const char *program, *tensors;
        bool shared;
    } cases[] = {
        {"y = x / absmax(x, block = 128) + max(x)", "bf16[8,1024] bf16[8,1024]", false},
        {"y = x / absmax(x, block = 100) + max(x)", "bf16[8,1200] bf16[8,1200]", true},
        {"y = x / absmax(x, block = 1024) + max(x)", "bf16[8,2048] bf16[8,2048]", true},
        {"y = x / absmax(x, block = 128) + max(x)", "bf16[8,1000] bf16[8,1000]", true},
        {"s = absmax(x, block = 64)", "f32[1000003] f32[15626]", true},
        {"s = argmax(x, block = 8) + max(x)", "f32[8,1024] f32[8,128]", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln__prepared p;
        assert_int_equal(bound_create(&b, cases[i].program, NULL, NULL, cases[i].tensors), KILN_OK);
        if (bound_prepare(&b, 90, &p)) fail_msg("%s: %s", cases[i].program, kiln_last_error());
        assert_int_equal(strstr(p.unexpanded, "block_slots.cuh") != NULL, cases[i].shared);
        kiln__prepared_free(&p);
        bound_destroy(&b);
    }
}

/* Blocks of one size alone are rows: their kernel is the one of a tensor that has them as rows. */
static void blocks_alone_have_the_kernel_of_rows(void **state) {
    (void)state;
    bound blocks, rows;
    kiln__prepared a, b;
    assert_int_equal(bound_create(&blocks, "y = softmax(x, block = 128)", NULL, NULL, "f16[64,1024] f16[64,1024]"),
                     KILN_OK);
    assert_int_equal(bound_create(&rows, "y = softmax(x)", NULL, NULL, "f16[512,128] f16[512,128]"), KILN_OK);
    assert_int_equal(bound_prepare(&blocks, 90, &a), KILN_OK);
    assert_int_equal(bound_prepare(&rows, 90, &b), KILN_OK);
    assert_string_equal(a.schedule.text, b.schedule.text);
    assert_string_equal(kiln__source_code(a.source), kiln__source_code(b.source));
    kiln__prepared_free(&a);
    kiln__prepared_free(&b);
    bound_destroy(&blocks);
    bound_destroy(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_alone_are_rows),
        cmocka_unit_test(blocks_lie_within_rows),
        cmocka_unit_test(blocks_have_several_sizes),
        cmocka_unit_test(a_block_of_more_columns_than_there_are_is_the_row),
        cmocka_unit_test(the_last_block_may_be_short),
        cmocka_unit_test(short_blocks_lie_within_rows),
        cmocka_unit_test(sizes_need_not_divide_one_another),
        cmocka_unit_test(short_blocks_begin_anew_along_their_axis),
        cmocka_unit_test(argmax_counts_within_blocks),
        cmocka_unit_test(positions_count_whole_axes),
        cmocka_unit_test(blocks_lie_along_any_axis),
        cmocka_unit_test(axes_of_the_text_are_the_programs),
        cmocka_unit_test(values_of_all_rows_stand_beside_rows),
        cmocka_unit_test(a_parameter_of_that_name_is_an_argument),
        cmocka_unit_test(inputs_have_values_for_several_columns),
        cmocka_unit_test(outputs_have_shapes),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_maximum_of_no_rows_is_refused_on_the_cpu_as_well),
        cmocka_unit_test(blocks_that_no_warp_has_lie_in_shared_memory),
        cmocka_unit_test(what_is_repeated_alone_has_all_columns),
        cmocka_unit_test(sums_of_what_is_repeated_are_of_rows),
        cmocka_unit_test(blocks_alone_have_the_kernel_of_rows),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}

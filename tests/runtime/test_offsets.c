/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie one behind the other, where offsets say: what they come to on the CPU reference whatever the offsets
 * are, shapes of outputs, what is refused, and which batches share a kernel. */
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

enum { ALL = 9, ROWS = 4, HEADS = 2 };

static double x[HEADS * ALL], outputs[3][HEADS * ALL];
static int64_t found[ROWS];

static void fill(void) {
    for (int i = 0; i < HEADS * ALL; i++) {
        x[i] = (i * 37 + 11) % 101;
        for (int o = 0; o < 3; o++) outputs[o][i] = -1;
    }
}

static int64_t between(int64_t at, int64_t low, int64_t high) { return at < low ? low : at > high ? high : at; }

static void equal(double got, double wanted) {
    if (!(got == wanted || (isnan(got) && isnan(wanted)))) fail_msg("%.17g, expected %.17g", got, wanted);
}

/* The first tensors are the offsets and x. */
static void run(const char *program, const char *tensors, const void *offsets, void *const data[], size_t count) {
    bound b;
    if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    assert_int_equal(b.tensor_count, count + 1);
    b.tensors[0].data = (void *)(uintptr_t)offsets;
    for (size_t i = 0; i < count; i++) b.tensors[1 + i].data = data[i];
    if (kiln_run_cpu(b.program, b.tensors, b.tensor_count, NULL, 0)) fail_msg("%s: %s", program, kiln_last_error());
    bound_destroy(&b);
}

static void check_rows(const int64_t given[ROWS + 1]) {
    fill();
    run("offsets(o); y = x * 2 - mean(x); s = sum(x) + 0 * size(-1); m = max(x); k = argmin(x)",
        "i64[5] f64[9] f64[9] f64[4] f64[4,1] i64[4]", given, (void *[]){x, outputs[0], outputs[1], outputs[2], found},
        5);
    double wanted[ALL];
    for (int i = 0; i < ALL; i++) wanted[i] = -1;
    for (int row = 0; row < ROWS; row++) {
        const int64_t begin = between(given[row], 0, ALL), end = between(given[row + 1], begin, ALL);
        double sum = 0, most = -INFINITY;
        int64_t least = end > begin ? begin : begin - 1;
        for (int64_t i = begin; i < end; i++) {
            sum += x[i];
            most = fmax(most, x[i]);
            if (x[i] < x[least]) least = i;
        }
        equal(outputs[1][row], sum);
        equal(outputs[2][row], most);
        assert_int_equal(found[row], least - begin);
        for (int64_t i = begin; i < end; i++) wanted[i] = x[i] * 2 - sum / (double)(end - begin);
    }
    for (int i = 0; i < ALL; i++) equal(outputs[0][i], wanted[i]);
}

/* Also where some are empty, where not all elements belong to one, and where offsets are none. */
static void rows_lie_where_offsets_say(void **state) {
    (void)state;
    check_rows((const int64_t[]){0, 3, 4, 7, 9});
    check_rows((const int64_t[]){0, 0, 9, 9, 9});
    check_rows((const int64_t[]){2, 5, 5, 6, 8});
    check_rows((const int64_t[]){-4, 2, 3, 100, INT64_MAX});
    check_rows((const int64_t[]){7, 3, 1, 0, INT64_MIN});
    check_rows((const int64_t[]){9, 12, -1, 20, 4});
}

/* Axes before the last are as anywhere; positions count within the row, and its number, and a value of the row is one
 * of [rows, 1]. */
static void other_axes_stay(void **state) {
    (void)state;
    static const int32_t given[] = {0, 4, 9};
    static double scale[] = {2, 3};
    fill();
    run("offsets(o); y = x * r + index(-1) * 100 + index(-2) * 1000 + index(-3) * 10000; t = take(x, 4)",
        "i32[3] f64[2,9] f64[2,1] f64[2,9] f64[2,2]", given, (void *[]){x, scale, outputs[0], outputs[1]}, 4);
    for (int head = 0; head < HEADS; head++)
        for (int i = 0; i < ALL; i++) {
            const int row = i >= 4, begin = row ? 4 : 0;
            equal(outputs[0][head * ALL + i],
                  x[head * ALL + i] * scale[row] + (i - begin) * 100 + row * 1000 + head * 10000);
            equal(outputs[1][head * 2], (double)NAN); /* a row of four columns has no fifth */
            equal(outputs[1][head * 2 + 1], x[head * ALL + 8]);
        }
}

/* Random numbers are those of the elements' places among all of them. */
static void uniform_is_of_the_place_among_all(void **state) {
    (void)state;
    static const int32_t given[] = {0, 4, 9};
    bound b;
    fill();
    run("offsets(o); y = x * 0 + uniform(7, 1)", "i32[3] f64[2,9] f64[2,9]", given, (void *[]){x, outputs[0]}, 2);
    assert_int_equal(bound_create(&b, "y = x * 0 + uniform(7, 1)", NULL, NULL, "f64[2,9] f64[2,9]"), KILN_OK);
    b.tensors[0].data = x;
    b.tensors[1].data = outputs[1];
    assert_int_equal(kiln_run_cpu(b.program, b.tensors, 2, NULL, 0), KILN_OK);
    bound_destroy(&b);
    for (int i = 0; i < HEADS * ALL; i++) equal(outputs[0][i], outputs[1][i]);
}

static void an_output_may_take_the_place_of_an_input(void **state) {
    (void)state;
    static const uint16_t given[] = {0, 4, 9};
    fill();
    run("offsets(o); y = x - x + max(x)", "u16[3] f64[9] f64[9]", given, (void *[]){x, x}, 2);
    for (int i = 0; i < ALL; i++) equal(x[i], i < 4 ? 85 : 95);
}

/* Of one element for all rows, or of none, or no rows at all. */
static void little_is_no_other(void **state) {
    (void)state;
    fill();
    run("offsets(o); y = x / sum(x); s = sum(x)", "i32[4] f64[1] f64[1] f64[3]", (const int32_t[]){0, 0, 1, 1},
        (void *[]){x, outputs[0], outputs[1]}, 3);
    equal(outputs[0][0], 1);
    for (int row = 0; row < 3; row++) equal(outputs[1][row], row == 1 ? x[0] : 0);
    run("offsets(o); y = x / sum(x) * r", "i32[2] f64[1,1] f64[1,1] f64[1,1]", (const int32_t[]){0, 1},
        (void *[]){x, (double[]){3}, outputs[0]}, 3);
    equal(outputs[0][0], 3);
    run("offsets(o); y = x / sum(x)", "i32[3] f64[2,1] f64[2,1]", (const int32_t[]){0, 0, 1}, (void *[]){x, outputs[0]},
        2);
    for (int head = 0; head < HEADS; head++) equal(outputs[0][head], 1);
    run("offsets(o); y = x * 2; m = max(x)", "i32[3] f64[0] f64[0] f64[2]", (const int32_t[]){0, 0, 0},
        (void *[]){x, outputs[0], outputs[1]}, 3);
    for (int row = 0; row < 2; row++) equal(outputs[1][row], -INFINITY);
    outputs[0][0] = 5;
    run("offsets(o); y = x * 2; m = max(x)", "i32[1] f64[9] f64[9] f64[0]", (const int32_t[]){3},
        (void *[]){x, outputs[0], outputs[1]}, 3);
    equal(outputs[0][0], 5);
}

static void outputs_have_their_shapes(void **state) {
    (void)state;
    static const struct {
        const char *program, *tensors, *shape;
    } cases[] = {
        {"offsets(o); y = softmax(x)", "i32[5] f32[9]", "9"},
        {"offsets(o); y = sum(x)", "i32[5] f32[9]", "4"},
        {"offsets(o); y = softmax(x)", "i32[5] f32[2,9]", "2,9"},
        {"offsets(o); y = sum(x)", "i32[5] f32[2,9]", "2,4"},
        {"offsets(o); y = sum(x) * r", "i32[5] f32[9] f32[4,1]", "4,1"},
        {"offsets(o); y = x * r", "i32[5] f32[9] f32[4,1]", "9"},
        {"offsets(o); y = index(-1) + 0 * sum(x)", "i32[5] f32[9]", "9"},
        {"offsets(o); y = x + 1", "i32[5] f32[1]", "1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        int32_t rank;
        int64_t sizes[KILN_MAX_RANK];
        char shape[64] = "";
        assert_int_equal(bound_create(&b, cases[i].program, NULL, NULL, cases[i].tensors), KILN_OK);
        if (kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes)) fail_msg("%s", kiln_last_error());
        for (int d = 0, used = 0; d < rank; d++)
            used += snprintf(shape + used, sizeof shape - (size_t)used, "%s%d", d ? "," : "", (int)sizes[d]);
        if (strcmp(shape, cases[i].shape)) fail_msg("%s: [%s], expected [%s]", cases[i].program, shape, cases[i].shape);
        bound_destroy(&b);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const bound_refusal cases[] = {
        {"offsets(o); y = max(x)", NULL, "f32[5] f32[9] f32[4]", KILN_E_TYPE,
         "1:9: the offsets of rows are integers, found f32"},
        {"offsets(o); y = x + o", NULL, "i32[5] f32[9] f32[9]", KILN_E_NAME,
         "1:9: offsets(o) is of an input that is read in no other way"},
        {"offsets(o); y = x; z = o", NULL, "i32[5] f32[9] f32[9] i32[4]", KILN_E_NAME,
         "1:9: offsets(o) is of an input that is read in no other way"},
        {"offsets(o); y = max(x, block = 2)", NULL, "i32[5] f32[9] f32[9]", KILN_E_UNSUPPORTED,
         "1:9: rows with lengths are reduced whole, or in blocks of one size alone: other axes are for programs "
         "without them"},
        {"offsets(o); y = x + rows(t, 1)", NULL, "i32[5] f32[9] f32[3,9] f32[9]", KILN_E_UNSUPPORTED,
         "1:9: offsets(o) goes with neither rows(t, i) nor put: two programs do that"},
        {"offsets(o); y = max(x)", NULL, "i32[5,1] f32[9] f32[4]", KILN_E_SHAPE,
         "offsets 'o' have shape [5, 1], expected one axis, with an element more than rows"},
        {"offsets(o); y = max(x)", NULL, "i32[0] f32[9] f32[4]", KILN_E_SHAPE,
         "offsets 'o' have shape [0], expected one axis, with an element more than rows"},
        {"offsets(o); y = max(x)", NULL, "i32[*] f32[9] f32[4]", KILN_E_SIZE,
         "offsets 'o' are left open: expected how many there are"},
        {"offsets(o); y = max(x)", NULL, "i32[5]{2} f32[9] f32[4]", KILN_E_UNSUPPORTED,
         "offsets 'o' have a stride of 2, expected 1"},
        {"offsets(o); y = max(x)", NULL, "i32[5] f32[*] f32[4]", KILN_E_SIZE,
         "the rows of 'x' lie one behind the other: expected how many elements they have together"},
        {"offsets(o); y = softmax(x) * w", NULL, "i32[5] f32[9] f32[7] f32[9]", KILN_E_SHAPE,
         "input 'w' has 7 columns, expected the 9 of all rows together, or 1 of each row"},
        {"offsets(o); y = softmax(x)", NULL, "i32[5] f32[9] f32[4,9]", KILN_E_SHAPE,
         "output 'y' has shape [4, 9], expected [9]: its rows lie one behind the other"},
        {"offsets(o); y = max(x)", NULL, "i32[5] f32[9] f32[9]", KILN_E_SHAPE,
         "output 'y' has shape [9], expected [4, 1] or the same without its reduced axes"},
        {"offsets(o); y = index(-1)", NULL, "i32[5] i64[9]", KILN_E_SHAPE,
         "offsets 'o' say where rows begin, and no input has such rows"},
        {"offsets(o); y = x", NULL, "i32[5] f32[1,1,1,1,1,1,1,9] f32[1,1,1,1,1,1,1,9]", KILN_E_SHAPE,
         "tensor 'x' has rank 8, and rows are an axis more: expected at most 7"},
        {"offsets(o); y = max(x)", "0", "i32[5] f32[9] f32[4]", KILN_E_AXIS,
         "rows that offsets place lie along the last axis: expected no other to be reduced over"},
        {"offsets(o); y = max(x)", "all", "i32[5] f32[9] f32[4]", KILN_E_AXIS,
         "rows with lengths lie along one axis, found 2 that are reduced over"},
        {"offsets(o); y = x + max(x)", NULL, "i32[5] e2m1[8] f32[8]", KILN_E_UNSUPPORTED,
         "tensor 'x' has two elements of e2m1 in a byte, which the program takes apart: expected reductions over the "
         "last axis or none, an element for each column, and the same order of axes in all tensors"},
    };
    bound_expect_refusals(cases, COUNT(cases));
}

static void texts_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"y = x; offsets(o)", "1:8: 'offsets' is said once, before all other statements"},
        {"offsets(o); offsets(p); y = x", "1:13: 'offsets' is said once, before all other statements"},
        {"lengths(3); offsets(o); y = x", "1:13: 'offsets' is said once, before all other statements"},
        {"lengths(3); lengths(4); y = x", "1:13: 'lengths' is said once, before all other statements"},
        {"offsets(o + 1); y = x", "1:11: expected ')', found '+'"},
        {"offsets(3); y = x", "1:9: expected the name of an input, found '3'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        assert_int_not_equal(bound_create(&b, cases[i][0], NULL, NULL, ""), KILN_OK);
        if (strcmp(kiln_last_error(), cases[i][1])) fail_msg("%s: %s", cases[i][0], kiln_last_error());
        bound_destroy(&b);
    }
}

static void a_tensor_may_be_called_offsets(void **state) {
    (void)state;
    static const int32_t given[] = {0, 4, 9};
    fill();
    run("offsets(offsets); y = x * 2", "i32[3] f64[9] f64[9]", given, (void *[]){x, outputs[0]}, 2);
    for (int i = 0; i < ALL; i++) equal(outputs[0][i], x[i] * 2);
}

/* Rows of about as many columns have one source, whatever their number and that of all elements. */
static void batches_share_a_kernel(void **state) {
    (void)state;
    static const char *const tensors[] = {"i32[101] f16[100000] f16[100000] f32[100]",
                                          "i32[8] f16[6001] f16[6001] f32[7]", "i32[2] f16[777] f16[777] f32[1]",
                                          "i32[101] f16[2000] f16[2000] f32[100]"};
    bound first_bound;
    kiln__prepared first;
    for (size_t i = 0; i < COUNT(tensors); i++) {
        bound other;
        kiln__prepared p;
        bound *b = i ? &other : &first_bound;
        assert_int_equal(bound_create(b, "offsets(o); y = softmax(x); l = logsumexp(x)", NULL, NULL, tensors[i]),
                         KILN_OK);
        if (bound_prepare(b, 90, i ? &p : &first)) fail_msg("%s", kiln_last_error());
        if (i == 0) continue;
        if ((strcmp(first.source, p.source) == 0) != (i < 3)) fail_msg("%s", tensors[i]);
        kiln__prepared_free(&p);
        bound_destroy(b);
    }
    kiln__prepared_free(&first);
    bound_destroy(&first_bound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_lie_where_offsets_say),
        cmocka_unit_test(other_axes_stay),
        cmocka_unit_test(uniform_is_of_the_place_among_all),
        cmocka_unit_test(an_output_may_take_the_place_of_an_input),
        cmocka_unit_test(little_is_no_other),
        cmocka_unit_test(outputs_have_their_shapes),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(texts_are_refused),
        cmocka_unit_test(a_tensor_may_be_called_offsets),
        cmocka_unit_test(batches_share_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

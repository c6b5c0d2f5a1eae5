/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, axes and canonical problems: what broadcasts, what is refused in which sentence, and that equal work looks
 * equal, down to the generated source and so to the cache's key. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_sizes(kiln__text *text, const char *name, int rank, const int64_t *sizes) {
    kiln__text_printf(text, "%s", name);
    for (int i = 0; i < rank; i++) kiln__text_printf(text, "%s%" PRId64, i ? "x" : " ", sizes[i]);
}

/* "inner 2x12 | 5; x +5; m 5x0; y +5": layout, kept and reduced extents, then for each tensor its step from row to row
 * or its strides along the kept ones, "row" where it has no columns, "at" with its strides where these do not lie side
 * by side. */
static char *problem_text(const kiln__prepared *prepared) {
    const kiln__problem *p = &prepared->problem;
    kiln__text text = {0};
    static const char *const layouts[] = {"flat", "inner", "outer"};
    add_sizes(&text, layouts[p->layout], p->outer_rank, p->outer);
    add_sizes(&text, " |", p->inner_rank, p->inner);
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        kiln__text_printf(&text, "; %s",
                          o < p->input_count ? prepared->ir->input_names[o]
                                             : prepared->ir->output_names[o - p->input_count]);
        if (operand->linear)
            kiln__text_printf(&text, " +%" PRId64, operand->row_stride);
        else
            add_sizes(&text, "", p->outer_rank, operand->outer_strides);
        if (p->layout == KILN__LAYOUT_FLAT) continue;
        if (!operand->per_element)
            kiln__text_puts(&text, " row");
        else if (!operand->contiguous_columns)
            add_sizes(&text, " at", p->inner_rank, operand->inner_strides);
    }
    char *out = kiln__text_take(&text);
    assert_non_null(out);
    return out;
}

/* ---- broadcasting ---- */

/* What the inputs of "y = a + b" broadcast to; NULL: they do not. */
static const struct {
    const char *a, *b;
    const char *shape;
} broadcasts[] = {
    {"f32[]", "f32[]", "f32[]"},
    {"f32[3]", "f32[]", "f32[3]"},
    {"f32[]", "f32[3]", "f32[3]"},
    {"f32[3]", "f32[1]", "f32[3]"},
    {"f32[1]", "f32[3]", "f32[3]"},
    {"f32[2,3]", "f32[3]", "f32[2,3]"},
    {"f32[3]", "f32[2,3]", "f32[2,3]"},
    {"f32[2,1]", "f32[3]", "f32[2,3]"},
    {"f32[2,1]", "f32[1,3]", "f32[2,3]"},
    {"f32[8,1,6,1]", "f32[7,1,5]", "f32[8,7,6,5]"},
    {"f32[1,1,1]", "f32[4]", "f32[1,1,4]"},
    {"f32[0]", "f32[1]", "f32[0]"},
    {"f32[1]", "f32[0]", "f32[0]"},
    {"f32[2,0]", "f32[2,1]", "f32[2,0]"},
    {"f32[0,3]", "f32[3]", "f32[0,3]"},
    {"f32[2,3,4,5,6,7,8,9]", "f32[9]", "f32[2,3,4,5,6,7,8,9]"},
    {"f32[*,4]", "f32[4]", "f32[*,4]"},
    {"f32[4]", "f32[*,1]", "f32[*,4]"},
    {"f32[*,4]", "f32[*,1]", "f32[*,4]"},
    {"f32[3]", "f32[4]", NULL},
    {"f32[2,3]", "f32[2]", NULL},
    {"f32[2,1]", "f32[8,4,3]", NULL},
    {"f32[0]", "f32[2]", NULL},
    {"f32[2]", "f32[0]", NULL},
    {"f32[*,4]", "f32[5,4]", NULL},
};

static void inputs_broadcast_as_in_numpy(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(broadcasts); i++) {
        bound b;
        char tensors[128];
        snprintf(tensors, sizeof tensors, "%s %s", broadcasts[i].a, broadcasts[i].b);
        assert_int_equal(bound_create(&b, "y = a + b", NULL, NULL, tensors), KILN_OK);
        int32_t rank = -1;
        int64_t sizes[KILN_MAX_RANK];
        kiln_status status = kiln_program_output_shape(b.program, b.tensors, 0, 1, &rank, sizes);
        if (!broadcasts[i].shape) {
            assert_int_equal(status, KILN_E_SHAPE);
            assert_non_null(strstr(kiln_last_error(), "input 'b' of shape"));
        } else {
            kiln_tensor expected[KILN_MAX_TENSORS];
            if (status) fail_msg("%s: %s", tensors, kiln_last_error());
            bound_tensors(broadcasts[i].shape, expected);
            assert_int_equal(rank, expected->rank);
            assert_memory_equal(sizes, expected->sizes, (size_t)rank * sizeof *sizes);
        }
        bound_destroy(&b);
    }
}

/* ---- what is refused ---- */

static const bound_refusal refusals[] = {
    {"y = a + b", NULL, "f32[2,3] f32[4] f32[2,3]", KILN_E_SHAPE,
     "input 'b' of shape [4] does not broadcast with the inputs before it, of shape [2, 3]"},
    {"y = x - label", NULL, "f32[8,10] i64[8] f32[8,10]", KILN_E_SHAPE,
     "input 'label' of shape [8] does not broadcast with the inputs before it, of shape [8, 10]; shapes are aligned "
     "from "
     "the right, so one value for each of the leading axes has shape [8, 1]"},
    {"y = label - x", NULL, "i64[2,8] f32[2,8,10] f32[2,8,10]", KILN_E_SHAPE,
     "input 'x' of shape [2, 8, 10] does not broadcast with the inputs before it, of shape [2, 8]; shapes are aligned "
     "from "
     "the right, so one value for each of the leading axes has shape [2, 8, 1]"},
    {"y = x * label", NULL, "f32[*,10] f32[*] f32[*,10]", KILN_E_SHAPE,
     "input 'label' of shape [*] does not broadcast with the inputs before it, of shape [*, 10]; shapes are aligned "
     "from "
     "the right, so one value for each of the leading axes has shape [*, 1]"},
    {"y = x * 2", NULL, "f32[2,3] f32[3]", KILN_E_SHAPE, "output 'y' has shape [3], expected [2, 3]"},
    {"y = x - max(x)", NULL, "f32[2,3] f32[2,1]", KILN_E_SHAPE, "output 'y' has shape [2, 1], expected [2, 3]"},
    {"s = max(x)", NULL, "f32[2,3] f32[3]", KILN_E_SHAPE,
     "output 's' has shape [3], expected [2, 1] or the same without its reduced axes"},
    {"s = max(x)", NULL, "f32[*,3] f32[4,1]", KILN_E_SHAPE,
     "output 's' has shape [4, 1], expected [*, 1] or the same without its reduced axes"},
    {"s = max(x)", NULL, "f32[2,0] f32[2]", KILN_E_SHAPE, "max over axis 1 of size 0 has no value"},
    {"s = min(x)", "all", "f32[1,0,3] f32[]", KILN_E_SHAPE, "min over axis 1 of size 0 has no value"},
    {"s = sum(x)", "2", "f32[2,3] f32[2]", KILN_E_AXIS,
     "axis 2 is out of range for tensors of rank 2, expected -2 to 1"},
    {"s = sum(x)", "-3", "f32[2,3] f32[2]", KILN_E_AXIS,
     "axis -3 is out of range for tensors of rank 2, expected -2 to 1"},
    {"s = sum(x)", "1,-1", "f32[2,3] f32[2]", KILN_E_AXIS, "axis -1 is given twice"},
    {"s = sum(x)", "0", "f32[] f32[]", KILN_E_AXIS, "axis 0 is out of range: the tensors have rank 0"},
    {"s = sum(x)", "0", "f32[*,3] f32[3]", KILN_E_AXIS, "axis 0 is left open and cannot be reduced over"},
    {"s = sum(x)", "all", "f32[*,3] f32[]", KILN_E_AXIS, "axis 0 is left open and cannot be reduced over"},
    {"y = x * 2", NULL, "f32[2,-5] f32[2,3]", KILN_E_SIZE, "tensor 'x' has size -5 along axis 1, expected 0 or more"},
    {"y = x * 2", NULL, "f32[-2] f32[3]", KILN_E_SIZE, "tensor 'x' has size -2 along axis 0, expected 0 or more"},
    {"y = x * 2", NULL, "f32[2,*] f32[2,3]", KILN_E_SIZE, "tensor 'x' has size -1 along axis 1, expected 0 or more"},
    {"y = a * b", NULL, "f32[*] f32[4,1] f32[4,4]", KILN_E_SIZE,
     "only the first axis of the widest tensor can be left open, not axis 1"},
    {"y = x * 2", NULL, "f32[4611686018427387904,2] f32[2]", KILN_E_SIZE,
     "tensor 'x' of shape [4611686018427387904, 2] has more bytes than 64 bits can count"},
    {"y = x * 2", NULL, "f64[1152921504606846976] f64[2]", KILN_E_SIZE,
     "tensor 'x' of shape [1152921504606846976] has more bytes than 64 bits can count"},
    {"y = x * 2", NULL, "f64[100,20001]{0,6666666666666200} f64[100,20001]", KILN_E_SIZE,
     "tensor 'x' of shape [100, 20001] has a stride of 6666666666666200 along axis 1: it reaches further than 64 bits "
     "can count"},
    {"y = x * 2", NULL, "i8[2,2] i8[2,2]{-9223372036854775808,1}", KILN_E_SIZE,
     "tensor 'y' of shape [2, 2] has a stride of -9223372036854775808 along axis 0: it reaches further than 64 bits "
     "can "
     "count"},
    {"y = x * 2", NULL, "i8[*,0]{1000000000000000,1} i8[*,0]", KILN_E_SIZE,
     "tensor 'x' of shape [*, 0] has a stride of 1000000000000000 along axis 0: it reaches further than 64 bits can "
     "count"},
    {"y = a * b", NULL, "i8[4294967296,1] i8[2147483648] i8[2]", KILN_E_SIZE,
     "the iteration space [4294967296, 2147483648] has more elements than 64 bits can count"},
    {"y = x * 2", NULL, "f32[2,3] f32[2,3]{0,1}", KILN_E_OVERLAP,
     "output 'y' overlaps itself: a stride of it is 0, expected 1 or more"},
    {"y = x * 2", NULL, "f32[2,3] f32[2,3]{1,1}", KILN_E_OVERLAP,
     "output 'y' overlaps itself: a stride of it is 1, expected 2 or more"},
    {"y = x * 2", NULL, "f32[2,3] f32[2,3]{2,1}", KILN_E_OVERLAP,
     "output 'y' overlaps itself: a stride of it is 2, expected 3 or more"},
    {"y = x * 2", NULL, "f32[4,2] f32[4,2]{-2,3}", KILN_E_OVERLAP,
     "output 'y' overlaps itself: a stride of it is 3, expected 7 or more"},
    {"s = sum(x)", "0", "f32[8,4] f32[4]{0}", KILN_E_OVERLAP,
     "output 's' overlaps itself: a stride of it is 0, expected 1 or more"},
};

static void what_does_not_fit_is_refused_in_one_sentence(void **state) {
    (void)state;
    bound_expect_refusals(refusals, COUNT(refusals));
}

static void a_type_number_or_rank_outside_its_range_is_refused(void **state) {
    (void)state;
    static const struct {
        int type, rank;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {99, 2, KILN_E_TYPE, "tensor 'x' has type number 99, which is no kiln_type"},
        {-1, 2, KILN_E_TYPE, "tensor 'x' has type number -1, which is no kiln_type"},
        {KILN_F32, 9, KILN_E_SHAPE, "tensor 'x' has rank 9, expected 0 to 8"},
        {KILN_F32, -1, KILN_E_SHAPE, "tensor 'x' has rank -1, expected 0 to 8"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, "y = x * 2", NULL, NULL, "f32[2,3] f32[2,3]"), KILN_OK);
        b.tensors[0].type = (kiln_type)cases[i].type;
        b.tensors[0].rank = cases[i].rank;
        assert_int_equal(bound_prepare(&b, 90, &prepared), cases[i].status);
        assert_string_equal(kiln_last_error(), cases[i].sentence);
        bound_destroy(&b);
    }
}

/* ---- canonical form ---- */

static const struct {
    const char *program, *axes, *tensors, *problem;
} problems[] = {
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", "inner 8 | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[2,4,12] f16[2,4,12]", "inner 8 | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[1,8,1,12] f16[1,8,1,12]", "inner 8 | 12; x +12; y +12"},
    {"y = softmax(x)", "-1,-2", "f16[8,3,4] f16[8,3,4]", "inner 8 | 12; x +12; y +12"},
    {"y = softmax(x)", "1,3", "f16[8,3,1,4] f16[8,3,1,4]", "inner 8 | 12; x +12; y +12"},
    {"y = softmax(x)", "all", "f16[3,4] f16[3,4]", "inner | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[1,12] f16[1,12]", "inner | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[12] f16[12]", "inner | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[*,12] f16[*,12]", "inner 65536 | 12; x +12; y +12"},
    {"y = softmax(x)", NULL, "f16[8,1] f16[8,1]", "outer 8 |; x +1 row; y +1 row"},
    {"s = sum(x)", NULL, "f16[8,12] f16[8,1]", "inner 8 | 12; x +12; s +1 row"},
    {"s = sum(x)", NULL, "f16[8,12] f16[8]", "inner 8 | 12; x +12; s +1 row"},
    {"s = sum(x)", NULL, "f16[8,12] f16[8,12]", "inner 8 | 12; x +12; s +12"},
    {"s = sum(x)", "all", "f16[8,12] f16[]", "inner | 96; x +96; s +1 row"},
    {"y = x * w + sum(x)", NULL, "f16[8,12] f16[12] f16[8,12]", "inner 8 | 12; x +12; w +0; y +12"},
    {"y = x * w + sum(x)", NULL, "f16[8,12] f16[8,1] f16[8,12]", "inner 8 | 12; x +12; w +1 row; y +12"},
    {"y = x * w + sum(x)", NULL, "f16[8,12] f16[] f16[8,12]", "inner 8 | 12; x +12; w +0 row; y +12"},
    {"y = x * w + sum(x)", "-1,-2", "f16[8,3,4] f16[4] f16[8,3,4]", "inner 8 | 3x4; x +12; w +0 at 0x1; y +12"},
    {"y = x * w + sum(x)", "-1,-2", "f16[8,3,4] f16[3,1] f16[8,3,4]", "inner 8 | 3x4; x +12; w +0 at 1x0; y +12"},
    {"y = softmax(x + m)", NULL, "f16[2,3,4,5] f16[2,1,1,5] f16[2,3,4,5]", "inner 2x12 | 5; x +5; m 5x0; y +5"},
    {"y = softmax(x + m)", NULL, "f16[2,3,4,5] f16[3,1,5] f16[2,3,4,5]", "inner 2x3x4 | 5; x +5; m 0x5x0; y +5"},
    {"y = x + 1", NULL, "f32[2,3,4] f32[2,3,4]", "flat 24 |; x +1; y +1"},
    {"y = x + 1", "0", "f32[2,3,4] f32[2,3,4]", "flat 24 |; x +1; y +1"},
    {"y = x + 1", NULL, "f32[] f32[]", "flat |; x +1; y +1"},
    {"y = x + 1", NULL, "f32[0,3] f32[0,3]", "flat 0 |; x +1; y +1"},
    {"y = a + b", NULL, "f32[4,6] f32[6] f32[4,6]", "flat 4x6 |; a +1; b 0x1; y +1"},
    {"y = a + b", NULL, "f32[4,6] f32[4,1] f32[4,6]", "flat 4x6 |; a +1; b 1x0; y +1"},
    {"y = a + b", NULL, "f32[4,6] f32[] f32[4,6]", "flat 24 |; a +1; b +0; y +1"},
    {"y = a + b", NULL, "f32[*,6] f32[6] f32[*,6]", "flat 65536x6 |; a +1; b 0x1; y +1"},
    /* any axes: rows lie side by side where the last axis is kept */
    {"y = softmax(x)", "0", "f16[8,12] f16[8,12]", "outer 12 | 8; x +1 at 12; y +1 at 12"},
    {"y = softmax(x)", "0,1", "f16[2,4,12] f16[2,4,12]", "outer 12 | 8; x +1 at 12; y +1 at 12"},
    {"y = softmax(x)", "0", "f16[8,3,4] f16[8,3,4]", "outer 12 | 8; x +1 at 12; y +1 at 12"},
    {"y = softmax(x)", "1", "f16[2,8,12] f16[2,8,12]", "outer 2x12 | 8; x 96x1 at 12; y 96x1 at 12"},
    {"y = softmax(x)", "0,2", "f16[2,8,12] f16[2,8,12]", "inner 8 | 2x12; x +12 at 96x1; y +12 at 96x1"},
    {"s = sum(x)", "1,2", "f16[2,3,4,8] f16[2,8]", "outer 2x8 | 12; x 96x1 at 8; s +1 row"},
    {"s = sum(x)", "0,2,3", "f16[2,8,3,4] f16[8]", "inner 8 | 2x12; x +12 at 96x1; s +1 row"},
    {"s = sum(x)", "0", "f16[8,1] f16[1]", "outer | 8; x +8; s +1 row"},
    {"y = x * w + sum(x)", "0", "f16[8,12] f16[12] f16[8,12]", "outer 12 | 8; x +1 at 12; w +1 row; y +1 at 12"},
    {"y = x * w + sum(x)", "0", "f16[8,12] f16[8,1] f16[8,12]", "outer 12 | 8; x +1 at 12; w +0; y +1 at 12"},
    /* any strides */
    {"y = softmax(x)", NULL, "f16[8,12]{16,1} f16[8,12]", "inner 8 | 12; x +16; y +12"},
    {"y = softmax(x)", NULL, "f16[8,12]{1,8} f16[8,12]{1,8}", "outer 8 | 12; x +1 at 8; y +1 at 8"},
    {"y = softmax(x)", NULL, "f16[8,12]{24,2} f16[8,12]", "inner 8 | 12; x +24 at 2; y +12"},
    {"y = softmax(x)", NULL, "f16[8,12]{-12,1} f16[8,12]", "inner 8 | 12; x +-12; y +12"},
    {"y = softmax(x)", NULL, "f16[8,12]{12,-1} f16[8,12]", "inner 8 | 12; x +12 at -1; y +12"},
    {"y = softmax(x)", NULL, "f16[8,12]{0,1} f16[8,12]", "inner 8 | 12; x +0; y +12"},
    {"y = softmax(x)", NULL, "f16[8,12]{1,1} f16[8,12]", "inner 8 | 12; x +1; y +12"},
    {"y = softmax(x)", NULL, "f16[2,4,12]{64,16,1} f16[2,4,12]", "inner 8 | 12; x +16; y +12"},
    {"y = softmax(x)", NULL, "f16[2,4,12]{65,16,1} f16[2,4,12]", "inner 2x4 | 12; x 65x16; y +12"},
    {"y = x + 1", NULL, "f32[4,6]{1,4} f32[4,6]{1,4}", "flat 24 |; x +1; y +1"},
    {"y = x + 1", NULL, "f32[4,6]{1,4} f32[4,6]", "flat 4x6 |; x 1x4; y +1"},
    {"y = x + 1", NULL, "f32[4,6] f32[4,6]{1,4}", "flat 6x4 |; x 1x6; y +1"},
    {"y = x + 1", NULL, "f32[4,6]{8,1} f32[4,6]", "flat 4x6 |; x 8x1; y +1"},
    {"y = x + 1", NULL, "f32[24]{2} f32[24]", "flat 24 |; x 2; y +1"},
    {"y = x + 1", NULL, "f32[4,6]{-6,-1} f32[4,6]", "flat 24 |; x -1; y +1"},
};

static void equal_work_has_one_canonical_form(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(problems); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, problems[i].program, problems[i].axes, NULL, problems[i].tensors), KILN_OK);
        if (bound_prepare(&b, 90, &prepared))
            fail_msg("%s of %s: %s", problems[i].program, problems[i].tensors, kiln_last_error());
        char *text = problem_text(&prepared);
        if (strcmp(text, problems[i].problem))
            fail_msg("%s of %s: %s\nexpected %s", problems[i].program, problems[i].tensors, text, problems[i].problem);
        free(text);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

static void only_alignment_up_to_16_bytes_is_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *tensors;
        int elements;
    } cases[] = {
        {"f16[8] f16[8]", 8},   {"f16[8]@16 f16[8]", 8}, {"f16[8]@32 f16[8]", 8}, {"f16[8]@24 f16[8]", 4},
        {"f16[8]@4 f16[8]", 2}, {"f16[8]@2 f16[8]", 1},  {"f32[8] f32[8]", 4},    {"f32[8]@8 f32[8]", 2},
        {"f32[8]@4 f32[8]", 1}, {"f64[8] f64[8]", 2},    {"f64[8]@8 f64[8]", 1},  {"i8[8]@1 i8[8]", 1},
        {"i8[8] i8[8]", 16},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, "y = x + 1", NULL, NULL, cases[i].tensors), KILN_OK);
        assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
        assert_int_equal(prepared.problem.operands[0].alignment, cases[i].elements);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

static char *source_of(const char *program, const char *axes, const char *tensors) {
    bound b;
    kiln__prepared prepared;
    assert_int_equal(bound_create(&b, program, axes, NULL, tensors), KILN_OK);
    if (bound_prepare(&b, 90, &prepared)) fail_msg("%s of %s: %s", program, tensors, kiln_last_error());
    char *source = prepared.source;
    prepared.source = NULL;
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
    return source;
}

/* Sources of the same program; `same` tells whether the two must be one kernel. */
static const struct {
    const char *program, *axes, *tensors, *other_axes, *other;
    bool same;
} pairs[] = {
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", NULL, "f16[2,2,2,12] f16[2,2,2,12]", true},
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", "-1,-2", "f16[8,3,4] f16[8,3,4]", true},
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", "-3,-1", "f16[1,8,3,1,4] f16[1,8,3,1,4]", true},
    {"s = sum(x)", NULL, "f16[8,12] f16[8,1]", NULL, "f16[8,12] f16[8]", true},
    {"s = sum(x)", NULL, "f16[8,12] f16[8]", NULL, "f16[8,12] f16[8,12]", false},
    {"y = x + 1", NULL, "f16[8,12] f16[8,12]", "all", "f16[96] f16[96]", true},
    {"s = sum(x)", NULL, "f16[8,0] f16[8]", NULL, "f16[8,0]{1,0} f16[8]", true},
    /* the number of rows */
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[7,1024] f16[7,1024]", true},
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[100000,1024] f16[100000,1024]", true},
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[3000000000,1024] f16[3000000000,1024]", true},
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[*,1024] f16[*,1024]", true},
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[1,1024] f16[1,1024]", true},
    {"y = softmax(x)", NULL, "f16[2,1023] f16[2,1023]", NULL, "f16[1,1023] f16[1,1023]", true},
    {"y = softmax(x)", NULL, "f16[2,1024] f16[2,1024]", NULL, "f16[0,1024] f16[0,1024]", true},
    {"y = x * w + sum(x)", NULL, "f16[2,64] f16[64] f16[2,64]", NULL, "f16[1,64] f16[64] f16[1,64]", true},
    {"y = x * w + sum(x)", NULL, "f16[2,64] f16[2,1] f16[2,64]", NULL, "f16[5,64] f16[5,1] f16[5,64]", true},
    {"y = a + b", NULL, "f16[2,64] f16[64] f16[2,64]", NULL, "f16[9,64] f16[64] f16[9,64]", true},
    {"y = softmax(x + m)", NULL, "f16[2,3,4,8] f16[2,1,1,8] f16[2,3,4,8]", NULL,
     "f16[7,12,9,8] f16[7,1,1,8] f16[7,12,9,8]", true},
    /* With one row, or one of a broadcast axis, nothing tells whether a tensor would follow it: another kernel. */
    {"y = a + b", NULL, "f16[2,64] f16[64] f16[2,64]", NULL, "f16[1,64] f16[64] f16[1,64]", false},
    {"y = x * w + sum(x)", NULL, "f16[2,64] f16[1,64] f16[2,64]", NULL, "f16[1,64] f16[1,64] f16[1,64]", false},
    {"y = softmax(x + m)", NULL, "f16[2,3,4,8] f16[2,1,1,8] f16[2,3,4,8]", NULL,
     "f16[1,3,4,8] f16[1,1,1,8] f16[1,3,4,8]", false},
    /* pointers: only what an address allows counts, up to 16 bytes */
    {"y = softmax(x)", NULL, "f16[8,16]@16 f16[8,16]@16", NULL, "f16[8,16]@256 f16[8,16]@4096", true},
    {"y = softmax(x)", NULL, "f16[8,16]@16 f16[8,16]@16", NULL, "f16[8,16] f16[8,16]", true},
    {"y = softmax(x)", NULL, "f16[8,16]@16 f16[8,16]@16", NULL, "f16[8,16]@8 f16[8,16]@16", false},
    {"y = softmax(x)", NULL, "f16[8,4096]@8 f16[8,4096]@8", NULL, "f16[8,4096]@4 f16[8,4096]@4", false},
    {"y = softmax(x)", NULL, "f16[8,4096]@4 f16[8,4096]@4", NULL, "f16[8,4096]@2 f16[8,4096]@2", false},
    {"y = softmax(x)", NULL, "f16[8,16]@4 f16[8,16]@4", NULL, "f16[8,16]@2 f16[8,16]@2",
     true}, /* copied from anywhere */
    {"y = exp(x)", NULL, "f16[99]@4 f16[99]@4", NULL, "f16[99]@2 f16[99]@2", true},
    {"y = exp(x)", NULL, "f16[9,20]{22,1} f16[9,20]{22,1}", NULL, "f16[9,21]{25,1}@2 f16[9,21]{25,1}@2", true},
    /* the order of dimensions, and merging them */
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", "0", "f16[12,8]{1,12} f16[12,8]{1,12}", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "0", "f16[8,5,12]{12,96,1} f16[8,5,12]{12,96,1}", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "-1", "f16[12,5,8]{1,96,12} f16[12,5,8]{1,96,12}", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "1,2", "f16[5,2,4,12] f16[5,2,4,12]", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "2,1", "f16[5,2,4,12] f16[5,2,4,12]", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "1", "f16[5,8,3,4] f16[5,8,3,4]", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "2", "f16[1,5,8,12]{7,96,12,1} f16[1,5,8,12]", true},
    {"y = softmax(x)", "1", "f16[5,8,12] f16[5,8,12]", "3", "f16[5,1,1,8,1,12] f16[5,1,1,8,1,12]", true},
    {"s = sum(x)", "0,2,3", "f16[2,8,3,4] f16[8]", "1,2,3", "f16[8,2,3,4]{12,96,4,1} f16[8]", true},
    {"s = sum(x)", "0,1", "f16[6,5,8] f16[8]", "0,1", "f16[5,6,8]{8,40,1} f16[8]", true},
    {"y = x + 1", NULL, "f16[8,12] f16[8,12]", NULL, "f16[8,12]{1,8} f16[8,12]{1,8}", true},
    {"y = x + 1", NULL, "f16[8,12] f16[8,12]{1,8}", NULL, "f16[12,8]{1,12} f16[12,8]", true},
    {"y = a + b", NULL, "f16[8,12] f16[12] f16[8,12]", NULL, "f16[12,8]{1,12} f16[12,1] f16[12,8]{1,12}", true},
    {"y = softmax(x)", NULL, "f16[8,12] f16[8,12]", "0", "f16[8,12] f16[8,12]", false},
    /* strides: a broadcast dimension is one of stride 0; a step or a direction that no pack can follow counts */
    {"y = a + b", NULL, "f16[8,12] f16[12] f16[8,12]", NULL, "f16[8,12] f16[8,12]{0,1} f16[8,12]", true},
    {"y = x * w + sum(x)", NULL, "f16[2,64] f16[64] f16[2,64]", NULL, "f16[2,64] f16[2,64]{0,1} f16[2,64]", true},
    {"y = softmax(x)", NULL, "f16[8,16]{24,1} f16[8,16]", NULL, "f16[9,16]{40,1} f16[9,16]", true},
    {"y = softmax(x)", NULL, "f16[8,12]{24,2} f16[8,12]", NULL, "f16[8,12]{36,3} f16[8,12]", true},
    {"y = softmax(x)", NULL, "f16[8,12]{24,2} f16[8,12]", NULL, "f16[8,12]{-12,-1} f16[8,12]", true},
    {"y = softmax(x)", NULL, "f16[8,12]{24,2} f16[8,12]", NULL, "f16[8,12] f16[8,12]", false},
    /* types */
    {"y = softmax(x)", NULL, "f16[8,16] f16[8,16]", NULL, "f16[8,16] f32[8,16]", false},
    {"y = softmax(x)", NULL, "f16[8,16] f16[8,16]", NULL, "bf16[8,16] bf16[8,16]", false},
};

static void equivalent_descriptions_give_the_same_source(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char *source = source_of(pairs[i].program, pairs[i].axes, pairs[i].tensors);
        char *other = source_of(pairs[i].program, pairs[i].other_axes, pairs[i].other);
        if (!strcmp(source, other) != pairs[i].same)
            fail_msg("%s of %s and of %s: expected %s source", pairs[i].program, pairs[i].tensors, pairs[i].other,
                     pairs[i].same ? "the same" : "another");
        free(source);
        free(other);
    }
}

static void rows_left_open_stay_out_of_the_key(void **state) {
    (void)state;
    bound b;
    kiln__prepared prepared;
    assert_int_equal(bound_create(&b, "y = softmax(x)", NULL, NULL, "f16[*,12] f16[*,12]"), KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
    assert_true(prepared.problem.open_rows);
    assert_null(strstr(prepared.source, "65536"));
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_broadcast_as_in_numpy),
        cmocka_unit_test(what_does_not_fit_is_refused_in_one_sentence),
        cmocka_unit_test(a_type_number_or_rank_outside_its_range_is_refused),
        cmocka_unit_test(equal_work_has_one_canonical_form),
        cmocka_unit_test(only_alignment_up_to_16_bytes_is_told_apart),
        cmocka_unit_test(equivalent_descriptions_give_the_same_source),
        cmocka_unit_test(rows_left_open_stay_out_of_the_key),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}

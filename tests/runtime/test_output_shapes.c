/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of outputs: they follow from the program's text and from what its inputs broadcast to, and are shapes that
 * a run takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *program, *axes, *inputs;
    int keep;
    const char *shape;
} output_shapes[] = {
    {"s = sum(x)", NULL, "f32[2,3,4]", 1, "f32[2,3,1]"},
    {"s = sum(x)", NULL, "f32[2,3,4]", 0, "f32[2,3]"},
    {"s = sum(x)", "-1,-2", "f32[2,3,4]", 1, "f32[2,1,1]"},
    {"s = sum(x)", "0,2", "f32[2,3,4]", 0, "f32[3]"},
    {"s = sum(x)", "all", "f32[2,3,4]", 0, "f32[]"},
    {"s = sum(x)", "all", "f32[2,3,4]", 1, "f32[1,1,1]"},
    {"s = sum(x)", NULL, "f32[*,4]", 0, "f32[*]"},
    {"s = sum(x)", NULL, "f32[]", 0, "f32[]"},
    {"y = x - max(x)", NULL, "f32[2,3]", 0, "f32[2,3]"},
    {"y = x - max(w)", NULL, "f32[2,1] f32[3]", 0, "f32[2,1]"},
    {"y = x * x", NULL, "f32[2,1]", 0, "f32[2,1]"},
    /* Extents of 1 and strides of 0 are as any others. */
    {"y = softmax(x)", NULL, "f32[3,1]", 0, "f32[3,1]"},
    {"y = softmax(x)", NULL, "f32[2,3]{1,0}", 0, "f32[2,3]"},
    {"y = softmax(x)", NULL, "f32[4,0]{0,0}", 0, "f32[4,0]"},
    {"y = softmax(x)", "all", "f32[1,1]", 0, "f32[1,1]"},
    {"y = x - max(x)", "0,2", "f32[1,4,1]", 0, "f32[1,4,1]"},
    {"y = x - max(x)", "0", "f32[1,4]{0,0}", 0, "f32[1,4]"},
    {"y = x / sum(w)", NULL, "f32[2,3]{0,0} f32[3]", 1, "f32[2,3]"},
    {"s = sum(x)", NULL, "f32[3,1]", 0, "f32[3]"},
    {"s = sum(x)", NULL, "f32[2,3]{1,0}", 0, "f32[2]"},
    /* What an output depends on outside of reductions broadcasts: one of [2, 1] beside a row's value stays so. */
    {"y = b * sum(x)", NULL, "f32[2,1] f32[2,3]", 0, "f32[2,1]"},
    {"y = b * sum(x)", NULL, "f32[2,1]{1,0} f32[2,3]", 1, "f32[2,1]"},
    {"y = b * sum(x)", NULL, "f32[2,3] f32[2,3]", 0, "f32[2,3]"},
    {"y = b * sum(x)", NULL, "f32[3] f32[2,3]", 0, "f32[2,3]"},
    {"y = b * sum(x)", NULL, "f32[1] f32[2,3]", 0, "f32[2,1]"},
    {"y = b * c * sum(x)", NULL, "f32[2,1] f32[3] f32[2,3]", 0, "f32[2,3]"},
    {"y = b * sum(x)", "0,2", "f32[2,3,1] f32[2,3,4]", 0,
     "f32[2,3,4]"}, /* one element along all reduced axes, or all */
    {"y = b * sum(x)", "0,2", "f32[1,3,1] f32[2,3,4]", 0, "f32[1,3,1]"},
    /* A tensor of lower rank lacks the axis that is reduced. */
    {"y = b * sum(x)", NULL, "f32[] f32[2,3]", 0, "f32[2]"},
    {"y = b * sum(x)", NULL, "f32[] f32[2,3]", 1, "f32[2,1]"},
    {"y = b * sum(x)", "0", "f32[3] f32[2,3]", 0, "f32[3]"},
    /* Places along the axis. */
    {"y = index(1) * sum(x)", NULL, "f32[2,3]", 0, "f32[2,3]"},
    {"y = index(-1) * sum(x)", NULL, "f32[2,1]", 0, "f32[2,1]"},
    {"y = index(0) * sum(x)", NULL, "f32[2,3]", 0, "f32[2]"},
    {"y = index(0) * sum(x)", "0,1", "f32[1,3]", 0, "f32[1,3]"},
    {"y = size(1) * sum(x)", NULL, "f32[2,3]", 0, "f32[2]"},
    {"y = uniform(7, 0) * sum(x)", NULL, "f32[2,1]", 0, "f32[2,1]"},
    {"y = sum(x * uniform(7, 0) + index(1))", NULL, "f32[2,3]", 0, "f32[2]"},
    /* Nothing at all. */
    {"y = 5 + sum(x) * 0", NULL, "f32[2,3]", 0, "f32[2]"},
    /* A program that reduces nothing has no reduced axes. */
    {"y = x * 2", NULL, "f32[2,3]{1,0}", 0, "f32[2,3]"},
    {"y = x * 2", "all", "f32[1,1]", 0, "f32[1,1]"},
};

static void outputs_keep_or_drop_the_reduced_axes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(output_shapes); i++) {
        bound b;
        kiln_tensor expected[KILN_MAX_TENSORS];
        int32_t rank = -1;
        int64_t sizes[KILN_MAX_RANK];
        assert_int_equal(
            bound_create(&b, output_shapes[i].program, output_shapes[i].axes, NULL, output_shapes[i].inputs), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, output_shapes[i].keep, &rank, sizes),
                         KILN_OK);
        bound_tensors(output_shapes[i].shape, expected);
        if (rank != expected->rank || memcmp(sizes, expected->sizes, (size_t)rank * sizeof *sizes))
            fail_msg("%s of %s: rank %d, expected %s", output_shapes[i].program, output_shapes[i].inputs, rank,
                     output_shapes[i].shape);
        bound_destroy(&b);
    }
}

/* The shapes are those that a run takes, and rank follows from the text: whatever the extents and strides. */
static void extents_and_strides_decide_no_rank(void **state) {
    (void)state;
    static const char *const programs[] = {
        "y = softmax(x)",
        "y = sum(x)",
        "y = w * sum(x)",
        "y = b * sum(x)",
        "y = x * w + b",
        "y = index(1) + mean(x)",
        "y = b + 2; s = sum(x)",
        "y = max(x + w * b) - b",
        "y = uniform(1, 2) + sum(x)",
        "y = 3; s = sum(x * b)",
    };
    static const char *const inputs[][3] = {
        {"f32[4,6]", "f32[4,6]", "f32[4,6]"},
        {"f32[4,6]", "f32[1,6]", "f32[4,1]"},
        {"f32[4,1]", "f32[1,1]", "f32[4,1]"},
        {"f32[1,6]", "f32[1,1]", "f32[1,6]"},
        {"f32[4,6]{1,0}", "f32[4,6]{0,0}", "f32[4,6]{6,0}"},
        {"f32[1,1]", "f32[1,1]", "f32[1,1]"},
    };
    for (size_t p = 0; p < COUNT(programs); p++) {
        int32_t usual[2] = {-1, -1};
        for (size_t i = 0; i < COUNT(inputs); i++) {
            bound b;
            char text[128] = "";
            assert_int_equal(bound_create_outputs(&b, programs[p], "y", NULL, NULL, ""), KILN_OK);
            for (size_t t = 0; t < kiln_program_input_count(b.program); t++) {
                const char *name = kiln_program_input_name(b.program, t);
                strcat(strcat(text, inputs[i][*name == 'x' ? 0 : *name == 'w' ? 1 : 2]), " ");
            }
            b.tensor_count = bound_tensors(text, b.tensors);
            for (int keep = 0; keep < 2 && b.tensor_count; keep++) {
                kiln_tensor *y = &b.tensors[b.tensor_count];
                kiln__prepared prepared;
                int64_t sizes[KILN_MAX_RANK];
                int32_t rank = -1;
                assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, keep, &rank, sizes), KILN_OK);
                if (usual[keep] < 0) usual[keep] = rank;
                if (rank != usual[keep])
                    fail_msg("%s of %s: rank %d, elsewhere %d", programs[p], text, rank, usual[keep]);
                *y = kiln_tensor_contiguous(NULL, KILN_F32, rank, sizes);
                b.tensor_count++;
                if (bound_prepare(&b, 90, &prepared)) fail_msg("%s of %s: %s", programs[p], text, kiln_last_error());
                kiln__prepared_free(&prepared);
                b.tensor_count--;
            }
            bound_destroy(&b);
        }
    }
}

/* Types play no part: a seed is an integer, whatever type a scalar is given later. */
static void shapes_are_told_before_scalars_have_types(void **state) {
    (void)state;
    static const char *const programs[] = {"y = dropout(x, 0.5, k)", "y = x + (index(0) << k)",
                                           "y = x * (index(1) & k)", "y = x * k"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        bound b;
        int32_t rank = -1;
        int64_t sizes[KILN_MAX_RANK];
        assert_int_equal(bound_create(&b, programs[i], NULL, "k", "f32[2,3]"), KILN_OK);
        if (kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes)) fail_msg("%s", kiln_last_error());
        assert_int_equal(rank, 2);
        assert_int_equal(sizes[0], 2);
        assert_int_equal(sizes[1], 3);
        bound_destroy(&b);
    }
}

static void a_shape_has_the_axes_that_the_text_names(void **state) {
    (void)state;
    static const char *const programs[] = {"y = index(2) + sum(x)", "y = sum(x * size(-3))"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        bound b;
        int32_t rank = -1;
        int64_t sizes[KILN_MAX_RANK];
        assert_int_equal(bound_create(&b, programs[i], NULL, NULL, "f32[2,3]"), KILN_OK);
        assert_int_equal(kiln_program_output_shape(b.program, b.tensors, 0, 0, &rank, sizes), KILN_E_AXIS);
        assert_non_null(strstr(kiln_last_error(), "the iteration space has 2 axes"));
        bound_destroy(&b);
    }
}

/* ---- types ---- */

static const struct {
    const char *program, *scalars, *inputs;
    kiln_type type;
} output_types[] = {
    {"y = softmax(x)", NULL, "f16[2,3]", KILN_F16},
    {"y = softmax(x)", NULL, "e4m3[2,3]", KILN_E4M3},
    {"y = mean(x)", NULL, "i32[2,3]", KILN_F32},
    {"y = sum(x)", NULL, "i32[2,3]", KILN_I64},
    {"y = x * 2", NULL, "i16[2,3]", KILN_I32},
    {"y = sum(x)", NULL, "i64[2,3]", KILN_I64},
    {"y = x > 0", NULL, "f16[2,3]", KILN_BOOL},
    {"y = argmax(x)", NULL, "f16[2,3]", KILN_I64},
    {"y = a + b", NULL, "f16[2,3] f32[3]", KILN_F32},
    {"y = a + b", NULL, "f16[2,3] bf16[3]", KILN_F32},
    {"y = a + b", NULL, "f16[2,3] f64[3]", KILN_F64},
    {"y = x * k", "k", "i32[2,3]", KILN_F32},
    {"y = x + 1", NULL, "u16[2,3]", KILN_I32},
    {"y = x + 1", NULL, "u32[2,3]", KILN_U32},
    {"y = sum(x)", NULL, "u32[2,3]", KILN_I64},
    {"y = sum(x)", NULL, "u64[2,3]", KILN_U64},
    {"y = max(x)", NULL, "u64[2,3]", KILN_U64},
    {"y = x - k", "k", "u32[2,3]", KILN_F32},
    {"y = x * 2", NULL, "e8m0[2,3]", KILN_F32},
    {"y = a * b", NULL, "e4m3[2,3] e8m0[2,1]", KILN_F32},
    {"y = a * b", NULL, "bf16[2,3] e8m0[2,1]", KILN_F32},
    {"y = x * k", "k", "f16[2,3]", KILN_F16},
    {"y = index(-1) + 0 * x", NULL, "i32[2,3]", KILN_I64},
};

static void outputs_have_the_types_that_suit_them(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(output_types); i++) {
        bound b;
        kiln_type type = KILN_F64;
        assert_int_equal(
            bound_create(&b, output_types[i].program, NULL, output_types[i].scalars, output_types[i].inputs), KILN_OK);
        if (kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type))
            fail_msg("%s: %s", output_types[i].program, kiln_last_error());
        if (type != output_types[i].type)
            fail_msg("%s of %s: %s", output_types[i].program, output_types[i].inputs, kiln_type_name(type));
        bound_destroy(&b);
    }
}

static void a_scalars_type_decides_with_the_inputs(void **state) {
    (void)state;
    bound b;
    kiln_type type = KILN_F64;
    assert_int_equal(bound_create(&b, "y = x + k", NULL, "k", "i32[2,3]"), KILN_OK);
    b.scalars[0] = kiln_scalar_i64(1);
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type), KILN_OK);
    assert_int_equal(type, KILN_I64);
    b.scalars[0].type = KILN_I32;
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type), KILN_OK);
    assert_int_equal(type, KILN_I32);
    b.scalars[0].type = KILN_F16;
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type), KILN_E_TYPE);
    assert_string_equal(kiln_last_error(), "scalar 'k' has type f16, expected f64, i64 or i32");
    b.tensors[0].type = (kiln_type)99;
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type), KILN_E_TYPE);
    b.tensors[0].type = KILN_I32;
    b.tensors[0].rank = 9;
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 0, &type), KILN_E_SHAPE);
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, b.scalars, 1, &type), KILN_E_BINDING);
    assert_int_equal(kiln_program_output_type(b.program, NULL, b.scalars, 0, &type), KILN_E_ARGUMENT);
    assert_int_equal(kiln_program_output_type(b.program, b.tensors, NULL, 0, &type), KILN_E_ARGUMENT);
    assert_int_equal(kiln_program_output_type(NULL, b.tensors, b.scalars, 0, &type), KILN_E_ARGUMENT);
    assert_int_equal(type, KILN_I32);
    bound_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_keep_or_drop_the_reduced_axes),
        cmocka_unit_test(extents_and_strides_decide_no_rank),
        cmocka_unit_test(shapes_are_told_before_scalars_have_types),
        cmocka_unit_test(a_shape_has_the_axes_that_the_text_names),
        cmocka_unit_test(outputs_have_the_types_that_suit_them),
        cmocka_unit_test(a_scalars_type_decides_with_the_inputs),
    };
    return cmocka_run_group_tests_name("output shapes", tests, NULL, NULL);
}

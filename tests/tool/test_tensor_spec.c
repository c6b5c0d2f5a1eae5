/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the tool's command line: tensors, files with types, scalars, axes, architectures.
 * The refusals' words are in the tool's golden transcripts; here is what they are read as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "tensor_spec.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void tensors_are_read_and_printed_again(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kiln_type type;
        int rank;
        int64_t sizes[3], strides[3];
    } cases[] = {
        {"f16[*,1024]", KILN_F16, 2, {-1, 1024}, {1024, 1}},
        {"f32[]", KILN_F32, 0, {0}, {0}},
        {"bool[7]", KILN_BOOL, 1, {7}, {1}},
        {"e4m3[2,3,4]", KILN_E4M3, 3, {2, 3, 4}, {12, 4, 1}},
        {"i64[*]", KILN_I64, 1, {-1}, {1}},
        {"f64[5,0,3]", KILN_F64, 3, {5, 0, 3}, {3, 3, 1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_tensor t;
        char text[TENSOR_SPEC_SIZE];
        assert_int_equal(tensor_spec_parse(cases[i].text, &t), KILN_OK);
        assert_int_equal(t.type, cases[i].type);
        assert_int_equal(t.rank, cases[i].rank);
        assert_memory_equal(t.sizes, cases[i].sizes, (size_t)t.rank * sizeof t.sizes[0]);
        assert_memory_equal(t.strides, cases[i].strides, (size_t)t.rank * sizeof t.strides[0]);
        assert_null(t.data);
        tensor_spec_format(&t, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void the_longest_tensor_has_room(void **state) {
    (void)state;
    kiln_tensor t = {.type = KILN_BF16, .rank = KILN_MAX_RANK};
    for (int i = 0; i < KILN_MAX_RANK; i++) t.sizes[i] = INT64_MAX;
    char text[TENSOR_SPEC_SIZE];
    tensor_spec_format(&t, text);
    assert_int_equal(strlen(text), 4 + 2 + 8 * 19 + 7);
}

static void what_is_no_tensor_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "f16",
        "[4]",
        "f16[",
        "f16]",
        "f16[4",
        "f16[4]]",
        "f16[4,]",
        "f16[,4]",
        "f16[4 ]",
        "f16[4,*]",
        "f16[**]",
        "f16[-1]",
        "f16[+1]",
        "f16[1e3]",
        "f16[0x4]",
        "F16[4]",
        "f16 [4]",
        "f16[99999999999999999999]",
        "f16[4294967296,4294967296]",
        "f64[2305843009213693952]",
        "f16[1,1,1,1,1,1,1,1,1]",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        kiln_tensor t;
        kiln_status status = tensor_spec_parse(texts[i], &t);
        if (status != KILN_E_ARGUMENT && status != KILN_E_SIZE)
            fail_msg("'%s' gave %s", texts[i], kiln_status_name(status));
        assert_true(kiln_last_error()[0] != '\0');
    }
}

static void files_may_name_a_type(void **state) {
    (void)state;
    static const struct {
        const char *text, *path;
        int typed;
        kiln_type type;
    } cases[] = {
        {"a.npy", "a.npy", 0, KILN_F64},       {"a.npy:bf16", "a.npy", 1, KILN_BF16},
        {"d:/a.npy", "d:/a.npy", 0, KILN_F64}, {"d:/a.npy:e5m2", "d:/a.npy", 1, KILN_E5M2},
        {"a:b.npy", "a:b.npy", 0, KILN_F64},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        kiln_type type = KILN_F64;
        int typed;
        strcpy(text, cases[i].text);
        assert_int_equal(tensor_spec_file(text, &type, &typed), KILN_OK);
        assert_string_equal(text, cases[i].path);
        assert_int_equal(typed, cases[i].typed);
        assert_int_equal(type, cases[i].type);
    }
}

static void scalars_have_the_type_they_look_like(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kiln_type type;
        double f64;
        int64_t i64;
    } cases[] = {
        {"1e-5", KILN_F64, 1e-5, 0},       {"3", KILN_I64, 0, 3},
        {"-3", KILN_I64, 0, -3},           {"3.0", KILN_F64, 3.0, 0},
        {"2:f64", KILN_F64, 2.0, 0},       {"2:i32", KILN_I32, 0, 2},
        {"-inf", KILN_F64, -1.0 / 0.0, 0}, {"9223372036854775807", KILN_I64, 0, INT64_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_scalar s;
        assert_int_equal(tensor_spec_scalar(cases[i].text, 0, &s), KILN_OK);
        assert_int_equal(s.type, cases[i].type);
        if (s.type == KILN_F64)
            assert_true(s.value.f64 == cases[i].f64);
        else
            assert_int_equal(s.value.i64, cases[i].i64);
    }
    static const char *const refused[] = {"", "x", "1x", " 1", "1 ", "1:", "1:f32", "1.5:i64", "f64", "3000000000:i32"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        kiln_scalar s;
        assert_int_equal(tensor_spec_scalar(refused[i], 0, &s), KILN_E_ARGUMENT);
    }
}

static void a_scalars_type_may_stand_for_it(void **state) {
    (void)state;
    kiln_scalar s;
    assert_int_equal(tensor_spec_scalar("i32", 1, &s), KILN_OK);
    assert_int_equal(s.type, KILN_I32);
    assert_int_equal(tensor_spec_scalar("1e-5", 1, &s), KILN_OK);
    assert_int_equal(s.type, KILN_F64);
    assert_int_equal(tensor_spec_scalar("bf16", 1, &s), KILN_E_ARGUMENT);
}

static void axes_are_lists_or_all(void **state) {
    (void)state;
    int axes[KILN_MAX_RANK], all;
    size_t count;
    assert_int_equal(tensor_spec_axes("0,-1,2", axes, &count, &all), KILN_OK);
    assert_int_equal(count, 3);
    assert_false(all);
    assert_int_equal(axes[0], 0);
    assert_int_equal(axes[1], -1);
    assert_int_equal(axes[2], 2);
    assert_int_equal(tensor_spec_axes("all", axes, &count, &all), KILN_OK);
    assert_true(all);
    static const char *const refused[] = {"", "-", "1,", ",1", "1,,2", "a", "1 2", "99", "0,0,0,0,0,0,0,0,0"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(tensor_spec_axes(refused[i], axes, &count, &all), KILN_E_ARGUMENT);
    }
}

static void architectures_have_three_spellings(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int arch, ptx;
    } cases[] = {{"sm_90", 90, 0}, {"90", 90, 0}, {"compute_80", 80, 1}, {"sm_120", 120, 0}};
    int arch, ptx;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(tensor_spec_arch(cases[i].text, &arch, &ptx), KILN_OK);
        assert_int_equal(arch, cases[i].arch);
        assert_int_equal(ptx, cases[i].ptx);
    }
    static const char *const refused[] = {"", "sm_", "sm90", "SM_90", "9.0", "sm_9", "sm_90a", "sm_80,sm_90", "-90"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(tensor_spec_arch(refused[i], &arch, &ptx), KILN_E_ARGUMENT);
    }
}

static void assignments_part_at_commas_before_names(void **state) {
    (void)state;
    given_option given[] = {
        {OPTION_IN, "x=a,1.npy,w=b.npy:bf16"}, {OPTION_TENSOR, "z=f16[*,4]"}, {OPTION_IN, "v=c=d.npy"}};
    const arguments args = {.given = given, .given_count = COUNT(given)};
    assignment_list list;
    assert_int_equal(assignments_parse(&args, OPTION_IN, &list), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "x");
    assert_string_equal(list.items[0].value, "a,1.npy");
    assert_string_equal(list.items[1].value, "b.npy:bf16");
    assert_string_equal(assignments_find(&list, "v")->value, "c=d.npy");
    assert_null(assignments_find(&list, "z"));
    assignments_free(&list);
    given[0] = (given_option){OPTION_TENSOR, "x=f16[*,1024],w=f16[1024]"};
    assert_int_equal(assignments_parse(&args, OPTION_TENSOR, &list), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].value, "f16[*,1024]");
    assignments_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_read_and_printed_again),
        cmocka_unit_test(the_longest_tensor_has_room),
        cmocka_unit_test(what_is_no_tensor_is_refused),
        cmocka_unit_test(files_may_name_a_type),
        cmocka_unit_test(scalars_have_the_type_they_look_like),
        cmocka_unit_test(a_scalars_type_may_stand_for_it),
        cmocka_unit_test(axes_are_lists_or_all),
        cmocka_unit_test(architectures_have_three_spellings),
        cmocka_unit_test(assignments_part_at_commas_before_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

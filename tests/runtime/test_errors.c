/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as data: the status, the place in a program's text and the bytes that are meant, beside the sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LONG_NAME "a123456789b123456789c123456789d123456789e123456789f123456789g123456789"

static kiln_error_info info_of_last(void) {
    kiln_error_info info = KILN_ERROR_INFO_INIT;
    assert_int_equal(kiln_last_error_info(&info), KILN_OK);
    assert_string_equal(info.message, kiln_last_error());
    return info;
}

static const struct {
    const char *text, *outputs;
    kiln_status status;
    int line, column, length;
    const char *meant;
} bad_programs[] = {
    {"y = softmax(x", NULL, KILN_E_SYNTAX, 1, 14, 0, ""},
    {"y = x $ 2", NULL, KILN_E_SYNTAX, 1, 7, 1, "$"},
    {"y = x \xc3\xa9", NULL, KILN_E_SYNTAX, 1, 7, 2, "\xc3\xa9"},
    {"y = sofmax(x)", NULL, KILN_E_NAME, 1, 5, 6, "sofmax"},
    {"a = x # a comment\n\ny = a +\n", NULL, KILN_E_SYNTAX, 3, 8, 0, ""},
    {"a = x\n  y = a + 1x", NULL, KILN_E_SYNTAX, 2, 11, 2, "1x"},
    {"a = x\n  y = a + 1e+999", NULL, KILN_E_SYNTAX, 2, 11, 6, "1e+999"},
    {"y = x; y = x + 1", NULL, KILN_E_NAME, 1, 8, 1, "y"},
    {"y = x ** ** 2", NULL, KILN_E_SYNTAX, 1, 10, 2, "**"},
    {"fn f(a) = f(a); y = f(x)", NULL, KILN_E_NAME, 1, 11, 1, "f"},
    {"y = x + " LONG_NAME, NULL, KILN_E_LIMIT, 1, 9, 70,
     "a123456789b123456789c123456789d123456789e123456789f123456789g12"},
    {"y = x", "z", KILN_E_NAME, 0, 0, 1, "z"},
};

static void the_place_of_a_mistake_is_told_in_numbers(void **state) {
    kiln_context *context = launch_context(*state, "", KILN_POLICY_COMPILE);
    for (size_t i = 0; i < COUNT(bad_programs); i++) {
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = NULL;
        options.outputs = bad_programs[i].outputs;
        assert_int_equal(kiln_program_create(context, bad_programs[i].text, &options, &program),
                         bad_programs[i].status);
        kiln_error_info info = info_of_last();
        assert_int_equal(info.status, bad_programs[i].status);
        assert_string_equal(info.text, bad_programs[i].meant);
        assert_int_equal(info.line, bad_programs[i].line);
        assert_int_equal(info.column, bad_programs[i].column);
        assert_int_equal(info.length, bad_programs[i].length);
    }
    kiln_program_destroy(launch_program(context, "y = x"));
    kiln_error_info info = info_of_last();
    assert_int_equal(info.status, KILN_OK);
    assert_int_equal(info.line, 0);
    assert_string_equal(info.message, "");
    assert_string_equal(info.text, "");
    kiln_context_destroy(context);
}

static void types_and_bindings_are_told_as_well(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "a = x\ny = a & 1");
    assert_int_equal(launch_run(program, "f32[2,3] f32[2,3]"), KILN_E_TYPE);
    kiln_error_info info = info_of_last();
    assert_int_equal(info.status, KILN_E_TYPE);
    assert_int_equal(info.line, 2);
    assert_int_equal(info.column, 7);
    assert_string_equal(info.text, "&");
    assert_int_equal(launch_run(program, "f32[2,3]"), KILN_E_BINDING); /* nowhere in the text */
    info = info_of_last();
    assert_int_equal(info.status, KILN_E_BINDING);
    assert_int_equal(info.line, 0);
    assert_string_equal(info.text, "");
    const kiln_binding unknown = {"xx", {0}};
    assert_int_equal(kiln_run_named(program, &unknown, 1, NULL, 0, NULL, NULL), KILN_E_NAME);
    info = info_of_last();
    assert_int_equal(info.line, 0);
    assert_string_equal(info.text, "xx");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_bad_request_for_the_error_is_one_itself(void **state) {
    (void)state;
    kiln_error_info info = {.struct_size = 8};
    launch_expect(kiln_last_error_info(&info), KILN_E_ARGUMENT,
                  "kiln_error_info.struct_size is 8, expected sizeof(kiln_error_info), 40");
    launch_expect(kiln_last_error_info(NULL), KILN_E_ARGUMENT, "info is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(the_place_of_a_mistake_is_told_in_numbers),
        WITH_LAUNCHES(types_and_bindings_are_told_as_well),
        WITH_LAUNCHES(a_bad_request_for_the_error_is_one_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is left out of a source before it is compiled, and what has to stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit/unused.h"

#define KERNEL(body) "extern \"C\" __global__ void kiln_kernel() { " body " }\n"

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* Whether the text is still in the source without what is unused. */
static bool stays(const char *source, const char *text) {
    char *left = kiln__without_unused(source);
    assert_non_null(left);
    assert_int_equal(count_lines(left), count_lines(source));
    const bool found = strstr(left, text) != NULL;
    free(left);
    return found;
}

static void test_functions_that_nothing_calls_go(void **state) {
    static const char source[] = "KILN_DEVICE int kiln_a(int i) { return i; }\n"
                                 "KILN_DEVICE int kiln_b(int i) { return kiln_a(i); }\n"
                                 "template <class T, int N = 3> KILN_CALL T kiln_c(T t) { return t; }\n";
    char whole[400];
    (void)state;
    strcat(strcpy(whole, source), KERNEL("kiln_b(1);"));
    assert_true(stays(whole, "kiln_a(int"));
    assert_true(stays(whole, "kiln_b(int"));
    assert_false(stays(whole, "kiln_c(T"));
    strcat(strcpy(whole, source), KERNEL("kiln_a(1);"));
    assert_false(stays(whole, "kiln_b(int"));
}

static void test_all_of_a_name_stay_together(void **state) {
    static const char source[] = "template <int N> struct kiln_word;\n"
                                 "template <> struct kiln_word<4> { int four; };\n"
                                 "struct alignas(8) kiln_pair {\n    int at[2];\n};\n"
                                 "KILN_DEVICE int kiln_f(int i) { return i; }\n"
                                 "KILN_DEVICE long kiln_f(kiln_word<4> w) { return w.four; }\n" KERNEL("kiln_f(1);");
    (void)state;
    assert_true(stays(source, "long kiln_f"));
    assert_true(stays(source, "four; }"));
    assert_false(stays(source, "at[2]"));
}

static void test_what_is_named_elsewhere_stays(void **state) {
    (void)state;
    assert_true(stays("KILN_DEVICE int kiln_a() { return 1; }\n#define A kiln_a()\n" KERNEL("A;"), "return 1"));
    assert_true(stays("struct kiln_s { int i; };\ntypedef kiln_s alias;\n" KERNEL("alias a;"), "int i"));
    assert_true(stays("KILN_DEVICE int other() { return 1; }\n" KERNEL(""), "return 1"));
    assert_true(stays("int kiln_global = 1;\n" KERNEL(""), "kiln_global"));
    assert_false(
        stays("KILN_DEVICE int kiln_a() { return 1; }\n/* kiln_a */ // kiln_a\n" KERNEL("\"kiln_a\";"), "return 1"));
}

static void test_directives_stay_inside_of_what_goes(void **state) {
    static const char source[] =
        "KILN_DEVICE int kiln_a() {\n#if B\n    return 1;\n#else\n#pragma unroll\n    return 2;\n"
        "#endif\n}\n" KERNEL("");
    (void)state;
    assert_true(stays(source, "\n#if B\n"));
    assert_true(stays(source, "\n#else\n"));
    assert_true(stays(source, "\n#endif\n"));
    assert_false(stays(source, "return"));
    assert_false(stays(source, "pragma"));
}

static void test_what_cannot_be_followed_is_left_as_it_is(void **state) {
    static const char *const sources[] = {"",
                                          "}",
                                          "KILN_DEVICE int kiln_a() {\n",
                                          "KILN_DEVICE int kiln_a() { return 1; }\n}\n",
                                          "KILN_DEVICE int kiln_a() { return 1; }\nint b",
                                          "\"",
                                          "'\\",
                                          "/*",
                                          "//",
                                          "#",
                                          "#\\",
                                          "((",
                                          "))",
                                          "KILN_DEVICE int kiln_a(}) { return 1; }\n"};
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        char *left = kiln__without_unused(sources[i]);
        assert_string_equal(left, sources[i]);
        free(left);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_that_nothing_calls_go),
        cmocka_unit_test(test_all_of_a_name_stay_together),
        cmocka_unit_test(test_what_is_named_elsewhere_stays),
        cmocka_unit_test(test_directives_stay_inside_of_what_goes),
        cmocka_unit_test(test_what_cannot_be_followed_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

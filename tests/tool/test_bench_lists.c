/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in braces on kiln bench's command line: what each stands for, and which of them vary together.
 * The refusals' words are in the tool's golden transcripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "bench_lists.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* All cases of a text, parted by spaces. */
static void assert_cases(const char *text, const char *second, const char *expected) {
    bench_lists lists = {0};
    kiln__text all = {0};
    assert_int_equal(bench_lists_add(&lists, text), KILN_OK);
    assert_int_equal(bench_lists_add(&lists, second), KILN_OK);
    for (size_t i = 0; i < lists.cases; i++) {
        char *one = NULL, *other = NULL;
        assert_int_equal(bench_lists_expand(&lists, i, text, &one), KILN_OK);
        assert_int_equal(bench_lists_expand(&lists, i, second, &other), KILN_OK);
        kiln__text_printf(&all, "%s%s%s%s", i ? " " : "", one, *other ? "/" : "", other);
        free(one);
        free(other);
    }
    assert_string_equal(all.data, expected);
    kiln__text_free(&all);
    bench_lists_free(&lists);
}

static void lists_and_ranges_stand_for_their_values(void **state) {
    (void)state;
    static const struct {
        const char *text, *cases;
    } rows[] = {
        {"f16[4,8]", "f16[4,8]"},
        {"[{1,20,300}]", "[1] [20] [300]"},
        {"[{3..6}]", "[3] [4] [5] [6]"},
        {"[{4..4}]", "[4]"},
        {"[{128..600..200}]", "[128] [328] [528]"},
        {"[{2^3..2^5}]", "[8] [16] [32]"},
        {"[{2^3-1..2^5-1}]", "[7] [15] [31]"},
        {"[{2^3+1..2^7+1..2}]", "[9] [33] [129]"},
        {"[{10^2,2^4-1,5..6}]", "[100] [15] [5] [6]"},
        {"[{2^3..17..4}]", "[8] [12] [16]"}, /* one power alone: numbers */
        {"[{0}]", "[0]"},
        {"{f16,f32}[2]", "f16[2] f32[2]"},
        {"{f16,f32}[{1,2},3]", "f16[1,3] f16[2,3] f32[1,3] f32[2,3]"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) assert_cases(rows[i].text, "", rows[i].cases);
}

static void the_same_list_in_two_tensors_varies_as_one(void **state) {
    (void)state;
    assert_cases("[*,{1,2}]", "[{1,2}]", "[*,1]/[1] [*,2]/[2]");
    assert_cases("[{1,2}]", "[{2,1}]", "[1]/[2] [1]/[1] [2]/[2] [2]/[1]");
}

static void what_is_no_list_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "[{}]",
        "[{1,}]",
        "[{,1}]",
        "[{1",
        "[{5..4}]",
        "[{1..}]",
        "[{..4}]",
        "[{1..4..0}]",
        "[{1..4..x}]",
        "[{2^}]",
        "[{2^2^2}]",
        "[{2^3..3^4}]",
        "[{2^3-1..2^5}]",
        "[{1x}]",
        "[{99999999999999999999}]",
        "[{2^63}]",
        "[{1-2}]",
        "[{0..9223372036854775807..4611686018427387904}]",
        "[{1..10001}]",
        "[{1..101},{1..100}]",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        bench_lists lists = {0};
        assert_int_equal(bench_lists_add(&lists, texts[i]), KILN_E_ARGUMENT);
        bench_lists_free(&lists);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges_stand_for_their_values),
        cmocka_unit_test(the_same_list_in_two_tensors_varies_as_one),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

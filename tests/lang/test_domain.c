/* SPDX-License-Identifier: Apache-2.0 */
/* block = N, axes = N and repeat(s, N) as they are read; tests/runtime/test_blocks.c has what they come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lang/domain.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void errors_name_place_finding_and_expectation(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"y = reduce((a, b) -> a + b, x, 0, 4)", KILN_E_SYNTAX,
         "1:35: expected block = N or axes = N after the identity, found '4'"},
        {"y = exp(x, block = 4)", KILN_E_SYNTAX,
         "1:5: 'exp' reduces nothing: block = N and axes = N are for reductions"},
        {"y = gelu(x, axes = 0)", KILN_E_SYNTAX,
         "1:5: 'gelu' reduces nothing: block = N and axes = N are for reductions"},
        {"y = f16(x, block = 4)", KILN_E_SYNTAX,
         "1:5: 'f16' reduces nothing: block = N and axes = N are for reductions"},
        {"y = sum(x, block = n)", KILN_E_SYNTAX,
         "1:20: expected how many columns a block has, an integer literal, found 'n'"},
        {"y = sum(x, block = 0)", KILN_E_SYNTAX, "1:20: block = N: N is '0', expected 1 to 2147483647 columns"},
        {"y = sum(x, block = 3000000000)", KILN_E_SYNTAX,
         "1:20: block = N: N is '3000000000', expected 1 to 2147483647 columns"},
        {"y = x * repeat(s, 0)", KILN_E_SYNTAX, "1:19: repeat(s, N): N is '0', expected 1 to 2147483647 columns"},
        {"y = x * repeat(3, 4)", KILN_E_SYNTAX, "1:16: expected the name of an input, found '3'"},
        {"y = x * repeat(s)", KILN_E_SYNTAX, "1:17: expected ',' and how many columns a value is for, found ')'"},
        {"y = x * repeat(s, n)", KILN_E_SYNTAX,
         "1:19: expected how many columns a value is for, an integer literal, found 'n'"},
        {"s = x + 1; y = repeat(s, 4)", KILN_E_NAME,
         "1:23: 's' is assigned by the program: repeat(s, N) is of an input, which is read in no other way"},
        {"y = s + repeat(s, 4)", KILN_E_NAME,
         "1:16: 's' is read otherwise before: repeat(s, N) is of an input, which is read in no other way"},
        {"y = repeat(s, 4) + repeat(s, 8)", KILN_E_NAME,
         "1:27: 's' is read otherwise before: repeat(s, N) is of an input, which is read in no other way"},
        {"y = repeat(s, 4) + s", KILN_E_NAME,
         "1:20: 's' is read as repeat(...) before: repeat(s, N) is of an input, which is read in no other way"},
        {"fn f(s) = repeat(s, 4); y = f(x)", KILN_E_NAME,
         "1:18: 's' is read in a function: repeat(s, N) is of an input, which is read in no other way"},
        {"y = sum(x, block = 4, axes = 0)", KILN_E_SYNTAX, "1:23: a call has one of block = N and axes = N, and once"},
        {"y = sum(x, axes = (0, 1)", KILN_E_SYNTAX, "1:25: expected ',' or ')', found the end of the program"},
        {"y = sum(x, axes = (0, x))", KILN_E_SYNTAX, "1:23: expected an axis, an integer literal, found 'x'"},
        {"y = sum(x, axes = 9)", KILN_E_LIMIT, "1:19: axis '9' is out of range, tensors have at most 8 axes"},
        {"y = var(x, blocks = 4)", KILN_E_NAME, "1:12: 'var' has no parameter 'blocks', it has 'x', 'ddof'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph = NULL;
        kiln_status status = kiln__graph_parse(cases[i].text, &graph);
        if (status == KILN_OK) fail_msg("'%s' parses", cases[i].text);
        assert_string_equal(kiln_last_error(), cases[i].sentence);
        assert_int_equal(status, cases[i].status);
        assert_null(graph);
    }
}

static void domains_are_those_of_reductions_that_outputs_need(void **state) {
    (void)state;
    static const struct {
        const char *text, *outputs;
        bool has_rows;
        int axis; /* of rows; 9: the program's */
        int count;
        int64_t blocks[3], reduced;
    } cases[] = {
        {"y = softmax(x)", NULL, false, 9, 0, {0}, 0}, /* nothing is said */
        {"y = softmax(x, axes = 1)", NULL, true, 1, 0, {0}, 0},
        {"y = softmax(x, block = 8)", NULL, false, 9, 1, {8}, 8},
        {"a = softmax(x, block = 8); b = max(x); c = sum(x, block = 2)", NULL, true, 9, 2, {2, 8}, 8},
        {"a = softmax(x, block = 8); b = max(x)", "a", false, 9, 1, {8}, 8},
        {"y = x * repeat(s, 32) + max(x, block = 16)", NULL, false, 9, 2, {16, 32}, 16},
        {"y = x * repeat(s, 1)", NULL, false, 9, 0, {0}, 0},
        {"y = mean(mean(x, block = 4), block = 8)", NULL, false, 9, 2, {4, 8}, 8},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph;
        kiln__signature signature;
        kiln__domains domains;
        const kiln__lists lists = {.outputs = cases[i].outputs};
        assert_int_equal(kiln__graph_parse(cases[i].text, &graph), KILN_OK);
        assert_int_equal(kiln__signature_resolve(graph, &lists, &signature), KILN_OK);
        assert_int_equal(kiln__domains_find(graph, &signature, &domains), KILN_OK);
        assert_int_equal(domains.has_rows, cases[i].has_rows);
        assert_int_equal(domains.row ? domains.row->axes[0] : 9, cases[i].axis);
        assert_int_equal(domains.block_count, cases[i].count);
        assert_memory_equal(domains.blocks, cases[i].blocks, sizeof domains.blocks);
        assert_int_equal(domains.reduced_block, cases[i].reduced);
        kiln__graph_destroy(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_place_finding_and_expectation),
        cmocka_unit_test(domains_are_those_of_reductions_that_outputs_need),
    };
    return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}

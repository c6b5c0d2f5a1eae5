/* SPDX-License-Identifier: Apache-2.0 */
/* Which names a program may take, and what they then mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/lang_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The library's functions are words only before a parenthesis, and a program may define its own of the same name; those
 * of the library still call one another. */
static void names_of_the_librarys_functions_are_free(void **state) {
    (void)state;
    static const char *const same[][2] = {
        {"fn swiglu(a, b) = a + b; y = swiglu(x, x)", "y = x + x"},
        {"fn relu(x) = -x; y = relu6(relu(x))", "y = relu6(-x)"},
        {"fn clamp(x, low, high) = x; y = relu6(clamp(x, 0, 1))", "y = relu6(x)"},
        {"fn pi(x) = x; y = pi(x)", "y = +x"},
        {"fn f(entropy) = entropy * 2; y = f(x)", "y = x * 2"},
        {"mean = x * 2; y = mean(mean)", "m = x * 2; y = mean(m)"},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        kiln__graph *graphs[2];
        for (int k = 0; k < 2; k++)
            if (kiln__graph_parse(same[i][k], &graphs[k])) fail_msg("%s: %s", same[i][k], kiln_last_error());
        char *texts[2];
        for (int k = 0; k < 2; k++) texts[k] = lang_graph_text(graphs[k], "y");
        if (strcmp(texts[0], texts[1])) fail_msg("%s: %s, %s: %s", same[i][0], texts[0], same[i][1], texts[1]);
        for (int k = 0; k < 2; k++) {
            free(texts[k]);
            kiln__graph_destroy(graphs[k]);
        }
    }
}

/* The name of a function without parameters stays free: an input may be called pi. */
static void pi_is_a_call_and_a_free_name(void **state) {
    (void)state;
    kiln__graph *graph;
    assert_int_equal(kiln__graph_parse("y = pi() * 2", &graph), KILN_OK);
    char *found = lang_graph_text(graph, "y");
    assert_string_equal(found, "(* 3.14159265 2)");
    free(found);
    kiln__graph_destroy(graph);
    assert_int_equal(kiln__graph_parse("y = pi * pi()", &graph), KILN_OK);
    found = lang_graph_text(graph, "y");
    assert_string_equal(found, "(* pi 3.14159265)");
    free(found);
    kiln__graph_destroy(graph);
    assert_int_equal(kiln__graph_parse("pi = 3; fn f(pi) = pi + 1; y = f(pi)", &graph), KILN_OK);
    kiln__graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_librarys_functions_are_free),
        cmocka_unit_test(pi_is_a_call_and_a_free_name),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}

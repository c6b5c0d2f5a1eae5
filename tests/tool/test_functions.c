/* SPDX-License-Identifier: Apache-2.0 */
/* The list of functions misses none that a program can call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function_list.h"
#include "lang/ops.h"

extern const char kiln__source_prelude_kiln[], kiln__source_library_kiln[];

static const function_row *find(const function_list *list, const char *name, size_t length) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->rows[i].name) == length && memcmp(list->rows[i].name, name, length) == 0)
            return &list->rows[i];
    fail_msg("the list lacks %.*s", (int)length, name);
    return NULL;
}

/* Each function of the text is listed; how many. */
static size_t find_all(const function_list *list, const char *text) {
    size_t count = 0;
    for (const char *at = strstr(text, "\nfn "); at; at = strstr(at + 1, "\nfn ")) {
        if (at[4] == '_') continue;
        const function_row *row = find(list, at + 4, strcspn(at + 4, "("));
        const char *formula = strstr(at, ") = ") + 4;
        assert_int_equal(strlen(row->formula), strcspn(formula, "\n"));
        assert_memory_equal(row->formula, formula, strlen(row->formula));
        assert_null(strchr(row->signature, ':'));
        count++;
    }
    return count;
}

static void every_function_is_listed_once(void **state) {
    (void)state;
    function_list list;
    size_t expected = KILN_TYPE_COUNT + 1; /* conversions, float among them */
    assert_int_equal(function_list_make(&list), KILN_OK);
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const char *name = kiln__op_describe((kiln__op)op)->name;
        if (!*name || *name == '_') continue;
        assert_null(find(&list, name, strlen(name))->formula);
        expected++;
    }
    expected += find_all(&list, kiln__source_prelude_kiln) + find_all(&list, kiln__source_library_kiln);
    assert_int_equal(list.count, expected);
    for (size_t i = 0; i < list.count; i++) {
        const function_row *row = &list.rows[i];
        if (!*row->meaning) fail_msg("%s has no meaning", row->name);
        assert_string_not_equal(row->group, "others");
        if (i > 0 && strcmp(row->group, list.rows[i - 1].group) == 0)
            assert_true(strcmp(list.rows[i - 1].name, row->name) < 0);
    }
    function_list_free(&list);
}

static void results_have_the_types_of_the_language(void **state) {
    (void)state;
    static const struct {
        const char *name, *results[FUNCTION_TYPES];
    } table[] = {
        {"abs", {"f32", "i32", "i32"}},         {"exp", {"f32", "f32", "f32"}},
        {"isnan", {"bool", "bool", "bool"}},    {"maximum", {"f32", "i32", "bool"}},
        {"popcount", {NULL, "i32", "i32"}},     {"sum", {"f32", "i64", "i64"}},
        {"argmax", {"i64", "i64", "i64"}},      {"index", {"i64", "i64", "i64"}},
        {"i8", {"i32", "i32", "i32"}},          {"mean", {"f32", "f32", "f32"}},
        {"dropout", {"f32", "f32", "f32"}},     {"sigmoid_grad", {"f32", "f32", "f32"}},
        {"quantize_i8", {"i32", "i32", "i32"}}, {"pow", {"f32", "i32", "i32"}},
        {"round_to", {"f32", "f32", "f32"}},
    };
    function_list list;
    assert_int_equal(function_list_make(&list), KILN_OK);
    assert_int_equal(function_list_ask_types(&list), KILN_OK);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const function_row *row = find(&list, table[i].name, strlen(table[i].name));
        for (int type = 0; type < FUNCTION_TYPES; type++) {
            const char *found = row->results[type], *expected = table[i].results[type];
            if (!found != !expected || (found && strcmp(found, expected) != 0))
                fail_msg("%s gives %s, expected %s", row->name, found ? found : "none", expected ? expected : "none");
        }
    }
    for (size_t i = 0; i < list.count; i++) /* each takes floats, but for what works on bits */
        assert_true(list.rows[i].results[0] || strcmp(list.rows[i].name, "popcount") == 0);
    function_list_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_listed_once),
        cmocka_unit_test(results_have_the_types_of_the_language),
    };
    return cmocka_run_group_tests_name("functions", tests, NULL, NULL);
}

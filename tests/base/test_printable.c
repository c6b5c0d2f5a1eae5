/* SPDX-License-Identifier: Apache-2.0 */
/* What of a text a terminal is given: characters, and nothing that it would obey. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/printable.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *text, *line, *lines; /* as one line; as several, NULL: the same */
} cases[] = {
    {"", "", NULL},
    {"y = softmax(x)", "y = softmax(x)", NULL},
    {"\x1b[2Jgone\x07", "\\x1b[2Jgone\\x07", NULL},
    {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd", "a\nb\tc\\x0dd"},
    {"\x7f", "\\x7f", NULL},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", NULL},
    {"\xc2\x9b\x31m", "\\xc2\\x9b1m", NULL}, /* U+009B: begins a sequence as ESC [ does */
    {"\xc2\xa0", "\xc2\xa0", NULL},
    {"\x9b\x31m", "\\x9b1m", NULL},
    {"\xc0\x9b", "\\xc0\\x9b", NULL}, /* overlong */
    {"\xe0\x82\x9b", "\\xe0\\x82\\x9b", NULL},
    {"\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b", NULL},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", NULL}, /* a surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", NULL},
    {"\xe2\x82", "\\xe2\\x82", NULL},
    {"\\x1b", "\\x1b", NULL},
};

static void characters_are_kept_and_the_rest_is_spelled(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *expected[] = {cases[i].line, cases[i].lines ? cases[i].lines : cases[i].line};
        for (int lines = 0; lines < 2; lines++) {
            char out[128];
            assert_int_equal(kiln__printable(out, sizeof out, cases[i].text, lines), strlen(expected[lines]));
            assert_string_equal(out, expected[lines]);
            char *copy = kiln__printable_copy(cases[i].text, lines), *twice = kiln__printable_copy(copy, lines);
            assert_string_equal(copy, expected[lines]);
            assert_string_equal(twice, expected[lines]);
            free(copy);
            free(twice);
        }
    }
}

static void what_does_not_fit_is_cut_between_characters(void **state) {
    (void)state;
    static const char text[] = "a\xe2\x82\xac\x1b";
    static const char *const expected[] = {
        "", "a", "a", "a", "a\xe2\x82\xac", "a\xe2\x82\xac", "a\xe2\x82\xac", "a\xe2\x82\xac", "a\xe2\x82\xac\\x1b"};
    for (size_t capacity = 1; capacity <= COUNT(expected); capacity++) {
        char out[16];
        memset(out, 'z', sizeof out);
        kiln__printable(out, capacity, text, false);
        assert_string_equal(out, expected[capacity - 1]);
        assert_int_equal(out[capacity], 'z');
    }
}

/* Any bytes at all. */
static void nothing_else_comes_out(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        char text[9] = "", out[64];
        for (int i = 0; i < 8; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const unsigned char byte = (unsigned char)(random >> 56);
            text[i] = (char)(byte ? byte : 1);
        }
        kiln__printable(out, sizeof out, text, false);
        for (const char *at = out; *at; at += kiln__character_length(at)) assert_true(kiln__character_length(at) > 0);
    }
}

static void errors_are_printable(void **state) {
    (void)state;
    kiln__fail(KILN_E_IO, "'%s' cannot be opened", "/tmp/\x1b]0;title\x07\nkiln: all is well");
    assert_string_equal(kiln_last_error(), "'/tmp/\\x1b]0;title\\x07\\x0akiln: all is well' cannot be opened");
    bound b;
    assert_int_equal(bound_create(&b, "y = x", NULL, NULL, "f32[4] f32[4]"), KILN_OK);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.outputs = "y\x1b[31m";
    assert_int_equal(kiln_program_create(b.context, "y = x", &options, &program), KILN_E_NAME);
    assert_null(strchr(kiln_last_error(), '\x1b'));
    assert_non_null(strstr(kiln_last_error(), "y\\x1b[31m"));
    bound_destroy(&b);
}

static char told[2048];
static void keep(void *user, kiln_log_level level, const char *message) {
    (void)user;
    (void)level;
    snprintf(told, sizeof told, "%s", message);
}

static void log_lines_are_printable(void **state) {
    (void)state;
    const kiln_pack pack = {.path = "/nowhere/\x1b[2J\xc3\xa9.kpack"};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = "/dev/null/\x1b[2J";
    options.log = keep;
    options.packs = &pack;
    options.pack_count = 1;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    assert_string_equal(told, "pack '/nowhere/\\x1b[2J\xc3\xa9.kpack' cannot be opened: No such file or directory");
    kiln__log_lines(&context->logger, KILN_LOG_ERROR, "line 1\n\tline 2\x1b[31m\n"); /* as a compiler's log */
    assert_string_equal(told, "line 1\n\tline 2\\x1b[31m\n");
    kiln__disk_record_put(context->disk, "nvrtc", "x", 1);
    assert_non_null(strstr(told, "the disk cache '/dev/null/\\x1b[2J' cannot be written"));
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_kept_and_the_rest_is_spelled),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(nothing_else_comes_out),
        cmocka_unit_test(errors_are_printable),
        cmocka_unit_test(log_lines_are_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

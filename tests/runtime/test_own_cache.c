/* SPDX-License-Identifier: Apache-2.0 */
/* The application's own cache (kiln_context_options.cache): what it is told, what is taken from it, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

enum { SLOTS = 8 };

/* Entries in the order of set; a later one of the same key replaces it. */
typedef struct store {
    struct {
        char key[33];
        unsigned char *bytes;
        size_t size;
    } slots[SLOTS];
    int count, gets, sets;
    size_t padding; /* get says that there are so many more bytes than capacity at its first question */
    char warning[400];
} store;

static int place(const store *s, const char *key) {
    int at = 0;
    while (at < s->count && strcmp(s->slots[at].key, key) != 0) at++;
    return at;
}

static size_t get(void *user, const char *key, void *bytes, size_t capacity) {
    store *s = user;
    const int at = place(s, key);
    s->gets++;
    assert_int_equal(strlen(key), 32);
    if (at == s->count) return 0;
    if (s->padding) {
        const size_t more = capacity + s->padding;
        s->padding = 0;
        return more;
    }
    if (s->slots[at].size <= capacity) memcpy(bytes, s->slots[at].bytes, s->slots[at].size);
    return s->slots[at].size;
}

static void set(void *user, const char *key, const void *bytes, size_t size) {
    store *s = user;
    const int at = place(s, key);
    s->sets++;
    assert_true(at < SLOTS && size > 0);
    if (at == s->count) s->count++;
    free(s->slots[at].bytes);
    memcpy(s->slots[at].key, key, sizeof s->slots[at].key);
    s->slots[at].bytes = malloc(size);
    assert_non_null(s->slots[at].bytes);
    memcpy(s->slots[at].bytes, bytes, size);
    s->slots[at].size = size;
}

static void empty(store *s) {
    for (int i = 0; i < s->count; i++) free(s->slots[i].bytes);
}

static void hear(void *user, kiln_log_level level, const char *message) {
    store *s = user;
    if (level == KILN_LOG_WARNING) (void)snprintf(s->warning, sizeof s->warning, "%s", message);
}

static kiln_context *create(launch_fixture *f, store *s, const char *cache_dir, kiln_policy policy) {
    kiln_context *context = NULL;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = cache_dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = policy == KILN_POLICY_NEVER_COMPILE ? "/nowhere/libnvrtc.so" : f->nvrtc;
    options.policy = policy;
    options.log = hear;
    options.log_user = s;
    options.cache = (kiln_cache_callbacks){get, set, s};
    if (kiln_context_create(&options, &context)) fail_msg("%s", kiln_last_error());
    return context;
}

/* One run in a context of its own; the numbers it has at its end. */
static kiln_context_stats run_once(launch_fixture *f, store *s, const char *cache_dir, kiln_policy policy,
                                   kiln_status expected) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    kiln_context *context = create(f, s, cache_dir, policy);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    assert_int_equal(launch_run(program, "f32[4,8] f32[4,8]"), expected);
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return stats;
}

static void what_is_compiled_is_kept_and_found_without_nvrtc(void **state) {
    launch_fixture *f = *state;
    store s = {0};
    assert_int_equal(run_once(f, &s, "", KILN_POLICY_COMPILE, KILN_OK).compiled, 1);
    assert_int_equal(s.sets, 1);
    const kiln_context_stats stats = run_once(f, &s, "", KILN_POLICY_NEVER_COMPILE, KILN_OK);
    assert_int_equal(stats.from_callbacks, 1);
    assert_int_equal(stats.compiled, 0);
    assert_int_equal(s.sets, 1); /* what comes from there is not told again */
    empty(&s);
}

static void what_is_on_disk_is_told_as_well(void **state) {
    launch_fixture *f = *state;
    store first = {0}, second = {0};
    assert_int_equal(run_once(f, &first, f->dir, KILN_POLICY_COMPILE, KILN_OK).compiled, 1);
    assert_int_equal(run_once(f, &second, f->dir, KILN_POLICY_COMPILE, KILN_OK).from_disk, 1);
    assert_int_equal(second.sets, 1);
    assert_string_equal(first.slots[0].key, second.slots[0].key);
    empty(&first);
    empty(&second);
}

static void more_bytes_than_there_is_room_for_are_asked_for_again(void **state) {
    launch_fixture *f = *state;
    store s = {0};
    run_once(f, &s, "", KILN_POLICY_COMPILE, KILN_OK);
    s.gets = 0;
    s.padding = 1000;
    assert_int_equal(run_once(f, &s, "", KILN_POLICY_NEVER_COMPILE, KILN_OK).from_callbacks, 1);
    assert_int_equal(s.gets, 2);
    empty(&s);
}

/* Each byte of the entry, one after the other: nothing that differs is taken. */
static void damaged_bytes_are_a_miss_that_is_told(void **state) {
    launch_fixture *f = *state;
    store s = {0};
    run_once(f, &s, "", KILN_POLICY_COMPILE, KILN_OK);
    const size_t size = s.slots[0].size, step = size / 40 + 1;
    for (size_t at = 0; at < size; at += step) {
        *s.warning = '\0';
        s.slots[0].bytes[at] ^= 0x10;
        assert_int_equal(run_once(f, &s, "", KILN_POLICY_NEVER_COMPILE, KILN_E_WOULD_COMPILE).from_callbacks, 0);
        assert_non_null(strstr(s.warning, "that are not that kernel"));
        s.slots[0].bytes[at] ^= 0x10;
    }
    s.slots[0].size = 3;
    run_once(f, &s, "", KILN_POLICY_NEVER_COMPILE, KILN_E_WOULD_COMPILE);
    empty(&s);
}

static void another_kernels_bytes_are_a_miss(void **state) {
    launch_fixture *f = *state;
    store s = {0};
    kiln_context *context = create(f, &s, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = max(x)");
    launch_expect(launch_run(program, "f32[4,8] f32[4]"), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    run_once(f, &s, "", KILN_POLICY_COMPILE, KILN_OK);
    assert_int_equal(s.count, 2);
    memcpy(s.slots[0].key, s.slots[1].key, sizeof s.slots[0].key);
    assert_int_equal(run_once(f, &s, "", KILN_POLICY_COMPILE, KILN_OK).compiled, 1); /* and is replaced */
    assert_int_equal(run_once(f, &s, "", KILN_POLICY_NEVER_COMPILE, KILN_OK).from_callbacks, 1);
    empty(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(what_is_compiled_is_kept_and_found_without_nvrtc),
        WITH_LAUNCHES(what_is_on_disk_is_told_as_well),
        WITH_LAUNCHES(more_bytes_than_there_is_room_for_are_asked_for_again),
        WITH_LAUNCHES(damaged_bytes_are_a_miss_that_is_told),
        WITH_LAUNCHES(another_kernels_bytes_are_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The cache's size: the least recently used goes first, whoever passes the limit prunes, what the dead left is swept. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cache_fixture.h"

static kiln__key numbered_key(int number) {
    kiln__key key;
    kiln__key_parts other = parts;
    other.arch = 1000 + number;
    assert_int_equal(kiln__key_make(&other, &key), KILN_OK);
    return key;
}

static void put_numbered(cache_fixture *f, int number, bool expected) {
    kiln__key key = numbered_key(number);
    assert_int_equal(kiln__disk_put(f->disk, &key, &sample), expected);
    kiln__key_free(&key);
}

static bool has_numbered(cache_fixture *f, int number) {
    kiln__key key = numbered_key(number);
    kiln__entry found;
    bool hit = kiln__disk_get(f->disk, &key, &found);
    if (hit) kiln__entry_free(&found);
    kiln__key_free(&key);
    return hit;
}

/* Last used so many seconds ago; negative: in the future. */
static void set_age(const char *path, int seconds) {
    const struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void set_age_numbered(cache_fixture *f, int number, int seconds) {
    char path[PATH_MAX];
    kiln__key key = numbered_key(number);
    snprintf(path, sizeof path, "%s/%.2s/%s.k1", f->dir, key.hex, key.hex);
    set_age(path, seconds);
    kiln__key_free(&key);
}

static int64_t entry_size(cache_fixture *f) {
    kiln__pruned one;
    put_numbered(f, 0, true);
    assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &one), KILN_OK);
    assert_int_equal(one.kept, 1);
    return one.kept_bytes;
}

static void the_least_recently_used_go_first(void **state) {
    cache_fixture *f = *state;
    kiln__pruned pruned;
    int64_t size = entry_size(f);
    for (int i = 0; i < 10; i++) put_numbered(f, i, true);
    for (int i = 0; i < 10; i++) set_age_numbered(f, i, 100 + (i * 7 % 10) * 1000); /* oldest: 7, then 4, 1, 8, 5 */
    assert_int_equal(kiln__disk_prune(f->disk, 6 * size + 1, -1, &pruned), KILN_OK);
    assert_int_equal(pruned.removed, 4);
    assert_int_equal(pruned.removed_bytes, 4 * size);
    assert_int_equal(pruned.kept, 6);
    assert_int_equal(pruned.kept_bytes, 6 * size);
    for (int i = 0; i < 10; i++) assert_int_equal(has_numbered(f, i), i * 7 % 10 < 6);
    assert_int_equal(kiln__disk_prune(f->disk, 0, -1, NULL), KILN_OK);
    for (int i = 0; i < 10; i++) assert_false(has_numbered(f, i));
}

static void entries_older_than_an_age_are_removed(void **state) {
    cache_fixture *f = *state;
    kiln__pruned pruned;
    for (int i = 0; i < 5; i++) put_numbered(f, i, true);
    for (int i = 0; i < 5; i++) set_age_numbered(f, i, 100 * i);
    assert_int_equal(kiln__disk_prune(f->disk, -1, 250, &pruned), KILN_OK);
    assert_int_equal(pruned.removed, 2);
    for (int i = 0; i < 5; i++) assert_int_equal(has_numbered(f, i), i < 3);
}

static void a_hit_saves_an_entry(void **state) {
    cache_fixture *f = *state;
    int64_t size = entry_size(f);
    for (int i = 0; i < 4; i++) put_numbered(f, i, true);
    for (int i = 0; i < 4; i++) set_age_numbered(f, i, 4000 - i);
    assert_true(has_numbered(f, 0));
    assert_int_equal(kiln__disk_prune(f->disk, size, -1, NULL), KILN_OK);
    assert_true(has_numbered(f, 0));
    assert_false(has_numbered(f, 3));
}

static void a_clock_that_was_wrong_protects_nothing(void **state) {
    cache_fixture *f = *state;
    int64_t size = entry_size(f);
    put_numbered(f, 1, true);
    set_age_numbered(f, 0, -365 * 86400);
    assert_int_equal(kiln__disk_prune(f->disk, -1, 0, NULL), KILN_OK); /* neither is older than now */
    set_age_numbered(f, 1, -10);
    assert_int_equal(kiln__disk_prune(f->disk, size, -1, NULL), KILN_OK);
    assert_false(has_numbered(f, 0));
    assert_true(has_numbered(f, 1));
}

static void whoever_passes_the_limit_prunes(void **state) {
    cache_fixture *f = *state;
    kiln__pruned left;
    int64_t size = entry_size(f), limit = 16 * size;
    use_folder(f, f->dir);
    assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
    for (int i = 0; i < 100; i++) {
        put_numbered(f, i, true);
        set_age_numbered(f, i, 1000 - i);
        assert_true(has_numbered(f, i));
        set_age_numbered(f, i, 1000 - i);
        assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
        assert_true(left.kept_bytes <= limit);
    }
    assert_true(left.kept >= 12); /* not all of it: an eighth */
    assert_false(has_numbered(f, 50));
    use_folder(f, f->dir); /* another process sees what the first left */
    assert_int_equal(kiln__disk_set_limit(f->disk, 4 * size), KILN_OK);
    put_numbered(f, 200, true);
    assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
    assert_true(left.kept_bytes <= 4 * size);
    assert_int_equal(kiln__disk_set_limit(f->disk, size - 1), KILN_OK);
    put_numbered(f, 201, false); /* would never fit */
}

static void what_the_dead_left_is_swept_after_an_hour(void **state) {
    cache_fixture *f = *state;
    static const struct { const char *name; int age; bool stays; } table[] = {
        {"0f/.tmp-1", 3700, false}, {"0f/.tmp-2", 10, true}, {"0f/.tmp-3", -7200, false},
        {"records/.tmp-4", 3700, false}, {"records/nvrtc.bad", 3700, false}, {"records/nvrtc", 86400, true},
        {"0f/0f000000000000000000000000000000.k1.bad", 3700, false},
        {"0f/0f000000000000000000000000000000.k0", 86400, true}, /* another version's entry */
        {"0f/0f000000000000000000000000000001.k1.bad", 60, true}, {"0f/notes.txt", 86400, true},
    };
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, i ? "records" : "0f");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < COUNT(table); i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, table[i].name);
        write_bytes(path, "x", 1);
        set_age(path, table[i].age);
    }
    put_numbered(f, 0, true); /* a disk's first */
    for (size_t i = 0; i < COUNT(table); i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, table[i].name);
        if (is_there(path) != table[i].stays) fail_msg("%s, %d seconds old", table[i].name, table[i].age);
    }
    assert_int_equal(kiln__disk_prune(f->disk, 0, -1, NULL), KILN_OK);
    for (size_t i = 0; i < COUNT(table); i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, table[i].name);
        bool stays = table[i].stays && !strstr(table[i].name, ".k");
        if (is_there(path) != stays) fail_msg("%s after pruning to nothing", table[i].name);
    }
}

static void the_environment_sets_the_limit(void **state) {
    cache_fixture *f = *state;
    int64_t size = entry_size(f);
    static const struct { const char *text; kiln_status status; bool keeps; } table[] = {
        {NULL, KILN_OK, true},    {"", KILN_OK, true},       {"0", KILN_OK, true},       {"100", KILN_OK, false},
        {"64K", KILN_OK, true},   {"2G", KILN_OK, true},     {"9999999T", KILN_E_ARGUMENT, true},
        {"-1", KILN_E_ARGUMENT, true}, {"12Q", KILN_E_ARGUMENT, true}, {"1MM", KILN_E_ARGUMENT, true},
        {"much", KILN_E_ARGUMENT, true}, {" 7", KILN_E_ARGUMENT, true},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        (void)(table[i].text ? setenv("KILN_CACHE_SIZE", table[i].text, 1) : unsetenv("KILN_CACHE_SIZE"));
        if (kiln__disk_set_limit(f->disk, 0) != table[i].status) fail_msg("KILN_CACHE_SIZE=%s", table[i].text);
        if (table[i].status) assert_non_null(strstr(kiln_last_error(), table[i].text));
        else put_numbered(f, 1, table[i].keeps);
    }
    setenv("KILN_CACHE_SIZE", "100", 1);
    assert_int_equal(kiln__disk_set_limit(f->disk, 2 * size), KILN_OK); /* an option comes first */
    put_numbered(f, 2, true);
    unsetenv("KILN_CACHE_SIZE");
}

static void a_cache_that_is_not_there_has_nothing_to_prune(void **state) {
    cache_fixture *f = *state;
    kiln__pruned pruned;
    use_folder(f, "/nowhere/at/all");
    assert_int_equal(kiln__disk_prune(f->disk, 0, 0, &pruned), KILN_OK);
    assert_int_equal(pruned.kept + pruned.removed, 0);
    use_folder(f, "/dev/null");
    assert_int_equal(kiln__disk_prune(f->disk, 0, 0, &pruned), KILN_E_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_least_recently_used_go_first),
        WITH_FOLDER(entries_older_than_an_age_are_removed),
        WITH_FOLDER(a_hit_saves_an_entry),
        WITH_FOLDER(a_clock_that_was_wrong_protects_nothing),
        WITH_FOLDER(whoever_passes_the_limit_prunes),
        WITH_FOLDER(what_the_dead_left_is_swept_after_an_hour),
        WITH_FOLDER(the_environment_sets_the_limit),
        WITH_FOLDER(a_cache_that_is_not_there_has_nothing_to_prune),
    };
    return cmocka_run_group_tests_name("cache_prune", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's size: the least recently used goes first, whoever passes the limit prunes, what the dead left is swept.
 * With an argument on a file system that keeps times of modification by so many milliseconds. */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache/folder.h"
#include "support/cache_fixture.h"

/* The linker puts them in the places of fstat and fstatat. */
int __real_fstat(int file, struct stat *status);
int __real_fstatat(int folder, const char *name, struct stat *status, int flags);
int __wrap_fstat(int file, struct stat *status);
int __wrap_fstatat(int folder, const char *name, struct stat *status, int flags);
static int64_t granularity = 1; /* in nanoseconds */
static int coarsened(int code, struct stat *status) {
    if (code == 0) status->st_mtim.tv_nsec -= status->st_mtim.tv_nsec % granularity;
    return code;
}
int __wrap_fstat(int file, struct stat *status) { return coarsened(__real_fstat(file, status), status); }
int __wrap_fstatat(int folder, const char *name, struct stat *status, int flags) {
    return coarsened(__real_fstatat(folder, name, status, flags), status);
}

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
    f->disk->step_ms = 10000; /* however slow the machine */
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
    f->disk->step_ms = 10000;
    assert_int_equal(kiln__disk_set_limit(f->disk, 4 * size), KILN_OK);
    put_numbered(f, 200, true);
    assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
    assert_true(left.kept_bytes <= 4 * size);
    assert_int_equal(kiln__disk_set_limit(f->disk, size - 1), KILN_OK);
    put_numbered(f, 201, false); /* would never fit */
}

/* Times of modification tell no two changes of one moment apart: what is put just after its folder was pruned counts.
 */
static void what_is_put_while_its_folder_is_pruned_counts(void **state) {
    cache_fixture *f = *state;
    kiln__pruned left;
    const int64_t size = entry_size(f), limit = 40 * size;
    use_folder(f, f->dir);
    f->disk->step_ms = 10000; /* however slow the machine */
    assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
    for (int i = 0; i < 400; i++) {
        kiln__key key = numbered_key(i);
        memcpy(key.hex, "0f", 2);
        assert_true(kiln__disk_put(f->disk, &key, &sample));
        kiln__key_free(&key);
        assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
        if (left.kept_bytes > limit)
            fail_msg("put %d: %lld bytes of %lld", i, (long long)left.kept_bytes, (long long)limit);
    }
}

/* Entries of other programs, last used so many seconds ago and less: the first ones least recently. */
static void fill_folder(cache_fixture *f, int count, int64_t size, int seconds) {
    uint64_t random = 7;
    uint8_t *bytes = calloc(1, (size_t)size);
    assert_non_null(bytes);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        random = random * 6364136223846793005u + 1442695040888963407u;
        snprintf(path, sizeof path, "%s/%02x", f->dir, (unsigned)(random >> 56));
        (void)mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%02x/%02x%030x.k1", f->dir, (unsigned)(random >> 56), (unsigned)(random >> 56),
                 (unsigned)i);
        write_bytes(path, bytes, (size_t)size);
        set_age(path, seconds - (int)((int64_t)i * seconds / (2 * count)));
    }
    free(bytes);
}

static kiln__pruned measured(cache_fixture *f) {
    kiln__pruned left;
    assert_int_equal(kiln__disk_prune(f->disk, -1, -1, &left), KILN_OK);
    return left;
}

/* Even where a put has time for next to nothing, and each is another process's. */
static void a_put_prunes_a_few_and_the_limit_is_reached(void **state) {
    cache_fixture *f = *state;
    const int64_t size = entry_size(f), limit = 600 * size;
    fill_folder(f, 1500, size, 100000);
    size_t before = measured(f).kept, now = before;
    int puts = 0;
    for (; puts < 1200; puts++) {
        use_folder(f, f->dir);
        f->disk->step_ms = 0;
        assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
        put_numbered(f, puts, true);
        if (puts % 8) continue;
        now = measured(f).kept;
        if (now + 8 * 8 < before) fail_msg("put %d: %zu entries, %zu before", puts, now, before);
        before = now;
        if (measured(f).kept_bytes <= limit) break;
    }
    const kiln__pruned left = measured(f);
    assert_true(left.kept_bytes <= limit);
    assert_true(left.kept_bytes >= limit / 2);
    for (int i = 0; i <= puts; i++) assert_true(has_numbered(f, i)); /* all others were used before */
}

static void what_others_removed_is_not_removed_again(void **state) {
    cache_fixture *f = *state;
    const int64_t size = entry_size(f), limit = 400 * size;
    char command[128];
    fill_folder(f, 380, size, 1000);
    f->disk->step_ms = 10000;
    assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
    for (int i = 0; i < 30; i++) put_numbered(f, i, true);
    assert_true(measured(f).kept_bytes <= limit);
    snprintf(command, sizeof command, "rm -rf '%s'/[0-7]?", f->dir);
    assert_int_equal(system(command), 0);
    const size_t left = measured(f).kept;
    assert_true(left < 300);
    for (int i = 100; i < 140; i++) put_numbered(f, i, true);
    assert_int_equal(measured(f).kept, left + 40);
}

/* Accounts of folders are found out again where they are lost, damaged, or of a folder that has changed since. */
static void accounts_are_not_trusted(void **state) {
    cache_fixture *f = *state;
    const int64_t size = entry_size(f), limit = 50 * size;
    char path[PATH_MAX];
    uint8_t bytes[16384];
    snprintf(path, sizeof path, "%s/records/sizes", f->dir);
    for (int i = 0; i < 4; i++) {
        use_folder(f, f->dir);
        f->disk->step_ms = 10000;
        assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
        put_numbered(f, i, true);
        assert_true(measured(f).kept_bytes <= limit);
        fill_folder(f, 200, size, 1000 * (i + 1));
        const size_t length = read_bytes(path, bytes, sizeof bytes);
        if (i == 0) unlink(path);
        if (i == 1) write_bytes(path, bytes, length / 2);
        if (i == 2) { /* a whole record of another form */
            memset(bytes, 0xff, sizeof bytes);
            assert_true(kiln__disk_record_put(f->disk, "sizes", bytes, length - 16));
        }
    }
    use_folder(f, f->dir);
    f->disk->step_ms = 10000;
    assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
    put_numbered(f, 9, true);
    assert_true(measured(f).kept_bytes <= limit);
    assert_true(measured(f).kept >= 40);
}

/* Many who prune at once write the accounts of what they found, longer than an entry is. */
static void a_record_that_is_being_written_is_not_counted(void **state) {
    cache_fixture *f = *state;
    static const unsigned char bytes[8192];
    char path[PATH_MAX + 32];
    const int64_t size = entry_size(f);
    snprintf(path, sizeof path, "%s/records/.tmp-1", f->dir);
    write_bytes(path, bytes, sizeof bytes);
    assert_int_equal(measured(f).kept_bytes, size);
    use_folder(f, f->dir);
    assert_int_equal(kiln__disk_set_limit(f->disk, 10 * size), KILN_OK);
    for (int i = 0; i < 8; i++) put_numbered(f, i, true);
    assert_int_equal(measured(f).kept, 8);
}

static void many_processes_stay_below_the_limit(void **state) {
    cache_fixture *f = *state;
    enum { processes = 4, each = 150 };
    const int64_t size = entry_size(f), limit = 100 * size;
    fill_folder(f, 400, size, 1000);
    for (int p = 0; p < processes; p++) {
        if (fork()) continue;
        for (int i = 0; i < each; i++) {
            if (i % 10 == 0) {
                use_folder(f, f->dir);
                if (kiln__disk_set_limit(f->disk, limit)) _exit(1);
            }
            put_numbered(f, 1000 * p + i, true);
        }
        _exit(0);
    }
    for (int p = 0; p < processes; p++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    use_folder(f, f->dir);
    f->disk->step_ms = 10000;
    assert_int_equal(kiln__disk_set_limit(f->disk, limit), KILN_OK);
    put_numbered(f, 9999, true);
    const kiln__pruned left = measured(f);
    assert_true(left.kept_bytes <= limit);
    assert_true(left.kept >= 75); /* they do not remove the same share one after another */
}

static void what_the_dead_left_is_swept_after_an_hour(void **state) {
    cache_fixture *f = *state;
    static const struct {
        const char *name;
        int age;
        bool stays;
    } table[] = {
        {"0f/.tmp-1", 3700, false},
        {"0f/.tmp-2", 10, true},
        {"0f/.tmp-3", -7200, false},
        {"records/.tmp-4", 3700, false},
        {"records/nvrtc.bad", 3700, false},
        {"records/nvrtc", 86400, true},
        {"records/slow_1", 80000, true},
        {"records/slow_2", 90000, false},
        {"0f/0f000000000000000000000000000000.k1.bad", 3700, false},
        {"0f/0f000000000000000000000000000000.k0", 86400, true}, /* another version's entry */
        {"0f/0f000000000000000000000000000001.k1.bad", 60, true},
        {"0f/notes.txt", 86400, true},
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
    f->disk->step_ms = 10000;
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
    static const struct {
        const char *text;
        kiln_status status;
        bool keeps;
    } table[] = {
        {NULL, KILN_OK, true},
        {"", KILN_OK, true},
        {"0", KILN_OK, true},
        {"100", KILN_OK, false},
        {"64K", KILN_OK, true},
        {"2G", KILN_OK, true},
        {"9999999T", KILN_E_ARGUMENT, true},
        {"-1", KILN_E_ARGUMENT, true},
        {"12Q", KILN_E_ARGUMENT, true},
        {"1MM", KILN_E_ARGUMENT, true},
        {"much", KILN_E_ARGUMENT, true},
        {" 7", KILN_E_ARGUMENT, true},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        (void)(table[i].text ? setenv("KILN_CACHE_SIZE", table[i].text, 1) : unsetenv("KILN_CACHE_SIZE"));
        if (kiln__disk_set_limit(f->disk, 0) != table[i].status) fail_msg("KILN_CACHE_SIZE=%s", table[i].text);
        if (table[i].status)
            assert_non_null(strstr(kiln_last_error(), table[i].text));
        else
            put_numbered(f, 1, table[i].keeps);
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

int main(int argc, char **argv) {
    if (argc > 1) granularity = atoll(argv[1]) * 1000000;
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_least_recently_used_go_first),
        WITH_FOLDER(entries_older_than_an_age_are_removed),
        WITH_FOLDER(a_hit_saves_an_entry),
        WITH_FOLDER(a_clock_that_was_wrong_protects_nothing),
        WITH_FOLDER(whoever_passes_the_limit_prunes),
        WITH_FOLDER(what_is_put_while_its_folder_is_pruned_counts),
        WITH_FOLDER(a_put_prunes_a_few_and_the_limit_is_reached),
        WITH_FOLDER(what_others_removed_is_not_removed_again),
        WITH_FOLDER(accounts_are_not_trusted),
        WITH_FOLDER(a_record_that_is_being_written_is_not_counted),
        WITH_FOLDER(many_processes_stay_below_the_limit),
        WITH_FOLDER(what_the_dead_left_is_swept_after_an_hour),
        WITH_FOLDER(the_environment_sets_the_limit),
        WITH_FOLDER(a_cache_that_is_not_there_has_nothing_to_prune),
    };
    return cmocka_run_group_tests_name("cache_prune", tests, NULL, NULL);
}

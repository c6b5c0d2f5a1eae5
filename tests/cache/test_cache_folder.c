/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's folder: chosen by the environment, trusted or left alone, shared by many writers, listed, cleared. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cache_fixture.h"

/* ---- where ---- */

static void the_environment_chooses_the_folder(void **state) {
    cache_fixture *f = *state;
    static const struct {
        const char *dir, *kiln, *xdg, *home, *path;
    } table[] = {
        {"/a", "/b", "/c", "/d", "/a"},
        {NULL, "/b", "/c", "/d", "/b"},
        {NULL, "", "/c", "/d", "/c/kiln"},
        {NULL, NULL, "/c", "/d", "/c/kiln"},
        {NULL, NULL, "relative", "/d", "/d/.cache/kiln"},
        {NULL, NULL, "", "/d", "/d/.cache/kiln"},
        {NULL, NULL, NULL, "/d", "/d/.cache/kiln"},
        {NULL, NULL, NULL, "relative", ""},
        {NULL, NULL, NULL, "", ""},
        {NULL, NULL, NULL, NULL, ""},
        {"", "/b", "/c", "/d", ""},
    };
    static const char *const names[] = {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    char *saved[COUNT(names)], here[2048], expected[PATH_MAX];
    for (size_t i = 0; i < COUNT(names); i++) saved[i] = getenv(names[i]) != NULL ? strdup(getenv(names[i])) : NULL;
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *const values[] = {table[i].kiln, table[i].xdg, table[i].home};
        for (size_t k = 0; k < COUNT(names); k++)
            (void)(values[k] != NULL ? setenv(names[k], values[k], 1) : unsetenv(names[k]));
        use_folder(f, table[i].dir);
        assert_string_equal(kiln__disk_path(f->disk), table[i].path);
    }
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/below", here);
    use_folder(f, "below"); /* fixed now: a later chdir does not move it */
    assert_string_equal(kiln__disk_path(f->disk), expected);
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)(saved[i] != NULL ? setenv(names[i], saved[i], 1) : unsetenv(names[i]));
        free(saved[i]);
    }
}

/* ---- trust and failing disks ---- */

static void an_unusable_folder_is_told_once_and_misses(void **state) {
    cache_fixture *f = *state;
    char file[PATH_MAX], below[PATH_MAX];
    snprintf(file, sizeof file, "%s/file", f->dir);
    snprintf(below, sizeof below, "%s/file/cache", f->dir);
    write_bytes(file, "x", 1);
    const char *const table[] = {below, file, "/proc/kiln-cache", "/dev/null/cache"};
    for (size_t i = 0; i < COUNT(table); i++) {
        char bytes[8];
        size_t size = sizeof bytes;
        f->messages = 0;
        use_folder(f, table[i]);
        for (int k = 0; k < 3; k++) {
            assert_false(kiln__disk_put(f->disk, &f->key, &sample));
            expect_miss(f);
            assert_false(kiln__disk_record_put(f->disk, "name", "x", 1));
            assert_false(kiln__disk_record_get(f->disk, "name", bytes, &size));
            kiln__disk_reject(f->disk, &f->key, sample.image, sample.image_size);
        }
        assert_int_equal(f->messages, 1);
        assert_non_null(strstr(f->message, table[i]));
    }
}

static void no_folder_is_no_cache(void **state) {
    cache_fixture *f = *state;
    size_t count = 7;
    use_folder(f, "");
    assert_string_equal(kiln__disk_path(f->disk), "");
    assert_false(kiln__disk_put(f->disk, &f->key, &sample));
    expect_miss(f);
    assert_int_equal(kiln__disk_clear(f->disk, &count, NULL), KILN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(f->messages, 0);
    kiln__disk_close(NULL);
}

static void what_others_can_write_is_not_trusted(void **state) {
    cache_fixture *f = *state;
    char sub[PATH_MAX], path[PATH_MAX];
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    snprintf(sub, sizeof sub, "%s/%.2s", f->dir, f->key.hex);
    const char *const table[] = {f->dir, sub, entry_path(f, "", path)};
    for (size_t i = 0; i < COUNT(table); i++) {
        const bool is_file = i == 2;
        for (int how = 0; how < 3; how++) {
            if (how == 2 && geteuid() != 0) continue; /* giving a file away needs the right to */
            f->messages = 0;
            use_folder(f, f->dir);
            const mode_t open_to_others = (is_file ? 0600 : 0700) | (how == 0 ? S_IWGRP : S_IWOTH);
            assert_int_equal(how == 2 ? chown(table[i], 12345, (gid_t)-1) : chmod(table[i], open_to_others), 0);
            expect_miss(f);
            expect_miss(f);
            assert_int_equal(f->messages, 1);
            assert_true(is_there(path));
            assert_int_equal(kiln__disk_put(f->disk, &f->key, &sample), is_file); /* a file is replaced by ours */
            if (how == 2 && !is_file) assert_int_equal(chown(table[i], geteuid(), (gid_t)-1), 0);
            if (!is_file) assert_int_equal(chmod(table[i], 0700), 0);
            expect_hit(f);
        }
    }
    assert_int_equal(chmod(f->dir, 0777), 0);
    assert_int_equal(kiln__disk_clear(f->disk, NULL, NULL), KILN_E_IO);
    assert_int_equal(chmod(f->dir, 0700), 0);
}

static void what_is_no_file_is_not_followed(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX], elsewhere[PATH_MAX];
    uint8_t bytes[4096];
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", f->dir);
    assert_int_equal(rename(entry_path(f, "", path), elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    expect_miss(f);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample)); /* replaces the link, not what it names */
    expect_hit(f);
    assert_true(read_bytes(elsewhere, bytes, sizeof bytes) > 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_miss(f);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    expect_hit(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_miss(f);
    assert_false(kiln__disk_put(f->disk, &f->key, &sample));
}

static int count_files(const char *dir, const char *prefix) {
    int count = 0;
    DIR *names = opendir(dir);
    assert_non_null(names);
    for (const struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names))
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(names);
    return count;
}

static void a_full_disk_leaves_nothing_behind(void **state) {
    cache_fixture *f = *state;
    char sub[PATH_MAX];
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY}, little = {100, RLIM_INFINITY};
    snprintf(sub, sizeof sub, "%s/%.2s", f->dir, f->key.hex);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    bool kept = kiln__disk_put(f->disk, &f->key, &sample);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    assert_false(kept);
    assert_int_equal(f->messages, 1);
    assert_int_equal(count_files(sub, ".tmp-"), 0);
    expect_miss(f);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
}

static void old_temporary_files_are_swept_at_the_first_put(void **state) {
    cache_fixture *f = *state;
    char old[PATH_MAX], young[PATH_MAX], other[PATH_MAX];
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 3700}, {.tv_sec = time(NULL) - 3700}};
    snprintf(other, sizeof other, "%s/0f", f->dir);
    assert_int_equal(mkdir(other, 0700), 0);
    snprintf(old, sizeof old, "%s/0f/.tmp-1-0-00", f->dir);
    snprintf(young, sizeof young, "%s/0f/.tmp-2-0-00", f->dir);
    write_bytes(old, "x", 1);
    write_bytes(young, "x", 1);
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    assert_false(is_there(old));
    assert_true(is_there(young));
}

/* ---- many at once ---- */

static void put_and_get_often(kiln__disk *disk, const kiln__key *key, int times) {
    for (int i = 0; i < times; i++) {
        kiln__entry found;
        if (!kiln__disk_put(disk, key, &sample) || !kiln__disk_get(disk, key, &found)) _exit(1);
        if (memcmp(found.image, sample.image, sample.image_size) != 0) _exit(2);
        kiln__entry_free(&found);
    }
}

static void processes_put_the_same_key_at_once(void **state) {
    cache_fixture *f = *state;
    char sub[PATH_MAX];
    pid_t children[3];
    snprintf(sub, sizeof sub, "%s/%.2s", f->dir, f->key.hex);
    for (size_t i = 0; i < COUNT(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            put_and_get_often(f->disk, &f->key, 30);
            _exit(0);
        }
    }
    for (size_t i = 0; i < COUNT(children); i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    expect_hit(f);
    assert_int_equal(count_files(sub, f->key.hex), 1);
    assert_int_equal(count_files(sub, ".tmp-"), 0);
}

static void *put_in_thread(void *user) {
    const cache_fixture *f = user;
    put_and_get_often(f->disk, &f->key, 20);
    return NULL;
}

static void threads_put_the_same_key_at_once(void **state) {
    cache_fixture *f = *state;
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_in_thread, f), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    expect_hit(f);
    assert_int_equal(f->messages, 0);
}

/* ---- listing and clearing ---- */

typedef struct listing {
    int count, stop_after;
    char key[33], description[64];
    int64_t entry_bytes, image_bytes;
} listing;

static int list_entry(void *user, const kiln_cache_entry *entry) {
    listing *list = user;
    list->count++;
    snprintf(list->key, sizeof list->key, "%s", entry->key);
    snprintf(list->description, sizeof list->description, "%s", entry->description);
    list->entry_bytes = entry->entry_bytes;
    list->image_bytes = entry->image_bytes;
    return list->count == list->stop_after;
}

static void put_entries(cache_fixture *f, int count) {
    for (int i = 0; i < count; i++) {
        kiln__key key;
        kiln__key_parts other = parts;
        other.arch = 100 + i;
        assert_int_equal(kiln__key_make(&other, &key), KILN_OK);
        assert_true(kiln__disk_put(f->disk, &key, &sample));
        kiln__key_free(&key);
    }
}

static void entries_are_listed(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX];
    listing list = {0};
    size_t unreadable = 9;
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, &unreadable), KILN_OK);
    assert_int_equal(list.count, 0);
    assert_int_equal(unreadable, 0);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, NULL), KILN_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.key, f->key.hex);
    assert_string_equal(list.description, sample.description);
    assert_int_equal(list.image_bytes, 11);
    assert_true(list.entry_bytes > list.image_bytes + (int64_t)f->key.size);
    put_entries(f, 5);
    write_bytes(entry_path(f, "", path), "rubbish", 7);
    assert_true(kiln__disk_record_put(f->disk, "nvrtc", "x", 1));
    list = (listing){0};
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, &unreadable), KILN_OK);
    assert_int_equal(list.count, 5);
    assert_int_equal(unreadable, 1);
    assert_true(is_there(path)); /* listing moves nothing */
    list = (listing){.stop_after = 2};
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, NULL), KILN_OK);
    assert_int_equal(list.count, 2);
}

static void clearing_removes_what_is_ours_alone(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX], foreign[PATH_MAX];
    size_t removed = 9, size = sizeof path;
    int64_t bytes = 0;
    put_entries(f, 4);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    kiln__disk_reject(f->disk, &f->key, sample.image, sample.image_size);
    assert_true(kiln__disk_record_put(f->disk, "nvrtc", "x", 1));
    snprintf(foreign, sizeof foreign, "%s/%.2s/notes.txt", f->dir, f->key.hex);
    write_bytes(foreign, "mine", 4);
    assert_int_equal(kiln__disk_clear(f->disk, &removed, &bytes), KILN_OK);
    assert_int_equal(removed, 4);
    assert_true(bytes > 4 * 200);
    assert_true(is_there(foreign));
    assert_false(is_there(entry_path(f, ".bad", path)));
    assert_false(kiln__disk_record_get(f->disk, "nvrtc", path, &size));
    assert_int_equal(kiln__disk_clear(f->disk, &removed, &bytes), KILN_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(bytes, 0);
}

static void a_cache_that_cannot_be_read_is_told_by_listing_and_clearing(void **state) {
    cache_fixture *f = *state;
    listing list = {0};
    use_folder(f, "/dev/null");
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, NULL), KILN_E_IO);
    assert_non_null(strstr(kiln_last_error(), "'/dev/null'"));
    assert_int_equal(kiln__disk_clear(f->disk, NULL, NULL), KILN_E_IO);
    use_folder(f, "/nowhere/at/all");
    assert_int_equal(kiln__disk_visit(f->disk, list_entry, &list, NULL), KILN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_environment_chooses_the_folder),
        WITH_FOLDER(an_unusable_folder_is_told_once_and_misses),
        WITH_FOLDER(no_folder_is_no_cache),
        WITH_FOLDER(what_others_can_write_is_not_trusted),
        WITH_FOLDER(what_is_no_file_is_not_followed),
        WITH_FOLDER(a_full_disk_leaves_nothing_behind),
        WITH_FOLDER(old_temporary_files_are_swept_at_the_first_put),
        WITH_FOLDER(processes_put_the_same_key_at_once),
        WITH_FOLDER(threads_put_the_same_key_at_once),
        WITH_FOLDER(entries_are_listed),
        WITH_FOLDER(clearing_removes_what_is_ours_alone),
        WITH_FOLDER(a_cache_that_cannot_be_read_is_told_by_listing_and_clearing),
    };
    return cmocka_run_group_tests_name("cache_folder", tests, NULL, NULL);
}

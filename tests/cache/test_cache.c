/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's contents: keys that stand for every part, entries and records that survive nothing but being whole. */
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
#include <unistd.h>

#include "cache/checksum.h"
#include "cache/entry.h"
#include "support/cache_fixture.h"

/* ---- keys ---- */

static void a_key_is_the_same_on_every_machine(void **state) {
    const cache_fixture *f = *state;
    assert_int_equal(f->key.size, 132);
    static const char first[] = "KILNKEY\0" /* format, architecture, PTX, NVRTC's version, number of options */
                                "\1\0\0\0\x5a\0\0\0\0\0\0\0\x0d\0\0\0\0\0\0\0\2\0\0\0"
                                "\x08\0\0\0\0\0\0\0"
                                "65be0db3"
                                "\x0b\0\0\0\0\0\0\0--std=c++17";
    assert_memory_equal(f->key.material, first, sizeof first - 1);
    assert_string_equal(f->key.hex, "005272e8761baf0622bbd45e076b1094");
}

static void every_part_changes_the_key(void **state) {
    const cache_fixture *f = *state;
    static const char *const fewer[] = {"--std=c++17", NULL};
    static const char *const joined[] = {"--std=c++17-default-device", NULL};
    static const char *const swapped[] = {"-default-device", "--std=c++17", NULL};
    kiln__key_parts other[11];
    for (size_t i = 0; i < COUNT(other); i++) other[i] = parts;
    other[0].source = "extern \"C\" __global__ void k() {}";
    other[1].source = "";
    other[2].options = fewer;
    other[3].options = joined;
    other[4].options = swapped;
    other[5].arch = 80;
    other[6].ptx = true;
    other[7].nvrtc_major = 12;
    other[8].nvrtc_minor = 1;
    other[9].nvrtc_build = "65be0db4";
    other[10].nvrtc_build = "";
    char seen[COUNT(other) + 1][33];
    strcpy(seen[0], f->key.hex);
    for (size_t i = 0; i < COUNT(other); i++) {
        kiln__key key;
        assert_int_equal(kiln__key_make(&other[i], &key), KILN_OK);
        strcpy(seen[i + 1], key.hex);
        kiln__key_free(&key);
        for (size_t j = 0; j <= i; j++) assert_string_not_equal(seen[j], seen[i + 1]);
    }
    kiln__key_free(NULL);
}

static void a_key_tells_what_it_was_made_of(void **state) {
    const cache_fixture *f = *state;
    kiln__key_view view;
    assert_true(kiln__key_decode(f->key.material, f->key.size, &view));
    assert_int_equal(view.arch, 90);
    assert_false(view.ptx);
    assert_int_equal(view.nvrtc_major * 100 + view.nvrtc_minor, 1300);
    assert_int_equal(view.build_size, strlen(parts.nvrtc_build));
    assert_memory_equal(view.build, parts.nvrtc_build, view.build_size);
    assert_int_equal(view.source_size, strlen(parts.source));
    assert_memory_equal(view.source, parts.source, view.source_size);
    const uint8_t *at = view.options;
    size_t size = 0;
    for (size_t i = 0; parts.options[i] != NULL; i++) {
        const char *option = kiln__key_next_option(&view, &at, &size);
        assert_int_equal(size, strlen(parts.options[i]));
        assert_memory_equal(option, parts.options[i], size);
    }
    assert_null(kiln__key_next_option(&view, &at, &size));
    for (size_t i = 0; i < f->key.size; i++) assert_false(kiln__key_decode(f->key.material, i, &view));
}

/* ---- entries ---- */

static void an_entry_comes_back_as_it_was_put(void **state) {
    cache_fixture *f = *state;
    kiln__entry found;
    expect_miss(f);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    assert_true(kiln__disk_get(f->disk, &f->key, &found));
    const kiln__entry *entry = &found;
    assert_int_equal(entry->image_size, 11);
    assert_memory_equal(entry->image, "image bytes", 11);
    assert_int_equal((uintptr_t)entry->image % 16, 0);
    assert_false(entry->facts.is_ptx);
    assert_int_equal(entry->facts.arch, 90);
    assert_int_equal(entry->facts.registers, 40);
    assert_int_equal(entry->facts.spill_bytes, -1);
    assert_int_equal(entry->facts.shared_bytes, 1 << 20);
    assert_true(entry->facts.create_ms == 0.25 && entry->facts.compile_ms == 75.5 && entry->facts.fetch_ms == 1.0 / 3);
    assert_int_equal(entry->facts.created_unix, 1234567890123);
    assert_string_equal(entry->name, "kiln_softmax");
    assert_string_equal(entry->description, "y = softmax(x)  f16[*, 1024]");
    assert_string_equal(entry->schedule, "warp, registers");
    assert_string_equal(entry->log, "");
    kiln__entry_free(&found);
    kiln__entry_free(NULL);
    assert_int_equal(f->messages, 0);
}

static void files_and_folders_are_the_owners_alone(void **state) {
    cache_fixture *f = *state;
    char dir[PATH_MAX], path[PATH_MAX];
    struct stat status;
    snprintf(dir, sizeof dir, "%s/deep/er", f->dir);
    use_folder(f, dir);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    assert_int_equal(stat(dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(path, sizeof path, "%.200s/%.2s", dir, f->key.hex);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(path, sizeof path, "%.200s/%.2s/%s.k1", dir, f->key.hex, f->key.hex);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void an_entry_without_image_is_not_kept(void **state) {
    cache_fixture *f = *state;
    kiln__entry empty = sample;
    empty.image_size = 0;
    assert_false(kiln__disk_put(f->disk, &f->key, &empty));
    expect_miss(f);
}

static void ptx_must_end_in_nul(void **state) {
    cache_fixture *f = *state;
    kiln__entry ptx = sample;
    kiln__entry found;
    ptx.facts.is_ptx = true;
    ptx.image_size = 12;
    assert_true(kiln__disk_put(f->disk, &f->key, &ptx));
    assert_true(kiln__disk_get(f->disk, &f->key, &found));
    assert_string_equal(found.image, "image bytes");
    kiln__entry_free(&found);
    ptx.image_size = 11;
    assert_true(kiln__disk_put(f->disk, &f->key, &ptx));
    expect_miss(f);
}

static void expect_moved_aside_and_written_again(cache_fixture *f, const uint8_t *good, size_t size) {
    char path[PATH_MAX], bad[PATH_MAX];
    expect_miss(f);
    assert_false(is_there(entry_path(f, "", path)));
    assert_true(is_there(entry_path(f, ".bad", bad)));
    write_bytes(path, good, size);
    expect_hit(f);
    assert_int_equal(unlink(bad), 0);
}

static void a_short_or_flipped_entry_is_a_miss_and_moved_aside(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX];
    uint8_t good[4096], damaged[4096];
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    size_t size = read_bytes(entry_path(f, "", path), good, sizeof good);
    assert_in_range(size, 200, sizeof good - 1);
    for (size_t i = 0; i < size; i++) {
        write_bytes(path, good, i);
        expect_moved_aside_and_written_again(f, good, size);
        memcpy(damaged, good, size);
        damaged[i] ^= (uint8_t)(1u << i % 8);
        write_bytes(path, damaged, size);
        expect_moved_aside_and_written_again(f, good, size);
    }
    memcpy(damaged, good, size);
    damaged[size] = 0;
    write_bytes(path, damaged, size + 1);
    expect_moved_aside_and_written_again(f, good, size);
    write_bytes(path, "", 0);
    expect_miss(f);
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    expect_hit(f);
}

/* Past the checksum, as an attacker's file or a fuzzer's would be. */
static void wild_sizes_under_a_right_checksum_are_refused(void **state) {
    const cache_fixture *f = *state;
    static const uint64_t sizes[] = {0, 1, 15, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX - 100, UINT64_MAX};
    size_t size = 0;
    uint8_t *good = kiln__entry_encode(&f->key, &sample, &size);
    assert_non_null(good);
    const size_t first = 8 + 24 + 40;
    for (size_t i = 0; i < 6 * COUNT(sizes); i++) {
        kiln__entry entry;
        uint8_t *wild = malloc(size);
        assert_non_null(wild);
        memcpy(wild, good, size);
        for (int k = 0; k < 8; k++)
            wild[first + i / COUNT(sizes) * 8 + (size_t)k] = (uint8_t)(sizes[i % COUNT(sizes)] >> 8 * k);
        kiln__checksum(wild, size - KILN__CHECKSUM_SIZE, wild + size - KILN__CHECKSUM_SIZE);
        bool same = memcmp(wild, good, size) == 0;
        assert_int_equal(kiln__entry_decode(wild, size, &entry), same);
        free(wild);
    }
    free(good);
}

static void a_digest_of_other_material_is_a_miss_and_stays(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX];
    kiln__key other;
    kiln__key_parts changed = parts;
    changed.source = "another kernel";
    assert_int_equal(kiln__key_make(&changed, &other), KILN_OK);
    memcpy(other.digest, f->key.digest, sizeof other.digest);
    memcpy(other.hex, f->key.hex, sizeof other.hex);
    assert_true(kiln__disk_put(f->disk, &other, &sample));
    expect_miss(f);
    assert_true(is_there(entry_path(f, "", path)));
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    expect_hit(f);
    kiln__key_free(&other);
}

static void an_entry_that_the_driver_refused_is_moved_aside(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX];
    kiln__disk_reject(f->disk, &f->key, sample.image, sample.image_size); /* nothing there: nothing to do */
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    kiln__disk_reject(f->disk, &f->key, "image bytez", sample.image_size); /* another has taken its place */
    expect_hit(f);
    kiln__disk_reject(f->disk, &f->key, sample.image, sample.image_size);
    expect_miss(f);
    assert_true(is_there(entry_path(f, ".bad", path)));
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    expect_hit(f);
}

static void a_hit_marks_the_time_of_use_once_a_minute(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX];
    struct stat status;
    assert_true(kiln__disk_put(f->disk, &f->key, &sample));
    const time_t now = time(NULL);
    const struct {
        time_t age;
        bool touched;
    } table[] = {{30, false}, {3600, true}, {-3600, true}};
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct timespec times[2] = {{.tv_sec = now - table[i].age}, {.tv_sec = now - table[i].age}};
        assert_int_equal(utimensat(AT_FDCWD, entry_path(f, "", path), times, 0), 0);
        expect_hit(f);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mtim.tv_sec != now - table[i].age, table[i].touched);
    }
}

/* ---- records ---- */

static void a_record_comes_back_as_it_was_put(void **state) {
    cache_fixture *f = *state;
    uint8_t bytes[16384], back[16384];
    size_t size = sizeof back;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
    assert_false(kiln__disk_record_get(f->disk, "nvrtc", back, &size));
    const size_t sizes[] = {0, 1, 100, 4096, 16384};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_true(kiln__disk_record_put(f->disk, "nvrtc", bytes, sizes[i]));
        size = sizeof back;
        assert_true(kiln__disk_record_get(f->disk, "nvrtc", back, &size));
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(back, bytes, size);
    }
    size = 16383;
    assert_false(kiln__disk_record_get(f->disk, "nvrtc", back, &size)); /* does not fit, and stays */
    size = sizeof back;
    assert_true(kiln__disk_record_get(f->disk, "nvrtc", back, &size));
    assert_false(kiln__disk_record_put(f->disk, "nvrtc", bytes, 16385));
}

static void records_have_plain_names(void **state) {
    cache_fixture *f = *state;
    static const char *const names[] = {"", "..", "a/b", "../x", "Upper", "a.b", "\xc3\xa4"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char back[4];
        size_t size = sizeof back;
        assert_false(kiln__disk_record_put(f->disk, names[i], "x", 1));
        assert_false(kiln__disk_record_get(f->disk, names[i], back, &size));
    }
}

static void a_damaged_record_is_moved_aside(void **state) {
    cache_fixture *f = *state;
    char path[PATH_MAX], bad[PATH_MAX];
    uint8_t good[64], damaged[64], back[64];
    snprintf(path, sizeof path, "%s/records/nvrtc", f->dir);
    snprintf(bad, sizeof bad, "%s/records/nvrtc.bad", f->dir);
    assert_true(kiln__disk_record_put(f->disk, "nvrtc", "twelve bytes", 12));
    size_t file_size = read_bytes(path, good, sizeof good), size = sizeof back;
    for (size_t i = 0; i < 2 * file_size; i++) {
        memcpy(damaged, good, file_size);
        damaged[i / 2] ^= 0x10;
        write_bytes(path, damaged, i % 2 == 0 ? file_size : i / 2);
        assert_false(kiln__disk_record_get(f->disk, "nvrtc", back, &size));
        assert_true(is_there(bad));
        assert_false(is_there(path));
    }
    assert_true(kiln__disk_record_put(f->disk, "nvrtc", "twelve bytes", 12));
    assert_true(kiln__disk_record_get(f->disk, "nvrtc", back, &size));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_key_is_the_same_on_every_machine),
        WITH_FOLDER(every_part_changes_the_key),
        WITH_FOLDER(a_key_tells_what_it_was_made_of),
        WITH_FOLDER(an_entry_comes_back_as_it_was_put),
        WITH_FOLDER(files_and_folders_are_the_owners_alone),
        WITH_FOLDER(an_entry_without_image_is_not_kept),
        WITH_FOLDER(ptx_must_end_in_nul),
        WITH_FOLDER(a_short_or_flipped_entry_is_a_miss_and_moved_aside),
        WITH_FOLDER(wild_sizes_under_a_right_checksum_are_refused),
        WITH_FOLDER(a_digest_of_other_material_is_a_miss_and_stays),
        WITH_FOLDER(an_entry_that_the_driver_refused_is_moved_aside),
        WITH_FOLDER(a_hit_marks_the_time_of_use_once_a_minute),
        WITH_FOLDER(a_record_comes_back_as_it_was_put),
        WITH_FOLDER(records_have_plain_names),
        WITH_FOLDER(a_damaged_record_is_moved_aside),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}

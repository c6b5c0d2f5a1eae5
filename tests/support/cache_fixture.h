/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the disk cache share: a folder for each test, a key and an entry. */
#ifndef KILN_TESTS_CACHE_FIXTURE_H
#define KILN_TESTS_CACHE_FIXTURE_H

#include <limits.h>

#include "cache/disk.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const kiln__key_parts parts;
extern const kiln__entry sample;

/* A test's own folder, a disk on it, the key of parts, and what the log was told. */
typedef struct cache_fixture {
    char dir[64];
    kiln__disk *disk;
    kiln__key key;
    int messages;
    char message[1024];
} cache_fixture;

int set_up_cache(void **state);
int tear_down_cache(void **state);
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up_cache, tear_down_cache)

/* Closes the disk and opens one on another folder. */
void use_folder(cache_fixture *f, const char *dir);

/* The path of the key's entry, or of the file beside it with a suffix. */
const char *entry_path(const cache_fixture *f, const char *suffix, char path[PATH_MAX]);

size_t read_bytes(const char *path, uint8_t *bytes, size_t capacity);
void write_bytes(const char *path, const void *bytes, size_t size);
bool is_there(const char *path);

void expect_hit(cache_fixture *f);
void expect_miss(cache_fixture *f);

#endif

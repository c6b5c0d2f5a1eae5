/* SPDX-License-Identifier: Apache-2.0 */
/* A folder below /tmp for each test of the disk cache, removed when the test ends. */
#define _GNU_SOURCE
#include "cache_fixture.h"

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
#include <unistd.h>

static const char *const options[] = {"--std=c++17", "-default-device", NULL};
const kiln__key_parts parts = {"extern \"C\" __global__ void k() {}\n", options, 90, false, 13, 0, "65be0db3"};

const kiln__entry sample = {
    .facts = {.arch = 90,
              .registers = 40,
              .spill_bytes = -1,
              .shared_bytes = 1 << 20,
              .create_ms = 0.25,
              .compile_ms = 75.5,
              .fetch_ms = 1.0 / 3,
              .created_unix = 1234567890123},
    .image = "image bytes",
    .image_size = 11,
    .name = "kiln_softmax",
    .description = "y = softmax(x)  f16[*, 1024]",
    .schedule = "warp, registers",
    .log = "",
};

static void count_message(void *user, kiln_log_level level, const char *message) {
    cache_fixture *f = user;
    (void)level;
    f->messages++;
    snprintf(f->message, sizeof f->message, "%s", message);
}

void use_folder(cache_fixture *f, const char *dir) {
    kiln__disk_close(f->disk);
    const kiln__logger logger = {count_message, f, KILN_LOG_WARNING};
    assert_int_equal(kiln__disk_open(dir, &logger, &f->disk), KILN_OK);
}

int set_up_cache(void **state) {
    cache_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    strcpy(f->dir, "/tmp/kiln_test_cache_XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    use_folder(f, f->dir);
    assert_int_equal(kiln__key_make(&parts, &f->key), KILN_OK);
    *state = f;
    return 0;
}

int tear_down_cache(void **state) {
    cache_fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    kiln__disk_close(f->disk);
    kiln__key_free(&f->key);
    free(f);
    return system(command) != 0;
}

const char *entry_path(const cache_fixture *f, const char *suffix, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%.2s/%s.k1%s", f->dir, f->key.hex, f->key.hex, suffix);
    return path;
}

size_t read_bytes(const char *path, uint8_t *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

void write_bytes(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

bool is_there(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

void expect_hit(cache_fixture *f) {
    kiln__entry found;
    assert_true(kiln__disk_get(f->disk, &f->key, &found));
    assert_int_equal(found.image_size, sample.image_size);
    assert_memory_equal(found.image, sample.image, sample.image_size);
    kiln__entry_free(&found);
}

void expect_miss(cache_fixture *f) {
    kiln__entry found;
    assert_false(kiln__disk_get(f->disk, &f->key, &found));
    assert_null(found.file);
}

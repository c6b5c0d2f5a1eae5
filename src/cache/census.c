/* SPDX-License-Identifier: Apache-2.0 */
/* Counts files. Their times of use come from clocks of any machine that shares the folder. */
#define _GNU_SOURCE
#include "cache/census.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

/* A time of use in the future, left by a clock that was wrong, would keep its entry for as long: it becomes now. */
static int64_t used_at(int folder, const char *name, const struct stat *status, int64_t now) {
    if (status->st_mtim.tv_sec <= now + KILN__STALE_SECONDS) return (int64_t)status->st_mtim.tv_sec;
    kiln__folder_touch(folder, name);
    return now;
}

static bool is_leftover(kiln__file_kind kind) {
    return kind == KILN__FILE_TEMPORARY || kind == KILN__FILE_ASIDE || kind == KILN__FILE_LOCK;
}

/* Those about to be written, too: beside small entries they would seem to fill the cache. */
static bool is_record(kiln__file_kind kind, const char *sub) {
    const bool written = kind == KILN__FILE_TEMPORARY && strcmp(sub, KILN__RECORDS) == 0;
    return written || kind == KILN__FILE_RECORD || kind == KILN__FILE_PASSING;
}

bool kiln__census_add(void *user, int folder, const char *sub, const char *name) {
    kiln__census *all = user;
    kiln__file_kind kind = kiln__folder_kind(sub, name);
    struct stat status;
    if (all->now == 0) all->now = (int64_t)time(NULL);
    if (kind == KILN__FILE_FOREIGN || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (kiln__folder_is_stale(kind, &status) && unlinkat(folder, name, 0) == 0) return true;
    const int64_t stale = (int64_t)status.st_mtim.tv_sec + KILN__STALE_SECONDS + 1;
    if (is_leftover(kind) && stale < all->stale) all->stale = stale;
    if (is_record(kind, sub)) return true;
    if (!kiln__add_i64(all->bytes, (int64_t)status.st_size, &all->bytes)) all->bytes = INT64_MAX;
    kiln__aged file = {.size = (int64_t)status.st_size};
    const bool removable = kiln__folder_is_entry(kind) || kind == KILN__FILE_ASIDE;
    if (!removable || strlen(name) >= sizeof file.name || !S_ISREG(status.st_mode)) return true;
    file.used = kind == KILN__FILE_ASIDE ? INT64_MIN : used_at(folder, name, &status, all->now);
    strcpy(file.sub, sub);
    strcpy(file.name, name);
    kiln__text_add(&all->files, (const char *)&file, sizeof file);
    return !all->files.failed;
}

/* Names decide among equals, so that all who prune choose the same. */
static int by_use(const void *a, const void *b) {
    const kiln__aged *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return strcmp(x->name, y->name);
}

const kiln__aged *kiln__census_sort(kiln__census *census, size_t *count) {
    kiln__aged *files = (void *)census->files.data;
    *count = census->files.size / sizeof *files;
    if (*count > 0) qsort(files, *count, sizeof *files, by_use);
    return files;
}

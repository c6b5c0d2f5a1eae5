/* Keeps the cache below its limit, least recently used entries first, and removes what dead processes left.
 * Whoever would pass the limit prunes, without a lock: two that prune at once choose the same entries. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/folder.h"

/* Entries and what was moved aside, by last use. */
typedef struct aged {
    int64_t used, size;
    char sub[16], name[48];
} aged;

typedef struct census {
    kiln__text files;   /* one aged behind the other */
    int64_t now, bytes; /* of all that is ours */
} census;

/* A time of use in the future, left by a clock that was wrong, would keep its entry for as long: it becomes now. */
static int64_t used_at(int folder, const char *name, const struct stat *status, int64_t now) {
    if (status->st_mtim.tv_sec <= now + KILN__STALE_SECONDS) return (int64_t)status->st_mtim.tv_sec;
    kiln__folder_touch(folder, name);
    return now;
}

static bool count_file(void *user, int folder, const char *sub, const char *name) {
    census *all = user;
    kiln__file_kind kind = kiln__folder_kind(sub, name);
    struct stat status;
    if (kind == KILN__FILE_FOREIGN || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (kiln__folder_is_stale(kind, &status) && unlinkat(folder, name, 0) == 0) return true;
    all->bytes += (int64_t)status.st_size;
    aged file = {.size = (int64_t)status.st_size};
    if ((kind != KILN__FILE_ENTRY && kind != KILN__FILE_OTHER_ENTRY && kind != KILN__FILE_ASIDE) ||
        strlen(name) >= sizeof file.name || !S_ISREG(status.st_mode))
        return true;
    file.used = kind == KILN__FILE_ASIDE ? INT64_MIN : used_at(folder, name, &status, all->now);
    strcpy(file.sub, sub);
    strcpy(file.name, name);
    kiln__text_add(&all->files, (const char *)&file, sizeof file);
    return !all->files.failed;
}

/* Names decide among equals, so that all who prune choose the same. */
static int by_use(const void *a, const void *b) {
    const aged *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool remove_file(kiln__disk *disk, const aged *file) {
    int folder = kiln__folder_open(disk, file->sub, false);
    bool removed = folder >= 0 && unlinkat(folder, file->name, 0) == 0;
    if (folder >= 0) close(folder);
    return removed;
}

kiln_status kiln__disk_prune(kiln__disk *disk, int64_t max_bytes, int64_t older_than, kiln__pruned *out) {
    census all = {.now = (int64_t)time(NULL)};
    kiln__pruned pruned = {0};
    kiln_status status = kiln__folder_walk(disk, count_file, &all);
    if (!status && all.files.failed) status = kiln__out_of_memory();
    aged *files = (void *)all.files.data;
    size_t count = all.files.size / sizeof *files;
    if (!status && count > 0) qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count && !status; i++) {
        const aged *file = &files[i];
        bool old = older_than >= 0 && (file->used < 0 || all.now - file->used > older_than);
        bool over = max_bytes >= 0 && all.bytes > max_bytes;
        if ((!old && !over) || !remove_file(disk, file)) continue;
        all.bytes -= file->size;
        pruned.removed++;
        pruned.removed_bytes += file->size;
    }
    pruned.kept = count - pruned.removed;
    pruned.kept_bytes = all.bytes;
    kiln__text_free(&all.files);
    if (out != NULL) *out = pruned;
    return status;
}

/* Measuring means to list the cache, so it is done again only when a part of what was free has been put by us. Others
 * put meanwhile: the part is so small that dozens of writers together stay below the limit. */
bool kiln__disk_make_room(kiln__disk *disk, int64_t size) {
    const int64_t limit = disk->max_bytes < 0 ? INT64_MAX / 2 : disk->max_bytes;
    if (size > limit) return false;
    if (atomic_fetch_sub(&disk->room, size) >= size || atomic_flag_test_and_set(&disk->pruning)) return true;
    kiln__pruned left;
    kiln_status status = kiln__disk_prune(disk, -1, -1, &left);
    int64_t target = limit - limit / 8 - size; /* not just below the limit: the next put would prune again */
    if (!status && left.kept_bytes > limit - size) status = kiln__disk_prune(disk, target > 0 ? target : 0, -1, &left);
    if (!status) atomic_store(&disk->room, (limit - size - left.kept_bytes) / 64);
    atomic_flag_clear(&disk->pruning);
    return true;
}

void kiln__disk_forked(kiln__disk *disk) {
    atomic_store(&disk->room, 0);
    atomic_flag_clear(&disk->pruning);
}

kiln_status kiln__disk_set_limit(kiln__disk *disk, int64_t bytes) {
    const char *text = bytes == 0 ? secure_getenv("KILN_CACHE_SIZE") : NULL;
    disk->max_bytes = bytes == 0 ? KILN__DEFAULT_LIMIT : bytes;
    if (text == NULL || *text == '\0') return KILN_OK;
    static const char units[] = "KMGT";
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || (*end != '\0' && (unit == NULL || end[1] != '\0')) ||
        number > (unsigned long long)INT64_MAX >> shift)
        return kiln__fail(KILN_E_ARGUMENT,
                          "KILN_CACHE_SIZE is '%s', expected bytes such as 536870912, or 512M, 2G; 0: no limit", text);
    disk->max_bytes = number == 0 ? -1 : (int64_t)(number << shift);
    return KILN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the cache below a size, least recently used entries first, and removes what dead processes left: all at once,
 * as it is asked for. What a put does of this is in room.c. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/census.h"

static bool remove_file(kiln__disk *disk, const kiln__aged *file) {
    int folder = kiln__folder_open(disk, file->sub, false);
    bool removed = folder >= 0 && unlinkat(folder, file->name, 0) == 0;
    if (folder >= 0) close(folder);
    return removed;
}

kiln_status kiln__disk_prune(kiln__disk *disk, int64_t max_bytes, int64_t older_than, kiln__pruned *out) {
    kiln__census all = KILN__NO_CENSUS;
    kiln__pruned pruned = {0};
    kiln_status status = kiln__folder_walk(disk, kiln__census_add, &all);
    if (!status && all.files.failed) status = kiln__out_of_memory();
    size_t count = 0;
    const kiln__aged *files = kiln__census_sort(&all, &count);
    for (size_t i = 0; i < count && !status; i++) {
        const kiln__aged *file = &files[i];
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

kiln_status kiln__disk_set_limit(kiln__disk *disk, int64_t bytes) {
    const char *text = bytes == 0 ? secure_getenv("KILN_CACHE_SIZE") : NULL;
    disk->max_bytes = bytes == 0 ? KILN__DEFAULT_LIMIT : bytes;
    atomic_store(&disk->room, 0);
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

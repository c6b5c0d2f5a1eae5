/* SPDX-License-Identifier: Apache-2.0 */
/* Reads entries as the library does, without changing their time of last use. */
#define _GNU_SOURCE
#include "cache_files.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cache/checksum.h"
#include "cache/entry.h"

typedef struct walk {
    kiln__disk *disk;
    cache_file_visitor *visit;
    void *user;
    int code;
} walk;

int cache_open(const arguments *args, kiln__disk **out) {
    const kiln__logger logger = {tool_log, (void *)(uintptr_t)args, KILN_LOG_WARNING};
    kiln_status status = kiln__disk_open(arguments_value(args, OPTION_CACHE_DIR), &logger, out);
    return status ? tool_failed(args, status) : TOOL_OK;
}

/* The key is a view: its material is the entry's. */
static bool has_its_name(const kiln__entry *found, const char *name, kiln__key *key) {
    static const char digits[] = "0123456789abcdef";
    *key = (kiln__key){.material = (uint8_t *)(uintptr_t)found->material, .size = found->material_size};
    kiln__checksum(found->material, found->material_size, key->digest);
    for (size_t i = 0; i < 2 * sizeof key->digest; i++) {
        key->hex[i] = digits[i % 2 == 0 ? key->digest[i / 2] >> 4 : key->digest[i / 2] & 15];
    }
    const bool record = strcmp(name + 32, KILN__TUNED_SUFFIX) == 0;
    return strncmp(key->hex, name, 32) == 0 && kiln__key_is_record(found->material, found->material_size) == record;
}

static bool visit_file(void *user, int folder, const char *sub, const char *name) {
    walk *w = user;
    const kiln__file_kind kind = kiln__folder_kind(sub, name);
    cache_file file = {.name = name, .tuned = kind == KILN__FILE_TUNED};
    kiln__entry found;
    kiln__key key;
    struct stat status;
    if (kind == KILN__FILE_ASIDE) w->code = w->visit(w->user, &file);
    if (kind != KILN__FILE_ENTRY && kind != KILN__FILE_TUNED) return w->code == TOOL_OK;
    const bool read = kiln__entry_read(w->disk, folder, name, &status, &found) == KILN__READ;
    if (!read && faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return true; /* removed meanwhile */
    if (read && has_its_name(&found, name, &key)) {
        file.found = &found;
        file.key = &key;
    }
    w->code = w->visit(w->user, &file);
    kiln__entry_free(&found);
    return w->code == TOOL_OK;
}

int cache_visit_files(const arguments *args, kiln__disk *disk, cache_file_visitor *visit, void *user) {
    walk w = {disk, visit, user, TOOL_OK};
    kiln_status status = kiln__folder_walk(disk, visit_file, &w);
    return status ? tool_failed(args, status) : w.code;
}

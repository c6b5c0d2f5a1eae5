/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and clears the disk cache, while other processes may write to it.
 * Looking at entries changes neither their time of last use nor, where they are damaged, their place. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cache/entry.h"

typedef struct visit_state {
    kiln__disk *disk;
    kiln_cache_visitor visitor;
    void *user;
    size_t unreadable;
} visit_state;

static bool show(const visit_state *state, const char *name, const kiln__entry *entry, const struct stat *status) {
    char key[33] = "";
    memcpy(key, name, 32);
    const kiln_cache_entry shown = {
        .struct_size = sizeof shown,
        .key = key,
        .description = entry->description,
        .schedule = entry->schedule,
        .arch = entry->facts.arch,
        .is_ptx = entry->facts.is_ptx,
        .registers = entry->facts.registers,
        .spill_bytes = entry->facts.spill_bytes,
        .entry_bytes = (int64_t)status->st_size,
        .image_bytes = (int64_t)entry->image_size,
        .created_unix = entry->facts.created_unix,
        .used_unix = (int64_t)status->st_mtim.tv_sec,
        .compile_ms = entry->facts.compile_ms,
    };
    return state->visitor(state->user, &shown) == 0;
}

static bool visit_file(void *user, int folder, const char *sub, const char *name) {
    visit_state *state = user;
    kiln__file_kind kind = kiln__folder_kind(sub, name);
    struct stat status;
    kiln__entry entry;
    bool more = true;
    state->unreadable += kind == KILN__FILE_ASIDE;
    if (kind != KILN__FILE_ENTRY) return true;
    if (kiln__entry_read(state->disk, folder, name, &status, &entry) == KILN__READ)
        more = show(state, name, &entry, &status);
    else /* one that has just been removed is none */
        state->unreadable += faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    kiln__entry_free(&entry);
    return more;
}

kiln_status kiln__disk_visit(kiln__disk *disk, kiln_cache_visitor visitor, void *user, size_t *unreadable) {
    visit_state state = {disk, visitor, user, 0};
    kiln_status status = kiln__folder_walk(disk, visit_file, &state);
    if (unreadable != NULL) *unreadable = state.unreadable;
    return status;
}

typedef struct clear_state {
    size_t removed;
    int64_t bytes;
} clear_state;

static bool clear_file(void *user, int folder, const char *sub, const char *name) {
    clear_state *state = user;
    kiln__file_kind kind = kiln__folder_kind(sub, name);
    const bool entry = kiln__folder_is_entry(kind);
    const bool record = kind == KILN__FILE_RECORD || kind == KILN__FILE_PASSING;
    struct stat status;
    if (kind != KILN__FILE_FOREIGN && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (entry || record || kind == KILN__FILE_ASIDE || kiln__folder_is_stale(kind, &status)) &&
        unlinkat(folder, name, 0) == 0) {
        state->removed += entry;
        state->bytes += (int64_t)status.st_size;
    }
    return true;
}

kiln_status kiln__disk_clear(kiln__disk *disk, size_t *removed, int64_t *bytes) {
    clear_state state = {0};
    kiln_status status = kiln__folder_walk(disk, clear_file, &state);
    if (removed != NULL) *removed = state.removed;
    if (bytes != NULL) *bytes = state.bytes;
    return status;
}

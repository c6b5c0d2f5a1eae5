/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on disk: found by name, published whole, moved aside when damaged.
 * Nothing here fails a launch: what goes wrong is a miss, or a kernel that is not kept. */
#define _GNU_SOURCE
#include "cache/disk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/entry.h"

enum { touch_seconds = 60, step_ms = 20 };

/* A variable's value, NULL where it counts as not set. A program with raised rights reads none. */
static const char *variable(const char *name, bool absolute) {
    const char *value = secure_getenv(name);
    return value != NULL && (absolute ? *value == '/' : *value != '\0') ? value : NULL;
}

/* A relative folder is fixed here: a later chdir does not move it. NULL without memory. */
static char *choose_path(const char *dir) {
    const char *base = dir != NULL ? dir : variable("KILN_CACHE_DIR", false), *below = "";
    if (base == NULL) base = variable("XDG_CACHE_HOME", true), below = "/kiln";
    if (base == NULL) base = variable("HOME", true), below = "/.cache/kiln";
    kiln__text text = {0};
    char *here = base != NULL && *base != '\0' && *base != '/' ? getcwd(NULL, 0) : NULL;
    if (here != NULL) kiln__text_printf(&text, "%s/", here);
    if (base != NULL && (*base == '/' || here != NULL)) /* else there is none, or the current folder is gone */
        kiln__text_printf(&text, "%s%s", base, below);
    free(here);
    return kiln__text_take(&text);
}

kiln_status kiln__disk_open(const char *dir, const kiln__logger *logger, kiln__disk **out) {
    kiln__disk *disk = calloc(1, sizeof *disk);
    char *path = choose_path(dir);
    *out = NULL;
    if (disk == NULL || path == NULL) {
        free(disk);
        free(path);
        return kiln__out_of_memory();
    }
    disk->path = path;
    if (logger != NULL) disk->logger = *logger;
    atomic_flag_clear(&disk->told);
    atomic_flag_clear(&disk->pruning);
    disk->max_bytes = KILN__DEFAULT_LIMIT;
    disk->step_ms = step_ms;
    *out = disk;
    return KILN_OK;
}

void kiln__disk_close(kiln__disk *disk) {
    if (disk == NULL) return;
    free(disk->account);
    free(disk->path);
    free(disk);
}

const char *kiln__disk_path(const kiln__disk *disk) { return disk->path; }

/* Marks the time of last use. Once a minute is enough to order entries, and spares the disk. */
static void touch(int folder, const char *name, const struct stat *status) {
    time_t age = time(NULL) - status->st_mtim.tv_sec;
    if (age >= touch_seconds || age < 0) kiln__folder_touch(folder, name);
}

/* Reads and checks; what is damaged is moved aside. Material and image are not compared. */
static bool read_entry(kiln__disk *disk, int folder, const char *name, struct stat *status, kiln__entry *out) {
    kiln__read read = kiln__entry_read(disk, folder, name, status, out);
    if (read == KILN__DAMAGED) {
        kiln__folder_set_aside(folder, name, status);
        kiln__disk_tell(disk, false, "entry '%s' of the disk cache is damaged and was moved aside", name);
    }
    return read == KILN__READ;
}

static bool get(kiln__disk *disk, const kiln__key *key, const char *suffix, kiln__entry *out) {
    char name[KILN__MAX_FILE_NAME];
    struct stat status;
    memset(out, 0, sizeof *out);
    int folder = kiln__folder_open_key(disk, key, suffix, false, name);
    if (folder < 0) return false;
    /* The same digest over other material is a collision: a miss, and the entry of the other key stays. */
    bool hit = read_entry(disk, folder, name, &status, out) && out->material_size == key->size &&
               memcmp(out->material, key->material, key->size) == 0;
    if (hit)
        touch(folder, name, &status);
    else
        kiln__entry_free(out);
    close(folder);
    return hit;
}

static bool put(kiln__disk *disk, const kiln__key *key, const char *suffix, const kiln__entry *entry) {
    char name[KILN__MAX_FILE_NAME];
    int folder = kiln__folder_open_key(disk, key, suffix, true, name);
    if (folder < 0) return false;
    size_t size = 0;
    uint8_t *bytes = kiln__entry_encode(key, entry, &size);
    bool done = bytes != NULL && kiln__disk_make_room(disk, key, (int64_t)size) &&
                kiln__folder_publish(disk, folder, name, bytes, size, true);
    free(bytes);
    close(folder);
    return done;
}

bool kiln__disk_get(kiln__disk *disk, const kiln__key *key, kiln__entry *out) {
    return get(disk, key, KILN__ENTRY_SUFFIX, out);
}

bool kiln__disk_put(kiln__disk *disk, const kiln__key *key, const kiln__entry *entry) {
    return put(disk, key, KILN__ENTRY_SUFFIX, entry);
}

bool kiln__disk_get_tuned(kiln__disk *disk, const kiln__key *key, kiln__entry *out) {
    return get(disk, key, KILN__TUNED_SUFFIX, out);
}

bool kiln__disk_put_tuned(kiln__disk *disk, const kiln__key *key, const kiln__entry *entry) {
    return put(disk, key, KILN__TUNED_SUFFIX, entry);
}

bool kiln__disk_remove_tuned(kiln__disk *disk, const kiln__key *key) {
    char name[KILN__MAX_FILE_NAME];
    int folder = kiln__folder_open_key(disk, key, KILN__TUNED_SUFFIX, false, name);
    const bool removed = folder >= 0 && unlinkat(folder, name, 0) == 0;
    if (folder >= 0) close(folder);
    return removed;
}

void kiln__disk_reject(kiln__disk *disk, const kiln__key *key, const void *image, size_t size) {
    char name[KILN__MAX_FILE_NAME];
    struct stat status;
    kiln__entry found;
    int folder = kiln__folder_open_key(disk, key, KILN__ENTRY_SUFFIX, false, name);
    if (folder < 0) return;
    if (read_entry(disk, folder, name, &status, &found) && found.image_size == size &&
        memcmp(found.image, image, size) == 0)
        kiln__folder_set_aside(folder, name, &status);
    kiln__entry_free(&found);
    close(folder);
}

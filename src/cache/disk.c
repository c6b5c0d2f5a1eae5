/* Entries on disk: found by key, published whole, moved aside when damaged.
 * Nothing here fails a launch: what goes wrong is a miss, or a kernel that is not kept. */
#define _GNU_SOURCE
#include "cache/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/entry.h"
#include "cache/folder.h"
#include "cache/mapped.h"
#include "cache/where.h"

enum { touch_seconds = 60 };

kiln_status kiln__disk_open(const char *dir, kiln_log_callback log, void *log_user, kiln__disk **out)
{
    *out = NULL;
    kiln__disk *disk = calloc(1, sizeof *disk);
    if (disk == NULL)
        return kiln__out_of_memory();
    kiln_status status = kiln__cache_where(dir, &disk->path);
    if (status != KILN_OK) {
        free(disk);
        return status;
    }
    disk->log = log;
    disk->log_user = log_user;
    atomic_flag_clear(&disk->told);
    atomic_flag_clear(&disk->swept);
    atomic_init(&disk->temporaries, 0);
    *out = disk;
    return KILN_OK;
}

void kiln__disk_close(kiln__disk *disk)
{
    if (disk == NULL)
        return;
    free(disk->path);
    free(disk);
}

const char *kiln__disk_path(const kiln__disk *disk)
{
    return disk->path;
}

/* A key's folder, and its file's name. */
static int open_folder(kiln__disk *disk, const kiln__key *key, bool create, char name[KILN__MAX_FILE_NAME])
{
    const char sub[3] = {key->hex[0], key->hex[1], '\0'};
    snprintf(name, KILN__MAX_FILE_NAME, "%s" KILN__ENTRY_SUFFIX, key->hex);
    return kiln__folder_open(disk, sub, create);
}

/* Marks the time of last use. Once a minute is enough to order entries, and spares the disk. */
static void touch(int fd, const struct stat *status)
{
    time_t age = time(NULL) - status->st_mtim.tv_sec;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    if (age >= touch_seconds || age < 0)
        futimens(fd, times);
}

static void tell_damaged(kiln__disk *disk, const char *name)
{
    char message[256];
    if (disk->log == NULL)
        return;
    snprintf(message, sizeof message, "entry '%s' of the disk cache is damaged and was moved aside", name);
    disk->log(disk->log_user, KILN_LOG_WARNING, message);
}

bool kiln__disk_get(kiln__disk *disk, const kiln__key *key, kiln__found *out)
{
    char name[KILN__MAX_FILE_NAME];
    struct stat status;
    memset(out, 0, sizeof *out);
    int folder = open_folder(disk, key, false, name);
    int fd = folder >= 0 ? kiln__folder_open_file(disk, folder, name, &status) : -1;
    bool hit = false;
    if (fd >= 0) {
        const uint8_t *material = NULL;
        size_t material_size = 0;
        kiln__mapped mapped = kiln__entry_map(fd, &status, out, &material, &material_size);
        if (mapped == KILN__DAMAGED) {
            kiln__folder_set_aside(folder, name, &status);
            tell_damaged(disk, name);
        }
        /* The same digest over other material is a collision: a miss, and the entry of the other key stays. */
        hit = mapped == KILN__MAPPED && material_size == key->size && memcmp(material, key->material, key->size) == 0;
        if (hit)
            touch(fd, &status);
        else
            kiln__found_free(out);
        close(fd);
    }
    if (folder >= 0)
        close(folder);
    return hit;
}

bool kiln__disk_put(kiln__disk *disk, const kiln__key *key, const kiln__entry *entry)
{
    char name[KILN__MAX_FILE_NAME];
    int folder = open_folder(disk, key, true, name);
    if (folder < 0)
        return false;
    size_t size = 0;
    uint8_t *bytes = kiln__entry_encode(key, entry, &size);
    bool done = bytes != NULL && kiln__folder_publish(disk, folder, name, bytes, size);
    free(bytes);
    close(folder);
    return done;
}

void kiln__disk_reject(kiln__disk *disk, const kiln__key *key)
{
    char name[KILN__MAX_FILE_NAME];
    int folder = open_folder(disk, key, false, name);
    if (folder < 0)
        return;
    kiln__folder_set_aside(folder, name, NULL);
    close(folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's folders on disk: opened only where they can be trusted, written only by whole files. */
#ifndef KILN_CACHE_FOLDER_H
#define KILN_CACHE_FOLDER_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "cache/disk.h"

/* Entries lie in <path>/<first two digits>/<digits>.k1, records in <path>/records/<name>. The number in the
 * entries' suffix is that of their format, so that versions of Kiln with different formats share a folder. */
#define KILN__ENTRY_SUFFIX ".k1"
#define KILN__TUNED_SUFFIX ".t1" /* of tuned records, which lie among the entries */
#define KILN__BAD_SUFFIX ".bad"
#define KILN__LOCK_SUFFIX ".lock"
#define KILN__TEMPORARY_PREFIX ".tmp-"
#define KILN__RECORDS "records"
#define KILN__DEFAULT_LIMIT ((int64_t)1 << 30)
enum { KILN__MAX_FILE_NAME = 128, KILN__STALE_SECONDS = 3600, KILN__PASSING_SECONDS = 86400 };

/* What a file is, told by its name and its folder's. */
typedef enum kiln__file_kind {
    KILN__FILE_FOREIGN,
    KILN__FILE_ENTRY,
    KILN__FILE_TUNED,
    KILN__FILE_OTHER_ENTRY, /* of another format, be it a tuned record */
    KILN__FILE_RECORD,
    KILN__FILE_PASSING, /* a record that holds for a day */
    KILN__FILE_ASIDE,
    KILN__FILE_LOCK,
    KILN__FILE_TEMPORARY
} kiln__file_kind;
kiln__file_kind kiln__folder_kind(const char *sub, const char *name);

struct kiln__disk {
    char *path; /* absolute, or "" */
    kiln__logger logger;
    atomic_flag told, pruning;
    int64_t max_bytes;              /* negative: no limit */
    int step_ms;                    /* that one put measures and prunes */
    struct kiln__accounts *account; /* of who holds `pruning`; NULL until there is need */
    _Atomic int64_t room;           /* bytes that may be put before the cache is measured again */
};

/* Warns the log; with `once`, if none has been told so in this disk's life. */
void kiln__disk_tell(kiln__disk *disk, bool once, const char *format, ...) KILN_PRINTF(3, 4);

/* A descriptor of the cache's folder (sub NULL) or one below it, -1 (and errno) if it is absent, or not trusted: not
 * ours, or open to the writing of others. With create, what is absent is made. */
int kiln__folder_open(kiln__disk *disk, const char *sub, bool create);

/* The folder of a key's files, and the name of the one with a suffix. */
int kiln__folder_open_key(kiln__disk *disk, const kiln__key *key, const char *suffix, bool create,
                          char name[KILN__MAX_FILE_NAME]);

/* A descriptor of a trusted regular file and its status, -1 otherwise. */
int kiln__folder_open_file(kiln__disk *disk, int folder, const char *name, struct stat *status);

/* Publishes a whole file under a name: temporary file, rename; what shall outlive a crash of the machine is written to
 * the disk before that. */
bool kiln__folder_publish(kiln__disk *disk, int folder, const char *name, const void *bytes, size_t size, bool durable);

/* Sets a file's time of last use to now. */
void kiln__folder_touch(int folder, const char *name);

/* Renames a file to NAME.bad, unless it has been replaced since status was taken. */
void kiln__folder_set_aside(int folder, const char *name, const struct stat *status);

/* Calls visit for each file of each folder below (sub is its name, folder its descriptor); false stops. KILN_E_IO where
 * the cache is there and cannot be read. */
typedef bool kiln__file_visitor(void *user, int folder, const char *sub, const char *name);
kiln_status kiln__folder_walk(kiln__disk *disk, kiln__file_visitor *visit, void *user);

/* The folders below, by number: those of entries, and of records. */
enum { KILN__FOLDER_COUNT = 257 };
void kiln__folder_name(unsigned number, char sub[16]);
unsigned kiln__folder_number(const kiln__key *key);
/* The same as kiln__folder_walk, of one of them. */
void kiln__folder_walk_one(kiln__disk *disk, const char *sub, kiln__file_visitor *visit, void *user);

/* Whether a file that lives for a moment is so old, or so far in the future, that its writer must be dead. */
bool kiln__folder_is_stale(kiln__file_kind kind, const struct stat *status);

/* Before an entry of so many bytes is put: removes least recently used ones where it would pass the limit, as many as a
 * step's time allows, the rest when there is more to put. False where size bytes never fit. */
bool kiln__disk_make_room(kiln__disk *disk, const kiln__key *key, int64_t size);

/* Whether files of the kind count among the entries: pruning removes what was used least recently of them. */
static inline bool kiln__folder_is_entry(kiln__file_kind kind) {
    return kind == KILN__FILE_ENTRY || kind == KILN__FILE_TUNED || kind == KILN__FILE_OTHER_ENTRY;
}

#endif

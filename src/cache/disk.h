/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache: one file per kernel, published atomically, checked on every read. Knows bytes and keys only. */
#ifndef KILN_CACHE_DISK_H
#define KILN_CACHE_DISK_H

#include "base/facts.h"
#include "base/logger.h"
#include "cache/key.h"

/* A kernel as the caches keep it: views. Strings are never NULL. */
typedef struct kiln__entry {
    kiln__facts facts;
    const void *image;
    size_t image_size;
    const char *name;        /* the kernel's function name */
    const char *description; /* program, types, shape in one line, for people */
    const char *schedule;
    const char *log;
    const uint8_t *material; /* of the key that it was put under; of an entry that was found */
    size_t material_size;
    uint8_t *file; /* the memory that the views lie in, where kiln__entry_free is to free it */
} kiln__entry;
void kiln__entry_free(kiln__entry *entry);

typedef struct kiln__disk kiln__disk;

/* dir: a folder, "" none; NULL: KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln (secure_getenv). Creates
 * nothing until the first put. The logger (NULL: none) is told once per disk of a folder that can't be written or isn't
 * trusted: owned by another user, or writable by group or others; of each damaged entry, and of pruning. Never fails
 * for such a folder: get misses and put does nothing. KILN_E_MEMORY. Thread-safe, as everything here. */
kiln_status kiln__disk_open(const char *dir, const kiln__logger *logger, kiln__disk **out);
void kiln__disk_close(kiln__disk *disk);
const char *kiln__disk_path(const kiln__disk *disk); /* "" where there is none */

/* True on a hit, which the caller frees: key material equal, checksum right, owner trusted. A file that is short,
 * damaged or of another key format is moved aside (FILE.bad) and is a miss. A hit updates the entry's time of last
 * use. */
bool kiln__disk_get(kiln__disk *disk, const kiln__key *key, kiln__entry *out);

/* Writes a temporary file of a unique name in the same folder, fsync, rename. False where that failed (logged once). */
bool kiln__disk_put(kiln__disk *disk, const kiln__key *key, const kiln__entry *entry);

/* The same for tuned records: small entries whose image is a text (runtime/tuned.h), under keys of kiln__key_of_record,
 * in files of their own. Removing one is true where it was there. */
bool kiln__disk_get_tuned(kiln__disk *disk, const kiln__key *key, kiln__entry *out);
bool kiln__disk_put_tuned(kiln__disk *disk, const kiln__key *key, const kiln__entry *entry);
bool kiln__disk_remove_tuned(kiln__disk *disk, const kiln__key *key);

/* Moves the entry aside whose image the driver refused, unless another process has replaced it by a different one. */
void kiln__disk_reject(kiln__disk *disk, const kiln__key *key, const void *image, size_t size);

/* Why a key was missed, one sentence: what differs from the nearest entry of the same source, or of the same
 * description (kiln__entry.description). Reads the whole cache. The caller frees it; NULL without memory. */
char *kiln__disk_explain(kiln__disk *disk, const kiln__key *key, const char *description);

/* What begins so is gone after a day: what a slow machine said of a kernel need not stay true. */
#define KILN__PASSING_PREFIX "slow_"

/* Small named records beside the entries (name: [a-z0-9_-]+, at most 16 KiB), checksummed and published in the same
 * way: the identity of the last NVRTC, what each folder holds. *size: capacity in, length out. */
bool kiln__disk_record_get(kiln__disk *disk, const char *name, void *bytes, size_t *size);
bool kiln__disk_record_put(kiln__disk *disk, const char *name, const void *bytes, size_t size);

/* The cap on what the cache holds beside records: put prunes to less where it would pass it, in steps of bounded time.
 * 0: KILN_CACHE_SIZE (bytes, or with K, M, G or T; 0: none), else 1 GiB; negative: none. KILN_E_ARGUMENT for a variable
 * that is no size. */
kiln_status kiln__disk_set_limit(kiln__disk *disk, int64_t bytes);

/* What pruning left and took: entries of any format, and files moved aside. */
typedef struct kiln__pruned {
    size_t kept, removed;
    int64_t kept_bytes, removed_bytes;
} kiln__pruned;

/* Removes the entries last used more than older_than seconds ago (negative: none for that), then the least recently
 * used until the rest has at most max_bytes (negative: no limit). What dead processes left is removed when an hour old
 * in any case. Readers keep what they have read. out may be NULL. KILN_E_IO, KILN_E_MEMORY. */
kiln_status kiln__disk_prune(kiln__disk *disk, int64_t max_bytes, int64_t older_than, kiln__pruned *out);

/* In a forked child: nobody prunes, and what may be put is measured anew. */
void kiln__disk_forked(kiln__disk *disk);

kiln_status kiln__disk_visit(kiln__disk *disk, kiln_cache_visitor visitor, void *user, size_t *unreadable);
/* Removes entries, files moved aside, records, and what dead processes left an hour ago. */
kiln_status kiln__disk_clear(kiln__disk *disk, size_t *removed, int64_t *bytes);

#endif

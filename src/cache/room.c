/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the cache below its limit while others put into it: each put measures and prunes for a bounded time, and what
 * is left to do is gone on with by the next put, of whichever process.
 *
 * What each folder holds is known from when its files were last looked at, as long as the folder has not changed since:
 * its time of modification tells, which every file that comes or goes renews. So the cache is measured by asking for
 * 257 times, and only what changed is listed. The accounts are kept in a record, so that many short processes do
 * together what one would; lost, damaged or overwritten by another process they are found out again.
 *
 * Whoever would pass the limit prunes, without a lock: two that prune at once choose the same entries. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "cache/census.h"

#define RECORD "sizes"
#define SECOND INT64_C(1000000000)    /* nanoseconds */
#define MOST_BYTES ((int64_t)1 << 50) /* of a folder: their sum fits */
enum { accounts_format = 2, least_listed = 4, least_removed = 8, most_fruitless = 4, share = 8 };

/* What an account has in the place of a time of modification. */
enum { NEVER_LISTED = -1, PUT_INTO = -2 };

/* A folder's files as they were listed. */
typedef struct account {
    int64_t changed; /* the folder's time of modification, in nanoseconds; 0: it was not there; or a state below */
    int64_t listed;  /* the time then, in nanoseconds */
    int64_t stale;   /* when a leftover in it may be removed, in seconds */
    int64_t bytes;
    int64_t oldest; /* last use of what was used least recently, or earlier; INT64_MAX: nothing can be removed */
} account;

typedef struct kiln__accounts {
    int64_t format, next; /* the folder that is looked at first */
    account of[KILN__FOLDER_COUNT];
} accounts;

/* One put's share of the work. */
typedef struct step {
    kiln__disk *disk;
    accounts *all;
    int64_t now; /* in nanoseconds */
    int64_t deadline_ms;
    int removed, listed;
    int fruitless; /* folders whose turn it was not */
} step;

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * SECOND + time.tv_nsec; }

static int64_t clock_time(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return nanoseconds(now);
}

static int64_t monotonic_ms(void) { return clock_time(CLOCK_MONOTONIC) / 1000000; }

static bool is_over(const step *s) { return monotonic_ms() >= s->deadline_ms; }

/* A few are removed however long it takes: more than are put. */
static bool may_go_on(const step *s) {
    return (s->removed < least_removed && s->fruitless < most_fruitless) || !is_over(s);
}

static int64_t time_of(const struct stat *status) {
    const int64_t time = nanoseconds(status->st_mtim);
    return time > 0 ? time : 1;
}

static accounts *load(kiln__disk *disk) {
    accounts *all = malloc(sizeof *all);
    size_t size = sizeof *all;
    if (all == NULL) return NULL;
    bool known = kiln__disk_record_get(disk, RECORD, all, &size) && size == sizeof *all &&
                 all->format == accounts_format && all->next >= 0 && all->next < KILN__FOLDER_COUNT;
    for (int i = 0; i < KILN__FOLDER_COUNT && known; i++)
        known = all->of[i].bytes >= 0 && all->of[i].bytes <= MOST_BYTES;
    if (known) return all;
    *all = (accounts){.format = accounts_format};
    for (int i = 0; i < KILN__FOLDER_COUNT; i++) all->of[i] = (account){.changed = NEVER_LISTED, .oldest = INT64_MAX};
    return all;
}

static int64_t sum(const accounts *all) {
    int64_t bytes = 0;
    for (int i = 0; i < KILN__FOLDER_COUNT; i++) bytes += all->of[i].bytes;
    return bytes;
}

/* How far apart changes must be to have different times of modification. File systems keep whole seconds, tenths or
 * hundredths of them, at times every other one; Linux counts ticks, of 10 ms at most. */
static int64_t granularity(int64_t time) {
    int64_t unit = SECOND;
    while (unit > SECOND / 100 && time % unit != 0) unit /= 10;
    return 2 * unit;
}

/* Whether the folder may hold other files than its account says: what was listed within moments of a change is listed
 * once more, for something may have come in the same moment. */
static bool is_outdated(const account *a, int64_t changed, int64_t now) {
    const bool unsettled = changed > 0 && a->listed - changed < granularity(changed);
    return a->changed != changed || now / SECOND >= a->stale || unsettled;
}

static int64_t changed_at(int root, const char *sub) {
    struct stat status;
    return fstatat(root, sub, &status, AT_SYMLINK_NOFOLLOW) == 0 ? time_of(&status) : 0;
}

/* Lists folder number i anew; its files are the caller's. `changed` is from before that. */
static kiln__census list(step *s, int i, const char *sub, int64_t changed) {
    kiln__census census = KILN__NO_CENSUS;
    account *a = &s->all->of[i];
    if (changed != 0) kiln__folder_walk_one(s->disk, sub, kiln__census_add, &census);
    size_t count;
    const kiln__aged *files = kiln__census_sort(&census, &count);
    *a = (account){.changed = changed,
                   .listed = s->now,
                   .stale = census.stale,
                   .bytes = census.bytes < MOST_BYTES ? census.bytes : MOST_BYTES,
                   .oldest = count > 0 ? files[0].used : INT64_MAX};
    s->listed++;
    return census;
}

/* What a step has found. */
typedef enum measured {
    PARTS_UNKNOWN, /* some folder has never been listed */
    OUTDATED,      /* some have changed since, which others do all the time */
    MEASURED
} measured;

/* Lists what has changed, from where the last step stopped, so that each folder has its turn. A few of them however
 * long it takes, for a put changes its entry's folder, which is looked at twice, and that of records. */
static measured measure(step *s, int root) {
    const int first = (int)s->all->next;
    measured result = MEASURED;
    for (int n = 0; n < KILN__FOLDER_COUNT; n++) {
        const int i = (first + n) % KILN__FOLDER_COUNT;
        char sub[16];
        kiln__folder_name((unsigned)i, sub);
        const int64_t changed = changed_at(root, sub);
        if (!is_outdated(&s->all->of[i], changed, s->now)) continue;
        if (s->listed >= least_listed && is_over(s)) {
            if (s->all->of[i].changed == NEVER_LISTED) return PARTS_UNKNOWN;
            result = OUTDATED;
            continue;
        }
        kiln__census census = list(s, i, sub, changed);
        kiln__text_free(&census.files);
        s->all->next = (i + 1) % KILN__FOLDER_COUNT;
    }
    return result;
}

/* The folder with the least recently used entry; the next one's time of use. -1: there is none. */
static int find_oldest(const accounts *all, int64_t *next) {
    int oldest = -1;
    *next = INT64_MAX;
    for (int i = 0; i < KILN__FOLDER_COUNT; i++) {
        const int64_t used = all->of[i].oldest;
        if (used == INT64_MAX) continue;
        if (oldest < 0 || used < all->of[oldest].oldest) {
            if (oldest >= 0) *next = all->of[oldest].oldest;
            oldest = i;
        } else if (used < *next)
            *next = used;
    }
    return oldest;
}

/* Removes a folder's least recently used files: one at least, a part of what it has at most, since others have some
 * that are about as old. What cannot be removed is left out until the folder changes. */
static void thin_out(step *s, int i, const char *sub, const kiln__census *census, int64_t excess) {
    account *a = &s->all->of[i];
    struct stat status;
    const kiln__aged *files = (const void *)census->files.data;
    const size_t count = census->files.size / sizeof *files;
    const int64_t part = a->bytes / share;
    int64_t gone = 0;
    size_t at = 0;
    int folder = kiln__folder_open(s->disk, sub, false);
    bool stuck = folder < 0;
    while (!stuck && at < count && (at == 0 || (gone < excess && gone < part)) && may_go_on(s)) {
        stuck = unlinkat(folder, files[at].name, 0) != 0 && errno != ENOENT; /* ENOENT: another prunes, too */
        if (stuck) break;
        gone += files[at++].size;
        s->removed++;
    }
    a->bytes -= gone < a->bytes ? gone : a->bytes;
    a->oldest = stuck || at == count ? INT64_MAX : files[at].used;
    if (folder >= 0 && fstat(folder, &status) == 0) a->changed = time_of(&status);
    if (folder >= 0) close(folder);
}

/* Removes what was used least recently until the cache has target bytes, or this put has done its share. */
static void evict(step *s, int root, int64_t target) {
    for (;;) {
        int64_t next, excess = sum(s->all) - target;
        const int i = find_oldest(s->all, &next);
        if (excess <= 0 || i < 0 || !may_go_on(s)) return;
        char sub[16];
        kiln__folder_name((unsigned)i, sub);
        kiln__census census = list(s, i, sub, changed_at(root, sub));
        excess = sum(s->all) - target;
        /* Entries may have been used since, so that another folder's turn has come. */
        const bool its_turn = excess > 0 && s->all->of[i].oldest <= next && !census.files.failed;
        if (its_turn) thin_out(s, i, sub, &census, excess);
        s->fruitless += !its_turn;
        kiln__text_free(&census.files);
    }
}

/* What is put now counts before its folder is listed again. */
static void count_put(account *a, int64_t size) {
    if (a->changed == NEVER_LISTED) return;
    a->changed = PUT_INTO;
    if (a->bytes < MOST_BYTES - size) a->bytes += size;
}

static void prune_step(kiln__disk *disk, const kiln__key *key, int64_t limit, int64_t size) {
    if (disk->account == NULL) disk->account = load(disk);
    int root = disk->account != NULL ? kiln__folder_open(disk, NULL, false) : -1;
    if (root < 0) return;
    step s = {.disk = disk,
              .all = disk->account,
              .now = clock_time(CLOCK_REALTIME),
              .deadline_ms = monotonic_ms() + disk->step_ms};
    const measured found = measure(&s, root);
    const int64_t target = limit - limit / 8 - size; /* not just below the limit: the next put would prune again */
    if (found != PARTS_UNKNOWN && sum(s.all) > limit - size) evict(&s, root, target > 0 ? target : 0);
    const int64_t left = limit - size - sum(s.all);
    if (found == MEASURED && left >= 0) atomic_store(&disk->room, left / 64);
    if (s.removed > 0)
        kiln__log(&disk->logger, KILN_LOG_INFO, "pruned %d entries of the disk cache '%s', which may have %lld bytes",
                  s.removed, disk->path, (long long)limit);
    count_put(&s.all->of[kiln__folder_number(key)], size);
    if (s.listed > 0) kiln__disk_record_put(disk, RECORD, s.all, sizeof *s.all);
    close(root);
}

/* Measured again only when a part of what was free has been put by us. Others put meanwhile: the part is so small that
 * dozens of writers together stay below the limit. */
bool kiln__disk_make_room(kiln__disk *disk, const kiln__key *key, int64_t size) {
    const int64_t limit = disk->max_bytes < 0 ? INT64_MAX / 2 : disk->max_bytes;
    if (size > limit) {
        kiln__disk_tell(disk, true, "the disk cache '%s' may have %lld bytes, and a kernel needs %lld: it is not kept",
                        disk->path, (long long)limit, (long long)size);
        return false;
    }
    if (atomic_fetch_sub(&disk->room, size) >= size || atomic_flag_test_and_set(&disk->pruning)) return true;
    prune_step(disk, key, limit, size);
    atomic_flag_clear(&disk->pruning);
    return true;
}

void kiln__disk_forked(kiln__disk *disk) {
    if (atomic_flag_test_and_set(&disk->pruning))
        disk->account = NULL; /* a thread that the child lacks was changing it */
    atomic_store(&disk->room, 0);
    atomic_flag_clear(&disk->pruning);
}

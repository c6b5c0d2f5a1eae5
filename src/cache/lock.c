/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: flock on <digits>.lock, which the kernel releases when its holder dies, and a time stamp that a holder renews
 * while it runs, so that one which was stopped is told from one that compiles. */
#define _GNU_SOURCE
#include "cache/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { beat_ms = 100, stall_ms = 600, wait_ms = 60000, longest_pause_ms = 16 };

static struct timespec after_a_beat(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += beat_ms * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

/* Marks the lock as alive until it is released. A wait that fails otherwise than by its time ends the marking: others
 * then wait less long, and nothing spins. */
static void *beat(void *user) {
    kiln__claim *claim = user;
    int waited = ETIMEDOUT;
    pthread_mutex_lock(&claim->lock);
    while (!claim->released && waited == ETIMEDOUT) {
        futimens(claim->file, NULL);
        const struct timespec next = after_a_beat();
        do waited = pthread_cond_timedwait(&claim->wake, &claim->lock, &next);
        while (waited == 0 && !claim->released);
    }
    pthread_mutex_unlock(&claim->lock);
    return NULL;
}

static void end_beat(kiln__claim *claim) {
    pthread_mutex_lock(&claim->lock);
    claim->released = true;
    pthread_cond_signal(&claim->wake);
    pthread_mutex_unlock(&claim->lock);
    pthread_join(claim->beat, NULL);
    claim->beats = false;
    pthread_cond_destroy(&claim->wake);
    pthread_mutex_destroy(&claim->lock);
}

static bool make_wake(pthread_cond_t *wake) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) return false;
    const bool made =
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(wake, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return made;
}

/* Without the thread the claim holds as well; others only wait less long for it. No signal is delivered to it. */
static void start_beat(kiln__claim *claim) {
    sigset_t all, before;
    futimens(claim->file, NULL);
    if (!make_wake(&claim->wake)) return;
    pthread_mutex_init(&claim->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    claim->beats = pthread_create(&claim->beat, NULL, beat, claim) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (claim->beats) return;
    pthread_cond_destroy(&claim->wake);
    pthread_mutex_destroy(&claim->lock);
}

/* Whether the folder's file of that name is still the one opened: another may have replaced a holder that was stopped.
 */
static bool is_current(const kiln__claim *claim) {
    struct stat own, now;
    return fstat(claim->file, &own) == 0 && fstatat(claim->folder, claim->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == now.st_ino && own.st_dev == now.st_dev;
}

static void close_file(kiln__claim *claim) {
    if (claim->file >= 0) close(claim->file);
    claim->file = -1;
}

void kiln__disk_release(kiln__claim *claim) {
    if (claim->beats) end_beat(claim);
    if (claim->file >= 0) {
        if (is_current(claim)) unlinkat(claim->folder, claim->name, 0);
        flock(claim->file, LOCK_UN); /* a forked child may have the file open, too */
    }
    close_file(claim);
    if (claim->folder >= 0) close(claim->folder);
    claim->folder = -1;
}

typedef enum attempt { TAKEN, BUSY, REPLACED, FINISHED, NO_LOCKS } attempt;

/* FINISHED: the holder has removed the file, having published, or failed. REPLACED: another has removed it, for the
 * holder was stopped, and set its time to 0 to say so. */
static attempt try_lock(kiln__claim *claim, struct stat *status) {
    if (claim->file < 0)
        claim->file = openat(claim->folder, claim->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (claim->file < 0) return NO_LOCKS;
    int busy = flock(claim->file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (fstat(claim->file, status) != 0) return FINISHED; /* removed on a file server */
    if (status->st_nlink == 0) return status->st_mtim.tv_sec == 0 ? REPLACED : FINISHED;
    if (busy == 0) return TAKEN;
    return busy == EWOULDBLOCK || busy == EINTR ? BUSY : NO_LOCKS;
}

/* Removes the file of a holder that was stopped: one waiter at a time, lest the next removes that of the first. One
 * that is stopped in the midst of it is not waited for either. */
static void replace(kiln__claim *claim, int still) {
    const bool in_turn = flock(claim->folder, LOCK_EX | LOCK_NB) == 0;
    if (!in_turn && errno == EWOULDBLOCK && still < 2 * stall_ms) return;
    if (is_current(claim)) {
        const struct timespec none[2] = {{0}, {0}};
        futimens(claim->file, none);
        unlinkat(claim->folder, claim->name, 0);
    }
    if (in_turn) flock(claim->folder, LOCK_UN);
}

/* Waits until the right is ours, the holder is done, or nobody can be waited for. Time is counted by the pauses, so
 * that a machine too busy to let the holder run is not taken for a holder that was stopped. */
static attempt wait_for(kiln__disk *disk, const kiln__key *key, kiln__claim *claim, kiln__entry *found,
                        const atomic_uint *cancels, unsigned since, bool *hit) {
    struct timespec last = {0};
    int pause = 1, still = 0;
    for (int waited = 0;; waited += pause, still += pause) {
        struct stat status;
        attempt result = try_lock(claim, &status);
        if (result == BUSY && (waited >= wait_ms || *cancels != since)) result = NO_LOCKS;
        if (result == REPLACED) {
            close_file(claim);
            continue;
        }
        if (result != BUSY) return result;
        claim->waited = true;
        *hit = kiln__disk_get(disk, key, found);
        if (*hit) return FINISHED;
        if (status.st_mtim.tv_sec != last.tv_sec || status.st_mtim.tv_nsec != last.tv_nsec) still = 0;
        last = status.st_mtim;
        if (still >= stall_ms) replace(claim, still);
        nanosleep(&(struct timespec){.tv_nsec = pause * 1000000L}, NULL);
        if (pause < longest_pause_ms) pause *= 2;
    }
}

bool kiln__disk_claim(kiln__disk *disk, const kiln__key *key, kiln__claim *claim, kiln__entry *found,
                      const atomic_uint *cancels, unsigned since) {
    bool hit = false;
    *claim = (kiln__claim)KILN__NO_CLAIM;
    claim->folder = kiln__folder_open_key(disk, key, KILN__LOCK_SUFFIX, true, claim->name);
    if (claim->folder < 0) return false;
    attempt result = wait_for(disk, key, claim, found, cancels, since, &hit);
    if (result == TAKEN) start_beat(claim);
    if (!hit && result != NO_LOCKS) hit = kiln__disk_get(disk, key, found); /* published since it was missed */
    if (result != TAKEN) close_file(claim);
    if (hit || result != TAKEN) kiln__disk_release(claim);
    return hit;
}

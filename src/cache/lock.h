/* SPDX-License-Identifier: Apache-2.0 */
/* The right to compile a key, among processes: who has it compiles, the others wait for the entry.
 * It saves work and nothing else: where a lock is not seen (file servers), cannot be made, or is waited for too long,
 * the kernel is compiled all the same, and whoever publishes last replaces an equal entry. */
#ifndef KILN_CACHE_LOCK_H
#define KILN_CACHE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache/folder.h"

/* A held right: a locked file beside the entry, and a thread that marks it as alive. Not to be moved while held. */
typedef struct kiln__claim {
    int folder, file; /* descriptors, -1 where there is none */
    char name[KILN__MAX_FILE_NAME];
    bool waited; /* another held it */
    pthread_t beat;
    bool beats, released; /* the thread runs; it shall end */
    pthread_mutex_t lock; /* of `released`, where the thread runs */
    pthread_cond_t wake;
} kiln__claim;
#define KILN__NO_CLAIM \
    { .folder = -1, .file = -1 }

/* True where another process has published the entry meanwhile, which *found then has. Else the caller compiles, and
 * calls kiln__disk_release once it has published; that the right is held is likely, not certain. Waits while its holder
 * is alive, for a minute at most: a holder that was killed is followed at once, one that was stopped within a second;
 * and no longer than *cancels is `since`. */
bool kiln__disk_claim(kiln__disk *disk, const kiln__key *key, kiln__claim *claim, kiln__entry *found,
                      const atomic_uint *cancels, unsigned since);

/* Does nothing where nothing is held. */
void kiln__disk_release(kiln__claim *claim);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run tasks in the order in which they are added. They take no signals and touch no driver. */
#ifndef KILN_RUNTIME_THREADS_H
#define KILN_RUNTIME_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/ring.h"

#define KILN__MAX_THREADS 256

typedef struct kiln__threads {
    pthread_mutex_t *lock;         /* the owner's: guards what follows, and the tasks' links */
    void (*run)(kiln__ring *task); /* without the lock; the task is in no ring then */
    int nice;                      /* of each thread */
    kiln__ring waiting;
    pthread_cond_t more;
    pthread_t all[KILN__MAX_THREADS];
    int count, idle;
    bool stopping;
} kiln__threads;

void kiln__threads_begin(kiln__threads *threads, pthread_mutex_t *lock, void run(kiln__ring *task), int nice);
/* With the lock held. Starts a thread where none is idle and there are fewer than `most`. False: there is none. */
bool kiln__threads_add(kiln__threads *threads, kiln__ring *task, int most);
/* With the lock held: none takes another task. What waits stays in the ring. */
void kiln__threads_stop(kiln__threads *threads);
/* After that, without the lock: waits until all have ended. */
void kiln__threads_join(kiln__threads *threads);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "runtime/threads.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *user) {
    kiln__threads *threads = user;
    if (threads->nice) /* of this thread alone; it may be denied */
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), threads->nice);
    pthread_mutex_lock(threads->lock);
    for (;;) {
        threads->idle++;
        while (kiln__ring_is_empty(&threads->waiting) && !threads->stopping)
            pthread_cond_wait(&threads->more, threads->lock);
        threads->idle--;
        if (threads->stopping) break;
        kiln__ring *task = threads->waiting.next;
        kiln__ring_remove(task);
        pthread_mutex_unlock(threads->lock);
        threads->run(task);
        pthread_mutex_lock(threads->lock);
    }
    pthread_mutex_unlock(threads->lock);
    return NULL;
}

void kiln__threads_begin(kiln__threads *threads, pthread_mutex_t *lock, void run(kiln__ring *task), int nice) {
    threads->lock = lock;
    threads->run = run;
    threads->nice = nice;
    kiln__ring_init(&threads->waiting);
    pthread_cond_init(&threads->more, NULL);
    threads->count = threads->idle = 0;
    threads->stopping = false;
}

/* Signals are the program's: its own threads take them. */
static bool start(kiln__threads *threads) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool good = pthread_create(&threads->all[threads->count], NULL, work, threads) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    threads->count += good;
    return good;
}

static int count_waiting(const kiln__threads *threads, int most) {
    int count = 0;
    for (const kiln__ring *link = threads->waiting.next; link != &threads->waiting && count < most; link = link->next)
        count++;
    return count;
}

bool kiln__threads_add(kiln__threads *threads, kiln__ring *task, int most) {
    if (most > KILN__MAX_THREADS) most = KILN__MAX_THREADS;
    const bool more = threads->count < most && count_waiting(threads, most) >= threads->idle;
    if (!(more && start(threads)) && !threads->count) return false;
    kiln__ring_add(&threads->waiting, task);
    pthread_cond_signal(&threads->more);
    return true;
}

void kiln__threads_stop(kiln__threads *threads) {
    threads->stopping = true;
    pthread_cond_broadcast(&threads->more);
}

void kiln__threads_join(kiln__threads *threads) {
    for (int i = 0; i < threads->count; i++) pthread_join(threads->all[i], NULL);
    threads->count = 0;
    pthread_cond_destroy(&threads->more);
}

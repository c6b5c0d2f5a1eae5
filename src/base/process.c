/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of processes. MADV_WIPEONFORK also sees children that were not made by fork() itself, so it comes first. */
#define _GNU_SOURCE
#include "base/process.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic(atomic_int *) kiln__process_mark;

static atomic_int last_number; /* stays in a child, so that the next number is another */
static atomic_int plain_mark;

static void clear_mark(void) { atomic_store(&plain_mark, 0); }

/* Publishes a place for the number. A kernel before 4.14 refuses the advice, and so may a filter of system calls. */
static atomic_int *make_mark(void) {
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_int *mark = page, *known = NULL;
    if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK) != 0) {
        if (page != MAP_FAILED) munmap(page, size);
        if (pthread_atfork(NULL, NULL, clear_mark) != 0) return NULL;
        page = MAP_FAILED;
        mark = &plain_mark;
    }
    if (atomic_compare_exchange_strong(&kiln__process_mark, &known, mark)) return mark;
    if (page != MAP_FAILED) munmap(page, size); /* another thread was first */
    return known;
}

int kiln__process_begin(void) {
    atomic_int *mark = atomic_load(&kiln__process_mark);
    if (mark == NULL) mark = make_mark();
    if (mark == NULL) return 0;
    int current = 0, next = atomic_fetch_add(&last_number, 1) + 1;
    return atomic_compare_exchange_strong(mark, &current, next) ? next : current;
}

bool kiln__process_adopts(atomic_int *owner) {
    const int here = kiln__process();
    for (int seen = atomic_load(owner); seen != here; seen = atomic_load(owner)) {
        if (seen == -here)
            sched_yield();
        else if (atomic_compare_exchange_strong(owner, &seen, -here))
            return true;
    }
    return false;
}

void kiln__process_lock_take(kiln__process_lock *lock) {
    if (kiln__process_adopts(&lock->owner)) {
        pthread_mutex_init(&lock->mutex, NULL);
        atomic_store(&lock->owner, kiln__process());
    }
    pthread_mutex_lock(&lock->mutex);
}

void kiln__process_lock_leave(kiln__process_lock *lock) { pthread_mutex_unlock(&lock->mutex); }

int kiln__processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

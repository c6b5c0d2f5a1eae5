/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a forked child from its parent, and locks that a child can take whatever its parent's other threads held.
 * A number in a page that the kernel wipes at a fork; where that is refused, in memory that a handler of fork clears.
 */
#ifndef KILN_BASE_PROCESS_H
#define KILN_BASE_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Where the number is kept, NULL until it is first asked for; 0 in a child until then. */
extern _Atomic(atomic_int *) kiln__process_mark;

/* Chooses this process's number; 0 without memory. */
int kiln__process_begin(void);

/* A number above 0 that differs from those of the processes that this one was forked from. */
static inline int kiln__process(void) {
    atomic_int *mark = atomic_load_explicit(&kiln__process_mark, memory_order_acquire);
    int number = mark != NULL ? atomic_load_explicit(mark, memory_order_relaxed) : 0;
    return number > 0 ? number : kiln__process_begin();
}

/* Makes a thread of this process the one that adopts what another process left. *owner is the number of the process
 * that something belongs to. True: the caller changes it as a child must and then stores kiln__process(); other threads
 * wait until it has. False: it belongs to this process. */
bool kiln__process_adopts(atomic_int *owner);

/* A lock of the whole process: free in a child. What it guards must be whole at any moment. */
typedef struct kiln__process_lock {
    pthread_mutex_t mutex;
    atomic_int owner;
} kiln__process_lock;
#define KILN__PROCESS_LOCK_INIT \
    { PTHREAD_MUTEX_INITIALIZER, 0 }

void kiln__process_lock_take(kiln__process_lock *lock);
void kiln__process_lock_leave(kiln__process_lock *lock);

/* How many this process may run on; 1 where that is not known. */
int kiln__processors(void);

#endif

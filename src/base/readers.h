/* SPDX-License-Identifier: Apache-2.0 */
/* Reading without a lock what others take away: readers count themselves in and out, and what has been taken away is
 * freed once all who may have seen it are out. Nobody waits for anybody. */
#ifndef KILN_BASE_READERS_H
#define KILN_BASE_READERS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Threads count in places of their own, as far as there are enough, so that none waits for another's cache line. */
enum { KILN__READER_PLACES = 64 };
typedef struct kiln__reader_place {
    _Alignas(64) atomic_uint inside[2];
} kiln__reader_place;

/* What has been taken away: first member of it. */
typedef struct kiln__retired {
    struct kiln__retired *next;
    void (*destroy)(struct kiln__retired *retired); /* called by kiln__readers_reclaim */
} kiln__retired;

/* Those who enter count in inside[turn]; the turn changes when something waits to be freed, so that those who were
 * inside before can be told from those who have come since. */
typedef struct kiln__readers {
    kiln__reader_place *places;
    atomic_uint turn;
    kiln__retired *waiting, *draining; /* since this turn; before it */
} kiln__readers;

/* False without memory. Freed by kiln__readers_free, which destroys what was retired: nobody is inside. */
bool kiln__readers_init(kiln__readers *readers);
void kiln__readers_free(kiln__readers *readers);
/* In a forked child, where nobody is inside. */
void kiln__readers_reset(kiln__readers *readers);

/* The thread's number, from 1 in the order of asking; 0: it has not asked. */
extern _Thread_local unsigned kiln__reader;
unsigned kiln__reader_begin(void); /* chooses it */
static inline unsigned kiln__reader_number(void) { return kiln__reader != 0 ? kiln__reader : kiln__reader_begin(); }

/* What is read until kiln__readers_leave(the result) stays. Loads of what others take away are sequentially consistent,
 * as are their stores: then a reader that is not seen inside sees that it is gone. */
static inline atomic_uint *kiln__readers_enter(kiln__readers *readers) {
    kiln__reader_place *place = &readers->places[kiln__reader_number() % KILN__READER_PLACES];
    atomic_uint *inside = &place->inside[atomic_load_explicit(&readers->turn, memory_order_relaxed)];
    atomic_fetch_add(inside, 1);
    return inside;
}
static inline void kiln__readers_leave(atomic_uint *inside) {
    atomic_fetch_sub_explicit(inside, 1, memory_order_release);
}

/* Both under a lock of the caller's. Retired is what no reader finds any more; it is destroyed by some later reclaim.
 */
void kiln__readers_retire(kiln__readers *readers, kiln__retired *retired);
void kiln__readers_reclaim(kiln__readers *readers);

#endif

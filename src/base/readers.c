/* SPDX-License-Identifier: Apache-2.0 */
/* Two counts for each place. A turn begins when nobody counts in its half any more; what was retired before it is free
 * when nobody counts in the other half. */
#include "base/readers.h"

#include <stddef.h>
#include <stdlib.h>

_Thread_local unsigned kiln__reader;

unsigned kiln__reader_begin(void) {
    static atomic_uint next;
    return kiln__reader = atomic_fetch_add(&next, 1) + 1;
}

bool kiln__readers_init(kiln__readers *readers) {
    const size_t size = KILN__READER_PLACES * sizeof *readers->places;
    *readers = (kiln__readers){.places = aligned_alloc(_Alignof(kiln__reader_place), size)};
    if (readers->places != NULL) kiln__readers_reset(readers);
    return readers->places != NULL;
}

static void destroy_all(kiln__retired **list) {
    while (*list != NULL) {
        kiln__retired *retired = *list;
        *list = retired->next;
        retired->destroy(retired);
    }
}

void kiln__readers_free(kiln__readers *readers) {
    destroy_all(&readers->waiting);
    destroy_all(&readers->draining);
    free(readers->places);
    readers->places = NULL;
}

void kiln__readers_reset(kiln__readers *readers) {
    for (int i = 0; i < KILN__READER_PLACES; i++)
        for (int half = 0; half < 2; half++) atomic_store(&readers->places[i].inside[half], 0);
}

/* Readers that chose their half before the turn changed may come late: they see nothing that was retired by then, and
 * are waited for when their half's next turn begins. */
static bool is_empty(const kiln__readers *readers, unsigned half) {
    for (int i = 0; i < KILN__READER_PLACES; i++)
        if (atomic_load(&readers->places[i].inside[half]) != 0) return false;
    return true;
}

void kiln__readers_retire(kiln__readers *readers, kiln__retired *retired) {
    retired->next = readers->waiting;
    readers->waiting = retired;
}

void kiln__readers_reclaim(kiln__readers *readers) {
    if (readers->waiting == NULL && readers->draining == NULL) return;
    for (int step = 0; step < 2; step++) {
        const unsigned other = atomic_load(&readers->turn) ^ 1;
        if (!is_empty(readers, other)) return;
        destroy_all(&readers->draining);
        if (readers->waiting == NULL) return;
        readers->draining = readers->waiting;
        readers->waiting = NULL;
        atomic_store(&readers->turn, other);
    }
}

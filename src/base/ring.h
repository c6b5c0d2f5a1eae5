/* SPDX-License-Identifier: Apache-2.0 */
/* Things linked in a ring, each in constant time: a link stands in the thing, and a link of its own is the ring. */
#ifndef KILN_BASE_RING_H
#define KILN_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kiln__ring {
    struct kiln__ring *next, *before;
} kiln__ring;

/* The struct of that type whose member the link is. */
#define KILN__OF_RING(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void kiln__ring_init(kiln__ring *ring) { ring->next = ring->before = ring; }

static inline bool kiln__ring_is_empty(const kiln__ring *ring) { return ring->next == ring; }

/* Last of the ring. */
static inline void kiln__ring_add(kiln__ring *ring, kiln__ring *link) {
    link->next = ring;
    link->before = ring->before;
    ring->before->next = link;
    ring->before = link;
}

/* It stays alone, and may be removed again. */
static inline void kiln__ring_remove(kiln__ring *link) {
    link->before->next = link->next;
    link->next->before = link->before;
    kiln__ring_init(link);
}

#endif

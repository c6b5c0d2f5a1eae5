/* SPDX-License-Identifier: Apache-2.0 */
/* Reading without a lock what others take away, things found by their hash, and rings. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/readers.h"
#include "base/ring.h"

enum { THREADS = 4, CHANGES = 20000, ALIVE = 0x1157, GONE = 0xdead };

/* Alive while any reader may see it. It stays allocated, so that one who reads it too late is told. */
typedef struct item {
    kiln__retired retired;
    atomic_int state;
    struct item *older;
} item;

static kiln__readers readers;
static _Atomic(item *) shown;
static atomic_bool over;
static atomic_long destroyed, too_late;

static void destroy(kiln__retired *retired) {
    atomic_store(&((item *)(void *)retired)->state, GONE);
    destroyed++;
}

static void *read_on(void *user) {
    (void)user;
    while (!atomic_load(&over)) {
        atomic_uint *inside = kiln__readers_enter(&readers);
        const item *now = atomic_load(&shown);
        for (int i = 0; i < 20; i++)
            if (atomic_load(&now->state) != ALIVE) too_late++;
        kiln__readers_leave(inside);
    }
    return NULL;
}

static item *make(item *older) {
    item *fresh = calloc(1, sizeof *fresh);
    assert_non_null(fresh);
    atomic_init(&fresh->state, ALIVE);
    fresh->retired.destroy = destroy;
    fresh->older = older;
    return fresh;
}

static void what_a_reader_may_see_stays_until_it_has_left(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    assert_true(kiln__readers_init(&readers));
    item *last = make(NULL);
    atomic_store(&shown, last);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, read_on, NULL), 0);
    for (int i = 0; i < CHANGES; i++) {
        item *fresh = make(last);
        atomic_store(&shown, fresh);
        kiln__readers_retire(&readers, &last->retired);
        kiln__readers_reclaim(&readers);
        last = fresh;
    }
    while (destroyed < CHANGES / 2) { /* while they read on */
        kiln__readers_reclaim(&readers);
        sched_yield();
    }
    atomic_store(&over, true);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    kiln__readers_reclaim(&readers);
    assert_int_equal(destroyed, CHANGES);
    assert_int_equal(too_late, 0);
    while (last) {
        item *older = last->older;
        free(last);
        last = older;
    }
    kiln__readers_free(&readers);
}

static void a_reader_holds_what_was_retired_since_it_came(void **state) {
    (void)state;
    item items[3];
    atomic_store(&destroyed, 0);
    assert_true(kiln__readers_init(&readers));
    for (int i = 0; i < 3; i++) items[i] = (item){.retired = {.destroy = destroy}};
    atomic_uint *first = kiln__readers_enter(&readers);
    kiln__readers_retire(&readers, &items[0].retired);
    for (int i = 0; i < 5; i++) kiln__readers_reclaim(&readers);
    assert_int_equal(destroyed, 0);
    atomic_uint *second = kiln__readers_enter(&readers); /* after the turn: it may see what is retired now */
    kiln__readers_leave(first);
    kiln__readers_retire(&readers, &items[1].retired);
    for (int i = 0; i < 5; i++) kiln__readers_reclaim(&readers);
    assert_int_equal(destroyed, 1);
    kiln__readers_leave(second);
    kiln__readers_reclaim(&readers);
    assert_int_equal(destroyed, 2);
    kiln__readers_retire(&readers, &items[2].retired);
    kiln__readers_free(&readers); /* nobody is inside */
    assert_int_equal(destroyed, 3);
}

typedef struct thing {
    kiln__hash_link link;
    kiln__ring ring;
    int number;
} thing;

static void things_are_found_by_their_hash(void **state) {
    (void)state;
    enum { THINGS = 5000 };
    thing *all = calloc(THINGS, sizeof *all);
    kiln__hash hash = {0};
    assert_non_null(all);
    assert_null(kiln__hash_find(&hash, 7));
    for (int i = 0; i < THINGS; i++) {
        all[i].number = i;
        kiln__hash_add(&hash, &all[i].link, (uint64_t)(i / 3) * 0x10001u); /* three of each */
    }
    for (int i = 0; i < THINGS; i += 2) kiln__hash_remove(&hash, &all[i].link);
    assert_int_equal(hash.count, THINGS / 2);
    assert_true(hash.capacity >= THINGS && hash.capacity < 4 * THINGS);
    for (int i = 0; i < THINGS; i++) {
        bool found = false;
        kiln__hash_link *link = kiln__hash_find(&hash, (uint64_t)(i / 3) * 0x10001u);
        for (; link; link = kiln__hash_next(link)) found |= KILN__OF_RING(link, thing, link) == &all[i];
        assert_int_equal(found, i % 2);
    }
    assert_null(kiln__hash_find(&hash, 5));
    kiln__hash_free(&hash);
    free(all);
}

static void a_ring_keeps_its_order(void **state) {
    (void)state;
    thing all[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    kiln__ring ring;
    kiln__ring_init(&ring);
    assert_true(kiln__ring_is_empty(&ring));
    for (int i = 0; i < 4; i++) kiln__ring_add(&ring, &all[i].ring);
    kiln__ring_remove(&all[1].ring);
    kiln__ring_remove(&all[1].ring); /* alone: nothing happens */
    static const int left[] = {0, 2, 3};
    int count = 0;
    for (kiln__ring *link = ring.next; link != &ring; link = link->next)
        assert_int_equal(KILN__OF_RING(link, thing, ring)->number, left[count++]);
    assert_int_equal(count, 3);
    for (int i = 0; i < 4; i++) kiln__ring_remove(&all[i].ring);
    assert_true(kiln__ring_is_empty(&ring));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reader_may_see_stays_until_it_has_left),
        cmocka_unit_test(a_reader_holds_what_was_retired_since_it_came),
        cmocka_unit_test(things_are_found_by_their_hash),
        cmocka_unit_test(a_ring_keeps_its_order),
    };
    return cmocka_run_group_tests_name("readers", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a profiler by NVTX's protocol, of which it needs neither a header nor a library when Kiln is built. */
#define _GNU_SOURCE
#include "base/profiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/process.h"
#include "base/profiler_api.h"

enum { longest_text = 200 };

typedef kiln__profiler_place place;

_Static_assert(sizeof(place) == sizeof(kiln__nvtx_function), "profilers write to places as to plain pointers");

place kiln__profiler_push;

static const unsigned sizes[KILN__NVTX_SETS] = KILN__NVTX_SET_SIZES;
static place functions[KILN__NVTX_SETS][KILN__NVTX_MOST_PLACES];
static kiln__nvtx_function *places[KILN__NVTX_SETS][KILN__NVTX_MOST_PLACES]; /* the addresses of these */

static kiln__process_lock lock = KILN__PROCESS_LOCK_INIT; /* of what follows */
static bool looked, named;
static _Atomic(kiln__nvtx_domain) domain; /* NULL: the process's own */

static place *place_of(int set, unsigned number) {
    return set == KILN__NVTX_CORE2 && number == KILN__NVTX_RANGE_PUSH ? &kiln__profiler_push : &functions[set][number];
}

static kiln__nvtx_function function_of(unsigned number) {
    return atomic_load_explicit(&place_of(KILN__NVTX_CORE2, number)->function, memory_order_acquire);
}

/* Profilers fill in what they have of every set, whatever Kiln calls of it. */
static int get_set(int set, kiln__nvtx_places *out, unsigned *count) {
    if (set <= 0 || set >= KILN__NVTX_SETS) return 0;
    for (unsigned i = 1; i < sizes[set]; i++) places[set][i] = (kiln__nvtx_function *)(void *)place_of(set, i);
    if (count) *count = sizes[set];
    if (out) *out = places[set];
    return 1;
}

static void hear_version(uint32_t version) { (void)version; }

static const void *export_table(uint32_t table) {
    static const kiln__nvtx_callbacks callbacks = {sizeof callbacks, get_set};
    static const kiln__nvtx_version version = {sizeof version, KILN__NVTX_VERSION, 0, hear_version};
    if (table == KILN__NVTX_TABLE_CALLBACKS) return &callbacks;
    return table == KILN__NVTX_TABLE_VERSION ? &version : NULL;
}

/* A library that is no profiler's, or one that refuses, is left: nothing of Kiln depends on it. */
static void attach(const char *path) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void *address = library ? dlsym(library, KILN__NVTX_ENTRY) : NULL;
    kiln__nvtx_entry *entry = NULL;
    memcpy(&entry, &address, sizeof address);
    if (entry && entry(export_table)) return;
    for (int set = 1; set < KILN__NVTX_SETS; set++)
        for (unsigned i = 1; i < sizes[set]; i++) atomic_store(&place_of(set, i)->function, NULL);
    if (library) dlclose(library);
}

void kiln__profiler_open(void) {
    kiln__process_lock_take(&lock);
    const char *path = looked ? NULL : secure_getenv(KILN__NVTX_VARIABLE);
    looked = true;
    if (path && *path) attach(path);
    kiln__process_lock_leave(&lock);
}

/* Made when the first range begins: before that a profiler may not have been interested. */
static kiln__nvtx_domain domain_of_ranges(void) {
    const kiln__nvtx_domain known = atomic_load_explicit(&domain, memory_order_acquire);
    if (known) return known;
    kiln__process_lock_take(&lock);
    kiln__nvtx_domain_create *create = (kiln__nvtx_domain_create *)function_of(KILN__NVTX_DOMAIN_CREATE);
    if (create && !named) {
        named = true;
        atomic_store_explicit(&domain, create("Kiln"), memory_order_release);
    }
    kiln__process_lock_leave(&lock);
    return atomic_load_explicit(&domain, memory_order_acquire);
}

bool kiln__range_push(const char *what, const char *text) {
    kiln__nvtx_range_push *push = (kiln__nvtx_range_push *)function_of(KILN__NVTX_RANGE_PUSH);
    if (!push) return false;
    char message[32 + longest_text];
    const size_t start = (size_t)snprintf(message, 32, "%s: ", what);
    kiln__printable(message + start, longest_text, text, false);
    const kiln__nvtx_event event = {.version = KILN__NVTX_VERSION,
                                    .size = sizeof event,
                                    .message_type = KILN__NVTX_MESSAGE_ASCII,
                                    .message = message};
    push(domain_of_ranges(), &event);
    return true;
}

void kiln__range_pop(void) {
    kiln__nvtx_range_pop *pop = (kiln__nvtx_range_pop *)function_of(KILN__NVTX_RANGE_POP);
    if (pop) pop(domain_of_ranges());
}

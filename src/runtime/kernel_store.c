/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a context has loaded: found by name, and dropped when there are more than its limits allow, those
 * first that were used least recently. Launches of kiln_run are forgotten with their kernel, and the kernel is unloaded
 * once no thread can be about to launch it; the driver waits for what runs on the GPU. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

enum { BYTES_ALONE = -1 }; /* instead of a device */

bool kiln__same_name(const kiln__key *a, const kiln__key *b) {
    return !memcmp(a->digest, b->digest, sizeof a->digest) && a->size == b->size &&
           !memcmp(a->material, b->material, b->size);
}

uint64_t kiln__name_hash(const kiln__key *name) {
    uint64_t hash;
    memcpy(&hash, name->digest, sizeof hash);
    return hash;
}

kiln__kernel_entry *kiln__kernels_find(const kiln_context *context, const kiln__key *name, int device) {
    kiln__hash_link *link = kiln__hash_find(&context->kernels, kiln__name_hash(name));
    for (; link; link = kiln__hash_next(link)) {
        kiln__kernel_entry *kernel = KILN__OF_RING(link, kiln__kernel_entry, by_name);
        if ((device < 0 || kernel->device == device) && kiln__same_name(&kernel->image.name, name)) return kernel;
    }
    return NULL;
}

static uint64_t tick(kiln_context *context) { return atomic_fetch_add(&context->clock, 1) + 1; }

kiln__kernel_entry *kiln__kernels_hold(kiln_context *context, const kiln__key *name, int device) {
    kiln__kernel_entry *kernel = kiln__kernels_find(context, name, device);
    if (kernel) {
        kernel->references++;
        kernel->used = tick(context);
    }
    return kernel;
}

kiln__kernel_entry *kiln__kernels_take(kiln_context *context, const kiln__key *name, int device) {
    pthread_mutex_lock(&context->lock);
    kiln__kernel_entry *kernel = kiln__kernels_hold(context, name, device);
    pthread_mutex_unlock(&context->lock);
    return kernel;
}

void kiln__kernels_release(kiln__kernel_entry *kernel) {
    if (!kernel) return;
    pthread_mutex_lock(&kernel->context->lock);
    kernel->references--;
    pthread_mutex_unlock(&kernel->context->lock);
}

/* ---- on the shelf and off it; with the lock held ---- */

static kiln__shelf *find_shelf(const kiln_context *context, int device) {
    kiln__shelf *shelf = context->shelves;
    while (shelf && shelf->device != device) shelf = shelf->next;
    return shelf;
}

static kiln__shelf *make_shelf(kiln_context *context, int device) {
    kiln__shelf *shelf = find_shelf(context, device);
    if (shelf || !(shelf = calloc(1, sizeof *shelf))) return shelf;
    kiln__ring_init(&shelf->kernels);
    shelf->device = device;
    shelf->next = context->shelves;
    context->shelves = shelf;
    return shelf;
}

static int64_t size_of(const kiln__kernel_entry *kernel) {
    return (int64_t)(sizeof *kernel + kernel->image.size + kernel->image.name.size);
}

static void put(kiln__shelf *shelf, kiln__kernel_entry *kernel) {
    kiln__hash_add(&kernel->context->kernels, &kernel->by_name, kiln__name_hash(&kernel->image.name));
    kiln__ring_add(&shelf->kernels, &kernel->on_shelf);
    shelf->count++;
    shelf->bytes += size_of(kernel);
}

static void take_off(kiln__shelf *shelf, kiln__kernel_entry *kernel) {
    kiln__hash_remove(&kernel->context->kernels, &kernel->by_name);
    kiln__ring_remove(&kernel->on_shelf);
    shelf->count--;
    shelf->bytes -= size_of(kernel);
}

/* The bytes and the name, as far as they are in the application's memory. */
static void release_copies(const kiln_context *context, kiln__image *image) {
    kiln__host_release(context, image->bytes, image->size + 1);
    kiln__host_release(context, image->name.material, image->name.size + 1);
    image->bytes = NULL;
    image->name.material = NULL;
}

/* Copies of the image's bytes and name in the application's memory; with the C library's there is nothing to do. */
static bool copy_to_host(const kiln_context *context, const kiln__image *from, kiln__image *to) {
    *to = *from;
    if (!context->host_allocator.allocate) return true;
    to->bytes = kiln__host_allocate(context, from->size + 1); /* a size of 0 is no request */
    to->name.material = kiln__host_allocate(context, from->name.size + 1);
    if (!to->bytes || !to->name.material) {
        release_copies(context, to);
        return false;
    }
    memcpy(to->bytes, from->bytes, from->size);
    memcpy(to->name.material, from->name.material, from->name.size);
    to->hosted = true;
    return true;
}

static void release_image(const kiln_context *context, kiln__image *image) {
    if (image->hosted) release_copies(context, image);
    kiln__image_free(image);
}

static void free_kernel(kiln__kernel_entry *kernel, const kiln__driver *driver) {
    if (driver) kiln__loaded_destroy(driver, &kernel->loaded);
    release_image(kernel->context, &kernel->image);
    free(kernel);
}

/* Bytes alone, which no launch has and no reader sees. With the lock held. */
static kiln__kernel_entry *find_bytes(const kiln_context *context, const kiln__key *name) {
    kiln__hash_link *link = kiln__hash_find(&context->kernels, kiln__name_hash(name));
    for (; link; link = kiln__hash_next(link)) {
        kiln__kernel_entry *kernel = KILN__OF_RING(link, kiln__kernel_entry, by_name);
        if (kernel->device == BYTES_ALONE && !kernel->references && kiln__same_name(&kernel->image.name, name))
            return kernel;
    }
    return NULL;
}

bool kiln__kernels_keep(kiln_context *context, kiln__kernel_entry *loaded) {
    loaded->context = context;
    loaded->references = 1;
    kiln__ring_init(&loaded->on_shelf);
    kiln__ring_init(&loaded->shapes);
    kiln__image own, given = loaded->image;
    if (!copy_to_host(context, &given, &own)) return false;
    kiln__kernel_entry *bytes = NULL;
    pthread_mutex_lock(&context->lock);
    kiln__shelf *shelf = make_shelf(context, loaded->device);
    if (shelf && loaded->device != BYTES_ALONE && (bytes = find_bytes(context, &given.name)))
        take_off(find_shelf(context, BYTES_ALONE), bytes);
    if (shelf) {
        loaded->used = tick(context);
        kiln__memory_remove(&given); /* others found the bytes by it */
        loaded->image = own;
        loaded->image.pending = NULL;
        put(shelf, loaded);
    }
    pthread_mutex_unlock(&context->lock);
    if (shelf && own.hosted) { /* what was copied is not needed any more */
        kiln__key_free(&given.name);
        free(given.bytes);
    }
    if (!shelf && own.hosted) release_copies(context, &own);
    if (bytes) free_kernel(bytes, NULL);
    return shelf;
}

/* ---- dropping ---- */

/* No reader has it any more. One that saw it before may have captured it: then it goes back. With the lock held. */
static void settle(kiln__retired *retired) {
    kiln__kernel_entry *kernel = (kiln__kernel_entry *)(void *)retired;
    kiln_context *context = kernel->context;
    if (atomic_load(&kernel->captured))
        put(find_shelf(context, kernel->device), kernel);
    else
        kiln__ring_add(&context->dropped, &kernel->on_shelf);
}

typedef struct candidate {
    kiln__kernel_entry *kernel;
    uint64_t used;
} candidate;

static int by_use(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->used == y->used) return 0;
    return x->used < y->used ? -1 : 1;
}

/* Some eighths of a limit, which may be any number. */
static int64_t part_of(int64_t limit, int eighths) { return limit / 8 * eighths + limit % 8 * eighths / 8; }

static bool is_above(const kiln_context *context, const kiln__shelf *shelf, int eighths) {
    return (context->max_kernels >= 0 && shelf->count > part_of(context->max_kernels, eighths)) ||
           (context->max_kernel_bytes >= 0 && shelf->bytes > part_of(context->max_kernel_bytes, eighths));
}

/* Down to seven eighths, since each unloading waits for the device: then the next is many loads away. */
static void drop(kiln_context *context, kiln__shelf *shelf) {
    candidate *candidates = malloc((size_t)shelf->count * sizeof *candidates);
    size_t count = 0;
    if (!candidates) return; /* a later load tries again */
    for (kiln__ring *link = shelf->kernels.next; link != &shelf->kernels; link = link->next) {
        kiln__kernel_entry *kernel = KILN__OF_RING(link, kiln__kernel_entry, on_shelf);
        if (kernel->references == 0 && !atomic_load(&kernel->captured))
            candidates[count++] = (candidate){kernel, atomic_load(&kernel->used)};
    }
    if (count > 0) qsort(candidates, count, sizeof *candidates, by_use);
    for (size_t i = 0; i < count && is_above(context, shelf, 7); i++) {
        kiln__kernel_entry *kernel = candidates[i].kernel;
        take_off(shelf, kernel);
        kiln__dispatch_forget_kernel(kernel);
        kernel->retired.destroy = settle;
        kiln__readers_retire(&context->readers, &kernel->retired);
    }
    free(candidates);
}

void kiln__kernels_trim(kiln_context *context, const kiln__driver *driver, int device) {
    kiln__ring unloaded;
    int count = 0;
    const double start = kiln__now_ms();
    kiln__ring_init(&unloaded);
    pthread_mutex_lock(&context->lock);
    for (kiln__shelf *shelf = context->shelves; shelf; shelf = shelf->next)
        if ((shelf->device == device || shelf->device < 0) && is_above(context, shelf, 8)) drop(context, shelf);
    kiln__readers_reclaim(&context->readers);
    for (kiln__ring *link = context->dropped.next, *next; link != &context->dropped; link = next) {
        next = link->next;
        if (!driver && KILN__OF_RING(link, kiln__kernel_entry, on_shelf)->loaded.library) continue;
        kiln__ring_remove(link);
        kiln__ring_add(&unloaded, link);
    }
    pthread_mutex_unlock(&context->lock);
    while (!kiln__ring_is_empty(&unloaded)) {
        kiln__kernel_entry *kernel = KILN__OF_RING(unloaded.next, kiln__kernel_entry, on_shelf);
        kiln__ring_remove(&kernel->on_shelf);
        free_kernel(kernel, driver);
        count++;
    }
    if (count)
        kiln__log(
            &context->logger, KILN_LOG_INFO,
            "dropped the %d loaded kernels that were used least recently, beyond the limits of the context, in %.1f ms",
            count, kiln__now_ms() - start);
}

void kiln__kernels_keep_bytes(kiln_context *context, kiln__image *image) {
    pthread_mutex_lock(&context->lock);
    const bool known = kiln__kernels_find(context, &image->name, BYTES_ALONE);
    pthread_mutex_unlock(&context->lock);
    kiln__kernel_entry *kernel = known ? NULL : calloc(1, sizeof *kernel);
    if (!kernel) return;
    kernel->device = BYTES_ALONE;
    kernel->image = *image;
    kernel->image.key = (kiln__key){0};
    kernel->image.log = NULL;
    kernel->image.group = NULL; /* which may be gone before the kernel is */
    if (!kiln__kernels_keep(context, kernel)) {
        free(kernel);
        return;
    }
    image->name = (kiln__key){0};
    image->bytes = NULL;
    image->pending = NULL;
    kiln__kernels_release(kernel);
    kiln__kernels_trim(context, NULL, BYTES_ALONE);
}

/* ---- the end, and a forked child ---- */

void kiln__kernels_free(kiln_context *context, const kiln__driver *driver) {
    kiln__readers_free(&context->readers);
    while (context->shelves) {
        kiln__shelf *shelf = context->shelves;
        context->shelves = shelf->next;
        while (!kiln__ring_is_empty(&shelf->kernels)) {
            kiln__ring *link = shelf->kernels.next;
            kiln__ring_remove(link);
            kiln__ring_add(&context->dropped, link);
        }
        free(shelf);
    }
    while (!kiln__ring_is_empty(&context->dropped)) {
        kiln__kernel_entry *kernel = KILN__OF_RING(context->dropped.next, kiln__kernel_entry, on_shelf);
        kiln__ring_remove(&kernel->on_shelf);
        free_kernel(kernel, driver);
    }
    kiln__hash_free(&context->kernels);
}

void kiln__kernels_disown(kiln_context *context) {
    kiln__readers_reclaim(&context->readers);
    kiln__readers_reclaim(&context->readers); /* nobody is inside */
    for (kiln__ring *link = context->dropped.next; link != &context->dropped; link = link->next)
        KILN__OF_RING(link, kiln__kernel_entry, on_shelf)->loaded = (kiln__loaded){0};
    kiln__shelf *bytes = context->shelves, *other = bytes ? bytes->next : NULL;
    while (other) {
        kiln__shelf *next = other->next;
        while (!kiln__ring_is_empty(&other->kernels)) {
            kiln__ring *link = other->kernels.next;
            kiln__ring_remove(link);
            kiln__ring_add(&bytes->kernels, link);
        }
        bytes->count += other->count;
        bytes->bytes += other->bytes;
        free(other);
        other = next;
    }
    if (!bytes) return;
    bytes->device = -1;
    bytes->next = NULL;
    for (kiln__ring *link = bytes->kernels.next; link != &bytes->kernels; link = link->next) {
        kiln__kernel_entry *kernel = KILN__OF_RING(link, kiln__kernel_entry, on_shelf);
        kernel->loaded = (kiln__loaded){0};
        kernel->device = -1;
        atomic_store(&kernel->captured, false);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a context knows of kernels without looking further: those loaded, those that a thread is obtaining, for which
 * the others wait, and those that the compiler has refused. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

enum { MAX_REFUSED = 256 }; /* of a context; beyond them the oldest is forgotten */

/* Guarded by the context's lock. */
struct kiln__pending {
    kiln__hash_link by_name;
    kiln__ring link; /* among those that are obtained, or that were refused */
    kiln_context *context;
    kiln__image image; /* name alone while it is obtained; then views of what the first thread holds */
    bool done;
    char *error; /* of a refused kernel, which has its name and log */
    kiln_status status;
};

/* With the lock held. */
static kiln__pending *find_pending(const kiln_context *context, const kiln__key *name) {
    kiln__hash_link *link = kiln__hash_find(&context->pending, kiln__name_hash(name));
    for (; link; link = kiln__hash_next(link)) {
        kiln__pending *pending = KILN__OF_RING(link, kiln__pending, by_name);
        if (kiln__same_name(&pending->image.name, name)) return pending;
    }
    return NULL;
}

/* With the lock held. */
static kiln__pending *add_pending(kiln_context *context, const kiln__key *name) {
    kiln__pending *pending = calloc(1, sizeof *pending);
    if (!pending) return NULL;
    pending->context = context;
    pending->image.name = *name;
    kiln__hash_add(&context->pending, &pending->by_name, kiln__name_hash(name));
    kiln__ring_add(&context->obtaining, &pending->link);
    return pending;
}

/* With the lock held. */
static void remove_pending(kiln__pending *pending) {
    kiln__hash_remove(&pending->context->pending, &pending->by_name);
    kiln__ring_remove(&pending->link);
    if (pending->error) {
        kiln__key_free(&pending->image.name);
        free(pending->image.log);
        free(pending->error);
    }
    free(pending);
}

bool kiln__memory_enter(kiln_context *context, kiln__image *out, kiln_status *status) {
    char *log = NULL;
    kiln__pending *pending;
    pthread_mutex_lock(&context->lock);
    const kiln__kernel_entry *loaded = kiln__kernels_find(context, &out->name, -1);
    while ((pending = find_pending(context, &out->name)) && !pending->done && !loaded) {
        if (out->policy == KILN_POLICY_NEVER_COMPILE) { /* what is waited for may be a compile */
            pthread_mutex_unlock(&context->lock);
            return false;
        }
        if (kiln__image_cancelled(out)) {
            pthread_mutex_unlock(&context->lock);
            *status = kiln__fail(KILN_E_CANCELLED, "a compile that this call waited for was cancelled");
            return true;
        }
        const double start = kiln__now_ms();
        pthread_cond_wait(&context->obtained, &context->lock);
        out->wait_ms += kiln__count_ms(out->counters, KILN__WAIT_NS, start);
        loaded = kiln__kernels_find(context, &out->name, -1);
    }
    bool settled = loaded || pending;
    out->loaded = loaded && out->loaded_on ? kiln__kernels_hold(context, &out->name, out->loaded_on - 1) : NULL;
    if (out->loaded) {
        out->size = out->loaded->image.size;
        out->facts = out->loaded->image.facts;
        out->origin = KILN_ORIGIN_MEMORY;
    } else if (loaded || (pending && !pending->error)) {
        const kiln__image *known = loaded ? &loaded->image : &pending->image;
        *status = kiln__image_copy(out, known->bytes, known->size, known->log ? known->log : "", &known->facts,
                                   KILN_ORIGIN_MEMORY);
    } else if (pending) {
        *status = kiln__fail(pending->status, "%s", pending->error);
        log = pending->image.log ? strdup(pending->image.log) : NULL;
    } else
        out->pending = add_pending(context, &out->name); /* without memory nobody waits for us */
    pthread_mutex_unlock(&context->lock);
    if (log) kiln__log_lines(&context->logger, KILN_LOG_ERROR, log);
    free(log);
    return settled;
}

/* A refused kernel takes over the name and the log of its image. With the lock held. */
static void keep_refused(kiln__pending *pending, kiln__image *image) {
    kiln_context *context = pending->context;
    image->name = (kiln__key){0};
    image->log = NULL;
    kiln__ring_remove(&pending->link);
    kiln__ring_add(&context->refused, &pending->link);
    if (++context->refused_count <= MAX_REFUSED) return;
    context->refused_count--;
    remove_pending(KILN__OF_RING(context->refused.next, kiln__pending, link));
}

void kiln__memory_obtained(kiln__image *image, kiln_status status) {
    kiln__pending *pending = image->pending;
    if (!pending) return;
    kiln_context *context = pending->context;
    char *error = status && image->refused ? strdup(kiln_last_error()) : NULL;
    pthread_mutex_lock(&context->lock);
    pending->done = true;
    pending->error = error;
    pending->status = status;
    pending->image = *image;
    if (status) image->pending = NULL;
    if (error)
        keep_refused(pending, image);
    else if (status)
        remove_pending(pending);
    pthread_cond_broadcast(&context->obtained);
    pthread_mutex_unlock(&context->lock);
}

void kiln__memory_remove(kiln__image *image) {
    if (image->pending) remove_pending(image->pending);
    image->pending = NULL;
}

void kiln__memory_leave(kiln__image *image) {
    if (!image->pending) return;
    kiln_context *context = image->pending->context;
    pthread_mutex_lock(&context->lock);
    kiln__memory_remove(image);
    pthread_mutex_unlock(&context->lock);
}

static void remove_all(kiln__ring *ring, bool done) {
    for (kiln__ring *link = ring->next, *next; link != ring; link = next) {
        kiln__pending *pending = KILN__OF_RING(link, kiln__pending, link);
        next = link->next;
        if (done || !pending->done) remove_pending(pending);
    }
}

void kiln__memory_free(kiln_context *context, bool forked) {
    remove_all(&context->obtaining, !forked);
    if (forked) return;
    remove_all(&context->refused, true);
    kiln__hash_free(&context->pending);
}

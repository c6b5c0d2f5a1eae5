/* What a context knows of kernels without looking further: those loaded, those that a thread is obtaining, for which
 * the others wait, and those that the compiler has refused. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* Guarded by the context's lock. */
struct kiln__pending {
    kiln__pending *next;
    kiln_context *context;
    kiln__image image; /* name alone while it is obtained; then views of what the first thread holds */
    bool done;
    char *error; /* of a refused kernel, which stays here with its name and log for as long as the context */
};

static bool same_name(const kiln__key *a, const kiln__key *b) {
    return !memcmp(a->digest, b->digest, sizeof a->digest) && a->size == b->size &&
           !memcmp(a->material, b->material, b->size);
}

static const kiln__kernel_entry *find_loaded(const kiln__kernel_entry *entry, const kiln__key *name, int device) {
    while (entry && ((device >= 0 && entry->device != device) || !same_name(&entry->image.name, name)))
        entry = entry->next;
    return entry;
}

const kiln__kernel_entry *kiln__find_loaded(kiln_context *context, const kiln__key *name, int device) {
    pthread_mutex_lock(&context->lock);
    const kiln__kernel_entry *entry = context->kernels;
    pthread_mutex_unlock(&context->lock);
    return find_loaded(entry, name, device);
}

/* With the lock held. */
static kiln__pending *find_pending(const kiln_context *context, const kiln__key *name) {
    kiln__pending *pending = context->pending;
    while (pending && !same_name(&pending->image.name, name)) pending = pending->next;
    return pending;
}

/* With the lock held. */
static kiln__pending *add_pending(kiln_context *context, const kiln__key *name) {
    kiln__pending *pending = calloc(1, sizeof *pending);
    if (!pending) return NULL;
    pending->context = context;
    pending->image.name = *name;
    pending->next = context->pending;
    context->pending = pending;
    return pending;
}

bool kiln__memory_enter(kiln_context *context, kiln__image *out, kiln_status *status) {
    const char *log = NULL;
    kiln__pending *pending;
    pthread_mutex_lock(&context->lock);
    const kiln__kernel_entry *loaded = find_loaded(context->kernels, &out->name, -1);
    while ((pending = find_pending(context, &out->name)) && !pending->done && !loaded) {
        pthread_cond_wait(&context->obtained, &context->lock);
        loaded = find_loaded(context->kernels, &out->name, -1);
    }
    bool settled = loaded || pending;
    if (loaded || (pending && !pending->error)) {
        const kiln__image *known = loaded ? &loaded->image : &pending->image;
        *status = kiln__image_copy(out, known->bytes, known->size, known->log, &known->facts, KILN_ORIGIN_MEMORY);
    } else if (pending) {
        *status = kiln__fail(KILN_E_COMPILE, "%s", pending->error);
        log = pending->image.log;
    } else
        out->pending = add_pending(context, &out->name); /* without memory nobody waits for us */
    pthread_mutex_unlock(&context->lock);
    if (log) kiln__log(context, KILN_LOG_ERROR, "%s", log);
    return settled;
}

/* With the lock held. */
static void remove_pending(kiln_context *context, kiln__pending *pending) {
    kiln__pending **at = &context->pending;
    while (*at != pending) at = &(*at)->next;
    *at = pending->next;
    free(pending);
}

void kiln__memory_obtained(kiln__image *image, kiln_status status) {
    kiln__pending *pending = image->pending;
    if (!pending) return;
    kiln_context *context = pending->context;
    char *error = status && image->refused ? strdup(kiln_last_error()) : NULL;
    pthread_mutex_lock(&context->lock);
    pending->done = true;
    pending->error = error;
    pending->image = *image;
    if (error) image->name = (kiln__key){0}, image->log = NULL;
    if (status) image->pending = NULL;
    if (status && !error) remove_pending(context, pending);
    pthread_cond_broadcast(&context->obtained);
    pthread_mutex_unlock(&context->lock);
}

void kiln__memory_leave(kiln__image *image) {
    if (!image->pending) return;
    kiln_context *context = image->pending->context;
    pthread_mutex_lock(&context->lock);
    remove_pending(context, image->pending);
    pthread_mutex_unlock(&context->lock);
    image->pending = NULL;
}

void kiln__memory_keep(kiln_context *context, kiln__kernel_entry *loaded) {
    pthread_mutex_lock(&context->lock);
    loaded->next = context->kernels;
    context->kernels = loaded;
    if (loaded->image.pending) remove_pending(context, loaded->image.pending);
    pthread_mutex_unlock(&context->lock);
    loaded->image.pending = NULL;
}

void kiln__memory_free(kiln_context *context, bool forked) {
    for (kiln__pending **at = &context->pending; *at;) {
        kiln__pending *pending = *at;
        if (forked && pending->done) {
            at = &pending->next;
            continue;
        }
        *at = pending->next;
        if (pending->error) {
            kiln__key_free(&pending->image.name);
            free(pending->image.log);
        }
        free(pending->error);
        free(pending);
    }
}

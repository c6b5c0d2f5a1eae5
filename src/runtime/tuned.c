/* SPDX-License-Identifier: Apache-2.0 */
/* Looks tuned records up: in memory, on disk, in packs. Nothing here fails a plan, but for want of memory: a record
 * that cannot be read is as none. */
#include "runtime/tuned.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_KNOWN 16384 /* then all is forgotten, and looked for again */

/* What was found under a key, and what the model chose where nothing was. */
typedef struct known {
    kiln__hash_link link;
    uint8_t digest[16];
    bool found, chosen;
    kiln__pins pins;
} known;

static uint64_t hash_of(const kiln__key *key) {
    uint64_t hash;
    memcpy(&hash, key->digest, sizeof hash);
    return hash;
}

/* With the context's lock held, as the next two. */
static known *recall(const kiln_context *context, const kiln__key *key) {
    kiln__hash_link *link = kiln__hash_find(&context->tuned, hash_of(key));
    while (link && memcmp(((known *)(void *)link)->digest, key->digest, sizeof key->digest) != 0)
        link = kiln__hash_next(link);
    return (known *)(void *)link;
}

static void free_known(kiln__hash_link *link) { free((known *)(void *)link); }

static void forget(kiln_context *context) { kiln__hash_clear(&context->tuned, free_known); }

static kiln_status remember(kiln_context *context, const kiln__key *key, const kiln__pins *pins) {
    known *entry = recall(context, key);
    if (!entry) {
        if (context->tuned.count >= MOST_KNOWN) forget(context);
        entry = malloc(sizeof *entry);
        if (!entry) return kiln__out_of_memory();
        memcpy(entry->digest, key->digest, sizeof entry->digest);
        kiln__hash_add(&context->tuned, &entry->link, hash_of(key));
    }
    entry->found = pins != NULL;
    entry->chosen = false;
    if (pins) entry->pins = *pins;
    return KILN_OK;
}

void kiln__tuned_forget(kiln_context *context) {
    pthread_mutex_lock(&context->lock);
    forget(context);
    pthread_mutex_unlock(&context->lock);
}

kiln_status kiln__tuned_set(kiln_context *context, const kiln__key *key, const kiln__pins *pins) {
    pthread_mutex_lock(&context->lock);
    kiln_status status = remember(context, key, pins);
    pthread_mutex_unlock(&context->lock);
    return status;
}

bool kiln__tuned_recall(kiln_context *context, const kiln__key *key, kiln__pins *out) {
    pthread_mutex_lock(&context->lock);
    const known *before = recall(context, key);
    const bool chosen = before && before->chosen;
    if (chosen) *out = before->pins;
    pthread_mutex_unlock(&context->lock);
    return chosen;
}

void kiln__tuned_remember(kiln_context *context, const kiln__key *key, const kiln__pins *chosen) {
    pthread_mutex_lock(&context->lock);
    known *before = recall(context, key);
    if (before && !before->found) {
        before->chosen = true;
        before->pins = *chosen;
    }
    pthread_mutex_unlock(&context->lock);
}

kiln__entry kiln__tuned_entry(const char *pins, const char *description, const char *measured, int arch) {
    return (kiln__entry){.facts = {.arch = arch, .registers = -1, .spill_bytes = -1, .created_unix = time(NULL)},
                         .image = pins,
                         .image_size = strlen(pins) + 1,
                         .name = "tuned record",
                         .description = description,
                         .schedule = pins,
                         .log = measured};
}

const char *kiln__tuned_text(const kiln__entry *entry) {
    const char *text = entry->image;
    if (!kiln__key_is_record(entry->material, entry->material_size)) return NULL;
    return memchr(text, '\0', entry->image_size) == text + entry->image_size - 1 ? text : NULL;
}

/* Words that this version does not know are as no record. */
static bool read_pins(const kiln_context *context, const kiln__entry *entry, kiln__pins *out) {
    const char *text = kiln__tuned_text(entry);
    const bool read = text && kiln__pins_parse(text, out) == KILN_OK;
    if (!read)
        kiln__log(&context->logger, KILN_LOG_WARNING, "the tuned record of '%s' cannot be read and is ignored: %s",
                  entry->description, text ? kiln_last_error() : "it is no text");
    kiln__clear_error();
    return read;
}

static bool look_up(kiln_context *context, const kiln__key *key, kiln__pins *out) {
    kiln__entry entry;
    if (context->disk && kiln__disk_get_tuned(context->disk, key, &entry)) {
        const bool read = read_pins(context, &entry, out);
        kiln__entry_free(&entry);
        if (read) return true;
    }
    return kiln__bundles_find(context, key, &entry) && read_pins(context, &entry, out);
}

kiln_status kiln__tuned_find(kiln_context *context, const kiln__key *key, bool *found, kiln__pins *out) {
    pthread_mutex_lock(&context->lock);
    const known *before = recall(context, key);
    *found = before && before->found;
    if (*found) *out = before->pins;
    pthread_mutex_unlock(&context->lock);
    if (before) return KILN_OK;
    *found = look_up(context, key, out);
    return kiln__tuned_set(context, key, *found ? out : NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The application's own cache: callbacks that keep kernels under their names, as packs do, so that they are found
 * without NVRTC. What comes back is a stranger's until it is checked. */
#include <stdlib.h>
#include <string.h>

#include "cache/entry.h"
#include "runtime/context.h"

enum { FIRST_CAPACITY = 1 << 18, MOST_BYTES = 1 << 28, TRIES = 4 };

/* What the callback has, new memory; NULL where that is nothing. It may grow between two questions. */
static uint8_t *fetch(const kiln_cache_callbacks *cache, const char *key, size_t *size) {
    size_t capacity = FIRST_CAPACITY;
    for (int i = 0; i < TRIES; i++) {
        uint8_t *bytes = malloc(capacity);
        *size = bytes ? cache->get(cache->user, key, bytes, capacity) : 0;
        if (*size && *size <= capacity) return bytes;
        free(bytes);
        if (!*size || *size > MOST_BYTES) return NULL;
        capacity = *size;
    }
    return NULL;
}

bool kiln__own_cache_find(kiln_context *context, const kiln__key *name, kiln__entry *out) {
    size_t size;
    uint8_t *bytes = context->own_cache.get ? fetch(&context->own_cache, name->hex, &size) : NULL;
    if (!bytes) return false;
    if (kiln__entry_decode(bytes, size, out) && out->material_size == name->size &&
        !memcmp(out->material, name->material, name->size)) {
        out->file = bytes;
        return true;
    }
    free(bytes);
    kiln__log(&context->logger, KILN_LOG_WARNING,
              "the application's cache gave %zu bytes for kernel %s that are not that kernel", size, name->hex);
    return false;
}

void kiln__own_cache_keep(kiln_context *context, const kiln__prepared *prepared, const kiln__image *image) {
    const kiln_cache_callbacks *cache = &context->own_cache;
    const bool news = image->origin == KILN_ORIGIN_COMPILED || image->origin == KILN_ORIGIN_DISK;
    if (!cache->set || !news) return;
    size_t size;
    char *description = kiln__prepared_describe(prepared);
    const kiln__entry entry = kiln__image_entry(image, prepared, description ? description : "");
    uint8_t *bytes = kiln__entry_encode(&image->name, &entry, &size);
    if (bytes) cache->set(cache->user, image->name.hex, bytes, size);
    free(bytes);
    free(description);
}

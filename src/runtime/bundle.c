/* SPDX-License-Identifier: Apache-2.0 */
/* The packs of a context: opened when it is created, asked in order. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

/* Opens one behind the others. A pack that cannot be used is told of and left out. */
static kiln_status open_pack(kiln_context *context, const char *path, const void *data, size_t size) {
    kiln__bundle **end = &context->bundles;
    while (*end) end = &(*end)->next;
    kiln_status status = kiln__bundle_open(path, data, size, end);
    if (status == KILN_E_MEMORY) return status;
    if (status) kiln__log(&context->logger, KILN_LOG_ERROR, "%s", kiln_last_error());
    kiln__clear_error();
    return KILN_OK;
}

kiln_status kiln__bundles_open(kiln_context *context, const kiln_context_options *options) {
    kiln_status status = KILN_OK;
    if (options->pack_count && !options->packs)
        return kiln__fail(KILN_E_ARGUMENT, "packs is NULL, expected %zu", options->pack_count);
    for (size_t i = 0; i < options->pack_count && !status; i++) {
        const kiln_pack *bundle = &options->packs[i];
        status = open_pack(context, bundle->path, bundle->data, bundle->size);
    }
    const char *listed = secure_getenv("KILN_PACKS");
    char *paths = listed ? strdup(listed) : NULL, *rest = NULL;
    if (!status && listed && !paths) status = kiln__out_of_memory();
    for (char *path = paths ? strtok_r(paths, ":", &rest) : NULL; path && !status; path = strtok_r(NULL, ":", &rest))
        status = open_pack(context, path, NULL, 0);
    free(paths);
    return status;
}

void kiln__bundles_close(kiln_context *context) {
    while (context->bundles) {
        kiln__bundle *bundle = context->bundles;
        context->bundles = bundle->next;
        kiln__bundle_close(bundle);
    }
}

bool kiln__bundles_find(kiln_context *context, const kiln__key *name, kiln__entry *entry) {
    for (kiln__bundle *bundle = context->bundles; bundle; bundle = bundle->next) {
        kiln__bundle_result result = kiln__bundle_find(bundle, name, entry);
        if (result == KILN__IN_BUNDLE) return true;
        if (result == KILN__DAMAGED_BUNDLE)
            kiln__log(&context->logger, KILN_LOG_ERROR,
                      "pack '%s' is damaged: kernel %s has a wrong checksum; nothing more is "
                      "taken from it",
                      bundle->name, name->hex);
    }
    return false;
}

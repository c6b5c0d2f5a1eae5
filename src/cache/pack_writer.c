/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out packs: head, rows ascending by digest, entries in the rows' order. The reader is bundle.c. */
#include "cache/pack_writer.h"

#include <stdlib.h>
#include <string.h>

#include "cache/entry.h"

bool kiln__pack_writer_has(const kiln__pack_writer *writer, const kiln__key *name) {
    for (size_t i = 0; i < writer->count; i++) {
        if (memcmp(writer->kernels[i].row.digest, name->digest, sizeof name->digest) == 0) return true;
    }
    return false;
}

kiln_status kiln__pack_writer_add(kiln__pack_writer *writer, const kiln__key *name, const kiln__entry *entry,
                                  const kiln__nvrtc_version *nvrtc) {
    if (kiln__pack_writer_has(writer, name)) return KILN_OK;
    if (writer->count == writer->capacity) {
        size_t capacity = writer->capacity ? 2 * writer->capacity : 64;
        kiln__packed_kernel *kernels = realloc(writer->kernels, capacity * sizeof *kernels);
        if (!kernels) return kiln__out_of_memory();
        writer->kernels = kernels;
        writer->capacity = capacity;
    }
    kiln__entry timeless = *entry;
    timeless.facts.create_ms = timeless.facts.compile_ms = timeless.facts.fetch_ms = 0;
    timeless.facts.created_unix = 0;
    kiln__packed_kernel kernel = {
        .row = {.nvrtc_major = (uint16_t)nvrtc->major, .nvrtc_minor = (uint16_t)nvrtc->minor}};
    size_t size = 0;
    kernel.bytes = kiln__entry_encode(name, &timeless, &size);
    if (!kernel.bytes) return kiln__out_of_memory();
    kernel.row.size = size;
    memcpy(kernel.row.digest, name->digest, sizeof name->digest);
    const size_t build = strlen(nvrtc->build), most = sizeof kernel.row.nvrtc_build - 1;
    memcpy(kernel.row.nvrtc_build, nvrtc->build, build < most ? build : most);
    writer->kernels[writer->count++] = kernel;
    return KILN_OK;
}

static int by_digest(const void *a, const void *b) {
    const kiln__packed_kernel *x = a, *y = b;
    return memcmp(x->row.digest, y->row.digest, sizeof x->row.digest);
}

static uint64_t aligned(uint64_t offset) {
    return (offset + KILN__PACK_ALIGNMENT - 1) / KILN__PACK_ALIGNMENT * KILN__PACK_ALIGNMENT;
}

kiln_status kiln__pack_writer_finish(kiln__pack_writer *writer, uint8_t **bytes, size_t *size) {
    if (writer->count > UINT32_MAX) {
        return kiln__fail(KILN_E_SIZE, "%zu kernels are too many for a pack, expected at most %u", writer->count,
                          UINT32_MAX);
    }
    if (writer->count > 1) qsort(writer->kernels, writer->count, sizeof *writer->kernels, by_digest);
    kiln__bundle_head head = {.format = KILN__PACK_FORMAT, .count = (uint32_t)writer->count};
    memcpy(head.magic, kiln__bundle_magic, sizeof head.magic);
    head.size = sizeof head + writer->count * sizeof(kiln__bundle_row);
    for (size_t i = 0; i < writer->count; i++) {
        kiln__bundle_row *row = &writer->kernels[i].row;
        row->offset = aligned(head.size);
        head.size = row->offset + row->size;
    }
    uint8_t *pack = calloc(1, (size_t)head.size);
    if (!pack) return kiln__out_of_memory();
    memcpy(pack, &head, sizeof head);
    for (size_t i = 0; i < writer->count; i++) {
        const kiln__packed_kernel *kernel = &writer->kernels[i];
        memcpy(pack + sizeof head + i * sizeof kernel->row, &kernel->row, sizeof kernel->row);
        memcpy(pack + kernel->row.offset, kernel->bytes, (size_t)kernel->row.size);
    }
    kiln__bundle_checksum(pack, head.count, pack + offsetof(kiln__bundle_head, checksum));
    *bytes = pack;
    *size = (size_t)head.size;
    return KILN_OK;
}

void kiln__pack_writer_free(kiln__pack_writer *writer) {
    for (size_t i = 0; i < writer->count; i++) free(writer->kernels[i].bytes);
    free(writer->kernels);
    *writer = (kiln__pack_writer){NULL, 0, 0};
}

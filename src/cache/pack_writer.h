/* SPDX-License-Identifier: Apache-2.0 */
/* Writes packs. The same kernels give the same bytes, in whatever order they are added: no times, sorted. */
#ifndef KILN_CACHE_PACK_WRITER_H
#define KILN_CACHE_PACK_WRITER_H

#include "cache/bundle.h"

typedef struct kiln__packed_kernel {
    kiln__bundle_row row; /* offset 0 until the pack is laid out */
    uint8_t *bytes;       /* the entry's */
} kiln__packed_kernel;

typedef struct kiln__pack_writer {
    kiln__packed_kernel *kernels;
    size_t count, capacity;
} kiln__pack_writer;

/* Which NVRTC made a kernel. */
typedef struct kiln__nvrtc_version {
    int major, minor;
    const char *build;
} kiln__nvrtc_version;

/* Adds a kernel under its name; one that is there already is left as it is. The entry's times are not kept.
 * KILN_E_MEMORY. */
kiln_status kiln__pack_writer_add(kiln__pack_writer *writer, const kiln__key *name, const kiln__entry *entry,
                                  const kiln__nvrtc_version *nvrtc);
/* Whether a kernel of the name was added. */
bool kiln__pack_writer_has(const kiln__pack_writer *writer, const kiln__key *name);
/* The pack's bytes, new memory of the caller's. KILN_E_MEMORY, KILN_E_SIZE for more kernels than a pack can have. */
kiln_status kiln__pack_writer_finish(kiln__pack_writer *writer, uint8_t **bytes, size_t *size);
void kiln__pack_writer_free(kiln__pack_writer *writer);

#endif

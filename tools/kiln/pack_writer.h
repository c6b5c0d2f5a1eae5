/* SPDX-License-Identifier: Apache-2.0 */
/* Writes packs. The same kernels give the same bytes, in whatever order they are added: no times, sorted. */
#ifndef KILN_TOOL_PACK_WRITER_H
#define KILN_TOOL_PACK_WRITER_H

#include "cache/bundle.h"

typedef struct packed_kernel {
    kiln__bundle_row row; /* offset 0 until the pack is laid out */
    uint8_t *bytes;       /* the entry's */
} packed_kernel;

typedef struct pack_writer {
    packed_kernel *kernels;
    size_t count, capacity;
} pack_writer;

/* Which NVRTC made a kernel. */
typedef struct nvrtc_version {
    int major, minor;
    const char *build;
} nvrtc_version;

/* Adds a kernel under its name; one that is there already is left as it is. The entry's times are not kept.
 * KILN_E_MEMORY. */
kiln_status pack_writer_add(pack_writer *writer, const kiln__key *name, const kiln__entry *entry,
                            const nvrtc_version *nvrtc);
/* The pack's bytes, new memory of the caller's. KILN_E_MEMORY, KILN_E_SIZE for more kernels than a pack can have. */
kiln_status pack_writer_finish(pack_writer *writer, uint8_t **bytes, size_t *size);
/* The same into a file, which appears whole. */
kiln_status pack_writer_save(pack_writer *writer, const char *path, size_t *size);
void pack_writer_free(pack_writer *writer);

#endif

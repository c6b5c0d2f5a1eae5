/* SPDX-License-Identifier: Apache-2.0 */
/* Packs: one read-only file, or as many bytes in memory, with many kernels. All numbers are little-endian:
 *   "KILNPACK"  format u32  count u32  size u64 (of the whole pack)  0 u64
 *   16 bytes: XXH3-128 of the 32 before them, exclusive-or that of all rows
 *   a row per kernel, ascending by digest; entries as in cache/entry.h, each at a multiple of 16
 * A pack's kernels are found without NVRTC's version: their key has the digest of kernel_sources/ in its place. */
#ifndef KILN_CACHE_BUNDLE_H
#define KILN_CACHE_BUNDLE_H

#include <stdatomic.h>

#include "cache/disk.h"

#define KILN__PACK_FORMAT 1u
enum { KILN__PACK_ALIGNMENT = 16 };

typedef struct kiln__bundle_head {
    char magic[8];
    uint32_t format, count;
    uint64_t size, zero;
    uint8_t checksum[16];
} kiln__bundle_head;

/* nvrtc: which one made the kernel; for people, and for the way back into a disk cache. */
typedef struct kiln__bundle_row {
    uint8_t digest[16];
    uint64_t offset, size;
    uint16_t nvrtc_major, nvrtc_minor;
    char nvrtc_build[28];
} kiln__bundle_row;

/* The first bytes of every pack. */
extern const char kiln__bundle_magic[8];
/* The checksum of a head and rows. */
void kiln__bundle_checksum(const uint8_t *bytes, uint32_t count, uint8_t out[16]);

/* An opened pack; its bytes stay where they are until it is closed. */
typedef struct kiln__bundle {
    struct kiln__bundle *next;
    const uint8_t *bytes;
    size_t size;
    bool mapped;
    uint32_t count;
    atomic_bool damaged; /* an entry was: nothing more is taken from it */
    char name[];         /* the path, or "in memory" */
} kiln__bundle;

/* Maps a file (path), or looks at size bytes of the caller's (data), which outlive the pack. Checks head and rows;
 * entries are checked when they are found. KILN_E_IO, KILN_E_FORMAT, KILN_E_MEMORY. */
kiln_status kiln__bundle_open(const char *path, const void *data, size_t size, kiln__bundle **out);
void kiln__bundle_close(kiln__bundle *bundle);

/* Row number i, and its entry as views into the pack; false where the entry is damaged. Needs no trust in the bytes. */
kiln__bundle_row kiln__bundle_row_at(const kiln__bundle *bundle, uint32_t i);
bool kiln__bundle_entry(const kiln__bundle *bundle, uint32_t i, kiln__entry *out);

/* KILN__DAMAGED_PACK once, by the call that finds it so. Thread-safe. */
typedef enum kiln__bundle_result { KILN__IN_BUNDLE, KILN__NOT_IN_BUNDLE, KILN__DAMAGED_BUNDLE } kiln__bundle_result;
kiln__bundle_result kiln__bundle_find(kiln__bundle *bundle, const kiln__key *key, kiln__entry *out);

#endif

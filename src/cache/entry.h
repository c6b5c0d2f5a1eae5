/* SPDX-License-Identifier: Apache-2.0 */
/* An entry's bytes. All numbers are little-endian:
 *   "KILNENT1"  format u32  arch u32  is_ptx u32  registers i32  spill_bytes i32  0 u32
 *   shared_bytes i64  create_ms f64  compile_ms f64  fetch_ms f64  created_unix i64
 *   sizes u64 of: key material, name, description, schedule, log, image
 *   these in this order, texts with their NUL, the image at a multiple of 16;  XXH3-128 of all before it */
#ifndef KILN_CACHE_ENTRY_H
#define KILN_CACHE_ENTRY_H

#include "cache/folder.h"

#define KILN__ENTRY_FORMAT 1u

/* The bytes of an entry, new memory; NULL if memory ran out or there is no image. */
uint8_t *kiln__entry_encode(const kiln__key *key, const kiln__entry *entry, size_t *size);

/* An entry as views into bytes. False for anything that is not exactly what encode writes. Needs no trust in the
 * bytes. */
bool kiln__entry_decode(const uint8_t *bytes, size_t size, kiln__entry *out);

typedef enum kiln__read { KILN__READ, KILN__NOT_READ, KILN__DAMAGED } kiln__read;

/* Reads and decodes a folder's file, if it is there and trusted. KILN__DAMAGED: it was read and is no entry. Where it
 * is KILN__READ the caller frees *out, which is empty otherwise. */
kiln__read kiln__entry_read(kiln__disk *disk, int folder, const char *name, struct stat *status, kiln__entry *out);

#endif

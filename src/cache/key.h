/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: a canonical, little-endian encoding of everything a kernel's bytes depend on, and its XXH3-128 digest. */
#ifndef KILN_CACHE_KEY_H
#define KILN_CACHE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define KILN__KEY_FORMAT 1u

typedef struct kiln__key_parts {
    const char *source;         /* all the text handed to NVRTC */
    const char *const *options; /* NULL-ended */
    int arch;
    bool ptx;
    int nvrtc_major, nvrtc_minor;
    const char *nvrtc_build;
} kiln__key_parts;

typedef struct kiln__key {
    uint8_t digest[16]; /* big-endian canonical form of XXH3-128 over material */
    char hex[33];
    uint8_t *material; /* the encoding itself, compared on a hit */
    size_t size;
} kiln__key;

/* What a key was made of: views into its material, texts without NUL. */
typedef struct kiln__key_view {
    int arch;
    bool ptx;
    int nvrtc_major, nvrtc_minor;
    const char *build, *source;
    size_t build_size, source_size;
    const uint8_t *options; /* as encoded; kiln__key_next_option reads them */
    size_t options_size;
    uint32_t option_count;
} kiln__key_view;

/* False for anything that kiln__key_make does not write. Needs no trust in the bytes. */
bool kiln__key_decode(const uint8_t *material, size_t size, kiln__key_view *out);
/* The option at *at (first: view->options), which moves behind it; NULL after the last. */
const char *kiln__key_next_option(const kiln__key_view *view, const uint8_t **at, size_t *size);

kiln_status kiln__key_make(const kiln__key_parts *parts, kiln__key *out);
/* The key of a tuned record: of what a schedule is chosen by, as whoever calls encodes it (runtime/tuned_key.c). It is
 * never that of a kernel. */
kiln_status kiln__key_of_record(const void *bytes, size_t size, kiln__key *out);
/* The key of whole material, as an entry has it. */
kiln_status kiln__key_of_material(const uint8_t *material, size_t size, kiln__key *out);
bool kiln__key_is_record(const uint8_t *material, size_t size);
void kiln__key_free(kiln__key *key);

#endif

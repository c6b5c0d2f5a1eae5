/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3-128 in its canonical, big-endian form: the digest of keys, and the last bytes of every file. */
#ifndef KILN_CACHE_CHECKSUM_H
#define KILN_CACHE_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN__CHECKSUM_SIZE = 16 };

void kiln__checksum(const void *bytes, size_t size, uint8_t out[KILN__CHECKSUM_SIZE]);

/* True where the last 16 of size bytes are the checksum of those before them. */
bool kiln__checksum_holds(const uint8_t *bytes, size_t size);

#endif

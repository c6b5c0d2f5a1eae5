/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that knows the hash library. */
#include "cache/checksum.h"

#include <string.h>
#include <xxhash.h>

void kiln__checksum(const void *bytes, size_t size, uint8_t out[KILN__CHECKSUM_SIZE]) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    memcpy(out, canonical.digest, KILN__CHECKSUM_SIZE);
}

bool kiln__checksum_holds(const uint8_t *bytes, size_t size) {
    if (size < KILN__CHECKSUM_SIZE) return false;
    uint8_t expected[KILN__CHECKSUM_SIZE];
    kiln__checksum(bytes, size - KILN__CHECKSUM_SIZE, expected);
    return memcmp(bytes + size - KILN__CHECKSUM_SIZE, expected, KILN__CHECKSUM_SIZE) == 0;
}

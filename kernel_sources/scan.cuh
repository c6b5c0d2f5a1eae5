// SPDX-License-Identifier: Apache-2.0
/* Scans among the lanes of a warp. */

/* The combination of COUNT neighbouring lanes' values, or `together` of them where that is less, in the order of the
 * lanes; before: of those before the lane. */
template <int COUNT, class V>
KILN_DEVICE V kiln_scan_lanes(V value, V &before, kiln_u32 lanes = 0xffffffffu, int together = COUNT) {
    const kiln_u32 lane = threadIdx.x % 32;
    before.clear();
#pragma unroll
    for (int mask = 1; mask < COUNT; mask *= 2) {
        const V other = value.shuffle(mask, lanes);
        if (mask >= together) continue;
        if (lane & mask) before = V::combine(other, before);
        value = lane & mask ? V::combine(other, value) : V::combine(value, other);
    }
    return value;
}

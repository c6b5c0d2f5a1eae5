// SPDX-License-Identifier: Apache-2.0
/* Copies between tensors and a tile of neighbouring rows that lie side by side: with all their columns they are one
 * flat array, in the tile as far behind a multiple of 16 bytes as in memory. */

template <class T> KILN_DEVICE T *kiln_tile_begin(unsigned char *shared, const T *from) {
    return reinterpret_cast<T *>(shared + ((kiln_u64)from & 15));
}

/* In units of 16 bytes, but for the last elements. What the first has before the array is read, and used by nobody. */
template <class T> KILN_DEVICE void kiln_tile_fill(T *tile, const T *from, int count) {
    const int before = (int)((kiln_u64)from & 15), whole = (before + count * (int)sizeof(T)) / 16 * 16;
    char *to = reinterpret_cast<char *>(tile) - before;
    const char *at = reinterpret_cast<const char *>(from) - before;
#pragma unroll 1
    for (int b = (int)threadIdx.x * 16; b < whole; b += KILN_THREADS * 16) kiln_copy_async<16>(to + b, at + b);
    const int rest = (whole - before) / (int)sizeof(T) + (int)threadIdx.x;
    if (rest >= 0 && rest < count) tile[rest] = from[rest];
}
template <class T> KILN_DEVICE void kiln_tile_drain(T *to, const T *tile, int count) {
    constexpr int unit = 16 / (int)sizeof(T);
    const int before = (int)((kiln_u64)to & 15) / (int)sizeof(T);
#pragma unroll 1
    for (int e = (int)threadIdx.x * unit - before; e < count; e += KILN_THREADS * unit)
        if (e >= 0 && e + unit <= count)
            *reinterpret_cast<uint4 *>(to + e) = *reinterpret_cast<const uint4 *>(tile + e);
        else
            for (int j = e < 0 ? -e : 0; j < unit && e + j < count; ++j) to[e + j] = tile[e + j];
}

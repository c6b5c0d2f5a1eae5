// SPDX-License-Identifier: Apache-2.0
/* Vectors that begin in the middle of aligned ones. */

/* The words `skip` < 2 BY places further on, by halves of it. Each half is a function of its own: as loops in a loop
 * they are unrolled too late, when words have been given places in memory. */
template <int BY, int COUNT> KILN_DEVICE void kiln_shift_words(kiln_u32 (&word)[COUNT], int skip) {
    if constexpr (BY > 0) {
#pragma unroll
        for (int i = 0; i + BY < COUNT; ++i) word[i] = skip & BY ? word[i + BY] : word[i];
        kiln_shift_words<BY / 2>(word, skip);
    }
}

/* The vector that begins `skip` elements into two that lie side by side, of 4 bytes and more. */
template <class T, int N>
KILN_DEVICE void kiln_join(kiln_vector<T, N> &vector, const kiln_vector<T, N> (&halves)[2], int skip) {
    constexpr int words = (int)sizeof(T) * N / 4;
    const int bytes = skip * (int)sizeof(T);
    kiln_u32 word[2 * words];
#pragma unroll
    for (int i = 0; i < 2 * words; ++i) word[i] = reinterpret_cast<const kiln_u32 *>(halves + i / words)[i % words];
    kiln_shift_words<words / 2, 2 * words>(word, bytes / 4);
#pragma unroll
    for (int i = 0; i < words; ++i)
        reinterpret_cast<kiln_u32 *>(&vector)[i] = __funnelshift_r(word[i], word[i + 1], bytes % 4 * 8);
}

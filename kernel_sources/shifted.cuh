// SPDX-License-Identifier: Apache-2.0
/* Vectors that begin in the middle of aligned ones. */
#define KILN_HAS_SHIFTS

/* The words `skip` < 2 BY places further on, by halves of it. Each half is a function of its own: as loops in a loop
 * they are unrolled too late, when words have been given places in memory. */
template <int BY, int COUNT> KILN_DEVICE void kiln_shift_words(kiln_u32 (&word)[COUNT], int skip) {
    if constexpr (BY > 0) {
#pragma unroll
        for (int i = 0; i + BY < COUNT; ++i) word[i] = skip & BY ? word[i + BY] : word[i];
        kiln_shift_words<BY / 2>(word, skip);
    }
}

/* The vector that begins so many bytes, fewer than 8 BY, in the words; BY 0: than 4. */
template <int BY, class T, int N, int COUNT>
KILN_DEVICE void kiln_take_shifted(kiln_vector<T, N> &vector, kiln_u32 (&word)[COUNT], int bytes) {
    kiln_shift_words<BY, COUNT>(word, bytes / 4);
#pragma unroll
    for (int i = 0; i < (int)sizeof(T) * N / 4; ++i)
        reinterpret_cast<kiln_u32 *>(&vector)[i] = __funnelshift_r(word[i], word[i + 1], bytes % 4 * 8);
}

/* How many elements an address is behind the access of W of them in which it is. */
template <int W, class T> KILN_DEVICE int kiln_skip(const T *p) { return (int)((kiln_u64)p / sizeof(T)) & (W - 1); }

/* The vector at p, `skip` elements behind an access of W, of 4 bytes and more: the accesses in which it is, shifted
 * into place. The last of them is read where it has a part of the vector. */
template <int W, class T, int N> KILN_DEVICE void kiln_load_shifted(kiln_vector<T, N> &vector, const T *p, int skip) {
    typedef typename kiln_word<sizeof(T) * W>::type access;
    constexpr int words = (int)sizeof(T) * N / 4, words_of_access = (int)sizeof(T) * W / 4, count = N / W;
    const access *const from = reinterpret_cast<const access *>(p - skip);
    alignas(16) kiln_u32 word[words + words_of_access];
#pragma unroll
    for (int i = 0; i < count; ++i) reinterpret_cast<access *>(word)[i] = kiln_load_word(from + i);
    reinterpret_cast<access *>(word)[count] = kiln_load_word(from + (skip ? count : 0));
    kiln_take_shifted<words_of_access / 2>(vector, word, skip * (int)sizeof(T));
}

/* The vector that begins `skip` elements into two that lie side by side, of 4 bytes and more. */
template <class T, int N>
KILN_DEVICE void kiln_join(kiln_vector<T, N> &vector, const kiln_vector<T, N> (&halves)[2], int skip) {
    constexpr int words = (int)sizeof(T) * N / 4;
    kiln_u32 word[2 * words];
#pragma unroll
    for (int i = 0; i < 2 * words; ++i) word[i] = reinterpret_cast<const kiln_u32 *>(halves + i / words)[i % words];
    kiln_take_shifted<words / 2>(vector, word, skip * (int)sizeof(T));
}

/* The vector at col of what ends at `end`, and lies as vectors do but may begin at any element of an access. At both
 * ends, where there may be nothing to be read, element by element. */
template <int W, class T, int N, class I, class Span>
KILN_DEVICE void kiln_fetch_moved(kiln_vector<T, N> &vector, const T *p, I col, kiln_i64 end, const Span &span) {
    const int skip = kiln_skip<W>(p + col);
    if constexpr (sizeof(T) * W >= 4 && N > 1) {
        if (span.readable() && (skip == 0 || (col >= skip && col + N + W - skip <= end))) {
            if (skip == 0)
                kiln_load<W>(vector, p + col);
            else
                kiln_load_shifted<W>(vector, p + col, skip);
            return;
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) vector.set(j, span.has(j) ? p[col + j] : T());
}

template <int W, class T, int N, class I, class Span>
KILN_DEVICE void kiln_put_moved(const kiln_vector<T, N> &vector, T *p, I col, const Span &span) {
    if (span.whole() && kiln_skip<W>(p + col) == 0) {
        kiln_store<W>(vector, p + col);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; ++j)
        if (span.has(j)) p[col + j] = vector.get(j);
}

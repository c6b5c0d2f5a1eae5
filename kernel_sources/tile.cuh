// SPDX-License-Identifier: Apache-2.0
/* Copies between tensors whose rows lie one behind the other and a tile of whole rows in shared memory, by all threads
 * of the block. */

/* `count` elements that begin at an aligned address, in vectors of V elements; the last may be partial. */
template <int V, class T> KILN_DEVICE void kiln_tile_fill(unsigned char *shared, const T *from, int count) {
    kiln_vector<T, V> *to = reinterpret_cast<kiln_vector<T, V> *>(shared);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count / V; i += KILN_THREADS)
        if (sizeof(T) * V >= 4)
            kiln_copy_async<(sizeof(T) * V >= 4 ? (int)sizeof(T) * V : 4)>(to + i, from + (kiln_i64)i * V);
        else
            kiln_load<V>(to[i], from + (kiln_i64)i * V);
    const int rest = count / V * V + (int)threadIdx.x;
    if (V > 1 && rest < count) reinterpret_cast<T *>(shared)[rest] = from[rest];
}
template <int V, class T> KILN_DEVICE void kiln_tile_drain(T *to, const unsigned char *shared, int count) {
    const kiln_vector<T, V> *from = reinterpret_cast<const kiln_vector<T, V> *>(shared);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count / V; i += KILN_THREADS) kiln_store<V>(from[i], to + (kiln_i64)i * V);
    const int rest = count / V * V + (int)threadIdx.x;
    if (V > 1 && rest < count) to[rest] = reinterpret_cast<const T *>(shared)[rest];
}

#ifdef KILN_HAS_SHIFTS
/* The same of elements that begin anywhere: what is on the other side of an aligned access is in two on this one. The
 * first elements and the last, whose accesses others than the tile's are in, one by one. */
template <int V, class T> KILN_DEVICE void kiln_tile_fill_shifted(unsigned char *shared, const T *from, int count) {
    const int skip = kiln_skip<V>(from);
    if (skip == 0) return kiln_tile_fill<V>(shared, from, count);
    constexpr int batch = KILN_TILE_ACCESSES; /* under way at once */
    const int end = (count + skip) / V - 1, whole = end > 1 ? end - 1 : 0;
    T *const to = reinterpret_cast<T *>(shared);
#pragma unroll 1
    for (int first = (int)threadIdx.x; first < whole; first += batch * KILN_THREADS) {
        kiln_vector<T, V> some[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            const int i = first + b * KILN_THREADS;
            kiln_load_shifted<V>(some[b], from + (kiln_i64)((i < whole ? i : first) + 1) * V, skip);
        }
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            const int i = first + b * KILN_THREADS;
            if (i < whole) *reinterpret_cast<kiln_vector<T, V> *>(to + (i + 1) * V) = some[b];
        }
    }
    for (int i = (int)threadIdx.x; i < count - whole * V; i += KILN_THREADS) {
        const int at = i < V ? i : i + whole * V;
        to[at] = from[at];
    }
}
template <int V, class T> KILN_DEVICE void kiln_tile_drain_shifted(T *to, const unsigned char *shared, int count) {
    const int skip = kiln_skip<V>(to), head = V - skip;
    if (skip == 0) return kiln_tile_drain<V>(to, shared, count);
    const int whole = count > 2 * V ? count / V - 1 : 0;
    const T *const from = reinterpret_cast<const T *>(shared);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < whole; i += KILN_THREADS) {
        kiln_vector<T, V> vector;
        kiln_load_shifted<V>(vector, from + head + i * V, head);
        kiln_store<V>(vector, to + head + (kiln_i64)i * V);
    }
    for (int i = (int)threadIdx.x; i < count - whole * V; i += KILN_THREADS) {
        const int at = i < head ? i : i + whole * V;
        to[at] = from[at];
    }
}
#endif

/* A row's vector in the tile; one that overhangs the row, element by element. */
template <class T, int N, class Span>
KILN_DEVICE void kiln_tile_recall(kiln_vector<T, N> &vector, const T *from, const Span &span) {
    if (Span::always_whole || span.whole())
        vector = *reinterpret_cast<const kiln_vector<T, N> *>(from);
    else if constexpr (!Span::always_whole)
        kiln_load_part(vector, from, span.low, span.high);
}
/* From where no vector begins. */
template <class T, int N, class Span>
KILN_DEVICE void kiln_tile_recall_unaligned(kiln_vector<T, N> &vector, const T *from, const Span &span) {
    if (Span::always_whole || span.whole())
#pragma unroll
        for (int j = 0; j < N; ++j) vector.set(j, from[j]);
    else if constexpr (!Span::always_whole)
        kiln_load_part(vector, from, span.low, span.high);
}
template <class T, int N, class Span>
KILN_DEVICE void kiln_tile_keep(const kiln_vector<T, N> &vector, T *to, const Span &span) {
    if (Span::always_whole || span.whole())
        *reinterpret_cast<kiln_vector<T, N> *>(to) = vector;
    else if constexpr (!Span::always_whole)
        kiln_store_part(vector, to, span.low, span.high);
}

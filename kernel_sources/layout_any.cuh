// SPDX-License-Identifier: Apache-2.0
/* Layout: known at run time. A run's columns are row.vectors vectors from column row.start + row.head on, where the
 * tensor of reference is aligned, and single elements before and behind them, or pairs where some tensor has two to a
 * byte; tensors that are not aligned there are shifted into place. Where a tensor's columns do not lie side by side all
 * are single ones. */

/* Columns of a run, and of the row: rows that have lengths have one run, which ends where the row does; runs of blocks
 * know theirs. */
#ifdef KILN_BLOCK_RUN
#define KILN_RUN(row) row.columns
#define KILN_ROW_COLUMNS(row) row.args.shape.cols
#elif defined KILN_LENGTHS
#define KILN_RUN(row) row.cols
#define KILN_ROW_COLUMNS(row) row.cols
#else
#define KILN_RUN(row) row.args.shape.run
#define KILN_ROW_COLUMNS(row) row.args.shape.cols
#endif

#define KILN_END KILN_ROW_COLUMNS(row)

/* What is loaded and stored is whole. */
struct kiln_span {
    static constexpr bool always_whole = true;
    static constexpr int low = 0, high = KILN_VECTOR_WIDTH;
    KILN_MEMBER bool whole() const { return true; }
    KILN_MEMBER bool readable() const { return true; }
    KILN_MEMBER bool has(int) const { return true; }
};

/* Elements from p to the next multiple of a vector. */
template <class T> KILN_DEVICE int kiln_head(const T *p) {
    return (int)(-((kiln_u64)p / sizeof(T)) % KILN_VECTOR_WIDTH);
}
template <int V, class T, int N>
KILN_DEVICE void kiln_fetch_any(kiln_vector<T, N> &vector, const kiln_row &row, const T *p, kiln_i64 stride,
                                kiln_index col) {
    if constexpr (N > KILN_SINGLE) {
        if (stride != 0) return kiln_fetch_moved<V>(vector, p + row.start, col - row.start, KILN_RUN(row), kiln_span());
        const T same = p[0];
#pragma unroll
        for (int j = 0; j < N; ++j) vector.set(j, same);
    } else {
#pragma unroll
        for (int j = 0; j < N; ++j) vector.set(j, p[(col + j) * stride]);
    }
}
#ifdef KILN_BLOCK_RUN
/* Of values that R columns share each, p being the run's first and `stride` from one to the next. */
template <int R, class T, int N>
KILN_DEVICE void kiln_fetch_shared(kiln_vector<T, N> &vector, const kiln_row &row, const T *p, kiln_i64 stride,
                                   kiln_index col) {
    const kiln_u32 first = (kiln_u32)(col - row.base);
    const int left = R - (int)(first % R);
    if (R >= N) {
        const T here = p[first / R * stride], next = left < N ? p[(first / R + 1) * stride] : here;
#pragma unroll
        for (int j = 0; j < N; ++j) vector.set(j, j < left ? here : next);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; ++j) vector.set(j, p[(first + j) / R * stride]);
}
#endif
template <int V, class T, int N>
KILN_DEVICE void kiln_put_any(const kiln_vector<T, N> &vector, T *p, kiln_i64 stride, kiln_index col) {
    if constexpr (N > KILN_SINGLE) {
        kiln_put_moved<V>(vector, p, col, kiln_span());
    } else {
#pragma unroll
        for (int j = 0; j < N; ++j) p[(col + j) * stride] = vector.get(j);
    }
}
#if KILN_SINGLE > 1
/* Of two elements to a byte, which lie side by side: in one access where they begin at one. */
template <int V, int N, class Byte>
KILN_DEVICE void kiln_fetch_any(kiln_vector<kiln_e2m1, N> &vector, const kiln_row &, kiln_packed<Byte> p, kiln_i64,
                                kiln_index col) {
    const unsigned char *const from = (p + col).pair();
    if ((kiln_u64)from % (N / 2) == 0) return kiln_fetch<N>(vector, p + col, kiln_span());
#pragma unroll
    for (int i = 0; i < N / 2; ++i) vector.pairs[i] = from[i];
}
template <int V, int N, class Byte>
KILN_DEVICE void kiln_put_any(const kiln_vector<kiln_e2m1, N> &vector, kiln_packed<Byte> p, kiln_i64, kiln_index col) {
    unsigned char *const to = (p + col).pair();
    if ((kiln_u64)to % (N / 2) == 0) return kiln_put<N>(vector, p + col, kiln_span());
#pragma unroll
    for (int i = 0; i < N / 2; ++i) to[i] = vector.pairs[i];
}
#endif

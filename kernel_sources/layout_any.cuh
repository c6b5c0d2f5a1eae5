// SPDX-License-Identifier: Apache-2.0
/* Layout: known at run time. A row's columns are row.vectors vectors from column row.head on, where its tensor of
 * reference is aligned, and single elements before and behind them; all are single ones where vectors are of no use.
 * An access of a vector is wide where the tensor is aligned with the one of reference, else element by element. */

/* What is loaded and stored is whole. */
struct kiln_span {
    static constexpr bool always_whole = true;
    static constexpr int low = 0, high = KILN_VECTOR_WIDTH;
    KILN_MEMBER bool whole() const { return true; }
    KILN_MEMBER bool has(int) const { return true; }
};

/* p: where the row begins in the tensor of reference. */
template <class T> KILN_DEVICE void kiln_find_vectors(kiln_row &row, const T *p, const kiln_strides &strides) {
    const kiln_shape &shape = row.args.shape;
    const bool side_by_side = shape.vectors && kiln_column_stride(shape, strides) == 1;
    const int behind = (int)((kiln_u64)p / sizeof(T) % KILN_VECTOR_WIDTH);
    row.head = side_by_side ? (KILN_VECTOR_WIDTH - behind) % KILN_VECTOR_WIDTH : 0;
    row.vectors = side_by_side && row.cols > row.head ? (row.cols - row.head) / KILN_VECTOR_WIDTH : 0;
    if (row.vectors == 0) row.head = 0;
}
/* Whether accesses of V elements are aligned in the row's vectors. */
template <int V, class T> KILN_DEVICE bool kiln_is_wide(const kiln_row &row, const T *p, const kiln_strides &strides) {
    return kiln_column_stride(row.args.shape, strides) == 1 && (kiln_u64)(p + row.head) % (sizeof(T) * V) == 0;
}

/* The column of the row's single element number i. */
KILN_DEVICE kiln_index kiln_single(const kiln_row &row, kiln_index i) {
    return i < row.head ? i : i + row.vectors * KILN_VECTOR_WIDTH;
}

template <int V, class T, int N>
KILN_DEVICE void kiln_fetch_any(kiln_vector<T, N> &vector, const T *p, const kiln_row &row, const kiln_strides &strides,
                                bool wide, kiln_index col) {
    if constexpr (N > 1)
        if (wide) return kiln_load<V>(vector, p + col);
#pragma unroll
    for (int j = 0; j < N; ++j) vector.set(j, p[kiln_place_of_column<N>(row.args.shape, strides, col + j)]);
}
/* What all columns of a row share is stored once. */
template <int V, class T, int N>
KILN_DEVICE void kiln_put_any(const kiln_vector<T, N> &vector, T *p, const kiln_row &row, const kiln_strides &strides,
                              bool wide, kiln_index col) {
    if constexpr (N > 1)
        if (wide) return kiln_store<V>(vector, p + col);
#pragma unroll
    for (int j = 0; j < N; ++j) p[kiln_place_of_column<N>(row.args.shape, strides, col + j)] = vector.get(j);
}

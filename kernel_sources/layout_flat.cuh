// SPDX-License-Identifier: Apache-2.0
/* Layout: no reduction. The tensors are one flat array of args.elements; a thread owns KILN_STEPS vectors of its
 * block's share. A "column" is an element's index in the whole array. */

KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    return ((kiln_block() * KILN_STEPS + step) * KILN_THREADS + threadIdx.x) * KILN_VECTOR_WIDTH;
}

KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index col, kiln_index) { return col < row.args.elements; }

/* Only the last vector of the array can be partial. */
struct kiln_span {
    int low, high;
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index) {
        low = 0;
        high = col + KILN_VECTOR_WIDTH > row.args.elements ? (int)(row.args.elements - col) : KILN_VECTOR_WIDTH;
    }
    static constexpr bool always_whole = false;
    KILN_MEMBER bool whole() const { return high == KILN_VECTOR_WIDTH; }
    KILN_MEMBER bool has(int j) const { return j < high; }
};

/* A vector that crosses runs: element by element, or as many in one access as every run is a multiple of. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_crossing(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *p, const kiln_crossing &cross,
                                     kiln_i64 stride, const kiln_span &span) {
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; j += V) {
        if (V == 1)
            vector.set(j, span.has(j) ? p[cross.at(j, stride)] : T());
        else if (span.has(j))
            kiln_load_run<V>(vector, j, p + cross.at(j, stride));
    }
}

/* The same of a run whose elements are all one. */
template <class T>
KILN_DEVICE void kiln_fetch_same(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *p, const kiln_crossing &cross,
                                 const kiln_span &span) {
    const T here = p[cross.here], there = cross.left < span.high ? p[cross.there] : here;
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) vector.set(j, j < cross.left ? here : there);
}

/* The same of a run whose elements lie side by side in a tensor that is aligned: two aligned vectors of the run shifted
 * together; at its ends element by element. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_shifted(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *p, const kiln_crossing &cross,
                                    const kiln_span &span) {
    const int skip = (int)(cross.here & (KILN_VECTOR_WIDTH - 1));
    if (!span.whole() || skip > cross.before || 2 * KILN_VECTOR_WIDTH - skip > cross.left) {
        kiln_fetch_crossing<1>(vector, p, cross, 1, span);
        return;
    }
    kiln_vector<T, KILN_VECTOR_WIDTH> halves[2];
    kiln_load<V>(halves[0], p + cross.here - skip);
    kiln_load<V>(halves[1], p + cross.here - skip + KILN_VECTOR_WIDTH);
    kiln_join(vector, halves, skip);
}

template <class T>
KILN_DEVICE void kiln_put_crossing(const kiln_vector<T, KILN_VECTOR_WIDTH> &vector, T *p, const kiln_crossing &cross,
                                   kiln_i64 stride, const kiln_span &span) {
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
        if (span.has(j)) p[cross.at(j, stride)] = vector.get(j);
}

// SPDX-License-Identifier: Apache-2.0
/* Layout: no reduction. The tensors are one flat array of args.elements; a thread owns KILN_STEPS vectors of its
 * block's share. A "column" is an element's index in the whole array. */

/* KILN_SHIFTED: vectors begin where the first output's accesses do, the first of them row.shift elements before the
 * array. */
#ifdef KILN_SHIFTED
#define KILN_SHIFT(row) (row).shift
#define KILN_BEGINS_EARLY true
#else
#define KILN_SHIFT(row) 0
#define KILN_BEGINS_EARLY false
#endif

KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    return ((kiln_block() * KILN_STEPS + step) * KILN_THREADS + threadIdx.x) * KILN_VECTOR_WIDTH - KILN_SHIFT(row);
}

KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index col, kiln_index) { return col < row.args.elements; }

/* KILN_PITCHED: of every args.pitch elements the first args.filled are the tensors', and nobody has those behind. */
#ifdef KILN_PITCHED
/* From col on: how many elements are before the next gap, and before the row behind it; can be below 0. Numbers of
 * 32 bits are not clipped to a vector's, which ptxas could get wrong (kiln_unseen). */
KILN_DEVICE void kiln_find_gap(kiln_index col, kiln_divisor pitch, kiln_i64 filled, int &gap, int &next) {
    const int at = col < 0 ? (int)col : (int)((kiln_u32)col - kiln_divide((kiln_u32)col, pitch) * pitch.divisor);
    gap = (int)filled - at;
    next = (int)pitch.divisor - at;
}
KILN_DEVICE int kiln_clip_to_vector(kiln_i64 elements) {
    return elements < 0 ? 0 : elements < KILN_VECTOR_WIDTH ? (int)elements : KILN_VECTOR_WIDTH;
}
KILN_DEVICE void kiln_find_gap(kiln_index col, kiln_i64 pitch, kiln_i64 filled, int &gap, int &next) {
    const kiln_i64 at = col < 0 ? col : col % pitch;
    gap = kiln_clip_to_vector(filled - at);
    next = kiln_clip_to_vector(pitch - at);
}
#endif

/* The vector at the array's end can be partial; shifted, the one at its beginning; pitched, those between rows. */
struct kiln_span {
    int low, high;
#ifdef KILN_PITCHED
    int gap, next; /* the elements between two rows */
#endif
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index) {
        low = KILN_BEGINS_EARLY && col < 0 ? (int)-col : 0;
        high = col + KILN_VECTOR_WIDTH > row.args.elements ? (int)(row.args.elements - col) : KILN_VECTOR_WIDTH;
#ifdef KILN_PITCHED
        kiln_find_gap(col, row.args.pitch, row.args.filled, gap, next);
#endif
    }
    static constexpr bool always_whole = false;
#ifdef KILN_PITCHED
    KILN_MEMBER bool whole() const { return readable() && gap >= KILN_VECTOR_WIDTH; }
    KILN_MEMBER bool has(int j) const { return low <= j && j < high && (j < gap || j >= next); }
#else
    KILN_MEMBER bool whole() const { return readable(); }
    KILN_MEMBER bool has(int j) const { return (!KILN_BEGINS_EARLY || low <= j) && j < high; }
#endif
    KILN_MEMBER bool readable() const { return (!KILN_BEGINS_EARLY || low == 0) && high == KILN_VECTOR_WIDTH; }
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

#ifdef KILN_HAS_SHIFTS
/* The same of a run whose elements are contiguous, shifted into place; at its ends element by element. Of a tensor that
 * is aligned, two vectors are, as the place tells; else accesses, as the address does. */
template <int W, class T>
KILN_DEVICE void kiln_fetch_shifted(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *p, const kiln_crossing &cross,
                                    const kiln_span &span) {
#ifdef KILN_SHIFTED
    const int skip = kiln_skip<W>(p + cross.here), read = KILN_VECTOR_WIDTH + (skip ? W : 0);
#else
    const int skip = (int)(cross.here & (KILN_VECTOR_WIDTH - 1)), read = 2 * KILN_VECTOR_WIDTH;
#endif
    if (!span.whole() || skip > cross.before || read - skip > cross.left) {
        kiln_fetch_crossing<1>(vector, p, cross, 1, span);
        return;
    }
#ifdef KILN_SHIFTED
    kiln_load_shifted<W>(vector, p + cross.here, skip);
#else
    kiln_vector<T, KILN_VECTOR_WIDTH> halves[2];
    kiln_load<W>(halves[0], p + cross.here - skip);
    kiln_load<W>(halves[1], p + cross.here - skip + KILN_VECTOR_WIDTH);
    kiln_join(vector, halves, skip);
#endif
}
#endif

template <class T>
KILN_DEVICE void kiln_put_crossing(const kiln_vector<T, KILN_VECTOR_WIDTH> &vector, T *p, const kiln_crossing &cross,
                                   kiln_i64 stride, const kiln_span &span) {
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
        if (span.has(j)) p[cross.at(j, stride)] = vector.get(j);
}

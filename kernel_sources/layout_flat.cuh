// SPDX-License-Identifier: Apache-2.0
/* Layout: no reduction. The tensors are one flat array of args.elements; a thread owns KILN_STEPS packs of its block's
 * share. A "column" is an element's index in the whole array. */

KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    return ((kiln_block() * KILN_STEPS + step) * KILN_THREADS + threadIdx.x) * KILN_PACK;
}

KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index col, kiln_index) { return col < row.args.elements; }

/* Only the last pack of the array can be partial. */
struct kiln_span {
    int low, high;
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index) {
        low = 0;
        high = col + KILN_PACK > row.args.elements ? (int)(row.args.elements - col) : KILN_PACK;
    }
    KILN_MEMBER bool whole() const { return high == KILN_PACK; }
    KILN_MEMBER bool has(int j) const { return j < high; }
};

/* A pack that bends: element by element, or as many in one access as every run is a multiple of. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_bent(kiln_pack<T, KILN_PACK> &pack, const T *p, const kiln_bend &bend, kiln_i64 stride,
                                 const kiln_span &span) {
#pragma unroll
    for (int j = 0; j < KILN_PACK; j += V) {
        if (V == 1)
            pack.set(j, span.has(j) ? p[bend.at(j, stride)] : T());
        else if (span.has(j))
            kiln_load_run<V>(pack, j, p + bend.at(j, stride));
    }
}

/* The same of a run whose elements are all one. */
template <class T>
KILN_DEVICE void kiln_fetch_same(kiln_pack<T, KILN_PACK> &pack, const T *p, const kiln_bend &bend, const kiln_span &span) {
    const T here = p[bend.here], there = bend.left < span.high ? p[bend.there] : here;
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j) pack.set(j, j < bend.left ? here : there);
}

/* The same of a run whose elements lie side by side in a tensor that is aligned: two aligned packs of the run shifted
 * together; at its ends element by element. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_shifted(kiln_pack<T, KILN_PACK> &pack, const T *p, const kiln_bend &bend,
                                    const kiln_span &span) {
    const int skip = (int)(bend.here & (KILN_PACK - 1));
    if (!span.whole() || skip > bend.before || 2 * KILN_PACK - skip > bend.left) {
        kiln_fetch_bent<1>(pack, p, bend, 1, span);
        return;
    }
    kiln_pack<T, KILN_PACK> halves[2];
    kiln_load<V>(halves[0], p + bend.here - skip);
    kiln_load<V>(halves[1], p + bend.here - skip + KILN_PACK);
    kiln_join(pack, halves, skip);
}

template <class T>
KILN_DEVICE void kiln_put_bent(const kiln_pack<T, KILN_PACK> &pack, T *p, const kiln_bend &bend, kiln_i64 stride,
                               const kiln_span &span) {
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j)
        if (span.has(j)) p[bend.at(j, stride)] = pack.get(j);
}

// SPDX-License-Identifier: Apache-2.0
/* Layout: neighbouring rows lie side by side. A vector is KILN_VECTOR_WIDTH rows at one column, in KILN_RUNS runs of
 * KILN_RUN_ROWS rows. KILN_MASKED: the last run can be partial.
 *
 * KILN_MISALIGNED: a column's rows do not begin at a multiple of the vector, and the next column's begin elsewhere. A
 * rank's columns are a multiple of the vector apart, so that all of them begin alike: its vectors start where memory is
 * aligned, up to KILN_VECTOR_WIDTH - 1 rows before those of other ranks.
 *
 * KILN_WRAPPED: columns are one array of KILN_KEPT_ROWS rows each. At each step the rows of all ranks' columns are a
 * part of it, of which each thread has a vector: it may go on from one rank's rows into the next one's. */

#define KILN_ENDS 0 /* no column is unlike the others */

/* A split row is cut into chunks, a block for each. */
#define KILN_CHUNK ((kiln_index)KILN_STEPS * KILN_THREADS_PER_ROW)

/* In ordered programs a rank's columns are neighbours; else KILN_TRANSPOSE_WIDTH of them at a time, for outputs whose
 * columns lie side by side, and not their rows. */
#ifndef KILN_TRANSPOSE_WIDTH
#define KILN_TRANSPOSE_WIDTH 1
#endif
KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    const kiln_index first = KILN_SPLITS > 1 ? row.chunk * KILN_CHUNK : 0;
#ifdef KILN_WRAPPED
    return first + step * KILN_THREADS_PER_ROW; /* the first rank's */
#else
    if (KILN_ORDERED) return first + kiln_rank() * (kiln_index)KILN_STEPS + step;
    return first + (step / KILN_TRANSPOSE_WIDTH * KILN_THREADS_PER_ROW + kiln_rank()) * KILN_TRANSPOSE_WIDTH +
           step % KILN_TRANSPOSE_WIDTH;
#endif
}

#define KILN_ALL_INSIDE ((kiln_i64)KILN_CHUNK * KILN_SPLITS == KILN_COLS)
KILN_DEVICE bool kiln_inside(const kiln_row &, kiln_index col, kiln_index) {
    return KILN_ALL_INSIDE || col < KILN_COLS;
}

/* All chunks but the last are whole. */
KILN_DEVICE bool kiln_is_whole(const kiln_row &row) { return KILN_ALL_INSIDE || row.chunk < KILN_SPLITS - 1; }

/* Steps of the last chunk whose columns there are for all ranks; where a rank's columns are neighbours, the last ranks
 * may have none. */
#if KILN_ORDERED
#define KILN_LAST_CHUNK_STEPS 0
#else
#define KILN_LAST_CHUNK_STEPS \
    ((kiln_index)((KILN_COLS - (kiln_i64)(KILN_SPLITS - 1) * KILN_CHUNK) / \
                  (KILN_THREADS_PER_ROW * KILN_TRANSPOSE_WIDTH)) * \
     KILN_TRANSPOSE_WIDTH)
#endif

/* Which rows of a vector there are. What is read where nothing is stored may be anything that can be read. */
#ifdef KILN_WRAPPED
struct kiln_span {
    const kiln_row &row;
    const kiln_index left; /* columns, from the first rank's on */
    const bool inside;     /* what the compiler knows to be there for all ranks */
    KILN_MEMBER kiln_span(const kiln_row &of, kiln_index col, kiln_index step, bool all = KILN_ALL_INSIDE)
        : row(of), left(KILN_COLS - col), inside(all || (KILN_SPLITS == 1 && step < KILN_WHOLE_STEPS)) {}
    KILN_MEMBER bool whole() const { return inside; }
    KILN_MEMBER bool whole(int i) const { return stores(i); }
    KILN_MEMBER bool readable(int i) const { return has(i); }
    KILN_MEMBER bool has(int j) const { return row.rank[j] < left; }
    KILN_MEMBER bool reads(int j) const { return has(j); }
    KILN_MEMBER bool stores(int j) const { return row.count[j] && has(j); }
};
#elif KILN_MISALIGNED
/* Whether all ranks' columns of the step have others behind them: known while compiling where the step is. */
KILN_DEVICE bool kiln_step_has_next(kiln_index step) {
    const kiln_index last = (step / KILN_TRANSPOSE_WIDTH + 1) * KILN_THREADS_PER_ROW * KILN_TRANSPOSE_WIDTH -
                            KILN_TRANSPOSE_WIDTH + step % KILN_TRANSPOSE_WIDTH;
    return KILN_SPLITS == 1 && !KILN_ORDERED && last < KILN_COLS - 1;
}
struct kiln_span {
    const kiln_u32 there; /* a bit for each row */
    const bool between;   /* what a vector overhangs by belongs to columns before and behind */
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index step)
        : there(row.there), between(kiln_step_has_next(step) || col < KILN_COLS - 1) {}
    KILN_MEMBER int readable_rows() const { return readable(0) ? KILN_VECTOR_WIDTH : 32 - __clz((int)there); }
    KILN_MEMBER bool whole(int) const { return there == (1u << KILN_VECTOR_WIDTH) - 1; }
    KILN_MEMBER bool readable(int) const { return whole(0) || (between && there); }
    KILN_MEMBER bool reads(int j) const { return stores(j); }
    KILN_MEMBER bool stores(int j) const { return there >> j & 1; }
};
#else
/* Where stores are not KILN_CONDITIONAL_STORES, runs are there or not, which a kernel asks before its last pass. */
#if KILN_CONDITIONAL_STORES
#define KILN_IS_WHOLE(count) ((count) == KILN_RUN_ROWS)
#else
#define KILN_IS_WHOLE(count) ((count) != 0)
#endif
struct kiln_span {
    const int (&count)[KILN_RUNS];
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index, kiln_index) : count(row.count) {}
    KILN_MEMBER bool whole(int i) const { return KILN_IS_WHOLE(count[i]); }
    KILN_MEMBER bool readable(int i) const { return !KILN_MASKED || whole(i); }
    KILN_MEMBER bool reads(int j) const { return !KILN_MASKED || stores(j); }
    KILN_MEMBER bool stores(int j) const { return j % KILN_RUN_ROWS < count[j / KILN_RUN_ROWS]; }
};
#endif

/* A vector from or to where its runs start, `offset` elements on, in accesses of V elements. */
template <int V, class T, class... Policy>
KILN_DEVICE void kiln_fetch_rows(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *const (&at)[KILN_RUNS],
                                 kiln_i64 offset, const kiln_span &span, Policy... policy) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    constexpr int words = KILN_RUN_ROWS / V;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
        const T *p = at[i] + offset;
        if (V > 1 && span.readable(i))
#pragma unroll
            for (int k = 0; k < words; ++k)
                reinterpret_cast<word *>(&vector)[i * words + k] =
                    kiln_load_word(reinterpret_cast<const word *>(p) + k, policy...);
        else if constexpr (V == 1 || KILN_MASKED || KILN_MISALIGNED)
#pragma unroll
            for (int k = 0; k < KILN_RUN_ROWS; ++k)
                vector.set(i * KILN_RUN_ROWS + k, span.reads(i * KILN_RUN_ROWS + k) ? p[k] : T());
    }
}
template <int V, class T>
KILN_DEVICE void kiln_put_rows(const kiln_vector<T, KILN_VECTOR_WIDTH> &vector, T *const (&at)[KILN_RUNS],
                               kiln_i64 offset, const kiln_span &span) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    constexpr int words = KILN_RUN_ROWS / V;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
        T *p = at[i] + offset;
        if (V > 1 && span.whole(i))
#pragma unroll
            for (int k = 0; k < words; ++k)
                kiln_store_word(reinterpret_cast<word *>(p) + k,
                                reinterpret_cast<const word *>(&vector)[i * words + k]);
        else if constexpr (V == 1 || KILN_MASKED || KILN_MISALIGNED)
#pragma unroll
            for (int k = 0; k < KILN_RUN_ROWS; ++k)
                if (span.stores(i * KILN_RUN_ROWS + k)) p[k] = vector.get(i * KILN_RUN_ROWS + k);
    }
}
#ifdef KILN_WRAPPED
/* The same of a vector whose rows are of several columns, one behind the other. */
template <int V, class T, class... Policy>
KILN_DEVICE void kiln_fetch_wrapped(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *const (&at)[KILN_RUNS],
                                    kiln_i64 offset, const kiln_span &span, Policy... policy) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    const T *p = at[0] + offset;
    if (span.whole())
#pragma unroll
        for (int k = 0; k < KILN_VECTOR_WIDTH / V; ++k)
            reinterpret_cast<word *>(&vector)[k] = kiln_load_word(reinterpret_cast<const word *>(p) + k, policy...);
    else
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) vector.set(j, span.has(j) ? p[j] : T());
}
template <int V, class T>
KILN_DEVICE void kiln_put_wrapped(const kiln_vector<T, KILN_VECTOR_WIDTH> &vector, T *const (&at)[KILN_RUNS],
                                  kiln_i64 offset, const kiln_span &span) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    T *p = at[0] + offset;
    if (span.whole() && span.row.count[0])
#pragma unroll
        for (int k = 0; k < KILN_VECTOR_WIDTH / V; ++k)
            kiln_store_word(reinterpret_cast<word *>(p) + k, reinterpret_cast<const word *>(&vector)[k]);
    else
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)
            if (span.stores(j)) p[j] = vector.get(j);
}
#endif
/* Row j of the vectors of a line, at so many neighbouring columns, to p. */
template <int V, class T>
KILN_DEVICE void kiln_put_line(const kiln_vector<T, KILN_VECTOR_WIDTH> (&columns)[KILN_TRANSPOSE_WIDTH], int j, T *p,
                               int count) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    kiln_vector<T, KILN_TRANSPOSE_WIDTH> line;
#pragma unroll
    for (int k = 0; k < KILN_TRANSPOSE_WIDTH; ++k) line.set(k, columns[k].get(j));
    if (V > 1 && count == KILN_TRANSPOSE_WIDTH)
#pragma unroll
        for (int k = 0; k < KILN_TRANSPOSE_WIDTH / V; ++k)
            kiln_store_word(reinterpret_cast<word *>(p) + k, reinterpret_cast<const word *>(&line)[k]);
    else
#pragma unroll
        for (int k = 0; k < KILN_TRANSPOSE_WIDTH; ++k)
            if (k < count) p[k] = line.get(k);
}
#ifdef KILN_COPIES
/* A vector into this thread's slot of shared memory, asynchronously where an access is wide enough. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_rows_async(kiln_vector<T, KILN_VECTOR_WIDTH> *slot, const T *const (&at)[KILN_RUNS],
                                       kiln_i64 offset, const kiln_span &span) {
    constexpr int bytes = V * (int)sizeof(T), words = KILN_RUN_ROWS / V;
#if KILN_MISALIGNED
    if constexpr (bytes >= 4) { /* without a branch */
        const int count = span.readable_rows() * (int)sizeof(T);
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const int rest = count - i * bytes;
            kiln_copy_async_first<bytes>(reinterpret_cast<char *>(slot) + i * bytes, at[0] + offset + i * V,
                                         rest < 0       ? 0
                                         : rest < bytes ? rest
                                                        : bytes);
        }
        return;
    }
#endif
    bool whole = bytes >= 4;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) whole = whole && span.readable(i);
    if (whole) {
#pragma unroll
        for (int i = 0; i < KILN_RUNS * words; ++i)
            kiln_copy_async<(bytes >= 4 ? bytes : 4)>(reinterpret_cast<char *>(slot) + i * bytes,
                                                      at[i / words] + offset + i % words * V);
    } else {
        kiln_vector<T, KILN_VECTOR_WIDTH> vector;
        kiln_fetch_rows<V>(vector, at, offset, span);
        *slot = vector;
    }
}
#endif

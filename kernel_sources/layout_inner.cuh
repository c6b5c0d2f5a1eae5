// SPDX-License-Identifier: Apache-2.0
/* Layout: the reduced dimension is contiguous. A rank of the group owns vectors of columns; columns count from the
 * row's own start, so where rows are not aligned (KILN_MASKED) vectors start up to KILN_VECTOR_WIDTH - 1 columns before
 * it.
 *
 * KILN_PEELED: they start up to as many columns behind it, at row.head. There are KILN_VECTORS of them in a row, and
 * the KILN_SINGLES columns before and behind them are elements of their own, one for each of the first ranks. So few
 * vectors that what all rows share has two whole ones, which begin elsewhere, for each. */

#ifdef KILN_OFFSETS
/* Rows of any number of columns: KILN_COLS are what most have about. */
KILN_DEVICE kiln_index kiln_steps_of(const kiln_row &row) {
    constexpr kiln_index chunk = KILN_THREADS_PER_ROW * KILN_VECTOR_WIDTH;
    return (row.cols + row.shift + chunk - 1) / chunk;
}
#define KILN_ROW_STEPS(row) kiln_steps_of(row)
#else
#define KILN_ROW_STEPS(row) KILN_STEPS
#endif

#ifdef KILN_LENGTHS
#define KILN_END row.cols /* each row ends somewhere of its own: any vector may be partial */
#define KILN_ENDS 0
#else
#define KILN_END KILN_COLS
/* Whether a row's first vector and its last may be partial, and they alone: loops treat them apart. */
#define KILN_ENDS KILN_MASKED
#endif

/* Columns that all rows have, and whether it is known while compiling which steps' vectors are among them. */
#if !defined KILN_LENGTHS
#define KILN_LEAST_COLS KILN_COLS
#endif
#ifdef KILN_LEAST_COLS
#define KILN_KNOWN_STEPS (KILN_SPLITS == 1 && !KILN_ORDERED)
#else
#define KILN_LEAST_COLS 0
#define KILN_KNOWN_STEPS false
#endif

#ifdef KILN_PEELED
#define KILN_VECTORS (KILN_END / KILN_VECTOR_WIDTH - 1)
#define KILN_LEAST_VECTORS (KILN_LEAST_COLS / KILN_VECTOR_WIDTH - 1)
#define KILN_SINGLES (KILN_END - KILN_VECTORS * KILN_VECTOR_WIDTH)
#endif

/* A split row is cut into chunks of whole vectors, a block for each. */
#define KILN_CHUNK ((kiln_index)KILN_STEPS * KILN_THREADS_PER_ROW * KILN_VECTOR_WIDTH)
KILN_DEVICE int kiln_chunk() { return (int)(kiln_block() % KILN_SPLITS); }
#if KILN_SPLITS > 1
#define KILN_FIRST (kiln_chunk() * KILN_CHUNK)
#else
#define KILN_FIRST 0
#endif

#define KILN_TRANSPOSE_WIDTH 1 /* a vector's columns are neighbours */
/* Vectors ask for their columns: KILN_WHOLE_STEPS is 0, in all chunks. */
#define KILN_LAST_CHUNK_STEPS 0
KILN_DEVICE bool kiln_is_whole(const kiln_row &) { return false; }

/* A row's vectors among its ranks and their steps; in ordered programs a rank's are neighbours. A macro, as is what
 * else is short and the same in all kernels: each function that a kernel has costs the compiler time. */
#if KILN_ORDERED
#define KILN_VECTOR_NUMBER(rank, step) ((kiln_index)(rank)*KILN_ROW_STEPS(row) + (step))
#else
#define KILN_VECTOR_NUMBER(rank, step) ((kiln_index)(step)*KILN_THREADS_PER_ROW + (rank))
#endif
/* The first column of the rank's vector number `step`. */
KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    const kiln_index first = KILN_FIRST + KILN_VECTOR_NUMBER(kiln_rank(), step) * KILN_VECTOR_WIDTH;
#if KILN_MASKED
    return first - row.shift;
#elif defined KILN_PEELED
    return first + row.head;
#else
    return first;
#endif
}

#ifdef KILN_PEELED
/* The column of the rank's single element; of who has none that of the first. */
KILN_DEVICE bool kiln_has_single(const kiln_row &row) { return kiln_rank() < KILN_SINGLES; }
KILN_DEVICE kiln_index kiln_single(const kiln_row &row) {
    const int rank = kiln_has_single(row) ? kiln_rank() : 0;
    return rank < row.head ? rank : rank + KILN_VECTORS * KILN_VECTOR_WIDTH;
}
KILN_DEVICE bool kiln_step_is_whole(kiln_index step) { return (step + 1) * KILN_THREADS_PER_ROW <= KILN_LEAST_VECTORS; }
KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index, kiln_index step) {
    return kiln_step_is_whole(step) || KILN_VECTOR_NUMBER(kiln_rank(), step) < KILN_VECTORS;
}
KILN_DEVICE bool kiln_step_is_inside(kiln_index step) { return kiln_step_is_whole(step); }
#else
/* Whether all vectors of the step lie before the row's end: known while compiling where the step is. */
KILN_DEVICE bool kiln_step_is_whole(kiln_index step) {
    return KILN_KNOWN_STEPS && (step + 1) * (kiln_i64)KILN_THREADS_PER_ROW * KILN_VECTOR_WIDTH <= KILN_LEAST_COLS;
}

/* Whether the step's vector at col has a column of the row in it. */
KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index col, kiln_index step) {
    return (!KILN_MASKED && (kiln_i64)KILN_CHUNK * KILN_SPLITS == KILN_COLS) || kiln_step_is_whole(step) ||
           col < KILN_END;
}

/* Whether the row ends neither in the step's vectors nor in those behind them: known while compiling where the
 * step is. */
KILN_DEVICE bool kiln_step_is_inside(kiln_index step) {
    return KILN_KNOWN_STEPS && ((step + 1) * (kiln_i64)KILN_THREADS_PER_ROW + 1) * KILN_VECTOR_WIDTH <= KILN_LEAST_COLS;
}
#endif

/* Which elements of the step's vector at col belong to the row: low <= j < high. */
struct kiln_span {
#if KILN_MASKED
    int low, high, step;
    bool ends; /* whether the row may end in the vector, or in the one behind it */
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index step) : step((int)step) {
        low = step == 0 && col < 0 ? (int)-col : 0;
        high =
            !kiln_step_is_whole(step) && col + KILN_VECTOR_WIDTH > KILN_END ? (int)(KILN_END - col) : KILN_VECTOR_WIDTH;
        ends = !kiln_step_is_inside(step);
    }
    /* What may be loaded of it where rows lie one behind the other: the neighbours' elements, too. The first row begins
     * with a vector, and only the last one's end has nothing behind it. Where an output takes the input's place,
     * neighbours may store theirs meanwhile: they are masked wherever they are computed with. */
    KILN_MEMBER kiln_span loaded(const kiln_row &row) const {
        kiln_span span = *this;
        span.low = 0;
        if (row.index + 1 < row.args.rows) span.high = KILN_VECTOR_WIDTH;
        return span;
    }
#else
    static constexpr int low = 0, high = KILN_VECTOR_WIDTH;
    KILN_MEMBER kiln_span(const kiln_row &, kiln_index, kiln_index) {}
#endif
    static constexpr bool always_whole = !KILN_MASKED;
    KILN_MEMBER bool whole() const { return !KILN_MASKED || (low == 0 && high == KILN_VECTOR_WIDTH); }
    KILN_MEMBER bool readable() const { return whole(); }
    KILN_MEMBER bool has(int j) const { return !KILN_MASKED || (low <= j && j < high); }
};

#ifdef KILN_PEELED
/* The vector at col of what all rows share: two aligned ones, of which the neighbours read one too, are shifted
 * together. */
template <int V, class T, int N>
KILN_DEVICE void kiln_fetch_shifted(kiln_vector<T, N> &vector, const T *p, const kiln_row &row, kiln_index col,
                                    const kiln_span &) {
    if constexpr (N == 1) {
        vector.set(0, p[col]);
    } else {
        const T *const first = p + (col - row.head);
        kiln_vector<T, N> halves[2];
        kiln_load<V>(halves[0], first);
        kiln_load<V>(halves[1], first + N);
        kiln_join(vector, halves, row.head);
    }
}
#endif

#if KILN_MASKED && defined KILN_INVARIANT_INPUTS
/* The vector at col of what all rows share: it begins at a multiple of a vector, rows do not. Two aligned vectors, of
 * which the neighbours read one too, are shifted together; at the row's end element by element. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_shifted(kiln_vector<T, KILN_VECTOR_WIDTH> &vector, const T *p, const kiln_row &row,
                                    kiln_index col, const kiln_span &span) {
    const int skip = (KILN_VECTOR_WIDTH - row.shift) % KILN_VECTOR_WIDTH; /* elements of the first vector */
    if (span.ends && col - skip + 2 * KILN_VECTOR_WIDTH > KILN_COLS) {
        kiln_load_part(vector, p + col, span.low, span.high);
        return;
    }
    const T *const first = p + (col - skip);
    kiln_vector<T, KILN_VECTOR_WIDTH> halves[2];
    kiln_load<V>(halves[0], span.step == 0 && first < p ? p : first); /* nothing before the row is used */
    kiln_load<V>(halves[1], first + KILN_VECTOR_WIDTH);
    kiln_join(vector, halves, skip);
}
#endif

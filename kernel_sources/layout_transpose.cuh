// SPDX-License-Identifier: Apache-2.0
/* Layout: no reduction, and inputs whose neighbours are other elements than the outputs'. A thread works on a tile:
 * KILN_STEPS vectors, each in a run of elements that lie side by side in the outputs, behind one another in the
 * dimension in which those of the inputs do. KILN_THREADS_PER_ROW threads are side by side, the others behind them. A
 * "column" is an element's index in the whole array. */

/* Blocks that follow one another go along the runs first. */
KILN_DEVICE void kiln_place(kiln_row &row) {
    constexpr int along = KILN_THREADS_PER_ROW * KILN_VECTOR_WIDTH,
                  behind = KILN_THREADS / KILN_THREADS_PER_ROW * KILN_STEPS;
    const kiln_count run = kiln_run(row.args), between = kiln_between(row.args), across = kiln_across(row.args);
    const kiln_count wide = (run + along - 1) / along, high = (across + behind - 1) / behind;
    const kiln_count block = (kiln_count)kiln_block(), above = block / wide, around = above / high;
    const kiln_count column = (block - above * wide) * along + threadIdx.x % KILN_THREADS_PER_ROW * KILN_VECTOR_WIDTH;
    const kiln_count line = (above - around * high) * behind + threadIdx.x / KILN_THREADS_PER_ROW * KILN_STEPS;
    const kiln_count outside = around / between, inside = around - outside * between;
    row.spacing = (kiln_i64)between * run;
    row.index = ((kiln_i64)outside * across + line) * row.spacing + (kiln_i64)inside * run + column;
    const bool there = column < run && line < across && row.index < row.args.elements;
    row.before = (kiln_i64)line;
    row.behind = (kiln_i64)across - row.before;
    row.down = !there ? 0 : across - line < KILN_STEPS ? (int)(across - line) : KILN_STEPS;
}

KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) { return row.index + step * row.spacing; }

KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index, kiln_index step) {
    return !KILN_MASKED || step < row.down;
}

struct kiln_span {
    static constexpr int low = 0, high = KILN_VECTOR_WIDTH;
    static constexpr bool always_whole = true;
    KILN_MEMBER kiln_span(const kiln_row &, kiln_index, kiln_index) {}
    KILN_MEMBER constexpr bool whole() const { return true; }
    KILN_MEMBER constexpr bool has(int) const { return true; }
};

/* Elements that lie side by side in inputs, one of each of the tile's vectors: fewer in the last tiles (KILN_MASKED).
 */
struct kiln_line {
    int low, high;
    static constexpr bool always_whole = !KILN_MASKED;
    KILN_MEMBER kiln_line(const kiln_row &row) : low(0), high(row.down) {}
    KILN_MEMBER bool whole() const { return !KILN_MASKED || high == KILN_STEPS; }
};

/* The line `offset` elements behind p, which is aligned: two aligned vectors shifted together, at the ends of the
 * dimension element by element. */
template <int V, class T>
KILN_DEVICE void kiln_fetch_shifted(kiln_vector<T, KILN_STEPS> &vector, const T *p, kiln_i64 offset,
                                    const kiln_row &row, const kiln_line &line) {
    const int skip = (int)(offset & (KILN_STEPS - 1));
    if (!line.whole() || skip > row.before || 2 * KILN_STEPS - skip > row.behind) {
        kiln_load_part(vector, p + offset, line.low, line.high);
        return;
    }
    kiln_vector<T, KILN_STEPS> halves[2];
    kiln_load<V>(halves[0], p + offset - skip);
    kiln_load<V>(halves[1], p + offset - skip + KILN_STEPS);
    kiln_join(vector, halves, skip);
}

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

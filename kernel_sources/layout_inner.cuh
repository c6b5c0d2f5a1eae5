/* Layout: the reduced dimension is contiguous. A member of the group owns packs of columns; columns count from the
 * row's own start, so where rows are not aligned (KILN_MASKED) packs start up to KILN_PACK - 1 columns before it. */

/* A split row is cut into chunks of whole packs, a block for each. */
#define KILN_CHUNK ((kiln_index)KILN_STEPS * KILN_THREADS_PER_ROW * KILN_PACK)
KILN_DEVICE int kiln_chunk() { return (int)(kiln_block() % KILN_SPLITS); }
KILN_DEVICE kiln_index kiln_first() { return KILN_SPLITS > 1 ? kiln_chunk() * KILN_CHUNK : 0; }

/* The first column of the member's pack number `step`. In ordered programs a member's packs are neighbours. */
KILN_DEVICE kiln_index kiln_column(const kiln_row &row, kiln_index step) {
    const kiln_index pack =
        KILN_ORDERED ? kiln_member() * (kiln_index)KILN_STEPS + step : step * KILN_THREADS_PER_ROW + kiln_member();
#if KILN_MASKED
    return kiln_first() + pack * KILN_PACK - row.shift;
#else
    return kiln_first() + pack * KILN_PACK;
#endif
}

/* Whether all packs of the step lie before the row's end: known while compiling where the step is. */
KILN_DEVICE bool kiln_step_is_whole(kiln_index step) {
    return KILN_SPLITS == 1 && !KILN_ORDERED && (step + 1) * (kiln_i64)KILN_THREADS_PER_ROW * KILN_PACK <= KILN_COLS;
}

/* Whether the step's pack at col has a column of the row in it. */
KILN_DEVICE bool kiln_inside(const kiln_row &row, kiln_index col, kiln_index step) {
    return (!KILN_MASKED && (kiln_i64)KILN_CHUNK * KILN_SPLITS == KILN_COLS) || kiln_step_is_whole(step) || col < KILN_COLS;
}

/* Which elements of the step's pack at col belong to the row: low <= j < high. */
struct kiln_span {
    int low, high;
    KILN_MEMBER kiln_span(const kiln_row &row, kiln_index col, kiln_index step) {
        low = KILN_MASKED && step == 0 && col < 0 ? (int)-col : 0;
        high = KILN_MASKED && !kiln_step_is_whole(step) && col + KILN_PACK > KILN_COLS ? (int)(KILN_COLS - col) : KILN_PACK;
    }
    KILN_MEMBER bool whole() const { return !KILN_MASKED || (low == 0 && high == KILN_PACK); }
    KILN_MEMBER bool has(int j) const { return !KILN_MASKED || (low <= j && j < high); }
};

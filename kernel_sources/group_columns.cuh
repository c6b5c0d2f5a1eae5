/* Group: neighbouring rows lie side by side, so neighbouring threads (lanes) work on neighbouring rows, KILN_PACK of them
 * each, and the members of a row's group are threads of different warps. Blocks are whole: threads past the last row
 * work too, on the first, unseen. */

#define KILN_LANES (KILN_ROWS_PER_BLOCK / KILN_PACK)

KILN_DEVICE int kiln_member() { return threadIdx.x / KILN_LANES; }

/* Which rows the thread works on: KILN_PIECES runs of KILN_VECTOR rows; between the runs lie those of the other lanes.
 * Blocks that work on the same chunk of neighbouring rows follow one another, so that they read neighbouring memory. */
KILN_DEVICE void kiln_place(kiln_row &row) {
    const kiln_i64 tiles = (row.args.rows + KILN_ROWS_PER_BLOCK - 1) / KILN_ROWS_PER_BLOCK;
    row.chunk = KILN_SPLITS > 1 ? (int)(kiln_block() / tiles) : 0;
    const kiln_i64 first = (kiln_block() - row.chunk * tiles) * KILN_ROWS_PER_BLOCK + threadIdx.x % KILN_LANES * KILN_VECTOR;
#pragma unroll
    for (int i = 0; i < KILN_PIECES; ++i) {
        const kiln_i64 index = first + i * (KILN_LANES * KILN_VECTOR), rest = row.args.rows - index;
        row.count[i] = rest <= 0 ? 0 : rest < KILN_VECTOR ? (int)rest : KILN_VECTOR;
        row.index[i] = rest <= 0 ? 0 : index;
    }
}

/* Every member gets the combination of all members' values, combined in the order of the members. A thread combines
 * rows that lie side by side in no warp's way of another: a slot's place is its lane first, then its row in the pack. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value) {
    if (KILN_THREADS_PER_ROW == 1) return value;
    __shared__ typename V::state slots[KILN_THREADS_PER_ROW][KILN_ROWS_PER_BLOCK];
    const int lane = threadIdx.x % KILN_LANES;
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j) slots[kiln_member()][j * KILN_LANES + lane] = value.at[j];
    kiln_block_barrier();
    for (int i = threadIdx.x; i < KILN_ROWS_PER_BLOCK; i += KILN_THREADS) {
        typename V::state all = slots[0][i];
#pragma unroll 16
        for (int m = 1; m < KILN_THREADS_PER_ROW; ++m) all = V::state::combine(all, slots[m][i]);
        slots[0][i] = all;
    }
    kiln_block_barrier();
#pragma unroll
    for (int j = 0; j < KILN_PACK; ++j) value.at[j] = slots[0][j * KILN_LANES + lane];
    return value;
}

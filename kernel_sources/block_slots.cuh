// SPDX-License-Identifier: Apache-2.0
/* Blocks of columns that are no lanes of one warp: what a reduction takes lies in shared memory, a value for each
 * column; lanes of a warp share a block, and what it comes to has a slot of its own, where all of its columns find it.
 * Blocks begin anew behind each KILN_BLOCK_AXIS columns, before which one may be short. A split row's chunk is whole
 * blocks, but for the row's last. */

/* The first and the last column stand for those that a vector has outside of the row. */
KILN_DEVICE kiln_index kiln_column_of_row(kiln_index col) {
#if KILN_MASKED
    return col < 0 ? 0 : col < KILN_COLS ? col : KILN_COLS - 1;
#else
    return col;
#endif
}

/* Which block of the row, or of the chunk, has the column. */
template <int N> KILN_DEVICE int kiln_block_of(kiln_index col) {
    if constexpr (KILN_BLOCK_AXIS == KILN_COLS)
        return (int)((kiln_u32)(col - KILN_FIRST) / N);
    else
        return (int)(col / KILN_BLOCK_AXIS * ((KILN_BLOCK_AXIS + N - 1) / N) + col % KILN_BLOCK_AXIS / N);
}

/* How many columns that block has. */
template <int N> KILN_DEVICE int kiln_columns_of_block(kiln_index column) {
    kiln_index along = kiln_column_of_row(column);
    if constexpr (KILN_BLOCK_AXIS != KILN_COLS) along %= KILN_BLOCK_AXIS;
    const kiln_index left = KILN_BLOCK_AXIS - along / N * N;
    return left < N ? (int)left : N;
}

template <class Block> KILN_DEVICE typename Block::value &kiln_value(kiln_index col) {
    return reinterpret_cast<typename Block::value *>(kiln_shared + KILN_BLOCK_VALUES)[col - KILN_FIRST];
}

template <class Block> KILN_DEVICE typename Block::result kiln_slot(kiln_index col) {
    return reinterpret_cast<typename Block::result *>(
        kiln_shared + Block::place)[kiln_block_of<Block::columns>(kiln_column_of_row(col))];
}

/* What a lane has of the block's columns first ... end - 1: neighbouring ones where their order matters. */
template <class Block> KILN_DEVICE Block kiln_part_of_block(const typename Block::value *values, int first, int end) {
    const int lane = threadIdx.x % Block::lanes;
    const int share = Block::ordered ? (end - first + Block::lanes - 1) / Block::lanes : 1;
    const int step = Block::ordered ? 1 : Block::lanes, begin = first + lane * share;
    const int behind = Block::ordered && begin + share < end ? begin + share : end;
    Block part = Block::identity();
    for (int i = begin; i < behind; i += step) part.take(values[i], i - first);
    return part;
}

/* Columns of an axis that blocks lie along; of a split row's chunk, which is part of one. */
KILN_DEVICE int kiln_block_axis() {
#if KILN_SPLITS > 1
    const kiln_index left = KILN_COLS - KILN_FIRST;
    return (int)(left < KILN_CHUNK ? left : KILN_CHUNK);
#else
    return (int)KILN_BLOCK_AXIS;
#endif
}

/* When all columns' values are there; then all columns may ask for their block's. */
template <class Block> KILN_DEVICE void kiln_reduce_slots() {
    const auto *const values = reinterpret_cast<const typename Block::value *>(kiln_shared + KILN_BLOCK_VALUES);
    auto *const slots = reinterpret_cast<typename Block::result *>(kiln_shared + Block::place);
    const int axis = kiln_block_axis(), each = (axis + Block::columns - 1) / Block::columns;
    kiln_block_barrier();
    for (int block = threadIdx.x / Block::lanes; block < KILN_BLOCK_AXES * each; block += KILN_THREADS / Block::lanes) {
        const int begin = block / each * axis, first = begin + block % each * Block::columns;
        const int end = begin + axis - first < Block::columns ? begin + axis : first + Block::columns;
        const Block all = kiln_reduce_block<Block::lanes>(kiln_part_of_block<Block>(values, first, end));
        if (threadIdx.x % Block::lanes == 0) slots[block] = all.get();
    }
    kiln_block_barrier();
}

// SPDX-License-Identifier: Apache-2.0
/* Blocks of columns that are no lanes of one warp: what a reduction takes lies in shared memory, a value for each
 * column; lanes of a warp share a block, and what it comes to has a slot of its own, where all of its columns find it.
 * Blocks begin anew behind each KILN_BLOCK_AXIS columns, before which one may be short. A split row's chunk is whole
 * blocks, but for the row's last. */

/* The first and the last column stand for those that a vector has outside of the row. */
KILN_DEVICE kiln_index kiln_column_of_row(kiln_index col) {
    return !KILN_MASKED || (col >= 0 && col < KILN_COLS) ? col : col < 0 ? 0 : KILN_COLS - 1;
}

/* How many columns the column's block has. */
template <int N> KILN_DEVICE int kiln_columns_of_block(kiln_index col) {
    kiln_index along = kiln_column_of_row(col);
    if constexpr (KILN_BLOCK_AXIS != KILN_COLS) along %= KILN_BLOCK_AXIS;
    const kiln_index left = KILN_BLOCK_AXIS - along / N * N;
    return left < N ? (int)left : N;
}

template <class T> KILN_DEVICE T *kiln_block_memory(int place) { return reinterpret_cast<T *>(kiln_shared + place); }
/* Of a column of the row or of its chunk. */
template <class Block> KILN_DEVICE typename Block::value &kiln_value_at(kiln_u32 at) {
    return kiln_block_memory<typename Block::value>(
        KILN_BLOCK_VALUES)[at % KILN_VECTOR_WIDTH * KILN_BLOCK_STRIDE + at / KILN_VECTOR_WIDTH];
}
template <class Block> KILN_DEVICE typename Block::value &kiln_value(kiln_index col) {
    return kiln_value_at<Block>((kiln_u32)(col - KILN_FIRST));
}
template <class Block> KILN_DEVICE typename Block::result kiln_slot(kiln_index col) {
    constexpr int columns = Block::columns, each = (KILN_BLOCK_AXIS + columns - 1) / columns;
    const typename Block::result *const slots = kiln_block_memory<typename Block::result>(Block::place);
    const kiln_index at = kiln_column_of_row(col);
    if constexpr (KILN_BLOCK_AXIS == KILN_COLS) return slots[(kiln_u32)(at - KILN_FIRST) / columns];
    return slots[at / KILN_BLOCK_AXIS * each + at % KILN_BLOCK_AXIS / columns];
}

/* What a lane has of the block's columns first ... end - 1: neighbouring ones where their order matters. */
template <class Block> KILN_DEVICE Block kiln_part_of_block(int first, int end) {
    const int lane = threadIdx.x % Block::lanes;
    const int share = Block::ordered ? (end - first + Block::lanes - 1) / Block::lanes : 1;
    const int begin = first + lane * share, last = Block::ordered && begin + share < end ? begin + share : end;
    Block part = Block::identity();
    for (int i = begin; i < last; i += Block::ordered ? 1 : Block::lanes)
        part.take(kiln_value_at<Block>((kiln_u32)i), i - first);
    return part;
}

/* When all columns' values are there; then all columns may ask for their block's. */
template <class Block> KILN_DEVICE void kiln_reduce_slots() {
    const kiln_index left = KILN_COLS - KILN_FIRST; /* a split row's chunk is an axis of its own */
    const int axis = (int)(KILN_SPLITS == 1 ? KILN_BLOCK_AXIS : left < KILN_CHUNK ? left : KILN_CHUNK);
    const int each = (axis + Block::columns - 1) / Block::columns;
    kiln_block_barrier();
    for (int block = threadIdx.x / Block::lanes; block < KILN_BLOCK_AXES * each; block += KILN_THREADS / Block::lanes) {
        const int begin = block / each * axis, first = begin + block % each * Block::columns;
        const int end = begin + axis - first < Block::columns ? begin + axis : first + Block::columns;
        const Block all = kiln_reduce_block<Block::lanes>(kiln_part_of_block<Block>(first, end));
        if (threadIdx.x % Block::lanes == 0) kiln_block_memory<typename Block::result>(Block::place)[block] = all.get();
    }
    kiln_block_barrier();
}

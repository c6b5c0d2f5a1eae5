// SPDX-License-Identifier: Apache-2.0
/* Blocks within the runs of rows of any shape: a run is whole blocks of all sizes, of which the row's last may be
 * short. KILN_BLOCK_LANES lanes of a warp have a run; what its blocks come to has slots, one row of them for those
 * lanes. */

template <class Block> KILN_DEVICE typename Block::result *kiln_slots() {
    __shared__ typename Block::result slots[KILN_THREADS / KILN_BLOCK_LANES][KILN_BLOCK_RUN / Block::columns];
    return slots[threadIdx.x / KILN_BLOCK_LANES];
}
template <class Block> KILN_DEVICE typename Block::result kiln_slot(const kiln_row &row, kiln_index col) {
    return kiln_slots<Block>()[(kiln_u32)(col - row.base) / Block::columns];
}
/* How many columns the column's block has. */
template <int N> KILN_DEVICE int kiln_columns_of_block(const kiln_row &row, kiln_index col) {
    const int left = (int)(row.behind - row.base) - (int)((kiln_u32)(col - row.base) / N * N);
    return left < N ? left : N;
}
KILN_DEVICE void kiln_run_barrier() { __syncwarp(kiln_lanes_of_block<KILN_BLOCK_LANES>()); }

/* What the lanes have of one block, whose columns are the row's. */
template <class Block> KILN_DEVICE Block kiln_part_of_block(const kiln_row &row) {
    Block part, beside;
    part.clear();
    beside.clear();
    kiln_staging::each<KILN_VECTOR_WIDTH>(row, row.vectors, part);
    kiln_staging::each<KILN_SINGLE>(row, kiln_staging::singles(row), beside);
    return Block::combine(part, beside);
}

/* All blocks of a run; then all of its columns may ask for their block's. Where the order of columns matters a lane has
 * a block, column by column. */
template <class Block> KILN_DEVICE void kiln_reduce_in_run(const kiln_row &row) {
    const int lane = (int)row.rank;
#pragma unroll 1
    for (int block = lane / Block::lanes; block * Block::columns < row.columns;
         block += KILN_BLOCK_LANES / Block::lanes) {
        kiln_row part = row;
        part.start = row.start + block * Block::columns;
        part.columns = kiln_columns_of_block<Block::columns>(row, part.start);
        part.rank = lane % Block::lanes;
        part.ranks = Block::lanes;
        kiln_find_vectors(part);
        if (Block::ordered) part.head = 0, part.vectors = 0;
        const Block all = kiln_reduce_block<Block::lanes>(kiln_part_of_block<Block>(part));
        if (part.rank == 0) kiln_slots<Block>()[block] = all.get();
    }
    kiln_run_barrier();
}

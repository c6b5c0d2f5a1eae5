// SPDX-License-Identifier: Apache-2.0
/* Blocks of a row's columns, of which neighbouring lanes of a warp have a vector each. */

/* The lanes that have the thread's block; they stand in a vector of the same row together, or none of them does. */
template <int LANES> KILN_DEVICE kiln_u32 kiln_lanes_of_block() {
    const kiln_u32 first = threadIdx.x % 32 / LANES * LANES;
    return LANES == 32 ? 0xffffffffu : ((1u << LANES % 32) - 1) << first;
}

/* What the lanes' vectors of a block come to, in the order of their columns. */
template <int LANES, class Block> KILN_DEVICE Block kiln_reduce_block(const Block &of_vector) {
    return kiln_combine_lanes<LANES>(of_vector, kiln_lanes_of_block<LANES>());
}

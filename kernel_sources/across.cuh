// SPDX-License-Identifier: Apache-2.0
/* Values of all rows: each row of a block at a time has its own sums in shared memory, a slot for each column or one
 * for the row. Blocks leave theirs in the workspace, where the second launch combines them in the blocks' order. */

KILN_DEVICE unsigned char *kiln_slots(int row_of_block) {
    return kiln_shared + KILN_ACROSS_OFFSET + row_of_block * KILN_ACROSS_BYTES;
}
template <class Total> KILN_DEVICE typename Total::type *kiln_values(unsigned char *from) {
    return reinterpret_cast<typename Total::type *>(from + Total::place);
}
/* The columns of a vector lie apart: those that threads of a warp add to at a time are neighbours. */
template <class Total> KILN_DEVICE typename Total::type &kiln_slot(int row_of_block, kiln_i64 at) {
    constexpr int stride = (int)((Total::count + KILN_VECTOR_WIDTH - 1) / KILN_VECTOR_WIDTH);
    return kiln_values<Total>(
        kiln_slots(row_of_block))[(int)at % KILN_VECTOR_WIDTH * stride + (int)at / KILN_VECTOR_WIDTH];
}
/* A thread's own column, or the first thread's value of the row. */
template <class Total> KILN_DEVICE void kiln_add(kiln_i64 at, typename Total::type value) {
    const int row_of_block = KILN_ROWS_PER_BLOCK > 1 ? threadIdx.x / KILN_THREADS_PER_ROW : 0;
    typename Total::type &slot = kiln_slot<Total>(row_of_block, at);
    slot = Total::combine(slot, value);
}

template <class Total> KILN_DEVICE void kiln_clear_total() {
    for (int row = 0; row < KILN_ROWS_PER_BLOCK; ++row)
        for (kiln_i64 i = threadIdx.x; i < Total::count; i += KILN_THREADS)
            kiln_slot<Total>(row, i) = Total::identity();
}

/* The block's, of all its rows in their order. */
template <class Total> KILN_DEVICE void kiln_publish_total(const kiln_arguments &args) {
    typename Total::type *to = kiln_values<Total>(reinterpret_cast<unsigned char *>(args.workspace) +
                                                  (kiln_i64)blockIdx.x * KILN_ACROSS_BYTES);
    for (kiln_i64 i = threadIdx.x; i < Total::count; i += KILN_THREADS) {
        typename Total::type all = kiln_slot<Total>(0, i);
        for (int row = 1; row < KILN_ROWS_PER_BLOCK; ++row) all = Total::combine(all, kiln_slot<Total>(row, i));
        to[i] = all;
    }
}

KILN_DEVICE kiln_i64 kiln_across_blocks(const kiln_arguments &args) {
    const kiln_i64 blocks = (args.rows + KILN_ROWS_PER_BLOCK - 1) / KILN_ROWS_PER_BLOCK;
    return blocks < 1 ? 1 : blocks < KILN_ACROSS_BLOCKS ? blocks : KILN_ACROSS_BLOCKS;
}
template <class Total> KILN_DEVICE kiln_i64 kiln_columns_of_total(const kiln_arguments &) { return Total::count; }
template <class Total>
KILN_DEVICE typename Total::type kiln_published(const kiln_arguments &args, kiln_i64 block, kiln_i64 at) {
    unsigned char *workspace = reinterpret_cast<unsigned char *>(args.workspace);
    return kiln_values<Total>(workspace + block * KILN_ACROSS_BYTES)[at];
}

// SPDX-License-Identifier: Apache-2.0
/* Values of all rows, the second launch: 32 columns for a block, whose warps share what the first launch's blocks have
 * left in the workspace. They are combined in the blocks' order. */

/* What the warps have of a total, one total after another: any number of them takes no more. */
__shared__ kiln_u64 kiln_total_parts[KILN_TOTAL_WARPS * 32];

/* Every warp's lane gets the total of its column. */
template <class Total> KILN_DEVICE typename Total::type kiln_total(const kiln_arguments &args, kiln_i64 column) {
    typename Total::type(*parts)[32] = reinterpret_cast<typename Total::type(*)[32]>(kiln_total_parts);
    const kiln_i64 at = column < kiln_columns_of_total<Total>(args) ? column : 0, blocks = kiln_across_blocks(args);
    typename Total::type all = Total::identity();
    constexpr int unroll = KILN_TOTAL_UNROLL; /* nvcc knows no macros there */
#pragma unroll unroll
    for (kiln_i64 block = threadIdx.x / 32; block < blocks; block += KILN_TOTAL_WARPS)
        all = Total::combine(all, kiln_published<Total>(args, block, at));
    kiln_block_barrier(); /* nobody reads the total before */
    parts[threadIdx.x / 32][threadIdx.x % 32] = all;
    kiln_block_barrier();
    all = parts[0][threadIdx.x % 32];
#pragma unroll
    for (int warp = 1; warp < KILN_TOTAL_WARPS; ++warp) all = Total::combine(all, parts[warp][threadIdx.x % 32]);
    return all;
}

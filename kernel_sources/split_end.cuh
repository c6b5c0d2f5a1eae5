// SPDX-License-Identifier: Apache-2.0
/* The last launch of split rows, where it stores one value per row: KILN_ENDERS threads of a block share the chunks of a
 * row, or of a pack of rows. */

KILN_DEVICE kiln_i64 kiln_end_index() {
    return kiln_block() * (KILN_END_THREADS / KILN_ENDERS) + threadIdx.x / KILN_ENDERS;
}
KILN_DEVICE int kiln_ender() { return threadIdx.x % KILN_ENDERS; }

/* Each of them gets the combinations of all their values, in the order of the threads. */
template <int N, class V> KILN_DEVICE void kiln_combine_enders(V (&values)[N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = kiln_combine_lanes<32>(values[j]);
    if (KILN_ENDERS == 32) return;
    __shared__ V slots[KILN_END_THREADS / 32][N];
    if (threadIdx.x % 32 == 0)
#pragma unroll
        for (int j = 0; j < N; ++j) slots[threadIdx.x / 32][j] = values[j];
    kiln_block_barrier();
    constexpr int warps = KILN_ENDERS / 32;
    const int first = threadIdx.x / KILN_ENDERS * warps; /* of those that share with this thread */
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = kiln_combine_lanes<warps>(slots[first + threadIdx.x % warps][j]);
}

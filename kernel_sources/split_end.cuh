// SPDX-License-Identifier: Apache-2.0
/* The launches of split rows that combine what chunks come to, or store one value per row: KILN_FINAL_THREADS threads
 * of a block share the chunks of a row, or of a vector of rows. */

KILN_DEVICE kiln_i64 kiln_final_index() {
    return kiln_block() * (KILN_FINAL_BLOCK_THREADS / KILN_FINAL_THREADS) + threadIdx.x / KILN_FINAL_THREADS;
}
KILN_DEVICE int kiln_final_rank() { return threadIdx.x % KILN_FINAL_THREADS; }

/* Each of them gets the combinations of all their values, in the order of the threads. */
template <int N, class V> KILN_DEVICE void kiln_combine_final_threads(V (&values)[N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = kiln_combine_lanes<32>(values[j]);
    if constexpr (KILN_FINAL_THREADS > 32) {
        __shared__ V slots[KILN_FINAL_BLOCK_THREADS / 32][N];
        if (threadIdx.x % 32 == 0)
#pragma unroll
            for (int j = 0; j < N; ++j) slots[threadIdx.x / 32][j] = values[j];
        kiln_block_barrier();
        constexpr int warps = KILN_FINAL_THREADS / 32;
        const int first = threadIdx.x / KILN_FINAL_THREADS * warps; /* of those that share with this thread */
#pragma unroll
        for (int j = 0; j < N; ++j) values[j] = kiln_combine_lanes<warps>(slots[first + threadIdx.x % warps][j]);
    }
}

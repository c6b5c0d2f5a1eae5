/* Group: neighbouring rows lie side by side, so neighbouring threads work on neighbouring rows, and the members of a
 * row's group are threads of different warps. Blocks are whole: threads past the last row work on it too, unseen. */

KILN_DEVICE int kiln_member() { return threadIdx.x / KILN_ROWS_PER_BLOCK; }
KILN_DEVICE kiln_i64 kiln_row_index() {
    return kiln_block() / KILN_SPLITS * KILN_ROWS_PER_BLOCK + threadIdx.x % KILN_ROWS_PER_BLOCK;
}

/* Every member gets the combination of all members' values, combined in the order of the members. */
template <class V> KILN_DEVICE V kiln_all_reduce(V value) {
    if (KILN_THREADS_PER_ROW == 1) return value;
    __shared__ V slots[KILN_THREADS];
    slots[threadIdx.x] = value;
    kiln_block_barrier();
    value = slots[threadIdx.x % KILN_ROWS_PER_BLOCK];
#pragma unroll
    for (int m = 1; m < KILN_THREADS_PER_ROW; ++m)
        value = V::combine(value, slots[m * KILN_ROWS_PER_BLOCK + threadIdx.x % KILN_ROWS_PER_BLOCK]);
    return value;
}

// SPDX-License-Identifier: Apache-2.0
/* What is sorted of a row lies in the workspace, where each block has a part: shared memory has no room for it, but for
 * a tile. */

constexpr bool kiln_row_is_away = true;
__shared__ unsigned char *kiln_row_begin;
KILN_DEVICE void kiln_find_row_memory(const kiln_arguments &args) {
    if (threadIdx.x == 0) kiln_row_begin = args.workspace + blockIdx.x * (kiln_i64)KILN_ROW_BYTES;
    kiln_block_barrier();
}
KILN_DEVICE unsigned char *kiln_row_memory(int place) { return kiln_row_begin + place; }
/* What the row's threads tell each other. */
template <class Order, class State> KILN_DEVICE State &kiln_row_state() {
    __shared__ State state;
    return state;
}
template <class Order, class T> KILN_DEVICE T *kiln_tile_memory() {
    return reinterpret_cast<T *>(kiln_shared + KILN_TILE_OFFSET);
}

// SPDX-License-Identifier: Apache-2.0
/* What is sorted of a row lies in shared memory, in which a block may have several rows. */
constexpr bool kiln_row_is_away = false;
KILN_DEVICE unsigned char *kiln_row_memory(int place) {
    return kiln_shared + place + (int)threadIdx.x / KILN_THREADS_PER_ROW * KILN_ROW_BYTES;
}
/* What the row's threads tell each other. */
template <class Order, class State> KILN_DEVICE State &kiln_row_state() {
    return *reinterpret_cast<State *>(kiln_row_memory(Order::state));
}
/* A row is one tile. */
template <class Order, class T> KILN_DEVICE T *kiln_tile_memory() {
    return reinterpret_cast<T *>(kiln_row_memory(Order::composites));
}

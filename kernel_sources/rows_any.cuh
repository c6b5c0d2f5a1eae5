// SPDX-License-Identifier: Apache-2.0
/* What is sorted of a row of any number of columns lies in the workspace, where each block has a part, and goes through
 * the rows. Places in it are bytes of a column: what is before them has so many for each. A tile is in shared memory.
 */

constexpr bool kiln_row_is_away = true;
__shared__ struct {
    unsigned char *begin;
    kiln_i64 padded_cols;
    int cols;
} kiln_sorted;
KILN_DEVICE void kiln_find_row_memory(const kiln_arguments &args) {
    if (threadIdx.x == 0) {
        kiln_sorted.begin = args.workspace + blockIdx.x * args.shape.slice;
        kiln_sorted.padded_cols = args.shape.padded_cols;
        kiln_sorted.cols = (int)args.shape.cols;
    }
    kiln_block_barrier();
}
KILN_DEVICE unsigned char *kiln_row_memory(int place) { return kiln_sorted.begin + place * kiln_sorted.padded_cols; }
alignas(16) __shared__ unsigned char kiln_tile[KILN_TILE_BYTES]; /* of one order after another */
template <class Order, class T> KILN_DEVICE T *kiln_tile_memory() { return reinterpret_cast<T *>(kiln_tile); }
/* How many tiles a row is, and how often runs of tiles are merged until one is left. */
KILN_DEVICE int kiln_tiles(int tile) { return (kiln_sorted.cols + tile - 1) / tile; }
KILN_DEVICE int kiln_merges(int tiles) { return tiles > 1 ? 32 - __clz(tiles - 1) : 0; }

KILN_DEVICE int kiln_rank() { return threadIdx.x; }
KILN_DEVICE void kiln_row_barrier() { kiln_block_barrier(); }

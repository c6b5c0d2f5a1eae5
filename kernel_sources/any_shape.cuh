// SPDX-License-Identifier: Apache-2.0
/* Any shape: extents and strides are arguments. A tensor's element is found from a row and a column, each the number of
 * an element in some dimensions of which the last is the fastest. */

#define KILN_DIMS 8
struct kiln_shape {
    kiln_i64 rows, cols;
    kiln_i64 extents[KILN_DIMS]; /* of rows' dimensions, then of columns' */
    int row_dims, dims;          /* how many are rows'; all */
    int row_shift;               /* log2 of a row's threads: lanes of a warp, or all of a block ... */
    int rows_in_lanes;           /* ... unless neighbouring lanes have neighbouring rows, and warps share them */
    int chunks;                  /* blocks that share a row */
    int vectors;                 /* whether columns may be worked on as vectors */
};
struct kiln_strides {
    kiln_i64 at[KILN_DIMS];
};

KILN_DEVICE kiln_i64 kiln_divide_any(kiln_i64 n, kiln_i64 d) {
    return ((n | d) >> 32) == 0 ? (kiln_i64)((kiln_u32)n / (kiln_u32)d) : n / d;
}
/* Where element number n of the dimensions first <= d < end lies. */
KILN_DEVICE kiln_i64 kiln_place_in(const kiln_shape &shape, const kiln_strides &strides, int first, int end,
                                   kiln_i64 n) {
    kiln_i64 place = 0;
#pragma unroll 1
    for (int d = end - 1; d > first; --d) {
        const kiln_i64 above = kiln_divide_any(n, shape.extents[d]);
        place += (n - above * shape.extents[d]) * strides.at[d];
        n = above;
    }
    return first < end ? place + n * strides.at[first] : 0;
}
KILN_DEVICE kiln_i64 kiln_place_of_row(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 row) {
    return kiln_place_in(shape, strides, 0, shape.row_dims, row);
}
/* From a column to the next, where columns have one dimension. */
KILN_DEVICE kiln_i64 kiln_column_stride(const kiln_shape &shape, const kiln_strides &strides) {
    return shape.row_dims < shape.dims ? strides.at[shape.row_dims] : 0;
}
/* How far a column lies from its row's start. Vectors (N > 1) are of columns of one dimension. */
template <int N>
KILN_DEVICE kiln_i64 kiln_place_of_column(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 col) {
    if (N > 1) return col * kiln_column_stride(shape, strides);
    return kiln_place_in(shape, strides, shape.row_dims, shape.dims, col);
}

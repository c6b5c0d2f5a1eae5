// SPDX-License-Identifier: Apache-2.0
/* Any shape: extents and strides are arguments. Rows lie in the first dimensions, the last of which is the fastest; so
 * do columns in those behind them. Columns of the last dimension are a run: there every tensor has one stride. */

#define KILN_DIMS 8
struct kiln_shape {
    kiln_i64 rows, cols;
    kiln_i64 run, runs;       /* columns of a run; runs of a row */
    kiln_i64 axis, axis_runs; /* of the axis that blocks lie along: columns, and runs, the last of which may be short */
    kiln_i64 padded_cols, slice; /* of the workspace: columns, and bytes of a row's threads: sums, or what they sort */
    kiln_i64 extents[KILN_DIMS];
    int row_dims, dims; /* how many are rows'; all */
    int row_shift;      /* log2 of a row's threads: lanes of a warp, or all of a block ... */
    int run_shift;      /* ... of those that have a run of it together, where a row has several */
    int rows_in_lanes;  /* neighbouring lanes have neighbouring rows, and warps share a row */
    int chunks;         /* blocks that share a row */
    int blocks;         /* that go through the rows, where the workspace has a slice for each row under way; else 0 */
    int vectors;        /* whether runs may be worked on as vectors */
    int stage; /* what this launch does, where blocks share a row that is reduced: a phase, or outputs; < 0: all */
};
struct kiln_strides {
    kiln_i64 at[KILN_DIMS];
};

KILN_DEVICE kiln_i64 kiln_divide_any(kiln_i64 n, kiln_i64 d) {
    return ((n | d) >> 32) == 0 ? (kiln_i64)((kiln_u32)n / (kiln_u32)d) : n / d;
}
/* Where element number n of the dimensions first <= d < end lies, of which there is one at least. */
KILN_CALL kiln_i64 kiln_place_in(const kiln_shape &shape, const kiln_strides &strides, int first, int end, kiln_i64 n) {
    kiln_i64 place = 0;
#pragma unroll 1
    for (int d = end - 1; d > first; --d) {
        const kiln_i64 above = kiln_divide_any(n, shape.extents[d]);
        place += (n - above * shape.extents[d]) * strides.at[d];
        n = above;
    }
    return place + n * strides.at[first];
}
/* From the row's start on, of any column. */
KILN_DEVICE kiln_i64 kiln_place_of_column(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 col) {
    return kiln_place_in(shape, strides, shape.row_dims, shape.dims, col);
}
/* The same where a row may have no dimensions, and one column. */
KILN_DEVICE kiln_i64 kiln_place_of_any_column(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 col) {
    return shape.row_dims < shape.dims ? kiln_place_of_column(shape, strides, col) : 0;
}
/* From a column of a run to the next. */
KILN_DEVICE kiln_i64 kiln_column_stride(const kiln_shape &shape, const kiln_strides &strides) {
    return shape.row_dims < shape.dims ? strides.at[shape.dims - 1] : 0;
}
/* Columns of a run are one stride apart. From here on they are found as if all columns of the row were: where column 0
 * would lie, counted back from a column of the run, or from its first. */
KILN_DEVICE kiln_i64 kiln_place_around(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 col) {
    if (shape.dims - shape.row_dims < 2) return 0;
    return kiln_place_of_column(shape, strides, col) - col * kiln_column_stride(shape, strides);
}
KILN_DEVICE kiln_i64 kiln_place_of_run(const kiln_shape &shape, const kiln_strides &strides, kiln_i64 run) {
    if (shape.runs == 1) return 0;
    return kiln_place_in(shape, strides, shape.row_dims, shape.dims - 1, run) -
           run * shape.run * strides.at[shape.dims - 1];
}

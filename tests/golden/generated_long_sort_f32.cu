/* ---- the program ---- */

struct kiln_arguments {
    const float *in_x;
    float *out_y;
    kiln_i64 rows;
    unsigned char *workspace;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const float *in_x;
    float *out_y;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 100000;
    row.out_y = args.out_y + row.index * 100000;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<float, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_none.cuh]

#define KILN_ROW_BYTES 2071168
#define KILN_ROUND 0
#define KILN_TILE_OFFSET 0
[kernel_sources/rows_workspace.cuh]
[kernel_sources/sort.cuh]
/* argsort */
struct kiln_order1 {
    typedef float value;
    typedef kiln_composite<kiln_u32> composite;
    static constexpr int shift = 0;
    static constexpr kiln_u64 flip = 0x0, key_mask = 0xffffffff;
    static constexpr bool descending = false, chosen = false;
    static constexpr int columns = 100000, first = 100000, own = 17;
    static constexpr int place = 0, composites = 400000, columns_at = 2071168, state = 2071168; /* bytes */
    static KILN_MEMBER constexpr int most() { return columns; }
    static KILN_MEMBER constexpr int tiles() { return 12; }
    static KILN_MEMBER constexpr int merges() { return 4; }
};

/* What is sorted. */
struct kiln_values1 {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            if (span.has(j)) kiln_carried<float>(0, (int)(col + j)) = v0;
        }
    }
};

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<float, KILN_VECTOR_WIDTH> out_y;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v2 = kiln_value_in_order<kiln_order1, float>(0, col + j, KILN_END);
            const float v4 = v2 * 2.0f;
            out_y.at[j] = v4;
        }
        kiln_store<4>(out_y, row.out_y + col);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_find_row_memory(args);
    for (kiln_i64 index = kiln_row_index(); index < args.rows; index += gridDim.x) {
    kiln_row row(args, index);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_values1 values1;
    staging.each_vector(row, values1);
    kiln_sort<kiln_order1>(KILN_END);
    kiln_finish finish;
    staging.each_vector(row, finish);
    kiln_block_barrier(); /* before the next row takes this one's memory */
    }
}

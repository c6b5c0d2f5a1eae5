/* ---- the program ---- */

struct kiln_arguments {
    const float *in_x;
    const float *in_r;
    float *out_y;
    kiln_i64 rows;
};

KILN_DEVICE kiln_i64 kiln_offset_in_r(const kiln_arguments &args, kiln_index col)
{
    return 0 + (kiln_i64)(col / 1000) * 1;
}

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const float *in_x;
    const float *in_r;
    float *out_y;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 30050;
    row.in_r = args.in_r;
    row.out_y = args.out_y + row.index * 30050;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<float, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<1>(in_x, row.in_x + col);
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_none.cuh]

#define KILN_BLOCK_VALUES 0
#define KILN_BLOCK_STRIDE 12801
#define KILN_BLOCK_AXIS 30050
#define KILN_BLOCK_AXES 1
[kernel_sources/block_slots.cuh]
/* max of 100 columns */
struct kiln_block2 {
    static constexpr bool ordered = false;
    float r;
    static KILN_MEMBER kiln_block2 combine(const kiln_block2 &a, const kiln_block2 &b)
    {
        return {kiln_maximum(a.r, b.r)};
    }
    KILN_MEMBER kiln_block2 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        return {kiln_shuffle(r, lane_mask, lanes)};
    }
    typedef float value;
    typedef float result;
    static constexpr int columns = 100, lanes = 2, place = 51216;
    static KILN_MEMBER kiln_block2 identity() { return {(-kiln_infinity())}; }
    KILN_MEMBER void take(value v, int at)
    {
        (void)at, r = kiln_maximum(r, v);
    }
    KILN_MEMBER result get() const { return r; }
};

/* What kiln_block2 reduces. */
struct kiln_values2 {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = fabsf(v0);
            if (span.has(j)) kiln_value<kiln_block2>(col + j) = v1;
        }
    }
};

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<float, KILN_VECTOR_WIDTH> out_y;
        const float v2 = kiln_slot<kiln_block2>(col);
        const float v3 = kiln_widen(*(row.in_r + kiln_offset_in_r(row.args, col)));
        const float v4 = v2 * v3;
        const kiln_quotient d4(v4);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v5 = d4.divide(v0);
            out_y.at[j] = v5;
        }
        kiln_store<1>(out_y, row.out_y + col);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args, kiln_row_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_values2 values2;
    staging.each_vector(row, values2);
    kiln_reduce_slots<kiln_block2>();
    kiln_finish finish;
    staging.each_vector(row, finish);
}

/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_g;
    float *out_dw;
    float *out_t;
    kiln_i64 rows;
    unsigned char *workspace;
    float scalar_k;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_g;
    float *out_dw;
    float *out_t;
    float v2; /* sum */
    float v4; /* / */
    float v7; /* + */
    float v8; /* rsqrt */
    float v14; /* scalar */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1000;
    row.in_g = args.in_g + row.index * 1000;
    row.out_dw = args.out_dw;
    row.out_t = args.out_t;
    row.v14 = row.args.scalar_k;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_g;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
        kiln_load<4>(in_g, row.in_g + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r2; /* sum */
    KILN_MEMBER void clear()
    {
        r2 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = v0 * v0;
            r2 = r2 + v1;
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r2 = a.r2 + b.r2;
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r2 = kiln_shuffle(r2, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v2 = reduced.r2;
    row.v4 = kiln_divide_by(row.v2, 1000.0f, 0.00100000005f);
    row.v7 = row.v4 + 9.99999997e-07f;
    row.v8 = rsqrtf(row.v7);
}

#define KILN_ACROSS_BLOCKS 528
#define KILN_ACROSS_OFFSET 0
#define KILN_ACROSS_BYTES 4096
#define KILN_TOTAL_WARPS 32
#define KILN_TOTAL_UNROLL 8
/* Values of all rows: where they are among a row's, and how many. */
struct kiln_total11 {
    typedef float type;
    static constexpr int place = 0;
    static constexpr kiln_i64 count = 1000;
    static KILN_MEMBER type identity() { return 0.0f; }
    static KILN_MEMBER type combine(type a, type b) { return a + b; }
};
struct kiln_total12 {
    typedef float type;
    static constexpr int place = 4032;
    static constexpr kiln_i64 count = 1;
    static KILN_MEMBER type identity() { return (-kiln_infinity()); }
    static KILN_MEMBER type combine(type a, type b) { return kiln_maximum(a, b); }
};

[kernel_sources/across.cuh]
[kernel_sources/totals.cuh]
/* The outputs that have columns, and what columns add to values of all rows. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v5 = kiln_widen(staged.in_g.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v5 * v9;
            kiln_add<kiln_total11>(col + j, v10);
        }
    }
};

/* One row: its outputs, and what it adds to values of all rows. */
KILN_DEVICE void kiln_add_row(const kiln_arguments &args, kiln_i64 index)
{
    kiln_row row(args, index);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_phase0 phase0;
    phase0.clear();
    staging.each_vector(row, phase0);
    kiln_after0(row, kiln_all_reduce(phase0));
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_add<kiln_total12>(0, row.v4);
    kiln_row_barrier();
}

extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_clear_total<kiln_total11>();
    kiln_clear_total<kiln_total12>();
    kiln_block_barrier();
    const kiln_i64 together = (kiln_i64)gridDim.x * KILN_ROWS_PER_BLOCK;
    for (kiln_i64 index = kiln_row_index(); index < args.rows; index += together)
        kiln_add_row(args, index);
    kiln_block_barrier();
    kiln_publish_total<kiln_total11>(args);
    kiln_publish_total<kiln_total12>(args);
}

extern "C" __global__ void __launch_bounds__(32 * KILN_TOTAL_WARPS) kiln_kernel1(const __grid_constant__ kiln_arguments args)
{
    const struct {
        const kiln_arguments &args;
    } row = {args};
    (void)row;
    const kiln_i64 col = kiln_block() * 32 + threadIdx.x % 32;
    const float v11 = kiln_total<kiln_total11>(args, col);
    const float v12 = kiln_total<kiln_total12>(args, col);
    const float v13 = kiln_sqrt(v12);
    const float v14 = row.args.scalar_k;
    const float v15 = v13 * v14;
    if (threadIdx.x >= 32) return;
    if (col < 1000) kiln_narrow(v11, args.out_dw[col]);
    if (col < 1) kiln_narrow(v15, args.out_t[0]);
}

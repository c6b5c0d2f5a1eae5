/* ---- the program ---- */

struct kiln_arguments {
    const float *in_x;
    float *out_d;
    kiln_i64 rows;
    unsigned char *workspace;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const float *in_x;
    float *out_d;
    float v1; /* max */
    float v4; /* sum */
    kiln_softmax_sum d4;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1000;
    row.out_d = args.out_d;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<float, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<2>(in_x, row.in_x + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r1; /* max */
    KILN_MEMBER void clear()
    {
        r1 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r1 = kiln_maximum(r1, v0);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r1 = kiln_maximum(a.r1, b.r1);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r1 = kiln_shuffle(r1, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v1 = reduced.r1;
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r4; /* sum */
    KILN_MEMBER void clear()
    {
        r4 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp_beside_one(v2);
            r4 = r4 + v3;
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r4 = a.r4 + b.r4;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r4 = kiln_shuffle(r4, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v4 = reduced.r4;
    row.d4 = kiln_softmax_sum(row.v4);
}

#define KILN_ACROSS_BLOCKS 528
#define KILN_ACROSS_OFFSET 0
#define KILN_ACROSS_BYTES 4032
#define KILN_TOTAL_WARPS 32
#define KILN_TOTAL_UNROLL 8
/* Values of all rows: where they are among a row's, and how many. */
struct kiln_total6 {
    typedef float type;
    static constexpr int place = 0;
    static constexpr kiln_i64 count = 1000;
    static KILN_MEMBER type identity() { return 0.0f; }
    static KILN_MEMBER type combine(type a, type b) { return a + b; }
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
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp(v2);
            const float v5 = row.d4.part(v3);
            kiln_add<kiln_total6>(col + j, v5);
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
    kiln_phase1 phase1;
    phase1.clear();
    staging.each_vector(row, phase1);
    kiln_after1(row, kiln_all_reduce(phase1));
    staging.rematerialise();
    kiln_finish finish;
    staging.each_vector(row, finish);
    kiln_row_barrier();
}

extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_clear_total<kiln_total6>();
    kiln_block_barrier();
    const kiln_i64 together = (kiln_i64)gridDim.x * KILN_ROWS_PER_BLOCK;
    for (kiln_i64 index = kiln_row_index(); index < args.rows; index += together)
        kiln_add_row(args, index);
    kiln_block_barrier();
    kiln_publish_total<kiln_total6>(args);
}

extern "C" __global__ void __launch_bounds__(32 * KILN_TOTAL_WARPS) kiln_kernel1(const __grid_constant__ kiln_arguments args)
{
    const struct {
        const kiln_arguments &args;
    } row = {args};
    (void)row;
    kiln_launch_dependents();
    const kiln_i64 col = kiln_block() * 32 + threadIdx.x % 32;
    const float v6 = kiln_total<kiln_total6>(args, col);
    if (threadIdx.x >= 32) return;
    if (col < 1000) kiln_narrow(v6, args.out_d[col]);
}

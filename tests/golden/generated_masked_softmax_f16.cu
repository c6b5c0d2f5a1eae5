/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    const float *in_mask;
    kiln_f16 *out_y;
    kiln_i64 rows;
    kiln_i64 stride0_in_mask;
    float scalar_scale;
    kiln_divisor extent1;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    const float *in_mask;
    kiln_f16 *out_y;
    float v1; /* scalar */
    float v5; /* max */
    kiln_centre c5;
    float v8; /* sum */
    kiln_softmax_sum d8;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    const kiln_u32 q1 = (kiln_u32)row.index;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    row.in_x = args.in_x + row.index * 256;
    row.in_mask = args.in_mask + q0 * args.stride0_in_mask;
    row.out_y = args.out_y + row.index * 256;
    row.v1 = row.args.scalar_scale;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<float, KILN_VECTOR_WIDTH> in_mask;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<8>(in_x, row.in_x + col);
        kiln_load<4>(in_mask, row.in_mask + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r5; /* max */
    KILN_MEMBER void clear()
    {
        r5 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 * row.v1;
            const float v3 = kiln_widen(staged.in_mask.get(j));
            const float v4 = v2 + v3;
            r5 = kiln_maximum(r5, v4);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r5 = kiln_maximum(a.r5, b.r5);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r5 = kiln_shuffle(r5, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v5 = reduced.r5;
    row.c5 = row.v5;
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r8; /* sum */
    KILN_MEMBER void clear()
    {
        r8 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 * row.v1;
            const float v3 = kiln_widen(staged.in_mask.get(j));
            const float v4 = v2 + v3;
            const float v7 = row.c5.exp(v4);
            r8 = r8 + v7;
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r8 = a.r8 + b.r8;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r8 = kiln_shuffle(r8, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v8 = reduced.r8;
    row.d8 = kiln_softmax_sum(row.v8);
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 * row.v1;
            const float v3 = kiln_widen(staged.in_mask.get(j));
            const float v4 = v2 + v3;
            const float v7 = row.c5.exp(v4);
            const float v9 = row.d8.rough(v7);
            y0[j] = v9;
        }
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<8>(out_y, row.out_y + col);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args, kiln_row_index());
    if (row.index >= args.rows) return;
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
    kiln_finish finish;
    staging.each_vector(row, finish);
}

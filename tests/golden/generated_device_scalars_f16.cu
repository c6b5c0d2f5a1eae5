/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    kiln_i64 rows;
    const float *scalar_s;
    const kiln_i64 *scalar_k;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    float v1; /* scalar */
    float v3; /* max */
    kiln_centre c3;
    float v6; /* sum */
    kiln_softmax_sum d6;
    kiln_i64 v8; /* scalar */
    float v9; /* cast */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1024;
    row.out_y = args.out_y + row.index * 1024;
    row.v1 = ((float)*row.args.scalar_s);
    row.v8 = ((kiln_i64)*row.args.scalar_k);
    row.v9 = (float)row.v8;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<8>(in_x, row.in_x + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r3; /* max */
    KILN_MEMBER void clear()
    {
        r3 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 * row.v1;
            r3 = kiln_maximum(r3, v2);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r3 = kiln_maximum(a.r3, b.r3);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r3 = kiln_shuffle(r3, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v3 = reduced.r3;
    row.c3 = row.v3;
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r6; /* sum */
    KILN_MEMBER void clear()
    {
        r6 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 * row.v1;
            const float v5 = row.c3.exp(v2);
            r6 = r6 + v5;
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r6 = a.r6 + b.r6;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r6 = kiln_shuffle(r6, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v6 = reduced.r6;
    row.d6 = kiln_softmax_sum(row.v6);
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
            const float v5 = row.c3.exp(v2);
            const float v7 = row.d6.rough(v5);
            const float v10 = v7 + row.v9;
            y0[j] = v10;
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
    staging.rematerialise();
    kiln_finish finish;
    staging.each_vector(row, finish);
}

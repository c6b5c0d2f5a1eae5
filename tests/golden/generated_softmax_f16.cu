/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    float v1; /* max */
    kiln_centre c1;
    float v4; /* sum */
    kiln_softmax_sum d4;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1024;
    row.out_y = args.out_y + row.index * 1024;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
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
        r1 = kiln_maximum(r1, kiln_vector_maximum(staged.in_x));
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
    row.c1 = row.v1;
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
            const float v3 = row.c1.exp(v0);
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

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v3 = row.c1.exp(v0);
            const float v5 = row.d4.rough(v3);
            y0[j] = v5;
        }
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<4>(out_y, row.out_y + col);
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

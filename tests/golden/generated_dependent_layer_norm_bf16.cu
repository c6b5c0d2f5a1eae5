/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    const kiln_bf16 *in_b;
    kiln_bf16 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    const kiln_bf16 *in_b;
    kiln_bf16 *out_y;
    float v3; /* sum */
    float v5; /* / */
    float v8; /* sum */
    float v9; /* / */
    float v11; /* + */
    float v12; /* rsqrt */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 4096;
    row.in_w = args.in_w;
    row.in_b = args.in_b;
    row.out_y = args.out_y + row.index * 4096;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_w;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_b;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<8>(in_x, row.in_x + col);
        kiln_load<8>(in_w, row.in_w + col);
        kiln_load<8>(in_b, row.in_b + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r3; /* sum */
    KILN_MEMBER void clear()
    {
        r3 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r3 = r3 + v0;
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r3 = a.r3 + b.r3;
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
    row.v5 = row.v3 * 0.000244140625f;
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
            const float v6 = v0 - row.v5;
            const float v7 = v6 * v6;
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
    row.v9 = row.v8 * 0.000244140625f;
    row.v11 = row.v9 + 9.99999975e-06f;
    row.v12 = rsqrtf(row.v11);
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v2 = kiln_widen(staged.in_b.get(j));
            const float v6 = v0 - row.v5;
            const float v13 = v6 * row.v12;
            const float v14 = v13 * v1;
            const float v15 = v14 + v2;
            y0[j] = v15;
        }
        kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<8>(out_y, row.out_y + col);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_launch_dependents();
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

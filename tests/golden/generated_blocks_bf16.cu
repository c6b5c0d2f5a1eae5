/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    kiln_e4m3 *out_y;
    float *out_t;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    kiln_e4m3 *out_y;
    float *out_t;
    float v3; /* sum */
    float v5; /* / */
    float v7; /* + */
    float v8; /* rsqrt */
    float v16; /* max */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1024;
    row.in_w = args.in_w;
    row.out_y = args.out_y + row.index * 1024;
    row.out_t = args.out_t + row.index * 1;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_w;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<8>(in_x, row.in_x + col);
        kiln_load<8>(in_w, row.in_w + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* max of 128 columns */
struct kiln_block12 {
    static constexpr bool ordered = false;
    float r;
    static KILN_MEMBER kiln_block12 combine(const kiln_block12 &a, const kiln_block12 &b)
    {
        return {kiln_maximum(a.r, b.r)};
    }
    KILN_MEMBER kiln_block12 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        return {kiln_shuffle(r, lane_mask, lanes)};
    }
};

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
            const float v2 = v0 * v0;
            r3 = r3 + v2;
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
    row.v5 = row.v3 * 0.0009765625f;
    row.v7 = row.v5 + 9.99999997e-07f;
    row.v8 = rsqrtf(row.v7);
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r16; /* max */
    KILN_MEMBER void clear()
    {
        r16 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_block12 block12 = {(-kiln_infinity())};
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            const float v11 = fabsf(v10);
            block12.r = kiln_maximum(block12.r, v11);
        }
        const float v12 = kiln_reduce_block<16>(block12).r;
        const float v14 = kiln_divide_by(v12, 448.0f, 0.00223214296f);
        const kiln_quotient d14(v14);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            const float v11 = fabsf(v10);
            r16 = kiln_maximum(r16, v14);
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r16 = kiln_maximum(a.r16, b.r16);
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r16 = kiln_shuffle(r16, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v16 = reduced.r16;
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
        kiln_block12 block12 = {(-kiln_infinity())};
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            const float v11 = fabsf(v10);
            block12.r = kiln_maximum(block12.r, v11);
        }
        const float v12 = kiln_reduce_block<16>(block12).r;
        const float v14 = kiln_divide_by(v12, 448.0f, 0.00223214296f);
        const kiln_quotient d14(v14);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            const float v11 = fabsf(v10);
            const float v15 = d14.rough(v10);
            y0[j] = v15;
        }
        kiln_vector<kiln_e4m3, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<8>(out_y, row.out_y + col);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((float)row.v16, *row.out_t);
}


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
    if (kiln_rank() == 0) kiln_finish_row(row);
}

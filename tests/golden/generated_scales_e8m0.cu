/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    kiln_e8m0 *out_m;
    kiln_e4m3 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    kiln_e8m0 *out_m;
    kiln_e4m3 *out_y;
    float v2; /* max */
    float v4; /* / */
    float v5; /* round_to */
    kiln_quotient d5;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1024;
    row.out_m = args.out_m + row.index * 1;
    row.out_y = args.out_y + row.index * 1024;
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
    float r2; /* max */
    KILN_MEMBER void clear()
    {
        r2 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = fabsf(v0);
            r2 = kiln_maximum(r2, v1);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r2 = kiln_maximum(a.r2, b.r2);
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
    row.v4 = kiln_divide_by(row.v2, 448.0f, 0.00223214296f);
    row.v5 = kiln_round_to<kiln_e8m0>(row.v4);
    row.d5 = kiln_quotient(row.v5);
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y1[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v6 = row.d5.rough(v0);
            y1[j] = v6;
        }
        kiln_vector<kiln_e4m3, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y1, out_y);
        kiln_store<16>(out_y, row.out_y + col);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((float)row.v4, *row.out_m);
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
    staging.rematerialise();
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    const kiln_f16 *in_t;
    const int *in_i;
    float *out_l;
    kiln_f16 *out_y;
    kiln_i64 rows;
    kiln_i64 count_in_t;
    kiln_i64 pitch_in_t;
    kiln_i64 count_out_y;
    kiln_i64 pitch_out_y;
    kiln_i64 size1;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    const kiln_f16 *in_t;
    const int *in_i;
    float *out_l;
    kiln_f16 *out_y;
    bool writes_out_y;
    int v1; /* input */
    kiln_i64 v2; /* cast */
    kiln_i64 v4; /* rows */
    bool v6; /* >= */
    bool v7; /* < */
    bool v8; /* && */
    float v12; /* max */
    bool v13; /* isfinite */
    float v15; /* where */
    float v18; /* sum */
    float v19; /* log */
    float v20; /* + */
    float v21; /* take */
    kiln_i64 v22; /* size */
    bool v23; /* < */
    bool v24; /* && */
    float v25; /* where */
    float v26; /* - */
    int v28; /* - */
    kiln_i64 v29; /* cast */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 1024;
    row.in_t = args.in_t;
    row.in_i = args.in_i + row.index * 1;
    row.out_l = args.out_l + row.index * 1;
    row.out_y = args.out_y;
    row.v1 = kiln_widen(*row.in_i);
    row.v2 = kiln_to_i64(row.v1);
    row.in_t += ((kiln_u64)row.v2 < (kiln_u64)args.count_in_t ? row.v2 : 0) * args.pitch_in_t;
    row.v4 = row.args.count_in_t;
    row.v6 = row.v2 >= 0LL;
    row.v7 = row.v2 < row.v4;
    row.v8 = row.v6 & row.v7;
    row.v21 = (kiln_u64)row.v2 < 1024ULL ? kiln_widen(row.in_x[row.v2]) : float(0);
    row.v22 = row.args.size1;
    row.v23 = row.v2 < row.v22;
    row.v24 = row.v6 & row.v23;
    row.v25 = row.v24 ? row.v21 : kiln_nan();
    row.v28 = kiln_sub(row.v1, 1);
    row.v29 = kiln_to_i64(row.v28);
    row.writes_out_y = (kiln_u64)row.v29 < (kiln_u64)row.args.count_out_y;
    row.out_y += row.writes_out_y ? row.v29 * row.args.pitch_out_y : 0;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_t;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
        kiln_load<4>(in_t, row.in_t + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r12; /* max */
    KILN_MEMBER void clear()
    {
        r12 = (-kiln_infinity());
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v3 = kiln_widen(staged.in_t.get(j));
            const float v10 = row.v8 ? v3 : kiln_nan();
            const float v11 = v0 + v10;
            r12 = kiln_maximum(r12, v11);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r12 = kiln_maximum(a.r12, b.r12);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r12 = kiln_shuffle(r12, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v12 = reduced.r12;
    row.v13 = isfinite(row.v12);
    row.v15 = row.v13 ? row.v12 : 0.0f;
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r18; /* sum */
    KILN_MEMBER void clear()
    {
        r18 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v3 = kiln_widen(staged.in_t.get(j));
            const float v10 = row.v8 ? v3 : kiln_nan();
            const float v11 = v0 + v10;
            const float v16 = v11 - row.v15;
            const float v17 = kiln_exp_beside_one(v16);
            r18 = r18 + v17;
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r18 = a.r18 + b.r18;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r18 = kiln_shuffle(r18, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v18 = reduced.r18;
    row.v19 = logf(row.v18);
    row.v20 = row.v19 + row.v15;
    row.v26 = row.v20 - row.v25;
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y1[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v3 = kiln_widen(staged.in_t.get(j));
            const float v10 = row.v8 ? v3 : kiln_nan();
            const float v11 = v0 + v10;
            y1[j] = v11;
        }
        if (row.writes_out_y) {
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y1, out_y);
        kiln_store<4>(out_y, row.out_y + col);
        }
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((float)row.v26, *row.out_l);
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

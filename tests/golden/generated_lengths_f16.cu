/* ---- the program ---- */

struct kiln_arguments {
    const int *in_n;
    const kiln_f16 *in_x;
    const kiln_f16 *in_w;
    kiln_f16 *out_y;
    kiln_i64 *out_k;
    float *out_m;
    kiln_i64 rows;
    kiln_i64 size1;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    int shift; /* elements of the first vector before the row */
    kiln_index cols; /* that the row has */
    const int *in_n;
    const kiln_f16 *in_x;
    const kiln_f16 *in_w;
    kiln_f16 *out_y;
    kiln_i64 *out_k;
    float *out_m;
    int v0; /* input */
    float v2; /* max */
    float v5; /* sum */
    kiln_softmax_sum d5;
    kiln_i64 v9; /* argmax */
    float v10; /* sum */
    kiln_i64 v11; /* cast */
    kiln_i64 v13; /* maximum */
    kiln_i64 v14; /* size */
    kiln_i64 v15; /* minimum */
    float v16; /* cast */
    float v17; /* / */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_n = args.in_n + row.index * 1;
    row.in_x = args.in_x + row.index * 4096;
    row.in_w = args.in_w;
    row.out_y = args.out_y + row.index * 4096;
    row.out_k = args.out_k + row.index * 1;
    row.out_m = args.out_m + row.index * 1;
    row.shift = (int)(row.index * 0 & (KILN_VECTOR_WIDTH - 1));
    row.v0 = kiln_widen(*row.in_n);
    row.v11 = kiln_to_i64(row.v0);
    row.v13 = kiln_maximum((int)row.v11, (int)0LL);
    row.v14 = row.args.size1;
    row.v15 = kiln_unseen(kiln_minimum((int)row.v13, (int)row.v14));
    row.v16 = (float)(int)row.v15;
    row.cols = (kiln_index)row.v15;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<8>(in_x, row.in_x + col, span.loaded(row));
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r2; /* max */
    kiln_arg<float> r9; /* argmax */
    float r10; /* sum */
    KILN_MEMBER void clear()
    {
        r2 = (-kiln_infinity());
        r9 = kiln_arg<float>::none((-kiln_infinity()));
        r10 = 0.0f;
    }
    KILN_MEMBER void whole_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        r2 = kiln_maximum(r2, kiln_vector_maximum(staged.in_x));
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v1 = kiln_widen(staged.in_x.get(j));
            r9.take_max(v1, col + j);
            r10 = r10 + v1;
        }
    }
    KILN_MEMBER void masked_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v1 = kiln_widen(staged.in_x.get(j));
            r2 = kiln_maximum(r2, (span.has(j) ? v1 : (-kiln_infinity())));
            if (span.has(j)) r9.take_max(v1, col + j);
            r10 = r10 + (span.has(j) ? v1 : 0.0f);
        }
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        if (span.whole())
            whole_vector(row, staged, col, span);
        else
            masked_vector(row, staged, col, span);
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r2 = kiln_maximum(a.r2, b.r2);
        c.r9 = kiln_argmax(a.r9, b.r9);
        c.r10 = a.r10 + b.r10;
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r2 = kiln_shuffle(r2, lane_mask, lanes);
        other.r9 = kiln_shuffle(r9, lane_mask, lanes);
        other.r10 = kiln_shuffle(r10, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v2 = reduced.r2;
    row.v9 = row.cols > 0 ? reduced.r9.index : -1;
    row.v10 = reduced.r10;
    row.v17 = kiln_ratio(row.v10, row.v16);
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r5; /* sum */
    KILN_MEMBER void clear()
    {
        r5 = 0.0f;
    }
    KILN_MEMBER void whole_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v1 = kiln_widen(staged.in_x.get(j));
            const float v3 = v1 - row.v2;
            const float v4 = kiln_exp_beside_one(v3);
            r5 = r5 + v4;
        }
    }
    KILN_MEMBER void masked_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v1 = kiln_widen(staged.in_x.get(j));
            const float v3 = v1 - row.v2;
            const float v4 = kiln_exp_beside_one(v3);
            r5 = r5 + (span.has(j) ? v4 : 0.0f);
        }
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        if (span.whole())
            whole_vector(row, staged, col, span);
        else
            masked_vector(row, staged, col, span);
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r5 = a.r5 + b.r5;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r5 = kiln_shuffle(r5, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v5 = reduced.r5;
    row.d5 = kiln_softmax_sum(row.v5);
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_w;
        kiln_fetch<8>(in_w, row.in_w + col, span);
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v1 = kiln_widen(staged.in_x.get(j));
            const float v3 = v1 - row.v2;
            const float v4 = kiln_exp_beside_one(v3);
            const float v6 = row.d5.rough(v4);
            const float v7 = kiln_widen(in_w.get(j));
            const float v8 = v6 * v7;
            y0[j] = v8;
        }
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_put<8>(out_y, row.out_y + col, span);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((kiln_i64)row.v9, *row.out_k);
    kiln_narrow((float)row.v17, *row.out_m);
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

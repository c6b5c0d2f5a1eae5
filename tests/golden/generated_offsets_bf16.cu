/* ---- the program ---- */

struct kiln_arguments {
    const int *in_o;
    const kiln_bf16 *in_x;
    const float *in_r;
    kiln_bf16 *out_y;
    kiln_i64 *out_k;
    float *out_t;
    kiln_i64 rows;
    kiln_i64 stride1_in_o;
    kiln_i64 stride0_in_x;
    kiln_i64 stride1_in_r;
    kiln_i64 stride0_out_y;
    kiln_i64 size2;
    kiln_divisor extent1;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    int shift; /* elements of the first vector before the row */
    kiln_index cols; /* that the row has */
    const int *in_o;
    const kiln_bf16 *in_x;
    const float *in_r;
    kiln_bf16 *out_y;
    kiln_i64 *out_k;
    float *out_t;
    float v1; /* max */
    float v4; /* sum */
    kiln_softmax_sum d4;
    float v6; /* input */
    kiln_i64 v8; /* argmax */
    float v9; /* take */
    kiln_i64 v10; /* length */
    bool v12; /* >= */
    bool v13; /* < */
    bool v14; /* && */
    float v16; /* where */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]
[kernel_sources/offsets.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    const kiln_u32 q1 = (kiln_u32)row.index;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    row.in_o = args.in_o + c1 * args.stride1_in_o;
    row.in_x = args.in_x + q0 * args.stride0_in_x;
    row.in_r = args.in_r + c1 * args.stride1_in_r;
    row.out_y = args.out_y + q0 * args.stride0_out_y;
    row.out_k = args.out_k + row.index * 1;
    row.out_t = args.out_t + row.index * 1;
    const kiln_i64 begin = kiln_between((kiln_i64)kiln_widen(row.in_o[0]), 0, args.size2);
    const kiln_i64 end = kiln_between((kiln_i64)kiln_widen(row.in_o[1]), begin, args.size2);
    row.cols = (kiln_index)(end - begin);
    row.in_x += begin;
    row.out_y += begin;
    row.shift = (int)((row.index * 0 + begin) & (KILN_VECTOR_WIDTH - 1));
    row.v6 = kiln_widen(*row.in_r);
    row.v10 = (kiln_i64)row.cols;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<8>(in_x, row.in_x + col, span);
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_none.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r1; /* max */
    kiln_arg<float> r8; /* argmax */
    KILN_MEMBER void clear()
    {
        r1 = (-kiln_infinity());
        r8 = kiln_arg<float>::none((-kiln_infinity()));
    }
    KILN_MEMBER void whole_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        r1 = kiln_maximum(r1, kiln_vector_maximum(staged.in_x));
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r8.take_max(v0, col + j);
        }
    }
    KILN_MEMBER void masked_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r1 = kiln_maximum(r1, (span.has(j) ? v0 : (-kiln_infinity())));
            if (span.has(j)) r8.take_max(v0, col + j);
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
        c.r1 = kiln_maximum(a.r1, b.r1);
        c.r8 = kiln_argmax(a.r8, b.r8);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r1 = kiln_shuffle(r1, lane_mask, lanes);
        other.r8 = kiln_shuffle(r8, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v1 = reduced.r1;
    row.v8 = row.cols > 0 ? reduced.r8.index : -1;
    row.v9 = (kiln_u64)row.v8 < (kiln_u64)row.cols ? kiln_widen(row.in_x[row.v8]) : float(0);
    row.v12 = row.v8 >= 0LL;
    row.v13 = row.v8 < row.v10;
    row.v14 = row.v12 & row.v13;
    row.v16 = row.v14 ? row.v9 : kiln_nan();
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    float r4; /* sum */
    KILN_MEMBER void clear()
    {
        r4 = 0.0f;
    }
    KILN_MEMBER void whole_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp_beside_one(v2);
            r4 = r4 + v3;
        }
    }
    KILN_MEMBER void masked_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp_beside_one(v2);
            r4 = r4 + (span.has(j) ? v3 : 0.0f);
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

/* Phases 0 and 1 in one pass and one exchange. */
KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v1 = reduced.r1;
}
KILN_DEVICE kiln_phase1 kiln_correct(kiln_phase1 part, const kiln_phase0 &from, const kiln_phase0 &to)
{
    part.r4 = kiln_move_exp(part.r4, from.r1, to.r1);
    return part;
}
[kernel_sources/online.cuh]
typedef kiln_together<kiln_phase0, kiln_phase1> kiln_online;

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp_beside_one(v2);
            const float v5 = row.d4.rough(v3);
            const float v7 = v5 * row.v6;
            y0[j] = v7;
        }
        kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_put<8>(out_y, row.out_y + col, span);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((kiln_i64)row.v8, *row.out_k);
    kiln_narrow((float)row.v16, *row.out_t);
}


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args, kiln_row_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_online phase0;
    phase0.clear();
    staging.each_online(row, phase0);
    {
        const kiln_online reduced = kiln_all_reduce(phase0);
        kiln_after0(row, reduced.first);
        kiln_after1(row, reduced.second);
    }
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

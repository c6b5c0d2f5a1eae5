/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    kiln_bf16 *out_y;
    kiln_i64 *out_i;
    float *out_t;
    kiln_i64 rows;
    kiln_i64 row_out_i;
};

KILN_DEVICE kiln_i64 kiln_offset_out_i(const kiln_arguments &args, kiln_index col)
{
    return 0 + (kiln_i64)(col / 7) * 1;
}

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    kiln_bf16 *out_y;
    kiln_i64 *out_i;
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
    row.in_x = args.in_x + row.index * 1234;
    row.in_w = args.in_w;
    row.out_y = args.out_y + row.index * 1234;
    row.out_i = args.out_i + row.index * args.row_out_i;
    row.out_t = args.out_t + row.index * 1;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_w;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<1>(in_x, row.in_x + col);
        kiln_load<1>(in_w, row.in_w + col);
    }
};

[kernel_sources/staging_registers.cuh]

#define KILN_BLOCK_VALUES 0
#define KILN_BLOCK_STRIDE 1235
#define KILN_BLOCK_AXIS 1234
#define KILN_BLOCK_AXES 1
[kernel_sources/block_slots.cuh]
/* sum of 100 columns */
struct kiln_block11 {
    static constexpr bool ordered = false;
    float r;
    static KILN_MEMBER kiln_block11 combine(const kiln_block11 &a, const kiln_block11 &b)
    {
        return {a.r + b.r};
    }
    KILN_MEMBER kiln_block11 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        return {kiln_shuffle(r, lane_mask, lanes)};
    }
    typedef float value;
    typedef float result;
    static constexpr int columns = 100, lanes = 8, place = 4944;
    static KILN_MEMBER kiln_block11 identity() { return {0.0f}; }
    KILN_MEMBER void take(value v, int at)
    {
        (void)at, r = r + v;
    }
    KILN_MEMBER result get() const { return r; }
};

/* argmax of 7 columns */
struct kiln_block15 {
    static constexpr bool ordered = false;
    kiln_arg<float> r;
    static KILN_MEMBER kiln_block15 combine(const kiln_block15 &a, const kiln_block15 &b)
    {
        return {kiln_argmax(a.r, b.r)};
    }
    KILN_MEMBER kiln_block15 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        return {kiln_shuffle(r, lane_mask, lanes)};
    }
    typedef float value;
    typedef kiln_i64 result;
    static constexpr int columns = 7, lanes = 1, place = 5008;
    static KILN_MEMBER kiln_block15 identity() { return {kiln_arg<float>::none((-kiln_infinity()))}; }
    KILN_MEMBER void take(value v, int at)
    {
        r.take_max(v, at);
    }
    KILN_MEMBER result get() const { return r.index; }
};

/* What kiln_block11 reduces. */
struct kiln_values11 {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            if (span.has(j)) kiln_value<kiln_block11>(col + j) = v10;
        }
    }
};

/* What kiln_block15 reduces. */
struct kiln_values15 {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            if (span.has(j)) kiln_value<kiln_block15>(col + j) = v10;
        }
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
    row.v5 = kiln_divide_by(row.v3, 1234.0f, 0.00081037276f);
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
        const float v11 = kiln_slot<kiln_block11>(col);
        const float v12 = (float)kiln_columns_of_block<100>(col);
        const float v13 = kiln_ratio(v11, v12);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            r16 = kiln_maximum(r16, v13);
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
        const float v11 = kiln_slot<kiln_block11>(col);
        const float v12 = (float)kiln_columns_of_block<100>(col);
        const float v13 = kiln_ratio(v11, v12);
        const kiln_i64 v15 = kiln_slot<kiln_block15>(col);
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v9 = v0 * row.v8;
            const float v10 = v9 * v1;
            const float v14 = v10 - v13;
            y0[j] = v14;
        }
        kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<1>(out_y, row.out_y + col);
        if (col % 7 == 0) kiln_narrow(v15, *(row.out_i + kiln_offset_out_i(row.args, col)));
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
    kiln_values11 values11;
    staging.each_vector(row, values11);
    kiln_reduce_slots<kiln_block11>();
    kiln_values15 values15;
    staging.each_vector(row, values15);
    kiln_reduce_slots<kiln_block15>();
    kiln_phase1 phase1;
    phase1.clear();
    staging.each_vector(row, phase1);
    kiln_after1(row, kiln_all_reduce(phase1));
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

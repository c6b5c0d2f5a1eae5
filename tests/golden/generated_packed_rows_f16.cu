/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    const kiln_f16 *in_w;
    kiln_f16 *out_m;
    float *out_y;
    kiln_i64 rows;
    kiln_i64 step0_in_x;
    kiln_i64 step0_out_y;
};

KILN_DEVICE kiln_i64 kiln_offset_in_x(const kiln_arguments &args, kiln_index col)
{
    return 0 + (kiln_i64)(col) * args.step0_in_x;
}

KILN_DEVICE kiln_i64 kiln_offset_out_y(const kiln_arguments &args, kiln_index col)
{
    return 0 + (kiln_i64)(col) * args.step0_out_y;
}

/* A vector of rows, in runs that lie side by side: where they lie in each tensor, and the values each has one of. */
struct kiln_row {
    const kiln_arguments &args;
    int chunk;
    kiln_i64 index[KILN_RUNS];
    int count[KILN_RUNS]; /* rows of the run that there are */
    const kiln_f16 *in_x[KILN_RUNS];
    const kiln_f16 *in_w[KILN_RUNS];
    kiln_f16 *out_m[KILN_RUNS];
    float *out_y[KILN_RUNS];
    float v1[KILN_VECTOR_WIDTH]; /* max */
    float v3[KILN_VECTOR_WIDTH]; /* sum */
    kiln_quotient d3[KILN_VECTOR_WIDTH];
    float v5[KILN_VECTOR_WIDTH]; /* input */
    KILN_MEMBER kiln_row(const kiln_arguments &a) : args(a) {}
};

[kernel_sources/group_columns.cuh]
[kernel_sources/layout_outer.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
#pragma unroll
    for (int i = 0; i < KILN_RUNS; ++i) {
    row.in_x[i] = args.in_x + row.index[i] * 1;
    row.in_w[i] = args.in_w + row.index[i] * 1;
    row.out_m[i] = args.out_m + row.index[i] * 1;
    row.out_y[i] = args.out_y + row.index[i] * 1;
    }
    const kiln_span span(row, 0, 0);
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_w;
    kiln_fetch_rows<1>(in_w, row.in_w, 0, span);
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
    row.v5[j] = kiln_widen(in_w.get(j));
    }
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch_rows<1>(in_x, row.in_x, kiln_offset_in_x(row.args, col), span);
    }
};

[kernel_sources/staging_registers.cuh]

struct kiln_state0 {
    static constexpr bool ordered = false;
    float r1; /* max */
    float r3; /* sum */
    KILN_MEMBER void clear()
    {
        r1 = (-kiln_infinity());
        r3 = 0.0f;
    }
    KILN_MEMBER void copy(const kiln_state0 &other)
    {
        r1 = other.r1;
        r3 = other.r3;
    }
    static KILN_MEMBER kiln_state0 combine(const kiln_state0 &a, const kiln_state0 &b)
    {
        kiln_state0 c;
        c.r1 = kiln_maximum(a.r1, b.r1);
        c.r3 = a.r3 + b.r3;
        return c;
    }
    KILN_MEMBER kiln_state0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_state0 other;
        other.r1 = kiln_shuffle(r1, lane_mask, lanes);
        other.r3 = kiln_shuffle(r3, lane_mask, lanes);
        return other;
    }
};
/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    typedef kiln_state0 state;
    state at[KILN_VECTOR_WIDTH];
    KILN_MEMBER void clear()
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) at[j].clear();
    }
    KILN_MEMBER state get(int j) const
    {
        state of_row = at[j];
        return of_row;
    }
    KILN_MEMBER void set(int j, const state &of_row)
    {
        at[j] = of_row;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            at[j].r1 = kiln_maximum(at[j].r1, v0);
            at[j].r3 = at[j].r3 + v0;
        }
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
    row.v1[j] = reduced.at[j].r1;
    row.v3[j] = reduced.at[j].r3;
    row.d3[j] = kiln_quotient(row.v3[j]);
    }
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<float, KILN_VECTOR_WIDTH> out_y;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1[j];
            const float v4 = row.d3[j].divide(v2);
            const float v6 = v4 * row.v5[j];
            out_y.at[j] = v6;
        }
        kiln_put_rows<1>(out_y, row.out_y, kiln_offset_out_y(row.args, col), span);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    const kiln_span span(row, 0, 0);
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) y0[j] = row.v1[j];
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_m;
        kiln_narrow_vector(y0, out_m);
        kiln_put_rows<1>(out_m, row.out_m, 0, span);
    }
}


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args);
    kiln_place(row);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_phase0 phase0;
    phase0.clear();
    staging.each_vector(row, phase0);
    kiln_after0(row, kiln_all_reduce(phase0, row));
    if (row.count[0] == 0) return;
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

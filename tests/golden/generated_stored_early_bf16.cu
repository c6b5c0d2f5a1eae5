/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    kiln_bf16 *out_y;
    float *out_db;
    kiln_i64 rows;
    unsigned char *workspace;
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
    const kiln_bf16 *in_x[KILN_RUNS];
    kiln_bf16 *out_y[KILN_RUNS];
    float *out_db[KILN_RUNS];
    float v3[KILN_VECTOR_WIDTH]; /* sum */
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
    row.out_y[i] = args.out_y + row.index[i] * 1;
    row.out_db[i] = args.out_db + row.index[i] * 1;
    }
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
    }
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch_rows<4>(in_x, row.in_x, kiln_offset_in_x(row.args, col), span);
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_none.cuh]

struct kiln_state0 {
    static constexpr bool ordered = false;
    float r3; /* sum */
    KILN_MEMBER void clear()
    {
        r3 = 0.0f;
    }
    KILN_MEMBER void copy(const kiln_state0 &other)
    {
        r3 = other.r3;
    }
    static KILN_MEMBER kiln_state0 combine(const kiln_state0 &a, const kiln_state0 &b)
    {
        kiln_state0 c;
        c.r3 = a.r3 + b.r3;
        return c;
    }
    KILN_MEMBER kiln_state0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_state0 other;
        other.r3 = kiln_shuffle(r3, lane_mask, lanes);
        return other;
    }
};
/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    typedef kiln_state0 state;
    state at[KILN_VECTOR_WIDTH];
    /* before: bytes of each block's results of the phases before */
    static constexpr int exchange = 0, before = 0;
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
            const float v1 = kiln_normcdf(v0);
            const float v2 = kiln_times_normcdf(v0, v0);
            at[j].r3 = at[j].r3 + v2;
        }
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
#pragma unroll
    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
    row.v3[j] = reduced.at[j].r3;
    }
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v1 = kiln_normcdf(v0);
            const float v2 = kiln_times_normcdf(v0, v0);
            y0[j] = v2;
        }
        kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_put_rows<4>(out_y, row.out_y, kiln_offset_out_y(row.args, col), span);
    }
};

/* Both, in one reading. */
struct kiln_stored {
    kiln_phase0 &phase;
    kiln_finish finish;
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        phase.vector(row, staged, col, span);
        finish.vector(row, staged, col, span);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    const kiln_span span(row, 0, 0);
    {
        kiln_vector<float, KILN_VECTOR_WIDTH> out_db;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) out_db.at[j] = row.v3[j];
        kiln_put_rows<4>(out_db, row.out_db, 0, span);
    }
}

[kernel_sources/split_end.cuh]
[kernel_sources/split_outer.cuh]

extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args);
    kiln_place(row);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_phase0 phase0;
    phase0.clear();
    kiln_stored stored = {phase0};
    staging.each_vector(row, stored);
    const kiln_phase0 partial = kiln_all_reduce(phase0, row);
    if (kiln_rank() == 0) kiln_publish(row, partial, row.chunk);
}

extern "C" __global__ void __launch_bounds__(KILN_FINAL_BLOCK_THREADS) kiln_kernel1(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_row row(args);
    kiln_place_at(row, kiln_final_index() * KILN_VECTOR_WIDTH, KILN_RUN_ROWS);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_after0(row, kiln_gather_final<kiln_phase0>(row));
    if (row.count[0] == 0) return;
    if (kiln_final_rank() == 0) kiln_finish_row(row);
}

/* ---- the program ---- */

struct kiln_arguments {
    const int *in_x;
    kiln_i64 *out_s;
    int *out_y;
    kiln_i64 rows;
    kiln_i64 scalar_k;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const int *in_x;
    kiln_i64 *out_s;
    int *out_y;
    kiln_i64 v1; /* scalar */
    kiln_i64 v4; /* sum */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 64;
    row.out_s = args.out_s + row.index * 1;
    row.out_y = args.out_y + row.index * 64;
    row.v1 = row.args.scalar_k;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<int, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
    }
};

[kernel_sources/staging_registers.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    kiln_i64 r4; /* sum */
    KILN_MEMBER void clear()
    {
        r4 = 0LL;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const int v0 = kiln_widen(staged.in_x.get(j));
            const kiln_i64 v2 = kiln_to_i64(v0);
            const kiln_i64 v3 = kiln_mul(v2, row.v1);
            r4 = kiln_add(r4, v3);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r4 = kiln_add(a.r4, b.r4);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r4 = kiln_shuffle(r4, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v4 = reduced.r4;
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<int, KILN_VECTOR_WIDTH> out_y;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const int v0 = kiln_widen(staged.in_x.get(j));
            const int v5 = kiln_sub(0, v0);
            const int v7 = kiln_remainder(v5, 7);
            const int v9 = kiln_shl(v0, 2);
            const int v10 = kiln_add(v7, v9);
            out_y.at[j] = v10;
        }
        kiln_store<4>(out_y, row.out_y + col);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((kiln_i64)row.v4, *row.out_s);
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

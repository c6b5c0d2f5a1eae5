/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    float *out_m;
    kiln_f16 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    int head; /* column of the first vector */
    const kiln_f16 *in_x;
    float *out_m;
    kiln_f16 *out_y;
    float v1; /* max */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 511;
    row.out_m = args.out_m + row.index * 1;
    row.out_y = args.out_y + row.index * 511;
    row.head = (int)(row.index * -3 & (KILN_VECTOR_WIDTH - 1));
}

/* One vector of columns of the inputs that stay with the row, as stored. */
template <int N> struct kiln_staged_of {
    kiln_vector<kiln_f16, N> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<4>(in_x, row.in_x + col);
    }
};
typedef kiln_staged_of<KILN_VECTOR_WIDTH> kiln_staged;

[kernel_sources/staging_peeled.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    float r1; /* max */
    KILN_MEMBER void clear()
    {
        r1 = (-kiln_infinity());
    }
    template <int N> KILN_MEMBER void vector(const kiln_row &row, const kiln_staged_of<N> &staged, kiln_index col, const kiln_span &span)
    {
        r1 = kiln_maximum(r1, kiln_vector_maximum(staged.in_x));
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r1 = kiln_maximum(a.r1, b.r1);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r1 = kiln_shuffle(r1, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v1 = reduced.r1;
}

/* The outputs that have columns. */
struct kiln_finish {
    template <int N> KILN_MEMBER void vector(const kiln_row &row, const kiln_staged_of<N> &staged, kiln_index col, const kiln_span &span)
    {
        float y1[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v2 = v0 - row.v1;
            const float v3 = kiln_exp_beside_one(v2);
            y1[j] = v3;
        }
        kiln_vector<kiln_f16, N> out_y;
        kiln_narrow_vector(y1, out_y);
        kiln_store<4>(out_y, row.out_y + col);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((float)row.v1, *row.out_m);
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
    staging.finish(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

/* ---- the program ---- */

struct kiln_arguments {
    const double *in_x;
    double *out_s;
    kiln_i64 rows;
    unsigned char *workspace;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    int shift; /* elements of the first vector before the row */
    kiln_u64 policy; /* of what is read once */
    const double *in_x;
    double *out_s;
    double v1; /* sum */
    double v3; /* / */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.policy = kiln_policy(args.rows <= 262);
    row.in_x = args.in_x + row.index * 200003;
    row.out_s = args.out_s + row.index * 1;
    row.shift = (int)(row.index * 1 & (KILN_VECTOR_WIDTH - 1));
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<double, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<2>(in_x, row.in_x + col, span.loaded(row), row.policy);
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_none.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    /* before: bytes of each block's results of the phases before */
    static constexpr int exchange = 0, before = 0;
    double r1; /* sum */
    KILN_MEMBER void clear()
    {
        r1 = 0.0;
    }
    KILN_MEMBER void whole_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const double v0 = kiln_widen(staged.in_x.get(j));
            r1 = r1 + v0;
        }
    }
    KILN_MEMBER void masked_vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const double v0 = kiln_widen(staged.in_x.get(j));
            r1 = r1 + (span.has(j) ? v0 : 0.0);
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
        c.r1 = a.r1 + b.r1;
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
    row.v3 = kiln_ratio(row.v1, 200003.0);
}

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((double)row.v3, *row.out_s);
}

[kernel_sources/split_end.cuh]
[kernel_sources/split.cuh]

extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_row row(args, kiln_row_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_phase0 phase0;
    phase0.clear();
    staging.each_vector(row, phase0);
    const kiln_phase0 partial = kiln_all_reduce(phase0);
    if (kiln_rank() == 0) kiln_publish(row, partial);
}

extern "C" __global__ void __launch_bounds__(KILN_FINAL_BLOCK_THREADS) kiln_kernel1(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_launch_dependents();
    kiln_row row(args, kiln_final_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_after0(row, kiln_gather_final<kiln_phase0>(row));
    if (kiln_final_rank() == 0) kiln_finish_row(row);
}

/* ---- the program ---- */

KILN_DEVICE float kiln_combine0(float a, float b)
{
    const float v0 = a;
    const float v2 = v0 * 0.5f;
    const float v3 = b;
    const float v4 = v2 + v3;
    return v4;
}

struct kiln_arguments {
    const float *in_x;
    float *out_s;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    int tile; /* the row's first element in the tile */
    const float *in_x;
    float *out_s;
    float v1; /* reduce */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_lanes.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 100;
    row.out_s = args.out_s + row.index * 1;
}

[kernel_sources/tile.cuh]
/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<float, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void recall(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_tile_recall(in_x, reinterpret_cast<float *>(kiln_shared + 0) + row.tile + col, span);
    }
    static KILN_MEMBER void fill(const kiln_arguments &args, kiln_i64 first, int rows)
    {
        kiln_tile_fill<4>(kiln_shared + 0, args.in_x + first * KILN_COLS, rows * KILN_COLS);
    }
    static KILN_MEMBER void drain(const kiln_arguments &args, kiln_i64 first, int rows)
    {
    }
};

[kernel_sources/staging_tile.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = true;
    float r1; /* reduce */
    KILN_MEMBER void clear()
    {
        r1 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r1 = kiln_combine0(r1, v0);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r1 = kiln_combine0(a.r1, b.r1);
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

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((float)row.v1, *row.out_s);
}


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    const kiln_i64 first = kiln_block() * KILN_ROWS_PER_BLOCK;
    if (first >= args.rows) return;
    const int rows = args.rows - first < KILN_ROWS_PER_BLOCK ? (int)(args.rows - first) : KILN_ROWS_PER_BLOCK;
    kiln_staged::fill(args, first, rows);
    kiln_copy_wait();
    kiln_block_barrier();
    kiln_staging staging;
    for (int r = (int)threadIdx.x / KILN_THREADS_PER_ROW; r < rows; r += KILN_THREADS / KILN_THREADS_PER_ROW) {
        kiln_row row(args, first + r);
        kiln_begin(row);
        row.tile = r * KILN_COLS;
        kiln_phase0 phase0;
        phase0.clear();
        staging.each_vector(row, phase0);
        kiln_after0(row, kiln_all_reduce(phase0));
        if (kiln_rank() == 0) kiln_finish_row(row);
    }
}

/* ---- the program ---- */

struct kiln_arguments {
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    const kiln_bf16 *in_b;
    kiln_bf16 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_bf16 *in_x;
    const kiln_bf16 *in_w;
    const kiln_bf16 *in_b;
    kiln_bf16 *out_y;
    float v3; /* sum */
    float v5; /* / */
    float v8; /* sum */
    float v9; /* / */
    float v11; /* + */
    float v12; /* rsqrt */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/cluster.cuh]
[kernel_sources/group_cluster.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 4096;
    row.in_w = args.in_w;
    row.in_b = args.in_b;
    row.out_y = args.out_y + row.index * 4096;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_w;
    kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> in_b;
    static KILN_MEMBER void copy(unsigned char *shared, int slot, const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        {
            kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> *to = reinterpret_cast<kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> *>(shared + 0) + slot;
            kiln_fetch_async<8>(to, row.in_x + col, span);
        }
    }
    KILN_MEMBER void recall(const unsigned char *shared, int slot)
    {
        in_x = reinterpret_cast<const kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> *>(shared + 0)[slot];
    }
    template <int I> KILN_MEMBER void load_invariants(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        if constexpr (I == 0) {
            kiln_fetch_early<8>(in_w, row.in_w + col, span);
        }
        if constexpr (I == 1) {
            kiln_fetch_early<8>(in_b, row.in_b + col, span);
        }
    }
};

[kernel_sources/rows_in_flight.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    /* before: bytes of each block's results of the phases before */
    static constexpr int exchange = 0, before = 0;
    float r3; /* sum */
    float count; /* of elements */
    KILN_MEMBER void clear()
    {
        count = 0;
        r3 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            r3 = r3 + v0;
        }
        count += span.high - span.low;
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r3 = a.r3 + b.r3;
        c.count = a.count + b.count;
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r3 = kiln_shuffle(r3, lane_mask, lanes);
        other.count = kiln_shuffle(count, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v3 = reduced.r3;
    row.v5 = row.v3 * 0.000244140625f;
}

/* Phase 1: the reductions combined together, in one exchange. */
struct kiln_phase1 {
    static constexpr bool ordered = false;
    /* before: bytes of each block's results of the phases before */
    static constexpr int exchange = 1, before = 16;
    float r8; /* sum */
    KILN_MEMBER void clear()
    {
        r8 = 0.0f;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_x.get(j));
            const float v6 = v0 - row.v5;
            const float v7 = v6 * v6;
            r8 = r8 + v7;
        }
    }
    static KILN_MEMBER kiln_phase1 combine(const kiln_phase1 &a, const kiln_phase1 &b)
    {
        kiln_phase1 c;
        c.r8 = a.r8 + b.r8;
        return c;
    }
    KILN_MEMBER kiln_phase1 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase1 other;
        other.r8 = kiln_shuffle(r8, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after1(kiln_row &row, const kiln_phase1 &reduced)
{
    row.v8 = reduced.r8;
    row.v9 = row.v8 * 0.000244140625f;
    row.v11 = row.v9 + 9.99999975e-06f;
    row.v12 = rsqrtf(row.v11);
}

/* Phases 0 and 1 in one pass and one exchange. */
KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v5 = kiln_near_mean(reduced.r3, reduced.count);
}
KILN_DEVICE kiln_phase1 kiln_correct(kiln_phase1 part, const kiln_phase0 &from, const kiln_phase0 &to)
{
    part.r8 = kiln_move_square(part.r8, from.count, kiln_near_mean(from.r3, from.count), kiln_near_mean(to.r3, to.count));
    return part;
}
KILN_DEVICE void kiln_settle(const kiln_row &row, kiln_phase1 &part, const kiln_phase0 &all)
{
    part.r8 = kiln_settle_square(part.r8, all.count, row.v5, kiln_near_mean(all.r3, all.count));
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
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v2 = kiln_widen(staged.in_b.get(j));
            const float v6 = v0 - row.v5;
            const float v13 = v6 * row.v12;
            const float v14 = v13 * v1;
            const float v15 = v14 + v2;
            y0[j] = v15;
        }
        kiln_vector<kiln_bf16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_store<8>(out_y, row.out_y + col);
    }
};


extern "C" __global__ void __cluster_dims__(KILN_BLOCKS_PER_ROW, 1, 1) __launch_bounds__(KILN_THREADS, 8) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    const kiln_i64 first = kiln_first_in_flight();
    if (first >= args.rows) return;
    const int count = kiln_count_in_flight(args.rows, first);
    kiln_staging staging;
    staging.fill(args, first, count);
    kiln_group_begin();
#pragma unroll 1
    for (int r = 0; r < count; ++r) {
        kiln_row row(args, first + r * KILN_ROW_SPACING);
        kiln_begin(row);
        kiln_copy_wait_but(KILN_ROWS_PER_BLOCK - 1 - r);
        kiln_online phase0;
        phase0.clear();
        staging.each_online(row, r, phase0);
        kiln_contribute(phase0, r);
    }
    kiln_exchange<kiln_online>(count);
    kiln_row rows[KILN_ROWS_PER_BLOCK] = {{args, first}, {args, first + (1 < count ? 1 * KILN_ROW_SPACING : 0)}};
#pragma unroll
    for (int r = 0; r < KILN_ROWS_PER_BLOCK; ++r) {
        kiln_row &row = rows[r];
        kiln_begin(row);
    {
        const kiln_online reduced = kiln_reduced<kiln_online>(r < count ? r : 0);
        kiln_after0(row, reduced.first);
        kiln_after1(row, reduced.second);
    }
    }
    kiln_finish finish;
    staging.finish(rows, count, finish);
}

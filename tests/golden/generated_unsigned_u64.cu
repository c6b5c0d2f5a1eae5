/* ---- the program ---- */

struct kiln_arguments {
    const kiln_u64 *in_x;
    const kiln_u32 *in_k;
    kiln_u64 *out_s;
    kiln_u32 *out_n;
    kiln_u32 *out_y;
    kiln_i64 rows;
};

/* One row: where it lies in each tensor, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_u64 *in_x;
    const kiln_u32 *in_k;
    kiln_u64 *out_s;
    kiln_u32 *out_n;
    kiln_u32 *out_y;
    kiln_u64 v1; /* sum */
    kiln_u32 v3; /* max */
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/group_block.cuh]
[kernel_sources/layout_inner.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x + row.index * 64;
    row.in_k = args.in_k + row.index * 64;
    row.out_s = args.out_s + row.index * 1;
    row.out_n = args.out_n + row.index * 1;
    row.out_y = args.out_y + row.index * 64;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_u64, KILN_VECTOR_WIDTH> in_x;
    kiln_vector<kiln_u32, KILN_VECTOR_WIDTH> in_k;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_load<2>(in_x, row.in_x + col);
        kiln_load<4>(in_k, row.in_k + col);
    }
    static KILN_MEMBER void copy(unsigned char *shared, int slot, const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        {
            kiln_vector<kiln_u64, KILN_VECTOR_WIDTH> *to = reinterpret_cast<kiln_vector<kiln_u64, KILN_VECTOR_WIDTH> *>(shared + 0) + slot;
            kiln_fetch_async<2>(to, row.in_x + col, span);
        }
        {
            kiln_vector<kiln_u32, KILN_VECTOR_WIDTH> *to = reinterpret_cast<kiln_vector<kiln_u32, KILN_VECTOR_WIDTH> *>(shared + 1024) + slot;
            kiln_fetch_async<4>(to, row.in_k + col, span);
        }
    }
    KILN_MEMBER void recall(const unsigned char *shared, int slot)
    {
        in_x = reinterpret_cast<const kiln_vector<kiln_u64, KILN_VECTOR_WIDTH> *>(shared + 0)[slot];
        in_k = reinterpret_cast<const kiln_vector<kiln_u32, KILN_VECTOR_WIDTH> *>(shared + 1024)[slot];
    }
};

[kernel_sources/stream.cuh]
[kernel_sources/staging_shared.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    kiln_u64 r1; /* sum */
    kiln_u32 r3; /* max */
    KILN_MEMBER void clear()
    {
        r1 = 0ULL;
        r3 = 0u;
    }
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const kiln_u64 v0 = kiln_widen(staged.in_x.get(j));
            const kiln_u32 v2 = kiln_widen(staged.in_k.get(j));
            r1 = kiln_add(r1, v0);
            r3 = kiln_maximum(r3, v2);
        }
    }
    static KILN_MEMBER kiln_phase0 combine(const kiln_phase0 &a, const kiln_phase0 &b)
    {
        kiln_phase0 c;
        c.r1 = kiln_add(a.r1, b.r1);
        c.r3 = kiln_maximum(a.r3, b.r3);
        return c;
    }
    KILN_MEMBER kiln_phase0 shuffle(int lane_mask, kiln_u32 lanes) const
    {
        kiln_phase0 other;
        other.r1 = kiln_shuffle(r1, lane_mask, lanes);
        other.r3 = kiln_shuffle(r3, lane_mask, lanes);
        return other;
    }
};

KILN_DEVICE void kiln_after0(kiln_row &row, const kiln_phase0 &reduced)
{
    row.v1 = reduced.r1;
    row.v3 = reduced.r3;
}

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        kiln_vector<kiln_u32, KILN_VECTOR_WIDTH> out_y;
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const kiln_u64 v0 = kiln_widen(staged.in_x.get(j));
            const kiln_u32 v2 = kiln_widen(staged.in_k.get(j));
            const kiln_u64 v5 = kiln_shr(v0, 33LL);
            const kiln_u32 v6 = kiln_to_u32(v5);
            const kiln_u32 v8 = kiln_mul(v2, 2654435761u);
            const kiln_u32 v9 = v6 ^ v8;
            out_y.at[j] = v9;
        }
        kiln_store<4>(out_y, row.out_y + col);
    }
};

/* Outputs of one value per row. */
KILN_DEVICE void kiln_finish_row(const kiln_row &row)
{
    kiln_narrow((kiln_u64)row.v1, *row.out_s);
    kiln_narrow((kiln_u32)row.v3, *row.out_n);
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
    staging.reduce_arriving(row, phase0);
    kiln_after0(row, kiln_all_reduce(phase0));
    kiln_finish finish;
    staging.each_vector(row, finish);
    if (kiln_rank() == 0) kiln_finish_row(row);
}

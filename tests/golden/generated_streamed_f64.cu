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
    int shift; /* elements of the first pack that belong to the row before */
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
    row.shift = (int)(row.index * 1 & (KILN_PACK - 1));
}

/* One pack of columns of the inputs that stay with the row, as stored. */
struct kiln_kept {
    kiln_pack<double, KILN_PACK> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<2>(in_x, row.in_x + col, span, row.policy);
    }
};

/* Packs that stay nowhere: every pass reads them again, KILN_BATCH in flight at a time. */

struct kiln_stream {
    static KILN_MEMBER void load(const kiln_row &row, kiln_index step, kiln_kept (&kept)[KILN_BATCH]) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_STEPS && kiln_inside(row, col, step + k))
                kept[k].load(row, col, kiln_span(row, col, step + k));
        }
    }
    template <class Body>
    static KILN_MEMBER void each_loaded(const kiln_row &row, kiln_index step, const kiln_kept (&kept)[KILN_BATCH], Body &body) {
#pragma unroll
        for (int k = 0; k < KILN_BATCH; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            if (step + k < KILN_STEPS && kiln_inside(row, col, step + k))
                body.pack(row, kept[k], col, kiln_span(row, col, step + k));
        }
    }
    /* The packs from step number `first` on. */
    template <class Body> static KILN_MEMBER void each_pack(const kiln_row &row, kiln_index first, Body &body) {
        for (kiln_index step = first; step < KILN_STEPS; step += KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            each_loaded(row, step, kept, body);
        }
    }
    /* From the last one back: what was read last is still near. */
    template <class Body> static KILN_MEMBER void each_pack_back(const kiln_row &row, kiln_index first, Body &body) {
        for (kiln_index step = first + (KILN_STEPS - 1 - first) / KILN_BATCH * KILN_BATCH; step >= first; step -= KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            each_loaded(row, step, kept, body);
        }
    }
    template <class Online> static KILN_MEMBER void each_online(kiln_row &row, kiln_index first, Online &online) {
        for (kiln_index step = first; step < KILN_STEPS; step += KILN_BATCH) {
            kiln_kept kept[KILN_BATCH];
            load(row, step, kept);
            const auto before = online.first;
            each_loaded(row, step, kept, online.first);
            online.second = kiln_correct(online.second, before, online.first);
            kiln_partial(row, online.first);
            each_loaded(row, step, kept, online.second);
        }
    }
};
[kernel_sources/residency_stream.cuh]

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = false;
    static constexpr int before = 0; /* bytes of each block's results of the phases before */
    double r1; /* sum */
    KILN_MEMBER void clear()
    {
        r1 = 0.0;
    }
    KILN_MEMBER void pack(const kiln_row &row, const kiln_kept &kept, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_PACK; ++j) {
            const double v0 = kiln_widen(kept.in_x.get(j));
            r1 = r1 + (span.has(j) ? v0 : 0.0);
        }
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

/* The last launch of split rows, where it stores one value per row: KILN_ENDERS threads of a block share the chunks of a
 * row, or of a pack of rows. */

KILN_DEVICE kiln_i64 kiln_end_index() {
    return kiln_block() * (KILN_END_THREADS / KILN_ENDERS) + threadIdx.x / KILN_ENDERS;
}
KILN_DEVICE int kiln_ender() { return threadIdx.x % KILN_ENDERS; }

/* Each of them gets the combinations of all their values, in the order of the threads. */
template <int N, class V> KILN_DEVICE void kiln_combine_enders(V (&values)[N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = kiln_combine_lanes<32>(values[j]);
    if (KILN_ENDERS == 32) return;
    __shared__ V slots[KILN_END_THREADS / 32][N];
    if (threadIdx.x % 32 == 0)
#pragma unroll
        for (int j = 0; j < N; ++j) slots[threadIdx.x / 32][j] = values[j];
    kiln_block_barrier();
#pragma unroll
    for (int j = 0; j < N; ++j)
        values[j] = kiln_combine_lanes<KILN_END_THREADS / 32>(slots[threadIdx.x % (KILN_END_THREADS / 32)][j]);
}
/* Split rows: each phase is a launch of its own, and partial results pass from one to the next through the workspace. */

/* Where a phase's partial results of the row start: one for each chunk. */
template <class Phase> KILN_DEVICE Phase *kiln_partials(const kiln_row &row) {
    return reinterpret_cast<Phase *>(row.args.workspace + row.args.rows * KILN_SPLITS * Phase::before) +
           row.index * KILN_SPLITS;
}
template <class Phase> KILN_DEVICE void kiln_publish(const kiln_row &row, const Phase &partial) {
    kiln_partials<Phase>(row)[kiln_chunk()] = partial;
}
/* The combination of a member's share of the chunks' partial results, in their order. */
template <class Phase, int MEMBERS> KILN_DEVICE Phase kiln_gather_share(const kiln_row &row, int member) {
    const Phase *partials = kiln_partials<Phase>(row);
    constexpr int share = (KILN_SPLITS + MEMBERS - 1) / MEMBERS;
    Phase all;
    all.clear();
#pragma unroll 4
    for (int i = 0; i < share; ++i) {
        const int chunk = member * share + i;
        if (chunk < KILN_SPLITS) all = Phase::combine(all, partials[chunk]);
    }
    return all;
}
/* The combination of all chunks' partial results, in their order; the same in every block. */
template <class Phase> KILN_DEVICE Phase kiln_gather(const kiln_row &row) {
    return kiln_all_reduce(kiln_gather_share<Phase, KILN_THREADS_PER_ROW>(row, kiln_member()));
}
#ifdef KILN_ENDERS
template <class Phase> KILN_DEVICE Phase kiln_gather_end(const kiln_row &row) {
    Phase all[1] = {kiln_gather_share<Phase, KILN_ENDERS>(row, kiln_ender())};
    kiln_combine_enders(all);
    return all[0];
}
#endif

extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_next();
    kiln_row row(args, kiln_row_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_residency residency;
    residency.fill(row);
    kiln_phase0 phase0;
    phase0.clear();
    residency.each_pack(row, phase0);
    const kiln_phase0 partial = kiln_all_reduce(phase0);
    if (kiln_member() == 0) kiln_publish(row, partial);
}

extern "C" __global__ void __launch_bounds__(KILN_END_THREADS) kiln_kernel1(const __grid_constant__ kiln_arguments args)
{
    kiln_launch_wait();
    kiln_launch_next();
    kiln_row row(args, kiln_end_index());
    if (row.index >= args.rows) return;
    kiln_begin(row);
    kiln_residency residency;
    residency.fill(row);
    kiln_after0(row, kiln_gather_end<kiln_phase0>(row));
    if (kiln_ender() == 0) kiln_finish_row(row);
}

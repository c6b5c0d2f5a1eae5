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

/* Flat copies between tensors and a tile of whole rows in shared memory, by all threads of the block. */

/* `count` elements that begin at an aligned address, in packs of V elements; the last may be partial. */
template <int V, class T> KILN_DEVICE void kiln_tile_fill(unsigned char *shared, const T *from, int count) {
    kiln_pack<T, V> *to = reinterpret_cast<kiln_pack<T, V> *>(shared);
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < count / V; i += KILN_THREADS)
        if (sizeof(T) * V >= 4)
            kiln_copy_async<(sizeof(T) * V >= 4 ? (int)sizeof(T) * V : 4)>(to + i, from + (kiln_i64)i * V);
        else
            kiln_load<V>(to[i], from + (kiln_i64)i * V);
    const int rest = count / V * V + (int)threadIdx.x;
    if (V > 1 && rest < count) reinterpret_cast<T *>(shared)[rest] = from[rest];
}
template <int V, class T> KILN_DEVICE void kiln_tile_drain(T *to, const unsigned char *shared, int count) {
    const kiln_pack<T, V> *from = reinterpret_cast<const kiln_pack<T, V> *>(shared);
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < count / V; i += KILN_THREADS) kiln_store<V>(from[i], to + (kiln_i64)i * V);
    const int rest = count / V * V + (int)threadIdx.x;
    if (V > 1 && rest < count) to[rest] = reinterpret_cast<const T *>(shared)[rest];
}

/* A row's pack in the tile; one that overhangs the row, element by element. */
template <class T, int N, class Span>
KILN_DEVICE void kiln_tile_recall(kiln_pack<T, N> &pack, const T *from, const Span &span) {
    if (span.whole())
        pack = *reinterpret_cast<const kiln_pack<T, N> *>(from);
    else
        kiln_load_part(pack, from, span.low, span.high);
}
template <class T, int N, class Span>
KILN_DEVICE void kiln_tile_keep(const kiln_pack<T, N> &pack, T *to, const Span &span) {
    if (span.whole())
        *reinterpret_cast<kiln_pack<T, N> *>(to) = pack;
    else
        kiln_store_part(pack, to, span.low, span.high);
}
/* One pack of columns of the inputs that stay with the row, as stored. */
struct kiln_kept {
    kiln_pack<float, KILN_PACK> in_x;
    KILN_MEMBER void recall(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_tile_recall(in_x, reinterpret_cast<float *>(kiln_shared + 0) + row.tile + col, span);
    }
    KILN_MEMBER void recall_shared(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
    }
    static KILN_MEMBER void fill(const kiln_arguments &args, kiln_i64 first, int rows)
    {
        kiln_tile_fill<4>(kiln_shared + 0, args.in_x + first * KILN_COLS, rows * KILN_COLS);
    }
    static KILN_MEMBER void drain(const kiln_arguments &args, kiln_i64 first, int rows)
    {
    }
};

/* Residency: a tile of several whole rows in shared memory. Rows that are short or start anywhere are one flat array all
 * the same: it is copied in aligned pieces by all threads, whoever works on a row, and so are the outputs. */

struct kiln_residency {
    kiln_kept kept[KILN_HELD ? KILN_HELD : 1]; /* what all rows share, for all that the thread works on */

    KILN_MEMBER void begin(const kiln_row &row) {
#pragma unroll
        for (int k = 0; k < KILN_HELD; ++k) {
            const kiln_index col = kiln_column(row, k);
            if (kiln_inside(row, col, k)) kept[k].recall_shared(row, col, kiln_span(row, col, k));
        }
    }
    template <class Body> KILN_MEMBER void pack(const kiln_row &row, int step, Body &body) {
        const kiln_index col = kiln_column(row, step);
        if (!kiln_inside(row, col, step)) return;
        const kiln_span span(row, col, step);
        kiln_kept own;
        if (KILN_HELD)
            own = kept[step % (KILN_HELD ? KILN_HELD : 1)];
        else
            own.recall_shared(row, col, span);
        own.recall(row, col, span);
        body.pack(row, own, col, span);
    }
    /* Masks, where there are any, are for the first step and the last. */
    template <class Body> KILN_MEMBER void each_pack(const kiln_row &row, Body &body) {
        pack(row, 0, body);
#pragma unroll KILN_UNROLL
        for (int k = 1; k < KILN_STEPS - 1; ++k) pack(row, k, body);
        if (KILN_STEPS > 1) pack(row, KILN_STEPS - 1, body);
    }
};

/* Phase 0: the reductions combined together, in one exchange. */
struct kiln_phase0 {
    static constexpr bool ordered = true;
    float r1; /* reduce */
    KILN_MEMBER void clear()
    {
        r1 = 0.0f;
    }
    KILN_MEMBER void pack(const kiln_row &row, const kiln_kept &kept, kiln_index col, const kiln_span &span)
    {
#pragma unroll
        for (int j = 0; j < KILN_PACK; ++j) {
            const float v0 = kiln_widen(kept.in_x.get(j));
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
    kiln_kept::fill(args, first, rows);
    kiln_copy_wait();
    kiln_block_barrier();
    kiln_residency residency;
    residency.begin(kiln_row(args, first));
    for (int r = (int)threadIdx.x / KILN_THREADS_PER_ROW; r < rows; r += KILN_THREADS / KILN_THREADS_PER_ROW) {
        kiln_row row(args, first + r);
        kiln_begin(row);
        row.tile = r * KILN_COLS;
        kiln_phase0 phase0;
        phase0.clear();
        residency.each_pack(row, phase0);
        kiln_after0(row, kiln_all_reduce(phase0));
        if (kiln_member() == 0) kiln_finish_row(row);
    }
}

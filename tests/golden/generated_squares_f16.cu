/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_a;
    const float *in_w;
    const kiln_f16 *in_b;
    kiln_f16 *out_y;
    kiln_i64 elements;
    kiln_i64 stride1_in_w;
    kiln_i64 stride0_in_b;
    kiln_i64 stride1_in_b;
    kiln_i64 stride2_in_b;
    kiln_divisor extent1;
    kiln_divisor extent2;
};

typedef kiln_u32 kiln_count; /* rows, elements */
KILN_DEVICE kiln_i64 kiln_offset_in_w(const kiln_arguments &args, kiln_index index)
{
    const kiln_u32 q2 = (kiln_u32)index;
    const kiln_u32 q1 = kiln_divide(q2, args.extent2), c2 = q2 - q1 * args.extent2.divisor;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    return 0 + c1 * args.stride1_in_w;
}

KILN_DEVICE kiln_i64 kiln_offset_in_b(const kiln_arguments &args, kiln_index index)
{
    const kiln_u32 q2 = (kiln_u32)index;
    const kiln_u32 q1 = kiln_divide(q2, args.extent2), c2 = q2 - q1 * args.extent2.divisor;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    return 0 + q0 * args.stride0_in_b + c1 * args.stride1_in_b + c2 * args.stride2_in_b;
}

/* The whole array: where it lies, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    kiln_i64 spacing; /* vectors of the tile, in elements; the first is at index */
    kiln_i64 before, behind; /* vectors, of any thread, before the first; from it on */
    int down; /* vectors that there are */
    const kiln_f16 *in_a;
    const float *in_w;
    const kiln_f16 *in_b;
    kiln_f16 *out_y;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

KILN_DEVICE kiln_count kiln_run(const kiln_arguments &args) { return (kiln_count)(args.extent2.divisor); }
KILN_DEVICE kiln_count kiln_between(const kiln_arguments &args) { return (kiln_count)(1); }
KILN_DEVICE kiln_count kiln_across(const kiln_arguments &args) { return (kiln_count)(args.extent1.divisor); }
[kernel_sources/layout_transpose.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_a = args.in_a;
    row.in_w = args.in_w;
    row.in_b = args.in_b;
    row.out_y = args.out_y;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_a;
    kiln_vector<float, KILN_VECTOR_WIDTH> in_w;
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_b;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<4>(in_a, row.in_a + col, span);
    }
    static KILN_MEMBER void fill_transposed(kiln_staged *staged, const kiln_row &row)
    {
        const kiln_line line(row);
        {
            kiln_vector<float, KILN_STEPS> lines[KILN_VECTOR_WIDTH];
            const kiln_i64 first = kiln_offset_in_w(row.args, row.index);
#pragma unroll
            for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) kiln_fetch<4>(lines[j], row.in_w + first, line);
#pragma unroll
            for (int k = 0; k < KILN_STEPS; ++k)
#pragma unroll
                for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) staged[k].in_w.set(j, lines[j].get(k));
        }
        {
            kiln_vector<kiln_f16, KILN_STEPS> lines[KILN_VECTOR_WIDTH];
            const kiln_i64 first = kiln_offset_in_b(row.args, row.index);
#pragma unroll
            for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) kiln_fetch_shifted<4>(lines[j], row.in_b, first + j * row.args.stride2_in_b, row, line);
#pragma unroll
            for (int k = 0; k < KILN_STEPS; ++k)
#pragma unroll
                for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) staged[k].in_b.set(j, lines[j].get(k));
        }
    }
};

[kernel_sources/staging_registers.cuh]

/* The outputs that have columns. */
struct kiln_finish {
    KILN_MEMBER void vector(const kiln_row &row, const kiln_staged &staged, kiln_index col, const kiln_span &span)
    {
        float y0[KILN_VECTOR_WIDTH];
#pragma unroll
        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {
            const float v0 = kiln_widen(staged.in_a.get(j));
            const float v1 = kiln_widen(staged.in_w.get(j));
            const float v2 = v0 * v1;
            const float v3 = kiln_widen(staged.in_b.get(j));
            const float v4 = v2 + v3;
            y0[j] = v4;
        }
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_put<4>(out_y, row.out_y + col, span);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args, 0);
    kiln_place(row);
    if (row.down == 0) return;
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_finish finish;
    staging.each_vector(row, finish);
}

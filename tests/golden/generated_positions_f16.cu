/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    kiln_i64 elements;
    kiln_i64 stride2_position0;
    kiln_i64 stride1_position1;
    kiln_divisor extent1;
    kiln_divisor extent2;
};

KILN_DEVICE kiln_i64 kiln_offset_position0(const kiln_arguments &args, kiln_index index)
{
    const kiln_u32 q2 = (kiln_u32)index;
    const kiln_u32 q1 = kiln_divide(q2, args.extent2), c2 = q2 - q1 * args.extent2.divisor;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    return 0 + c2 * args.stride2_position0;
}

KILN_DEVICE kiln_i64 kiln_offset_position1(const kiln_arguments &args, kiln_index index)
{
    const kiln_u32 q2 = (kiln_u32)index;
    const kiln_u32 q1 = kiln_divide(q2, args.extent2), c2 = q2 - q1 * args.extent2.divisor;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    return 0 + c1 * args.stride1_position1;
}

/* The whole array: where it lies, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_x;
    kiln_f16 *out_y;
    kiln_i64 position0;
    kiln_i64 position1;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/layout_flat.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_x = args.in_x;
    row.out_y = args.out_y;
    row.position0 = 0;
    row.position1 = 0;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_x;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<4>(in_x, row.in_x + col, span);
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
            const kiln_i64 v0 = (int)(row.position0 + kiln_offset_position0(row.args, col) + j * row.args.stride2_position0);
            const kiln_i64 v1 = (int)(row.position1 + kiln_offset_position1(row.args, col));
            const bool v2 = v0 <= v1;
            const float v3 = kiln_widen(staged.in_x.get(j));
            const float v5 = v2 ? v3 : 0.0f;
            y0[j] = v5;
        }
        kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> out_y;
        kiln_narrow_vector(y0, out_y);
        kiln_put<4>(out_y, row.out_y + col, span);
    }
};


extern "C" __global__ void __launch_bounds__(KILN_THREADS) kiln_kernel(const __grid_constant__ kiln_arguments args)
{
    kiln_row row(args, 0);
    kiln_begin(row);
    kiln_staging staging;
    staging.fill(row);
    kiln_finish finish;
    staging.each_vector(row, finish);
}

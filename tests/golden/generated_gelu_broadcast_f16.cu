/* ---- the program ---- */

struct kiln_arguments {
    const kiln_f16 *in_a;
    const kiln_f16 *in_b;
    const kiln_f16 *in_c;
    kiln_f16 *out_y;
    kiln_i64 elements;
    kiln_i64 stride1_in_b;
    kiln_divisor extent1;
};

KILN_DEVICE kiln_i64 kiln_offset_in_b(const kiln_arguments &args, kiln_index index)
{
    const kiln_u32 q1 = (kiln_u32)index;
    const kiln_u32 q0 = kiln_divide(q1, args.extent1), c1 = q1 - q0 * args.extent1.divisor;
    return 0 + c1 * args.stride1_in_b;
}

/* The whole array: where it lies, and the values it has one of. */
struct kiln_row {
    const kiln_arguments &args;
    kiln_i64 index;
    const kiln_f16 *in_a;
    const kiln_f16 *in_b;
    const kiln_f16 *in_c;
    kiln_f16 *out_y;
    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}
};

[kernel_sources/layout_flat.cuh]

KILN_DEVICE void kiln_begin(kiln_row &row)
{
    const kiln_arguments &args = row.args;
    row.in_a = args.in_a;
    row.in_b = args.in_b;
    row.in_c = args.in_c;
    row.out_y = args.out_y;
}

/* One vector of columns of the inputs that stay with the row, as stored. */
struct kiln_staged {
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_a;
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_b;
    kiln_vector<kiln_f16, KILN_VECTOR_WIDTH> in_c;
    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)
    {
        kiln_fetch<4>(in_a, row.in_a + col, span);
        kiln_fetch<4>(in_b, row.in_b + kiln_offset_in_b(row.args, col), span);
        kiln_fetch<4>(in_c, row.in_c + col, span);
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
            const float v1 = kiln_widen(staged.in_b.get(j));
            const float v2 = v0 + v1;
            const float v3 = v2 * v2;
            const float v4 = v2 * v3;
            const float v6 = 0.0447149985f * v4;
            const float v7 = v2 + v6;
            const float v9 = 1.59576917f * v7;
            const float v10 = kiln_sigmoid(v9);
            const float v11 = kiln_times_sigmoid(v2, v9);
            const float v12 = kiln_widen(staged.in_c.get(j));
            const float v13 = v11 * v12;
            y0[j] = v13;
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

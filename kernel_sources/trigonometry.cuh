// SPDX-License-Identifier: Apache-2.0
/* sin(x) and cos(x) within 1.53 units in the last place of f32. Up to 2^17 what is left of x beside a multiple of pi /
 * 2 goes into polynomials fitted to +-pi / 4. The multiple is of three floats, each below what the ones before leave
 * (Cody and Waite, 1980), so that -0 stays what it is. What is farther out is left to a call of CUDA's function: its
 * reduction of any number is long, and few programs ever come there. */
KILN_CALL float kiln_sin_far(float x) { return sinf(x); }
KILN_CALL float kiln_cos_far(float x) { return cosf(x); }
KILN_DEVICE bool kiln_is_far(float x) { return !(fabsf(x) <= 131072.0f); }

/* The sine of x and so many quarters of a turn. */
KILN_DEVICE float kiln_sin_near(float x, kiln_u32 quarters) {
    const float rounded = fmaf(x, 0.636619747f, 12582912.0f); /* 1.5 2^23: its last bits are an integer */
    const float turns = rounded - 12582912.0f;
    float r = fmaf(turns, -1.57079625f, x);
    r = fmaf(turns, -7.54978942e-8f, r);
    r = fmaf(turns, -5.39030295e-15f, r);
    quarters += __float_as_uint(rounded);
    const bool odd = quarters & 1;
    const float square = r * r, first = odd ? 1.0f : r;
    float sum = odd ? 2.44383064e-5f : 2.71829686e-6f;
    sum = fmaf(sum, square, odd ? -1.38873665e-3f : -1.98393333e-4f);
    sum = fmaf(sum, square, odd ? 4.16666456e-2f : 8.33332911e-3f);
    sum = fmaf(sum, square, odd ? -0.5f : -0.166666672f);
    return __uint_as_float(__float_as_uint(fmaf(sum, fmaf(square, first, 0.0f), first)) ^
                           (quarters << 30 & 0x80000000u));
}
KILN_DEVICE float kiln_sin(float x) { return kiln_is_far(x) ? kiln_sin_far(x) : kiln_sin_near(x, 0); }
KILN_DEVICE float kiln_cos(float x) { return kiln_is_far(x) ? kiln_cos_far(x) : kiln_sin_near(x, 1); }
/* Replaces each element of a vector by its sine, or by the sine of a quarter of a turn more. */
template <int N> KILN_DEVICE void kiln_sines(float (&x)[N], kiln_u32 quarters) {
    bool far = false;
    float y[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
        far |= kiln_is_far(x[j]);
        y[j] = kiln_sin_near(x[j], quarters);
    }
    if (far)
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (kiln_is_far(x[j])) y[j] = quarters ? kiln_cos_far(x[j]) : kiln_sin_far(x[j]);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = y[j];
}
KILN_DEVICE double kiln_sin(double x) { return sin(x); }
KILN_DEVICE double kiln_cos(double x) { return cos(x); }

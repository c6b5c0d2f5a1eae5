// SPDX-License-Identifier: Apache-2.0
/* The 8-bit floats of the Open Compute Project: e4m3 (no infinity, largest 448) and e5m2 (largest finite 57344).
 * Narrowing is to nearest even and saturates, infinities too; NaN stays NaN. One instruction for two from sm_89 on,
 * integer arithmetic before. */

struct kiln_e4m3 {
    unsigned char bits;
};
struct kiln_e5m2 {
    unsigned char bits;
};

/* The code of |f| in a format of M mantissa bits whose exponents are biased by BIAS: subnormals are multiples of the
 * least one, normals round the float's own bits. */
template <int M, int BIAS> KILN_DEVICE unsigned char kiln_fp8_code(float f, float largest, unsigned char nan) {
    const kiln_u32 sign = __float_as_uint(f) >> 24 & 0x80u;
    const float a = fminf(fabsf(f), largest);
    const kiln_u32 bits = __float_as_uint(a);
    const float least_normal = __int_as_float((128 - BIAS) << 23), per_least = __int_as_float((126 + BIAS + M) << 23);
    const kiln_u32 normal =
        ((bits + (1u << (22 - M)) - 1u + (bits >> (23 - M) & 1u)) >> (23 - M)) - ((127u - BIAS) << M);
    const kiln_u32 code = a < least_normal ? (kiln_u32)__float2int_rn(a * per_least) : normal;
    return (unsigned char)(sign | (f == f ? code : nan));
}

#ifdef KILN_HAS_FP8
KILN_DEVICE unsigned char kiln_e4m3_code(float f) { return (unsigned char)kiln_f32_pair_to_e4m3(f, 0.0f); }
KILN_DEVICE unsigned char kiln_e5m2_code(float f) { return (unsigned char)kiln_f32_pair_to_e5m2(f, 0.0f); }
KILN_DEVICE float kiln_widen(kiln_e4m3 v) { return kiln_f16_to_f32((unsigned short)kiln_e4m3_pair_to_f16(v.bits)); }
KILN_DEVICE unsigned short kiln_byte_pair(kiln_e4m3, float a, float b) { return kiln_f32_pair_to_e4m3(a, b); }
KILN_DEVICE unsigned short kiln_byte_pair(kiln_e5m2, float a, float b) { return kiln_f32_pair_to_e5m2(a, b); }
template <int N>
KILN_DEVICE void kiln_narrow_vector(const float (&values)[N], kiln_vector<kiln_e4m3, N, false> &vector) {
    kiln_narrow_pairs(values, vector);
}
template <int N>
KILN_DEVICE void kiln_narrow_vector(const float (&values)[N], kiln_vector<kiln_e5m2, N, false> &vector) {
    kiln_narrow_pairs(values, vector);
}
#else
KILN_DEVICE unsigned char kiln_e4m3_code(float f) { return kiln_fp8_code<3, 7>(f, 448.0f, 0x7f); }
KILN_DEVICE unsigned char kiln_e5m2_code(float f) { return kiln_fp8_code<2, 15>(f, 57344.0f, 0x7e); }
KILN_DEVICE float kiln_widen(kiln_e4m3 v) {
    /* The bits at a float's place are the value times 2^-120. */
    const float f = __uint_as_float((kiln_u32)(v.bits & 0x7f) << 20) * 1.32922800e36f;
    const float r = (v.bits & 0x7f) == 0x7f ? __int_as_float(0x7fffffff) : f;
    return v.bits & 0x80 ? -r : r;
}
#endif

KILN_DEVICE float kiln_widen(kiln_e5m2 v) { return kiln_f16_to_f32((unsigned short)(v.bits << 8)); }

template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_e4m3 &out) { out.bits = kiln_e4m3_code(kiln_odd_f32(v)); }
template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_e5m2 &out) { out.bits = kiln_e5m2_code(kiln_odd_f32(v)); }

// SPDX-License-Identifier: Apache-2.0
/* e8m0, the scales of the Open Compute Project's MX formats: the powers of two from 2^-127 to 2^127, and NaN. Narrowing
 * rounds |x| up, so that what is divided by a scale is never larger than meant, and saturates, infinities too; what is
 * below 2^-127, 0 as well, becomes 2^-127. One instruction for two where the compiler has it, integer arithmetic
 * elsewhere. */

/* The instructions are those of a family of architectures: kernels with this line are compiled for sm_100f, not sm_100,
 * where NVRTC knows such targets. */
#define KILN_FAMILY_TARGET

struct kiln_e8m0 {
    unsigned char bits;
};

#ifndef KILN_E8M0_INSTRUCTIONS /* what stands in for a GPU defines this, and these */
#define KILN_E8M0_INSTRUCTIONS
#if __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000
#define KILN_HAS_E8M0
/* Two in a half word, a in its low half; and two of them as bf16, exactly. */
KILN_DEVICE unsigned short kiln_f32_pair_to_e8m0(float a, float b) {
    unsigned short h;
    asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(h) : "f"(b), "f"(a));
    return h;
}
KILN_DEVICE kiln_u32 kiln_e8m0_pair_to_bf16(unsigned short h) {
    kiln_u32 w;
    asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(w) : "h"(h));
    return w;
}
#endif
#endif

#ifdef KILN_HAS_E8M0
KILN_DEVICE unsigned char kiln_e8m0_code(float f) { return (unsigned char)kiln_f32_pair_to_e8m0(f, 0.0f); }
KILN_DEVICE float kiln_widen(kiln_e8m0 v) { return __uint_as_float(kiln_e8m0_pair_to_bf16(v.bits) << 16); }
template <int N>
KILN_DEVICE void kiln_narrow_vector(const float (&values)[N], kiln_vector<kiln_e8m0, N, false> &vector) {
    if (N == 1) vector.at[0].bits = kiln_e8m0_code(values[0]);
#pragma unroll
    for (int j = 0; j + 1 < N; j += 2)
        reinterpret_cast<unsigned short *>(vector.at)[j / 2] = kiln_f32_pair_to_e8m0(values[j], values[j + 1]);
}
#else
/* The exponent of a float, and one more where mantissa bits carry into it. */
KILN_DEVICE unsigned char kiln_e8m0_code(float f) {
    const kiln_u32 bits = __float_as_uint(f) & 0x7fffffffu, up = (bits + 0x7fffffu) >> 23;
    const kiln_u32 code = bits <= 0x400000u ? 0u : up < 254u ? up : 254u; /* 0x400000: 2^-127 */
    return (unsigned char)(f == f ? code : 255u);
}
KILN_DEVICE float kiln_widen(kiln_e8m0 v) {
    const kiln_u32 bits = v.bits == 0 ? 0x400000u : (kiln_u32)v.bits << 23;
    return __uint_as_float(v.bits == 255 ? 0x7fffffffu : bits);
}
#endif

template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_e8m0 &out) { out.bits = kiln_e8m0_code(kiln_odd_f32(v)); }

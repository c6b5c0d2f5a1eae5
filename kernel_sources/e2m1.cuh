// SPDX-License-Identifier: Apache-2.0
/* e2m1, the floats of 4 bits of the Open Compute Project's MXFP4 and of NVFP4: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
 * negatives. Narrowing is to nearest even and saturates, NaN becomes 6. Two lie in a byte, that of the lower index in
 * its low half: whole bytes are read and written, by the thread that has both. One instruction for two where the
 * compiler has it, comparisons elsewhere. */

/* The instructions are those of a family of architectures: kernels with this line are compiled for sm_100f, not sm_100,
 * where NVRTC knows such targets. */
#ifndef KILN_FAMILY_TARGET
#define KILN_FAMILY_TARGET
#endif

/* The low half of its byte; the high half is 0. */
struct kiln_e2m1 {
    unsigned char bits;
};

#ifndef KILN_E2M1_INSTRUCTIONS /* what stands in for a GPU defines this, and these */
#define KILN_E2M1_INSTRUCTIONS
#if __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000
#define KILN_HAS_E2M1
/* Two in a byte, a in its low half; and two of them as f16, exactly. */
KILN_DEVICE unsigned char kiln_f32_pair_to_e2m1(float a, float b) {
    unsigned short h;
    asm("{\n.reg .b8 pair;\ncvt.rn.satfinite.e2m1x2.f32 pair, %1, %2;\nmov.b16 %0, {pair, 0};\n}"
        : "=h"(h)
        : "f"(b), "f"(a));
    return (unsigned char)h;
}
KILN_DEVICE kiln_u32 kiln_e2m1_pair_to_f16(unsigned char pair) {
    kiln_u32 w;
    asm("{\n.reg .b8 pair, none;\nmov.b16 {pair, none}, %1;\ncvt.rn.f16x2.e2m1x2 %0, pair;\n}"
        : "=r"(w)
        : "h"((unsigned short)pair));
    return w;
}
#endif
#endif

#ifdef KILN_HAS_E2M1
KILN_DEVICE float kiln_widen(kiln_e2m1 v) { return kiln_f16_to_f32((unsigned short)kiln_e2m1_pair_to_f16(v.bits)); }
#else
/* How many of the middles between neighbours |f| is beyond; at one, to the even code. */
KILN_DEVICE unsigned char kiln_e2m1_code(float f) {
    const float a = fabsf(f);
    const int code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
    return (unsigned char)(f == f ? code | (int)(__float_as_uint(f) >> 28 & 8u) : 7);
}
KILN_DEVICE unsigned char kiln_f32_pair_to_e2m1(float a, float b) {
    return (unsigned char)(kiln_e2m1_code(a) | kiln_e2m1_code(b) << 4);
}
KILN_DEVICE float kiln_widen(kiln_e2m1 v) {
    /* The bits at a float's place are the value times 2^-126. */
    const float f = __uint_as_float((kiln_u32)(v.bits & 7) << 22) * 8.50705917e37f;
    return v.bits & 8 ? -f : f;
}
#endif

template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_e2m1 &out) {
    out.bits = (unsigned char)(kiln_f32_pair_to_e2m1(kiln_odd_f32(v), 0.0f) & 15);
}

/* Elements of a vector are set in ascending order. */
template <int N> struct alignas(N / 2 < 16 ? N / 2 : 16) kiln_vector<kiln_e2m1, N, false> {
    unsigned char pairs[N / 2];
    KILN_MEMBER kiln_e2m1 get(int j) const { return {(unsigned char)(pairs[j / 2] >> j % 2 * 4 & 15)}; }
    KILN_MEMBER void set(int j, kiln_e2m1 value) {
        pairs[j / 2] = (unsigned char)(j % 2 == 0 ? value.bits : pairs[j / 2] | value.bits << 4);
    }
};

template <class V, int N>
KILN_DEVICE void kiln_narrow_vector(const V (&values)[N], kiln_vector<kiln_e2m1, N, false> &vector) {
#pragma unroll
    for (int j = 0; j < N; j += 2)
        vector.pairs[j / 2] = kiln_f32_pair_to_e2m1(kiln_odd_f32(values[j]), kiln_odd_f32(values[j + 1]));
}

/* Where elements lie in memory: so many from the first byte on, an even number wherever there is an access. */
template <class Byte> struct kiln_packed {
    Byte *bytes;
    kiln_i64 elements;
    KILN_MEMBER kiln_packed operator+(kiln_i64 more) const { return {bytes, elements + more}; }
    KILN_MEMBER void operator+=(kiln_i64 more) { elements += more; }
    KILN_MEMBER const kiln_e2m1 operator[](kiln_i64 i) const {
        const int at = (int)(elements + i & 1) * 4;
        return {(unsigned char)(bytes[(elements + i) >> 1] >> at & 15)};
    }
    KILN_MEMBER Byte *pair() const { return bytes + (elements >> 1); }
};
template <class Row, class Byte>
KILN_DEVICE kiln_packed<Byte> kiln_at(const Row &, kiln_packed<Byte> tensor, kiln_index col) {
    return tensor + col;
}

/* What vectors.cuh does with others. The parts of a vector are whole bytes, too. */
template <int V, int N, class Byte, class Span, class... Policy>
KILN_DEVICE void kiln_fetch(kiln_vector<kiln_e2m1, N> &vector, kiln_packed<Byte> p, const Span &span,
                            Policy... policy) {
    typedef typename kiln_word<V / 2>::type word;
    const unsigned char *const from = p.pair();
    if (Span::always_whole || span.whole())
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            reinterpret_cast<word *>(&vector)[i] = kiln_load_word(reinterpret_cast<const word *>(from) + i, policy...);
    else if constexpr (!Span::always_whole)
#pragma unroll
        for (int i = 0; i < N / 2; ++i) vector.pairs[i] = span.has(2 * i) ? from[i] : (unsigned char)0;
}
template <int V, int N, class Byte, class Span>
KILN_DEVICE void kiln_put(const kiln_vector<kiln_e2m1, N> &vector, kiln_packed<Byte> p, const Span &span) {
    typedef typename kiln_word<V / 2>::type word;
    unsigned char *const to = p.pair();
    if (Span::always_whole || span.whole())
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            kiln_store_word(reinterpret_cast<word *>(to) + i, reinterpret_cast<const word *>(&vector)[i]);
    else if constexpr (!Span::always_whole)
#pragma unroll
        for (int i = 0; i < N / 2; ++i)
            if (span.has(2 * i)) to[i] = vector.pairs[i];
}
#ifdef KILN_COPIES
template <int V, int N, class Byte, class Span>
KILN_DEVICE void kiln_fetch_async(kiln_vector<kiln_e2m1, N> *slot, kiln_packed<Byte> p, const Span &span) {
    constexpr int bytes = V / 2;
    if (bytes >= 4 && (Span::always_whole || span.whole())) {
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            kiln_copy_async<(bytes >= 4 ? bytes : 4)>(reinterpret_cast<char *>(slot) + i * bytes, p.pair() + i * bytes);
    } else if constexpr (bytes < 4 || !Span::always_whole) {
        kiln_vector<kiln_e2m1, N> vector;
        kiln_fetch<V>(vector, p, span);
        *slot = vector;
    }
}
#endif

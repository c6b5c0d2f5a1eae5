// SPDX-License-Identifier: Apache-2.0
/* Vectors of elements as kernels see them: storage types, conversions, memory, shuffles, asynchronous copies. */

/* ---- storage types and vectors ---- */

struct kiln_f16 {
    unsigned short bits;
};
struct kiln_bf16 {
    unsigned short bits;
};

template <class T> struct kiln_is_half { static constexpr bool value = false; };
template <> struct kiln_is_half<kiln_f16> { static constexpr bool value = true; };
template <> struct kiln_is_half<kiln_bf16> { static constexpr bool value = true; };

/* N elements that lie side by side; aligned so that they move in accesses of up to 16 bytes. Elements are set in
 * ascending order. Halves lie in pairs in words, which spares the compiler the taking apart. */
template <class T, int N, bool PAIRS = kiln_is_half<T>::value &&N % 2 == 0>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kiln_vector {
    T at[N];
    KILN_MEMBER T get(int j) const { return at[j]; }
    KILN_MEMBER void set(int j, T value) { at[j] = value; }
};
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kiln_vector<T, N, true> {
    kiln_u32 words[N / 2];
    KILN_MEMBER T get(int j) const {
        T half;
        half.bits = (unsigned short)(words[j / 2] >> j % 2 * 16);
        return half;
    }
    KILN_MEMBER void set(int j, T value) {
        if (j % 2 == 0)
            words[j / 2] = value.bits;
        else
            words[j / 2] |= (kiln_u32)value.bits << 16;
    }
};

/* ---- conversions: storage type to compute type and back, one element and whole vectors ---- */

KILN_DEVICE float kiln_widen(kiln_f16 h) { return kiln_f16_to_f32(h.bits); }
KILN_DEVICE float kiln_widen(kiln_bf16 h) { return __uint_as_float((kiln_u32)h.bits << 16); }
KILN_DEVICE float kiln_widen(float f) { return f; }
KILN_DEVICE double kiln_widen(double d) { return d; }
KILN_DEVICE kiln_i64 kiln_widen(kiln_i64 i) { return i; }
KILN_DEVICE int kiln_widen(int i) { return i; }
KILN_DEVICE int kiln_widen(short i) { return i; }
KILN_DEVICE int kiln_widen(signed char i) { return i; }
KILN_DEVICE int kiln_widen(unsigned char i) { return i; }

/* To f32 rounded to odd, so that a second rounding sees whether bits were lost. */
KILN_DEVICE float kiln_odd_f32(float f) { return f; }
KILN_DEVICE float kiln_odd_f32(bool b) { return b; }
KILN_DEVICE float kiln_odd_f32(double d) {
    const float f = __double2float_rz(d);
    return (double)f != d ? __uint_as_float(__float_as_uint(f) | 1u) : f;
}
KILN_DEVICE float kiln_odd_f32(int i) { return kiln_odd_f32((double)i); }
KILN_DEVICE float kiln_odd_f32(kiln_i64 i) {
    const float f = __ll2float_rz(i);
    return __float2ll_rz(f) != i ? __uint_as_float(__float_as_uint(f) | 1u) : f;
}

/* To float types: to nearest even. */
KILN_DEVICE void kiln_narrow(float f, kiln_f16 &h) { h.bits = kiln_f32_to_f16(f); }
KILN_DEVICE void kiln_narrow(float f, kiln_bf16 &h) { h.bits = kiln_f32_to_bf16(f); }
KILN_DEVICE void kiln_narrow(double d, kiln_f16 &h) { h.bits = kiln_f64_to_f16(d); }
KILN_DEVICE void kiln_narrow(int i, kiln_f16 &h) { kiln_narrow((double)i, h); }
KILN_DEVICE void kiln_narrow(kiln_i64 i, kiln_f16 &h) { h.bits = kiln_i64_to_f16(i); }
template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_bf16 &h) { kiln_narrow(kiln_odd_f32(v), h); }
KILN_DEVICE void kiln_narrow(bool b, kiln_f16 &h) { h.bits = b ? 0x3c00 : 0; }
KILN_DEVICE void kiln_narrow(bool b, kiln_bf16 &h) { h.bits = b ? 0x3f80 : 0; }
template <class V> KILN_DEVICE void kiln_narrow(V v, float &out) { out = (float)v; }
template <class V> KILN_DEVICE void kiln_narrow(V v, double &out) { out = (double)v; }

/* To integers: to nearest even, saturating, NaN gives 0. */
KILN_DEVICE int kiln_nearest_i32(float f) { return f == f ? __float2int_rn(f) : 0; }
KILN_DEVICE int kiln_nearest_i32(double d) { return d == d ? __double2int_rn(d) : 0; }
KILN_DEVICE int kiln_nearest_i32(int i) { return i; }
KILN_DEVICE int kiln_nearest_i32(bool b) { return b; }
KILN_DEVICE int kiln_nearest_i32(kiln_i64 i) {
    return i > 0x7fffffffLL ? 0x7fffffff : i < -0x80000000LL ? (int)0x80000000u : (int)i;
}
KILN_DEVICE int kiln_clamp_i32(int i, int low, int high) { return i < low ? low : i > high ? high : i; }
template <class V> KILN_DEVICE void kiln_narrow(V v, int &out) { out = kiln_nearest_i32(v); }
template <class V> KILN_DEVICE void kiln_narrow(V v, short &out) {
    out = (short)kiln_clamp_i32(kiln_nearest_i32(v), -32768, 32767);
}
template <class V> KILN_DEVICE void kiln_narrow(V v, signed char &out) {
    out = (signed char)kiln_clamp_i32(kiln_nearest_i32(v), -128, 127);
}
template <class V> KILN_DEVICE void kiln_narrow(V v, unsigned char &out) {
    out = (unsigned char)kiln_clamp_i32(kiln_nearest_i32(v), 0, 255);
}
KILN_DEVICE void kiln_narrow(float f, signed char &out) { out = (signed char)kiln_f32_pair_to_i8(f, 0.0f); }
KILN_DEVICE void kiln_narrow(float f, unsigned char &out) { out = (unsigned char)kiln_f32_pair_to_u8(f, 0.0f); }
KILN_DEVICE void kiln_narrow(float f, kiln_i64 &out) { out = f == f ? __float2ll_rn(f) : 0; }
KILN_DEVICE void kiln_narrow(double d, kiln_i64 &out) { out = d == d ? __double2ll_rn(d) : 0; }
KILN_DEVICE void kiln_narrow(int i, kiln_i64 &out) { out = i; }
KILN_DEVICE void kiln_narrow(kiln_i64 i, kiln_i64 &out) { out = i; }
KILN_DEVICE void kiln_narrow(bool b, kiln_i64 &out) { out = b; }

/* Two halves in a word; one instruction where they come from f32. */
template <class T> struct kiln_half_pair {
    template <class V> static KILN_MEMBER kiln_u32 narrow(V a, V b) {
        T low, high;
        kiln_narrow(a, low);
        kiln_narrow(b, high);
        return low.bits | (kiln_u32)high.bits << 16;
    }
    static KILN_MEMBER kiln_u32 narrow(float a, float b);
};
template <> KILN_MEMBER kiln_u32 kiln_half_pair<kiln_f16>::narrow(float a, float b) {
    return kiln_f32_pair_to_f16(a, b);
}
template <> KILN_MEMBER kiln_u32 kiln_half_pair<kiln_bf16>::narrow(float a, float b) {
    return kiln_f32_pair_to_bf16(a, b);
}

/* Two bytes in a half word, likewise. */
KILN_DEVICE unsigned short kiln_byte_pair(signed char, float a, float b) { return kiln_f32_pair_to_i8(a, b); }
KILN_DEVICE unsigned short kiln_byte_pair(unsigned char, float a, float b) { return kiln_f32_pair_to_u8(a, b); }
template <class T, int N> KILN_DEVICE void kiln_narrow_pairs(const float (&values)[N], kiln_vector<T, N> &vector) {
    if (N == 1) *reinterpret_cast<unsigned char *>(vector.at) = (unsigned char)kiln_byte_pair(T(), values[0], 0.0f);
#pragma unroll
    for (int j = 0; j + 1 < N; j += 2)
        reinterpret_cast<unsigned short *>(vector.at)[j / 2] = kiln_byte_pair(T(), values[j], values[j + 1]);
}

/* Computed values to a vector of a storage type. */
template <class V, class T, int N>
KILN_DEVICE void kiln_narrow_vector(const V (&values)[N], kiln_vector<T, N, false> &vector) {
#pragma unroll
    for (int j = 0; j < N; ++j) kiln_narrow(values[j], vector.at[j]);
}
template <int N>
KILN_DEVICE void kiln_narrow_vector(const float (&values)[N], kiln_vector<signed char, N, false> &vector) {
    kiln_narrow_pairs(values, vector);
}
template <int N>
KILN_DEVICE void kiln_narrow_vector(const float (&values)[N], kiln_vector<unsigned char, N, false> &vector) {
    kiln_narrow_pairs(values, vector);
}
template <class V, class T, int N>
KILN_DEVICE void kiln_narrow_vector(const V (&values)[N], kiln_vector<T, N, true> &vector) {
#pragma unroll
    for (int j = 0; j < N; j += 2) vector.words[j / 2] = kiln_half_pair<T>::narrow(values[j], values[j + 1]);
}

/* ---- memory: vectors in accesses of V elements; partial vectors element by element ---- */

template <int BYTES> struct kiln_word;
template <> struct kiln_word<16> { typedef uint4 type; };
template <> struct kiln_word<8> { typedef uint2 type; };
template <> struct kiln_word<4> { typedef unsigned type; };
template <> struct kiln_word<2> { typedef unsigned short type; };
template <> struct kiln_word<1> { typedef unsigned char type; };

template <class W> KILN_DEVICE W kiln_load_early(const W *p) { return *p; }
template <class W> KILN_DEVICE W kiln_load_word(const W *p) { return *p; }
KILN_DEVICE unsigned char kiln_load_word(const unsigned char *p, kiln_u64) { return *p; }
template <class W> KILN_DEVICE void kiln_store_word(W *p, W v) { *p = v; }
KILN_DEVICE void kiln_store_word(uint4 *p, uint4 v) { kiln_store16(p, v); }

/* The whole vector at p, which is aligned to V elements; of a single element, to that. `policy`, here and below: none,
 * or what kiln_policy gave. A loop of one step would cost the compiler as much as any other. */
template <int V, class T, int N, class... Policy>
KILN_DEVICE void kiln_load(kiln_vector<T, N> &vector, const T *p, Policy... policy) {
    typedef typename kiln_word<sizeof(T) * (V < N ? V : N)>::type word;
    if constexpr (N <= V)
        *reinterpret_cast<word *>(&vector) = kiln_load_word(reinterpret_cast<const word *>(p), policy...);
    else
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            reinterpret_cast<word *>(&vector)[i] = kiln_load_word(reinterpret_cast<const word *>(p) + i, policy...);
}
template <int V, class T, int N> KILN_DEVICE void kiln_store(const kiln_vector<T, N> &vector, T *p) {
    typedef typename kiln_word<sizeof(T) * (V < N ? V : N)>::type word;
    if constexpr (N <= V)
        kiln_store_word(reinterpret_cast<word *>(p), *reinterpret_cast<const word *>(&vector));
    else
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            kiln_store_word(reinterpret_cast<word *>(p) + i, reinterpret_cast<const word *>(&vector)[i]);
}
/* Elements low <= j < high alone; the others of a loaded vector are zero. */
template <class T, int N> KILN_DEVICE void kiln_load_part(kiln_vector<T, N> &vector, const T *p, int low, int high) {
#pragma unroll
    for (int j = 0; j < N; ++j) vector.set(j, low <= j && j < high ? p[j] : T());
}
template <class T, int N> KILN_DEVICE void kiln_store_part(const kiln_vector<T, N> &vector, T *p, int low, int high) {
#pragma unroll
    for (int j = 0; j < N; ++j)
        if (low <= j && j < high) p[j] = vector.get(j);
}

/* V neighbouring elements of a vector, from j on. */
template <int V, class T, int N> KILN_DEVICE void kiln_load_run(kiln_vector<T, N> &vector, int j, const T *p) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    reinterpret_cast<word *>(&vector)[j / V] = *reinterpret_cast<const word *>(p);
}

/* Whole vectors in accesses of V elements, partial ones element by element, where a span may be partial at all. */
template <int V, class T, int N, class Span, class... Policy>
KILN_DEVICE void kiln_fetch(kiln_vector<T, N> &vector, const T *p, const Span &span, Policy... policy) {
    if (Span::always_whole || span.whole())
        kiln_load<V>(vector, p, policy...);
    else if constexpr (!Span::always_whole)
        kiln_load_part(vector, p, span.low, span.high);
}
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_fetch_early(kiln_vector<T, N> &vector, const T *p, const Span &span) {
    constexpr int width = V < N ? V : N; /* of a single element one */
    typedef typename kiln_word<sizeof(T) * width>::type word;
    if constexpr (!Span::always_whole)
        if (!span.whole()) return kiln_load_part(vector, p, span.low, span.high);
#pragma unroll
    for (int i = 0; i < N / width; ++i)
        reinterpret_cast<word *>(&vector)[i] = kiln_load_early(reinterpret_cast<const word *>(p) + i);
}
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_put(const kiln_vector<T, N> &vector, T *p, const Span &span) {
    if (Span::always_whole || span.whole())
        kiln_store<V>(vector, p);
    else if constexpr (!Span::always_whole)
        kiln_store_part(vector, p, span.low, span.high);
}

/* ---- threads ---- */

/* As much as the launch asks for. Asynchronous copies move sectors of 32 bytes: those that begin elsewhere in shared
 * memory than in a sector take longer. */
extern __shared__ __align__(128) unsigned char kiln_shared[];

KILN_DEVICE void kiln_block_barrier() { __syncthreads(); }
KILN_DEVICE kiln_i64 kiln_block() { return (kiln_i64)blockIdx.y * gridDim.x + blockIdx.x; }

/* The value of the lane whose number differs in the bits of lane_mask; lanes: those that take part. */
template <class V> KILN_DEVICE V kiln_shuffle(V v, int lane_mask, kiln_u32 lanes) {
    return __shfl_xor_sync(lanes, v, lane_mask);
}
KILN_DEVICE bool kiln_shuffle(bool v, int lane_mask, kiln_u32 lanes) {
    return __shfl_xor_sync(lanes, (int)v, lane_mask) != 0;
}

/* Each of COUNT neighbouring lanes gets the combination of their values, in the order of the lanes. */
template <int COUNT, class V> KILN_DEVICE V kiln_combine_lanes(V value, kiln_u32 lanes = 0xffffffffu) {
    const kiln_u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int mask = 1; mask < COUNT; mask *= 2) {
        const V other = value.shuffle(mask, lanes);
        value = V::ordered && (lane & mask) ? V::combine(other, value) : V::combine(value, other);
    }
    return value;
}

/* ---- asynchronous copies ---- */

#ifdef KILN_COPIES
/* A vector into this thread's slot of shared memory; a partial one by way of registers. */
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_fetch_async(kiln_vector<T, N> *slot, const T *p, const Span &span) {
    constexpr int bytes = V * (int)sizeof(T);
    if (bytes >= 4 && (Span::always_whole || span.whole())) {
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            kiln_copy_async<(bytes >= 4 ? bytes : 4)>(reinterpret_cast<char *>(slot) + i * bytes, p + i * V);
    } else if constexpr (bytes < 4 || !Span::always_whole) {
        kiln_vector<T, N> vector;
        kiln_fetch<V>(vector, p, span);
        *slot = vector;
    }
}
#endif

/* ---- index arithmetic ---- */

/* n / d for n < 2^31 by multiply and shift; the host computes the two from d (Granlund and Montgomery, 1994). */
struct kiln_divisor {
    kiln_u32 divisor, multiplier, shift;
};
KILN_DEVICE kiln_u32 kiln_divide(kiln_u32 n, kiln_divisor d) {
    return (kiln_u32)(((kiln_u64)n * d.multiplier) >> d.shift);
}

/* Where a vector's elements lie in a tensor whose last dimension ends in no vector, or in one of which the next run has
 * the rest: those of the first `left` from `here` on, the others from `there` on. */
struct kiln_crossing {
    kiln_i64 here, there;
    int before, left; /* elements of the run before the vector's first, and from it on; more than two vectors are two */
    KILN_MEMBER kiln_i64 at(int j, kiln_i64 stride) const {
        return (j < left ? here : there - left * stride) + j * stride;
    }
};
KILN_DEVICE int kiln_clip(kiln_index elements) {
    return elements < 2 * KILN_VECTOR_WIDTH ? (int)elements : 2 * KILN_VECTOR_WIDTH;
}

/* A vector of runs whose elements are all one. */
template <class T, int N, class Span>
KILN_DEVICE void kiln_fetch_same(kiln_vector<T, N> &vector, const T *p, const kiln_crossing &cross, const Span &span) {
    const T here = p[cross.here], there = cross.left < N && cross.left < span.high ? p[cross.there] : here;
#pragma unroll
    for (int j = 0; j < N; ++j) vector.set(j, j < cross.left ? here : there);
}

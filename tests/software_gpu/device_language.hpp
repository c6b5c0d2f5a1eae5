// SPDX-License-Identifier: Apache-2.0
/* The device language in plain C++: what generated kernels use of CUDA C++, and the instructions of
 * kernel_sources/device.cuh. Compiled with -fsanitize=thread, whose calls at each access are answered here. */

#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
/* What they are is read from the source's text, as are clusters, which older devices do not have. */
#define __launch_bounds__(...)
#if __CUDA_ARCH__ >= 900
#define __cluster_dims__(...)
#endif
#define __align__(n) __attribute__((aligned(n)))
/* A block runs on one host thread: its shared memory is that thread's. Aligned so that no variable follows another
 * without a gap, in which an index out of range is seen. */
#define __shared__ __attribute__((aligned(256))) thread_local

static kiln_software_device *kiln_software;

/* Not instrumented: these read the device's own state. */
#define KILN_SOFTWARE __attribute__((no_sanitize_thread, noinline)) static
#define KILN_SOFTWARE_HOOK extern "C" __attribute__((no_sanitize_thread, visibility("hidden")))

/* ---- indices ---- */

KILN_SOFTWARE __attribute__((const)) kiln_software_index kiln_software_thread_index() { return kiln_software->thread; }
KILN_SOFTWARE __attribute__((const)) kiln_software_index kiln_software_block_index() { return kiln_software->block; }
KILN_SOFTWARE __attribute__((const)) kiln_software_index kiln_software_block_dim() { return kiln_software->threads; }
KILN_SOFTWARE __attribute__((const)) kiln_software_index kiln_software_grid_dim() { return kiln_software->blocks; }
#define threadIdx kiln_software_thread_index()
#define blockIdx kiln_software_block_index()
#define blockDim kiln_software_block_dim()
#define gridDim kiln_software_grid_dim()

/* ---- every access ---- */

__attribute__((no_sanitize_thread, always_inline)) static inline void
kiln_software_check(const void *p, unsigned long bytes, bool write) {
    const kiln_software_device *device = kiln_software;
    const unsigned long address = (unsigned long)p;
    if (address - device->stack_low < device->stack_bytes) return;
    const bool near =
        address - device->near_low < device->near_bytes && device->near_bytes - (address - device->near_low) >= bytes;
    if (near && address % bytes == 0) return;
    device->access(address, bytes, write);
}
/* An access whose alignment the compiler knows to be less than its size, or whose size is no power of two. */
__attribute__((no_sanitize_thread, always_inline)) static inline void
kiln_software_check_bytes(const void *p, unsigned long bytes, bool write) {
    for (unsigned long i = 0; i < bytes; i++) kiln_software_check((const char *)p + i, 1, write);
}

__attribute__((no_sanitize_thread)) static void kiln_software_check_object(const void *p, unsigned long bytes) {
    const unsigned long address = (unsigned long)p;
    if (address - kiln_software->stack_low >= kiln_software->stack_bytes) kiln_software->read_object(address, bytes);
}

#define KILN_SOFTWARE_CHECKS(bytes) \
    KILN_SOFTWARE_HOOK void __tsan_read##bytes(void *p) { kiln_software_check(p, bytes, false); } \
    KILN_SOFTWARE_HOOK void __tsan_write##bytes(void *p) { kiln_software_check(p, bytes, true); } \
    KILN_SOFTWARE_HOOK void __tsan_unaligned_read##bytes(void *p) { kiln_software_check_bytes(p, bytes, false); } \
    KILN_SOFTWARE_HOOK void __tsan_unaligned_write##bytes(void *p) { kiln_software_check_bytes(p, bytes, true); }
KILN_SOFTWARE_CHECKS(1)
KILN_SOFTWARE_CHECKS(2)
KILN_SOFTWARE_CHECKS(4)
KILN_SOFTWARE_CHECKS(8)
/* The compiler calls these for structs of 16 bytes, too, which a GPU's takes apart where they are aligned to 8; uint4
 * looks at its own. */
__attribute__((no_sanitize_thread, always_inline)) static inline void kiln_software_check_16(const void *p,
                                                                                             bool write) {
    const bool halves = (unsigned long)p % 16 == 8;
    kiln_software_check(p, halves ? 8 : 16, write);
    if (halves) kiln_software_check((const char *)p + 8, 8, write);
}
KILN_SOFTWARE_HOOK void __tsan_read16(void *p) { kiln_software_check_16(p, false); }
KILN_SOFTWARE_HOOK void __tsan_write16(void *p) { kiln_software_check_16(p, true); }
KILN_SOFTWARE_HOOK void __tsan_unaligned_read16(void *p) { kiln_software_check_bytes(p, 16, false); }
KILN_SOFTWARE_HOOK void __tsan_unaligned_write16(void *p) { kiln_software_check_bytes(p, 16, true); }
KILN_SOFTWARE_HOOK void __tsan_read_range(void *p, unsigned long bytes) { kiln_software_check_object(p, bytes); }
KILN_SOFTWARE_HOOK void __tsan_write_range(void *p, unsigned long bytes) { kiln_software_check_bytes(p, bytes, true); }
KILN_SOFTWARE_HOOK void *__tsan_memcpy(void *to, const void *from, unsigned long bytes) {
    kiln_software_check_object(from, bytes);
    kiln_software_check_bytes(to, bytes, true);
    return __builtin_memcpy(to, from, bytes);
}
KILN_SOFTWARE_HOOK void *__tsan_memset(void *to, int value, unsigned long bytes) {
    kiln_software_check_bytes(to, bytes, true);
    return __builtin_memset(to, value, bytes);
}
KILN_SOFTWARE_HOOK void __tsan_init() {}
KILN_SOFTWARE_HOOK void __tsan_func_entry(void *) {}
KILN_SOFTWARE_HOOK void __tsan_func_exit() {}
/* An index beyond an array's declared size. */
KILN_SOFTWARE_HOOK void __ubsan_handle_out_of_bounds(void *, unsigned long) { kiln_software->index_error(); }

/* ---- threads ---- */

KILN_SOFTWARE void __syncthreads() { kiln_software->barrier(); }

KILN_SOFTWARE void __syncwarp(unsigned lanes = 0xffffffffu) { kiln_software->warp_barrier(lanes); }
KILN_SOFTWARE bool __any_sync(unsigned lanes, bool value) { return kiln_software->warp_vote(lanes, value); }
KILN_SOFTWARE int atomicAdd(int *address, int value) { return kiln_software->atomic_add(address, value); }

template <class T> KILN_SOFTWARE T __shfl_xor_sync(unsigned lanes, T value, int lane_mask) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = kiln_software->shuffle(lanes, bits, lane_mask);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- numbers ---- */

/* Vectors to the compiler too: it must not take their accesses apart. */
typedef unsigned uint2 __attribute__((vector_size(8)));
KILN_SOFTWARE void kiln_software_refuse_16(unsigned long address, bool write) {
    kiln_software->access(address, 16, write);
}
typedef unsigned kiln_software_words __attribute__((vector_size(16)));
struct uint4 {
    kiln_software_words words;
    uint4() = default;
    __forceinline__ uint4(const uint4 &from) : words(whole(from, false).words) {}
    __forceinline__ uint4 &operator=(const uint4 &from) {
        whole(*this, true).words = whole(from, false).words;
        return *this;
    }
    template <class T> static __forceinline__ T &whole(T &at, bool write) {
        unsigned long address = (unsigned long)&at;
        __asm__("" : "+r"(address)); /* what the compiler believes of its alignment may not be so */
        if (address % 16) kiln_software_refuse_16(address, write);
        return at;
    }
};

template <class To, class From> __forceinline__ To kiln_software_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits are kept");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
__forceinline__ int __float_as_int(float f) { return kiln_software_bits<int>(f); }
__forceinline__ unsigned __float_as_uint(float f) { return kiln_software_bits<unsigned>(f); }
__forceinline__ float __int_as_float(int i) { return kiln_software_bits<float>(i); }
__forceinline__ long long __double_as_longlong(double d) { return kiln_software_bits<long long>(d); }
__forceinline__ double __longlong_as_double(long long i) { return kiln_software_bits<double>(i); }
__forceinline__ float __uint_as_float(unsigned i) { return kiln_software_bits<float>(i); }

/* To integers: saturating. */
template <class I> __forceinline__ I kiln_software_saturate(double x, double limit, I low, I high) {
    return x != x ? 0 : x >= limit ? high : x < -limit ? low : (I)x;
}
__forceinline__ int kiln_software_i32(double x) {
    return kiln_software_saturate<int>(x, 0x1p31, -0x7fffffff - 1, 0x7fffffff);
}
__forceinline__ long long kiln_software_i64(double x) {
    return kiln_software_saturate<long long>(x, 0x1p63, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL);
}
__forceinline__ int __float2int_rz(float x) { return kiln_software_i32(x); }
__forceinline__ int __float2int_rn(float x) { return kiln_software_i32(__builtin_rint(x)); }
__forceinline__ int __double2int_rz(double x) { return kiln_software_i32(x); }
__forceinline__ int __double2int_rn(double x) { return kiln_software_i32(__builtin_rint(x)); }
__forceinline__ long long __float2ll_rz(float x) { return kiln_software_i64(x); }
__forceinline__ long long __float2ll_rn(float x) { return kiln_software_i64(__builtin_rint(x)); }
__forceinline__ long long __double2ll_rz(double x) { return kiln_software_i64(x); }
__forceinline__ long long __double2ll_rn(double x) { return kiln_software_i64(__builtin_rint(x)); }
/* The compiler's own conversion is exact within the type's range. */
template <class I> __forceinline__ I kiln_software_unsigned(double x, double limit) {
    return !(x > 0) ? 0 : x >= limit ? ~(I)0 : (I)x;
}
__forceinline__ unsigned __float2uint_rz(float x) { return kiln_software_unsigned<unsigned>(x, 0x1p32); }
__forceinline__ unsigned __float2uint_rn(float x) { return __float2uint_rz((float)__builtin_rint(x)); }
__forceinline__ unsigned __double2uint_rz(double x) { return kiln_software_unsigned<unsigned>(x, 0x1p32); }
__forceinline__ unsigned __double2uint_rn(double x) { return __double2uint_rz(__builtin_rint(x)); }
__forceinline__ unsigned long long __double2ull_rz(double x) {
    return kiln_software_unsigned<unsigned long long>(x, 0x1p64);
}
__forceinline__ unsigned long long __double2ull_rn(double x) { return __double2ull_rz(__builtin_rint(x)); }
__forceinline__ unsigned long long __float2ull_rz(float x) { return __double2ull_rz(x); }
__forceinline__ unsigned long long __float2ull_rn(float x) { return __double2ull_rn(x); }
__forceinline__ float __double2float_rz(double d) {
    const float f = (float)d;
    return __builtin_fabs((double)f) > __builtin_fabs(d) ? __uint_as_float(__float_as_uint(f) - 1u) : f;
}
__forceinline__ float __ull2float_rz(unsigned long long i) {
    /* What double does not hold is cut off first: those bits are far below float's. */
    return i >> 53 ? 0x1p11f * __double2float_rz((double)(i >> 11)) : __double2float_rz((double)i);
}
__forceinline__ float __ll2float_rz(long long i) {
    return i < 0 ? -__ull2float_rz(0ull - (unsigned long long)i) : __ull2float_rz((unsigned long long)i);
}
__forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
/* Not the compiler's own, which calls its runtime library where the processor has no instruction for it. */
__forceinline__ int __popcll(unsigned long long x) {
    int count = 0;
    for (; x; x &= x - 1) count++;
    return count;
}
__forceinline__ int __popc(unsigned x) { return __popcll(x); }
__forceinline__ int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }

/* ---- functions ---- */

#define KILN_SOFTWARE_FUNCTION(name) \
    __forceinline__ float name##f(float x) { return __builtin_##name##f(x); } \
    __forceinline__ double name(double x) { return __builtin_##name(x); }
#define KILN_SOFTWARE_FUNCTION2(name) \
    __forceinline__ float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
    __forceinline__ double name(double x, double y) { return __builtin_##name(x, y); }
#define KILN_SOFTWARE_TEST(name, builtin) \
    __forceinline__ bool name(float x) { return builtin(x); } \
    __forceinline__ bool name(double x) { return builtin(x); }
KILN_SOFTWARE_FUNCTION(fabs)
KILN_SOFTWARE_FUNCTION(exp)
KILN_SOFTWARE_FUNCTION(exp2)
KILN_SOFTWARE_FUNCTION(expm1)
KILN_SOFTWARE_FUNCTION(log)
KILN_SOFTWARE_FUNCTION(log2)
KILN_SOFTWARE_FUNCTION(log1p)
KILN_SOFTWARE_FUNCTION(log10)
KILN_SOFTWARE_FUNCTION(sqrt)
KILN_SOFTWARE_FUNCTION(cbrt)
KILN_SOFTWARE_FUNCTION(sin)
KILN_SOFTWARE_FUNCTION(cos)
KILN_SOFTWARE_FUNCTION(tan)
KILN_SOFTWARE_FUNCTION(asin)
KILN_SOFTWARE_FUNCTION(acos)
KILN_SOFTWARE_FUNCTION(atan)
KILN_SOFTWARE_FUNCTION(sinh)
KILN_SOFTWARE_FUNCTION(cosh)
KILN_SOFTWARE_FUNCTION(tanh)
KILN_SOFTWARE_FUNCTION(asinh)
KILN_SOFTWARE_FUNCTION(acosh)
KILN_SOFTWARE_FUNCTION(atanh)
KILN_SOFTWARE_FUNCTION(erf)
KILN_SOFTWARE_FUNCTION(erfc)
KILN_SOFTWARE_FUNCTION(lgamma)
KILN_SOFTWARE_FUNCTION(floor)
KILN_SOFTWARE_FUNCTION(ceil)
KILN_SOFTWARE_FUNCTION(trunc)
KILN_SOFTWARE_FUNCTION(rint)
KILN_SOFTWARE_FUNCTION2(fmod)
KILN_SOFTWARE_FUNCTION2(copysign)
KILN_SOFTWARE_FUNCTION2(fmin)
KILN_SOFTWARE_FUNCTION2(fmax)
KILN_SOFTWARE_FUNCTION2(pow)
KILN_SOFTWARE_FUNCTION2(atan2)
KILN_SOFTWARE_TEST(isnan, __builtin_isnan)
KILN_SOFTWARE_TEST(isinf, __builtin_isinf)
KILN_SOFTWARE_TEST(isfinite, __builtin_isfinite)
__forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__forceinline__ float rsqrtf(float x) { return 1.0f / sqrtf(x); }
__forceinline__ double rsqrt(double x) { return 1.0 / sqrt(x); }
__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ float __expf(float x) { return expf(x); }

/* Newton's steps from the fit of M. Giles, Approximating the erfinv function, 2012, in its first terms. */
KILN_SOFTWARE double erfinv(double x) {
    const double a = fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? copysign(__builtin_inf(), x) : __builtin_nan("");
    const double w = -log1p(-a * a), s = sqrt(w);
    double y = w < 5.0 ? a * (1.50140941 + (w - 2.5) * 0.246640727) : a * (2.83297682 + (s - 3.0) * 1.00167406);
    for (int i = 0; i < 6; i++) {
        const double excess = a < 0.5 ? erf(y) - a : (1.0 - a) - erfc(y);
        const double step = excess * 0.88622692545275801 * exp(y * y);
        y -= step / (1.0 + y * step);
    }
    return copysign(y, x);
}
__forceinline__ float erfinvf(float x) { return (float)erfinv(x); }

/* ---- the instructions of kernel_sources/device.cuh ---- */

#define KILN_DEVICE_CUH
#define KILN_COMPILER 9999 /* as if the newest */

__forceinline__ float kiln_f16_to_f32(unsigned short h) {
    const unsigned sign = (unsigned)(h & 0x8000) << 16, bits = (unsigned)(h & 0x7fff) << 13;
    /* The exponents differ by 112; what overflows f16's is an infinity or NaN. */
    const float f = h % 0x8000 >= 0x7c00 ? __uint_as_float(bits | 0x7f800000u) : __uint_as_float(bits) * 0x1p112f;
    return __uint_as_float(__float_as_uint(f) | sign);
}
__forceinline__ unsigned short kiln_f32_to_f16(float f) {
    const unsigned sign = __float_as_uint(f) >> 16 & 0x8000, bits = __float_as_uint(f) & 0x7fffffff;
    if (bits > 0x7f800000) return 0x7fff;
    if (bits >= 0x47800000) return (unsigned short)(sign | 0x7c00);
    if (bits < 0x38800000) /* the addition rounds to multiples of f16's smallest number */
        return (unsigned short)(sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u));
    return (unsigned short)(sign | ((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13));
}
/* By way of f32 rounded to odd, so that the second rounding sees whether bits were lost. */
__forceinline__ unsigned short kiln_f64_to_f16(double d) {
    const float f = __double2float_rz(d);
    return kiln_f32_to_f16((double)f != d ? __uint_as_float(__float_as_uint(f) | 1u) : f);
}
__forceinline__ unsigned short kiln_i64_to_f16(long long i) {
    return kiln_f64_to_f16(i > 1 << 20 ? 1 << 20 : i < -(1 << 20) ? -(1 << 20) : (double)i);
}
__forceinline__ unsigned short kiln_f32_to_bf16(float f) {
    const unsigned bits = __float_as_uint(f);
    return f != f ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
__forceinline__ unsigned kiln_f32_pair_to_f16(float a, float b) {
    return kiln_f32_to_f16(a) | (unsigned)kiln_f32_to_f16(b) << 16;
}
__forceinline__ unsigned kiln_f32_pair_to_bf16(float a, float b) {
    return kiln_f32_to_bf16(a) | (unsigned)kiln_f32_to_bf16(b) << 16;
}
KILN_SOFTWARE unsigned kiln_software_byte(float f, int low, int high) {
    const int i = __float2int_rn(f);
    return (unsigned)(i < low ? low : i > high ? high : i) & 255;
}
__forceinline__ unsigned short kiln_f32_pair_to_i8(float a, float b) {
    return (unsigned short)(kiln_software_byte(a, -128, 127) | kiln_software_byte(b, -128, 127) << 8);
}
__forceinline__ unsigned short kiln_f32_pair_to_u8(float a, float b) {
    return (unsigned short)(kiln_software_byte(a, 0, 255) | kiln_software_byte(b, 0, 255) << 8);
}

#if __CUDA_ARCH__ >= 890
#define KILN_HAS_FP8
/* Rounded to a step of the format at the float's size; codes of neighbouring values follow each other. */
KILN_SOFTWARE unsigned kiln_software_fp8(float f, int mantissa, int least_exponent, int largest) {
    const float a = __builtin_fabsf(f);
    if (f != f) return 0x7f;
    int exponent = (int)(__float_as_uint(a) >> 23) - 127;
    if (exponent < least_exponent) exponent = least_exponent;
    const double steps = __builtin_rint((double)a * __builtin_ldexp(1.0, mantissa - exponent));
    const double code = steps + __builtin_ldexp(exponent - least_exponent, mantissa);
    return (unsigned)(code < largest ? (int)code : largest) | (__float_as_uint(f) >> 24 & 0x80);
}
__forceinline__ unsigned short kiln_f32_pair_to_e4m3(float a, float b) {
    return (unsigned short)(kiln_software_fp8(a, 3, -6, 0x7e) | kiln_software_fp8(b, 3, -6, 0x7e) << 8);
}
__forceinline__ unsigned short kiln_f32_pair_to_e5m2(float a, float b) {
    return (unsigned short)(kiln_software_fp8(a, 2, -14, 0x7b) | kiln_software_fp8(b, 2, -14, 0x7b) << 8);
}
__forceinline__ unsigned kiln_software_e4m3_to_f16(unsigned code) {
    const int exponent = (int)(code >> 3 & 15), mantissa = (int)(code & 7);
    const double size = __builtin_ldexp(exponent ? 8 + mantissa : mantissa, (exponent ? exponent : 1) - 10);
    const unsigned f16 = (code & 127) == 127 ? 0x7fff : kiln_f32_to_f16((float)size);
    return f16 | (code & 128) << 8;
}
__forceinline__ unsigned kiln_e4m3_pair_to_f16(unsigned short h) {
    return kiln_software_e4m3_to_f16(h & 255) | kiln_software_e4m3_to_f16(h >> 8) << 16;
}
#endif

#define KILN_E8M0_INSTRUCTIONS
#if __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000
#define KILN_HAS_E8M0
/* By search, not by bits. */
KILN_SOFTWARE unsigned kiln_software_e8m0(float f) {
    unsigned code = 0;
    if (f != f) return 255;
    while (code < 254 && __builtin_ldexp(1.0, (int)code - 127) < __builtin_fabs((double)f)) code++;
    return code;
}
__forceinline__ unsigned short kiln_f32_pair_to_e8m0(float a, float b) {
    return (unsigned short)(kiln_software_e8m0(a) | kiln_software_e8m0(b) << 8);
}
__forceinline__ unsigned kiln_software_e8m0_to_bf16(unsigned code) {
    return code == 255 ? 0x7fff : __float_as_uint((float)__builtin_ldexp(1.0, (int)code - 127)) >> 16;
}
__forceinline__ unsigned kiln_e8m0_pair_to_bf16(unsigned short h) {
    return kiln_software_e8m0_to_bf16(h & 255) | kiln_software_e8m0_to_bf16(h >> 8) << 16;
}
#endif

#define KILN_E2M1_INSTRUCTIONS
#if __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000
#define KILN_HAS_E2M1
KILN_SOFTWARE double kiln_software_e2m1_value(unsigned code) {
    const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}
/* By search, not by bits: the nearest, of two the even one. */
KILN_SOFTWARE unsigned kiln_software_e2m1(float f) {
    const double a = __builtin_fabs((double)f);
    unsigned code = 0;
    if (f != f) return 7;
    for (unsigned c = 1; c < 8; c++) {
        const double there = __builtin_fabs(kiln_software_e2m1_value(c) - a),
                     here = __builtin_fabs(kiln_software_e2m1_value(code) - a);
        if (there < here || (there == here && c % 2 == 0) || a > 6) code = c;
    }
    return code | (__builtin_signbit(f) ? 8u : 0u);
}
__forceinline__ unsigned char kiln_f32_pair_to_e2m1(float a, float b) {
    return (unsigned char)(kiln_software_e2m1(a) | kiln_software_e2m1(b) << 4);
}
__forceinline__ unsigned kiln_e2m1_pair_to_f16(unsigned char pair) {
    return kiln_f32_to_f16((float)kiln_software_e2m1_value(pair & 15)) |
           (unsigned)kiln_f32_to_f16((float)kiln_software_e2m1_value(pair >> 4)) << 16;
}
#endif

__forceinline__ int kiln_unseen(int v) { return v; }
__forceinline__ float kiln_maximum(float a, float b) { return a > b || a != a ? a : b; }
__forceinline__ float kiln_minimum(float a, float b) { return a < b || a != a ? a : b; }
__forceinline__ int kiln_count_larger(int count, unsigned long long a, unsigned long long b) { return count + (a > b); }
#define KILN_SOFTWARE_PAIRS(name, order, widen, narrow) \
    __forceinline__ unsigned name(unsigned a, unsigned b) { \
        const unsigned low = narrow(order(widen(a & 0xffff), widen(b & 0xffff))); \
        return low | (unsigned)narrow(order(widen(a >> 16), widen(b >> 16))) << 16; \
    }
__forceinline__ float kiln_software_bf16(unsigned bits) { return __uint_as_float(bits << 16); }
KILN_SOFTWARE_PAIRS(kiln_f16_pair_maximum, kiln_maximum, kiln_f16_to_f32, kiln_f32_to_f16)
KILN_SOFTWARE_PAIRS(kiln_f16_pair_minimum, kiln_minimum, kiln_f16_to_f32, kiln_f32_to_f16)
KILN_SOFTWARE_PAIRS(kiln_bf16_pair_maximum, kiln_maximum, kiln_software_bf16, kiln_f32_to_bf16)
KILN_SOFTWARE_PAIRS(kiln_bf16_pair_minimum, kiln_minimum, kiln_software_bf16, kiln_f32_to_bf16)
__forceinline__ float kiln_fast_reciprocal(float x) { return 1.0f / x; }
__forceinline__ float kiln_fast_ratio(float a, float b) { return a / b; }
__forceinline__ float kiln_fast_sqrt(float x) { return sqrtf(x); }
__forceinline__ float kiln_fast_exp2_flush(float x) {
    const float y = exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
}

template <int BYTES> KILN_SOFTWARE void kiln_copy_async(void *shared, const void *global) {
    kiln_software->copy_async(shared, global, BYTES);
}
KILN_SOFTWARE void kiln_software_copy(char *shared, const char *global, int count) {
    for (int bytes = 16, at = 0; bytes > 0; bytes /= 2)
        if (count & bytes) kiln_software->copy_async(shared + at, global + at, bytes), at += bytes;
}
template <int BYTES> __forceinline__ void kiln_copy_async_first(void *shared, const void *global, int count) {
    kiln_software_copy(static_cast<char *>(shared), static_cast<const char *>(global), count);
    for (int i = count; i < BYTES; i++) static_cast<char *>(shared)[i] = 0;
}
__forceinline__ uint4 kiln_load_early(const uint4 *p) { return *p; }
__forceinline__ unsigned long long kiln_policy(bool) { return 0; }
template <class W> __forceinline__ W kiln_load_word(const W *p, unsigned long long) { return *p; }
__forceinline__ void kiln_rematerialise(unsigned &) {}
__forceinline__ void kiln_store16(void *p, uint4 v) { *reinterpret_cast<uint4 *>(p) = v; }
KILN_SOFTWARE void kiln_copy_wait() { kiln_software->copy_wait(-1); }
KILN_SOFTWARE void kiln_copy_wait_but(int groups) { kiln_software->copy_wait(groups < 0 ? 0 : groups); }
KILN_SOFTWARE void kiln_copy_commit() { kiln_software->copy_commit(); }

#if __CUDA_ARCH__ >= 900
KILN_SOFTWARE unsigned kiln_cluster_rank() { return kiln_software->cluster_rank; }
KILN_SOFTWARE void kiln_cluster_barrier() { kiln_software->cluster_barrier(); }
KILN_SOFTWARE void kiln_cluster_write(unsigned *slot, unsigned rank, unsigned word) {
    kiln_software->cluster_write(slot, rank, word);
}
KILN_SOFTWARE void kiln_cluster_prepare(unsigned long long *arrivals, int count) {
    kiln_software->cluster_prepare(arrivals, count);
}
KILN_SOFTWARE void kiln_cluster_begin() { kiln_software->cluster_barrier(); }
KILN_SOFTWARE void kiln_cluster_expect(unsigned long long *arrivals, int bytes) {
    kiln_software->cluster_expect(arrivals, bytes);
}
template <int WORDS>
KILN_SOFTWARE void kiln_cluster_send(unsigned *slot, unsigned rank, const unsigned *words,
                                     unsigned long long *arrivals) {
    kiln_software->cluster_align(slot, WORDS);
    for (int w = 0; w < WORDS; ++w) kiln_software->cluster_send(slot + w, rank, words[w], arrivals);
}
KILN_SOFTWARE void kiln_cluster_wait(unsigned long long *arrivals, int phase) {
    kiln_software->cluster_wait(arrivals, phase);
}
KILN_SOFTWARE void kiln_launch_wait() { kiln_software->launch_wait(); }
KILN_SOFTWARE void kiln_launch_dependents() {} /* grids run one after another */
#endif
KILN_SOFTWARE void kiln_grid_barrier(unsigned *counter) { kiln_software->grid_barrier(counter); }

/* ---- how the host enters a kernel ---- */

template <int... I> struct kiln_software_list {};
template <int N, int... I> struct kiln_software_count : kiln_software_count<N - 1, N - 1, I...> {};
template <int... I> struct kiln_software_count<0, I...> { typedef kiln_software_list<I...> type; };

template <class... A> struct kiln_software_entry {
    static constexpr unsigned long count = sizeof...(A);
    template <int... I>
    static __forceinline__ void call(void (*kernel)(A...), void **parameters, kiln_software_list<I...>) {
        kernel(*static_cast<const A *>(parameters[I])...);
    }
};
template <class... A> constexpr kiln_software_entry<A...> kiln_software_entry_of(void (*)(A...)) { return {}; }
#define KILN_SOFTWARE_ENTRY(name) \
    typedef decltype(kiln_software_entry_of(name)) kiln_software_entry_##name; \
    __attribute__((no_sanitize_thread)) static void kiln_software_enter_##name(void **parameters) { \
        kiln_software_entry_##name::call(name, parameters, \
                                         kiln_software_count<kiln_software_entry_##name::count>::type()); \
    }
template <unsigned X = 1, unsigned Y = 1, unsigned Z = 1> struct kiln_software_cluster {
    static_assert(X > 0 && Y == 1 && Z == 1, "clusters lie along x");
    static constexpr unsigned size = X;
};
template <unsigned Threads = 1024, unsigned Blocks = 1> struct kiln_software_bounds {
    static constexpr unsigned threads = Threads;
};
#define KILN_SOFTWARE_ROW(name) #name, kiln_software_enter_##name, kiln_software_entry_##name::count

/* Shared variables are thread-local: using one of them makes all. */
static thread_local char kiln_software_touched;
__attribute__((no_sanitize_thread)) static void kiln_software_touch_shared() {
    *const_cast<volatile char *>(&kiln_software_touched) = 1;
}
#define KILN_SOFTWARE_EXPORTS(dynamic_shared, ...) \
    static const kiln_software_kernel kiln_software_kernels[] = {__VA_ARGS__}; \
    extern "C" __attribute__((visibility("default"))) const kiln_software_image kiln_software_exports = { \
        &kiln_software, kiln_software_kernels, sizeof kiln_software_kernels / sizeof *kiln_software_kernels, \
        dynamic_shared, kiln_software_touch_shared};

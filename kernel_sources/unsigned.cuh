// SPDX-License-Identifier: Apache-2.0
/* u16, u32 and u64: conversions and operators, declared before the templates of vectors.cuh and math.cuh that call
 * them. u16 is computed in int, as u8 is. */

typedef unsigned short kiln_u16;

/* ---- conversions: as those of vectors.cuh, to nearest even and saturating ---- */

KILN_DEVICE int kiln_widen(kiln_u16 i) { return i; }
KILN_DEVICE kiln_u32 kiln_widen(kiln_u32 i) { return i; }
KILN_DEVICE kiln_u64 kiln_widen(kiln_u64 i) { return i; }

KILN_DEVICE float kiln_odd_f32(kiln_u64 i) {
    const float f = __ull2float_rz(i);
    return __float2ull_rz(f) != i ? __uint_as_float(__float_as_uint(f) | 1u) : f;
}
KILN_DEVICE float kiln_odd_f32(kiln_u32 i) { return kiln_odd_f32((kiln_u64)i); }

KILN_DEVICE int kiln_nearest_i32(kiln_u32 i) { return i > 0x7fffffffu ? 0x7fffffff : (int)i; }
KILN_DEVICE int kiln_nearest_i32(kiln_u64 i) { return i > 0x7fffffffu ? 0x7fffffff : (int)i; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(float f) { return f == f ? __float2uint_rn(f) : 0; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(double d) { return d == d ? __double2uint_rn(d) : 0; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(int i) { return i < 0 ? 0 : (kiln_u32)i; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(kiln_i64 i) { return i < 0 ? 0 : i > 0xffffffffLL ? 0xffffffffu : (kiln_u32)i; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(kiln_u32 i) { return i; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(kiln_u64 i) { return i > 0xffffffffu ? 0xffffffffu : (kiln_u32)i; }
KILN_DEVICE kiln_u32 kiln_nearest_u32(bool b) { return b; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(float f) { return f == f ? __float2ull_rn(f) : 0; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(double d) { return d == d ? __double2ull_rn(d) : 0; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(int i) { return i < 0 ? 0 : (kiln_u64)i; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(kiln_i64 i) { return i < 0 ? 0 : (kiln_u64)i; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(kiln_u32 i) { return i; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(kiln_u64 i) { return i; }
KILN_DEVICE kiln_u64 kiln_nearest_u64(bool b) { return b; }

template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_u16 &out) {
    const kiln_u32 i = kiln_nearest_u32(v);
    out = (kiln_u16)(i > 0xffffu ? 0xffffu : i);
}
template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_u32 &out) { out = kiln_nearest_u32(v); }
template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_u64 &out) { out = kiln_nearest_u64(v); }
KILN_DEVICE void kiln_narrow(kiln_u32 i, kiln_i64 &out) { out = i; }
KILN_DEVICE void kiln_narrow(kiln_u64 i, kiln_i64 &out) { out = i >> 63 ? 0x7fffffffffffffffLL : (kiln_i64)i; }

struct kiln_f16;
KILN_DEVICE void kiln_narrow(float f, kiln_f16 &h);
KILN_DEVICE void kiln_narrow(kiln_u32 i, kiln_f16 &h) { kiln_narrow(kiln_odd_f32(i), h); }
KILN_DEVICE void kiln_narrow(kiln_u64 i, kiln_f16 &h) { kiln_narrow(kiln_odd_f32(i), h); }

/* Casts between compute types: as those of math.cuh, towards zero and saturating. */
KILN_DEVICE int kiln_to_i32(kiln_u32 x) { return kiln_nearest_i32(x); }
KILN_DEVICE int kiln_to_i32(kiln_u64 x) { return kiln_nearest_i32(x); }
KILN_DEVICE kiln_i64 kiln_to_i64(kiln_u32 x) { return x; }
KILN_DEVICE kiln_i64 kiln_to_i64(kiln_u64 x) { return x >> 63 ? 0x7fffffffffffffffLL : (kiln_i64)x; }
KILN_DEVICE kiln_u32 kiln_to_u32(float x) { return x == x ? __float2uint_rz(x) : 0; }
KILN_DEVICE kiln_u32 kiln_to_u32(double x) { return x == x ? __double2uint_rz(x) : 0; }
template <class I> KILN_DEVICE kiln_u32 kiln_to_u32(I x) { return kiln_nearest_u32(x); }
KILN_DEVICE kiln_u64 kiln_to_u64(float x) { return x == x ? __float2ull_rz(x) : 0; }
KILN_DEVICE kiln_u64 kiln_to_u64(double x) { return x == x ? __double2ull_rz(x) : 0; }
template <class I> KILN_DEVICE kiln_u64 kiln_to_u64(I x) { return kiln_nearest_u64(x); }

/* ---- operators: they wrap around; x / 0 is 0; a count that is negative or as wide as the type shifts all out ---- */

#define KILN_UNSIGNED_OPERATORS(T) \
    KILN_DEVICE T kiln_add(T a, T b) { return a + b; } \
    KILN_DEVICE T kiln_sub(T a, T b) { return a - b; } \
    KILN_DEVICE T kiln_mul(T a, T b) { return a * b; } \
    KILN_DEVICE T kiln_abs(T a) { return a; } \
    KILN_DEVICE T kiln_sign(T a) { return a != 0; } \
    KILN_DEVICE T kiln_fmod(T x, T y) { return y == 0 ? 0 : x % y; } \
    KILN_DEVICE T kiln_remainder(T x, T y) { return y == 0 ? 0 : x % y; } \
    KILN_DEVICE T kiln_div_trunc(T x, T y) { return y == 0 ? 0 : x / y; } \
    KILN_DEVICE T kiln_div_floor(T x, T y) { return y == 0 ? 0 : x / y; } \
    KILN_DEVICE T kiln_power(T x, T n) { \
        T power = 1; \
        for (; n != 0; n >>= 1, x *= x) \
            if (n & 1) power *= x; \
        return power; \
    } \
    KILN_DEVICE T kiln_shl(T a, kiln_i64 n) { return n < 0 || n >= 8 * (int)sizeof(T) ? 0 : a << n; } \
    KILN_DEVICE T kiln_shr(T a, kiln_i64 n) { return n < 0 || n >= 8 * (int)sizeof(T) ? 0 : a >> n; }
KILN_UNSIGNED_OPERATORS(kiln_u32)
KILN_UNSIGNED_OPERATORS(kiln_u64)
KILN_DEVICE kiln_u32 kiln_popcount(kiln_u32 a) { return (kiln_u32)__popc(a); }
KILN_DEVICE kiln_u64 kiln_popcount(kiln_u64 a) { return (kiln_u64)__popcll(a); }

/* The device language: storage types, packs, conversions, shuffles, barriers, asynchronous copies.
 * The only file with inline PTX. Everything else in this folder and all generated code calls these functions. */

#define KILN_DEVICE __device__ __forceinline__
#define KILN_MEMBER __device__ __forceinline__

typedef signed char kiln_i8;
typedef unsigned char kiln_u8;
typedef long long kiln_i64;
typedef unsigned int kiln_u32;
typedef unsigned long long kiln_u64;

/* ---- instructions that CUDA C++ has no functions for; what stands in for a GPU defines KILN_DEVICE_CUH and these ---- */

#ifndef KILN_DEVICE_CUH
#define KILN_DEVICE_CUH

/* The compiler's version, 1201 for 12.1: older ones do not know all instructions. */
#define KILN_COMPILER (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__)

/* To nearest even; half types as their bits. */
KILN_DEVICE float kiln_f16_to_f32(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
KILN_DEVICE unsigned short kiln_f32_to_f16(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
KILN_DEVICE unsigned short kiln_f64_to_f16(double d) {
    unsigned short h;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(d));
    return h;
}
KILN_DEVICE unsigned short kiln_i64_to_f16(kiln_i64 i) {
    unsigned short h;
    asm("cvt.rn.f16.s64 %0, %1;" : "=h"(h) : "l"(i));
    return h;
}
KILN_DEVICE unsigned short kiln_f32_to_bf16(float f) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
/* Two in a word, a in its low half. */
KILN_DEVICE kiln_u32 kiln_f32_pair_to_f16(float a, float b) {
    kiln_u32 w;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
    return w;
}
KILN_DEVICE kiln_u32 kiln_f32_pair_to_bf16(float a, float b) {
    kiln_u32 w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
    return w;
}

#if __CUDA_ARCH__ >= 900 || (__CUDA_ARCH__ >= 890 && KILN_COMPILER >= 1201) /* NVRTC 12.0 lacks it for sm_89 */
#define KILN_HAS_FP8
/* Two 8-bit floats in a half word, a in its low half; saturating. */
KILN_DEVICE unsigned short kiln_f32_pair_to_e4m3(float a, float b) {
    unsigned short h;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(b), "f"(a));
    return h;
}
KILN_DEVICE unsigned short kiln_f32_pair_to_e5m2(float a, float b) {
    unsigned short h;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(h) : "f"(b), "f"(a));
    return h;
}
/* And two of them as f16, exactly. */
KILN_DEVICE kiln_u32 kiln_e4m3_pair_to_f16(unsigned short h) {
    kiln_u32 w;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(w) : "h"(h));
    return w;
}
#endif

/* The larger and the smaller; NaN if either is NaN. */
KILN_DEVICE float kiln_maximum(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
KILN_DEVICE float kiln_minimum(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

/* The same of both halves of a word. */
#define KILN_PAIRS(name, instruction) \
    KILN_DEVICE kiln_u32 name(kiln_u32 a, kiln_u32 b) { \
        kiln_u32 r; \
        asm(instruction " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); \
        return r; \
    }
KILN_PAIRS(kiln_f16_pair_maximum, "max.NaN.f16x2")
KILN_PAIRS(kiln_f16_pair_minimum, "min.NaN.f16x2")
KILN_PAIRS(kiln_bf16_pair_maximum, "max.NaN.bf16x2")
KILN_PAIRS(kiln_bf16_pair_minimum, "min.NaN.bf16x2")

/* Fast forms, without the slow paths that the exact ones branch to. reciprocal: 1 ulp, infinite for numbers under
 * 2^-128. ratio: 2 ulp over the whole range. exp2_flush: 2 ulp; results under 2^-126 become 0. */
KILN_DEVICE float kiln_fast_reciprocal(float x) {
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
KILN_DEVICE float kiln_fast_ratio(float a, float b) {
    float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
KILN_DEVICE float kiln_fast_exp2_flush(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
KILN_DEVICE void kiln_forget(kiln_u32 &word) { asm volatile("" : "+r"(word)); } /* what the compiler knows of it */

/* One access, also where it stands beside single ones: the compiler takes plain stores apart there. */
KILN_DEVICE void kiln_store16(void *p, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

/* A load that stays before the stores that follow it, so that many are under way: none of them writes what it reads. */
KILN_DEVICE uint4 kiln_load_early(const uint4 *p) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(p)));
    return v;
}

/* Loads with a policy for their lines in the L2: those that are read once can be given up first, and what others left
 * there to be written stays; or, as without a policy, its order is left alone. Of 16, 8, 4 and 2 bytes. */
#if KILN_COMPILER >= 1104
KILN_DEVICE kiln_u64 kiln_policy(bool once) {
    kiln_u64 first, unchanged;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(unchanged));
    return once ? first : unchanged;
}
KILN_DEVICE uint4 kiln_load_word(const uint4 *p, kiln_u64 policy) {
    uint4 v;
    asm("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return v;
}
KILN_DEVICE uint2 kiln_load_word(const uint2 *p, kiln_u64 policy) {
    uint2 v;
    asm("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
        : "=r"(v.x), "=r"(v.y)
        : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return v;
}
KILN_DEVICE unsigned kiln_load_word(const unsigned *p, kiln_u64 policy) {
    unsigned v;
    asm("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return v;
}
KILN_DEVICE unsigned short kiln_load_word(const unsigned short *p, kiln_u64 policy) {
    unsigned short v;
    asm("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(v) : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return v;
}
#else
KILN_DEVICE kiln_u64 kiln_policy(bool) { return 0; }
template <class W> KILN_DEVICE W kiln_load_word(const W *p, kiln_u64) { return *p; }
#endif

/* Asynchronous copies from global to shared memory, 4, 8 or 16 bytes, both ends aligned to BYTES; wait: until this
 * thread's own have arrived. */
template <int BYTES> KILN_DEVICE void kiln_copy_async(void *shared, const void *global) {
    kiln_u32 to = (kiln_u32)__cvta_generic_to_shared(shared);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(global))
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(__cvta_generic_to_global(global)),
                     "n"(BYTES)
                     : "memory");
}
/* Of BYTES the first `count` alone are read, the others become 0. */
template <int BYTES> KILN_DEVICE void kiln_copy_async_first(void *shared, const void *global, int count) {
    kiln_u32 to = (kiln_u32)__cvta_generic_to_shared(shared);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(global)),
                     "r"(count)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(__cvta_generic_to_global(global)),
                     "n"(BYTES), "r"(count)
                     : "memory");
}
KILN_DEVICE void kiln_copy_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
/* commit: the copies since the last one are a group; wait_but: until all but the latest `groups` have arrived (or fewer). */
KILN_DEVICE void kiln_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
KILN_DEVICE void kiln_copy_wait_but(int groups) {
    if (groups <= 0)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    else if (groups == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else if (groups == 2)
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    else if (groups == 3)
        asm volatile("cp.async.wait_group 3;" ::: "memory");
    else if (groups < 6)
        asm volatile("cp.async.wait_group 4;" ::: "memory");
    else if (groups < 10)
        asm volatile("cp.async.wait_group 6;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 10;" ::: "memory");
}

#if __CUDA_ARCH__ >= 900
/* Clusters: blocks that run together and reach each other's shared memory. The barrier is one of all their threads, and
 * orders what they wrote. write: 4 bytes to where block `rank` of the cluster has the shared variable `slot`. */
KILN_DEVICE kiln_u32 kiln_cluster_rank() {
    kiln_u32 r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
KILN_DEVICE void kiln_cluster_barrier() {
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}
KILN_DEVICE void kiln_cluster_write(kiln_u32 *slot, kiln_u32 rank, kiln_u32 word) {
    asm volatile("{\n\t.reg .u32 far;\n\tmapa.shared::cluster.u32 far, %0, %1;\n\t"
                 "st.shared::cluster.u32 [far], %2;\n\t}" ::"r"((kiln_u32)__cvta_generic_to_shared(slot)),
                 "r"(rank), "r"(word)
                 : "memory");
}
#if KILN_COMPILER >= 1201
/* The same without a barrier of all. send: a write that counts there, at the barrier `arrivals`: expect, by one thread,
 * tells how many bytes complete its phase, wait waits until they have, the phases being 0, 1, 0, ... prepare: by one
 * thread, then begin: all blocks have begun, and their barriers can be sent to. */
KILN_DEVICE void kiln_cluster_prepare(kiln_u64 *arrivals, int count) {
    for (int i = 0; i < count; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((kiln_u32)__cvta_generic_to_shared(arrivals + i))
                     : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
KILN_DEVICE void kiln_cluster_begin() {
    asm volatile("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait;" ::: "memory");
}
KILN_DEVICE void kiln_cluster_expect(kiln_u64 *arrivals, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     (kiln_u32)__cvta_generic_to_shared(arrivals)),
                 "r"(bytes)
                 : "memory");
}
/* WORDS: 1, 2 or 4, in one write. */
template <int WORDS>
KILN_DEVICE void kiln_cluster_send(kiln_u32 *slot, kiln_u32 rank, const kiln_u32 *words, kiln_u64 *arrivals) {
    kiln_u32 far, there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"((kiln_u32)__cvta_generic_to_shared(slot)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"((kiln_u32)__cvta_generic_to_shared(arrivals)), "r"(rank));
    if constexpr (WORDS == 1)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(far), "r"(words[0]),
                     "r"(there)
                     : "memory");
    else if constexpr (WORDS == 2)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];" ::"r"(far),
                     "r"(words[0]), "r"(words[1]), "r"(there)
                     : "memory");
    else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                         far),
                     "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(there)
                     : "memory");
}
KILN_DEVICE void kiln_cluster_wait(kiln_u64 *arrivals, int phase) {
    kiln_u32 done;
    do
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"((kiln_u32)__cvta_generic_to_shared(arrivals)), "r"(phase)
                     : "memory");
    while (!done);
}
#endif
#endif

#if __CUDA_ARCH__ >= 900
/* Launches one after the other: until the kernel before has ended, and what it wrote can be read. Blocks begin as those
 * before end; earlier, on its multiprocessors' last places, they would be in its way (sums of f32 65,536x1,024 over axis 0
 * 101.1 us, 104.9). */
KILN_DEVICE void kiln_launch_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif

/* Cooperative grids, whose blocks all run together. The barrier is one of all their threads, and orders what they wrote to
 * global memory; counter: 4 bytes of global memory, 0 before the launch, its top bit turns with each barrier. */
KILN_DEVICE void kiln_grid_barrier(kiln_u32 *counter) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool first = blockIdx.x == 0;
        const kiln_u32 step = first ? 0x80000000u - (gridDim.x - 1) : 1u;
        kiln_u32 before, now;
        asm volatile("fence.acq_rel.gpu;\n\tatom.add.release.gpu.global.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(__cvta_generic_to_global(counter)), "r"(step)
                     : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(now)
                         : "l"(__cvta_generic_to_global(counter))
                         : "memory");
        while (((now ^ before) & 0x80000000u) == 0);
    }
    __syncthreads();
}

#endif

/* ---- storage types and packs ---- */

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
template <class T, int N, bool PAIRS = kiln_is_half<T>::value && N % 2 == 0>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kiln_pack {
    T at[N];
    KILN_MEMBER T get(int j) const { return at[j]; }
    KILN_MEMBER void set(int j, T value) { at[j] = value; }
};
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kiln_pack<T, N, true> {
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

/* ---- conversions: storage type to compute type and back, one element and whole packs ---- */

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

/* Computed values to a pack of a storage type. */
template <class V, class T, int N>
KILN_DEVICE void kiln_narrow_pack(const V (&values)[N], kiln_pack<T, N, false> &pack) {
#pragma unroll
    for (int j = 0; j < N; ++j) kiln_narrow(values[j], pack.at[j]);
}
template <class V, class T, int N>
KILN_DEVICE void kiln_narrow_pack(const V (&values)[N], kiln_pack<T, N, true> &pack) {
#pragma unroll
    for (int j = 0; j < N; j += 2) pack.words[j / 2] = kiln_half_pair<T>::narrow(values[j], values[j + 1]);
}

/* ---- memory: packs in accesses of V elements; partial packs element by element ---- */

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

/* The whole pack at p, which is aligned to V elements. `policy`, here and below: none, or what kiln_policy gave. */
template <int V, class T, int N, class... Policy>
KILN_DEVICE void kiln_load(kiln_pack<T, N> &pack, const T *p, Policy... policy) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
#pragma unroll
    for (int i = 0; i < N / V; ++i)
        reinterpret_cast<word *>(&pack)[i] = kiln_load_word(reinterpret_cast<const word *>(p) + i, policy...);
}
template <int V, class T, int N> KILN_DEVICE void kiln_store(const kiln_pack<T, N> &pack, T *p) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
#pragma unroll
    for (int i = 0; i < N / V; ++i) kiln_store_word(reinterpret_cast<word *>(p) + i, reinterpret_cast<const word *>(&pack)[i]);
}
/* Elements low <= j < high alone; the others of a loaded pack are zero. */
template <class T, int N> KILN_DEVICE void kiln_load_part(kiln_pack<T, N> &pack, const T *p, int low, int high) {
#pragma unroll
    for (int j = 0; j < N; ++j) pack.set(j, low <= j && j < high ? p[j] : T());
}
template <class T, int N> KILN_DEVICE void kiln_store_part(const kiln_pack<T, N> &pack, T *p, int low, int high) {
#pragma unroll
    for (int j = 0; j < N; ++j)
        if (low <= j && j < high) p[j] = pack.get(j);
}

/* V neighbouring elements of a pack, from j on. */
template <int V, class T, int N> KILN_DEVICE void kiln_load_run(kiln_pack<T, N> &pack, int j, const T *p) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    reinterpret_cast<word *>(&pack)[j / V] = *reinterpret_cast<const word *>(p);
}

/* The pack that begins `skip` elements into two that lie side by side, of 4 bytes and more. */
template <class T, int N>
KILN_DEVICE void kiln_join(kiln_pack<T, N> &pack, const kiln_pack<T, N> (&halves)[2], int skip) {
    constexpr int words = (int)sizeof(T) * N / 4;
    const int bytes = skip * (int)sizeof(T);
    kiln_u32 word[2 * words];
#pragma unroll
    for (int i = 0; i < 2 * words; ++i) word[i] = reinterpret_cast<const kiln_u32 *>(halves + i / words)[i % words];
#pragma unroll
    for (int by = words / 2; by > 0; by /= 2)
#pragma unroll
        for (int i = 0; i + by < 2 * words; ++i) word[i] = bytes / 4 & by ? word[i + by] : word[i];
#pragma unroll
    for (int i = 0; i < words; ++i)
        reinterpret_cast<kiln_u32 *>(&pack)[i] = __funnelshift_r(word[i], word[i + 1], bytes % 4 * 8);
}

/* Whole packs in accesses of V elements, partial ones element by element. */
template <int V, class T, int N, class Span, class... Policy>
KILN_DEVICE void kiln_fetch(kiln_pack<T, N> &pack, const T *p, const Span &span, Policy... policy) {
    if (span.whole())
        kiln_load<(V < N ? V : N)>(pack, p, policy...);
    else
        kiln_load_part(pack, p, span.low, span.high);
}
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_fetch_early(kiln_pack<T, N> &pack, const T *p, const Span &span) {
    typedef typename kiln_word<sizeof(T) * V>::type word;
    if (!span.whole()) return kiln_load_part(pack, p, span.low, span.high);
#pragma unroll
    for (int i = 0; i < N / V; ++i)
        reinterpret_cast<word *>(&pack)[i] = kiln_load_early(reinterpret_cast<const word *>(p) + i);
}
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_put(const kiln_pack<T, N> &pack, T *p, const Span &span) {
    if (span.whole())
        kiln_store<(V < N ? V : N)>(pack, p);
    else
        kiln_store_part(pack, p, span.low, span.high);
}

/* ---- threads ---- */

/* As much as the launch asks for. Asynchronous copies move sectors of 32 bytes: those that begin elsewhere in shared memory
 * than in a sector take longer. */
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

/* A pack into this thread's slot of shared memory; a partial one by way of registers. */
template <int V, class T, int N, class Span>
KILN_DEVICE void kiln_fetch_async(kiln_pack<T, N> *slot, const T *p, const Span &span) {
    constexpr int bytes = V * (int)sizeof(T);
    if (bytes >= 4 && span.whole()) {
#pragma unroll
        for (int i = 0; i < N / V; ++i)
            kiln_copy_async<(bytes >= 4 ? bytes : 4)>(reinterpret_cast<char *>(slot) + i * bytes, p + i * V);
    } else {
        kiln_pack<T, N> pack;
        kiln_fetch<V>(pack, p, span);
        *slot = pack;
    }
}

/* ---- index arithmetic ---- */

/* n / d for n < 2^31 by multiply and shift; the host computes the two from d (Granlund and Montgomery, 1994). */
struct kiln_divisor {
    kiln_u32 divisor, multiplier, shift;
};
KILN_DEVICE kiln_u32 kiln_divide(kiln_u32 n, kiln_divisor d) {
    return (kiln_u32)(((kiln_u64)n * d.multiplier) >> d.shift);
}

/* Where a pack's elements lie in a tensor whose last dimension ends in no pack, or in one of which the next run has the
 * rest: those of the first `left` from `here` on, the others from `there` on. */
struct kiln_bend {
    kiln_i64 here, there;
    int before, left; /* elements of the run before the pack's first, and from it on; more than two packs are two */
    KILN_MEMBER kiln_i64 at(int j, kiln_i64 stride) const { return (j < left ? here : there - left * stride) + j * stride; }
};
KILN_DEVICE int kiln_clip(kiln_index elements) { return elements < 2 * KILN_PACK ? (int)elements : 2 * KILN_PACK; }

// SPDX-License-Identifier: Apache-2.0
/* The device language: what CUDA C++ has no functions for, by inline PTX, which stands nowhere else but in conversions
 * of small types. Everything else in this folder and all generated code calls these functions. */

#define KILN_DEVICE __device__ __forceinline__
#define KILN_MEMBER __device__ __forceinline__
#define KILN_CALL __device__ __noinline__
#ifdef KILN_OUTLINED /* large programs: what each phase takes once is a function, too */
#define KILN_EXCHANGE KILN_CALL
#else
#define KILN_EXCHANGE KILN_DEVICE
#endif

typedef signed char kiln_i8;
typedef unsigned char kiln_u8;
typedef long long kiln_i64;
typedef unsigned int kiln_u32;
typedef unsigned long long kiln_u64;

/* ---- instructions without a C++ function; what stands in for a GPU defines KILN_DEVICE_CUH and these ---- */

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
/* Two integers of 8 bits in a half word, a in its low half: to nearest even, saturating, NaN gives 0. */
KILN_DEVICE unsigned short kiln_f32_pair_to_i8(float a, float b) {
    kiln_u32 w;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(w) : "r"(__float2int_rn(b)), "r"(__float2int_rn(a)));
    return (unsigned short)w;
}
KILN_DEVICE unsigned short kiln_f32_pair_to_u8(float a, float b) {
    kiln_u32 w;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(w) : "r"(__float2int_rn(b)), "r"(__float2int_rn(a)));
    return (unsigned short)w;
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

/* The value, in a way that ptxas does not see through. Before CUDA 13.4 it makes one instruction, VIMNMX.RELU, of a
 * minimum of integers, the maximum of that and 0, and a comparison of the result with the bound, and gets it wrong on
 * sm_90 and sm_103 (https://github.com/NVIDIA/cccl/pull/11306). */
KILN_DEVICE int kiln_unseen(int v) {
#if (__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1030) && KILN_COMPILER < 1304
    asm("lop3.b32 %0, %0, 0, 0, 0xf0;" : "+r"(v));
#endif
    return v;
}

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

/* count + 1 where a is larger than b: written in C++ it is one instruction more. */
KILN_DEVICE int kiln_count_larger(int count, kiln_u64 a, kiln_u64 b) {
    asm("{\n\t.reg .pred larger;\n\tsetp.gt.u64 larger, %1, %2;\n\t@larger add.s32 %0, %0, 1;\n\t}"
        : "+r"(count)
        : "l"(a), "l"(b));
    return count;
}

/* Fast forms, without the slow paths that the exact ones branch to. reciprocal: 1 ulp, for numbers from 2^-126 to
 * 2^126; 0 is its own beyond. ratio: 2 ulp, sqrt: 1 ulp, over the whole range. exp2_flush: 2 ulp; results under 2^-126
 * become 0. */
KILN_DEVICE float kiln_fast_reciprocal(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
KILN_DEVICE float kiln_fast_ratio(float a, float b) {
    float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
KILN_DEVICE float kiln_fast_sqrt(float x) {
    float r;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
KILN_DEVICE float kiln_fast_exp2_flush(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
/* Makes the compiler forget what it knows of the word, so that what was computed of it is computed again. */
KILN_DEVICE void kiln_rematerialise(kiln_u32 &word) { asm volatile("" : "+r"(word)); }

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

#ifdef KILN_POLICIES
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
#endif

#ifdef KILN_COPIES
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
/* commit: the copies since the last one are a group; wait_but: until all but the latest `groups` have arrived, or
 * all but as many as the power of two below: an instruction is for one number. */
KILN_DEVICE void kiln_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
KILN_DEVICE void kiln_copy_wait_but(int groups) {
    if (groups >= 8)
        asm volatile("cp.async.wait_group 8;" ::: "memory");
    else if (groups >= 4)
        asm volatile("cp.async.wait_group 4;" ::: "memory");
    else if (groups >= 2)
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    else if (groups == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 0;" ::: "memory");
}
#endif

#if __CUDA_ARCH__ >= 900 && KILN_BLOCKS_PER_ROW > 1
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
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"((kiln_u32)__cvta_generic_to_shared(arrivals)),
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
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(far),
                     "r"(words[0]), "r"(there)
                     : "memory");
    else if constexpr (WORDS == 2)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];" ::"r"(far),
                     "r"(words[0]), "r"(words[1]), "r"(there)
                     : "memory");
    else
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(far),
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
 * before end; earlier, on its multiprocessors' last places, they would be in its way. */
KILN_DEVICE void kiln_launch_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/* The launch behind this one may begin as soon as all blocks have come here, where it was asked to; it waits as above
 * before it looks at memory. */
KILN_DEVICE void kiln_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }
#endif

/* Cooperative grids, whose blocks all run together. The barrier is one of all their threads, and orders what they wrote
 * to global memory; counter: 4 bytes of global memory, 0 before the launch, its top bit turns with each barrier. */
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

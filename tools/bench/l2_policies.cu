// SPDX-License-Identifier: Apache-2.0
// What a kernel that only reads pays for what others left in the L2 to be written, and what load policies change.
// nvcc -O3 -std=c++17 -arch=native -o l2_policies tools/bench/l2_policies.cu && ./l2_policies
//
// Reads of so many bytes take turns with a copy of the same bytes (half read, half written), after a flush that writes
// 256 MB, as benchmarks do, and after one that reads 256 MB more, so that nothing is left to be written.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

enum Policy { NORMAL, EVICT_FIRST, EVICT_UNCHANGED };

template <Policy P> __device__ uint4 load(const uint4 *p) {
    uint64_t policy;
    uint4 v;
    if (P == EVICT_FIRST)
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    else if (P == EVICT_UNCHANGED)
        asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(policy));
    if (P == NORMAL) return *p;
    asm("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "l"(policy));
    return v;
}

template <Policy P, int PACKS> __global__ void read(const uint4 *x, unsigned *never) {
    uint4 v[PACKS];
    unsigned all = 0;
    const uint4 *from = x + (size_t)blockIdx.x * blockDim.x * PACKS + threadIdx.x;
    for (int i = 0; i < PACKS; i++) v[i] = load<P>(from + i * blockDim.x);
    for (int i = 0; i < PACKS; i++) all += v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    if (all == 0x12345678) *never = all;
}

__global__ void fill(uint4 *x, size_t count, unsigned seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (size_t)blockDim.x) {
        const unsigned h = (unsigned)(i + seed) * 2654435761u;
        x[i] = make_uint4(h, h ^ h >> 15, h * 31, h * 77 + 5);
    }
}

static float median(std::vector<float> t) {
    std::sort(t.begin(), t.end());
    return t[t.size() / 2];
}

int main() {
    constexpr size_t most = 512u << 20, flush_bytes = 256u << 20;
    char *x, *y, *flushed;
    cudaEvent_t start, end;
    cudaMalloc(&x, most), cudaMalloc(&y, most), cudaMalloc(&flushed, 2 * flush_bytes);
    fill<<<1056, 512>>>((uint4 *)x, most / 16, 1), fill<<<1056, 512>>>((uint4 *)flushed, 2 * flush_bytes / 16, 2);
    cudaEventCreate(&start), cudaEventCreate(&end);
    unsigned *never = (unsigned *)y;
    const uint4 *in = (const uint4 *)x, *other = (const uint4 *)(flushed + flush_bytes);
    const char *names[] = {"copy", "normal, 4 vectors", "evict_first, 4 vectors", "evict_first, 2 vectors",
                           "evict_unchanged, 4 vectors"};
    for (int clean = 0; clean < 2; clean++)
        for (size_t mb = 64; mb <= 512; mb *= 2) {
            const size_t bytes = mb << 20, vectors = bytes / 16 / 256;
            const std::function<void()> calls[] = {
                [=] { cudaMemcpyAsync(y, x, bytes / 2, cudaMemcpyDeviceToDevice); },
                [=] { read<NORMAL, 4><<<vectors / 4, 256>>>(in, never); },
                [=] { read<EVICT_FIRST, 4><<<vectors / 4, 256>>>(in, never); },
                [=] { read<EVICT_FIRST, 2><<<vectors / 2, 256>>>(in, never); },
                [=] { read<EVICT_UNCHANGED, 4><<<vectors / 4, 256>>>(in, never); },
            };
            constexpr int count = sizeof calls / sizeof *calls;
            std::vector<float> times[count];
            for (int round = 0; round < 33; round++)
                for (int k = 0; k < count; k++) {
                    const int i = (k + round) % count;
                    cudaMemsetAsync(flushed, round, flush_bytes);
                    if (clean) read<NORMAL, 4><<<flush_bytes / 16 / 256 / 4, 256>>>(other, never);
                    cudaEventRecord(start), calls[i](), cudaEventRecord(end), cudaEventSynchronize(end);
                    float ms;
                    cudaEventElapsedTime(&ms, start, end);
                    if (round > 2) times[i].push_back(ms * 1e3f);
                }
            printf("%zu MB after %s:", mb, clean ? "writes, then reads" : "writes");
            for (int i = 0; i < count; i++) printf("  %s %.1f us", names[i], median(times[i]));
            printf("\n");
        }
    const cudaError_t error = cudaDeviceSynchronize();
    if (error) fprintf(stderr, "l2_policies: %s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

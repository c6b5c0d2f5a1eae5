// SPDX-License-Identifier: Apache-2.0
/* What the parts of the driver share: the functions' declarations, the one device and its numbers. driver.cpp has the
 * device and its memory, kernels.cpp libraries, kernels and launches. */
#ifndef KILN_SOFTWARE_GPU_DRIVER_HPP
#define KILN_SOFTWARE_GPU_DRIVER_HPP

#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "failure.hpp"
#include "faults.hpp"
#include "memory.hpp"
#include "module.hpp"

#include "gpu/driver_api.h"

/* Declared from the project's own table, so that a signature that differs does not compile, and named by the symbols
 * that the loader looks up. */
#define DECLARE(name, symbol, params) SOFTWARE_GPU_EXPORT kiln__CUresult soft_##name params __asm__(symbol);
KILN__DRIVER_FUNCTIONS(DECLARE)
KILN__DRIVER_OPTIONAL_FUNCTIONS(DECLARE)
#undef DECLARE

struct kiln__CUctx_st {
    int retained;
};
/* What was allowed to one kernel, and to none of the others in its library. */
struct KernelLimits {
    int max_dynamic_shared;   /* what static memory leaves of 48 KB, unless the kernel asked for more */
    int non_portable_cluster; /* whether clusters of more than 8 blocks are allowed */
};
struct kiln__CUlib_st {
    simulated::Module module;
    std::map<const kiln_software_kernel *, KernelLimits> limits; /* of kernels that were asked for */
};
struct kiln__CUmemoryPool_st {
    std::set<kiln__CUdeviceptr> allocations;
};
struct kiln__CUevent_st {
    std::chrono::steady_clock::time_point time;
    bool recorded;
};

namespace simulated {

constexpr int threads_per_sm = 2048, blocks_per_sm = 32, registers_per_thread = 32, reserved_shared = 1 << 10,
              default_shared = 48 << 10;
constexpr unsigned portable_cluster = 8;

struct Device {
    std::mutex lock;
    Memory memory;
    std::map<const kiln_software_kernel *, kiln__CUlibrary> kernels; /* that were asked for, of loaded libraries */
    std::set<kiln__CUlibrary> libraries;
    std::set<kiln__CUevent> events;
    std::set<kiln__CUmemoryPool> pools;
    kiln__CUctx_st context = {0};
    bool initialised = false;
    uint64_t seed = 1;
    int arch = 90;
    int sms = 0; /* 0: as many as the architecture's largest has */
    long launches = 0;
};
Device &device();

struct Limits {
    int multiprocessors, shared_per_sm, shared_per_block;
};
Limits limits(const Device &gpu);

struct ThreadState {
    kiln__CUcontext context = nullptr;
    int capture_mode = 0;
    Failure last_failure; /* whose text tells more than its code */
};
/* Of the calling host thread. */
ThreadState &current();

} // namespace simulated

#define ENTER(symbol) \
    if (const int fault = software_gpu_fault(symbol)) return fault; \
    simulated::Device &gpu = simulated::device(); \
    std::lock_guard<std::mutex> guard(gpu.lock); \
    if (!gpu.initialised) return KILN__CUDA_ERROR_NOT_INITIALIZED
#define ENTER_CONTEXT(symbol) \
    ENTER(symbol); \
    if (!simulated::current().context) return KILN__CUDA_ERROR_INVALID_CONTEXT

#endif

/* The CUDA driver of the software GPU: the functions of Kiln's own table, and the knobs of software_gpu.h. Everything
 * is synchronous: a launch that fails says so itself, and the next one works. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "faults.hpp"
#include "grid.hpp"
#include "module.hpp"
#include "random.hpp"
#include "software_gpu.h"

#include "gpu/driver_api.h"

using namespace simulated;

/* Declared from the project's own table, so that a signature that differs does not compile, and named by the symbols
 * that the loader looks up. */
#define DECLARE(name, symbol, params) SOFTWARE_GPU_EXPORT kiln__CUresult soft_##name params __asm__(symbol);
KILN__DRIVER_FUNCTIONS(DECLARE)
KILN__DRIVER_OPTIONAL_FUNCTIONS(DECLARE)
#undef DECLARE

struct kiln__CUctx_st { int retained; };
struct kiln__CUlib_st {
    Module module;
    int max_dynamic_shared; /* what static memory leaves of 48 KB, unless a kernel asked for more */
    int non_portable_cluster; /* whether clusters of more than 8 blocks are allowed */
};
struct kiln__CUmemoryPool_st { std::set<kiln__CUdeviceptr> allocations; };
struct kiln__CUevent_st { std::chrono::steady_clock::time_point time; bool recorded; };

namespace {

constexpr size_t total_memory = static_cast<size_t>(16) << 30;
constexpr int threads_per_sm = 2048, blocks_per_sm = 32, registers = 32, reserved_shared = 1 << 10;
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

Device &device()
{
    static Device *instance = new Device; /* lives on: libraries may be unloaded by the host program's exit handlers */
    return *instance;
}

thread_local kiln__CUcontext current;
thread_local int capture_mode;
thread_local Failure last_failure; /* whose text tells more than its code */

uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, nullptr, 10) : otherwise;
}

struct Limits { int multiprocessors, shared_per_sm, shared_per_block; };
Limits limits(const Device &gpu)
{
    const int arch = gpu.arch;
    if (arch >= 90 || arch == 80) return {gpu.sms ? gpu.sms : arch >= 90 ? 132 : 108, (arch >= 90 ? 228 : 164) << 10, (arch >= 90 ? 227 : 163) << 10};
    return {gpu.sms ? gpu.sms : 84, 100 << 10, 99 << 10};
}

unsigned char poison(uint64_t seed) { return seed % 2 ? 0xff : 0x7b; }

} // namespace

#define ENTER(symbol) \
    if (const int fault = software_gpu_fault(symbol)) return fault; \
    Device &gpu = device(); \
    std::lock_guard<std::mutex> guard(gpu.lock); \
    if (!gpu.initialised) return KILN__CUDA_ERROR_NOT_INITIALIZED
#define ENTER_CONTEXT(symbol) \
    ENTER(symbol); \
    if (!current) return KILN__CUDA_ERROR_INVALID_CONTEXT

/* ---- the library and its device --------------------------------------------------------------------------- */

kiln__CUresult soft_Init(unsigned flags)
{
    if (const int fault = software_gpu_fault("cuInit")) return fault;
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    if (flags) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (!gpu.initialised) {
        gpu.seed = environment("KILN_SOFTWARE_GPU_SEED", gpu.seed);
        gpu.arch = static_cast<int>(environment("KILN_SOFTWARE_GPU_ARCH", static_cast<uint64_t>(gpu.arch)));
        gpu.sms = static_cast<int>(environment("KILN_SOFTWARE_GPU_SMS", static_cast<uint64_t>(gpu.sms)));
    }
    gpu.initialised = true;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DriverGetVersion(int *version)
{
    if (const int fault = software_gpu_fault("cuDriverGetVersion")) return fault;
    *version = 13000;
    return KILN__CUDA_SUCCESS;
}

static const struct { int code; const char *name, *text; } errors[] = {
    {KILN__CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {KILN__CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {KILN__CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {KILN__CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {KILN__CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {KILN__CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {KILN__CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {KILN__CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {KILN__CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {KILN__CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CODE_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CODE_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {CODE_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CODE_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CODE_COOPERATIVE_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {CODE_INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

kiln__CUresult soft_GetErrorName(kiln__CUresult code, const char **out)
{
    *out = nullptr;
    if (const int fault = software_gpu_fault("cuGetErrorName")) return fault;
    for (const auto &error : errors)
        if (error.code == code) *out = error.name;
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

/* Where the thread's last launch failed with this code, what it did wrong. */
kiln__CUresult soft_GetErrorString(kiln__CUresult code, const char **out)
{
    *out = nullptr;
    if (const int fault = software_gpu_fault("cuGetErrorString")) return fault;
    for (const auto &error : errors)
        if (error.code == code) *out = error.text;
    if (code && last_failure.code == code) *out = last_failure.text.c_str();
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_DeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount");
    *count = 1;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGet(kiln__CUdevice *out, int ordinal)
{
    ENTER("cuDeviceGet");
    if (ordinal != 0) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGetName(char *name, int length, kiln__CUdevice ordinal)
{
    static const char text[] = "software GPU";
    ENTER("cuDeviceGetName");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    if (length < static_cast<int>(sizeof text)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(name, text, sizeof text);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceTotalMem(size_t *bytes, kiln__CUdevice ordinal)
{
    ENTER("cuDeviceTotalMem_v2");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *bytes = total_memory;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGetAttribute(int *value, kiln__CUdevice_attribute attribute, kiln__CUdevice ordinal)
{
    ENTER("cuDeviceGetAttribute");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    const Limits l = limits(gpu);
    switch (attribute) {
    case KILN__DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads; break;
    case KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = l.multiprocessors; break;
    case KILN__DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = threads_per_sm; break;
    case KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = gpu.arch / 10; break;
    case KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = gpu.arch % 10; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = l.shared_per_sm; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = l.shared_per_block; break;
    default: return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return KILN__CUDA_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------- */

kiln__CUresult soft_DevicePrimaryCtxRetain(kiln__CUcontext *out, kiln__CUdevice ordinal)
{
    ENTER("cuDevicePrimaryCtxRetain");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    gpu.context.retained++;
    *out = &gpu.context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DevicePrimaryCtxRelease(kiln__CUdevice ordinal)
{
    ENTER("cuDevicePrimaryCtxRelease_v2");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    if (gpu.context.retained == 0) return KILN__CUDA_ERROR_INVALID_CONTEXT;
    gpu.context.retained--;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxSetCurrent(kiln__CUcontext context)
{
    ENTER("cuCtxSetCurrent");
    if (context && context != &gpu.context) return KILN__CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxGetCurrent(kiln__CUcontext *context)
{
    ENTER("cuCtxGetCurrent");
    *context = current;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxGetDevice(kiln__CUdevice *out)
{
    ENTER_CONTEXT("cuCtxGetDevice");
    *out = 0;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxSynchronize(void)
{
    ENTER_CONTEXT("cuCtxSynchronize");
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_ThreadExchangeStreamCaptureMode(kiln__CUstreamCaptureMode *mode)
{
    ENTER("cuThreadExchangeStreamCaptureMode");
    if (*mode < 0 || *mode > KILN__STREAM_CAPTURE_MODE_RELAXED) return KILN__CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, capture_mode);
    return KILN__CUDA_SUCCESS;
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */

kiln__CUresult soft_LibraryLoadData(kiln__CUlibrary *out, const void *image, kiln__CUjit_option *, void **, unsigned jit_count,
                                    kiln__CUlibraryOption *, void **, unsigned count)
{
    ENTER("cuLibraryLoadData");
    if (!image || jit_count || count) return KILN__CUDA_ERROR_INVALID_VALUE;
    std::unique_ptr<kiln__CUlib_st> library(new kiln__CUlib_st);
    const int result = library->module.load(image, gpu.arch);
    if (result) return result;
    library->max_dynamic_shared = (48 << 10) - static_cast<int>(library->module.static_shared_bytes());
    library->non_portable_cluster = 0;
    *out = library.release();
    gpu.libraries.insert(*out);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_LibraryUnload(kiln__CUlibrary library)
{
    ENTER("cuLibraryUnload");
    if (!gpu.libraries.erase(library)) return KILN__CUDA_ERROR_INVALID_VALUE;
    for (auto entry = gpu.kernels.begin(); entry != gpu.kernels.end();)
        entry = entry->second == library ? gpu.kernels.erase(entry) : std::next(entry);
    delete library;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_LibraryGetKernel(kiln__CUkernel *out, kiln__CUlibrary library, const char *name)
{
    ENTER("cuLibraryGetKernel");
    if (!gpu.libraries.count(library)) return KILN__CUDA_ERROR_INVALID_VALUE;
    const kiln_software_kernel *kernel = library->module.find(name);
    if (!kernel) return KILN__CUDA_ERROR_NOT_FOUND;
    gpu.kernels[kernel] = library;
    *out = reinterpret_cast<kiln__CUkernel>(const_cast<kiln_software_kernel *>(kernel));
    return KILN__CUDA_SUCCESS;
}

/* A kernel and its function are one object here. NULL for one of no loaded library. */
static kiln__CUlibrary library_of(const Device &gpu, const void *kernel)
{
    const auto found = gpu.kernels.find(static_cast<const kiln_software_kernel *>(kernel));
    return found == gpu.kernels.end() ? nullptr : found->second;
}

kiln__CUresult soft_KernelGetFunction(kiln__CUfunction *out, kiln__CUkernel kernel)
{
    ENTER_CONTEXT("cuKernelGetFunction");
    if (!library_of(gpu, kernel)) return KILN__CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<kiln__CUfunction>(kernel);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_FuncLoad(kiln__CUfunction function)
{
    ENTER_CONTEXT("cuFuncLoad");
    return library_of(gpu, function) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_KernelGetAttribute(int *value, kiln__CUfunction_attribute attribute, kiln__CUkernel kernel, kiln__CUdevice ordinal)
{
    ENTER("cuKernelGetAttribute");
    const kiln__CUlibrary library = library_of(gpu, kernel);
    if (!library || ordinal) return KILN__CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case KILN__FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(library->module.static_shared_bytes()); break;
    case KILN__FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case KILN__FUNC_ATTRIBUTE_NUM_REGS: *value = registers; break;
    case KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = library->max_dynamic_shared; break;
    case KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = library->non_portable_cluster; break;
    default: return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_KernelSetAttribute(kiln__CUfunction_attribute attribute, int value, kiln__CUkernel kernel, kiln__CUdevice ordinal)
{
    ENTER("cuKernelSetAttribute");
    const kiln__CUlibrary library = library_of(gpu, kernel);
    if (!library || ordinal || value < 0) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (attribute == KILN__FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return KILN__CUDA_SUCCESS;
    if (attribute == KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        if (value > 1) return KILN__CUDA_ERROR_INVALID_VALUE;
        library->non_portable_cluster = value;
        return KILN__CUDA_SUCCESS;
    }
    if (attribute != KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (value + static_cast<int>(library->module.static_shared_bytes()) >
        limits(gpu).shared_per_block) return KILN__CUDA_ERROR_INVALID_VALUE;
    library->max_dynamic_shared = value;
    return KILN__CUDA_SUCCESS;
}

/* How many blocks an SM holds at a time. */
static int resident_blocks(const Device &gpu, const kiln__CUlib_st *library, int threads, size_t dynamic_shared)
{
    const Limits l = limits(gpu);
    const size_t shared = library->module.static_shared_bytes() + dynamic_shared;
    if (threads > static_cast<int>(max_threads) || shared > static_cast<size_t>(l.shared_per_block)) return 0;
    const int by_threads = threads_per_sm / ((threads + 31) / 32 * 32);
    return std::min({blocks_per_sm, by_threads, l.shared_per_sm / (static_cast<int>(shared) + reserved_shared)});
}

kiln__CUresult soft_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kiln__CUfunction function, int threads, size_t dynamic_shared)
{
    ENTER_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    const kiln__CUlibrary library = library_of(gpu, function);
    if (!library || !blocks || threads <= 0) return KILN__CUDA_ERROR_INVALID_VALUE;
    *blocks = resident_blocks(gpu, library, threads, dynamic_shared);
    return KILN__CUDA_SUCCESS;
}

/* Why the device does not take the grid at all. */
static Failure refuse_grid(const Device &gpu, const kiln__CUlib_st *library, const Grid &grid, size_t dynamic_shared)
{
    const unsigned most = library->non_portable_cluster ? cluster_limit : portable_cluster;
    if (grid.cluster > most)
        return {CODE_INVALID_CLUSTER_SIZE, format("kernel '%s' has clusters of %u blocks, and may have %u", grid.kernel_name, grid.cluster, most)};
    if (grid.blocks.x % grid.cluster)
        return {CODE_INVALID_CLUSTER_SIZE,
                format("kernel '%s' has clusters of %u blocks, in a grid of %u along x", grid.kernel_name, grid.cluster, grid.blocks.x)};
    const uint64_t blocks = static_cast<uint64_t>(grid.blocks.x) * grid.blocks.y * grid.blocks.z;
    const int threads = static_cast<int>(grid.threads.x * grid.threads.y * grid.threads.z), sms = limits(gpu).multiprocessors;
    const int resident = resident_blocks(gpu, library, threads, dynamic_shared);
    if (grid.cooperative && blocks > static_cast<uint64_t>(resident) * static_cast<uint64_t>(sms))
        return {CODE_COOPERATIVE_TOO_LARGE, format("kernel '%s' has a cooperative grid of %llu blocks, and %d SMs hold %d each", grid.kernel_name,
                                                   static_cast<unsigned long long>(blocks), sms, resident)};
    return {};
}

static kiln__CUresult launch(Device &gpu, const void *function, kiln_software_index blocks, kiln_software_index threads, unsigned dynamic_shared,
                             bool cooperative, void **parameters)
{
    const kiln__CUlibrary library = library_of(gpu, function);
    const kiln_software_kernel *kernel = static_cast<const kiln_software_kernel *>(function);
    const uint64_t threads_of_block = static_cast<uint64_t>(threads.x) * threads.y * threads.z;
    if (!library || (kernel->parameter_count && !parameters)) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (!blocks.x || !blocks.y || !blocks.z || blocks.x > 0x7fffffff || blocks.y > 65535 || blocks.z > 65535) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (!threads_of_block || threads_of_block > max_threads || threads.z > 64) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (dynamic_shared > static_cast<unsigned>(library->max_dynamic_shared)) return KILN__CUDA_ERROR_INVALID_VALUE;
    const Grid grid = {kernel->name, kernel->enter, parameters, blocks, threads, kernel->cluster, cooperative,
                       library->module.shared_variables(dynamic_shared), gpu.seed};
    last_failure = refuse_grid(gpu, library, grid, dynamic_shared);
    if (last_failure.code) return last_failure.code;
    last_failure = run_grid(grid, gpu.memory);
    const std::string damage = last_failure.code ? "" : gpu.memory.damage();
    if (!damage.empty()) last_failure = {CODE_ILLEGAL_ADDRESS, "after kernel '" + std::string(kernel->name) + "' " + damage};
    if (!last_failure.code) gpu.launches++;
    return last_failure.code;
}

kiln__CUresult soft_LaunchKernel(kiln__CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned dynamic_shared, kiln__CUstream, void **parameters, void **extra)
{
    ENTER_CONTEXT("cuLaunchKernel");
    if (extra) return KILN__CUDA_ERROR_INVALID_VALUE;
    return launch(gpu, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, false, parameters);
}

kiln__CUresult soft_LaunchCooperativeKernel(kiln__CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z, unsigned dynamic_shared, kiln__CUstream, void **parameters)
{
    ENTER_CONTEXT("cuLaunchCooperativeKernel");
    return launch(gpu, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, true, parameters);
}

/* ---- memory and events ------------------------------------------------------------------------------------ */

kiln__CUresult soft_MemAlloc(kiln__CUdeviceptr *address, size_t bytes)
{
    ENTER_CONTEXT("cuMemAlloc_v2");
    if (!bytes) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_memory) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    *address = gpu.memory.allocate(bytes, poison(gpu.seed));
    return *address ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_OUT_OF_MEMORY;
}

kiln__CUresult soft_MemFree(kiln__CUdeviceptr address)
{
    ENTER_CONTEXT("cuMemFree_v2");
    bool whole = true;
    if (!address) return KILN__CUDA_SUCCESS;
    if (!gpu.memory.release(address, &whole)) return KILN__CUDA_ERROR_INVALID_VALUE;
    return whole ? KILN__CUDA_SUCCESS : CODE_ILLEGAL_ADDRESS;
}

/* Pools: nothing waits here, so what a stream frees is free at once. Memory in use keeps its pool from being destroyed. */
kiln__CUresult soft_MemPoolCreate(kiln__CUmemoryPool *pool, const kiln__CUmemPoolProps *props)
{
    ENTER("cuMemPoolCreate");
    if (props->allocation_type != KILN__MEM_ALLOCATION_TYPE_PINNED || props->location_type != KILN__MEM_LOCATION_TYPE_DEVICE ||
        props->location_id)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    *pool = new kiln__CUmemoryPool_st;
    gpu.pools.insert(*pool);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemPoolDestroy(kiln__CUmemoryPool pool)
{
    ENTER("cuMemPoolDestroy");
    if (!gpu.pools.count(pool) || !pool->allocations.empty()) return KILN__CUDA_ERROR_INVALID_VALUE;
    gpu.pools.erase(pool);
    delete pool;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemPoolSetAttribute(kiln__CUmemoryPool pool, kiln__CUmemPool_attribute attribute, void *value)
{
    ENTER("cuMemPoolSetAttribute");
    bool known = attribute == KILN__MEMPOOL_ATTR_RELEASE_THRESHOLD && value;
    return known && gpu.pools.count(pool) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_MemAllocFromPoolAsync(kiln__CUdeviceptr *address, size_t bytes, kiln__CUmemoryPool pool, kiln__CUstream)
{
    ENTER_CONTEXT("cuMemAllocFromPoolAsync");
    if (!bytes || !gpu.pools.count(pool)) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_memory) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    *address = gpu.memory.allocate(bytes, poison(gpu.seed));
    if (!*address) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    pool->allocations.insert(*address);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemFreeAsync(kiln__CUdeviceptr address, kiln__CUstream)
{
    ENTER_CONTEXT("cuMemFreeAsync");
    bool whole = true;
    for (kiln__CUmemoryPool pool : gpu.pools) pool->allocations.erase(address);
    if (!gpu.memory.release(address, &whole)) return KILN__CUDA_ERROR_INVALID_VALUE;
    return whole ? KILN__CUDA_SUCCESS : CODE_ILLEGAL_ADDRESS;
}

kiln__CUresult soft_MemcpyHtoD(kiln__CUdeviceptr to, const void *from, size_t bytes)
{
    ENTER_CONTEXT("cuMemcpyHtoD_v2");
    if (!gpu.memory.find(to, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(reinterpret_cast<void *>(to), from, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemcpyDtoH(void *to, kiln__CUdeviceptr from, size_t bytes)
{
    ENTER_CONTEXT("cuMemcpyDtoH_v2");
    if (!gpu.memory.find(from, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemsetD8(kiln__CUdeviceptr to, unsigned char value, size_t bytes)
{
    ENTER_CONTEXT("cuMemsetD8_v2");
    if (!gpu.memory.find(to, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memset(reinterpret_cast<void *>(to), value, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemsetD32Async(kiln__CUdeviceptr to, unsigned value, size_t count, kiln__CUstream)
{
    ENTER_CONTEXT("cuMemsetD32Async");
    if (to % sizeof value || count > SIZE_MAX / sizeof value || !gpu.memory.find(to, count * sizeof value)) return KILN__CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) reinterpret_cast<unsigned *>(to)[i] = value;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventCreate(kiln__CUevent *out, unsigned)
{
    ENTER_CONTEXT("cuEventCreate");
    *out = new kiln__CUevent_st();
    gpu.events.insert(*out);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventDestroy(kiln__CUevent event)
{
    ENTER("cuEventDestroy_v2");
    if (!gpu.events.erase(event)) return KILN__CUDA_ERROR_INVALID_VALUE;
    delete event;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventRecord(kiln__CUevent event, kiln__CUstream)
{
    ENTER_CONTEXT("cuEventRecord");
    if (!gpu.events.count(event)) return KILN__CUDA_ERROR_INVALID_VALUE;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventSynchronize(kiln__CUevent event)
{
    ENTER_CONTEXT("cuEventSynchronize");
    return gpu.events.count(event) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_EventElapsedTime(float *milliseconds, kiln__CUevent start, kiln__CUevent end)
{
    ENTER_CONTEXT("cuEventElapsedTime");
    if (!gpu.events.count(start) || !gpu.events.count(end) || !start->recorded || !end->recorded) return KILN__CUDA_ERROR_INVALID_VALUE;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return KILN__CUDA_SUCCESS;
}

/* ---- the knobs -------------------------------------------------------------------------------------------- */

SOFTWARE_GPU_EXPORT void software_gpu_seed(uint64_t seed)
{
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.seed = seed;
}

SOFTWARE_GPU_EXPORT void software_gpu_set_arch(int arch)
{
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.arch = arch;
}

SOFTWARE_GPU_EXPORT void software_gpu_set_sms(int sms)
{
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.sms = sms;
}

SOFTWARE_GPU_EXPORT void software_gpu_count(software_gpu_counts *counts)
{
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    *counts = {};
    counts->allocations = gpu.memory.count();
    counts->libraries = static_cast<long>(gpu.libraries.size());
    counts->events = static_cast<long>(gpu.events.size());
    counts->pools = static_cast<long>(gpu.pools.size());
    counts->contexts = gpu.context.retained;
    counts->launches = gpu.launches;
}

// SPDX-License-Identifier: Apache-2.0
/* The CUDA driver of the software GPU: the functions of Kiln's own table, and the knobs of software_gpu.h. Everything
 * is synchronous: a launch that fails says so itself, and the next one works. */
#include "driver.hpp"

#include <cstdlib>
#include <cstring>

#include "software_gpu.h"

using namespace simulated;

namespace simulated {

Device &device() {
    static Device *instance = new Device; /* lives on: libraries may be unloaded by the host program's exit handlers */
    return *instance;
}

ThreadState &current() {
    static thread_local ThreadState state;
    return state;
}

Limits limits(const Device &gpu) {
    const int arch = gpu.arch;
    if (arch >= 90 || arch == 80)
        return {gpu.sms      ? gpu.sms
                : arch >= 90 ? 132
                             : 108,
                (arch >= 90 ? 228 : 164) << 10, (arch >= 90 ? 227 : 163) << 10};
    return {gpu.sms ? gpu.sms : 84, 100 << 10, 99 << 10};
}

} // namespace simulated

namespace {

constexpr size_t total_memory = static_cast<size_t>(16) << 30;

uint64_t environment(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtoull(value, nullptr, 10) : otherwise;
}

unsigned char poison(uint64_t seed) { return seed % 2 ? 0xff : 0x7b; }

} // namespace

/* ---- the library and its device --------------------------------------------------------------------------- */

kiln__CUresult soft_Init(unsigned flags) {
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

kiln__CUresult soft_DriverGetVersion(int *version) {
    if (const int fault = software_gpu_fault("cuDriverGetVersion")) return fault;
    *version = 13000;
    return KILN__CUDA_SUCCESS;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {KILN__CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {KILN__CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {KILN__CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {KILN__CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {KILN__CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {KILN__CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {KILN__CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {KILN__CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {KILN__CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {KILN__CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CODE_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CODE_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {CODE_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CODE_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CODE_COOPERATIVE_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {CODE_INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

kiln__CUresult soft_GetErrorName(kiln__CUresult code, const char **out) {
    *out = nullptr;
    if (const int fault = software_gpu_fault("cuGetErrorName")) return fault;
    for (const auto &error : errors)
        if (error.code == code) *out = error.name;
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

/* Where the thread's last launch failed with this code, what it did wrong. */
kiln__CUresult soft_GetErrorString(kiln__CUresult code, const char **out) {
    *out = nullptr;
    if (const int fault = software_gpu_fault("cuGetErrorString")) return fault;
    for (const auto &error : errors)
        if (error.code == code) *out = error.text;
    if (code && current().last_failure.code == code) *out = current().last_failure.text.c_str();
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_DeviceGetCount(int *count) {
    ENTER("cuDeviceGetCount");
    *count = 1;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGet(kiln__CUdevice *out, int ordinal) {
    ENTER("cuDeviceGet");
    if (ordinal != 0) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGetName(char *name, int length, kiln__CUdevice ordinal) {
    static const char text[] = "software GPU";
    ENTER("cuDeviceGetName");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    if (length < static_cast<int>(sizeof text)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(name, text, sizeof text);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceTotalMem(size_t *bytes, kiln__CUdevice ordinal) {
    ENTER("cuDeviceTotalMem_v2");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *bytes = total_memory;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DeviceGetAttribute(int *value, kiln__CUdevice_attribute attribute, kiln__CUdevice ordinal) {
    ENTER("cuDeviceGetAttribute");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    const Limits l = limits(gpu);
    switch (attribute) {
    case KILN__DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = static_cast<int>(max_threads); break;
    case KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = l.multiprocessors; break;
    case KILN__DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 2619000; break; /* an H100's */
    case KILN__DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 5120; break;
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

kiln__CUresult soft_DevicePrimaryCtxRetain(kiln__CUcontext *out, kiln__CUdevice ordinal) {
    ENTER("cuDevicePrimaryCtxRetain");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    gpu.context.retained++;
    *out = &gpu.context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_DevicePrimaryCtxRelease(kiln__CUdevice ordinal) {
    ENTER("cuDevicePrimaryCtxRelease_v2");
    if (ordinal) return KILN__CUDA_ERROR_INVALID_DEVICE;
    if (gpu.context.retained == 0) return KILN__CUDA_ERROR_INVALID_CONTEXT;
    gpu.context.retained--;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxSetCurrent(kiln__CUcontext context) {
    ENTER("cuCtxSetCurrent");
    if (context && context != &gpu.context) return KILN__CUDA_ERROR_INVALID_CONTEXT;
    current().context = context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxGetCurrent(kiln__CUcontext *context) {
    ENTER("cuCtxGetCurrent");
    *context = current().context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxGetDevice(kiln__CUdevice *out) {
    ENTER_CONTEXT("cuCtxGetDevice");
    *out = 0;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_CtxSynchronize(void) {
    ENTER_CONTEXT("cuCtxSynchronize");
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_ThreadExchangeStreamCaptureMode(kiln__CUstreamCaptureMode *mode) {
    ENTER("cuThreadExchangeStreamCaptureMode");
    if (*mode < 0 || *mode > KILN__STREAM_CAPTURE_MODE_RELAXED) return KILN__CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, current().capture_mode);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_StreamIsCapturing(kiln__CUstream, kiln__CUstreamCaptureStatus *status) {
    ENTER_CONTEXT("cuStreamIsCapturing");
    *status = KILN__STREAM_CAPTURE_STATUS_NONE;
    return KILN__CUDA_SUCCESS;
}

/* ---- memory and events ------------------------------------------------------------------------------------ */

kiln__CUresult soft_MemAlloc(kiln__CUdeviceptr *address, size_t bytes) {
    ENTER_CONTEXT("cuMemAlloc_v2");
    if (!bytes) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_memory) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    *address = gpu.memory.allocate(bytes, poison(gpu.seed));
    return *address ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_OUT_OF_MEMORY;
}

kiln__CUresult soft_MemFree(kiln__CUdeviceptr address) {
    ENTER_CONTEXT("cuMemFree_v2");
    bool whole = true;
    if (!address) return KILN__CUDA_SUCCESS;
    if (!gpu.memory.release(address, &whole)) return KILN__CUDA_ERROR_INVALID_VALUE;
    return whole ? KILN__CUDA_SUCCESS : CODE_ILLEGAL_ADDRESS;
}

/* Pools: nothing waits here, so what a stream frees is free at once. Memory in use keeps its pool from being destroyed.
 */
kiln__CUresult soft_MemPoolCreate(kiln__CUmemoryPool *pool, const kiln__CUmemPoolProps *props) {
    ENTER("cuMemPoolCreate");
    if (props->allocation_type != KILN__MEM_ALLOCATION_TYPE_PINNED ||
        props->location_type != KILN__MEM_LOCATION_TYPE_DEVICE || props->location_id)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    *pool = new kiln__CUmemoryPool_st;
    gpu.pools.insert(*pool);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemPoolDestroy(kiln__CUmemoryPool pool) {
    ENTER("cuMemPoolDestroy");
    if (!gpu.pools.count(pool) || !pool->allocations.empty()) return KILN__CUDA_ERROR_INVALID_VALUE;
    gpu.pools.erase(pool);
    delete pool;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemPoolSetAttribute(kiln__CUmemoryPool pool, kiln__CUmemPool_attribute attribute, void *value) {
    ENTER("cuMemPoolSetAttribute");
    bool known = attribute == KILN__MEMPOOL_ATTR_RELEASE_THRESHOLD && value;
    return known && gpu.pools.count(pool) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_MemAllocFromPoolAsync(kiln__CUdeviceptr *address, size_t bytes, kiln__CUmemoryPool pool,
                                          kiln__CUstream) {
    ENTER_CONTEXT("cuMemAllocFromPoolAsync");
    if (!bytes || !gpu.pools.count(pool)) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_memory) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    *address = gpu.memory.allocate(bytes, poison(gpu.seed));
    if (!*address) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    pool->allocations.insert(*address);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemFreeAsync(kiln__CUdeviceptr address, kiln__CUstream) {
    ENTER_CONTEXT("cuMemFreeAsync");
    bool whole = true;
    for (kiln__CUmemoryPool pool : gpu.pools) pool->allocations.erase(address);
    if (!gpu.memory.release(address, &whole)) return KILN__CUDA_ERROR_INVALID_VALUE;
    return whole ? KILN__CUDA_SUCCESS : CODE_ILLEGAL_ADDRESS;
}

kiln__CUresult soft_MemcpyHtoD(kiln__CUdeviceptr to, const void *from, size_t bytes) {
    ENTER_CONTEXT("cuMemcpyHtoD_v2");
    if (!gpu.memory.find(to, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(reinterpret_cast<void *>(to), from, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemcpyDtoH(void *to, kiln__CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT("cuMemcpyDtoH_v2");
    if (!gpu.memory.find(from, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemcpyDtoDAsync(kiln__CUdeviceptr to, kiln__CUdeviceptr from, size_t bytes, kiln__CUstream) {
    ENTER_CONTEXT("cuMemcpyDtoDAsync_v2");
    if (!gpu.memory.find(to, bytes) || !gpu.memory.find(from, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemsetD8(kiln__CUdeviceptr to, unsigned char value, size_t bytes) {
    ENTER_CONTEXT("cuMemsetD8_v2");
    if (!gpu.memory.find(to, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memset(reinterpret_cast<void *>(to), value, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_MemsetD32Async(kiln__CUdeviceptr to, unsigned value, size_t count, kiln__CUstream) {
    ENTER_CONTEXT("cuMemsetD32Async");
    if (to % sizeof value || count > SIZE_MAX / sizeof value || !gpu.memory.find(to, count * sizeof value))
        return KILN__CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) reinterpret_cast<unsigned *>(to)[i] = value;
    return KILN__CUDA_SUCCESS;
}

// The library does without it; the Python package looks it up itself.
SOFTWARE_GPU_EXPORT kiln__CUresult cuMemsetD8Async(kiln__CUdeviceptr to, unsigned char value, size_t bytes,
                                                   kiln__CUstream) {
    ENTER_CONTEXT("cuMemsetD8Async");
    if (!gpu.memory.find(to, bytes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    memset(reinterpret_cast<void *>(to), value, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventCreate(kiln__CUevent *out, unsigned) {
    ENTER_CONTEXT("cuEventCreate");
    *out = new kiln__CUevent_st();
    gpu.events.insert(*out);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventDestroy(kiln__CUevent event) {
    ENTER("cuEventDestroy_v2");
    if (!gpu.events.erase(event)) return KILN__CUDA_ERROR_INVALID_VALUE;
    delete event;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventRecord(kiln__CUevent event, kiln__CUstream) {
    ENTER_CONTEXT("cuEventRecord");
    if (!gpu.events.count(event)) return KILN__CUDA_ERROR_INVALID_VALUE;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_EventSynchronize(kiln__CUevent event) {
    ENTER_CONTEXT("cuEventSynchronize");
    return gpu.events.count(event) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_EventElapsedTime(float *milliseconds, kiln__CUevent start, kiln__CUevent end) {
    ENTER_CONTEXT("cuEventElapsedTime");
    if (!gpu.events.count(start) || !gpu.events.count(end) || !start->recorded || !end->recorded)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return KILN__CUDA_SUCCESS;
}

/* ---- the knobs -------------------------------------------------------------------------------------------- */

SOFTWARE_GPU_EXPORT void software_gpu_seed(uint64_t seed) {
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.seed = seed;
}

SOFTWARE_GPU_EXPORT void software_gpu_set_arch(int arch) {
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.arch = arch;
}

SOFTWARE_GPU_EXPORT void software_gpu_set_sms(int sms) {
    Device &gpu = device();
    std::lock_guard<std::mutex> guard(gpu.lock);
    gpu.sms = sms;
}

SOFTWARE_GPU_EXPORT void software_gpu_count(software_gpu_counts *counts) {
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

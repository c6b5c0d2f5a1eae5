// SPDX-License-Identifier: Apache-2.0
/* Libraries, kernels, and launches: what the driver refuses before a grid runs, and what it tells afterwards. */
#include <algorithm>
#include <memory>

#include "driver.hpp"
#include "grid.hpp"

using namespace simulated;

kiln__CUresult soft_LibraryLoadData(kiln__CUlibrary *out, const void *image, kiln__CUjit_option *, void **,
                                    unsigned jit_count, kiln__CUlibraryOption *, void **, unsigned count) {
    ENTER("cuLibraryLoadData");
    if (!image || jit_count || count) return KILN__CUDA_ERROR_INVALID_VALUE;
    std::unique_ptr<kiln__CUlib_st> library(new kiln__CUlib_st);
    const int result = library->module.load(image, gpu.arch);
    if (result) return result;
    *out = library.release();
    gpu.libraries.insert(*out);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_LibraryUnload(kiln__CUlibrary library) {
    ENTER("cuLibraryUnload");
    if (!gpu.libraries.erase(library)) return KILN__CUDA_ERROR_INVALID_VALUE;
    for (auto entry = gpu.kernels.begin(); entry != gpu.kernels.end();)
        entry = entry->second == library ? gpu.kernels.erase(entry) : std::next(entry);
    delete library;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_LibraryGetKernel(kiln__CUkernel *out, kiln__CUlibrary library, const char *name) {
    ENTER("cuLibraryGetKernel");
    if (!gpu.libraries.count(library)) return KILN__CUDA_ERROR_INVALID_VALUE;
    const kiln_software_kernel *kernel = library->module.find(name);
    if (!kernel) return KILN__CUDA_ERROR_NOT_FOUND;
    gpu.kernels[kernel] = library;
    const int left = default_shared - static_cast<int>(library->module.static_shared_bytes());
    library->limits.insert({kernel, {left, 0}}); /* nothing where it was asked for before */
    *out = reinterpret_cast<kiln__CUkernel>(const_cast<kiln_software_kernel *>(kernel));
    return KILN__CUDA_SUCCESS;
}

/* A kernel and its function are one object here. NULL for one of no loaded library. */
static kiln__CUlibrary library_of(const Device &gpu, const void *kernel) {
    const auto found = gpu.kernels.find(static_cast<const kiln_software_kernel *>(kernel));
    return found == gpu.kernels.end() ? nullptr : found->second;
}

static KernelLimits &limits_of(kiln__CUlibrary library, const void *kernel) {
    return library->limits.at(static_cast<const kiln_software_kernel *>(kernel));
}

kiln__CUresult soft_KernelGetFunction(kiln__CUfunction *out, kiln__CUkernel kernel) {
    ENTER_CONTEXT("cuKernelGetFunction");
    if (!library_of(gpu, kernel)) return KILN__CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<kiln__CUfunction>(kernel);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_FuncLoad(kiln__CUfunction function) {
    ENTER_CONTEXT("cuFuncLoad");
    return library_of(gpu, function) ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult soft_KernelGetAttribute(int *value, kiln__CUfunction_attribute attribute, kiln__CUkernel kernel,
                                       kiln__CUdevice ordinal) {
    ENTER("cuKernelGetAttribute");
    const kiln__CUlibrary library = library_of(gpu, kernel);
    if (!library || ordinal) return KILN__CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case KILN__FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = static_cast<int>(library->module.static_shared_bytes());
        break;
    case KILN__FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case KILN__FUNC_ATTRIBUTE_NUM_REGS: *value = registers_per_thread; break;
    case KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = limits_of(library, kernel).max_dynamic_shared;
        break;
    case KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = limits_of(library, kernel).non_portable_cluster;
        break;
    default: return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_KernelSetAttribute(kiln__CUfunction_attribute attribute, int value, kiln__CUkernel kernel,
                                       kiln__CUdevice ordinal) {
    ENTER("cuKernelSetAttribute");
    const kiln__CUlibrary library = library_of(gpu, kernel);
    if (!library || ordinal || value < 0) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (attribute == KILN__FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return KILN__CUDA_SUCCESS;
    if (attribute == KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        if (value > 1) return KILN__CUDA_ERROR_INVALID_VALUE;
        limits_of(library, kernel).non_portable_cluster = value;
        return KILN__CUDA_SUCCESS;
    }
    if (attribute != KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (value + static_cast<int>(library->module.static_shared_bytes()) > limits(gpu).shared_per_block)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    limits_of(library, kernel).max_dynamic_shared = value;
    return KILN__CUDA_SUCCESS;
}

/* How many blocks an SM holds at a time. */
static int resident_blocks(const Device &gpu, const kiln__CUlib_st *library, int threads, size_t dynamic_shared) {
    const Limits l = limits(gpu);
    const size_t shared = library->module.static_shared_bytes() + dynamic_shared;
    if (threads > static_cast<int>(max_threads) || shared > static_cast<size_t>(l.shared_per_block)) return 0;
    const int by_threads = threads_per_sm / ((threads + 31) / 32 * 32);
    return std::min({blocks_per_sm, by_threads, l.shared_per_sm / (static_cast<int>(shared) + reserved_shared)});
}

/* As if a cluster's blocks could be on any multiprocessors. */
kiln__CUresult soft_OccupancyMaxActiveClusters(int *clusters, kiln__CUfunction function,
                                               const kiln__CUlaunchConfig *config) {
    ENTER_CONTEXT("cuOccupancyMaxActiveClusters");
    const kiln__CUlibrary library = library_of(gpu, function);
    if (!library || !clusters || !config || !config->grid_x || !config->block_x || config->attribute_count)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    const unsigned cluster = reinterpret_cast<const kiln_software_kernel *>(function)->cluster;
    const int threads = static_cast<int>(config->block_x * config->block_y * config->block_z);
    *clusters = resident_blocks(gpu, library, threads, config->shared_bytes) * limits(gpu).multiprocessors /
                static_cast<int>(cluster ? cluster : 1);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult soft_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kiln__CUfunction function, int threads,
                                                              size_t dynamic_shared) {
    ENTER_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    const kiln__CUlibrary library = library_of(gpu, function);
    if (!library || !blocks || threads <= 0) return KILN__CUDA_ERROR_INVALID_VALUE;
    *blocks = resident_blocks(gpu, library, threads, dynamic_shared);
    return KILN__CUDA_SUCCESS;
}

/* Why no device takes blocks and threads of these numbers. */
static Failure refuse_size(const kiln_software_kernel *kernel, const Grid &grid) {
    const kiln_software_index &blocks = grid.blocks, &threads = grid.threads;
    const uint64_t count = static_cast<uint64_t>(threads.x) * threads.y * threads.z;
    if (!blocks.x || !blocks.y || !blocks.z || blocks.x > 0x7fffffff || blocks.y > 65535 || blocks.z > 65535)
        return {KILN__CUDA_ERROR_INVALID_VALUE,
                format("kernel '%s' has a grid of %u x %u x %u blocks", kernel->name, blocks.x, blocks.y, blocks.z)};
    if (!count || count > max_threads || threads.x > max_threads || threads.y > max_threads || threads.z > 64)
        return {KILN__CUDA_ERROR_INVALID_VALUE, format("kernel '%s' has blocks of %u x %u x %u threads", kernel->name,
                                                       threads.x, threads.y, threads.z)};
    if (count > kernel->most_threads)
        return {KILN__CUDA_ERROR_INVALID_VALUE,
                format("kernel '%s' has blocks of %llu threads, and launch bounds of %u", kernel->name,
                       static_cast<unsigned long long>(count), kernel->most_threads)};
    return {};
}

/* Why the device does not take the grid at all. */
static Failure refuse_grid(const Device &gpu, kiln__CUlibrary library, const kiln_software_kernel *kernel,
                           const Grid &grid, size_t dynamic_shared) {
    const KernelLimits &allowed = limits_of(library, kernel);
    const Failure failure = refuse_size(kernel, grid);
    if (failure.code) return failure;
    if (dynamic_shared > static_cast<size_t>(allowed.max_dynamic_shared))
        return {KILN__CUDA_ERROR_INVALID_VALUE,
                format("kernel '%s' has %zu bytes of dynamic shared memory, and may have %d", kernel->name,
                       dynamic_shared, allowed.max_dynamic_shared)};
    const unsigned most = allowed.non_portable_cluster ? cluster_limit : portable_cluster;
    if (grid.cluster > most)
        return {CODE_INVALID_CLUSTER_SIZE,
                format("kernel '%s' has clusters of %u blocks, and may have %u", kernel->name, grid.cluster, most)};
    if (grid.blocks.x % grid.cluster)
        return {CODE_INVALID_CLUSTER_SIZE, format("kernel '%s' has clusters of %u blocks, in a grid of %u along x",
                                                  kernel->name, grid.cluster, grid.blocks.x)};
    const uint64_t blocks = static_cast<uint64_t>(grid.blocks.x) * grid.blocks.y * grid.blocks.z;
    const int threads = static_cast<int>(grid.threads.x * grid.threads.y * grid.threads.z),
              sms = limits(gpu).multiprocessors;
    const int resident = resident_blocks(gpu, library, threads, dynamic_shared);
    if (grid.cooperative && blocks > static_cast<uint64_t>(resident) * static_cast<uint64_t>(sms))
        return {CODE_COOPERATIVE_TOO_LARGE,
                format("kernel '%s' has a cooperative grid of %llu blocks, and %d SMs hold %d each", kernel->name,
                       static_cast<unsigned long long>(blocks), sms, resident)};
    return {};
}

static kiln__CUresult launch(Device &gpu, const void *function, kiln_software_index blocks, kiln_software_index threads,
                             unsigned dynamic_shared, bool cooperative, bool dependent, void **parameters) {
    const kiln__CUlibrary library = library_of(gpu, function);
    const kiln_software_kernel *kernel = static_cast<const kiln_software_kernel *>(function);
    if (!library || (kernel->parameter_count && !parameters)) return KILN__CUDA_ERROR_INVALID_VALUE;
    Grid grid = {kernel->name,    kernel->enter, parameters, blocks, threads,
                 kernel->cluster, cooperative,   dependent,  {},     gpu.seed};
    Failure &last_failure = current().last_failure;
    last_failure = refuse_grid(gpu, library, kernel, grid, dynamic_shared);
    if (last_failure.code) return last_failure.code;
    grid.shared = library->module.shared_variables(dynamic_shared);
    last_failure = run_grid(grid, gpu.memory);
    const std::string damage = last_failure.code ? "" : gpu.memory.damage();
    if (!damage.empty())
        last_failure = {CODE_ILLEGAL_ADDRESS, "after kernel '" + std::string(kernel->name) + "' " + damage};
    if (!last_failure.code) gpu.launches++;
    return last_failure.code;
}

kiln__CUresult soft_LaunchKernel(kiln__CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                                 kiln__CUstream, void **parameters, void **extra) {
    ENTER_CONTEXT("cuLaunchKernel");
    if (extra) return KILN__CUDA_ERROR_INVALID_VALUE;
    return launch(gpu, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, false, false,
                  parameters);
}

kiln__CUresult soft_LaunchKernelEx(const kiln__CUlaunchConfig *config, kiln__CUfunction function, void **parameters,
                                   void **extra) {
    ENTER_CONTEXT("cuLaunchKernelEx");
    bool cooperative = false, dependent = false;
    if (!config || extra || (config->attribute_count && !config->attributes)) return KILN__CUDA_ERROR_INVALID_VALUE;
    for (unsigned a = 0; a < config->attribute_count; a++) {
        const kiln__CUlaunchAttribute &attribute = config->attributes[a];
        if (attribute.id == KILN__LAUNCH_ATTRIBUTE_COOPERATIVE)
            cooperative = attribute.value.on;
        else if (attribute.id == KILN__LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            dependent = attribute.value.on;
        else
            return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return launch(gpu, function, {config->grid_x, config->grid_y, config->grid_z},
                  {config->block_x, config->block_y, config->block_z}, config->shared_bytes, cooperative, dependent,
                  parameters);
}

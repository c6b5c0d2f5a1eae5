/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the CUDA driver: the functions that Kiln looks up, with host memory for device memory, any bytes for
 * a kernel, and launches that are counted and do nothing. Tests set its numbers and failures through fake_driver.h. */
#define _GNU_SOURCE
#include "fake_driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "gpu/driver_api.h"

/* Declared from the project's own table, so that a signature that differs does not compile, and named by the symbols
 * that the loader looks up. */
#define DECLARE(name, symbol, params) kiln__CUresult fake_##name params __asm__(symbol);
KILN__DRIVER_FUNCTIONS(DECLARE)
KILN__DRIVER_OPTIONAL_FUNCTIONS(DECLARE)
#undef DECLARE

fake_driver *fake_driver_state(void);

struct kiln__CUctx_st {
    kiln__CUdevice device;
};
struct kiln__CUlib_st {
    int loaded;
    kiln__CUlibrary older;
};
struct kiln__CUmemoryPool_st {
    int device;
};

#define DEVICE_LIMIT 4
static struct kiln__CUctx_st contexts[DEVICE_LIMIT] = {{0}, {1}, {2}, {3}};
static struct kiln__CUmemoryPool_st pools[DEVICE_LIMIT] = {{0}, {1}, {2}, {3}};
static _Thread_local kiln__CUcontext current;
static _Atomic(kiln__CUlibrary) unloaded; /* where they are kept */
static _Thread_local int capture_mode;

static fake_driver state = {.arch = 90,
                            .sm_count = 132,
                            .device_count = 1,
                            .version = 13000,
                            .clusters = 8,
                            .shared_per_block = 227 * 1024,
                            .shared_per_sm = 228 * 1024};

/* Threads may launch at once; what the last launch was is of one of them. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;

fake_driver *fake_driver_state(void) { return &state; }

/* Whether this call is one that the test wants to fail. */
static int fails(const char *symbol) {
    if (!state.fail_symbol[0] || strcmp(state.fail_symbol, symbol)) return 0;
    if (state.fail_times > 0 && --state.fail_times == 0) state.fail_symbol[0] = '\0';
    return 1;
}

#define ENTER(symbol) \
    do { \
        if (fails(symbol)) return state.fail_result; \
    } while (0)
#define ENTER_CONTEXT(symbol) \
    do { \
        ENTER(symbol); \
        if (!current) return KILN__CUDA_ERROR_INVALID_CONTEXT; \
    } while (0)

static int environment(const char *name, int fallback) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : fallback;
}

/* ---- the library and its devices -------------------------------------------------------------------------- */

kiln__CUresult fake_Init(unsigned flags) {
    ENTER("cuInit");
    int ms = environment("FAKE_DRIVER_INIT_MS", 0);
    state.inits++;
    if (ms) nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
    state.arch = environment("FAKE_DRIVER_ARCH", state.arch);
    return flags ? KILN__CUDA_ERROR_INVALID_VALUE : environment("FAKE_DRIVER_INIT", KILN__CUDA_SUCCESS);
}

kiln__CUresult fake_DriverGetVersion(int *version) {
    ENTER("cuDriverGetVersion");
    *version = state.version;
    return KILN__CUDA_SUCCESS;
}

static const struct {
    kiln__CUresult result;
    const char *name, *text;
} errors[] = {
    {KILN__CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {KILN__CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {KILN__CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {KILN__CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {KILN__CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {KILN__CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {KILN__CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

static size_t find_error(kiln__CUresult result) {
    size_t i = 0;
    while (i < sizeof errors / sizeof errors[0] && errors[i].result != result) i++;
    return i;
}

kiln__CUresult fake_GetErrorName(kiln__CUresult result, const char **out) {
    size_t i = find_error(result);
    *out = i < sizeof errors / sizeof errors[0] ? errors[i].name : NULL;
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult fake_GetErrorString(kiln__CUresult result, const char **out) {
    size_t i = find_error(result);
    *out = i < sizeof errors / sizeof errors[0] ? errors[i].text : NULL;
    return *out ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

static int device_count(void) { return state.device_count < DEVICE_LIMIT ? state.device_count : DEVICE_LIMIT; }

kiln__CUresult fake_DeviceGetCount(int *count) {
    ENTER("cuDeviceGetCount");
    *count = device_count();
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_DeviceGet(kiln__CUdevice *device, int ordinal) {
    ENTER("cuDeviceGet");
    if (ordinal < 0 || ordinal >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_DeviceGetName(char *name, int length, kiln__CUdevice device) {
    static const char text[] = "Fake GPU";
    ENTER("cuDeviceGetName");
    if (device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    if (length < (int)sizeof text) return KILN__CUDA_ERROR_INVALID_VALUE;
    memcpy(name, text, sizeof text);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_DeviceTotalMem(size_t *bytes, kiln__CUdevice device) {
    ENTER("cuDeviceTotalMem_v2");
    if (device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *bytes = (size_t)80 << 30;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_DeviceGetAttribute(int *value, kiln__CUdevice_attribute attribute, kiln__CUdevice device) {
    ENTER("cuDeviceGetAttribute");
    state.attribute_reads++;
    if (device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case KILN__DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = state.sm_count; break;
    case KILN__DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 2619000; break; /* an H100's */
    case KILN__DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 5120; break;
    case KILN__DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = state.arch / 10; break;
    case KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = state.arch % 10; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = state.shared_per_sm; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = state.shared_per_block; break;
    default: return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return KILN__CUDA_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------- */

kiln__CUresult fake_DevicePrimaryCtxRetain(kiln__CUcontext *context, kiln__CUdevice device) {
    ENTER("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *context = &contexts[device];
    state.primaries++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_DevicePrimaryCtxRelease(kiln__CUdevice device) {
    ENTER("cuDevicePrimaryCtxRelease_v2");
    if (device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_DEVICE;
    state.primaries--;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_CtxSetCurrent(kiln__CUcontext context) {
    ENTER("cuCtxSetCurrent");
    current = context;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_CtxGetCurrent(kiln__CUcontext *context) {
    ENTER("cuCtxGetCurrent");
    *context = current;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_CtxGetDevice(kiln__CUdevice *device) {
    ENTER_CONTEXT("cuCtxGetDevice");
    *device = current->device;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_CtxSynchronize(void) {
    ENTER_CONTEXT("cuCtxSynchronize");
    return KILN__CUDA_SUCCESS;
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */

kiln__CUresult fake_LibraryLoadData(kiln__CUlibrary *library, const void *image, kiln__CUjit_option *jit_options,
                                    void **jit_values, unsigned jit_count, kiln__CUlibraryOption *options,
                                    void **values, unsigned count) {
    (void)jit_options, (void)jit_values, (void)options, (void)values;
    ENTER("cuLibraryLoadData");
    if (!image || jit_count || count) return KILN__CUDA_ERROR_INVALID_VALUE;
    state.load_capture_mode = capture_mode;
    *library = malloc(sizeof **library);
    if (!*library) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    (*library)->loaded = 1;
    state.loads++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_LibraryUnload(kiln__CUlibrary library) {
    ENTER("cuLibraryUnload");
    state.unload_capture_mode = capture_mode;
    library->loaded = 0;
    if (state.keep_unloaded) {
        library->older = atomic_load(&unloaded);
        while (!atomic_compare_exchange_weak(&unloaded, &library->older, library)) {
        }
    } else
        free(library);
    state.unloads++;
    return KILN__CUDA_SUCCESS;
}

/* A library, its one kernel and that kernel's function are one object here. */
kiln__CUresult fake_LibraryGetKernel(kiln__CUkernel *kernel, kiln__CUlibrary library, const char *name) {
    ENTER("cuLibraryGetKernel");
    if (!name || !*name) return KILN__CUDA_ERROR_NOT_FOUND;
    *kernel = (kiln__CUkernel)(void *)library;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_KernelGetFunction(kiln__CUfunction *function, kiln__CUkernel kernel) {
    ENTER_CONTEXT("cuKernelGetFunction");
    *function = (kiln__CUfunction)(void *)kernel;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_FuncLoad(kiln__CUfunction function) {
    ENTER_CONTEXT("cuFuncLoad");
    if (!function) return KILN__CUDA_ERROR_INVALID_VALUE;
    state.function_loads++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_KernelGetAttribute(int *value, kiln__CUfunction_attribute attribute, kiln__CUkernel kernel,
                                       kiln__CUdevice device) {
    ENTER("cuKernelGetAttribute");
    if (!kernel || device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case KILN__FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = state.static_shared; break;
    case KILN__FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case KILN__FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    default: return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_KernelSetAttribute(kiln__CUfunction_attribute attribute, int value, kiln__CUkernel kernel,
                                       kiln__CUdevice device) {
    ENTER("cuKernelSetAttribute");
    if (!kernel || device < 0 || device >= device_count()) return KILN__CUDA_ERROR_INVALID_VALUE;
    if (attribute != KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return KILN__CUDA_SUCCESS;
    if (value + state.static_shared > state.shared_per_block) return KILN__CUDA_ERROR_INVALID_VALUE;
    state.last_dynamic_limit = value;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_ThreadExchangeStreamCaptureMode(kiln__CUstreamCaptureMode *mode) {
    ENTER("cuThreadExchangeStreamCaptureMode");
    int old = capture_mode;
    capture_mode = *mode;
    *mode = old;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_StreamIsCapturing(kiln__CUstream stream, kiln__CUstreamCaptureStatus *status) {
    ENTER_CONTEXT("cuStreamIsCapturing");
    *status = stream && stream == (kiln__CUstream)state.captured_stream;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_LaunchKernel(kiln__CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                 kiln__CUstream stream, void **params, void **extra) {
    (void)stream, (void)extra;
    ENTER_CONTEXT("cuLaunchKernel");
    if (!function || !grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
        (unsigned long long)block_x * block_y * block_z > 1024)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    int next = 1;
    if (atomic_compare_exchange_strong(&state.hold, &next, 2))
        while (state.hold) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (state.keep_unloaded && !((kiln__CUlibrary)(void *)function)->loaded) {
        state.launches_of_unloaded++;
        return KILN__CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&last_lock);
    memcpy(state.last_grid, (unsigned[]){grid_x, grid_y, grid_z}, sizeof state.last_grid);
    memcpy(state.last_block, (unsigned[]){block_x, block_y, block_z}, sizeof state.last_block);
    state.last_shared = shared;
    state.last_device = current->device;
    if (state.argument_bytes) memcpy(state.last_argument, params[0], (size_t)state.argument_bytes);
    pthread_mutex_unlock(&last_lock);
    state.launches++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_LaunchKernelEx(const kiln__CUlaunchConfig *config, kiln__CUfunction function, void **params,
                                   void **extra) {
    ENTER_CONTEXT("cuLaunchKernelEx");
    if (!config) return KILN__CUDA_ERROR_INVALID_VALUE;
    kiln__CUresult result =
        fake_LaunchKernel(function, config->grid_x, config->grid_y, config->grid_z, config->block_x, config->block_y,
                          config->block_z, config->shared_bytes, config->stream, params, extra);
    for (unsigned a = 0; !result && a < config->attribute_count; a++) {
        int id = config->attributes[a].id, on = config->attributes[a].value.on;
        if (id == KILN__LAUNCH_ATTRIBUTE_COOPERATIVE) state.cooperative_launches += on;
        if (id == KILN__LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) state.dependent_launches += on;
    }
    return result;
}

/* By threads alone. */
kiln__CUresult fake_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kiln__CUfunction function, int threads,
                                                              size_t shared) {
    (void)shared;
    ENTER_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!function || threads <= 0 || threads > 1024) return KILN__CUDA_ERROR_INVALID_VALUE;
    *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_OccupancyMaxActiveClusters(int *clusters, kiln__CUfunction function,
                                               const kiln__CUlaunchConfig *config) {
    ENTER_CONTEXT("cuOccupancyMaxActiveClusters");
    if (!function || !config || !config->grid_x || !config->block_x || config->block_x > 1024)
        return KILN__CUDA_ERROR_INVALID_VALUE;
    *clusters = state.clusters;
    return KILN__CUDA_SUCCESS;
}

/* ---- memory and events ------------------------------------------------------------------------------------ */

kiln__CUresult fake_MemAlloc(kiln__CUdeviceptr *address, size_t bytes) {
    ENTER_CONTEXT("cuMemAlloc_v2");
    if (!bytes || bytes > SIZE_MAX - 255) return KILN__CUDA_ERROR_INVALID_VALUE;
    void *memory = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    if (!memory) return KILN__CUDA_ERROR_OUT_OF_MEMORY;
    *address = (uintptr_t)memory;
    state.allocations++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemFree(kiln__CUdeviceptr address) {
    ENTER_CONTEXT("cuMemFree_v2");
    free((void *)(uintptr_t)address);
    state.frees++;
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemPoolCreate(kiln__CUmemoryPool *pool, const kiln__CUmemPoolProps *props) {
    ENTER("cuMemPoolCreate");
    if (props->location_id < 0 || props->location_id >= DEVICE_LIMIT) return KILN__CUDA_ERROR_INVALID_DEVICE;
    *pool = &pools[props->location_id];
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemPoolDestroy(kiln__CUmemoryPool pool) {
    ENTER("cuMemPoolDestroy");
    return pool ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult fake_MemPoolSetAttribute(kiln__CUmemoryPool pool, kiln__CUmemPool_attribute attribute, void *value) {
    ENTER("cuMemPoolSetAttribute");
    return pool && attribute && value ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult fake_MemAllocFromPoolAsync(kiln__CUdeviceptr *address, size_t bytes, kiln__CUmemoryPool pool,
                                          kiln__CUstream stream) {
    (void)stream;
    ENTER_CONTEXT("cuMemAllocFromPoolAsync");
    return pool ? fake_MemAlloc(address, bytes) : KILN__CUDA_ERROR_INVALID_VALUE;
}

kiln__CUresult fake_MemFreeAsync(kiln__CUdeviceptr address, kiln__CUstream stream) {
    (void)stream;
    ENTER_CONTEXT("cuMemFreeAsync");
    return fake_MemFree(address);
}

kiln__CUresult fake_MemcpyHtoD(kiln__CUdeviceptr to, const void *from, size_t bytes) {
    ENTER_CONTEXT("cuMemcpyHtoD_v2");
    memcpy((void *)(uintptr_t)to, from, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemcpyDtoH(void *to, kiln__CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT("cuMemcpyDtoH_v2");
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemcpyDtoDAsync(kiln__CUdeviceptr to, kiln__CUdeviceptr from, size_t bytes, kiln__CUstream stream) {
    (void)stream;
    ENTER_CONTEXT("cuMemcpyDtoDAsync_v2");
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemsetD8(kiln__CUdeviceptr to, unsigned char value, size_t bytes) {
    ENTER_CONTEXT("cuMemsetD8_v2");
    memset((void *)(uintptr_t)to, value, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_MemsetD32Async(kiln__CUdeviceptr to, unsigned value, size_t count, kiln__CUstream stream) {
    (void)stream;
    ENTER_CONTEXT("cuMemsetD32Async");
    if (to % sizeof value) return KILN__CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) ((unsigned *)(uintptr_t)to)[i] = value;
    return KILN__CUDA_SUCCESS;
}

/* The library does without it; the Python package looks it up itself. */
kiln__CUresult fake_MemsetD8Async(kiln__CUdeviceptr to, unsigned char value, size_t bytes,
                                  kiln__CUstream stream) __asm__("cuMemsetD8Async");
kiln__CUresult fake_MemsetD8Async(kiln__CUdeviceptr to, unsigned char value, size_t bytes, kiln__CUstream stream) {
    (void)stream;
    ENTER_CONTEXT("cuMemsetD8Async");
    memset((void *)(uintptr_t)to, value, bytes);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_EventCreate(kiln__CUevent *event, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT("cuEventCreate");
    *event = malloc(1);
    return *event ? KILN__CUDA_SUCCESS : KILN__CUDA_ERROR_OUT_OF_MEMORY;
}

kiln__CUresult fake_EventDestroy(kiln__CUevent event) {
    ENTER("cuEventDestroy_v2");
    free(event);
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_EventRecord(kiln__CUevent event, kiln__CUstream stream) {
    (void)event, (void)stream;
    ENTER_CONTEXT("cuEventRecord");
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_EventSynchronize(kiln__CUevent event) {
    (void)event;
    ENTER_CONTEXT("cuEventSynchronize");
    return KILN__CUDA_SUCCESS;
}

kiln__CUresult fake_EventElapsedTime(float *milliseconds, kiln__CUevent start, kiln__CUevent end) {
    (void)start, (void)end;
    ENTER_CONTEXT("cuEventElapsedTime");
    /* Milliseconds, or half of one where the last launch had so many threads in a block. */
    const unsigned fast = (unsigned)environment("FAKE_DRIVER_FAST_BLOCK", 0);
    pthread_mutex_lock(&last_lock);
    *milliseconds = fast && state.last_block[0] == fast ? 0.5f : 1.0f;
    pthread_mutex_unlock(&last_lock);
    return KILN__CUDA_SUCCESS;
}

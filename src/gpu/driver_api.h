/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the CUDA Driver API that Kiln uses, declared here so that it builds without the toolkit.
 * tests/gpu/test_abi.c compares every type, size, value and signature with the real cuda.h. */
#ifndef KILN_GPU_DRIVER_API_H
#define KILN_GPU_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int kiln__CUresult;
typedef int kiln__CUdevice;
typedef unsigned long long kiln__CUdeviceptr;
typedef struct kiln__CUctx_st *kiln__CUcontext;
typedef struct kiln__CUlib_st *kiln__CUlibrary;
typedef struct kiln__CUkern_st *kiln__CUkernel;
typedef struct kiln__CUfunc_st *kiln__CUfunction;
typedef struct kiln__CUstream_st *kiln__CUstream;
typedef struct kiln__CUmemoryPool_st *kiln__CUmemoryPool;
typedef struct kiln__CUevent_st *kiln__CUevent;
/* Enumerations in cuda.h. Their values below fit an int, and no option is ever passed. */
typedef int kiln__CUdevice_attribute;
typedef int kiln__CUfunction_attribute;
typedef int kiln__CUstreamCaptureMode;
typedef int kiln__CUstreamCaptureStatus;
typedef int kiln__CUjit_option;
typedef int kiln__CUlibraryOption;

/* CUmemPoolProps: where a pool's memory lies and who may share it. */
typedef int kiln__CUmemPool_attribute;
typedef struct kiln__CUmemPoolProps {
    int allocation_type, handle_types;
    int location_type, location_id;
    void *win32_security_attributes;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} kiln__CUmemPoolProps;

/* CUlaunchAttribute: a property of a launch beside its shape, here one that is on or off. */
typedef struct kiln__CUlaunchAttribute {
    int id;
    union {
        int on;
        uint64_t bytes[8];
    } value;
} kiln__CUlaunchAttribute;

/* CUlaunchConfig: a launch's shape. Attributes: none where attribute_count is 0. */
typedef struct kiln__CUlaunchConfig {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    kiln__CUstream stream;
    kiln__CUlaunchAttribute *attributes;
    unsigned attribute_count;
} kiln__CUlaunchConfig;

#define KILN__MEM_ALLOCATION_TYPE_PINNED 1
#define KILN__MEM_LOCATION_TYPE_DEVICE 1
#define KILN__MEMPOOL_ATTR_RELEASE_THRESHOLD 4

#define KILN__CUDA_SUCCESS 0
#define KILN__CUDA_ERROR_INVALID_VALUE 1
#define KILN__CUDA_ERROR_OUT_OF_MEMORY 2
#define KILN__CUDA_ERROR_NOT_INITIALIZED 3
#define KILN__CUDA_ERROR_NO_DEVICE 100
#define KILN__CUDA_ERROR_INVALID_DEVICE 101
#define KILN__CUDA_ERROR_INVALID_IMAGE 200
#define KILN__CUDA_ERROR_INVALID_CONTEXT 201
#define KILN__CUDA_ERROR_NO_BINARY_FOR_GPU 209
#define KILN__CUDA_ERROR_INVALID_PTX 218
#define KILN__CUDA_ERROR_UNSUPPORTED_PTX_VERSION 222
#define KILN__CUDA_ERROR_INVALID_SOURCE 300
#define KILN__CUDA_ERROR_NOT_FOUND 500
#define KILN__CUDA_ERROR_CONTEXT_IS_DESTROYED 709
#define KILN__CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED 900
#define KILN__CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD 908

/* CUdevice_attribute values */
#define KILN__DEVICE_ATTRIBUTE_WARP_SIZE 10
#define KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK 1
#define KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT 16
#define KILN__DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE 36
#define KILN__DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH 37
#define KILN__DEVICE_ATTRIBUTE_L2_CACHE_SIZE 38
#define KILN__DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR 39
#define KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR 75
#define KILN__DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR 76
#define KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR 81
#define KILN__DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR 82
#define KILN__DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN 97

/* CUfunction_attribute values */
#define KILN__FUNC_ATTRIBUTE_SHARED_SIZE_BYTES 1
#define KILN__FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES 3
#define KILN__FUNC_ATTRIBUTE_NUM_REGS 4
#define KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
#define KILN__FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT 9
#define KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED 14

/* CUlaunchAttributeID */
#define KILN__LAUNCH_ATTRIBUTE_COOPERATIVE 2
#define KILN__LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION 6

/* CUstreamCaptureStatus */
#define KILN__STREAM_CAPTURE_STATUS_NONE 0

/* CUstreamCaptureMode */
#define KILN__STREAM_CAPTURE_MODE_RELAXED 2

/* X(name, symbol looked up, parameters): every one returns CUresult. Symbols carry the version suffix that cuda.h's
 * macros give them, but for cuEventElapsedTime: the drivers of CUDA 12.0 to 12.7 have no newer version of it. */
#define KILN__DRIVER_FUNCTIONS(X) \
    X(Init, "cuInit", (unsigned)) \
    X(DriverGetVersion, "cuDriverGetVersion", (int *)) \
    X(GetErrorName, "cuGetErrorName", (kiln__CUresult, const char **)) \
    X(GetErrorString, "cuGetErrorString", (kiln__CUresult, const char **)) \
    X(DeviceGetCount, "cuDeviceGetCount", (int *)) \
    X(DeviceGet, "cuDeviceGet", (kiln__CUdevice *, int)) \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, kiln__CUdevice)) \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, kiln__CUdevice)) \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, kiln__CUdevice_attribute, kiln__CUdevice)) \
    X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (kiln__CUcontext *, kiln__CUdevice)) \
    X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (kiln__CUdevice)) \
    X(CtxSetCurrent, "cuCtxSetCurrent", (kiln__CUcontext)) \
    X(CtxGetCurrent, "cuCtxGetCurrent", (kiln__CUcontext *)) \
    X(CtxGetDevice, "cuCtxGetDevice", (kiln__CUdevice *)) \
    X(CtxSynchronize, "cuCtxSynchronize", (void)) \
    X(LibraryLoadData, "cuLibraryLoadData", \
      (kiln__CUlibrary *, const void *, kiln__CUjit_option *, void **, unsigned, kiln__CUlibraryOption *, void **, \
       unsigned)) \
    X(LibraryUnload, "cuLibraryUnload", (kiln__CUlibrary)) \
    X(LibraryGetKernel, "cuLibraryGetKernel", (kiln__CUkernel *, kiln__CUlibrary, const char *)) \
    X(KernelGetFunction, "cuKernelGetFunction", (kiln__CUfunction *, kiln__CUkernel)) \
    X(KernelGetAttribute, "cuKernelGetAttribute", (int *, kiln__CUfunction_attribute, kiln__CUkernel, kiln__CUdevice)) \
    X(KernelSetAttribute, "cuKernelSetAttribute", (kiln__CUfunction_attribute, int, kiln__CUkernel, kiln__CUdevice)) \
    X(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (kiln__CUstreamCaptureMode *)) \
    X(StreamIsCapturing, "cuStreamIsCapturing", (kiln__CUstream, kiln__CUstreamCaptureStatus *)) \
    X(LaunchKernel, "cuLaunchKernel", \
      (kiln__CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, kiln__CUstream, \
       void **, void **)) \
    X(LaunchKernelEx, "cuLaunchKernelEx", (const kiln__CUlaunchConfig *, kiln__CUfunction, void **, void **)) \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", \
      (int *, kiln__CUfunction, int, size_t)) \
    X(OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", \
      (int *, kiln__CUfunction, const kiln__CUlaunchConfig *)) \
    X(MemAlloc, "cuMemAlloc_v2", (kiln__CUdeviceptr *, size_t)) \
    X(MemFree, "cuMemFree_v2", (kiln__CUdeviceptr)) \
    X(MemPoolCreate, "cuMemPoolCreate", (kiln__CUmemoryPool *, const kiln__CUmemPoolProps *)) \
    X(MemPoolDestroy, "cuMemPoolDestroy", (kiln__CUmemoryPool)) \
    X(MemPoolSetAttribute, "cuMemPoolSetAttribute", (kiln__CUmemoryPool, kiln__CUmemPool_attribute, void *)) \
    X(MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", \
      (kiln__CUdeviceptr *, size_t, kiln__CUmemoryPool, kiln__CUstream)) \
    X(MemFreeAsync, "cuMemFreeAsync", (kiln__CUdeviceptr, kiln__CUstream)) \
    X(MemcpyHtoD, "cuMemcpyHtoD_v2", (kiln__CUdeviceptr, const void *, size_t)) \
    X(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *, kiln__CUdeviceptr, size_t)) \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (kiln__CUdeviceptr, kiln__CUdeviceptr, size_t, kiln__CUstream)) \
    X(MemsetD8, "cuMemsetD8_v2", (kiln__CUdeviceptr, unsigned char, size_t)) \
    X(MemsetD32Async, "cuMemsetD32Async", (kiln__CUdeviceptr, unsigned, size_t, kiln__CUstream)) \
    X(EventCreate, "cuEventCreate", (kiln__CUevent *, unsigned)) \
    X(EventDestroy, "cuEventDestroy_v2", (kiln__CUevent)) \
    X(EventRecord, "cuEventRecord", (kiln__CUevent, kiln__CUstream)) \
    X(EventSynchronize, "cuEventSynchronize", (kiln__CUevent)) \
    X(EventElapsedTime, "cuEventElapsedTime", (float *, kiln__CUevent, kiln__CUevent))
/* Functions that older drivers lack: NULL in the table where missing. */
#define KILN__DRIVER_OPTIONAL_FUNCTIONS(X) X(FuncLoad, "cuFuncLoad", (kiln__CUfunction))

#endif

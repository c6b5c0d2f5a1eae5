/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the CUDA runtime on top of the software GPU's driver, for examples on a machine without a GPU: the
 * calls that they make, declared by the toolkit's own headers. It is also the driver that Kiln opens: the software
 * driver with streams that can be captured. Everything else is synchronous there, so a stream needs no more than an
 * address. One thread may use it. */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ARGUMENT_LIMIT = 4096, MAX_LAUNCHES = 16 };

/* The launch of a kernel with one argument, as Kiln's have. */
struct launch {
    CUfunction function;
    unsigned grid[3], block[3], shared;
    _Alignas(16) char argument[ARGUMENT_LIMIT];
};
struct CUgraph_st {
    int count;
    struct launch launches[MAX_LAUNCHES];
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
struct CUstream_st {
    struct CUgraph_st *captured; /* NULL where the stream is not being captured */
};

#pragma GCC visibility push(default)

static cudaError_t ready(void) {
    static CUcontext context;
    if (context) return cudaSuccess;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0)) return cudaErrorInitializationError;
    return cuCtxSetCurrent(context) ? cudaErrorInitializationError : cudaSuccess;
}

/* ---- the driver, with captures ---------------------------------------------------------------------------- */

typedef CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void **, void **);

static launch_kernel next_launch(void) {
    launch_kernel function;
    void *symbol = dlsym(RTLD_NEXT, "cuLaunchKernel");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* The argument's size is not known: what lies behind it is copied as well, as far as it can be read. */
static CUresult record(struct CUgraph_st *graph, const struct launch *launch, void *argument) {
    if (graph->count == MAX_LAUNCHES) return CUDA_ERROR_OUT_OF_MEMORY;
    struct launch *recorded = &graph->launches[graph->count];
    *recorded = *launch;
    const struct iovec from = {argument, ARGUMENT_LIMIT}, to = {recorded->argument, ARGUMENT_LIMIT};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) <= 0) return CUDA_ERROR_UNKNOWN;
    graph->count++;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra) {
    const struct launch launch = {function, {gx, gy, gz}, {bx, by, bz}, shared, {0}};
    if (stream && stream->captured) return record(stream->captured, &launch, parameters[0]);
    return next_launch()(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    *status = stream && stream->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* ---- devices and memory ----------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return ready();
}

const char *cudaGetErrorString(cudaError_t error) { return error ? "an error of the stand-in" : "no error"; }

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    CUdeviceptr address = 0;
    if (ready() || cuMemAlloc(&address, bytes)) return cudaErrorMemoryAllocation;
    *memory = (void *)address;
    return cudaSuccess;
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags) {
    (void)flags; /* the software GPU's memory is the host's */
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFree(void *memory) {
    if (ready()) return cudaErrorInitializationError;
    return memory && cuMemFree((CUdeviceptr)memory) ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return cuMemsetD8((CUdeviceptr)memory, (unsigned char)value, bytes) ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    if (stream && stream->captured) return cudaErrorStreamCaptureUnsupported;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost) return cudaErrorInvalidMemcpyDirection;
    const CUresult result = kind == cudaMemcpyHostToDevice ? cuMemcpyHtoD((CUdeviceptr)to, from, bytes)
                                                           : cuMemcpyDtoH(to, (CUdeviceptr)from, bytes);
    return result ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) { return ready(); }

/* ---- streams and graphs ----------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    return *stream ? ready() : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return stream && stream->captured ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    (void)mode;
    if (stream->captured) return cudaErrorIllegalState;
    stream->captured = calloc(1, sizeof *stream->captured);
    return stream->captured ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    *graph = stream->captured;
    stream->captured = NULL;
    return *graph ? cudaSuccess : cudaErrorIllegalState;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags) {
    (void)flags;
    *executable = calloc(1, sizeof **executable);
    if (!*executable) return cudaErrorMemoryAllocation;
    (*executable)->graph = *graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    for (int i = 0; i < executable->graph.count; i++) {
        struct launch *l = &executable->graph.launches[i];
        void *parameters[] = {l->argument};
        if (next_launch()(l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                          l->shared, stream, parameters, NULL))
            return cudaErrorLaunchFailure;
    }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    free(executable);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    free(graph);
    return cudaSuccess;
}
#pragma GCC visibility pop

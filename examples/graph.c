/* SPDX-License-Identifier: Apache-2.0 */
/* A launch of Kiln's inside a CUDA graph: the plan is made first, since a stream that is being captured loads no
 * kernel; the launch is captured, and the graph is launched as often as is wanted, each time on what the arrays hold by
 * then.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples, with the CUDA toolkit installed
 * or:     cc examples/graph.c $(pkg-config --cflags --libs kiln) -lcudart -lm */
#include <cuda_runtime_api.h>
#include <kiln/kiln.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { ROWS = 4, COLS = 256, COUNT = ROWS * COLS, LAUNCHES = 3 };

/* Everything that is to be given back, whether the work succeeds or not. */
struct work {
    kiln_context *context;
    kiln_program *program;
    kiln_plan *plan;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    void *x, *y;
};

static bool cuda_ok(cudaError_t error, const char *what) {
    if (error) fprintf(stderr, "graph: %s: %s\n", what, cudaGetErrorString(error));
    return !error;
}

static bool kiln_ok(kiln_status status, const char *what) {
    if (status) fprintf(stderr, "graph: %s: %s: %s\n", what, kiln_status_name(status), kiln_last_error());
    return !status;
}

static bool prepare(struct work *w) {
    const int64_t sizes[] = {ROWS, COLS};
    if (!cuda_ok(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking), "making a stream")) return false;
    if (!cuda_ok(cudaMalloc(&w->x, COUNT * sizeof(float)), "memory")) return false;
    if (!cuda_ok(cudaMalloc(&w->y, COUNT * sizeof(float)), "memory")) return false;
    if (!kiln_ok(kiln_context_create(NULL, &w->context), "context")) return false;
    if (!kiln_ok(kiln_program_create(w->context, "y = x / norm2(x)", NULL, &w->program), "program")) return false;
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(w->x, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(w->y, KILN_F32, 2, sizes)};
    return kiln_ok(kiln_plan_create(w->program, tensors, 2, NULL, 0, &w->plan), "plan");
}

/* Between begin and end nothing runs: what is put into the stream becomes the graph. */
static bool capture(struct work *w) {
    void *const data[] = {w->x, w->y};
    if (!cuda_ok(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal), "beginning a capture"))
        return false;
    const bool launched = kiln_ok(kiln_plan_launch(w->plan, data, 2, NULL, 0, w->stream), "launching into the graph");
    const bool ended = cuda_ok(cudaStreamEndCapture(w->stream, &w->graph), "ending the capture"); /* in any case */
    if (!launched || !ended) return false;
    return cuda_ok(cudaGraphInstantiate(&w->executable, w->graph, 0), "instantiating the graph");
}

/* Launches the graph on new values, and looks whether each row has length 1. */
static bool launch(struct work *w, int number) {
    float host[COUNT];
    for (int i = 0; i < COUNT; i++) host[i] = (float)(i % 7 + number);
    if (!cuda_ok(cudaMemcpyAsync(w->x, host, sizeof(host), cudaMemcpyHostToDevice, w->stream), "copying")) return false;
    if (!cuda_ok(cudaGraphLaunch(w->executable, w->stream), "launching the graph")) return false;
    if (!cuda_ok(cudaMemcpyAsync(host, w->y, sizeof(host), cudaMemcpyDeviceToHost, w->stream), "copying")) return false;
    if (!cuda_ok(cudaStreamSynchronize(w->stream), "running the graph")) return false;
    for (int row = 0; row < ROWS; row++) {
        double squares = 0;
        for (int col = 0; col < COLS; col++) squares += pow((double)host[row * COLS + col], 2);
        if (fabs(squares - 1) > 1e-5) {
            fprintf(stderr, "graph: row %d of launch %d has a length of %g, expected 1\n", row, number, sqrt(squares));
            return false;
        }
    }
    printf("launch %d of the graph: %d rows of length 1\n", number, ROWS);
    return true;
}

static void give_back(struct work *w) {
    if (w->executable) cudaGraphExecDestroy(w->executable);
    if (w->graph) cudaGraphDestroy(w->graph);
    kiln_plan_destroy(w->plan); /* its kernel stays loaded as long as the context, for the graph's sake */
    kiln_program_destroy(w->program);
    kiln_context_destroy(w->context);
    cudaFree(w->y);
    cudaFree(w->x);
    if (w->stream) cudaStreamDestroy(w->stream);
}

int main(void) {
    struct work work = {0};
    bool ok = prepare(&work) && capture(&work);
    for (int number = 1; ok && number <= LAUNCHES; number++) ok = launch(&work, number);
    give_back(&work);
    return ok ? 0 : 1;
}

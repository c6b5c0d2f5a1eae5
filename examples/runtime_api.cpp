// SPDX-License-Identifier: Apache-2.0
/* Kiln in a C++ program that has the CUDA runtime API's memory and streams already: two streams that work side by side,
 * each with its own plan launch, and copies in the order of the stream. Ownership is the standard library's.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples, with the CUDA toolkit installed
 * or:     c++ -std=c++17 examples/runtime_api.cpp $(pkg-config --cflags --libs kiln) -lcudart */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <kiln/kiln.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(cudaError_t error, const char *what) {
    if (error) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

void check(kiln_status status) {
    if (status) throw std::runtime_error(std::string(kiln_status_name(status)) + ": " + kiln_last_error());
}

/* A handle of Kiln's that is destroyed with its owner. */
template <auto destroy> struct destroyer {
    template <class T> void operator()(T *handle) const { destroy(handle); }
};
using context_ptr = std::unique_ptr<kiln_context, destroyer<kiln_context_destroy>>;
using program_ptr = std::unique_ptr<kiln_program, destroyer<kiln_program_destroy>>;
using plan_ptr = std::unique_ptr<kiln_plan, destroyer<kiln_plan_destroy>>;
using stream_ptr = std::unique_ptr<CUstream_st, destroyer<cudaStreamDestroy>>;
using device_floats = std::unique_ptr<float, destroyer<cudaFree>>;

stream_ptr make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream_ptr(stream);
}

device_floats make_floats(std::size_t count) {
    void *memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc");
    return device_floats(static_cast<float *>(memory));
}

constexpr std::int64_t rows = 64, cols = 1000;
constexpr std::size_t count = rows * cols;

/* What one stream works on. Members are destroyed in reverse order, the stream last. */
struct job {
    stream_ptr stream = make_stream();
    device_floats x = make_floats(count), y = make_floats(count);
    std::vector<float> host = std::vector<float>(count);

    void start(const kiln_plan *plan, float shift) {
        for (std::size_t i = 0; i < count; i++) host[i] = static_cast<float>(i % 17) + shift;
        const std::size_t bytes = count * sizeof(float);
        void *const data[] = {x.get(), y.get()};
        check(cudaMemcpyAsync(x.get(), host.data(), bytes, cudaMemcpyHostToDevice, stream.get()), "copy to the GPU");
        check(kiln_plan_launch(plan, data, 2, nullptr, 0, stream.get()));
        check(cudaMemcpyAsync(host.data(), y.get(), bytes, cudaMemcpyDeviceToHost, stream.get()), "copy to the host");
    }

    /* Waits, and looks at the result: a normalised row has mean 0 and mean square 1. */
    void finish() const {
        check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
        for (std::int64_t row = 0; row < rows; row++) {
            double sum = 0, squares = 0;
            for (std::int64_t col = 0; col < cols; col++) {
                const double value = static_cast<double>(host[static_cast<std::size_t>(row * cols + col)]);
                sum += value;
                squares += value * value;
            }
            if (std::fabs(sum / cols) > 1e-4 || std::fabs(squares / cols - 1) > 1e-3)
                throw std::runtime_error("row " + std::to_string(row) + " is not normalised");
        }
    }
};

void run() {
    check(cudaFree(nullptr), "making the CUDA context"); /* Kiln works in the context that is current */
    kiln_context *made_context = nullptr;
    check(kiln_context_create(nullptr, &made_context));
    const context_ptr context(made_context);
    kiln_program *made_program = nullptr;
    check(kiln_program_create(context.get(), "y = layer_norm(x)", nullptr, &made_program));
    const program_ptr program(made_program);

    job first, second;
    const std::int64_t sizes[] = {rows, cols};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(first.x.get(), KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(first.y.get(), KILN_F32, 2, sizes)};
    kiln_plan *made_plan = nullptr; /* compiled or loaded here; launches only launch */
    check(kiln_plan_create(program.get(), tensors, 2, nullptr, 0, &made_plan));
    const plan_ptr plan(made_plan);

    first.start(plan.get(), 0);
    second.start(plan.get(), 100);
    first.finish();
    second.finish();
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    check(kiln_plan_get_info(plan.get(), &info));
    std::printf("two streams, %lld rows of %lld: %s\n", static_cast<long long>(rows), static_cast<long long>(cols),
                info.schedule);
}

} // namespace

int main() {
    try {
        run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "runtime_api: %s\n", error.what());
        return 1;
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The C API from C++17: initialisers, callbacks and ownership by the standard library's own means.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <kiln/kiln.h>

template <auto destroy> struct destroyer {
    template <class T> void operator()(T *handle) const { destroy(handle); }
};
using context_ptr = std::unique_ptr<kiln_context, destroyer<kiln_context_destroy>>;
using program_ptr = std::unique_ptr<kiln_program, destroyer<kiln_program_destroy>>;
using preparation_ptr = std::unique_ptr<kiln_preparation, destroyer<kiln_prepare_destroy>>;
using kernel_ptr = std::unique_ptr<kiln_kernel, destroyer<kiln_kernel_destroy>>;

static int failures;
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            std::printf("%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, kiln_last_error()); \
            failures++; \
        } \
    } while (0)

int main() {
    std::string logged;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    options.log = [](void *user, kiln_log_level, const char *message) { *static_cast<std::string *>(user) += message; };
    options.log_user = &logged;
    kiln_context *context = nullptr;
    CHECK(kiln_context_create(&options, &context) == KILN_OK);
    context_ptr owner(context);

    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    how.scalars = "k";
    kiln_program *made = nullptr;
    CHECK(kiln_program_create(context, "y = softmax(x * k)", &how, &made) == KILN_OK);
    program_ptr program(made);

    std::vector<float> x{0, 0, 0, 0, 1, 1, 1, 1}, y(8);
    const std::int64_t sizes[] = {2, 4};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(x.data(), KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(y.data(), KILN_F32, 2, sizes)};
    const kiln_scalar k = kiln_scalar_f64(2);
    CHECK(kiln_run_cpu(program.get(), tensors, 2, &k, 1) == KILN_OK);
    for (float value : y) CHECK(value == 0.25f);

    const std::vector<float> input{0, 0, 0, 0, 1, 1, 1, 1}; // const, and bound without a cast
    const kiln_binding bindings[] = {{"y", tensors[1]}, {"x", kiln_tensor_input(input.data(), KILN_F32, 2, sizes)}};
    const kiln_scalar_binding scalars[] = {{"k", kiln_scalar_f64(3)}};
    CHECK(kiln_run_cpu_named(program.get(), bindings, 2, scalars, 1, nullptr) == KILN_OK);
    for (float value : y) CHECK(value == 0.25f);
    kiln_type type = KILN_F64;
    CHECK(kiln_program_output_type(program.get(), tensors, &k, 0, &type) == KILN_OK && type == KILN_F32);
    CHECK(kiln_run_cpu_named(program.get(), bindings, 1, scalars, 1, nullptr) == KILN_E_BINDING);
    kiln_error_info error = KILN_ERROR_INFO_INIT;
    CHECK(kiln_last_error_info(&error) == KILN_OK && error.status == KILN_E_BINDING && std::string(error.text) == "x");
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    CHECK(kiln_context_get_stats(context, &stats) == KILN_OK && stats.compiled == 0);
    CHECK(kiln_version_number() == KILN_VERSION_NUMBER);

    kiln_kernel *compiled = nullptr;
    CHECK(kiln_compile(program.get(), tensors, 2, &k, 1, 90, 0, 0, &compiled) == KILN_OK);
    kernel_ptr kernel(compiled);
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    CHECK(kiln_kernel_get_info(kernel.get(), &info) == KILN_OK);
    CHECK(info.arch == 90 && std::strstr(info.source, "softmax") != nullptr);

    kiln_problem problem = KILN_PROBLEM_INIT;
    problem.program = program.get();
    problem.tensors = tensors;
    problem.tensor_count = 2;
    problem.scalars = &k;
    problem.scalar_count = 1;
    problem.arch = 12; // which there is none of
    kiln_prepare_options prepare = KILN_PREPARE_OPTIONS_INIT;
    size_t told = 0;
    prepare.callback = [](void *user, size_t, size_t, const kiln_prepare_result *result) {
        *static_cast<size_t *>(user) += result->status == KILN_E_ARCH;
    };
    prepare.user = &told;
    kiln_preparation *begun = nullptr;
    CHECK(kiln_prepare(context, &problem, 1, &prepare, &begun) == KILN_OK);
    preparation_ptr preparation(begun);
    CHECK(kiln_prepare_wait(begun, -1, nullptr) == KILN_E_ARCH && told == 1);

    CHECK(kiln_run_cpu(program.get(), tensors, 1, &k, 1) == KILN_E_BINDING);
    CHECK(std::string(kiln_last_error()) == "1 tensors are given, expected 2: 1 inputs and 1 outputs");
    CHECK(logged.empty());
    return failures != 0;
}

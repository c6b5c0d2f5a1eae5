/* SPDX-License-Identifier: Apache-2.0 */
/* A program that carries its kernels: kiln_add_pack compiled them when it was built (CMakeLists.txt beside this file),
 * and here it needs no NVRTC, no cache folder and no time to compile.
 *
 * Build:  cmake -S examples/pack -B build/pack && cmake --build build/pack
 *         NVRTC is needed for that, a GPU is not; ARCHS says for which GPUs. With -DWITH_CUDA=OFF the program only
 * looks its kernel up, for sm_90. */
#include "../arrays.h"
#include "example_pack_pack.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 100, COLS = 64, COUNT = ROWS * COLS };

/* The kernel of the manifest fits any number of rows; another number of columns would be KILN_E_WOULD_COMPILE. */
static kiln_status make_context(kiln_context **out) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.packs = &example_pack_pack;
    options.pack_count = 1;
    options.policy = KILN_POLICY_NEVER_COMPILE;
    options.cache_dir = "";
    options.nvrtc_path = "/nowhere"; /* to show that it is not needed */
    return kiln_context_create(&options, out);
}

static kiln_status look_up(const kiln_program *program, const kiln_tensor *tensors) {
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status) status = kiln_kernel_get_info(kernel, &info);
    if (!status && info.origin != KILN_ORIGIN_PACK) status = KILN_E_WOULD_COMPILE;
    if (!status) printf("the pack has the kernel for sm_90, %lld bytes\n", (long long)info.image_bytes);
    kiln_kernel_destroy(kernel);
    return status;
}

static int run(const kiln_program *program, const kiln_tensor *tensors) {
    const kiln_binding bindings[] = {{"x", tensors[0]}, {"y", tensors[1]}};
    float *x = tensors[0].data, *y = tensors[1].data;
    for (int i = 0; i < COUNT; i++) x[i] = (float)(i % 13);
    const kiln_status status = arrays_run(program, bindings, 2, NULL, 0);
    if (status) return report("pack", status);
    for (int row = 0; row < ROWS; row++) {
        double total = 0;
        for (int col = 0; col < COLS; col++) total += (double)y[row * COLS + col];
        if (fabs(total - 1) > 1e-5) {
            fprintf(stderr, "pack: row %d adds up to %g, expected 1\n", row, total);
            return 1;
        }
    }
    printf("the pack's kernel ran on %d rows\n", ROWS);
    return 0;
}

int main(void) {
    const int64_t sizes[] = {ROWS, COLS};
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    float *x = array_create(COUNT * sizeof(*x)), *y = array_create(COUNT * sizeof(*y));
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(x, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(y, KILN_F32, 2, sizes)};
    kiln_status status = x && y ? make_context(&context) : KILN_E_MEMORY;
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status && !arrays_on_gpu()) status = look_up(program, tensors);
    int result = status ? report("pack", status) : 0;
    if (!status && arrays_on_gpu()) result = run(program, tensors);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    array_destroy(y);
    array_destroy(x);
    return result;
}

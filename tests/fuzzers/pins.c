/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned schedules: a text is refused with a sentence, or pins parts of the schedules of programs of every kind, which
 * are then planned and written, or refused with a sentence. */
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

static void expect(bool holds) {
    if (!holds) abort();
}

static void plan(kiln_context *context, const char *text, const kiln_tensor *tensors, size_t count) {
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    expect(kiln_program_create(context, text, NULL, &program) == KILN_OK);
    kiln_status status = kiln_compile(program, tensors, count, NULL, 0, 90, 0, 0, &kernel);
    expect(status == KILN_OK || (*kiln_last_error() != '\0' && status != KILN_E_INTERNAL));
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t shapes[][2] = {{4096, 33}, {512, 1024}, {64, 65536}, {3, 1 << 20}};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    if (size == 0) return 0;
    char *text = malloc(size);
    expect(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    options.cache_dir = options.record_path = "";
    options.schedule = text;
    options.policy = KILN_POLICY_NEVER_COMPILE;
    kiln_status status = kiln_context_create(&options, &context);
    expect(status == KILN_OK || *kiln_last_error() != '\0');
    if (!status) {
        const int64_t *sizes = shapes[*data & 3];
        kiln_tensor rows[2] = {kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes),
                               kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes)};
        kiln_tensor turned[2] = {rows[0], rows[1]};
        turned[0].strides[0] = 1;
        turned[0].strides[1] = sizes[0];
        plan(context, "y = softmax(x)", rows, 2);
        plan(context, "y = x * 2", rows, 2);
        plan(context, "y = softmax(x)", turned, 2);
    }
    kiln_context_destroy(context);
    free(text);
    return 0;
}

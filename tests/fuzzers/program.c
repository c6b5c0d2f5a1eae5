/* SPDX-License-Identifier: Apache-2.0 */
/* Program text: whoever wrote it, it is refused with a sentence or becomes a program, which then is planned, written as
 * a kernel, and run by the reference. The first byte chooses the inputs' type and shape. */
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

enum { elements = 24 };

static kiln_context *context;

static void expect(bool holds) {
    if (!holds) abort();
}

/* The shape that an output has, contiguous, in new memory. */
static kiln_status make_output(const kiln_program *program, const kiln_tensor *inputs, size_t output, kiln_type type,
                               kiln_tensor *out) {
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK];
    kiln_status status = kiln_program_output_shape(program, inputs, output, 1, &rank, sizes);
    if (status) return status;
    *out = kiln_tensor_contiguous(NULL, type, rank, sizes);
    int64_t bytes = (int64_t)kiln_type_size(type);
    for (int32_t i = 0; i < rank; i++) bytes *= sizes[i];
    expect(bytes >= 0 && bytes <= 1 << 20);
    out->data = aligned_alloc(16, ((size_t)bytes + 16) & ~(size_t)15);
    expect(out->data != NULL);
    return KILN_OK;
}

static void run(const kiln_program *program, int choice) {
    static const kiln_type types[] = {KILN_F32, KILN_F16, KILN_I32, KILN_BOOL, KILN_F64, KILN_E4M3,
                                      KILN_I64, KILN_U8,  KILN_U16, KILN_U32,  KILN_U64, KILN_E8M0};
    static const int64_t shapes[][3] = {{4, 6}, {1, 24}, {0, 5}, {2, 3, 4}};
    _Alignas(16) static unsigned char data[elements * 8];
    const kiln_type type = types[((choice & 7) | (choice >> 2 & 8)) % (int)(sizeof types / sizeof types[0])];
    const int shape = choice >> 3 & 3;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    const size_t inputs = kiln_program_input_count(program), outputs = kiln_program_output_count(program);
    size_t made = 0;
    kiln_kernel *kernel = NULL;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(type == KILN_BOOL ? i % 2 : i * 7 % 64);
    for (size_t i = 0; i < inputs; i++)
        tensors[i] = kiln_tensor_contiguous(data, type, shape == 3 ? 3 : 2, shapes[shape]);
    for (; made < outputs && !status; made += !status)
        status = make_output(program, tensors, made, type, &tensors[inputs + made]);
    if (!status) {
        status = kiln_compile(program, tensors, inputs + outputs, NULL, 0, 90, 0, 0, &kernel);
        expect(status == KILN_OK || *kiln_last_error() != '\0');
        kiln_kernel_destroy(kernel);
        status = kiln_run_cpu(program, tensors, inputs + outputs, NULL, 0);
        expect(status == KILN_OK || *kiln_last_error() != '\0');
    }
    for (size_t i = 0; i < made; i++) free(tensors[inputs + i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (!context) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = options.record_path = "";
        options.policy = KILN_POLICY_NEVER_COMPILE;
        expect(kiln_context_create(&options, &context) == KILN_OK);
    }
    char *text = malloc(size);
    kiln_program *program = NULL;
    expect(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    kiln_status status = kiln_program_create(context, text, NULL, &program);
    expect((status == KILN_OK) == (program != NULL) && (status == KILN_OK) == (*kiln_last_error() == '\0'));
    expect(status != KILN_E_INTERNAL);
    if (program) run(program, data[0]);
    kiln_program *gradient = NULL;
    if (program) kiln_program_gradient(program, NULL, NULL, &gradient);
    kiln_program_destroy(gradient);
    kiln_program_destroy(program);
    free(text);
    return 0;
}

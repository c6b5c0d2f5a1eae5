/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack tensors: whatever their numbers are, nothing beyond shape and strides is read, and what is taken is refused
 * with a sentence or planned for. The input is the numbers: type code, bits, lanes, rank, flags, then sizes and
 * strides. */
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

/* DLPack's C ABI, version 0.x and the tensor of 1.x. */
struct DLTensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *sizes;
    int64_t *strides;
    uint64_t byte_offset;
};

static kiln_context *context;
static kiln_program *programs[2];

static void expect(bool holds) {
    if (!holds) abort();
}

static void open_programs(void) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = options.record_path = "";
    options.policy = KILN_POLICY_NEVER_COMPILE;
    expect(kiln_context_create(&options, &context) == KILN_OK);
    expect(kiln_program_create(context, "s = sum(x)", NULL, &programs[0]) == KILN_OK);
    expect(kiln_program_create(context, "y = x + 1", NULL, &programs[1]) == KILN_OK);
}

static void plan(const kiln_program *program, const kiln_tensor *input) {
    int32_t rank;
    int64_t sizes[KILN_MAX_RANK];
    kiln_kernel *kernel = NULL;
    kiln_status status = kiln_program_output_shape(program, input, 0, 1, &rank, sizes);
    if (!status) {
        const kiln_tensor tensors[2] = {*input, kiln_tensor_contiguous(NULL, input->type, rank, sizes)};
        status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 0, &kernel);
    }
    expect(status == KILN_OK || (*kiln_last_error() != '\0' && status != KILN_E_INTERNAL));
    kiln_kernel_destroy(kernel);
}

/* Takes the next bytes of the input; zeros behind its end. */
static void take(const uint8_t **data, size_t *left, void *to, size_t size) {
    const size_t some = size < *left ? size : *left;
    memset(to, 0, size);
    memcpy(to, *data, some);
    *data += some;
    *left -= some;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct DLTensor source = {.data = NULL};
    kiln_tensor tensor;
    uint8_t flags, offset;
    int8_t rank;
    if (!context) open_programs();
    take(&data, &size, &source.type, sizeof source.type);
    take(&data, &size, &rank, 1);
    take(&data, &size, &flags, 1);
    take(&data, &size, &offset, 1);
    source.rank = flags & 4 ? rank * 0x01000000 : rank;
    source.byte_offset = offset;
    /* As long as the rank says, so that the sanitizer sees what is read behind them. */
    const size_t count = rank > 0 && !(flags & 4) ? (size_t)rank : 0, bytes = count * sizeof(int64_t);
    int64_t *sizes = malloc(bytes + !bytes), *strides = malloc(bytes + !bytes);
    expect(sizes && strides);
    for (size_t i = 0; i < count; i++) take(&data, &size, &sizes[i], flags & 8 ? sizeof *sizes : 1);
    for (size_t i = 0; i < count; i++) take(&data, &size, &strides[i], flags & 16 ? sizeof *strides : 1);
    source.sizes = flags & 1 ? NULL : sizes;
    source.strides = flags & 2 ? NULL : strides;
    kiln_status status = kiln_tensor_from_dlpack(&source, &tensor);
    expect((status == KILN_OK) == (*kiln_last_error() == '\0'));
    for (int i = 0; i < 2 && !status; i++) plan(programs[i], &tensor);
    free(sizes);
    free(strides);
    return 0;
}

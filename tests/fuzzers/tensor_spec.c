/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's texts for tensors, files, scalars, axes and architectures: refused with a sentence, or read. A
 * tensor that is read gives, written again, the same type and sizes. The first byte chooses what the text is. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_spec.h"

static void expect(bool holds) {
    if (!holds) abort();
}

static kiln_status check_tensor(const char *text) {
    kiln_tensor tensor, again;
    char written[TENSOR_SPEC_SIZE];
    kiln_status status = tensor_spec_parse(text, &tensor);
    if (status) return status;
    expect(tensor.rank >= 0 && tensor.rank <= KILN_MAX_RANK);
    tensor_spec_format(&tensor, written);
    expect(strlen(written) < sizeof written);
    expect(tensor_spec_parse(written, &again) == KILN_OK);
    expect(again.type == tensor.type && again.rank == tensor.rank);
    for (int32_t i = 0; i < tensor.rank; i++) expect(again.sizes[i] == tensor.sizes[i]);
    return KILN_OK;
}

static kiln_status check_text(int choice, char *text) {
    kiln_type type;
    kiln_scalar scalar;
    int typed, axes[KILN_MAX_RANK], all, arch, ptx;
    size_t count = 0;
    switch (choice) {
    case 0: return check_tensor(text);
    case 1: return tensor_spec_type(text, &type);
    case 2: return tensor_spec_file(text, &type, &typed);
    case 3: return tensor_spec_scalar(text, 0, &scalar);
    case 4: return tensor_spec_scalar(text, 1, &scalar);
    case 5: {
        kiln_status status = tensor_spec_axes(text, axes, &count, &all);
        expect(count <= KILN_MAX_RANK);
        return status;
    }
    default: return tensor_spec_arch(text, &arch, &ptx);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    char *text = malloc(size);
    expect(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    kiln__clear_error();
    kiln_status status = check_text(*data % 7, text);
    expect(status == KILN_OK || *kiln_last_error() != '\0');
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as callers make them: contiguous views, and DLPack's. */
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/types.h"

/* What DLPack's C ABI lays down for its unmanaged tensor, under names of our own: the public header declares
 * struct DLTensor, and a caller may include dlpack.h beside it. */
typedef struct dlpack_tensor {
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
    int64_t *strides; /* NULL: row-major contiguous */
    uint64_t byte_offset;
} dlpack_tensor;

static const struct {
    uint8_t code, bits;
    kiln_type type;
} dlpack_types[] = {
    {0, 8, KILN_I8},    {0, 16, KILN_I16},  {0, 32, KILN_I32}, {0, 64, KILN_I64},  {1, 8, KILN_U8},
    {1, 16, KILN_U16},  {1, 32, KILN_U32},  {1, 64, KILN_U64}, {2, 16, KILN_F16},  {2, 32, KILN_F32},
    {2, 64, KILN_F64},  {4, 16, KILN_BF16}, {6, 8, KILN_BOOL}, {10, 8, KILN_E4M3}, {12, 8, KILN_E5M2},
    {14, 8, KILN_E8M0}, {17, 4, KILN_E2M1},
};

/* DLPack's devices whose memory a kernel or the host can read, as the caller passes it to kiln_run or kiln_run_cpu. */
static const struct {
    int32_t type;
    bool served, numbered;
    const char *name;
} dlpack_devices[] = {
    {1, true, false, "CPU"},        {2, true, true, "CUDA"},          {3, true, false, "CUDA host"},
    {4, false, false, "OpenCL"},    {7, false, false, "Vulkan"},      {8, false, false, "Metal"},
    {9, false, false, "VPI"},       {10, false, false, "ROCm"},       {11, false, false, "ROCm host"},
    {12, false, false, "ext"},      {13, true, true, "CUDA managed"}, {14, false, false, "oneAPI"},
    {15, false, false, "WebGPU"},   {16, false, false, "Hexagon"},    {17, false, false, "MAIA"},
    {18, false, false, "Trainium"},
};

static kiln_status check_device(int32_t type, int32_t id) {
    const size_t count = sizeof dlpack_devices / sizeof dlpack_devices[0];
    size_t i = 0;
    while (i < count && dlpack_devices[i].type != type) i++;
    const char *name = i < count ? dlpack_devices[i].name : "unknown";
    if (i == count || !dlpack_devices[i].served)
        return kiln__fail(
            KILN_E_UNSUPPORTED,
            "the DLPack tensor is on device type %d (%s), id %d, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) "
            "or 13 (CUDA managed)",
            (int)type, name, (int)id);
    if (dlpack_devices[i].numbered && id < 0)
        return kiln__fail(KILN_E_ARGUMENT, "the DLPack tensor is on device type %d (%s), id %d, expected 0 or more",
                          (int)type, name, (int)id);
    return KILN_OK;
}

/* Whether the call's device, or the host, reaches memory of a device that check_device lets pass. */
static kiln_status check_place(int32_t type, int32_t id, int device) {
    enum { CPU = 1, CUDA = 2 };
    if (device < KILN_ON_HOST)
        return kiln__fail(KILN_E_ARGUMENT, "device is %d, expected the number of a CUDA device, or -1 for the host",
                          device);
    const bool on_host = device == KILN_ON_HOST;
    if (type == CUDA && on_host)
        return kiln__fail(KILN_E_UNSUPPORTED, "the DLPack tensor is on CUDA device %d, expected memory of the host",
                          (int)id);
    if (type == CUDA && id != device)
        return kiln__fail(KILN_E_UNSUPPORTED, "the DLPack tensor is on CUDA device %d, expected CUDA device %d",
                          (int)id, device);
    if (type == CPU && !on_host)
        return kiln__fail(KILN_E_UNSUPPORTED, "the DLPack tensor is in memory of the host, expected CUDA device %d",
                          device);
    return KILN_OK;
}

kiln_tensor kiln_tensor_contiguous(void *data, kiln_type type, int rank, const int64_t *sizes) {
    bool valid = rank >= 0 && rank <= KILN_MAX_RANK && (rank == 0 || sizes != NULL);
    kiln_tensor tensor = {.data = data, .type = type, .rank = valid ? rank : -1};
    int64_t stride = 1;
    for (int i = tensor.rank - 1; i >= 0; i--) {
        tensor.sizes[i] = sizes[i];
        tensor.strides[i] = stride;
        /* An empty axis still has the strides of its neighbours. Where the product does not fit, the calls that
         * take the tensor refuse its sizes; here it is enough not to overflow. */
        if (sizes[i] > 1 && !kiln__mul_i64(stride, sizes[i], &stride)) stride = INT64_MAX;
    }
    return tensor;
}

kiln_tensor kiln_tensor_strided(void *data, kiln_type type, int rank, const int64_t *sizes, const int64_t *strides) {
    kiln_tensor tensor = kiln_tensor_contiguous(data, type, rank, sizes);
    for (int i = 0; strides != NULL && i < tensor.rank; i++) tensor.strides[i] = strides[i];
    return tensor;
}

/* The struct serves inputs and outputs, so that its pointer is not const; calls write to outputs alone. */
kiln_tensor kiln_tensor_input(const void *data, kiln_type type, int rank, const int64_t *sizes) {
    return kiln_tensor_contiguous((void *)data, type, rank, sizes);
}

kiln_tensor kiln_tensor_input_strided(const void *data, kiln_type type, int rank, const int64_t *sizes,
                                      const int64_t *strides) {
    return kiln_tensor_strided((void *)data, type, rank, sizes, strides);
}

/* pairs: elements are of two lanes, as those of packed types may be. */
static bool find_type(const dlpack_tensor *dlpack, kiln_type *type, bool *pairs) {
    const size_t count = sizeof dlpack_types / sizeof dlpack_types[0];
    size_t i = 0;
    while (i < count && (dlpack_types[i].code != dlpack->type.code || dlpack_types[i].bits != dlpack->type.bits)) i++;
    if (i == count) return false;
    *type = dlpack_types[i].type;
    *pairs = kiln__type_is_packed(*type) && dlpack->type.lanes == 2;
    return *pairs || dlpack->type.lanes == 1;
}

/* Elements of two lanes are two elements along the last axis. */
static kiln_status part_pairs(kiln_tensor *tensor) {
    const int last = tensor->rank - 1;
    if (last < 0 || (tensor->sizes[last] > 1 && tensor->strides[last] != 1))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "the DLPack tensor has pairs of 4 bits that do not lie side by side along a last axis");
    bool fits = kiln__mul_i64(tensor->sizes[last], 2, &tensor->sizes[last]);
    for (int axis = 0; axis < last && fits; axis++)
        fits = kiln__mul_i64(tensor->strides[axis], 2, &tensor->strides[axis]);
    tensor->strides[last] = 1;
    if (fits) return KILN_OK;
    return kiln__fail(KILN_E_SIZE, "the DLPack tensor has more elements along an axis than 64 bits can count");
}

kiln_status kiln_tensor_from_dlpack(const struct DLTensor *source, kiln_tensor *out) {
    kiln__clear_error();
    if (source == NULL || out == NULL)
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", source == NULL ? "the DLPack tensor" : "the tensor to write");
    dlpack_tensor dlpack;
    memcpy(&dlpack, source, sizeof dlpack);

    kiln_status status = check_device(dlpack.device.type, dlpack.device.id);
    if (status) return status;
    kiln_type type = KILN_F32;
    bool pairs = false;
    if (!find_type(&dlpack, &type, &pairs))
        return kiln__fail(KILN_E_TYPE,
                          "the DLPack tensor has type code %u, %u bits, %u lanes, which no type of Kiln matches",
                          (unsigned)dlpack.type.code, (unsigned)dlpack.type.bits, (unsigned)dlpack.type.lanes);
    if (dlpack.rank > KILN_MAX_RANK)
        return kiln__fail(KILN_E_UNSUPPORTED, "the DLPack tensor has rank %d, at most %d is supported",
                          (int)dlpack.rank, KILN_MAX_RANK);
    if (dlpack.rank < 0)
        return kiln__fail(KILN_E_ARGUMENT, "the DLPack tensor has rank %d, expected 0 or more", (int)dlpack.rank);
    if (dlpack.rank > 0 && dlpack.sizes == NULL)
        return kiln__fail(KILN_E_ARGUMENT, "the DLPack tensor has rank %d and a shape that is NULL", (int)dlpack.rank);
    for (int axis = 0; axis < dlpack.rank; axis++)
        if (dlpack.sizes[axis] < 0)
            return kiln__fail(KILN_E_SIZE, "the DLPack tensor has size %lld along axis %d, expected 0 or more",
                              (long long)dlpack.sizes[axis], axis);

    /* A number: an offset from NULL, or beyond an object of the host's, is no pointer that C knows. */
    uintptr_t address = 0;
    if (dlpack.data != NULL && __builtin_add_overflow((uintptr_t)dlpack.data, dlpack.byte_offset, &address))
        return kiln__fail(KILN_E_SIZE, "the DLPack tensor begins %llu bytes behind %p, which is no address",
                          (unsigned long long)dlpack.byte_offset, dlpack.data);
    kiln_tensor tensor = kiln_tensor_contiguous((void *)address, type, dlpack.rank, dlpack.sizes);
    if (dlpack.strides != NULL)
        for (int axis = 0; axis < dlpack.rank; axis++) tensor.strides[axis] = dlpack.strides[axis];
    status = pairs ? part_pairs(&tensor) : KILN_OK;
    if (!status) *out = tensor;
    return status;
}

kiln_status kiln_tensor_from_dlpack_on(const struct DLTensor *source, int device, kiln_tensor *out) {
    kiln_tensor tensor;
    kiln_status status = kiln_tensor_from_dlpack(source, out ? &tensor : NULL);
    if (status) return status;
    dlpack_tensor dlpack;
    memcpy(&dlpack, source, sizeof dlpack);
    status = check_place(dlpack.device.type, dlpack.device.id, device);
    if (!status) *out = tensor;
    return status;
}

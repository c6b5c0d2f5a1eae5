// SPDX-License-Identifier: Apache-2.0
// What DLPack's C ABI lays down, as far as it is used here: tensors in capsules, and the table of functions that a
// library of arrays may offer for them (__dlpack_c_exchange_api__).
#ifndef KILN_PYTHON_DLPACK_HPP
#define KILN_PYTHON_DLPACK_HPP

#include <cstdint>

struct DLDevice {
    int32_t type, id;
};

struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
};

struct DLTensor {
    void *data;
    DLDevice device;
    int32_t rank;
    DLDataType type;
    int64_t *sizes;
    int64_t *strides;
    uint64_t byte_offset;
};

namespace dlpack {

enum DeviceType { CPU = 1, CUDA = 2, CUDA_HOST = 3, CUDA_MANAGED = 13 };

struct Managed {
    DLTensor tensor;
    void *owner;
    void (*deleter)(Managed *);
};

struct Version {
    uint32_t major, minor;
};

struct ManagedVersioned {
    Version version;
    void *owner;
    void (*deleter)(ManagedVersioned *);
    uint64_t flags; // bit 0: read-only
    DLTensor tensor;
};

using SetError = void (*)(void *context, const char *kind, const char *message);

// Version 1 of the table. Its functions return 0, or not 0 with a Python error set; none of them synchronizes.
struct Exchange {
    Version version;
    Exchange *older;
    int (*allocate)(DLTensor *prototype, ManagedVersioned **out, void *context, SetError set_error);
    int (*managed_from_object)(void *object, ManagedVersioned **out);
    int (*object_from_managed)(ManagedVersioned *tensor, void **out);
    int (*view_object)(void *object, DLTensor *out); // borrowed: lives as long as the object; NULL where not offered
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
};

} // namespace dlpack

#endif

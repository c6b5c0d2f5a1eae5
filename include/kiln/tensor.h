/* SPDX-License-Identifier: Apache-2.0 */
/* Types, tensors and scalars. A part of <kiln/kiln.h>, whose conventions hold here. */
#ifndef KILN_TENSOR_H
#define KILN_TENSOR_H

#include <kiln/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What elements are stored as; docs/language.md says what they are computed in. */
typedef enum kiln_type {
    KILN_F64 = 0,
    KILN_F32 = 1,
    KILN_F16 = 2,
    KILN_BF16 = 3,
    KILN_E4M3 = 4,
    KILN_E5M2 = 5,
    KILN_I64 = 6,
    KILN_I32 = 7,
    KILN_I16 = 8,
    KILN_I8 = 9,
    KILN_U8 = 10,
    KILN_BOOL = 11,
    KILN_U16 = 12,
    KILN_U32 = 13,
    KILN_U64 = 14,
    KILN_E8M0 = 15, /* powers of two without a sign: scales of MX formats */
    KILN_E2M1 = 16  /* floats of 4 bits, two to a byte, that of the lower index in its low half: MXFP4, NVFP4 */
} kiln_type;
#define KILN_TYPE_COUNT 17

/* Bytes per element; of KILN_E2M1 1, for two of them; 0 for a value that is no type. Thread-safe. */
KILN_API size_t kiln_type_size(kiln_type type);
/* "f16" for KILN_F16; "?" for a value that is no type. Static string. Thread-safe. */
KILN_API const char *kiln_type_name(kiln_type type);

/* Of one tensor; of one program. */
#define KILN_MAX_RANK 8
#define KILN_MAX_TENSORS 32
#define KILN_MAX_SCALARS 32

/* A view of memory the caller owns. Sizes and strides are in elements of KILN_E2M1, too, of which the last axis has an
 * even number, side by side, while other strides are even: data is the address of a whole byte. data is a device
 * address for kiln_run and kiln_plan_launch, a host address for kiln_run_cpu. sizes[i] elements along axis i,
 * strides[i] elements apart. */
typedef struct kiln_tensor {
    void *data;
    kiln_type type;
    int32_t rank;
    int64_t sizes[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
} kiln_tensor;

/* A row-major contiguous view: sizes has rank entries. An out-of-range rank gives a tensor of rank -1, which
 * every call refuses. Thread-safe. */
KILN_API kiln_tensor kiln_tensor_contiguous(void *data, kiln_type type, int rank, const int64_t *sizes);

/* A view with strides of any kind: 0, negative, permuted; strides has rank entries, NULL: row-major contiguous. data is
 * the address of the element whose indices are all 0. A rank out of range as above. Thread-safe. */
KILN_API kiln_tensor kiln_tensor_strided(void *data, kiln_type type, int rank, const int64_t *sizes,
                                         const int64_t *strides);

/* The same two of memory that the caller has as const: an input's, which no call writes to. It is the caller who takes
 * care not to bind the view as an output. Thread-safe. */
KILN_API kiln_tensor kiln_tensor_input(const void *data, kiln_type type, int rank, const int64_t *sizes);
KILN_API kiln_tensor kiln_tensor_input_strided(const void *data, kiln_type type, int rank, const int64_t *sizes,
                                               const int64_t *strides);

struct DLTensor; /* as <dlpack/dlpack.h> declares it */
/* Converts a DLPack tensor (byte_offset and NULL strides included) into *out. The view borrows the DLPack
 * tensor's memory, and does not record where that is: for kiln_run it must be of device type CUDA, CUDA host or CUDA
 * managed and reachable from the current context's device, for kiln_run_cpu of CPU, CUDA host or CUDA managed.
 * Returns KILN_E_TYPE for a data type with lanes or without a kiln_type, KILN_E_UNSUPPORTED for another device type
 * and for a rank over KILN_MAX_RANK, KILN_E_SIZE for a negative size or a byte_offset beyond the last address.
 * Thread-safe. */
KILN_API kiln_status kiln_tensor_from_dlpack(const struct DLTensor *source, kiln_tensor *out);

/* Instead of a CUDA device: what the host reads. */
#define KILN_ON_HOST (-1)
/* The same of a tensor that a call is to work on: device is KILN_ON_HOST for kiln_run_cpu, else the number of the CUDA
 * device that the call launches on. KILN_E_UNSUPPORTED also for memory that is elsewhere: of the host, or of another
 * device, where a kernel would fault or be slow; of a CUDA device for KILN_ON_HOST. CUDA host and CUDA managed memory
 * suits any. KILN_E_ARGUMENT for a device below -1. Thread-safe. */
KILN_API kiln_status kiln_tensor_from_dlpack_on(const struct DLTensor *source, int device, kiln_tensor *out);

/* Added to the type of a scalar that is in memory. */
#define KILN_ON_DEVICE 64
/* A scalar's value. type is KILN_F64 (f64 holds the value; it computes in the program's own float type),
 * KILN_I64 or KILN_I32 (i64 holds the value, of which KILN_I32 takes the low 32 bits); or as kiln_scalar_device makes
 * it, with an address in i64. */
typedef struct kiln_scalar {
    kiln_type type;
    union {
        double f64;
        int64_t i64;
    } value;
} kiln_scalar;

/* Thread-safe. */
KILN_API kiln_scalar kiln_scalar_f64(double value);
KILN_API kiln_scalar kiln_scalar_i64(int64_t value);

/* A scalar that the kernel reads in memory when it runs: what is there then counts, so that a captured graph is
 * launched with another value without being updated. type: of what is there, KILN_F64 or KILN_F32 (which compute in the
 * program's own float type), KILN_I64 or KILN_I32. pointer is an address as a tensor's data is: of the device for
 * kiln_run and kiln_plan_launch, of the host for kiln_run_cpu; a multiple of the type's size. Calls that only prepare
 * take NULL. It is another kernel than for a value. A launch gives KILN_E_TYPE for another type, KILN_E_POINTER for
 * NULL or a misaligned address, KILN_E_OVERLAP where the program stores its outputs there. Thread-safe. */
KILN_API kiln_scalar kiln_scalar_device(const void *pointer, kiln_type type);

#ifdef __cplusplus
}
#endif
#endif

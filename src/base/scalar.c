/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scalar.h"

#include "base/types.h"

kiln_scalar kiln_scalar_f64(double value) { return (kiln_scalar){.type = KILN_F64, .value.f64 = value}; }

kiln_scalar kiln_scalar_i64(int64_t value) { return (kiln_scalar){.type = KILN_I64, .value.i64 = value}; }

kiln_scalar kiln_scalar_device(const void *pointer, kiln_type type) {
    /* All 8 bytes, also where a pointer has fewer. */
    return (kiln_scalar){.type = (kiln_type)((int)type | KILN_ON_DEVICE), .value.i64 = (int64_t)(uintptr_t)pointer};
}

static bool can_be_in_memory(kiln_type stored) { return kiln__scalar_is_value(stored) || stored == KILN_F32; }

const char *kiln__scalar_type_name(kiln_type type) {
    if (!kiln__scalar_on_device(type)) return kiln_type_name(type);
    switch ((int)kiln__scalar_stored(type)) {
    case KILN_F64: return "f64*";
    case KILN_F32: return "f32*";
    case KILN_I64: return "i64*";
    case KILN_I32: return "i32*";
    default: return kiln_type_name(kiln__scalar_stored(type));
    }
}

kiln_status kiln__scalar_check_type(const char *name, kiln_type type) {
    if (kiln__scalar_is_value(type)) return KILN_OK;
    if (!kiln__scalar_on_device(type))
        return kiln__fail(KILN_E_TYPE, "scalar '%s' has type %s, expected f64, i64 or i32", name, kiln_type_name(type));
    if (can_be_in_memory(kiln__scalar_stored(type))) return KILN_OK;
    return kiln__fail(KILN_E_TYPE, "scalar '%s' has type %s in device memory, expected f64, f32, i64 or i32", name,
                      kiln__scalar_type_name(type));
}

kiln_status kiln__scalar_check_address(const char *name, const kiln_scalar *scalar) {
    const size_t size = kiln_type_size(kiln__scalar_stored(scalar->type));
    if (!scalar->value.i64) return kiln__fail(KILN_E_POINTER, "the device pointer of scalar '%s' is NULL", name);
    if ((uintptr_t)scalar->value.i64 % size == 0) return KILN_OK;
    return kiln__fail(KILN_E_POINTER, "the device pointer of scalar '%s' is %p, expected a multiple of %zu bytes", name,
                      (const void *)(uintptr_t)scalar->value.i64, size);
}

kiln_status kiln__scalar_read(const char *name, const kiln_scalar *scalar, kiln_scalar *out) {
    *out = *scalar;
    if (!kiln__scalar_on_device(scalar->type)) return KILN_OK;
    kiln_status status = kiln__scalar_check_address(name, scalar);
    if (status) return status;
    const kiln_type stored = kiln__scalar_stored(scalar->type);
    const void *at = (const void *)(uintptr_t)scalar->value.i64;
    if (kiln__type_is_float(stored))
        *out = kiln_scalar_f64(kiln__load_f64(stored, at));
    else
        *out = (kiln_scalar){.type = stored, .value.i64 = kiln__load_i64(stored, at)};
    return KILN_OK;
}

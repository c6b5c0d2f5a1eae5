/* SPDX-License-Identifier: Apache-2.0 */
/* Storage types and compute types: their names, sizes and kinds. */
#include "base/types.h"

#include <string.h>

typedef struct type_info {
    const char *name;
    size_t size;
    kiln__ctype compute;
} type_info;

static const type_info types[KILN_TYPE_COUNT] = {
    [KILN_F64] = {"f64", 8, KILN__F64},   [KILN_F32] = {"f32", 4, KILN__F32},   [KILN_F16] = {"f16", 2, KILN__F32},
    [KILN_BF16] = {"bf16", 2, KILN__F32}, [KILN_E4M3] = {"e4m3", 1, KILN__F32}, [KILN_E5M2] = {"e5m2", 1, KILN__F32},
    [KILN_I64] = {"i64", 8, KILN__I64},   [KILN_I32] = {"i32", 4, KILN__I32},   [KILN_I16] = {"i16", 2, KILN__I32},
    [KILN_I8] = {"i8", 1, KILN__I32},     [KILN_U8] = {"u8", 1, KILN__I32},     [KILN_BOOL] = {"bool", 1, KILN__BOOL},
    [KILN_U16] = {"u16", 2, KILN__I32},   [KILN_U32] = {"u32", 4, KILN__U32},   [KILN_U64] = {"u64", 8, KILN__U64},
    [KILN_E8M0] = {"e8m0", 1, KILN__F32}, [KILN_E2M1] = {"e2m1", 1, KILN__F32},
};

bool kiln__type_valid(kiln_type type) {
    /* A caller's struct may hold any bits, below 0 too. */
    return (int)type >= 0 && (int)type < KILN_TYPE_COUNT;
}

size_t kiln_type_size(kiln_type type) { return kiln__type_valid(type) ? types[type].size : 0; }

const char *kiln_type_name(kiln_type type) { return kiln__type_valid(type) ? types[type].name : "?"; }

bool kiln__type_is_float(kiln_type type) { return kiln__type_valid(type) && kiln__ctype_is_float(types[type].compute); }

bool kiln__type_is_packed(kiln_type type) { return type == KILN_E2M1; }

int64_t kiln__type_bytes(kiln_type type, int64_t elements) {
    return kiln__type_is_packed(type) ? elements / 2 : elements * (int64_t)kiln_type_size(type);
}

bool kiln__type_is_unsigned(kiln_type type) {
    return type == KILN_U64 || type == KILN_U32 || type == KILN_U16 || type == KILN_U8;
}

kiln__ctype kiln__type_compute(kiln_type type) { return kiln__type_valid(type) ? types[type].compute : KILN__F32; }

const char *kiln__ctype_name(kiln__ctype type) {
    static const char *const names[] = {"f32", "f64", "i32", "i64", "bool", "u32", "u64"};
    return names[type];
}

bool kiln__ctype_is_float(kiln__ctype type) { return type == KILN__F32 || type == KILN__F64; }

bool kiln__ctype_is_unsigned(kiln__ctype type) { return type == KILN__U32 || type == KILN__U64; }

bool kiln__ctype_is_wide(kiln__ctype type) { return type == KILN__F64 || type == KILN__I64 || type == KILN__U64; }

int kiln__ctype_bytes(kiln__ctype type) {
    if (type == KILN__BOOL) return 1;
    return kiln__ctype_is_wide(type) ? 8 : 4;
}

bool kiln__type_parse(const char *name, size_t length, kiln_type *out) {
    for (int i = 0; i < KILN_TYPE_COUNT; i++) {
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0) {
            *out = (kiln_type)i;
            return true;
        }
    }
    return false;
}

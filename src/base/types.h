/* SPDX-License-Identifier: Apache-2.0 */
/* Storage types and the types that programs compute in. */
#ifndef KILN_BASE_TYPES_H
#define KILN_BASE_TYPES_H

#include <stdbool.h>

#include "kiln/kiln.h"

/* What a value is while it is computed. Booleans are 0 or 1. */
typedef enum kiln__ctype {
    KILN__F32,
    KILN__F64,
    KILN__I32,
    KILN__I64,
    KILN__BOOL,
    KILN__U32,
    KILN__U64
} kiln__ctype; /* tuned records have these numbers: new ones come last */
#define KILN__CTYPES (KILN__U64 + 1)

bool kiln__type_valid(kiln_type type);
bool kiln__type_is_float(kiln_type type);                   /* f64 f32 f16 bf16 e4m3 e5m2 e8m0 e2m1 */
bool kiln__type_is_packed(kiln_type type);                  /* two elements share a byte: e2m1 */
int64_t kiln__type_bytes(kiln_type type, int64_t elements); /* of packed types an even number of elements */
bool kiln__type_is_unsigned(kiln_type type);                /* u64 u32 u16 u8 */
/* The compute type of a stored type on its own: f64 for f64, f32 for the other floats; i64, u64, u32 and bool
 * for themselves, i32 for the other integers. */
kiln__ctype kiln__type_compute(kiln_type type);
const char *kiln__ctype_name(kiln__ctype type); /* "f32" */
bool kiln__ctype_is_float(kiln__ctype type);
bool kiln__ctype_is_unsigned(kiln__ctype type); /* u32 u64 */
bool kiln__ctype_is_wide(kiln__ctype type);     /* of 8 bytes: f64 i64 u64 */
int kiln__ctype_bytes(kiln__ctype type);        /* of a value in memory: 1, 4 or 8 */
/* Finds a type by name ("bf16"); false if there is none. length: bytes of name, which need not end in NUL. */
bool kiln__type_parse(const char *name, size_t length, kiln_type *out);

/* Host conversions, exact by the language's rules: to nearest even, saturating for integers and fp8, NaN to
 * integers gives 0; to e8m0: |value| up, saturating; to e2m1 saturating, NaN gives 6. An element of a packed type
 * is the low half of a byte here, whose high half is 0; kiln__load_packed and kiln__store_packed have it in its place.
 */
double kiln__load_f64(kiln_type type, const void *element);  /* any type, as a double (i64 and u64 round) */
int64_t kiln__load_i64(kiln_type type, const void *element); /* integer types and bool, exactly; a u64's bits */
void kiln__store_f64(kiln_type type, void *element, double value);
/* Exact or saturating; to floats: to nearest even. */
void kiln__store_i64(kiln_type type, void *element, int64_t value);
void kiln__store_u64(kiln_type type, void *element, uint64_t value);
/* The byte of the element number `index` of packed data, and back. */
uint8_t kiln__load_packed(const void *data, int64_t index);
void kiln__store_packed(void *data, int64_t index, uint8_t element);
/* value rounded to the type and back. */
double kiln__round_to(kiln_type type, double value);
/* value rounded to one of its two neighbours in the type, a float of 32 bits at most: to the one further from 0 where u
 * is less than how far value is from the nearer one to it. */
double kiln__round_stochastically(kiln_type type, double value, double u);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Types of scalars: those of values, and with KILN_ON_DEVICE added those of values that a kernel reads in memory. */
#ifndef KILN_BASE_SCALAR_H
#define KILN_BASE_SCALAR_H

#include <stdbool.h>

#include "base/status.h"

static inline bool kiln__scalar_is_value(kiln_type type) {
    return type == KILN_F64 || type == KILN_I64 || type == KILN_I32;
}
static inline bool kiln__scalar_on_device(kiln_type type) { return ((int)type & KILN_ON_DEVICE) != 0; }
/* What is in memory, or is passed. */
static inline kiln_type kiln__scalar_stored(kiln_type type) { return (kiln_type)((int)type & ~KILN_ON_DEVICE); }

/* "f64", and "f64*" of a value in memory. Static string. */
const char *kiln__scalar_type_name(kiln_type type);
/* KILN_E_TYPE where a scalar cannot have the type. */
kiln_status kiln__scalar_check_type(const char *name, kiln_type type);
/* KILN_E_POINTER where a value in memory has no address, or a bad one. */
kiln_status kiln__scalar_check_address(const char *name, const kiln_scalar *scalar);
/* The value itself, of a scalar whose memory the host can read. KILN_E_POINTER. */
kiln_status kiln__scalar_read(const char *name, const kiln_scalar *scalar, kiln_scalar *out);

#endif

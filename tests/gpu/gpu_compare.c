/* SPDX-License-Identifier: Apache-2.0 */
/* How far a kernel's result may be from the CPU reference: the tolerances of every test on the GPU. */
#include "gpu_compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/types.h"

/* A small float's bits as integers in the order of their values. */
static int32_t ordered(kiln_type type, const void *bits) {
    const unsigned char *bytes = bits;
    bool half = kiln_type_size(type) == 2;
    if (type == KILN_E8M0) return bytes[0];
    int32_t value = half ? bytes[0] | bytes[1] << 8 : bytes[0], sign = half ? 0x8000 : 0x80;
    return value & sign ? -(value & ~sign) : value;
}

double gpu_distance(kiln_type type, const void *got, double reference, double largest) {
    double value = kiln__load_f64(type, got);
    if (isnan(value) || isnan(reference)) return isnan(value) && isnan(reference) ? 0 : INFINITY;
    if (kiln__type_is_float(type) && kiln_type_size(type) <= 2) {
        char rounded[sizeof(double)];
        kiln__store_f64(type, rounded, reference);
        return abs(ordered(type, got) - ordered(type, rounded));
    }
    if (value == reference || value == kiln__round_to(type, reference)) return 0;
    double error = fabs(value - reference);
    return !kiln__type_is_float(type) || largest == 0 || isinf(error) ? INFINITY : error / largest;
}

double gpu_limit(kiln_type type) {
    switch (type) {
    case KILN_F16:
    case KILN_BF16: return 2;
    case KILN_E4M3:
    case KILN_E5M2:
    case KILN_E8M0: return 1;
    case KILN_F32: return 4e-6;
    case KILN_F64: return 1e-13;
    default: return 0;
    }
}

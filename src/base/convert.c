/* SPDX-License-Identifier: Apache-2.0 */
/* Host conversions between stored elements and doubles or 64-bit integers.
 * Every one rounds once, from the exact value: to nearest even, up to the scales of e8m0. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/types.h"

/* A binary floating-point format of at most 16 bits. Codes are without the sign bit. */
typedef struct small_float {
    int width, mantissa, bias;
    uint32_t largest;  /* code of the largest finite value */
    uint32_t overflow; /* what larger values become: infinity, or the largest where the language saturates */
    uint32_t nan;
    bool has_infinity; /* codes above the largest are infinity, then NaN; else NaN alone */
} small_float;

static const small_float formats[KILN_TYPE_COUNT] = {
    [KILN_F16] = {16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, true}, [KILN_BF16] = {16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, true},
    [KILN_E4M3] = {8, 3, 7, 0x7E, 0x7E, 0x7F, false},        [KILN_E5M2] = {8, 2, 15, 0x7B, 0x7B, 0x7F, true},
    [KILN_E2M1] = {4, 1, 1, 0x7, 0x7, 0x7, false}, /* there is no NaN: it becomes the largest, whatever its sign */
};

/* The code nearest to significand * 2^exponent. */
static uint32_t encode(const small_float *format, uint64_t significand, int exponent) {
    if (significand == 0) return 0;
    int smallest = 1 - format->bias; /* exponent of normal values */
    int leading = exponent + 63 - __builtin_clzll(significand);
    if (leading > format->bias + 1) return format->overflow;
    int scale = leading > smallest ? leading : smallest;
    int shift = scale - format->mantissa - exponent;
    uint64_t rounded;
    if (shift <= 0) {
        rounded = significand << -shift;
    } else if (shift > 64) {
        rounded = 0;
    } else {
        uint64_t below = shift == 64 ? significand : significand & ((UINT64_C(1) << shift) - 1);
        uint64_t half = UINT64_C(1) << (shift - 1);
        rounded = shift == 64 ? 0 : significand >> shift;
        rounded += below > half || (below == half && (rounded & 1) != 0);
    }
    /* The implicit bit of a normal value counts one up in the exponent field; so does a carry of the rounding. */
    uint64_t code = ((uint64_t)(scale - smallest) << format->mantissa) + rounded;
    return code > format->largest ? format->overflow : (uint32_t)code;
}

static uint32_t encode_f64(const small_float *format, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << (format->width - 1);
    int exponent = (int)(bits >> 52 & 0x7FF);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7FF && fraction != 0) return format->nan > format->largest ? sign | format->nan : format->nan;
    if (exponent == 0x7FF) return sign | format->overflow;
    if (exponent == 0) /* zero, or a subnormal double: far below half of any format's smallest value */
        return sign;
    return sign | encode(format, fraction | UINT64_C(1) << 52, exponent - 1075);
}

static uint32_t encode_i64(const small_float *format, int64_t value) {
    uint32_t sign = (uint32_t)(value < 0) << (format->width - 1);
    return sign | encode(format, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

static double decode(const small_float *format, uint32_t stored) {
    uint32_t code = stored & ((1u << (format->width - 1)) - 1), fraction = code & ((1u << format->mantissa) - 1);
    uint64_t bits = ((uint64_t)code << (52 - format->mantissa)) + ((uint64_t)(1023 - format->bias) << 52);
    double magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    if (code > format->largest)
        magnitude = format->has_infinity && fraction == 0 ? INFINITY : NAN;
    else if (code == fraction) /* a subnormal value, or zero */
        magnitude = ldexp((double)code, 1 - format->bias - format->mantissa);
    return code == stored ? magnitude : -magnitude;
}

/* e8m0: 2^(code - 127), 255 is NaN. The least power of two that is not below |value|. */
static uint8_t encode_scale(double value) {
    int exponent = 0;
    if (isnan(value)) return 255;
    if (isinf(value)) return 254;
    bool exact = fabs(frexp(value, &exponent)) == 0.5; /* half of 2^exponent */
    int code = exponent - exact + 127;
    return (uint8_t)(value == 0 || code < 0 ? 0 : code > 254 ? 254 : code);
}

static uint8_t encode_scale_u64(uint64_t value) {
    if (value <= 1) return value == 1 ? 127 : 0;
    return (uint8_t)(127 + 64 - __builtin_clzll(value - 1));
}

static double decode_scale(uint8_t code) { return code == 255 ? NAN : ldexp(1, code - 127); }

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* To nearest even, saturating; NaN gives 0. */
static uint64_t nearest_u64(double value) {
    if (!(value > 0)) return 0;
    double rounded = nearbyint(value);
    return rounded >= 0x1p64 ? UINT64_MAX : (uint64_t)rounded;
}

static int64_t nearest_i64(double value) {
    if (isnan(value)) return 0;
    double rounded = nearbyint(value);
    if (rounded >= 0x1p63) return INT64_MAX;
    return rounded <= -0x1p63 ? INT64_MIN : (int64_t)rounded;
}

#define LOAD(enumerator, type) \
    case enumerator: { \
        type stored; \
        memcpy(&stored, element, sizeof stored); \
        return stored; \
    }
#define STORE(enumerator, type, converted) \
    case enumerator: { \
        type stored = (type)(converted); \
        memcpy(element, &stored, sizeof stored); \
        return; \
    }

double kiln__load_f64(kiln_type type, const void *element) {
    switch (type) {
        LOAD(KILN_F64, double)
        LOAD(KILN_F32, float)
    case KILN_U64: return (double)(uint64_t)kiln__load_i64(type, element);
    case KILN_F16:
    case KILN_BF16: {
        uint16_t stored;
        memcpy(&stored, element, sizeof stored);
        return decode(&formats[type], stored);
    }
    case KILN_E2M1:
    case KILN_E4M3:
    case KILN_E5M2: return decode(&formats[type], *(const uint8_t *)element);
    case KILN_E8M0: return decode_scale(*(const uint8_t *)element);
    default: return (double)kiln__load_i64(type, element);
    }
}

int64_t kiln__load_i64(kiln_type type, const void *element) {
    switch (type) {
        LOAD(KILN_I64, int64_t)
        LOAD(KILN_I32, int32_t)
        LOAD(KILN_I16, int16_t)
        LOAD(KILN_I8, int8_t)
        LOAD(KILN_U32, uint32_t)
        LOAD(KILN_U16, uint16_t)
        LOAD(KILN_U8, uint8_t)
    case KILN_U64: {
        int64_t bits;
        memcpy(&bits, element, sizeof bits);
        return bits;
    }
    case KILN_BOOL: return *(const uint8_t *)element != 0;
    default: return nearest_i64(kiln__load_f64(type, element));
    }
}

void kiln__store_f64(kiln_type type, void *element, double value) {
    switch (type) {
        STORE(KILN_F64, double, value)
        STORE(KILN_F32, float, value)
        STORE(KILN_F16, uint16_t, encode_f64(&formats[type], value))
        STORE(KILN_BF16, uint16_t, encode_f64(&formats[type], value))
        STORE(KILN_E4M3, uint8_t, encode_f64(&formats[type], value))
        STORE(KILN_E5M2, uint8_t, encode_f64(&formats[type], value))
        STORE(KILN_E2M1, uint8_t, encode_f64(&formats[type], value))
        STORE(KILN_E8M0, uint8_t, encode_scale(value))
        STORE(KILN_U64, uint64_t, nearest_u64(value))
        STORE(KILN_BOOL, uint8_t, value != 0.0) /* not by way of an integer: 0.25 is true */
    default: kiln__store_i64(type, element, nearest_i64(value));
    }
}

void kiln__store_i64(kiln_type type, void *element, int64_t value) {
    switch (type) {
        STORE(KILN_F64, double, value)
        STORE(KILN_F32, float, value)
        STORE(KILN_F16, uint16_t, encode_i64(&formats[type], value))
        STORE(KILN_BF16, uint16_t, encode_i64(&formats[type], value))
        STORE(KILN_E4M3, uint8_t, encode_i64(&formats[type], value))
        STORE(KILN_E5M2, uint8_t, encode_i64(&formats[type], value))
        STORE(KILN_E2M1, uint8_t, encode_i64(&formats[type], value))
        STORE(KILN_E8M0, uint8_t, encode_scale_u64(value < 0 ? 0 - (uint64_t)value : (uint64_t)value))
        STORE(KILN_I64, int64_t, value)
        STORE(KILN_I32, int32_t, clamp(value, INT32_MIN, INT32_MAX))
        STORE(KILN_I16, int16_t, clamp(value, INT16_MIN, INT16_MAX))
        STORE(KILN_I8, int8_t, clamp(value, INT8_MIN, INT8_MAX))
        STORE(KILN_U64, uint64_t, value < 0 ? 0 : value)
        STORE(KILN_U32, uint32_t, clamp(value, 0, UINT32_MAX))
        STORE(KILN_U16, uint16_t, clamp(value, 0, UINT16_MAX))
        STORE(KILN_U8, uint8_t, clamp(value, 0, UINT8_MAX))
        STORE(KILN_BOOL, uint8_t, value != 0)
    default: return;
    }
}

/* As kiln__store_i64, which has what fits it. */
static void store_large(kiln_type type, void *element, uint64_t value) {
    switch (type) {
        STORE(KILN_F64, double, value)
        STORE(KILN_F32, float, value)
        STORE(KILN_F16, uint16_t, encode(&formats[type], value, 0))
        STORE(KILN_BF16, uint16_t, encode(&formats[type], value, 0))
        STORE(KILN_E4M3, uint8_t, encode(&formats[type], value, 0))
        STORE(KILN_E5M2, uint8_t, encode(&formats[type], value, 0))
        STORE(KILN_E2M1, uint8_t, encode(&formats[type], value, 0))
        STORE(KILN_E8M0, uint8_t, encode_scale_u64(value))
        STORE(KILN_U64, uint64_t, value)
    default: kiln__store_i64(type, element, INT64_MAX);
    }
}

void kiln__store_u64(kiln_type type, void *element, uint64_t value) {
    if (value <= INT64_MAX)
        kiln__store_i64(type, element, (int64_t)value);
    else
        store_large(type, element, value);
}

uint8_t kiln__load_packed(const void *data, int64_t index) {
    return (uint8_t)(((const uint8_t *)data)[index >> 1] >> (index & 1) * 4 & 15);
}

void kiln__store_packed(void *data, int64_t index, uint8_t element) {
    uint8_t *at = (uint8_t *)data + (index >> 1);
    *at = (uint8_t)(index & 1 ? (*at & 15) | element << 4 : (*at & 0xF0) | element);
}

double kiln__round_to(kiln_type type, double value) {
    uint64_t element;
    kiln__store_f64(type, &element, value);
    return kiln__load_f64(type, &element);
}

/* |value| is a number of the type's steps there: whole ones, and how far it is into the next. */
double kiln__round_stochastically(kiln_type type, double value, double u) {
    const bool narrow = type != KILN_F32;
    const int mantissa = narrow ? formats[type].mantissa : 23, smallest = 1 - (narrow ? formats[type].bias : 127);
    const double largest = narrow ? decode(&formats[type], formats[type].largest) : FLT_MAX;
    int exponent = 0;
    if (isnan(value)) return value;
    if (isinf(value)) return kiln__round_to(type, value);
    frexp(value, &exponent);
    const double step = ldexp(1, (exponent - 1 > smallest ? exponent - 1 : smallest) - mantissa);
    const double steps = fabs(value) / step, whole = floor(steps);
    const double rounded = (whole + (steps > whole && u < steps - whole)) * step;
    return copysign(rounded > largest ? fabs(kiln__round_to(type, INFINITY)) : rounded, value);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that tells when it does not fit. */
#ifndef KILN_BASE_CHECKED_H
#define KILN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool kiln__mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool kiln__add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

/* The nearest number that fits: a * b of numbers from 0 up, and how far a number is from 0. */
static inline int64_t kiln__times(int64_t a, int64_t b) { return kiln__mul_i64(a, b, &a) ? a : INT64_MAX; }
static inline int64_t kiln__magnitude(int64_t n) { return n < -INT64_MAX ? INT64_MAX : n < 0 ? -n : n; }

/* The least common multiple of numbers from 1 up, as far as it fits. */
static inline int64_t kiln__common_multiple(int64_t a, int64_t b) {
    int64_t divisor = a, rest = b;
    while (rest) {
        const int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return kiln__times(a / divisor, b);
}

#endif

/* Arithmetic that tells when it does not fit. */
#ifndef KILN_BASE_CHECKED_H
#define KILN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool kiln__mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool kiln__add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

#endif

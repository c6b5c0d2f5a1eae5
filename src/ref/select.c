/* SPDX-License-Identifier: Apache-2.0 */
/* Selections: the row's values are sorted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/run.h"

void kiln__ref_select_add(const kiln__ref_value *values, size_t n, kiln__ref_accumulator *accumulator) {
    memcpy(accumulator->row + accumulator->seen, values, n * sizeof *values);
    accumulator->seen += (int64_t)n;
}

static int compare_floats(const void *a, const void *b) {
    const double first = ((const kiln__ref_value *)a)->f64, second = ((const kiln__ref_value *)b)->f64;
    if (isnan(first) || isnan(second)) return (isnan(first) != 0) - (isnan(second) != 0);
    return (first > second) - (first < second);
}

static int compare_signed(const void *a, const void *b) {
    const int64_t first = ((const kiln__ref_value *)a)->i64, second = ((const kiln__ref_value *)b)->i64;
    return (first > second) - (first < second);
}

static int compare_unsigned(const void *a, const void *b) {
    const uint64_t first = (uint64_t)((const kiln__ref_value *)a)->i64;
    const uint64_t second = (uint64_t)((const kiln__ref_value *)b)->i64;
    return (first > second) - (first < second);
}

kiln__ref_value kiln__ref_select_finish(kiln__ctype type, int64_t k, kiln__ref_accumulator *accumulator) {
    const bool real = kiln__ctype_is_float(type);
    kiln__ref_value value = {.i64 = 0};
    if (real) value.f64 = NAN;
    if (k < 0) k += accumulator->seen + 1;
    if (k < 1 || k > accumulator->seen) return value;
    qsort(accumulator->row, (size_t)accumulator->seen, sizeof *accumulator->row,
          real                ? compare_floats
          : type == KILN__U64 ? compare_unsigned
                              : compare_signed);
    value = accumulator->row[k - 1];
    if (real) value.f64 += 0.0; /* either zero is 0 */
    return value;
}

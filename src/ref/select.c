/* SPDX-License-Identifier: Apache-2.0 */
/* Selections and sorting. */
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

typedef int comparison(const void *a, const void *b);

static comparison *comparison_of(kiln__ctype type) {
    if (kiln__ctype_is_float(type)) return compare_floats;
    return type == KILN__U64 ? compare_unsigned : compare_signed;
}

/* Merges two runs of neighbours, from..middle and middle..end, of `order` into `out`. */
static void merge(comparison *compare, bool descending, const kiln__ref_value *row, const int64_t *order, int64_t from,
                  int64_t middle, int64_t end, int64_t *out) {
    int64_t a = from, b = middle;
    for (int64_t i = from; i < end; i++) {
        bool second = a == middle;
        if (a < middle && b < end) {
            const int least = compare(&row[order[b]], &row[order[a]]);
            second = descending ? least > 0 : least < 0;
        }
        out[i] = second ? order[b++] : order[a++];
    }
}

void kiln__ref_sort(kiln__ctype type, bool descending, int64_t count, kiln__ref_accumulator *accumulator) {
    int64_t *order = accumulator->order, *other = order + count;
    for (int64_t i = 0; i < count; i++) order[i] = i;
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t from = 0; from < count; from += 2 * run) {
            const int64_t middle = from + run < count ? from + run : count;
            const int64_t end = middle + run < count ? middle + run : count;
            merge(comparison_of(type), descending, accumulator->row, order, from, middle, end, other);
        }
        int64_t *merged = other;
        other = order;
        order = merged;
    }
    if (order != accumulator->order) memcpy(accumulator->order, order, (size_t)count * sizeof *order);
}

kiln__ref_value kiln__ref_select_finish(kiln__ctype type, int64_t k, kiln__ref_accumulator *accumulator) {
    const bool real = kiln__ctype_is_float(type);
    kiln__ref_value value = {.i64 = 0};
    if (real) value.f64 = NAN;
    if (k < 0) k += accumulator->seen + 1;
    if (k < 1 || k > accumulator->seen) return value;
    qsort(accumulator->row, (size_t)accumulator->seen, sizeof *accumulator->row, comparison_of(type));
    value = accumulator->row[k - 1];
    if (real) value.f64 += 0.0; /* either zero is 0 */
    return value;
}

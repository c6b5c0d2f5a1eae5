/* SPDX-License-Identifier: Apache-2.0 */
#include "column_range.h"

#include <inttypes.h>

#include "base/status.h"
#include "tensor_spec.h"

#define BITS 30 /* of a number of columns */

/* Below the -1 of a size that is open. */
int64_t column_range_size(const column_range *range) { return -2 - (range->least << BITS | (range->most - 1)); }

bool column_range_read(int64_t size, column_range *out) {
    if (size >= -1) return false;
    const int64_t both = -2 - size;
    *out = (column_range){both >> BITS, (both & (((int64_t)1 << BITS) - 1)) + 1};
    return true;
}

kiln_status column_range_find(const kiln_tensor *tensors, size_t count, column_range *out) {
    *out = (column_range){0, 0};
    for (size_t t = 0; t < count; t++)
        for (int i = 0; i < tensors[t].rank; i++) {
            column_range found;
            if (!column_range_read(tensors[t].sizes[i], &found)) continue;
            if (out->most && (out->least != found.least || out->most != found.most))
                return kiln__fail(KILN_E_ARGUMENT,
                                  "tensors have %" PRId64 "..%" PRId64 " and %" PRId64 "..%" PRId64
                                  " columns; one range was expected",
                                  out->least, out->most, found.least, found.most);
            *out = found;
        }
    return KILN_OK;
}

kiln_status column_range_check(const char *program, int64_t asked, int64_t cols, int64_t most_cols) {
    if (!most_cols) return kiln__fail(KILN_E_UNSUPPORTED, "no kernel serves a range of columns of '%s'", program);
    if (cols == asked) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "a range is along an axis that '%s' does not reduce; its columns were expected",
                      program);
}

void column_range_set(int64_t columns, kiln_tensor *tensors, size_t count) {
    for (size_t t = 0; t < count; t++) {
        bool any = false;
        for (int i = 0; i < tensors[t].rank; i++) {
            column_range range;
            if (!column_range_read(tensors[t].sizes[i], &range)) continue;
            tensors[t].sizes[i] = columns;
            any = true;
        }
        if (any) (void)tensor_spec_contiguous(&tensors[t]); /* too much is told by the plan */
    }
}

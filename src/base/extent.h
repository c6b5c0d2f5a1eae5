/* SPDX-License-Identifier: Apache-2.0 */
/* Where a tensor lies in memory, in bytes from its data pointer, as far as overlap is concerned. */
#ifndef KILN_BASE_EXTENT_H
#define KILN_BASE_EXTENT_H

#include <stdbool.h>

#include "base/status.h"

/* All bytes lie in [low, high). Seen coarsely, they are runs of `width` bytes that start every `period` bytes: the
 * slices of a larger tensor; period 0: one run. */
typedef struct kiln__extent {
    int64_t low, high; /* low == high: no bytes */
    int64_t period, width;
} kiln__extent;

bool kiln__has_elements(const kiln_tensor *tensor);

/* Axes of other than one element, those with smaller strides of either sign first; gives how many. */
int kiln__axes_by_stride(const kiln_tensor *tensor, int axes[KILN_MAX_RANK]);

kiln__extent kiln__extent_of(const kiln_tensor *tensor);

/* Whether two tensors may share a byte. False is certain, true may be a false alarm for exotic strides. */
bool kiln__extents_overlap(const void *a, const kiln__extent *ea, const void *b, const kiln__extent *eb);

/* Whether two tensors with one data pointer are the same tensor, element for element: element sizes, sizes, strides.
 * Leading dimensions of size 1 do not count. */
bool kiln__same_layout(const kiln_tensor *a, const kiln_tensor *b);

/* A tensor whose rows are read or written by an index: how many, 0: it is none such; elements from one to the next. */
typedef struct kiln__indexed_rows {
    int64_t rows, stride;
} kiln__indexed_rows;

/* What is asked of the memory of tensors, inputs first. */
typedef struct kiln__memory_rules {
    const char *const *names;
    int input_count, tensor_count;
    kiln__extent extents[KILN_MAX_TENSORS];    /* where a tensor lies in memory */
    uint32_t alignment_mask[KILN_MAX_TENSORS]; /* address bits that must be 0 */
    uint32_t same[KILN_MAX_TENSORS];           /* per output: bit t where it may take input t's place */
    uint32_t later[KILN_MAX_TENSORS];          /* per output: bit t where input t is read after it is stored */
    uint32_t elsewhere;                        /* bit t: input t is read at other places, no output takes its own */
} kiln__memory_rules;

/* KILN_E_POINTER where a tensor with elements has no address or a bad one; KILN_E_OVERLAP where an output shares memory
 * with another tensor whose place it may not take. */
kiln_status kiln__check_memory(const kiln__memory_rules *rules, void *const *data);

/* The largest power of two up to 16 that divides the address; of NULL 16. */
static inline uintptr_t kiln__alignment_of(const void *data) {
    uintptr_t address = (uintptr_t)data | 16;
    return address & (~address + 1);
}

#endif

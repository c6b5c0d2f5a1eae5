/* Bytes that tensors occupy: their range, and the period of slices of a larger tensor. */
#include "plan/extent.h"

kiln__extent kiln__extent_of(const kiln_tensor *tensor) {
    int64_t element = (int64_t)kiln_type_size(tensor->type);
    kiln__extent out = {0, element, 0, element};
    int64_t strides[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] <= 0) return (kiln__extent){0, 0, 0, 0};
        if (tensor->sizes[i] == 1) continue; /* whatever its stride */
        int64_t size = tensor->sizes[i], stride = tensor->strides[i] * element;
        *(stride < 0 ? &out.low : &out.high) += (size - 1) * stride;
        if (stride == 0) continue;
        if (stride < 0) stride = -stride;
        int at = rank++;
        for (; at > 0 && strides[at - 1] > stride; at--) {
            strides[at] = strides[at - 1];
            sizes[at] = sizes[at - 1];
        }
        strides[at] = stride;
        sizes[at] = size;
    }
    if (!rank) return out;
    int64_t steps = sizes[rank - 1], period = strides[rank - 1]; /* the slowest dimension, with all that continue it */
    for (int i = rank - 2; i >= 0 && period == strides[i] * sizes[i]; i--) {
        steps *= sizes[i];
        period = strides[i];
    }
    out.period = period;
    out.width = out.high - out.low - (steps - 1) * period;
    return out;
}

bool kiln__extents_overlap(const void *a, const kiln__extent *ea, const void *b, const kiln__extent *eb) {
    uintptr_t a_low = (uintptr_t)a + (uintptr_t)ea->low, a_high = (uintptr_t)a + (uintptr_t)ea->high;
    uintptr_t b_low = (uintptr_t)b + (uintptr_t)eb->low, b_high = (uintptr_t)b + (uintptr_t)eb->high;
    if (a_low == a_high || b_low == b_high || a_high <= b_low || b_high <= a_low) return false;
    if (!ea->period || ea->period != eb->period) return true;
    int64_t ahead = (int64_t)(b_low - a_low) % ea->period;
    if (ahead < 0) ahead += ea->period;
    return ahead < ea->width || ahead + eb->width > ea->period;
}

bool kiln__same_layout(const kiln_tensor *a, const kiln_tensor *b) {
    if (kiln_type_size(a->type) != kiln_type_size(b->type) || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->sizes[i] != b->sizes[i] || (a->sizes[i] > 1 && a->strides[i] != b->strides[i])) return false;
    return true;
}

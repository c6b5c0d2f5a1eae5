/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that tensors occupy: their range, and the period of slices of a larger tensor. */
#include "base/extent.h"

#include "base/checked.h"
#include "base/types.h"

bool kiln__has_elements(const kiln_tensor *tensor) {
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->sizes[i] == 0) return false;
    return true;
}

int kiln__axes_by_stride(const kiln_tensor *tensor, int axes[KILN_MAX_RANK]) {
    int count = 0;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] == 1) continue; /* whatever its stride */
        int at = count++;
        int64_t stride = kiln__magnitude(tensor->strides[i]);
        for (; at > 0 && kiln__magnitude(tensor->strides[axes[at - 1]]) > stride; at--) axes[at] = axes[at - 1];
        axes[at] = i;
    }
    return count;
}

/* The bytes of a packed tensor, as elements of their own. */
static kiln_tensor bytes_of(const kiln_tensor *packed) {
    kiln_tensor bytes = *packed;
    bytes.type = KILN_U8;
    for (int i = 0; i < packed->rank; i++) bytes.strides[i] /= i + 1 < packed->rank ? 2 : 1;
    if (packed->rank > 0) bytes.sizes[packed->rank - 1] /= 2;
    return bytes;
}

kiln__extent kiln__extent_of(const kiln_tensor *tensor) {
    if (kiln__type_is_packed(tensor->type)) {
        const kiln_tensor bytes = bytes_of(tensor);
        return kiln__extent_of(&bytes);
    }
    int64_t element = (int64_t)kiln_type_size(tensor->type);
    kiln__extent out = {0, element, 0, element};
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] <= 0) return (kiln__extent){0, 0, 0, 0};
        int64_t reach = (tensor->sizes[i] - 1) * tensor->strides[i] * element;
        *(reach < 0 ? &out.low : &out.high) += reach;
    }
    int64_t steps = 1, period = 0; /* of the slowest axis, with all that continue it */
    int axes[KILN_MAX_RANK];
    for (int i = kiln__axes_by_stride(tensor, axes) - 1; i >= 0; i--) {
        int64_t size = tensor->sizes[axes[i]], stride = kiln__magnitude(tensor->strides[axes[i]]);
        if (period && period != stride * size) break;
        steps *= size;
        period = stride;
    }
    if (!period) return out;
    out.period = period * element;
    out.width = out.high - out.low - (steps - 1) * out.period;
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
    if (kiln_type_size(a->type) != kiln_type_size(b->type)) return false;
    if (kiln__type_is_packed(a->type) != kiln__type_is_packed(b->type)) return false;
    for (int i = 1; i <= a->rank || i <= b->rank; i++) { /* from the last dimension on */
        const int64_t of_a = i <= a->rank ? a->sizes[a->rank - i] : 1, of_b = i <= b->rank ? b->sizes[b->rank - i] : 1;
        if (of_a != of_b || (of_a > 1 && a->strides[a->rank - i] != b->strides[b->rank - i])) return false;
    }
    return true;
}

kiln_status kiln__check_memory(const kiln__memory_rules *r, void *const *data) {
    for (int t = 0; t < r->tensor_count; t++) {
        if (r->extents[t].low == r->extents[t].high) continue;
        if (!data[t]) return kiln__fail(KILN_E_POINTER, "the data pointer of tensor '%s' is NULL", r->names[t]);
        if ((uintptr_t)data[t] & r->alignment_mask[t])
            return kiln__fail(KILN_E_POINTER, "the data pointer of tensor '%s' is %p, expected a multiple of %u bytes",
                              r->names[t], data[t], r->alignment_mask[t] + 1);
    }
    for (int o = r->input_count; o < r->tensor_count; o++) {
        for (int t = 0; t < o; t++) {
            if (!kiln__extents_overlap(data[o], &r->extents[o], data[t], &r->extents[t])) continue;
            if (r->elsewhere >> t & 1)
                return kiln__fail(KILN_E_OVERLAP, "output '%s' overlaps input '%s', which is read at other places",
                                  r->names[o], r->names[t]);
            if (r->later[o] >> t & 1)
                return kiln__fail(KILN_E_OVERLAP,
                                  "output '%s' overlaps input '%s', which values of all rows read after it is stored",
                                  r->names[o], r->names[t]);
            if (data[o] != data[t] || !(r->same[o] >> t & 1))
                return kiln__fail(KILN_E_OVERLAP, "output '%s' overlaps %s '%s' without being the same tensor",
                                  r->names[o], t < r->input_count ? "input" : "output", r->names[t]);
        }
    }
    return KILN_OK;
}

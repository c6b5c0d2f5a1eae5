/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a tensor lie, as rows (the kept axes) and columns (the reduced ones) go by.
 * Offsets are made in runs of one stride, elements are moved by their offsets: the inner loops stay simple. */
#include <string.h>

#include "base/extent.h"
#include "ref/run.h"

void kiln__ref_strides(const kiln_tensor *tensor, int rank, const bool *skipped, int64_t strides[KILN_MAX_RANK]) {
    int axis = tensor->rank - 1;
    for (int i = rank - 1; i >= 0; i--) {
        bool has = axis >= 0 && (skipped == NULL || !skipped[i]);
        strides[i] = has && tensor->sizes[axis] != 1 ? tensor->strides[axis] : 0;
        axis -= has;
    }
}

static kiln__ref_walk make_walk(int rank, const int64_t *sizes, const int64_t *strides, const bool *in_row,
                                bool wanted) {
    kiln__ref_walk walk = {.rank = 0};
    for (int i = 0; i < rank; i++) {
        if (in_row[i] != wanted || sizes[i] <= 1) continue; /* along an empty axis there is no column to ask for */
        int64_t run;
        bool runs_on =
            walk.rank > 0 && !__builtin_mul_overflow(strides[i], sizes[i], &run) && walk.strides[walk.rank - 1] == run;
        walk.rank += !runs_on;
        walk.sizes[walk.rank - 1] = runs_on ? walk.sizes[walk.rank - 1] * sizes[i] : sizes[i];
        walk.strides[walk.rank - 1] = strides[i];
    }
    if (walk.rank == 0) walk = (kiln__ref_walk){1, {1}, {0}};
    return walk;
}

kiln__ref_view kiln__ref_view_make(const kiln_tensor *tensor, int rank, const int64_t *sizes, const int64_t *strides,
                                   const bool *in_row) {
    kiln__ref_view view = {.rows = make_walk(rank, sizes, strides, in_row, false),
                           .cols = make_walk(rank, sizes, strides, in_row, true)};
    if (tensor != NULL && kiln__has_elements(tensor)) {
        view.data = tensor->data;
        view.type = tensor->type;
    }
    return view;
}

/* index runs over the walk's elements; how many of them lie one stride of the last axis apart from here on. */
static int64_t find_run(const kiln__ref_walk *walk, int64_t index, int64_t *offset) {
    int last = walk->rank - 1;
    int64_t left = 0;
    *offset = 0;
    for (int i = last; i >= 0; i--) {
        int64_t coordinate = i > 0 ? index % walk->sizes[i] : index; /* most walks are of one axis: no division */
        *offset += coordinate * walk->strides[i];
        if (i == last) left = walk->sizes[i] - coordinate;
        if (i > 0) index /= walk->sizes[i];
    }
    return left;
}

void kiln__ref_view_set_row(kiln__ref_view *view, int64_t row) { find_run(&view->rows, row, &view->row_offset); }

void kiln__ref_offsets(const kiln__ref_view *view, int64_t col, size_t n, int64_t *offsets) {
    int64_t stride = view->cols.strides[view->cols.rank - 1];
    for (size_t done = 0; done < n;) {
        int64_t offset, left = find_run(&view->cols, col + (int64_t)done, &offset);
        size_t run = (size_t)left < n - done ? (size_t)left : n - done;
        for (size_t i = 0; i < run; i++) offsets[done + i] = view->row_offset + offset + (int64_t)i * stride;
        done += run;
    }
    for (size_t i = 0; i < n && view->run; i++)
        offsets[i] += (col + (int64_t)i) % view->period / view->run * view->block_stride;
}

/* Of packed elements, which have no address of their own. */
static void load_packed(const kiln__ref_view *view, const int64_t *offsets, size_t n, bool as_float,
                        kiln__ref_value *out) {
    for (size_t i = 0; i < n; i++) {
        const uint8_t element = kiln__load_packed(view->data, offsets[i]);
        if (as_float)
            out[i].f64 = kiln__load_f64(view->type, &element);
        else
            out[i].i64 = kiln__load_i64(view->type, &element);
    }
}

void kiln__ref_load(const kiln__ref_view *view, const int64_t *offsets, size_t n, bool as_float, kiln__ref_value *out) {
    int64_t size = (int64_t)kiln_type_size(view->type);
    if (kiln__type_is_packed(view->type)) {
        load_packed(view, offsets, n, as_float, out);
    } else if (!as_float) {
        for (size_t i = 0; i < n; i++) out[i].i64 = kiln__load_i64(view->type, view->data + offsets[i] * size);
    } else if (view->type == KILN_F32) { /* the common case, without a call for each element */
        for (size_t i = 0; i < n; i++) {
            float value;
            memcpy(&value, view->data + offsets[i] * (int64_t)sizeof value, sizeof value);
            out[i].f64 = (double)value;
        }
    } else {
        for (size_t i = 0; i < n; i++) out[i].f64 = kiln__load_f64(view->type, view->data + offsets[i] * size);
    }
}

static void store_value(kiln_type storage, char *element, kiln__ctype type, kiln__ref_value value) {
    if (kiln__ctype_is_float(type))
        kiln__store_f64(storage, element, value.f64);
    else if (type == KILN__U64)
        kiln__store_u64(storage, element, (uint64_t)value.i64);
    else
        kiln__store_i64(storage, element, value.i64);
}

void kiln__ref_store(const kiln__ref_view *view, const int64_t *offsets, size_t n, kiln__ctype type,
                     const kiln__ref_value *values) {
    const int64_t size = (int64_t)kiln_type_size(view->type);
    const bool packed = kiln__type_is_packed(view->type);
    for (size_t i = 0; i < n; i++) {
        uint8_t element;
        store_value(view->type, packed ? (char *)&element : view->data + offsets[i] * size, type, values[i]);
        if (packed) kiln__store_packed(view->data, offsets[i], element);
    }
}

/* Where the elements of a tensor lie, as rows and columns go by.
 * Elements are moved in runs of one stride, so that the inner loops stay simple. */
#include "ref/space.h"

#include <string.h>

void kiln__ref_strides(const kiln_tensor *tensor, int rank, int64_t strides[KILN_MAX_RANK])
{
    int missing = rank - tensor->rank;
    for (int i = 0; i < rank; i++)
        strides[i] = i < missing || tensor->sizes[i - missing] == 1 ? 0 : tensor->strides[i - missing];
}

static void walk_make(kiln__ref_walk *walk, int rank, const int64_t *sizes, const int64_t *strides, const bool *in_row,
                      bool wanted)
{
    int last = -1;
    for (int i = 0; i < rank; i++) {
        if (in_row[i] != wanted || sizes[i] <= 1) /* along an empty axis nothing lies but index 0 of the whole */
            continue;
        int64_t run;
        if (last >= 0 && !__builtin_mul_overflow(strides[i], sizes[i], &run) && walk->strides[last] == run) {
            walk->sizes[last] *= sizes[i];
        } else {
            last++;
            walk->sizes[last] = sizes[i];
        }
        walk->strides[last] = strides[i];
    }
    if (last < 0) {
        last = 0;
        walk->sizes[0] = 1;
        walk->strides[0] = 0;
    }
    walk->rank = last + 1;
}

kiln__ref_view kiln__ref_view_make(void *data, kiln_type type, int rank, const int64_t *sizes, const int64_t *strides,
                                   const bool *in_row)
{
    kiln__ref_view view;
    memset(&view, 0, sizeof view);
    view.data = data;
    view.type = type;
    walk_make(&view.rows, rank, sizes, strides, in_row, false);
    walk_make(&view.cols, rank, sizes, strides, in_row, true);
    return view;
}

void kiln__ref_view_set_row(kiln__ref_view *view, int64_t row)
{
    const kiln__ref_walk *walk = &view->rows;
    int64_t offset = 0;
    for (int i = walk->rank - 1; i > 0; i--) {
        offset += row % walk->sizes[i] * walk->strides[i];
        row /= walk->sizes[i];
    }
    view->row_offset = offset + row * walk->strides[0];
}

void kiln__ref_cursor_start(kiln__ref_cursor *cursor, const kiln__ref_walk *walk, int64_t index)
{
    cursor->walk = walk;
    cursor->offset = 0;
    for (int i = walk->rank - 1; i >= 0; i--) {
        cursor->coordinates[i] = i > 0 ? index % walk->sizes[i] : index; /* most walks are of one axis: no division */
        cursor->offset += cursor->coordinates[i] * walk->strides[i];
        if (i > 0)
            index /= walk->sizes[i];
    }
}

int64_t kiln__ref_cursor_next(kiln__ref_cursor *cursor, int64_t limit, int64_t *offset)
{
    const kiln__ref_walk *walk = cursor->walk;
    int axis = walk->rank - 1;
    int64_t left = walk->sizes[axis] - cursor->coordinates[axis];
    int64_t run = left < limit ? left : limit;
    *offset = cursor->offset;
    cursor->coordinates[axis] += run;
    cursor->offset += run * walk->strides[axis];
    while (axis > 0 && cursor->coordinates[axis] == walk->sizes[axis]) {
        cursor->offset -= walk->sizes[axis] * walk->strides[axis];
        cursor->coordinates[axis] = 0;
        axis--;
        cursor->coordinates[axis]++;
        cursor->offset += walk->strides[axis];
    }
    return run;
}

/* The address of the run's first element, and the bytes from one element to the next. */
static char *run_address(const kiln__ref_view *view, int64_t offset, int64_t *step)
{
    int64_t size = (int64_t)kiln_type_size(view->type);
    *step = view->cols.strides[view->cols.rank - 1] * size;
    return (char *)view->data + (view->row_offset + offset) * size;
}

void kiln__ref_load_f64(const kiln__ref_view *view, int64_t col, int64_t n, double *out)
{
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view->cols, col);
    while (n > 0) {
        int64_t offset, step;
        int64_t run = kiln__ref_cursor_next(&cursor, n, &offset);
        const char *from = run_address(view, offset, &step);
        if (view->type == KILN_F32) { /* the common case, without a call for each element */
            for (int64_t i = 0; i < run; i++) {
                float value;
                memcpy(&value, from + i * step, sizeof value);
                out[i] = (double)value;
            }
        } else if (view->type == KILN_F64) {
            for (int64_t i = 0; i < run; i++)
                memcpy(out + i, from + i * step, sizeof *out);
        } else {
            for (int64_t i = 0; i < run; i++)
                out[i] = kiln__load_f64(view->type, from + i * step);
        }
        out += run;
        n -= run;
    }
}

void kiln__ref_load_i64(const kiln__ref_view *view, int64_t col, int64_t n, int64_t *out)
{
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view->cols, col);
    while (n > 0) {
        int64_t offset, step;
        int64_t run = kiln__ref_cursor_next(&cursor, n, &offset);
        const char *from = run_address(view, offset, &step);
        for (int64_t i = 0; i < run; i++)
            out[i] = kiln__load_i64(view->type, from + i * step);
        out += run;
        n -= run;
    }
}

void kiln__ref_store_f64(const kiln__ref_view *view, int64_t col, int64_t n, const double *values)
{
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view->cols, col);
    while (n > 0) {
        int64_t offset, step;
        int64_t run = kiln__ref_cursor_next(&cursor, n, &offset);
        char *to = run_address(view, offset, &step);
        for (int64_t i = 0; i < run; i++)
            kiln__store_f64(view->type, to + i * step, values[i]);
        values += run;
        n -= run;
    }
}

void kiln__ref_store_i64(const kiln__ref_view *view, int64_t col, int64_t n, const int64_t *values)
{
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view->cols, col);
    while (n > 0) {
        int64_t offset, step;
        int64_t run = kiln__ref_cursor_next(&cursor, n, &offset);
        char *to = run_address(view, offset, &step);
        for (int64_t i = 0; i < run; i++)
            kiln__store_i64(view->type, to + i * step, values[i]);
        values += run;
        n -= run;
    }
}

void kiln__ref_offsets(const kiln__ref_view *view, int64_t col, int64_t n, int64_t *out)
{
    kiln__ref_cursor cursor;
    kiln__ref_cursor_start(&cursor, &view->cols, col);
    int64_t stride = view->cols.strides[view->cols.rank - 1];
    while (n > 0) {
        int64_t offset;
        int64_t run = kiln__ref_cursor_next(&cursor, n, &offset);
        for (int64_t i = 0; i < run; i++)
            out[i] = view->row_offset + offset + i * stride;
        out += run;
        n -= run;
    }
}

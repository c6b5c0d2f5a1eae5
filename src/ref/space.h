/* Where the elements of a tensor lie, as rows (the kept axes) and columns (the reduced ones) go by. */
#ifndef KILN_REF_SPACE_H
#define KILN_REF_SPACE_H

#include "base/types.h"

/* Some axes of the space in row-major order, with one tensor's strides; neighbours that run on are one axis. */
typedef struct kiln__ref_walk {
    int rank; /* at least 1 */
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK];
} kiln__ref_walk;

/* A tensor laid over the space. */
typedef struct kiln__ref_view {
    void *data; /* NULL: the tensor has no elements */
    kiln_type type;
    kiln__ref_walk rows, cols;
    int64_t row_offset; /* elements from data to the current row's column 0 */
} kiln__ref_view;

/* A place in a walk. */
typedef struct kiln__ref_cursor {
    const kiln__ref_walk *walk;
    int64_t coordinates[KILN_MAX_RANK];
    int64_t offset;
} kiln__ref_cursor;

/* Strides over the space of a tensor whose axes align at the right; 0 along axes it is broadcast over. */
void kiln__ref_strides(const kiln_tensor *tensor, int rank, int64_t strides[KILN_MAX_RANK]);
/* The view with these strides: columns run over the axes where in_row is set, rows over the others. */
kiln__ref_view kiln__ref_view_make(void *data, kiln_type type, int rank, const int64_t *sizes, const int64_t *strides,
                                   const bool *in_row);
void kiln__ref_view_set_row(kiln__ref_view *view, int64_t row);

void kiln__ref_cursor_start(kiln__ref_cursor *cursor, const kiln__ref_walk *walk, int64_t index);
/* The next run of at most `limit` elements that lie one stride apart: its length, and its first offset. */
int64_t kiln__ref_cursor_next(kiln__ref_cursor *cursor, int64_t limit, int64_t *offset);

/* n elements of the current row from column `col` on, as doubles or as integers. */
void kiln__ref_load_f64(const kiln__ref_view *view, int64_t col, int64_t n, double *out);
void kiln__ref_load_i64(const kiln__ref_view *view, int64_t col, int64_t n, int64_t *out);
void kiln__ref_store_f64(const kiln__ref_view *view, int64_t col, int64_t n, const double *values);
void kiln__ref_store_i64(const kiln__ref_view *view, int64_t col, int64_t n, const int64_t *values);
/* The offsets themselves: with strides made for it, an element's coordinate or linear index. */
void kiln__ref_offsets(const kiln__ref_view *view, int64_t col, int64_t n, int64_t *out);

#endif

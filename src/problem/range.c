/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/range.h"

#include "base/checked.h"
#include "base/types.h"
#include "problem/any_shape.h"

#define LEAST_END 64
#define LEAST_HALVED 512 /* from here on a range is half of what is between powers of two */

int64_t kiln_range_end(int64_t columns) {
    int64_t end = LEAST_END;
    if (columns > KILN__MOST_RANGED_COLUMNS) return INT64_MAX; /* which no kernel serves */
    while (end < columns) end *= 2;
    const int64_t before = end / 2, between = before + before / 2;
    return before >= LEAST_HALVED && columns <= between ? between : end;
}

/* The end of the range before the one that ends there. */
static int64_t end_before(int64_t end) {
    if (end == LEAST_END) return 1; /* rows of one column are another problem */
    if ((end & (end - 1)) != 0) return end / 3 * 2;
    return end / 2 >= LEAST_HALVED ? end / 4 * 3 : end / 2;
}

static bool is_row(const kiln__operand *operand) {
    return kiln__has_own_elements(operand) && operand->contiguous_columns;
}

/* A stride that is not known: it is no multiple of any vector, and no number of columns. */
static int64_t open_stride(int64_t stride, int64_t cols) { return stride ? cols + 1 : 0; }

static void open_operand(kiln__problem *p, kiln__operand *operand) {
    operand->alignment = 1;
    operand->row_stride = open_stride(operand->row_stride, p->cols);
    for (int d = 0; d < p->outer_rank; d++) operand->outer_strides[d] = open_stride(operand->outer_strides[d], p->cols);
}

static kiln_status check(const kiln__ir *ir, const kiln__problem *p) {
    bool lies_along = p->layout == KILN__LAYOUT_INNER && p->inner_rank == 1, rows = false;
    const int tensors = p->input_count + p->output_count;
    kiln_status status = kiln__any_shape_check(ir, p);
    if (status) return status;
    for (int o = 0; o < tensors; o++) {
        const kiln__operand *operand = &p->operands[o];
        rows = rows || is_row(operand);
        lies_along = lies_along && (!operand->per_element || operand->contiguous_columns);
    }
    const char *where = p->tables                             ? "an index chooses rows"
                        : p->taken                            ? "an index chooses columns"
                        : p->offsets >= 0                     ? "offsets place rows"
                        : p->lengths                          ? "rows have lengths"
                        : p->sorted || p->first               ? "rows are sorted"
                        : p->across                           ? "values are of all rows"
                        : kiln__has_blocks(p)                 ? "values are of blocks within rows"
                        : p->ordered                          ? "columns are combined in their order"
                        : !lies_along || !rows                ? "columns do not lie side by side"
                        : p->cols > KILN__MOST_RANGED_COLUMNS ? "there are more than 2^30 columns"
                                                              : NULL;
    if (!where) return KILN_OK;
    return kiln__fail(KILN_E_UNSUPPORTED, "no kernel serves a range of columns of '%s' where %s", ir->text, where);
}

kiln_status kiln__range_problem(const kiln__ir *ir, const kiln__problem *exact, kiln__problem *out) {
    kiln_status status = check(ir, exact);
    if (status) return status;
    *out = *exact;
    out->lengths = true;
    out->cols = out->longest = out->inner[0] = kiln_range_end(exact->cols);
    out->least_cols = end_before(out->cols) + 1;
    for (int o = 0; o < out->input_count + out->output_count + out->position_count; o++)
        open_operand(out, &out->operands[o]);
    return KILN_OK;
}

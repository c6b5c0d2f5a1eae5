/* SPDX-License-Identifier: Apache-2.0 */
/* The same problem with another number of rows: the one that it has counts for nothing in a choice. */
#include "schedule/typical_rows.h"

#include <math.h>

#include "base/checked.h"
#include "base/types.h"

bool kiln__neighbours_differ(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    if (operand->output || operand->packed_rows || operand->table.rows) return true;
    return (last < 0 || operand->linear ? operand->row_stride : operand->outer_strides[last]) != 0;
}

static double bytes_of_row(const kiln__problem *p) {
    double bytes = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        if (!operand->follows_rows && !operand->output) continue;
        bytes += (double)kiln_type_size(operand->type) * (operand->per_element && p->cols > 0 ? (double)p->cols : 1);
    }
    return fmax(bytes, 1);
}

/* So many rows, one behind another. */
static void set_rows(double rows, kiln__problem *p) {
    p->outer_rank = 1;
    p->outer[0] = p->rows = (int64_t)fmax(rows, 1);
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        kiln__operand *operand = &p->operands[o];
        operand->linear = true;
        operand->row_stride = !operand->follows_rows || operand->across ? 0 : operand->per_element ? p->cols : 1;
        operand->outer_strides[0] = operand->row_stride;
    }
}

/* So many rows in all by another slowest extent. */
static void set_slowest(double rows, kiln__problem *p) {
    int64_t others = 1;
    for (int d = 1; d < p->outer_rank; d++) {
        p->outer[d] = p->outer[d] > 0 ? p->outer[d] : 1;
        others = kiln__times(others, p->outer[d]);
    }
    const int64_t slowest = (int64_t)fmax(rows / (double)others, 1);
    if (p->outer_rank > 0) p->outer[0] = slowest;
    p->rows = kiln__times(slowest, others);
}

/* Of rows one behind another nothing tells which are of one batch: its values are what all rows share. */
static void share_batches(kiln__problem *p) {
    for (int o = 0; o < p->input_count + p->output_count; o++)
        p->operands[o].follows_rows &= kiln__neighbours_differ(p, &p->operands[o]);
}

void kiln__set_typical_rows(double bytes, kiln__problem *p) {
    if (p->layout == KILN__LAYOUT_INNER) share_batches(p);
    const double rows = bytes / bytes_of_row(p);
    p->open_rows = false;
    if (p->layout == KILN__LAYOUT_INNER)
        set_rows(rows, p);
    else
        set_slowest(rows, p);
}

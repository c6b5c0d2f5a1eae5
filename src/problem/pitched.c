/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise programs over rows that are some elements apart: the rows and what lies between them are one array, whose
 * accesses are whole wherever a row begins. */
#include "base/checked.h"
#include "base/types.h"
#include "problem/problem.h"
#include "problem/space.h"

#define ACCESS_BYTES 16

static bool is_full(const kiln__problem *p, const kiln__operand *operand) {
    bool full = true;
    for (int d = 0; d < p->outer_rank; d++) full &= operand->outer_strides[d] != 0;
    return full;
}

/* Whether rows follow each other at the pitch, in all dimensions. */
static bool has_pitch(const kiln__problem *p, const kiln__operand *operand, int64_t pitch) {
    int64_t expected = pitch;
    bool same = operand->outer_strides[p->outer_rank - 1] == 1;
    for (int d = p->outer_rank - 2; d >= 0; expected = kiln__times(expected, p->outer[d--]))
        same &= operand->outer_strides[d] == expected;
    return same;
}

/* The distance between rows that all tensors with an element for each of the array's have in common; 0: there is none.
 */
static int64_t common_pitch(const kiln__problem *p) {
    const int64_t pitch = p->operands[p->input_count].outer_strides[p->outer_rank - 2];
    bool common = true;
    for (int o = 0; o < p->input_count + p->output_count; o++)
        common &= !is_full(p, &p->operands[o]) || has_pitch(p, &p->operands[o], pitch);
    return common ? pitch : 0;
}

/* Whether each row begins with an access of each tensor, and ends with one. */
static bool has_whole_accesses(const kiln__problem *p, int64_t pitch, int64_t run) {
    bool whole = true;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const int64_t elements = ACCESS_BYTES / (int64_t)kiln_type_size(p->operands[o].type);
        whole &= pitch % elements == 0 && run % elements == 0;
    }
    return whole;
}

/* Whether every operand steps over all of the last dimension from one element of the one before to the next. */
static bool merges(const kiln__problem *p) {
    const int last = p->outer_rank - 1;
    bool all = last > 0;
    for (int o = 0; o < p->input_count + p->output_count + p->position_count && all; o++) {
        const int64_t *strides = p->operands[o].outer_strides;
        all = strides[last - 1] == strides[last] * p->outer[last];
    }
    return all;
}

static void merge(kiln__problem *p) {
    const int last = p->outer_rank - 1;
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        int64_t *strides = p->operands[o].outer_strides;
        strides[last - 1] = strides[last];
        strides[last] = 0;
    }
    p->outer[last - 1] *= p->outer[last];
    p->outer[last] = 0;
    p->outer_rank--;
}

static bool is_linear(const kiln__problem *p, const kiln__operand *operand) {
    int64_t expected = operand->outer_strides[p->outer_rank - 1];
    const bool steps = expected == 0 || expected == 1;
    bool linear = steps;
    for (int d = p->outer_rank - 1; d >= 0; expected *= p->outer[d--]) linear &= operand->outer_strides[d] == expected;
    return linear;
}

void kiln__problem_pitch(kiln__problem *p) {
    const int last = p->outer_rank - 1;
    if (p->layout != KILN__LAYOUT_FLAT || last < 1 || p->packed || p->rows == 0) return;
    const int64_t run = p->outer[last], pitch = common_pitch(p);
    /* Of threads at most half are where nobody has elements. */
    if (pitch <= run || pitch > 2 * run || has_whole_accesses(p, pitch, run)) return;
    p->pitch = pitch;
    p->filled = run;
    p->outer[last] = pitch;
    p->rows = p->rows / run * pitch - (pitch - run); /* of memory that there is */
    p->wide = p->rows / (p->open_rows ? KILN__OPEN_ROWS / 2 : 1) > INT32_MAX;
    while (merges(p)) merge(p);
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        kiln__operand *operand = &p->operands[o];
        operand->row_stride = operand->outer_strides[p->outer_rank - 1];
        operand->linear = is_linear(p, operand);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/access.h"

#include "base/types.h"

#define MOST_ELEMENTS 16 /* of a vector */

/* Where an operand's elements lie along what a vector covers: flat, the whole array; else the columns of a row. */
typedef struct span {
    int rank;
    const int64_t *extents, *strides;
    bool side_by_side; /* one after another, all of them */
} span;

static span span_of(const kiln__problem *problem, const kiln__operand *operand) {
    if (problem->layout == KILN__LAYOUT_FLAT)
        return (span){problem->outer_rank, problem->outer, operand->outer_strides,
                      operand->linear && operand->row_stride == 1};
    return (span){problem->inner_rank, problem->inner, operand->inner_strides, operand->contiguous_columns};
}

static bool steps_by_one(const span *s) { return s->side_by_side || (s->rank && s->strides[s->rank - 1] == 1); }

/* Whether it moves with the rows, a vector at a time; tensors of first columns are stored one by one. */
static bool moves_in_vectors(const kiln__problem *problem, const kiln__operand *operand) {
    const span s = span_of(problem, operand);
    return kiln__has_own_elements(operand) && !operand->first && steps_by_one(&s);
}

/* How many elements are 16 bytes of the widest output whose columns are contiguous; 16 where none are. With more in a
 * vector neighbouring threads' stores would not be neighbours. */
static int most_stored(const kiln__problem *problem) {
    int most = problem->most_vector;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (moves_in_vectors(problem, operand)) most = (int)kiln__least(most, kiln__elements_of_access(operand->type));
    }
    return most;
}

static int least_of_lanes(const kiln__problem *problem) {
    const int64_t largest = problem->blocks[problem->block_count - 1];
    int width = 1;
    while (width < MOST_ELEMENTS && 32 * (int64_t)width < largest) width *= 2;
    return width;
}

/* A part of the smallest block, and as much as the lanes of a warp have of the largest, though it takes several
 * accesses. */
static int widen_for_blocks(const kiln__problem *problem, int width) {
    if (problem->block_count == 0) return width;
    const int least = least_of_lanes(problem);
    width = kiln__dividing(problem->blocks[0], width);
    while (width < least && problem->blocks[0] % (2 * (int64_t)width) == 0) width *= 2;
    return width;
}

int kiln__aligned_elements(const kiln__operand *operand, int limit) {
    const bool whole = operand->alignment >= kiln__elements_of_access(operand->type);
    return whole ? limit : (int)kiln__least(operand->alignment, limit);
}

/* Of the tensors that move with the rows; aligned: where each of them is. */
static int widest_of_tensors(const kiln__problem *problem, bool aligned) {
    int vector = 0, limit = most_stored(problem);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!moves_in_vectors(problem, operand)) continue;
        vector = (int)kiln__greatest(vector, kiln__elements_of_access(operand->type));
        if (aligned) limit = kiln__aligned_elements(operand, limit);
    }
    const int width = (int)kiln__least(vector, limit);
    return (int)kiln__greatest(width, problem->least_vector);
}

bool kiln__needs_slots(const kiln__problem *problem) {
    const int64_t most = 32 * (int64_t)widen_for_blocks(problem, widest_of_tensors(problem, true));
    bool lanes = !problem->uneven_columns && !problem->ordered;
    for (int i = 0; i < problem->block_count; i++)
        lanes = lanes && kiln__is_power_of_two(problem->blocks[i]) && problem->blocks[i] <= most &&
                problem->blocks[i] >= problem->least_vector;
    return problem->sorted || (problem->block_count > 0 && !lanes);
}

int kiln__widest_vector(const kiln__problem *problem) {
    const int width = widest_of_tensors(problem, true);
    return kiln__needs_slots(problem) ? width : widen_for_blocks(problem, width);
}

int kiln__widest_unaligned(const kiln__problem *problem) { return widest_of_tensors(problem, false); }

int kiln__dividing_rows(const kiln__problem *problem, const kiln__operand *operand, int most) {
    if (operand->linear) return kiln__dividing(operand->row_stride, most);
    return kiln__dividing_all(problem->outer_rank, operand->outer_strides, most);
}

int64_t kiln__row_phase(const kiln__problem *problem, const kiln__operand *operand, int vector) {
    if (operand->linear) return ((operand->row_stride % vector) + vector) % vector;
    return kiln__dividing_rows(problem, operand, vector) == vector ? 0 : -1;
}

/* The most elements that lie side by side, and aligned, from wherever along the span a multiple of as many begins. */
static int widest_access(const span *where, const kiln__operand *operand, int vector_width) {
    int widest =
        (int)kiln__least(kiln__elements_of_access(operand->type), kiln__least(vector_width, operand->alignment));
    return where->side_by_side ? widest : kiln__dividing_all(where->rank - 1, where->strides, widest);
}

int kiln__access_width(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s) {
    span where = span_of(problem, operand);
    if (!steps_by_one(&where)) return 0;
    bool in_runs = !where.side_by_side && (where.rank > 1 || problem->layout == KILN__LAYOUT_FLAT);
    if (in_runs && where.extents[where.rank - 1] % s->vector_width) return 0;
    int access = widest_access(&where, operand, s->vector_width);
    if (problem->layout == KILN__LAYOUT_FLAT) return access;
    if (s->edges == KILN__EDGES_MASKED)
        return kiln__row_phase(problem, operand, s->vector_width) == kiln__row_of(s)->row_phase ? access : 0;
    return kiln__dividing_rows(problem, operand, access);
}

int kiln__widest_shifted(const kiln__operand *operand, int elements) {
    const int widest = (int)kiln__least(kiln__elements_of_access(operand->type), elements);
    return widest * (int)kiln_type_size(operand->type) >= 4 ? widest : 0;
}

int kiln__shifted_width(const kiln__operand *operand, int elements) {
    const int widest = kiln__widest_shifted(operand, elements);
    return operand->alignment >= widest ? widest : 0;
}

int kiln__run_of(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s) {
    span where = span_of(problem, operand);
    if (problem->layout != KILN__LAYOUT_FLAT || !where.rank || !steps_by_one(&where)) return 1;
    return kiln__dividing(where.extents[where.rank - 1], widest_access(&where, operand, s->vector_width));
}

bool kiln__crosses(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s) {
    if (problem->layout != KILN__LAYOUT_FLAT || s->strategy == KILN__TRANSPOSE || operand->linear ||
        !problem->outer_rank)
        return false;
    return problem->outer_rank == 1 || problem->outer[problem->outer_rank - 1] >= s->vector_width;
}

int kiln__access_along(const kiln__problem *problem, const kiln__operand *operand, int dim, int limit) {
    if (operand->outer_strides[dim] != 1) return 0;
    limit = (int)kiln__least(kiln__least(limit, operand->alignment), kiln__elements_of_access(operand->type));
    for (int d = 0; d < problem->outer_rank; d++)
        if (d != dim) limit = kiln__dividing(operand->outer_strides[d], limit);
    return limit;
}

bool kiln__is_contiguous(const kiln__problem *problem, const kiln__operand *operand) {
    if (!operand->contiguous_columns || !operand->follows_rows) return operand->contiguous_columns;
    return operand->linear && operand->row_stride == problem->cols;
}

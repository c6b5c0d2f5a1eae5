/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of elementwise programs: vectors of the whole array in its order, or tiles of vectors behind one another
 * where an input's neighbours lie in another dimension than the output's. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

/* The dimension in which an input's neighbours lie side by side, where that is not the last, nor none. */
static int transposed_dimension(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    if (operand->linear || kiln__magnitude(operand->outer_strides[last]) < 2) return -1;
    for (int d = 0; d < last; d++)
        if (operand->outer_strides[d] == 1) return d;
    return -1;
}

/* A vector is what outputs store in one access: stores that others complete reach the L2 in parts. */
static void set_transpose_tile(const kiln__problem *problem, const kiln__pins *point, kiln__schedule *s) {
    const int64_t down = problem->outer[s->transpose.dim], run = problem->outer[problem->outer_rank - 1];
    for (int o = 0; o < problem->output_count; o++) {
        const kiln__operand *output = &problem->operands[problem->input_count + o];
        const int along = kiln__access_along(problem, output, problem->outer_rank - 1, s->vector_width);
        s->vector_width = along ? along : 1;
    }
    s->vector_width = kiln__dividing(run, s->vector_width);
    s->steps = s->batch = kiln__power_of_two_from(down, point->steps);
    s->edges = down % s->steps ? KILN__EDGES_PARTIAL : KILN__EDGES_ALIGNED;
}

/* How many of the threads are side by side along a run, for 128 bytes of it, 8 to 64; the others are behind them. */
static void set_transpose_threads(const kiln__problem *problem, const kiln__pins *point, kiln__schedule *s) {
    const int64_t down = problem->outer[s->transpose.dim], run = problem->outer[problem->outer_rank - 1];
    const int behind = kiln__power_of_two_from(kiln__divide_up(down, s->steps), KILN__MOST_THREADS),
              beside = kiln__power_of_two_from(run / s->vector_width, KILN__MOST_THREADS);
    int stored = 16;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++)
        stored = (int)kiln__least(stored, (int64_t)kiln_type_size(problem->operands[o].type));
    int side = 128 / (s->vector_width * stored);
    side = (int)kiln__greatest(8, kiln__least(side, 64));
    while (side < point->threads && point->threads / side > behind) side *= 2;
    while (side > beside || point->threads % side) side /= 2;
    s->team.threads = point->threads;
    s->team.threads_per_row = side;
}

/* Accesses of so many elements in place of narrower ones, shifted into place. */
static void shift(int widest, kiln__access *access) {
    access->shifted = access->width < widest;
    if (access->shifted) access->width = widest;
}

/* How a tensor is read or written: along its own neighbours. */
static void set_transpose_access(const kiln__problem *problem, int o, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    kiln__access *access = &s->tensors[o];
    const int last = problem->outer_rank - 1, steps = (int)s->steps;
    const bool transposed =
        !operand->output && operand->outer_strides[last] != 1 && operand->outer_strides[s->transpose.dim] == 1;
    access->kind = transposed ? KILN__ACCESS_TRANSPOSED : KILN__ACCESS_PLAIN;
    access->width = transposed ? kiln__access_along(problem, operand, s->transpose.dim, steps)
                               : kiln__access_along(problem, operand, last, s->vector_width);
    if (transposed) shift(kiln__shifted_width(operand, steps), access);
}

#define LEAST_THREADS 64

/* Whether at least an eighth of a small block's threads have something to do: not of a few channels by a few columns.
 */
static bool fills_blocks(const kiln__problem *problem, const kiln__schedule *s) {
    const int64_t lines = (int64_t)(LEAST_THREADS / kiln__least(s->team.threads_per_row, LEAST_THREADS)) * s->steps;
    return lines / 8 < problem->outer[s->transpose.dim];
}

/* A thread loads the vectors of a tile in the direction in which each input has them, and transposes those of the
 * others in its registers. */
static bool choose_transpose(const kiln__problem *problem, const kiln__pins *point, kiln__schedule *s) {
    const int last = problem->outer_rank - 1;
    int across = -1;
    for (int o = 0; o < problem->input_count && across < 0; o++)
        across = transposed_dimension(problem, &problem->operands[o]);
    if (across < 0 || problem->outer[last] < s->vector_width) return false;
    s->strategy = KILN__TRANSPOSE;
    s->transpose.dim = across;
    s->in_runs = true;
    set_transpose_tile(problem, point, s);
    set_transpose_threads(problem, point, s);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) set_transpose_access(problem, o, s);
    return fills_blocks(problem, s);
}

/* A flat operand that whole vectors cannot move: the places of a vector's elements follow from two, rather than each
 * from a division. Where they are contiguous in runs in which most warps lie wholly, aligned accesses are shifted into
 * place. */
static void cross(const kiln__problem *problem, const kiln__operand *operand, int o, kiln__schedule *s) {
    kiln__access *access = &s->tensors[o];
    const int last = problem->outer_rank - 1;
    const bool long_runs = operand->outer_strides[last] == 1 && problem->outer[last] >= 64 * s->vector_width;
    const int widest = s->edges == KILN__EDGES_SHIFTED ? kiln__widest_shifted(operand, s->vector_width)
                                                       : kiln__shifted_width(operand, s->vector_width);
    if (!operand->output && long_runs) shift(widest, access);
    const bool same = !operand->outer_strides[last] && !access->shifted;
    if (access->shifted || !access->width) access->kind = same ? KILN__ACCESS_SAME : KILN__ACCESS_CROSSING;
}

/* Whether the tensor's elements are those of the array, in its order. */
static bool is_one_by_one(const kiln__operand *operand) { return operand->linear && operand->row_stride == 1; }

/* Shifted: whole accesses of such a tensor, wherever it begins. */
static void set_vector_access(const kiln__problem *problem, int o, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    kiln__access *access = &s->tensors[o];
    if (s->edges == KILN__EDGES_SHIFTED) {
        access->shifted = is_one_by_one(operand);
        access->width =
            (int)kiln__least(access->shifted ? kiln__elements_of_access(operand->type) : 0, s->vector_width);
        access->run = 1;
    } else {
        access->width = kiln__access_width(problem, operand, s);
        access->run = kiln__run_of(problem, operand, s);
    }
}

/* Vectors of the whole array; shifted, of all elements between the first output's whole accesses. */
static void set_vectors(const kiln__problem *problem, const kiln__pins *point, kiln__schedule *s) {
    const int last = problem->outer_rank - 1;
    s->team.threads = s->team.threads_per_row = point->threads;
    s->steps = s->batch = point->steps;
    if (s->vector_width > kiln__widest_vector(problem) || problem->pitch) s->edges = KILN__EDGES_SHIFTED;
    s->in_runs = last >= 0 && problem->outer[last] % s->vector_width == 0 && s->edges != KILN__EDGES_SHIFTED;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element) continue;
        set_vector_access(problem, o, s);
        if (kiln__crosses(problem, operand, s)) cross(problem, operand, o, s);
    }
}

int kiln__pointwise_widest(const kiln__problem *problem) {
    const int aligned = kiln__widest_vector(problem);
    bool one_by_one = !problem->packed;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++)
        one_by_one &= is_one_by_one(&problem->operands[o]);
    int widest = one_by_one ? (int)kiln__greatest(aligned, kiln__widest_unaligned(problem)) : aligned;
    while (problem->pitch && widest > problem->filled) widest /= 2; /* no more than a row's end is in a vector */
    return widest;
}

static void narrow(const kiln__pins *point, kiln__schedule *s) {
    while (point->vector_width && s->vector_width > point->vector_width) s->vector_width /= 2;
}

bool kiln__pointwise_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    s->vector_width = kiln__widest_vector(g->problem);
    narrow(point, s);
    s->team.group = KILN__GROUP_BLOCK;
    s->staging.kind = KILN__STAGING_REGISTERS;
    s->team.rows_per_block = 1;
    for (int o = 0; o < g->problem->input_count; o++)
        s->tensors[o].staged = kiln__has_own_elements(&g->problem->operands[o]);
    kiln__schedule tiles = *s;
    if (!g->problem->packed && !g->problem->pitch && choose_transpose(g->problem, point, &tiles)) {
        *s = tiles;
    } else {
        s->vector_width = kiln__pointwise_widest(g->problem);
        narrow(point, s);
        set_vectors(g->problem, point, s);
    }
    return point->group != KILN__GROUP_LANES && point->staging <= 0 && s->team.threads % 32 == 0 &&
           s->team.threads <= KILN__MOST_THREADS && s->steps * s->vector_width <= KILN__MOST_REGISTER_ELEMENTS &&
           s->vector_width >= g->problem->least_vector;
}

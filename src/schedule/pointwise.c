/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of elementwise programs: vectors of the whole array in its order, or tiles of vectors behind one another
 * where an input's neighbours lie in another dimension than the output's. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define TRANSPOSE_BYTES 256  /* of a thread: what it loads of a tile stays in registers, and is transposed there */
#define TRANSPOSE_WEIGHT 512 /* operations of a thread's code: more take the compiler long */

/* How much code one element makes, in simple operations. */
static int weigh(const kiln__ir *ir) {
    int weight = 0;
    for (uint32_t i = 0; i < ir->count; i++)
        weight += kiln__op_describe(ir->insts[i].op)->rule == KILN__RULE_FLOAT ? 8 : 1;
    return weight;
}

/* The dimension in which an input's neighbours lie side by side, where that is not the last, nor none. */
static int transposed_dimension(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    if (operand->linear || kiln__magnitude(operand->outer_strides[last]) < 2) return -1;
    for (int d = 0; d < last; d++)
        if (operand->outer_strides[d] == 1) return d;
    return -1;
}

/* A vector is what outputs store in one access: stores that others complete reach the L2 in parts. As many vectors as
 * registers hold well, but rather no tile that overhangs. */
static void choose_transpose_tile(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins,
                                  int narrowest, kiln__schedule *s) {
    const int64_t down = problem->outer[s->transpose.dim], run = problem->outer[problem->outer_rank - 1];
    int bytes = 0;
    for (int o = 0; o < problem->output_count; o++) {
        const kiln__operand *output = &problem->operands[problem->input_count + o];
        const int along = kiln__access_along(problem, output, problem->outer_rank - 1, s->vector_width);
        s->vector_width = along ? along : 1;
    }
    while (run % s->vector_width) s->vector_width /= 2;
    for (int o = 0; o < problem->input_count; o++)
        if (s->tensors[o].staged) bytes += s->vector_width * (int)kiln_type_size(problem->operands[o].type);
    int steps = s->vector_width * narrowest < 16 ? 16 / narrowest : 16;
    while (steps > 4 && (steps * bytes > TRANSPOSE_BYTES || steps * s->vector_width * weigh(ir) > TRANSPOSE_WEIGHT))
        steps /= 2;
    int whole = steps;
    while (whole > 4 && down % whole) whole /= 2;
    if (down % whole == 0)
        steps = whole;
    else if (steps > 16 / narrowest)
        steps = 16 / narrowest;
    s->steps = s->batch = kiln__power_of_two_from(down, pins->steps ? pins->steps : steps);
    s->edges = down % s->steps ? KILN__EDGES_MASKED : KILN__EDGES_ALIGNED;
}

/* How many threads are side by side along a run; the others are behind them. Where runs begin anywhere in a sector,
 * long pieces of them have fewer of which only a part is stored. */
static void choose_threads(const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    const int64_t down = problem->outer[s->transpose.dim], run = problem->outer[problem->outer_rank - 1];
    bool sectors = true;
    int stored = 16;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++) {
        const int size = (int)kiln_type_size(problem->operands[o].type);
        if (size < stored) stored = size;
        for (int d = 0; d + 1 < problem->outer_rank; d++)
            sectors &= problem->operands[o].outer_strides[d] % (32 / size) == 0;
    }
    const int behind = kiln__power_of_two_from(kiln__divide_up(down, s->steps), 1024),
              beside = kiln__power_of_two_from(run / s->vector_width, 1024);
    const int least = sectors ? 8 : 32;
    int threads = sectors ? 128 : 256, side = threads / (s->vector_width * stored); /* as many bytes of a run */
    side = side < least ? least : side > 64 ? 64 : side;
    while (threads > 32 && (threads > (int64_t)behind * beside || (down >= 32 && threads > side * behind)))
        threads /= 2;
    if (pins->threads) threads = pins->threads;
    while (side < threads && threads / side > behind) side *= 2;
    while (side > beside || threads % side) side /= 2;
    s->team.threads = threads;
    s->team.threads_per_row = side;
}

/* A thread loads the vectors of a tile in the direction in which each input has them, and transposes those of the
 * others in its registers. */
static bool choose_transpose(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins,
                             kiln__schedule *s) {
    const int last = problem->outer_rank - 1;
    int across = -1, narrowest = 16;
    for (int o = 0; o < problem->input_count; o++) {
        const int dim = transposed_dimension(problem, &problem->operands[o]),
                  size = (int)kiln_type_size(problem->operands[o].type);
        if (across < 0) across = dim;
        if (dim >= 0 && dim == across && size < narrowest) narrowest = size;
    }
    if (across < 0 || problem->outer[last] < 2 * s->vector_width) return false;
    s->strategy = KILN__TRANSPOSE;
    s->transpose.dim = across;
    choose_transpose_tile(ir, problem, pins, narrowest, s);
    if (problem->outer[last] / s->vector_width * kiln__divide_up(problem->outer[across], s->steps) < 32) return false;
    choose_threads(problem, pins, s);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type), steps = (int)s->steps;
        const bool across_too = !operand->output && operand->outer_strides[last] != 1;
        s->tensors[o].kind =
            across_too && operand->outer_strides[across] == 1 ? KILN__ACCESS_TRANSPOSED : KILN__ACCESS_ELEMENT;
        s->tensors[o].width = s->tensors[o].kind == KILN__ACCESS_TRANSPOSED
                                  ? kiln__access_along(problem, operand, across, steps)
                                  : kiln__access_along(problem, operand, last, s->vector_width);
        const int widest = 16 / size < steps ? 16 / size : steps;
        s->tensors[o].shifted = s->tensors[o].kind == KILN__ACCESS_TRANSPOSED && s->tensors[o].width < widest &&
                                operand->alignment >= widest && steps * size >= 4;
        if (s->tensors[o].shifted) s->tensors[o].width = widest;
    }
    return true;
}

/* Whether some operand is loaded in pieces of a vector. */
static bool has_runs(const kiln__problem *problem, const kiln__schedule *s) {
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!kiln__access_width(problem, operand, s) && kiln__run_of(problem, operand, s) > 1) return true;
    }
    return false;
}

/* A flat operand that whole vectors cannot move: the places of a vector's elements follow from two, rather than each
 * from a division. Where they lie side by side in runs in which most warps lie wholly, aligned vectors are shifted into
 * place. */
static void cross(const kiln__problem *problem, const kiln__operand *operand, int o, kiln__schedule *s) {
    const int size = (int)kiln_type_size(operand->type),
              widest = 16 / size < s->vector_width ? 16 / size : s->vector_width;
    s->tensors[o].shifted = !operand->output && operand->outer_strides[problem->outer_rank - 1] == 1 &&
                            s->tensors[o].width < widest && operand->alignment >= widest &&
                            s->vector_width * size >= 4 &&
                            problem->outer[problem->outer_rank - 1] >= 64 * s->vector_width;
    if (s->tensors[o].shifted) s->tensors[o].width = widest;
    if (s->tensors[o].shifted || !s->tensors[o].width) s->tensors[o].kind = KILN__ACCESS_CROSSING;
}

/* Which inputs are loaded together before anything is computed; the bytes of a vector of them. */
static int stage(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->tensors[o].staged = operand->per_element && operand->follows_rows;
        if (s->tensors[o].staged) bytes += s->vector_width * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

/* Vectors of the whole array. Small blocks end sooner, and one vector for a thread leaves more of them; pieces of a
 * vector wait longer. */
static void choose_vectors(const kiln__given *g, const kiln__pins *pins, int bytes, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    s->team.threads = s->team.threads_per_row = pins->threads ? pins->threads : 128;
    const int steps = has_runs(problem, s) && bytes <= 32 && 2 * weigh(g->ir) * s->vector_width <= 128 ? 2 : 1;
    s->steps = s->batch = pins->steps ? pins->steps : steps;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element) continue;
        s->tensors[o].width = kiln__access_width(problem, operand, s);
        s->tensors[o].kind = s->tensors[o].width ? KILN__ACCESS_VECTOR : KILN__ACCESS_ELEMENT;
        s->tensors[o].run = kiln__run_of(problem, operand, s);
        if (kiln__crosses(problem, operand, s)) cross(problem, operand, o, s);
    }
}

bool kiln__pointwise_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    s->vector_width = kiln__widest_vector(g->problem);
    while (point->vector_width && s->vector_width > point->vector_width) s->vector_width /= 2;
    s->team.group = KILN__GROUP_BLOCK;
    s->staging.kind = KILN__STAGING_REGISTERS;
    s->team.rows_per_block = 1;
    const int bytes = stage(g->problem, s);
    kiln__schedule tiles = *s;
    if (!g->problem->packed && choose_transpose(g->ir, g->problem, point, &tiles))
        *s = tiles;
    else
        choose_vectors(g, point, bytes, s);
    return point->group != KILN__GROUP_LANES && point->staging <= 0 && s->team.threads % 32 == 0 &&
           s->team.threads <= 1024 && s->steps * s->vector_width <= KILN__MOST_REGISTER_ELEMENTS &&
           s->vector_width >= g->problem->least_vector;
}

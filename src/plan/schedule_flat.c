/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of elementwise programs: packs of the whole array in its order, or squares of packs behind one another where
 * an input's neighbours lie in another dimension than the output's. */
#include "base/checked.h"
#include "base/types.h"
#include "plan/access.h"

#define SQUARE_BYTES 256  /* of a thread: what it loads of a square stays in registers, and is turned there */
#define SQUARE_WEIGHT 512 /* operations of a thread's code: more take the compiler long */

/* How much code one element makes, in simple operations. */
static int weigh(const kiln__ir *ir) {
    int weight = 0;
    for (uint32_t i = 0; i < ir->count; i++)
        weight += kiln__op_describe(ir->insts[i].op)->rule == KILN__RULE_FLOAT ? 8 : 1;
    return weight;
}

/* The dimension in which an input's neighbours lie side by side, where that is not the last, nor none. */
static int turned_dimension(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    if (operand->linear || kiln__magnitude(operand->outer_strides[last]) < 2) return -1;
    for (int d = 0; d < last; d++)
        if (operand->outer_strides[d] == 1) return d;
    return -1;
}

/* A pack is what outputs store in one access: stores that others complete reach the L2 in parts (f16, 1000x10007: 0.833,
 * with eight elements of a run in a thread 0.327). As many packs as registers hold well, but rather no square that
 * overhangs (300 of f16: four 0.896, eight 0.797). */
static void choose_square(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins, int narrowest,
                          int attempt, kiln__schedule *s) {
    const int64_t down = problem->outer[s->across], run = problem->outer[problem->outer_rank - 1];
    int bytes = 0;
    for (int o = 0; o < problem->output_count; o++) {
        const kiln__operand *output = &problem->operands[problem->input_count + o];
        const int along = kiln__access_along(problem, output, problem->outer_rank - 1, s->pack_size);
        s->pack_size = along ? along : 1;
    }
    while (run % s->pack_size) s->pack_size /= 2;
    for (int o = 0; o < problem->input_count; o++)
        if (s->kept[o]) bytes += s->pack_size * (int)kiln_type_size(problem->operands[o].type);
    int steps = s->pack_size * narrowest < 16 ? 16 / narrowest : 16;
    while (steps > 4 && (steps * bytes > SQUARE_BYTES || steps * s->pack_size * weigh(ir) > SQUARE_WEIGHT)) steps /= 2;
    int whole = steps;
    while (whole > 4 && down % whole) whole /= 2;
    if (down % whole == 0)
        steps = whole;
    else if (steps > 16 / narrowest)
        steps = 16 / narrowest;
    s->steps = s->batch = kiln__power_of_two_from(down, pins->steps ? pins->steps : steps) >> attempt;
    if (!s->steps) return;
    s->masked = down % s->steps != 0;
}

/* How many threads are side by side along a run; the others are behind them. Where runs begin anywhere in a sector, long
 * pieces of them have fewer of which only a part is stored (f16, 65536x100: 32 threads 0.984, eight 0.653). */
static void choose_threads(const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    const int64_t down = problem->outer[s->across], run = problem->outer[problem->outer_rank - 1];
    bool sectors = true;
    int stored = 16;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++) {
        const int size = (int)kiln_type_size(problem->operands[o].type);
        if (size < stored) stored = size;
        for (int d = 0; d + 1 < problem->outer_rank; d++)
            sectors &= problem->operands[o].outer_strides[d] % (32 / size) == 0;
    }
    const int behind = kiln__power_of_two_from(kiln__divide_up(down, s->steps), 1024),
              beside = kiln__power_of_two_from(run / s->pack_size, 1024);
    const int least = sectors ? 8 : 32;
    int threads = sectors ? 128 : 256, side = threads / (s->pack_size * stored); /* as many bytes of a run */
    side = side < least ? least : side > 64 ? 64 : side;
    while (threads > 32 && (threads > (int64_t)behind * beside || (down >= 32 && threads > side * behind)))
        threads /= 2;
    if (pins->threads) threads = pins->threads;
    while (side < threads && threads / side > behind) side *= 2;
    while (side > beside || threads % side) side /= 2;
    s->threads = threads;
    s->threads_per_row = side;
}

/* A thread loads the packs of a square in the direction in which each input has them, and turns those of the others in its
 * registers. */
static bool choose_squares(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins, int attempt,
                           kiln__schedule *s) {
    const int last = problem->outer_rank - 1;
    int across = -1, narrowest = 16;
    for (int o = 0; o < problem->input_count; o++) {
        const int dim = turned_dimension(problem, &problem->operands[o]),
                  size = (int)kiln_type_size(problem->operands[o].type);
        if (across < 0) across = dim;
        if (dim >= 0 && dim == across && size < narrowest) narrowest = size;
    }
    if (across < 0 || problem->outer[last] < 2 * s->pack_size) return false;
    s->squares = true;
    s->across = across;
    choose_square(ir, problem, pins, narrowest, attempt < 30 ? attempt : 30, s);
    if (!s->steps) return false;
    if (problem->outer[last] / s->pack_size * kiln__divide_up(problem->outer[across], s->steps) < 32) return false;
    choose_threads(problem, pins, s);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type), steps = (int)s->steps;
        s->turned[o] = !operand->output && operand->outer_strides[last] != 1 && operand->outer_strides[across] == 1;
        s->vector[o] = s->turned[o] ? kiln__access_along(problem, operand, across, steps)
                                    : kiln__access_along(problem, operand, last, s->pack_size);
        const int widest = 16 / size < steps ? 16 / size : steps;
        s->shifted[o] = s->turned[o] && s->vector[o] < widest && operand->alignment >= widest && steps * size >= 4;
        if (s->shifted[o]) s->vector[o] = widest;
    }
    s->reason =
        "elementwise, an input's neighbours lie in another dimension: each thread loads a square, whole packs in "
        "both directions, and turns some in its registers";
    return true;
}

/* Whether some operand is loaded in pieces of a pack. */
static bool has_runs(const kiln__problem *problem, const kiln__schedule *s) {
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!kiln__vector_of(problem, operand, s) && kiln__run_of(problem, operand, s) > 1) return true;
    }
    return false;
}

kiln_status kiln__schedule_flat(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins, int bytes,
                                int attempt, kiln__schedule *s) {
    s->group = KILN__GROUP_BLOCK;
    s->residency = KILN__RESIDENCY_REGISTERS;
    s->rows_per_block = 1;
    kiln__schedule squares = *s;
    if (choose_squares(ir, problem, pins, attempt, &squares))
        *s = squares;
    else if (attempt > 0)
        return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    else {
        /* Small blocks end sooner, and one pack for a thread leaves more of them (f32 to f16 of 8,192 columns, H200: 1.002,
         * two packs 0.974, 256 threads with two 0.978; 16,384 products of f16 0.956, 0.915 and 0.942); pieces of a pack wait
         * longer (masks of 250 halves: 0.871, two packs 0.977). */
        s->threads = s->threads_per_row = pins->threads ? pins->threads : 128;
        const int steps = has_runs(problem, s) && bytes <= 32 && 2 * weigh(ir) * s->pack_size <= 128 ? 2 : 1;
        s->steps = s->batch = pins->steps ? pins->steps : steps;
        s->reason = steps > 1 ? "elementwise: each thread loads all its packs, then computes, then stores"
                              : "elementwise: one pack for each thread, so that blocks are many and end soon";
    }
    if (pins->group == KILN__GROUP_LANES || pins->residency > 0 || s->threads % 32 || s->threads > 1024 ||
        s->steps * s->pack_size > KILN__MOST_REGISTER_ELEMENTS)
        return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for elementwise programs: expected threads "
                                              "N, a multiple of 32 up to 1024, and registers (up to 256 "
                                              "elements a thread)");
    return KILN_OK;
}

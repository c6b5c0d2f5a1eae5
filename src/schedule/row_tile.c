/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that do not begin at multiples of a vector, or are short: a block copies several as one flat array into shared
 * memory, where lanes read theirs. Tensors whose rows do not lie one behind the other are read and written in place. */
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define MOST_TILE_BYTES 65536 /* at most: three blocks on a multiprocessor of an H100 */
#define MOST_TILE_STEPS 4096  /* of a lane, as many as whole vectors of a tile: sums of more terms lose digits */

/* An output of one value for several columns is stored by whoever has the first of them, and not from the tile. */
static bool stores_runs(const kiln__problem *problem) {
    for (int o = 0; o < problem->output_count; o++)
        if (problem->operands[problem->input_count + o].run || problem->operands[problem->input_count + o].first)
            return true;
    return false;
}

/* Whether each row has something of its own to be read or written for each column. */
static bool is_of_rows(const kiln__operand *operand) {
    return operand->per_element && (operand->output || operand->follows_rows);
}

/* Whether a block may copy some tensor's rows as one flat array. */
static bool has_flat_rows(const kiln__problem *problem) {
    for (int o = 0; o < problem->input_count + problem->output_count; o++)
        if (is_of_rows(&problem->operands[o]) && kiln__is_contiguous(problem, &problem->operands[o])) return true;
    return false;
}

static bool suits(const kiln__problem *problem) {
    if (stores_runs(problem) || !has_flat_rows(problem)) return false;
    const bool reads = problem->taken || problem->tables || problem->packed || problem->lengths;
    return !problem->across && !problem->sorted && !reads;
}

/* The input whose place an output takes: its elements are as large, and its threads have read it by then. -1: none. */
static int input_before(const kiln__problem *problem, int o, const bool taken[KILN_MAX_TENSORS]) {
    const size_t size = kiln_type_size(problem->operands[o].type);
    for (int i = 0; problem->operands[o].output && i < problem->input_count; i++) {
        const kiln__operand *input = &problem->operands[i];
        const bool tiled = kiln__has_own_elements(input) && kiln__is_contiguous(problem, input);
        if (tiled && !taken[i] && kiln_type_size(input->type) == size) return i;
    }
    return -1;
}

/* Whole accesses, wherever tiles of so many rows begin. */
static void set_copy(const kiln__problem *problem, const kiln__operand *operand, int64_t rows, kiln__access *access) {
    const int width = kiln__elements_of_access(operand->type);
    access->copy_width = width;
    access->copy_shifted = operand->alignment < width || (operand->follows_rows && rows * problem->cols % width != 0);
}

/* Places for every tensor of the tile. */
static int64_t place(const kiln__problem *problem, int64_t rows, kiln__schedule *s) {
    int64_t bytes = 0;
    bool taken[KILN_MAX_TENSORS] = {false};
    if (problem->cols > MOST_TILE_BYTES) return problem->cols;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int shared = input_before(problem, o, taken);
        if (!operand->per_element || !kiln__is_contiguous(problem, operand)) continue;
        const int64_t elements = operand->follows_rows || operand->output ? rows * problem->cols : problem->cols;
        if (shared >= 0) taken[shared] = true;
        s->tensors[o].offset = shared >= 0 ? s->tensors[shared].offset : (int)bytes;
        if (shared < 0) bytes += kiln__divide_up(elements * (int64_t)kiln_type_size(operand->type), 128) * 128;
        if (bytes > MOST_TILE_BYTES) return bytes;
        set_copy(problem, operand, rows, &s->tensors[o]);
    }
    return bytes;
}

bool kiln__row_tile_pairs(const kiln__problem *problem) {
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (is_of_rows(operand) && kiln_type_size(operand->type) != 2) return false;
    }
    return true;
}

/* Rows of an odd number of columns in vectors of two, with masks at their ends. */
static bool set_vectors(const kiln__problem *problem, const kiln__pins *point, kiln__schedule *s) {
    const bool pairs = problem->cols % point->vector_width != 0;
    s->vector_width = point->vector_width;
    s->edges = pairs ? KILN__EDGES_MASKED : KILN__EDGES_ALIGNED;
    s->row.row_phase = pairs;
    s->row.reference = -1;
    if (!pairs) return true;
    return point->vector_width == 2 && point->rows_per_block % 2 == 0 && !s->passes.ordered &&
           kiln__row_tile_pairs(problem);
}

static bool are_threads(const kiln__team *team) {
    return team->threads_per_row <= 32 && kiln__is_power_of_two(team->threads_per_row) && team->threads >= 32 &&
           team->threads % 32 == 0;
}

bool kiln__row_tile_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const int64_t rows = point->rows_per_block;
    if (g->problem->block_count) return false; /* a lane's columns are not its neighbours' in a block */
    if (!suits(g->problem)) return false;
    kiln__row_stage(g->problem, s);
    if (!set_vectors(g->problem, point, s)) return false;
    const int64_t bytes = place(g->problem, rows, s);
    const int64_t vectors = kiln__divide_up(g->problem->cols, s->vector_width);
    for (int o = 0; o < g->problem->input_count; o++) s->tensors[o].staged = s->tensors[o].copy_width > 0;
    s->strategy = KILN__ROW_TILE;
    s->staging.kind = KILN__STAGING_TILE;
    s->team.group = KILN__GROUP_LANES;
    s->team.threads_per_row = point->threads;
    s->team.threads = (int)kiln__least(rows * point->threads, 256);
    s->team.rows_per_block = (int)rows;
    s->steps = kiln__divide_up(kiln__greatest(vectors, 1), point->threads);
    s->batch = 1;
    s->staging.bytes = (int)bytes;
    if (!are_threads(&s->team) || s->steps > MOST_TILE_STEPS) return false;
    if (bytes > MOST_TILE_BYTES || bytes + KILN__RESERVED_BYTES > g->device->shared_per_block) return false;
    kiln__row_finish(g, point, s);
    return true;
}

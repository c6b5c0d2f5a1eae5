/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns lie side by side: lanes, a block, a cluster or the whole grid works on one, which stays in
 * registers or in shared memory, or is read again in each phase. */
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define NO_PHASE (-2)          /* no tensor's columns lie side by side */
#define LEAST_MASKED_VECTORS 4 /* of fewer, most overhang */

/* ---- vectors, and what is staged ---- */

int64_t kiln__rows_phase(const kiln__problem *problem, int width) {
    int64_t phase = NO_PHASE;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element || !operand->follows_rows || !operand->contiguous_columns) continue;
        const int64_t own = kiln__row_phase(problem, operand, width);
        phase = phase == NO_PHASE || phase == own ? own : -1;
    }
    return phase;
}

bool kiln__row_set_vectors(const kiln__given *g, int width, kiln__schedule *s) {
    s->vector_width = width;
    s->edges = KILN__EDGES_ALIGNED;
    s->row.row_phase = 0;
    const bool lengths = g->problem->lengths;
    if (width < g->problem->least_vector) return false;
    if (g->problem->cols % width == 0 && !lengths) return true;
    int64_t phase = kiln__rows_phase(g->problem, width);
    if (phase == NO_PHASE && lengths) phase = 0;
    const bool masks = lengths || (g->problem->cols >= LEAST_MASKED_VECTORS * width && !s->passes.ordered);
    if (phase < 0 || (phase > 0 && s->passes.ordered) || !masks || g->problem->packed) return false;
    s->edges = KILN__EDGES_MASKED;
    s->row.row_phase = (int)phase;
    return true;
}

int kiln__row_stage(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    s->row.invariant_inputs = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->tensors[o].staged = operand->own_columns && operand->follows_rows;
        s->row.invariant_inputs += kiln__is_invariant(operand);
        if (s->tensors[o].staged) bytes += s->vector_width * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

bool kiln__row_overhangs(const kiln__problem *problem, const kiln__schedule *s) {
    return s->edges == KILN__EDGES_MASKED && !(problem->lengths && s->row.row_phase == 0);
}

int64_t kiln__row_vectors(const kiln__problem *problem, const kiln__schedule *s) {
    const int64_t overhanging = kiln__row_overhangs(problem, s);
    const int64_t vectors = kiln__divide_up(problem->cols - overhanging, s->vector_width) + overhanging;
    return vectors < 1 ? 1 : vectors;
}

bool kiln__row_has_blocks(const kiln__problem *problem, const kiln__schedule *s) {
    if (kiln__needs_slots(problem)) return false;
    const int64_t lanes = kiln__least(32, kiln__least(s->team.threads, s->team.threads_per_row));
    for (int i = 0; i < problem->block_count; i++) {
        const int64_t block = problem->blocks[i];
        if (block % s->vector_width || s->edges != KILN__EDGES_ALIGNED || s->passes.ordered) return false;
        if (!kiln__is_power_of_two(block / s->vector_width) || block / s->vector_width > lanes) return false;
    }
    return true;
}

/* ---- who works on a row ---- */

/* Blocks of a cluster reach each other's shared memory from 9.0 on; sixteen on whole data-center parts. */
bool kiln__cluster_fits(int cluster, const kiln__device *device) {
    if (cluster == 1) return true;
    int most = device->arch < 90 ? 1 : device->arch < 110 && device->sm_count >= 100 ? 16 : 8;
    return kiln__is_power_of_two(cluster) && cluster <= most;
}

static kiln__group group_of(const kiln__pins *point) {
    if (point->group == KILN__GROUP_GRID) return KILN__GROUP_GRID;
    return point->cluster > 1 ? KILN__GROUP_CLUSTER : (kiln__group)point->group;
}

/* Whether so many threads of a block can have a row. */
static bool are_threads(const kiln__team *team, int threads) {
    if (!kiln__is_power_of_two(threads) || threads > 1024) return false;
    return team->group == KILN__GROUP_LANES ? threads <= 32 : threads >= 32;
}

static bool set_team(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    kiln__team *team = &s->team;
    const bool grid = point->group == KILN__GROUP_GRID;
    team->group = group_of(point);
    team->blocks_per_row = grid ? g->device->sm_count : point->cluster > 1 ? point->cluster : 1;
    team->threads_per_row = point->threads * team->blocks_per_row;
    team->threads = team->group == KILN__GROUP_LANES ? 128 : point->threads;
    team->rows_per_block = team->group == KILN__GROUP_LANES ? 128 / point->threads : 1;
    s->steps = kiln__divide_up(kiln__row_vectors(g->problem, s), team->threads_per_row);
    if (s->passes.scans && team->blocks_per_row > 1) return false;
    /* Of no columns one thread has what the user's combine begins with. */
    if (s->passes.ordered && g->problem->cols == 0 && team->threads_per_row > 1) return false;
    return are_threads(team, point->threads) && (grid || kiln__cluster_fits(team->blocks_per_row, g->device));
}

/* ---- where it stays ---- */

/* Of static shared memory: what a row's warps exchange, every other row or pass beside the one before it; of clusters
 * what those of a block and then its blocks do, where they are many. */
static int64_t exchange_bytes(const kiln__ir *ir, bool persistent, const kiln__schedule *s) {
    bool wide = ir->float_type == KILN__F64;
    for (uint32_t i = 0; i < ir->count; i++) wide |= kiln__ctype_is_wide(ir->insts[i].type);
    int64_t values = kiln__schedule_exchanged(s, ir) / 8 + 1, warps = s->team.threads / 32;
    if (s->team.group == KILN__GROUP_CLUSTER)
        warps = warps * s->team.blocks_per_row > 32 ? warps + s->team.blocks_per_row : warps * s->team.blocks_per_row;
    const int64_t bytes =
        warps * (persistent ? 2 : kiln__schedule_turns(s)) * kiln__divide_up(values * (wide ? 8 : 4), 16) * 16;
    return bytes > 8192 ? bytes : 8192;
}

/* The most of a row that a block keeps. Better two clusters side by side, one exchanging while the other loads, than
 * all of a row. */
static int64_t most_kept(const kiln__device *device, int64_t all, int64_t room, bool persistent,
                         const kiln__schedule *s) {
    const int64_t half = device->shared_per_sm / 2 - 5120;
    const bool halves = s->team.blocks_per_row == 16 && persistent && all > half && all - all / 4 <= half;
    return halves ? half : room;
}

/* How much of the row stays in shared memory, and whether a group goes through several rows. A row of which less than
 * three quarters stay is better streamed, unless the whole grid has it. */
static bool keep_in_shared_memory(const kiln__device *device, int bytes, int64_t room, bool persistent,
                                  kiln__schedule *s) {
    const bool grid = s->team.group == KILN__GROUP_GRID;
    const int64_t step = (int64_t)s->team.threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES);
    const int64_t all = kiln__times(s->steps, step), most = most_kept(device, all, room, persistent, s);
    s->staging.steps = all <= most ? s->steps : most / step;
    if (s->staging.steps < s->steps && !grid && (!persistent || s->staging.steps < s->steps - s->steps / 4))
        return false;
    s->staging.bytes = (int)(s->staging.steps * s->team.threads * bytes);
    s->row.persistent = grid || persistent;
    if (s->team.threads == 1024 && device->threads_per_sm >= 2048 &&
        2 * (s->staging.bytes + 2048) <= device->shared_per_sm)
        s->team.min_blocks_per_sm = 2;
    return true;
}

/* Rows of any number of columns have no room of their own: they are read again in each pass, by a group that has all of
 * one. */
static bool suits_offsets(const kiln__problem *problem, const kiln__pins *point) {
    const bool streams = point->staging == KILN__STAGING_NONE;
    const bool whole = point->splits <= 1;
    return problem->offsets < 0 || (streams && whole);
}

static bool set_staging(const kiln__given *g, const kiln__pins *point, int bytes, kiln__schedule *s) {
    const bool lanes = s->team.group == KILN__GROUP_LANES;
    const bool persistent = !lanes && g->ir->phase_count > 0 && point->persistent > 0 && !s->passes.one_launch;
    const bool grid = s->team.group == KILN__GROUP_GRID;
    const int64_t exchange = lanes ? 8192 : exchange_bytes(g->ir, persistent, s);
    s->team.min_blocks_per_sm = 1;
    s->staging.kind = (kiln__staging_kind)point->staging;
    if (!suits_offsets(g->problem, point)) return false;
    if (exchange > KILN__MOST_STATIC_BYTES) return false;
    if (grid && (s->staging.kind != KILN__STAGING_SHARED || g->ir->phase_count == 0 || !g->traits.plain)) return false;
    if (s->staging.kind == KILN__STAGING_REGISTERS && s->steps > KILN__MOST_REGISTER_ELEMENTS / s->vector_width)
        return false;
    if (s->staging.kind != KILN__STAGING_SHARED) return true;
    return keep_in_shared_memory(g->device, bytes, g->device->shared_per_block - exchange, persistent, s);
}

/* ---- registers ---- */

bool kiln__is_norm(const kiln__traits *traits) { return traits->online < 0 || traits->online_squares; }

/* Whether one block has the row in up to five vectors for each thread, of which each takes two loads of several
 * weights: two phases fit 64 registers, and are as fast as one pass that takes fewer. */
static bool is_short_of_registers(const kiln__schedule *s) {
    return s->edges == KILN__EDGES_MASKED && s->row.invariant_inputs > 1 &&
           s->staging.kind == KILN__STAGING_REGISTERS && s->team.blocks_per_row == 1 && s->team.threads >= 256 &&
           s->steps <= 5;
}

/* How many blocks of norms a multiprocessor should have registers for, where blocks share rows: the more threads wait
 * for what all rows share, the better, above all where a vector takes two loads of it. */
static int blocks_that_wait(const kiln__schedule *s) {
    const bool twice = s->edges == KILN__EDGES_MASKED && s->row.invariant_inputs > 1;
    const bool one = s->team.blocks_per_row == 1 && !is_short_of_registers(s);
    if (!s->row.invariant_inputs || one || s->team.group == KILN__GROUP_GRID) return 1;
    if (s->staging.kind == KILN__STAGING_REGISTERS) return twice ? 1024 / s->team.threads : 1;
    if (s->team.threads == 512) return 3;
    return s->team.threads == 256 && twice ? 6 : 1;
}

static void set_min_blocks(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const int blocks = kiln__is_norm(&g->traits) && !point->min_blocks ? blocks_that_wait(s) : 1;
    const bool fit = blocks * (s->staging.bytes + 1024) <= g->device->shared_per_sm;
    if (fit && blocks > s->team.min_blocks_per_sm) s->team.min_blocks_per_sm = blocks;
}

/* ---- loads ---- */

/* 1,024 threads with 32 bytes each under way fill the memory system; fewer that wait for other blocks, too, need more.
 */
static int usual_batch(const kiln__schedule *s) {
    if (!s->row.persistent) return 2;
    if (s->team.group == KILN__GROUP_CLUSTER) return s->vector_width >= 8 ? 8 : 4;
    return s->row.invariant_inputs ? 2 : 4;
}

/* Whether clusters load what all rows share for several vectors at a time: in norms, whose reductions leave registers
 * for it, and where threads have many vectors or there is one such tensor, but for two tensors and more that take two
 * loads for a vector. */
static bool batches_invariants(const kiln__traits *traits, const kiln__schedule *s) {
    if (s->staging.kind != KILN__STAGING_SHARED || s->team.group != KILN__GROUP_CLUSTER) return false;
    if (s->edges == KILN__EDGES_MASKED) return kiln__is_norm(traits) && s->team.threads <= 256;
    return kiln__is_norm(traits) || s->row.invariant_inputs == 1 || s->steps >= 16;
}

/* What all rows share is loaded with a row in registers rather than when it is used, where three blocks have registers
 * for both: few rows wait for memory once. */
static void prefetch_invariants(const kiln__given *g, const kiln__pins *point, int bytes, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const bool masked = s->edges == KILN__EDGES_MASKED;
    if (!s->row.invariant_inputs || (masked && s->row.invariant_inputs > 1)) return;
    bytes += s->vector_width * g->traits.invariant_bytes;
    const int64_t registers = (s->steps * bytes / 4 + 24) * s->team.threads;
    s->row.prefetch = s->staging.kind == KILN__STAGING_REGISTERS && !masked &&
                      (point->prefetch || registers * 3 <= g->device->registers_per_sm);
    s->row.batched = batches_invariants(&g->traits, s);
    for (int o = 0; o < problem->input_count; o++) { /* shared memory has no room for a row's own but what is staged */
        const kiln__operand *operand = &problem->operands[o];
        s->tensors[o].staged |= operand->per_element && !kiln__is_read_later(operand) &&
                                (s->row.prefetch || (s->row.batched && !operand->follows_rows));
    }
}

/* What is shifted comes to shared memory with the row, so that nobody waits for it later, where blocks share a row and
 * the tensor is alone: two take the place of rows. A block that has a row to itself finds it in its L1. */
static void prefetch_shifted(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    int64_t bytes = 0;
    if (s->edges != KILN__EDGES_MASKED || s->staging.kind != KILN__STAGING_REGISTERS ||
        s->team.group == KILN__GROUP_LANES)
        return;
    for (int o = 0; o < g->problem->input_count; o++) {
        if (!s->tensors[o].shifted) continue;
        s->tensors[o].offset = (int)bytes;
        bytes +=
            s->steps * (s->team.threads + 1) * s->vector_width * (int64_t)kiln_type_size(g->problem->operands[o].type);
        bytes = kiln__divide_up(bytes, 128) * 128;
    }
    const int64_t fit = bytes ? g->device->shared_per_sm / (bytes + 2048) : 0;
    const bool alone = s->row.invariant_inputs == 1 && s->team.blocks_per_row > 1;
    if (!fit || bytes > g->device->shared_per_block - 8192 || !(alone || point->prefetch)) return;
    s->row.prefetch = true;
    s->staging.bytes = (int)bytes;
    if (s->team.min_blocks_per_sm > fit) s->team.min_blocks_per_sm = (int)fit;
}

/* ---- accesses, and the ends of rows ---- */

/* How a tensor is accessed. Of masked rows, what all rows share is shifted into place in aligned vectors. */
static void set_access(const kiln__problem *problem, int o, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    kiln__access *access = &s->tensors[o];
    const int size = (int)kiln_type_size(operand->type);
    const int widest = (int)kiln__least(16 / size, s->vector_width);
    access->width = kiln__access_width(problem, operand, s);
    access->run = kiln__run_of(problem, operand, s);
    const bool wide = operand->contiguous_columns && s->vector_width * size >= 8 && operand->alignment >= widest;
    if (s->edges == KILN__EDGES_MASKED && !operand->follows_rows && wide && !access->width) {
        access->shifted = true;
        access->width = widest;
    }
    access->kind = access->width ? KILN__ACCESS_VECTOR : KILN__ACCESS_ELEMENT;
}

/* The ends of rows in registers that begin anywhere in a vector, element by element rather than by masks, which are
 * work for whole warps. Of many threads few have them, and of many elements a thread has no registers for its vectors
 * apart. */
static void peel(const kiln__given *g, kiln__schedule *s) {
    const int least = 2 * s->vector_width; /* a thread for each single element */
    const bool peels = s->edges == KILN__EDGES_MASKED && s->staging.kind == KILN__STAGING_REGISTERS &&
                       !s->row.prefetch && !g->traits.finds_columns && !kiln__needs_slots(g->problem) &&
                       !g->problem->lengths;
    if (s->row.rows_in_flight && s->edges == KILN__EDGES_MASKED) s->edges = KILN__EDGES_PEELED;
    if (!peels || s->team.threads_per_row < least || s->team.threads_per_row > 512 || s->steps * s->vector_width > 72)
        return;
    s->edges = KILN__EDGES_PEELED;
    s->steps = kiln__divide_up(g->problem->cols / s->vector_width - 1, s->team.threads_per_row);
    s->batch = (int)s->steps;
}

/* Whether phases that can be are reduced together where nothing is pinned: a second exchange takes long where it is
 * between blocks, a second reading anywhere; and one pass takes fewer registers than two. */
static bool reduces_together(const kiln__traits *traits, const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_NONE || s->team.blocks_per_row > 1 || s->row.rows_in_flight) return true;
    return s->edges == KILN__EDGES_MASKED && s->row.invariant_inputs && s->team.threads >= 256 &&
           !is_short_of_registers(s) && traits->online_squares;
}

void kiln__row_finish(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const bool together = point->online ? point->online > 0 : reduces_together(&g->traits, s);
    if (s->staging.kind != KILN__STAGING_TILE && !s->passes.ordered && together) s->passes.online = g->traits.online;
    for (int o = 0; o < g->problem->input_count + g->problem->output_count; o++) {
        const kiln__operand *operand = &g->problem->operands[o];
        if (operand->per_element && !kiln__is_read_later(operand)) set_access(g->problem, o, s);
    }
    prefetch_shifted(g, point, s);
    peel(g, s);
}

bool kiln__row_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (!kiln__row_set_vectors(g, point->vector_width, s)) return false;
    const int bytes = kiln__row_stage(g->problem, s);
    if (!set_team(g, point, s) || !set_staging(g, point, bytes, s)) return false;
    set_min_blocks(g, point, s);
    kiln__schedule_batch(point, usual_batch(s), s);
    prefetch_invariants(g, point, bytes, s);
    kiln__schedule_split(g->ir, point->splits, s);
    kiln__row_finish(g, point, s);
    if (s->split.chunks > 1 || s->team.group == KILN__GROUP_GRID) s->strategy = KILN__SPLIT_ROW;
    if (kiln__needs_slots(g->problem)) return kiln__row_add_slots(g, s);
    return kiln__row_has_blocks(g->problem, s) && kiln__row_add_across(g, s);
}

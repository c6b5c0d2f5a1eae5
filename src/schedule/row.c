/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns lie side by side: lanes, a block, a cluster or the whole grid works on one, which stays in
 * registers or in shared memory, or is read again in each phase. */
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define NO_PHASE (-2)     /* no tensor's columns lie side by side */
#define SCANNED_VECTORS 4 /* of a thread: their totals are scanned among a block's warps at once */

/* ---- vectors, and what is staged ---- */

/* By how much rows begin behind multiples of a vector, one after another, modulo the vector: where all tensors that a
 * vector covers agree. -1: they do not. */
static int64_t rows_phase(const kiln__problem *problem, int width) {
    int64_t phase = NO_PHASE;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!kiln__has_own_elements(operand) || !operand->contiguous_columns) continue;
        const int64_t own = kiln__row_phase(problem, operand, width);
        phase = phase == NO_PHASE || phase == own ? own : -1;
    }
    return phase;
}

bool kiln__row_set_vectors(const kiln__given *g, int width, kiln__schedule *s) {
    s->vector_width = width;
    s->edges = KILN__EDGES_ALIGNED;
    s->row.row_phase = 0;
    s->row.reference = -1;
    const bool lengths = g->problem->lengths;
    if (width < g->problem->least_vector) return false;
    if (g->problem->cols % width == 0 && !lengths) return true;
    int64_t phase = rows_phase(g->problem, width);
    if (phase == NO_PHASE && lengths) phase = 0;
    const bool masks = lengths || (g->problem->cols >= width && !s->passes.ordered);
    if (phase < 0 || (phase > 0 && s->passes.ordered) || !masks || g->problem->packed) return false;
    s->edges = KILN__EDGES_MASKED;
    s->row.row_phase = (int)phase;
    return true;
}

static bool is_array(const kiln__operand *operand) {
    return kiln__has_own_elements(operand) && operand->contiguous_columns;
}

/* Whether a tensor takes more accesses where it lies than if aligned ones, of which each vector reads one more, were
 * shifted into place. */
static bool has_narrow_accesses(const kiln__problem *problem, const kiln__schedule *s) {
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!is_array(operand)) continue;
        const int64_t lies = kiln__greatest(kiln__access_width(problem, operand, s), 1);
        if (2 * lies < kiln__widest_shifted(operand, s->vector_width)) return true;
    }
    return false;
}

/* Whether it is known where its rows begin, before an index says so. */
static bool may_be_reference(const kiln__operand *operand) {
    return is_array(operand) && !operand->table.rows && (operand->output || operand->follows_rows);
}

/* The first output, as what is stored can't be shifted; where there is none the input that takes the most accesses. */
static int reference_of(const kiln__problem *problem) {
    int best = -1;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++)
        if (may_be_reference(&problem->operands[o])) return o;
    for (int o = 0; o < problem->input_count; o++) {
        const size_t size = kiln_type_size(problem->operands[o].type);
        if (may_be_reference(&problem->operands[o]) &&
            (best < 0 || size > kiln_type_size(problem->operands[best].type)))
            best = o;
    }
    return best;
}

/* Vectors that begin where a tensor's memory is aligned, wherever rows begin. */
static bool shift_vectors(const kiln__given *g, int width, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const bool whole = !problem->lengths || problem->least_cols;
    const bool rows = whole && problem->offsets < 0 && !s->passes.ordered && !kiln__needs_slots(problem);
    const int reference = reference_of(problem);
    if (width == 1 || width < problem->least_vector || problem->cols < 2 * (int64_t)width || !rows) return false;
    if (reference < 0 || problem->packed || problem->block_count || problem->across) return false;
    s->vector_width = width;
    s->edges = KILN__EDGES_ALIGNED;
    s->row.row_phase = 0;
    s->row.reference = reference;
    if (!has_narrow_accesses(problem, s)) return false;
    s->edges = KILN__EDGES_MASKED;
    return true;
}

/* Rows of a range of columns begin anywhere: their vectors are shifted into place, where accesses are so wide. */
static bool set_vectors_anywhere(const kiln__given *g, int width, kiln__schedule *s) {
    const bool alone = width == 1 && kiln__widest_unaligned(g->problem) <= 2;
    return alone ? kiln__row_set_vectors(g, width, s) : shift_vectors(g, width, s);
}

static bool set_vectors(const kiln__given *g, int width, kiln__schedule *s) {
    const bool aligned = width <= kiln__widest_vector(g->problem);
    if (g->problem->least_cols) return set_vectors_anywhere(g, width, s);
    if (aligned && kiln__row_set_vectors(g, width, s) && !has_narrow_accesses(g->problem, s)) return true;
    return shift_vectors(g, width, s) || (aligned && kiln__row_set_vectors(g, width, s));
}

int kiln__row_stage(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    s->row.invariant_inputs = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->tensors[o].staged = operand->own_columns && operand->follows_rows;
        s->row.invariant_inputs += operand->own_columns && !operand->follows_rows;
        if (s->tensors[o].staged) bytes += s->vector_width * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

/* Whether vectors begin before rows do. Where rows have lengths, masks may be for their ends alone. */
static bool overhangs(const kiln__problem *problem, const kiln__schedule *s) {
    const bool ends_alone = problem->lengths && s->row.row_phase == 0 && s->row.reference < 0;
    return s->edges == KILN__EDGES_MASKED && !ends_alone;
}

/* How many vectors a row has, with one that overhangs at its start, where there is such. */
static int64_t vectors_of(const kiln__problem *problem, const kiln__schedule *s) {
    const int64_t overhanging = overhangs(problem, s);
    const int64_t vectors = kiln__divide_up(problem->cols - overhanging, s->vector_width) + overhanging;
    return kiln__greatest(vectors, 1);
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

bool kiln__cluster_fits(int cluster, const kiln__device *device) {
    return kiln__is_power_of_two(cluster) && cluster <= kiln__device_most_cluster(device);
}

static kiln__group group_of(const kiln__pins *point) {
    if (point->group == KILN__GROUP_GRID) return KILN__GROUP_GRID;
    return point->cluster > 1 ? KILN__GROUP_CLUSTER : (kiln__group)point->group;
}

/* Whether so many threads of a block can have a row. */
static bool are_threads(const kiln__team *team, int threads) {
    if (!kiln__is_power_of_two(threads) || threads > KILN__MOST_THREADS) return false;
    return team->group == KILN__GROUP_LANES ? threads <= 32 : threads >= 32;
}

#define LANES_BLOCK 128 /* threads of a block whose rows have some lanes each */

static bool set_team(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    kiln__team *team = &s->team;
    const bool grid = point->group == KILN__GROUP_GRID;
    team->group = group_of(point);
    team->blocks_per_row = grid ? g->device->sm_count : (int)kiln__greatest(point->cluster, 1);
    team->threads_per_row = point->threads * team->blocks_per_row;
    team->threads = team->group == KILN__GROUP_LANES ? LANES_BLOCK : point->threads;
    team->rows_per_block = team->group == KILN__GROUP_LANES ? LANES_BLOCK / point->threads : 1;
    s->steps = kiln__divide_up(vectors_of(g->problem, s), team->threads_per_row);
    if (s->passes.scans && team->blocks_per_row > 1) return false;
    /* Of no columns one thread has what the user's combine begins with. */
    if (s->passes.ordered && g->problem->cols == 0 && team->threads_per_row > 1) return false;
    return are_threads(team, point->threads) && (grid || kiln__cluster_fits(team->blocks_per_row, g->device));
}

/* ---- where it stays ---- */

/* Totals of the vectors that a block's warps scan at once, in two rounds, and what all of them come to. */
static int64_t scan_bytes(const kiln__ir *ir, const kiln__schedule *s, int64_t value_bytes) {
    int64_t values = 0;
    for (uint32_t i = 0; i < ir->count; i++) values += ir->insts[i].op == KILN__OP_REDUCE_BEFORE;
    return 2 * s->passes.scanned * (s->team.threads / 32 + 1) * kiln__divide_up(values * value_bytes, 16) * 16;
}

/* Of static shared memory: what a row's warps exchange, every other row or pass beside the one before it; of clusters
 * what those of a block and then its blocks do, where they are many. */
static int64_t exchange_bytes(const kiln__ir *ir, bool persistent, const kiln__schedule *s) {
    bool wide = ir->float_type == KILN__F64;
    for (uint32_t i = 0; i < ir->count; i++) wide |= kiln__ctype_is_wide(ir->insts[i].type);
    const int64_t values = kiln__schedule_exchanged(s, ir) / 8 + 1, warps = s->team.threads / 32;
    int64_t places = warps;
    if (s->team.group == KILN__GROUP_CLUSTER) {
        const int senders = kiln__cluster_senders(s);
        places = senders * s->team.blocks_per_row + (senders < warps ? warps : 0);
    }
    const int64_t bytes =
        places * (persistent ? 2 : kiln__schedule_turns(s)) * kiln__divide_up(values * (wide ? 8 : 4), 16) * 16;
    return kiln__greatest(bytes + scan_bytes(ir, s, wide ? 8 : 4), KILN__ROW_STATIC_BYTES);
}

/* How much of the row stays in shared memory, and whether a group goes through several rows. What does not stay is read
 * once more for each pass: a row of which less than half stays is better streamed, unless the whole grid has it. */
static bool keep_in_shared_memory(const kiln__device *device, int bytes, int64_t exchange, bool persistent,
                                  kiln__schedule *s) {
    const bool grid = s->team.group == KILN__GROUP_GRID;
    const int64_t step = (int64_t)s->team.threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES);
    s->staging.steps = kiln__least(s->steps, (device->shared_per_block - exchange) / step);
    const bool enough =
        s->staging.steps == s->steps || (persistent && KILN__STAGED_PART * s->staging.steps >= s->steps);
    if (!enough && !grid) return false;
    s->staging.bytes = (int)(s->staging.steps * s->team.threads * bytes);
    s->row.persistent = grid || persistent;
    return true;
}

/* Rows of any number of columns have no room of their own: they are read again in each pass, by a group that has all of
 * one. */
static bool suits_offsets(const kiln__problem *problem, const kiln__pins *point) {
    const bool streams = point->staging == KILN__STAGING_NONE;
    const bool whole = point->splits <= 1;
    return problem->offsets < 0 || (streams && whole);
}

/* A grid goes through its rows one by one, while the next one arrives. */
static bool suits_grid(const kiln__given *g, const kiln__schedule *s) {
    return s->staging.kind == KILN__STAGING_SHARED && g->ir->phase_count > 0 && g->traits.plain;
}

/* In shared memory blocks have a row: what lanes keep of theirs is less, and faster in registers. */
static bool set_staging(const kiln__given *g, const kiln__pins *point, int bytes, kiln__schedule *s) {
    const bool lanes = s->team.group == KILN__GROUP_LANES;
    const bool persistent = g->ir->phase_count > 0 && point->persistent > 0 && !s->passes.one_launch;
    const int64_t exchange = lanes ? KILN__ROW_STATIC_BYTES : exchange_bytes(g->ir, persistent, s);
    s->staging.kind = (kiln__staging_kind)point->staging;
    if (!suits_offsets(g->problem, point) || exchange > KILN__MOST_STATIC_BYTES) return false;
    if (s->team.group == KILN__GROUP_GRID && !suits_grid(g, s)) return false;
    if (s->staging.kind != KILN__STAGING_SHARED) return kiln__fits_registers(s);
    return !lanes && keep_in_shared_memory(g->device, bytes, exchange, persistent, s);
}

/* ---- loads ---- */

/* 1,024 threads with 32 bytes each under way fill the memory system; groups that stay exchange meanwhile: more. */
static int usual_batch(const kiln__schedule *s) { return s->row.persistent ? 4 : 2; }

/* What all rows share is loaded with a row in registers rather than when it is used: few rows wait for memory once. */
static void prefetch_invariants(const kiln__given *g, kiln__schedule *s) {
    s->row.prefetch =
        s->row.invariant_inputs > 0 && s->staging.kind == KILN__STAGING_REGISTERS && s->edges != KILN__EDGES_MASKED;
    for (int o = 0; o < g->problem->input_count; o++) {
        const kiln__operand *operand = &g->problem->operands[o];
        s->tensors[o].staged |= s->row.prefetch && operand->per_element && !kiln__is_read_later(operand);
    }
}

/* ---- accesses, and the ends of rows ---- */

/* Whether an input has one value for runs of columns, of which a vector has two at most. */
static bool has_same_runs(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s) {
    const int last = problem->inner_rank - 1;
    const bool strided = !operand->output && !operand->contiguous_columns && !operand->run && !operand->across;
    if (!strided || last < 1 || operand->inner_strides[last] || s->staging.kind == KILN__STAGING_TILE) return false;
    return s->vector_width > 1 && problem->inner[last] >= s->vector_width;
}

/* How a tensor is accessed. Of masked rows, what all rows share is shifted into place in aligned vectors. */
static void set_access(const kiln__problem *problem, int o, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    kiln__access *access = &s->tensors[o];
    if (has_same_runs(problem, operand, s)) {
        access->kind = KILN__ACCESS_SAME;
        access->run = s->vector_width;
        return;
    }
    if (s->row.reference >= 0) {
        const int widest = operand->contiguous_columns ? kiln__widest_shifted(operand, s->vector_width) : 0;
        access->shifted = widest > 0 && o != s->row.reference;
        access->width = widest;
        return;
    }
    const bool shifts = s->edges == KILN__EDGES_MASKED && !operand->follows_rows && operand->contiguous_columns;
    access->width = kiln__access_width(problem, operand, s);
    const int widest = shifts && !access->width ? kiln__shifted_width(operand, s->vector_width) : 0;
    access->shifted = widest > 0;
    if (access->shifted) access->width = widest;
}

/* The ends of rows in registers that begin anywhere in a vector, element by element rather than by masks, which are
 * work for whole warps. Not with many threads, of which few would have such an element, nor with many elements, whose
 * thread has no registers for another set of partial results. */
static void peel(const kiln__given *g, kiln__schedule *s) {
    const int least = 2 * s->vector_width; /* a thread for each single element; of fewer columns all may be single */
    const bool peels = s->edges == KILN__EDGES_MASKED && s->staging.kind == KILN__STAGING_REGISTERS &&
                       !g->traits.finds_columns && !kiln__needs_slots(g->problem) && !s->passes.scanned &&
                       (g->problem->least_cols ? g->problem->least_cols >= least : !g->problem->lengths) &&
                       (g->problem->least_cols || s->row.reference < 0);
    if (!peels || kiln__least(s->team.threads_per_row, g->problem->cols) < least) return;
    if (s->team.threads_per_row > 512 || s->steps * s->vector_width > 72) return;
    s->edges = KILN__EDGES_PEELED;
    s->steps = kiln__divide_up(g->problem->cols / s->vector_width - 1, s->team.threads_per_row);
    s->batch = (int)s->steps;
}

void kiln__row_finish(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (s->staging.kind != KILN__STAGING_TILE && point->online >= 0) s->passes.online = g->traits.online;
    for (int o = 0; o < g->problem->input_count + g->problem->output_count; o++) {
        const kiln__operand *operand = &g->problem->operands[o];
        if (operand->per_element && !kiln__is_read_later(operand)) set_access(g->problem, o, s);
    }
    peel(g, s);
}

static bool has_user_combine(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_REDUCE_USER) return true;
    return false;
}

/* Scans that a pass makes anew as it goes over the row, whose columns then need not come in order: of lanes or a block,
 * which have the row in registers or read it again. */
static void set_scans(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const bool staged = point->staging == KILN__STAGING_REGISTERS || point->staging == KILN__STAGING_NONE;
    const bool alone = point->rows_per_block <= 1 && point->cluster <= 1 && point->group != KILN__GROUP_GRID;
    const bool waits = kiln__needs_slots(g->problem) || g->problem->across;
    const bool passes =
        s->passes.scans && staged && alone && !waits && g->problem->cols > 1 && !has_user_combine(g->ir);
    s->passes.scanned = passes ? SCANNED_VECTORS : 0;
    s->passes.ordered &= !passes;
}

/* CUB combines a block's values in an order of its own, once for each of a row's phases. */
static bool suits_cub(const kiln__given *g, const kiln__pins *point) {
    const bool alone = point->cluster <= 1 && point->rows_per_block <= 1 && point->persistent <= 0;
    const bool passes = g->ir->phase_count > 0 && g->traits.plain && !kiln__needs_slots(g->problem);
    return point->group != KILN__GROUP_CUB || (alone && point->splits <= 1 && passes && !g->problem->across);
}

bool kiln__row_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (!suits_cub(g, point)) return false;
    const bool split = point->splits > 1 || point->group == KILN__GROUP_GRID;
    if (split && g->problem->least_cols) return false; /* chunks end where the columns do that are known */
    set_scans(g, point, s);
    if (!set_vectors(g, point->vector_width, s)) return false;
    const int bytes = kiln__row_stage(g->problem, s);
    if (!set_team(g, point, s) || !set_staging(g, point, bytes, s)) return false;
    kiln__schedule_batch(point, s->passes.scanned ? SCANNED_VECTORS : usual_batch(s), s);
    prefetch_invariants(g, s);
    kiln__schedule_split(g->ir, point->splits, s);
    kiln__row_finish(g, point, s);
    if (s->split.chunks > 1 || s->team.group == KILN__GROUP_GRID) s->strategy = KILN__SPLIT_ROW;
    if (kiln__needs_slots(g->problem)) return kiln__row_add_slots(g, s);
    return kiln__row_has_blocks(g->problem, s) && kiln__row_add_across(g, s);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/any_shape.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/build.h"
#include "schedule/cost.h"

enum {
    THREADS = 256,
    LEAST_BLOCKS = 3, /* of a processor at once: 80 registers for a thread */
    LANES = 32,
    MOST_VECTOR = 8,
    BYTES = 64,            /* that a thread has under way of all inputs, ... */
    MOST_BATCH = 4,        /* ... in no more vectors than these, nor fewer than one */
    COLUMNS_OF_LANES = 20, /* more for a lane, vectors or single ones, and a block works on the row */
    LEAST_SHARED = 32,     /* columns: of rows that lie side by side, one thread has a whole row of up to so many */
    LEAST_STEPS = 4,       /* vectors or elements of a lane: more lanes would find out where the row lies for fewer */
    FLAT_STEPS = 8,        /* of a thread, where blocks share rows that nothing reduces, ... */
    FLAT_BLOCKS = 2048,    /* ... unless that left fewer blocks than these, some for each processor of any device */
    MOST_CHUNKS = 1 << 20, /* of a row; threads go on to what is behind */
    LEAST_LANES = 4,       /* of a run of blocks, so that what they load together is a line of memory or more */
    SHARED_BYTES = 48 * 1024 - 1024, /* but for what is aligned, and for a row's place in the workspace */
    MOST_BLOCKS = 512,               /* that go through all rows: some for each processor of any device ... */
    SUMS_BYTES = 1 << 25,            /* ... whose sums are no more than its L2 has room for, ... */
    SORTED_BYTES = 1 << 28           /* ... or what they sort no more than this */
};

/* The narrowest of the inputs, or of the outputs, that have columns in bytes of their own; -1: none has. */
static int narrowest(const kiln__problem *problem, bool output) {
    int found = -1;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (operand->output != output || !operand->own_columns || kiln__type_is_packed(operand->type)) continue;
        if (found < 0 || kiln_type_size(operand->type) < kiln_type_size(problem->operands[found].type)) found = o;
    }
    return found;
}

static int vector_of(const kiln__problem *problem) {
    int width = 2;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const int elements = kiln__elements_of_access(problem->operands[o].type);
        if (problem->operands[o].own_columns && elements > width) width = elements;
    }
    return (int)kiln__least(width, MOST_VECTOR);
}

static int log2_from(int64_t n, int most) {
    int shift = 0;
    while (((int64_t)1 << shift) < n && (1 << shift) < most) shift++;
    return shift;
}

static void set_accesses(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const int size = (int)kiln_type_size(problem->operands[o].type);
        s->tensors[o].width = (int)kiln__least(KILN__ACCESS_BYTES / size, s->vector_width);
        if (problem->operands[o].own_columns) s->any.columns |= 1u << o;
        s->tensors[o].staged = o < problem->input_count && problem->operands[o].own_columns;
        if (s->tensors[o].staged) bytes += size * s->vector_width;
    }
    s->batch = 1;
    while (s->batch < MOST_BATCH && 2 * s->batch * bytes <= BYTES) s->batch *= 2;
}

/* Runs are so long that a few lanes have all vectors under way that they may, and have no more lanes for that. */
static void choose_run(const kiln__problem *problem, kiln__schedule *s) {
    const int64_t at_once = (int64_t)s->vector_width * s->batch, least = LEAST_LANES * at_once;
    if (problem->block_run == 0) return;
    s->any.blocks.run = kiln__times(problem->block_run, kiln__greatest(least / problem->block_run, 1));
    s->any.blocks.lanes = 1 << log2_from(kiln__divide_up(s->any.blocks.run, at_once), LANES);
}

/* The largest tile that so many threads sort at a time; its bytes. */
static void find_tile(const kiln__ir *ir, const kiln__problem *problem, int threads, kiln__schedule *s) {
    s->any.sorted.tile = s->any.sorted.tile_bytes = 0;
    for (uint32_t i = 0; i < ir->count && problem->sorted; i++) {
        if (ir->insts[i].op != KILN__OP_ORDER) continue;
        const kiln__order_room room = kiln__order_room_of(ir, problem, 0, threads, i);
        s->any.sorted.tile = (int)kiln__greatest(s->any.sorted.tile, room.own * threads);
        s->any.sorted.tile_bytes = (int)kiln__greatest(s->any.sorted.tile_bytes, room.tile_bytes);
    }
}

/* Bytes of a run's blocks. */
static int64_t slot_bytes(const kiln__ir *ir, const kiln__schedule *s) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_BLOCK_REDUCE)
            bytes += s->any.blocks.run / ir->insts[i].domain * kiln__ctype_bytes(ir->insts[i].type);
    return bytes;
}

/* As many as shared memory has room for what their runs' blocks come to, what they sort, and what warps exchange. */
static kiln_status choose_threads(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    const int64_t slots = slot_bytes(ir, s), exchanged = kiln__schedule_turns(s) * kiln__schedule_exchanged(s, ir);
    const int lanes = (int)kiln__greatest(s->any.blocks.lanes, 1);
    for (int threads = THREADS; threads >= LANES; threads /= 2) {
        find_tile(ir, problem, threads, s);
        s->team.threads = s->team.threads_per_row = threads;
        const int64_t bytes = kiln__times(slots, threads / lanes);
        if (bytes <= SHARED_BYTES && bytes + s->any.sorted.tile_bytes + threads / LANES * exchanged <= SHARED_BYTES)
            return KILN_OK;
    }
    return kiln__fail(KILN_E_UNSUPPORTED,
                      "no kernel serves any shape of '%s', whose blocks of %" PRId64 " columns lie in runs of %" PRId64,
                      ir->text, problem->blocks[0], s->any.blocks.run);
}

/* Whether blocks may share a row: of a reduced one each phase is a launch, and so are the outputs of columns and those
 * of rows, which may take the place of what columns still read. */
static void set_sharing(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    int columns = 0, rows = 0;
    for (int o = problem->input_count; o < problem->input_count + problem->output_count; o++)
        *(problem->operands[o].per_element ? &columns : &rows) = 1;
    if (s->any.sums.some || problem->sorted || s->passes.scans || s->passes.selects) return;
    s->any.shares_rows = ir->phase_count == 0 && !rows;
    if (ir->phase_count > 0) s->any.stages = (int)ir->phase_count + columns + rows;
}

kiln_status kiln__any_shape_schedule(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    const int output = narrowest(problem, true);
    kiln_status status;
    *s = kiln__schedule_blank(ir, problem);
    s->strategy = KILN__ANY_SHAPE;
    s->reason = "it serves any shape";
    s->team.group = KILN__GROUP_BLOCK;
    s->team.rows_per_block = 1;
    s->team.min_blocks_per_sm = LEAST_BLOCKS;
    s->staging.kind = KILN__STAGING_NONE;
    s->edges = KILN__EDGES_PEELED;
    s->vector_width = vector_of(problem);
    s->unroll = 1;
    s->code.wide_columns = true;
    s->any.reference = output >= 0 ? output : narrowest(problem, false);
    set_accesses(problem, s);
    choose_run(problem, s);
    status = choose_threads(ir, problem, s);
    const int64_t exchanged = kiln__schedule_turns(s) * s->team.threads * kiln__schedule_exchanged(s, ir);
    s->any.sums.some = problem->across;
    kiln__across_before(ir, ir->count, &s->any.sums.bytes, &s->any.sums.beside);
    if (problem->sorted) s->any.sorted.bytes = kiln__sorted_before(ir, problem, ir->count);
    const bool whole_rows = s->passes.ordered || problem->block_run || s->any.sums.some ||
                            problem->sorted; /* their threads are neighbours */
    s->any.lanes_can_be_rows = !whole_rows && exchanged <= KILN__COLUMN_STATIC_BYTES;
    set_sharing(ir, problem, s);
    s->steps = s->batch;
    if (!status) status = kiln__inlining_choose(ir, problem, s);
    kiln__schedule_describe(s);
    return status;
}

/* ---- launches ---- */

/* Elementwise programs have a flat problem, whose last dimension is that of the columns. */
static int row_dims_of(const kiln__problem *exact) {
    const bool flat = exact->layout == KILN__LAYOUT_FLAT;
    return flat && exact->outer_rank ? exact->outer_rank - 1 : exact->outer_rank;
}

int64_t kiln__shape_stride(const kiln__shape *shape, const kiln__problem *exact, int o, int dim) {
    const kiln__operand *operand = &exact->operands[o];
    if (dim >= shape->dims) return 0;
    return dim < exact->outer_rank ? operand->outer_strides[dim] : operand->inner_strides[dim - exact->outer_rank];
}

/* Whether vectors of a run are single accesses of all tensors, as far as strides tell. */
static bool has_vectors(const kiln__schedule *s, const kiln__shape *shape, const kiln__problem *exact) {
    bool wide = s->any.reference >= 0 && shape->dims > shape->row_dims;
    for (int o = 0; o < exact->input_count + exact->output_count && wide; o++) {
        const int64_t stride = kiln__shape_stride(shape, exact, o, shape->dims - 1);
        wide = !(s->any.columns >> o & 1) || stride == 1 || (o < exact->input_count && stride == 0);
    }
    return wide && kiln__shape_stride(shape, exact, s->any.reference, shape->dims - 1) == 1;
}

/* Where rows and columns lie; who works on them is open. */
static kiln__shape extents_of(const kiln__problem *exact) {
    kiln__shape shape = {.rows = 1, .cols = 1, .run = 1, .chunks = 1};
    shape.row_dims = row_dims_of(exact);
    shape.dims = exact->outer_rank + exact->inner_rank;
    memcpy(shape.extents, exact->outer, (size_t)exact->outer_rank * sizeof *shape.extents);
    memcpy(shape.extents + exact->outer_rank, exact->inner, (size_t)exact->inner_rank * sizeof *shape.extents);
    for (int d = 0; d < shape.row_dims; d++) shape.rows *= shape.extents[d];
    for (int d = shape.row_dims; d < shape.dims; d++) {
        shape.run = shape.extents[d];
        shape.cols *= shape.run;
    }
    shape.runs = shape.run ? shape.cols / shape.run : 0;
    return shape;
}

/* Runs are whole blocks, but for the last along the axis. */
static void find_runs(const kiln__schedule *s, const kiln__problem *exact, kiln__shape *shape) {
    shape->axis = exact->uneven_columns;
    shape->run = kiln__least(s->any.blocks.run, shape->axis);
    shape->axis_runs = shape->run ? kiln__divide_up(shape->axis, shape->run) : 0;
    shape->runs = shape->axis ? shape->cols / shape->axis * shape->axis_runs : 0;
}

/* Blocks that go through all rows, and what their sums take. */
static void find_teams(const kiln__schedule *s, kiln__shape *shape) {
    const int64_t teams = s->team.threads >> shape->row_shift;
    shape->padded_cols = kiln__times(kiln__divide_up(shape->cols, KILN__PADDED_COLUMNS), KILN__PADDED_COLUMNS);
    shape->slice = kiln__greatest(kiln__times(shape->padded_cols, s->any.sums.bytes) + s->any.sums.beside, 1);
    const int64_t room = SUMS_BYTES / kiln__times(shape->slice, teams), rows = kiln__divide_up(shape->rows, teams);
    shape->blocks = (int32_t)kiln__greatest(kiln__least(kiln__least(room, rows), MOST_BLOCKS), 1);
}

/* Blocks that go through the rows, each of which has memory for one that is sorted: whole tiles of any size. */
static void find_sorted(const kiln__schedule *s, kiln__shape *shape) {
    shape->padded_cols = kiln__divide_up(shape->cols, KILN__PADDED_COLUMNS) * KILN__PADDED_COLUMNS + s->any.sorted.tile;
    shape->slice = kiln__times(shape->padded_cols, s->any.sorted.bytes);
    const int64_t room = kiln__least(SORTED_BYTES / shape->slice, MOST_BLOCKS);
    shape->blocks = (int32_t)kiln__greatest(kiln__least(room, shape->rows), 1);
    shape->row_shift = log2_from(s->team.threads, s->team.threads);
}

/* How many blocks share a row that is reduced: of longer rows than these, as many as have such a chunk or a longer one.
 * Those of rows in lanes count columns, others vectors of a thread. Rows so long do not stay in the L2 from one phase
 * to the next whoever works on them. */
typedef struct sharing {
    int64_t longest, chunk, most;
} sharing;
static const sharing of_blocks = {32, 32, 512}, of_lanes = {2048, 256, 1024};

static int32_t reduced_chunks(int64_t all, sharing by) {
    return all <= by.longest ? 1 : (int32_t)kiln__least(kiln__divide_up(all, by.chunk), by.most);
}

/* Of rows that nothing reduces, whose elements do not ask who else works on the row: so many steps of a block. */
static int32_t flat_chunks(const kiln__schedule *s, int64_t steps, int64_t rows) {
    int64_t each = kiln__greatest(s->batch, FLAT_STEPS);
    while (each > s->batch && kiln__times(kiln__divide_up(steps, each), rows) < FLAT_BLOCKS) each /= 2;
    return (int32_t)kiln__least(kiln__divide_up(steps, each), MOST_CHUNKS);
}

int64_t kiln__shape_workspace(const kiln__schedule *s, const kiln__ir *ir, const kiln__shape *shape) {
    const int64_t parts = kiln__times(shape->rows, shape->chunks);
    if (shape->blocks) return kiln__times(shape->blocks * (s->team.threads >> shape->row_shift), shape->slice);
    return shape->stage < 0 ? 0 : kiln__times(parts, kiln__schedule_exchanged(s, ir));
}

int kiln__shape_launches(const kiln__schedule *s, const kiln__ir *ir, const kiln__shape *shape) {
    return shape->stage < 0 ? kiln__schedule_launches(s, ir) : s->any.stages;
}

/* Who works on a row of so many vectors or single columns, and on a run of it; whether whole blocks do. */
static bool find_lanes(const kiln__schedule *s, bool side_by_side, int64_t elements, kiln__shape *shape) {
    const int64_t all = kiln__times(elements, shape->runs);
    const int64_t lanes = kiln__divide_up(all, kiln__greatest(s->batch, LEAST_STEPS));
    /* Blocks that go through all rows have sums for each team: the fewer, the more blocks there are. */
    const bool block = all > (s->any.sums.some ? s->team.threads : COLUMNS_OF_LANES * LANES);
    const bool one_thread = side_by_side && shape->cols <= LEAST_SHARED;
    shape->rows_in_lanes = s->any.lanes_can_be_rows && side_by_side && !one_thread;
    shape->row_shift = one_thread ? 0 : block ? log2_from(all, s->team.threads) : log2_from(lanes, LANES);
    if (s->any.sorted.bytes) find_sorted(s, shape);
    const int threads = shape->rows_in_lanes ? s->team.threads / LANES : 1 << shape->row_shift;
    shape->run_shift = s->passes.ordered ? 0 : log2_from(elements, threads);
    if (s->any.blocks.lanes) shape->run_shift = log2_from(s->any.blocks.lanes, LANES);
    shape->row_shift = (int32_t)kiln__greatest(shape->row_shift, shape->run_shift);
    return block;
}

/* How many blocks share a row of so many steps of one of them. */
static int32_t chunks_of(const kiln__schedule *s, const kiln__shape *shape, bool block, int64_t steps) {
    if (s->any.stages && shape->rows_in_lanes) return reduced_chunks(shape->cols, of_lanes);
    if (s->any.stages && block) return reduced_chunks(steps, of_blocks);
    const bool one_place = shape->runs == 1 || s->any.blocks.lanes;
    return s->any.shares_rows && block && one_place ? flat_chunks(s, steps, shape->rows) : 1;
}

kiln__shape kiln__shape_of(const kiln__schedule *s, const kiln__problem *exact) {
    kiln__shape shape = extents_of(exact);
    /* A single row is computed as it would be among others. */
    const bool side_by_side = exact->layout == KILN__LAYOUT_OUTER;
    if (s->any.blocks.lanes) find_runs(s, exact, &shape);
    shape.vectors = !side_by_side && has_vectors(s, &shape, exact);
    const int64_t elements = kiln__divide_up(shape.run, shape.vectors ? s->vector_width : 1);
    const bool block = find_lanes(s, side_by_side, elements, &shape);
    if (s->any.sums.some) find_teams(s, &shape);
    shape.chunks = chunks_of(s, &shape, block, kiln__divide_up(kiln__times(elements, shape.runs), s->team.threads));
    shape.stage = s->any.stages && shape.chunks > 1 ? 0 : -1;
    return shape;
}

bool kiln__shape_grid(const kiln__schedule *s, const kiln__shape *shape, kiln__grid *grid) {
    const int64_t alone = shape->chunks > 1 ? 1 : s->team.threads >> shape->row_shift;
    const int64_t rows = shape->rows_in_lanes ? LANES : alone;
    const int64_t blocks = kiln__times(kiln__divide_up(shape->rows, rows), shape->chunks);
    if (shape->blocks) {
        *grid = (kiln__grid){(unsigned)shape->blocks, 1, 1};
        return true;
    }
    const int64_t limit = INT32_MAX, layers = kiln__divide_up(blocks, limit);
    *grid = (kiln__grid){(unsigned)kiln__least(blocks, limit), (unsigned)layers, 1};
    return layers <= 65535;
}

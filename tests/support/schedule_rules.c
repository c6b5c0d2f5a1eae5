/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of schedules and launches, shared by the tests that go through tables and the one that draws at random. */
#include "schedule_rules.h"

#include <string.h>

#include "base/types.h"

#define RULE(holds) \
    if (!(holds)) return #holds
#define IMPLIES(condition, holds) RULE(!(condition) || (holds))

__extension__ typedef __int128 wide; /* products of two numbers of 64 bits */

/* Who works on a row: threads, blocks. */
static const char *group_fault(const kiln__schedule *s, const kiln__device *device) {
    bool outer = kiln__layout_of(s) == KILN__LAYOUT_OUTER,
         together = kiln__schedule_clusters(s) || s->team.group == KILN__GROUP_GRID;
    bool tile = s->staging.kind == KILN__STAGING_TILE;
    int64_t rows_of_threads = s->team.rows_per_block / (outer ? s->vector_width : 1) +
                              (s->edges == KILN__EDGES_MISALIGNED); /* outer: packs of rows */
    RULE(s->team.threads % 32 == 0 && s->team.threads >= 32 && s->team.threads <= 1024);
    RULE(s->team.blocks_per_row >= 1 && (together || s->team.blocks_per_row == 1));
    IMPLIES(s->team.group == KILN__GROUP_CLUSTER, s->team.blocks_per_row > 1);
    IMPLIES(kiln__schedule_clusters(s), device->arch >= 90 && s->team.blocks_per_row <= 16);
    IMPLIES(kiln__schedule_clusters(s), kiln__is_power_of_two(s->team.blocks_per_row));
    IMPLIES(s->team.group == KILN__GROUP_GRID, s->team.blocks_per_row == device->sm_count && !s->passes.ordered);
    if (kiln__layout_of(s) == KILN__LAYOUT_FLAT) {
        RULE(s->team.rows_per_block == 1 && s->split.chunks == 1 && s->team.blocks_per_row == 1);
        IMPLIES(s->strategy != KILN__TRANSPOSE, s->team.threads_per_row == s->team.threads);
        IMPLIES((s->strategy == KILN__TRANSPOSE),
                s->team.threads_per_row >= 1 && s->team.threads % s->team.threads_per_row == 0);
        IMPLIES((s->strategy == KILN__TRANSPOSE), kiln__is_power_of_two(s->steps)); /* what is shifted counts by it */
        return NULL;
    }
    RULE(s->team.threads_per_row >= 1 && s->team.threads_per_row % s->team.blocks_per_row == 0);
    RULE(kiln__is_power_of_two(s->team.threads_per_row / s->team.blocks_per_row));
    RULE(s->team.rows_per_block >= 1 && (outer || kiln__row_of(s)->rows_in_flight ||
                                         s->team.group == KILN__GROUP_LANES || s->team.rows_per_block == 1));
    IMPLIES(s->team.group == KILN__GROUP_LANES, s->team.threads_per_row <= 32);
    IMPLIES(s->edges == KILN__EDGES_MASKED, !outer);
    IMPLIES(s->edges == KILN__EDGES_PARTIAL, outer);
    IMPLIES((s->edges == KILN__EDGES_MISALIGNED),
            outer && !s->passes.ordered && kiln__column_of(s)->run_rows == s->vector_width && s->vector_width > 1);
    IMPLIES((s->edges == KILN__EDGES_MISALIGNED),
            s->team.threads_per_row % s->vector_width == 0 && s->team.rows_per_block % s->vector_width == 0);
    IMPLIES(tile, s->team.threads * (kiln__column_of(s)->tile.rows ? kiln__column_of(s)->tile.ranks_per_thread : 1) >=
                      s->team.threads_per_row); /* its rows in several passes */
    IMPLIES(tile, (int64_t)s->team.rows_per_block * s->team.threads_per_row >= s->team.threads);
    const bool wrapped = s->edges == KILN__EDGES_WRAPPED;
    RULE((kiln__column_of(s)->groups > 0) == wrapped);
    if (wrapped) {
        const int64_t elements = (int64_t)s->team.threads_per_row * s->team.rows_per_block;
        const int64_t vectors = elements / s->vector_width * kiln__column_of(s)->groups;
        RULE(outer && !tile && !s->passes.ordered && kiln__column_of(s)->run_rows == 1 && s->team.blocks_per_row == 1);
        RULE(elements % s->vector_width == 0 && vectors <= s->team.threads && s->team.threads < vectors + 32);
        RULE(kiln__column_of(s)->groups <= s->split.chunks || s->split.chunks == 1);
        RULE(kiln__column_of(s)->exchanged_rows >= 1 && kiln__column_of(s)->exchanged_rows <= s->team.rows_per_block);
    }
    IMPLIES(!tile && !kiln__row_of(s)->rows_in_flight && !wrapped,
            rows_of_threads * s->team.threads_per_row == (int64_t)s->team.threads * s->team.blocks_per_row);
    /* Half of the row at least stays with those who go through several rows, but for a whole grid. */
    IMPLIES(kiln__row_of(s)->persistent && s->team.group != KILN__GROUP_GRID, 2 * s->staging.steps >= s->steps);
    IMPLIES(kiln__row_of(s)->rows_in_flight, s->team.threads_per_row == s->team.threads * s->team.blocks_per_row &&
                                                 s->team.rows_per_block > 1 && kiln__row_of(s)->invariant_inputs);
    IMPLIES(kiln__row_of(s)->rows_in_flight, s->staging.kind == KILN__STAGING_SHARED && !kiln__row_of(s)->persistent &&
                                                 !s->passes.ordered && kiln__row_of(s)->prefetch);
    IMPLIES(kiln__row_of(s)->rows_in_flight,
            kiln__row_of(s)->row_spacing >= 1 &&
                kiln__row_of(s)->row_phase * kiln__row_of(s)->row_spacing % s->vector_width == 0 &&
                s->vector_width % kiln__row_of(s)->row_spacing == 0);
    IMPLIES(kiln__row_of(s)->rows_in_flight && s->edges != KILN__EDGES_PEELED, kiln__row_of(s)->row_spacing == 1);
    IMPLIES(outer, s->team.min_blocks_per_sm * s->team.threads <= device->threads_per_sm);
    IMPLIES(kiln__column_of(s)->transpose_width, outer && !s->passes.ordered && s->edges != KILN__EDGES_MISALIGNED &&
                                                     !kiln__column_of(s)->tile.rows &&
                                                     kiln__column_of(s)->transpose_width <= KILN__ACCESS_BYTES &&
                                                     s->steps % kiln__column_of(s)->transpose_width == 0);
    IMPLIES(kiln__column_of(s)->transpose_width && s->staging.kind != KILN__STAGING_SHARED,
            s->batch % kiln__column_of(s)->transpose_width == 0);
    RULE((kiln__column_of(s)->tile.rows > 0) == (tile && outer));
    if (kiln__column_of(s)->tile.rows) {
        RULE(s->team.rows_per_block >= kiln__column_of(s)->tile.rows && kiln__column_of(s)->run_rows == 1 &&
             !s->passes.ordered && s->split.chunks == 1);
        RULE(s->team.blocks_per_row == 1 && kiln__column_of(s)->tile.ranks_per_thread >= 1 &&
             kiln__is_power_of_two(kiln__column_of(s)->tile.ranks_per_thread));
        RULE(kiln__column_of(s)->rank_groups >= 1 &&
             s->team.threads_per_row % (kiln__column_of(s)->rank_groups * kiln__column_of(s)->tile.ranks_per_thread) ==
                 0);
        RULE(s->team.rows_per_block / s->vector_width *
                 (s->team.threads_per_row / kiln__column_of(s)->tile.ranks_per_thread) ==
             s->team.threads);
        RULE(s->team.min_blocks_per_sm * s->team.threads <= device->threads_per_sm && s->team.min_blocks_per_sm <= 32);
    }
    return NULL;
}

/* Where a row stays, and what of it. */
static const char *staging_fault(const kiln__schedule *s, const kiln__problem *p, const kiln__device *device) {
    bool shared = s->staging.kind == KILN__STAGING_SHARED, tile = s->staging.kind == KILN__STAGING_TILE;
    RULE(kiln__is_power_of_two(s->vector_width) && s->vector_width <= 16);
    RULE(s->steps >= 1 && s->batch >= 1 && s->batch <= s->steps);
    RULE(s->staging.steps >= 0 && s->staging.steps <= s->steps);
    IMPLIES(shared && !kiln__row_of(s)->persistent, s->staging.steps == s->steps);
    IMPLIES(shared, s->staging.steps <=
                        device->shared_per_block / s->team.threads); /* they are unrolled: no more than have room */
    IMPLIES(kiln__row_of(s)->persistent, shared);
    IMPLIES(s->staging.kind == KILN__STAGING_REGISTERS, s->batch == s->steps);
    IMPLIES((s->edges == KILN__EDGES_PEELED),
            kiln__layout_of(s) == KILN__LAYOUT_INNER &&
                (s->staging.kind == KILN__STAGING_REGISTERS || kiln__row_of(s)->rows_in_flight));
    IMPLIES((s->edges == KILN__EDGES_PEELED),
            s->edges != KILN__EDGES_MASKED && !s->passes.ordered && s->team.threads_per_row >= 2 * s->vector_width);
    RULE(s->batch * s->vector_width <= KILN__MOST_REGISTER_ELEMENTS); /* in registers these are all steps */
    RULE(s->staging.bytes >= 0 && s->staging.bytes <= device->shared_per_block);
    const kiln__row_schedule *row = kiln__row_of(s);
    const bool across = row->across.blocks > 0; /* sums of all rows come behind what stays of one */
    const bool slots = row->slots.bytes > 0;    /* what blocks of columns take, too */
    IMPLIES(!shared && !tile && !across && !slots, s->staging.bytes == 0);
    IMPLIES(slots,
            !across && s->team.blocks_per_row == 1 && row->slots.slots >= row->slots.offset + (p->block_count > 0));
    IMPLIES(slots && !row->slots.blocks, row->slots.offset + (wide)row->slots.bytes == s->staging.bytes &&
                                             (wide)row->slots.value_stride * s->vector_width >= row->slots.columns);
    IMPLIES(row->slots.blocks, s->team.group == KILN__GROUP_BLOCK && s->team.rows_per_block == 1 &&
                                   row->slots.row_bytes % 16 == 0 && row->slots.bytes == row->slots.row_bytes);
    IMPLIES(across, row->across.offset % 16 == 0 && row->across.bytes > 0 && s->team.blocks_per_row == 1 &&
                        row->across.offset + (wide)row->across.bytes * s->team.rows_per_block == s->staging.bytes);
    return NULL;
}

/* What a row's threads, blocks and chunks cover of its columns: all of them, and nothing sits out. */
static const char *cover_fault(const kiln__schedule *s, const kiln__problem *p) {
    bool outer = kiln__layout_of(s) == KILN__LAYOUT_OUTER, inner = kiln__layout_of(s) == KILN__LAYOUT_INNER;
    RULE(s->split.chunks >= 1 && s->split.chunks <= (kiln__slots_plan_of(s)->bytes ? 65535 : 4096));
    IMPLIES(s->split.chunks > 1, s->staging.kind == KILN__STAGING_NONE && s->team.blocks_per_row == 1);
    if (s->strategy == KILN__TRANSPOSE) {
        const int64_t run = p->outer[p->outer_rank - 1], behind = s->team.threads / s->team.threads_per_row * s->steps;
        RULE(s->transpose.dim >= 0 && s->transpose.dim < p->outer_rank - 1 && run % s->vector_width == 0);
        IMPLIES(s->edges != KILN__EDGES_PARTIAL, p->outer[s->transpose.dim] % s->steps == 0);
        IMPLIES(s->team.threads_per_row > 1, (int64_t)s->team.threads_per_row / 2 * s->vector_width < run);
        /* Where threads are pinned, or more than the least, some may sit out, but not most of a small block. */
        IMPLIES(s->team.threads_per_row < s->team.threads,
                behind / 8 < p->outer[s->transpose.dim] || s->team.threads > 64);
    }
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        const bool long_enough = p->outer_rank == 1 || p->outer[p->outer_rank - (p->outer_rank > 0)] >= s->vector_width;
        const bool flat = kiln__layout_of(s) == KILN__LAYOUT_FLAT && s->strategy != KILN__TRANSPOSE;
        const int last = p->inner_rank - 1;
        const bool same = s->tensors[o].kind == KILN__ACCESS_SAME && !operand->output &&
                          s->staging.kind != KILN__STAGING_TILE && last > 0 && !operand->inner_strides[last] &&
                          p->inner[last] >= s->vector_width;
        IMPLIES(kiln__access_crosses(&s->tensors[o]), flat ? !operand->linear && long_enough : !outer && same);
    }
    IMPLIES(s->staging.whole_steps > 0, kiln__layout_of(s) == KILN__LAYOUT_OUTER);
    if (kiln__layout_of(s) == KILN__LAYOUT_FLAT) return NULL;
    /* Of the largest rows the last chunk may end behind the last number. */
    wide step = (wide)s->team.threads_per_row * (outer ? 1 : s->vector_width), chunk = step * s->steps;
    wide columns = (wide)p->cols + (s->edges == KILN__EDGES_MASKED ? s->vector_width - 1 : 0);
    if (s->edges == KILN__EDGES_PEELED)
        columns = (p->cols / s->vector_width - 1) * s->vector_width; /* those in packs */
    RULE(s->split.chunks * chunk >= columns);
    IMPLIES(p->cols, (s->split.chunks - 1) * chunk < columns);
    IMPLIES(p->cols && s->split.chunks == 1,
            step * (s->steps - (kiln__column_of(s)->transpose_width ? kiln__column_of(s)->transpose_width : 1)) <
                columns);
    IMPLIES(s->edges != KILN__EDGES_MASKED && s->edges != KILN__EDGES_PEELED && inner, p->cols % s->vector_width == 0);
    IMPLIES(s->passes.ordered, s->edges != KILN__EDGES_MASKED);
    return NULL;
}

/* How each operand is accessed. */
static const char *access_fault(const kiln__schedule *s, const kiln__problem *p) {
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        int size = (int)kiln_type_size(operand->type), vector = s->tensors[o].width;
        RULE(vector >= 0 && vector * size <= 16);
        IMPLIES(vector, kiln__is_power_of_two(vector));
        IMPLIES(vector && s->edges != KILN__EDGES_SHIFTED && !kiln__schedule_shifts(s), vector <= operand->alignment);
        IMPLIES(vector && kiln__schedule_shifts(s), s->tensors[o].shifted == (o != s->row.reference));
        IMPLIES(vector && s->edges == KILN__EDGES_SHIFTED, s->tensors[o].shifted);
        IMPLIES(vector, (s->tensors[o].kind != KILN__ACCESS_TRANSPOSED ? s->vector_width
                         : kiln__column_of(s)->transpose_width         ? kiln__column_of(s)->transpose_width
                                                                       : s->steps) %
                                vector ==
                            0);
        IMPLIES((s->tensors[o].kind == KILN__ACCESS_TRANSPOSED) && !kiln__column_of(s)->transpose_width,
                s->strategy == KILN__TRANSPOSE && !operand->output && operand->outer_strides[s->transpose.dim] == 1);
        IMPLIES((s->tensors[o].kind == KILN__ACCESS_TRANSPOSED) && kiln__column_of(s)->transpose_width,
                operand->output && operand->per_element && vector > 1);
        for (int d = 0; d < p->outer_rank && s->strategy == KILN__TRANSPOSE && vector && !s->tensors[o].shifted; d++)
            IMPLIES(d != ((s->tensors[o].kind == KILN__ACCESS_TRANSPOSED) ? s->transpose.dim : p->outer_rank - 1),
                    operand->outer_strides[d] % vector == 0);
        IMPLIES(vector && s->edges != KILN__EDGES_MASKED && s->edges != KILN__EDGES_PEELED && operand->linear,
                operand->row_stride % vector == 0 || operand->row_stride == 1);
        RULE(s->tensors[o].offset >= 0 && s->tensors[o].offset <= s->staging.bytes && s->tensors[o].offset % 16 == 0);
    }
    return NULL;
}

const char *schedule_fault(const kiln__schedule *schedule, const kiln__problem *problem, const kiln__device *device) {
    const char *fault = group_fault(schedule, device);
    RULE(schedule->reason && *schedule->reason && *schedule->text);
    /* It says why: figures of measurements would be those of another shape. */
    RULE(!strchr(schedule->reason, '%') && !strstr(schedule->reason, "B/s") && !strstr(schedule->reason, " x "));
    RULE(strlen(schedule->text) + 1 < sizeof schedule->text);
    if (!fault) fault = staging_fault(schedule, problem, device);
    if (!fault) fault = cover_fault(schedule, problem);
    return fault ? fault : access_fault(schedule, problem);
}

static int field_bytes(const kiln__field *field, const kiln__ir *ir) {
    if (field->kind == KILN__FIELD_DIVISOR) return 12;
    if (field->kind != KILN__FIELD_SCALAR) return 8;
    return ir->scalar_types[field->index] == KILN__F64 || ir->scalar_types[field->index] == KILN__I64 ? 8 : 4;
}

/* Fields lie one behind the other, at addresses that suit them. */
static const char *argument_fault(const kiln__prepared *prepared) {
    const kiln__arguments *arguments = &prepared->arguments;
    int end = 0;
    RULE(arguments->count >= 1 && arguments->count <= KILN__MAX_FIELDS);
    for (int f = 0; f < arguments->count; f++) {
        const kiln__field *field = &arguments->fields[f];
        int bytes = field_bytes(field, prepared->ir);
        RULE(field->offset == end && field->offset % (bytes == 8 ? 8 : 4) == 0);
        end = field->offset + bytes;
    }
    RULE(arguments->size == (end + 7) / 8 * 8 && arguments->size <= KILN__MAX_ARGUMENT_BYTES);
    return NULL;
}

/* Static shared memory, through which the warps of a row exchange what they combine; more than 48 KB do not compile. */
static const char *exchange_fault(const kiln__prepared *prepared) {
    const kiln__schedule *s = &prepared->schedule;
    const kiln__ir *ir = prepared->ir;
    int64_t bytes = 0, warps = s->team.threads / 32;
    if (s->team.group == KILN__GROUP_CLUSTER) /* where there are many, those of a block first, then blocks */
        warps = warps * s->team.blocks_per_row > 32 ? warps + s->team.blocks_per_row : warps * s->team.blocks_per_row;
    for (uint32_t i = 0; i < ir->count; i++)
        bytes += (int64_t)kiln__reduction_values(ir->insts[i].op) * (ir->insts[i].type == KILN__F64 ? 8 : 4);
    IMPLIES(s->split.final_threads > 32,
            bytes * (s->split.final_block_threads / 32) * (kiln__column_of(s)->run_rows ? s->vector_width : 1) <=
                49152);
    if (s->edges == KILN__EDGES_MISALIGNED || kiln__column_of(s)->tile.rows) {
        const int sharing = s->team.threads_per_row / s->team.blocks_per_row /
                            (kiln__column_of(s)->tile.rows ? kiln__column_of(s)->tile.ranks_per_thread : 1);
        const int slots = kiln__column_of(s)->tile.rows && sharing == 1
                              ? 0
                              : sharing + (s->team.blocks_per_row > 1 ? s->team.blocks_per_row : 0);
        int64_t padded = 0;
        for (uint32_t i = 0; i < ir->count; i++)
            padded += kiln__op_is_arg(ir->insts[i].op) ? 16 : 8 * kiln__reduction_values(ir->insts[i].op);
        bool mixed = false;
        for (uint32_t i = 0; i < ir->count; i++)
            mixed |= kiln__reduction_values(ir->insts[i].op) > 0 &&
                     (ir->insts[i].type == KILN__F64 || ir->insts[i].type == KILN__I64);
        RULE((mixed ? padded : bytes) * slots * s->team.rows_per_block <= 49152);
    } else if (s->edges == KILN__EDGES_WRAPPED) {
        RULE(bytes * kiln__column_of(s)->groups * s->team.threads_per_row * kiln__column_of(s)->exchanged_rows <=
             49152);
    } else if (s->team.group == KILN__GROUP_COLUMNS &&
               s->team.blocks_per_row == 1) { /* warps, or ranks of many lanes */
        const int lanes = s->team.threads / s->team.threads_per_row;
        const int slots = lanes < 32 ? s->team.threads / 32 : s->team.threads_per_row;
        RULE(slots == 1 || bytes * slots * s->team.rows_per_block <= 49152);
    }
    if (s->team.group == KILN__GROUP_LANES || s->team.group == KILN__GROUP_COLUMNS) return NULL;
    RULE(bytes * warps * (kiln__row_of(s)->persistent && s->team.group != KILN__GROUP_GRID ? 2 : 1) <= 49152);
    return NULL;
}

const char *launch_fault(const kiln__prepared *prepared) {
    const kiln__schedule *s = &prepared->schedule;
    const kiln__problem *p = &prepared->problem;
    int64_t workspace = kiln__schedule_workspace(s, prepared->ir, p->rows);
    int launches = kiln__schedule_launches(s, prepared->ir);
    kiln__grid grid = {0, 0, 0};
    RULE(launches >= 1 && launches <= 2 * KILN__MAX_PHASES + 2);
    RULE((kiln__across_plan_of(s)->blocks > 0) == p->across);
    IMPLIES(s->split.chunks == 1, launches == (p->across ? 2 : 1));
    const int64_t rows = kiln__schedule_rows(s, p);
    RULE(rows >= p->rows);
    IMPLIES(s->edges != KILN__EDGES_MISALIGNED && s->edges != KILN__EDGES_SHIFTED && s->strategy != KILN__TRANSPOSE &&
                !kiln__column_of(s)->tile.rows,
            rows == p->rows);
    IMPLIES(s->edges == KILN__EDGES_SHIFTED && p->rows, rows >= p->rows + s->vector_width - 1);
    IMPLIES(kiln__column_of(s)->tile.rows && rows < INT64_MAX,
            p->rows <= rows / s->team.rows_per_block * kiln__column_of(s)->tile.rows);
    const int64_t run = kiln__schedule_run(s, p);
    RULE(run <= rows);
    if (kiln__schedule_grid(s, rows, run, &grid)) {
        bool flat = kiln__layout_of(s) == KILN__LAYOUT_FLAT;
        int64_t each = flat ? s->team.threads * s->steps * s->vector_width : s->team.rows_per_block;
        int64_t apart = kiln__row_of(s)->rows_in_flight ? kiln__row_of(s)->row_spacing : 1;
        const int groups = kiln__column_of(s)->groups ? kiln__column_of(s)->groups : 1;
        const int64_t chunks = kiln__divide_up(s->split.chunks, groups);
        wide blocks = (wide)kiln__divide_up(rows, each * apart) * apart * chunks * s->team.blocks_per_row;
        const int64_t most = kiln__across_plan_of(s)->blocks;
        if (s->team.group == KILN__GROUP_GRID) blocks = p->rows ? s->team.blocks_per_row : 0;
        if (p->across) blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
        RULE(grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535 &&
             grid.x % (unsigned)s->team.blocks_per_row == 0);
        RULE((wide)grid.x * grid.y * grid.z >= blocks);
        IMPLIES(grid.y, (wide)grid.x * (grid.y - 1) < blocks);
        IMPLIES(s->split.chunks > 1 && kiln__layout_of(s) == KILN__LAYOUT_OUTER && rows, grid.y == (unsigned)chunks);
        IMPLIES(kiln__layout_of(s) != KILN__LAYOUT_OUTER || s->split.chunks == 1, grid.z == 1);
        RULE(workspace >= 0);
        IMPLIES(p->rows, (workspace > 0) == kiln__schedule_has_workspace(s));
        IMPLIES(!kiln__schedule_exchanges(s), launches == 1);
    }
    const char *fault = exchange_fault(prepared);
    return fault ? fault : argument_fault(prepared);
}

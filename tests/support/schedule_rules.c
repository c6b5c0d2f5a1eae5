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
    bool outer = s->layout == KILN__LAYOUT_OUTER, together = kiln__schedule_clusters(s) || s->group == KILN__GROUP_GRID;
    bool tile = s->staging == KILN__STAGING_TILE;
    int64_t rows_of_threads =
        s->rows_per_block / (outer ? s->vector_width : 1) + s->misaligned; /* outer: packs of rows */
    RULE(s->threads % 32 == 0 && s->threads >= 32 && s->threads <= 1024);
    RULE(s->blocks_per_row >= 1 && (together || s->blocks_per_row == 1));
    IMPLIES(s->group == KILN__GROUP_CLUSTER, s->blocks_per_row > 1);
    IMPLIES(kiln__schedule_clusters(s), device->arch >= 90 && s->blocks_per_row <= 16);
    IMPLIES(kiln__schedule_clusters(s), kiln__is_power_of_two(s->blocks_per_row));
    IMPLIES(s->group == KILN__GROUP_GRID, s->blocks_per_row == device->sm_count && !s->ordered);
    if (s->layout == KILN__LAYOUT_FLAT) {
        RULE(s->rows_per_block == 1 && s->splits == 1 && s->blocks_per_row == 1);
        IMPLIES(!s->transposes, s->threads_per_row == s->threads);
        IMPLIES(s->transposes, s->threads_per_row >= 1 && s->threads % s->threads_per_row == 0);
        IMPLIES(s->transposes, kiln__is_power_of_two(s->steps)); /* what is shifted counts by it */
        return NULL;
    }
    RULE(s->threads_per_row >= 1 && s->threads_per_row % s->blocks_per_row == 0);
    RULE(kiln__is_power_of_two(s->threads_per_row / s->blocks_per_row));
    RULE(s->rows_per_block >= 1 &&
         (outer || s->rows_in_flight || s->group == KILN__GROUP_LANES || s->rows_per_block == 1));
    IMPLIES(s->group == KILN__GROUP_LANES, s->threads_per_row <= 32);
    IMPLIES(s->misaligned, outer && !s->ordered && !s->masked && s->run_rows == s->vector_width && s->vector_width > 1);
    IMPLIES(s->misaligned, s->threads_per_row % s->vector_width == 0 && s->rows_per_block % s->vector_width == 0);
    IMPLIES(tile, s->threads * (s->tile_rows ? s->ranks_per_thread : 1) >=
                      s->threads_per_row); /* its rows in several passes */
    IMPLIES(tile, (int64_t)s->rows_per_block * s->threads_per_row >= s->threads);
    IMPLIES(!tile && !s->rows_in_flight,
            rows_of_threads * s->threads_per_row == (int64_t)s->threads * s->blocks_per_row);
    IMPLIES(s->rows_in_flight,
            s->threads_per_row == s->threads * s->blocks_per_row && s->rows_per_block > 1 && s->invariant_inputs);
    IMPLIES(s->rows_in_flight, s->staging == KILN__STAGING_SHARED && !s->persistent && !s->ordered && s->prefetch);
    IMPLIES(s->rows_in_flight, s->row_spacing >= 1 && s->row_phase * s->row_spacing % s->vector_width == 0 &&
                                   s->vector_width % s->row_spacing == 0);
    IMPLIES(s->rows_in_flight && !s->peeled, s->row_spacing == 1);
    IMPLIES(outer, s->min_blocks_per_sm * s->threads <= device->threads_per_sm);
    IMPLIES(s->transpose_width, outer && !s->ordered && !s->misaligned && !s->tile_rows && s->transpose_width <= 8 &&
                                    s->steps % s->transpose_width == 0);
    IMPLIES(s->transpose_width && s->staging != KILN__STAGING_SHARED, s->batch % s->transpose_width == 0);
    RULE((s->tile_rows > 0) == (tile && outer));
    if (s->tile_rows) {
        RULE(s->rows_per_block >= s->tile_rows && s->run_rows == 1 && !s->ordered && s->splits == 1);
        RULE(s->blocks_per_row == 1 && s->ranks_per_thread >= 1 && kiln__is_power_of_two(s->ranks_per_thread));
        RULE(s->rank_groups >= 1 && s->threads_per_row % (s->rank_groups * s->ranks_per_thread) == 0);
        RULE(s->rows_per_block / s->vector_width * (s->threads_per_row / s->ranks_per_thread) == s->threads);
        RULE(s->min_blocks_per_sm * s->threads <= device->threads_per_sm && s->min_blocks_per_sm <= 32);
    }
    return NULL;
}

/* Where a row stays, and what of it. */
static const char *staging_fault(const kiln__schedule *s, const kiln__device *device) {
    bool shared = s->staging == KILN__STAGING_SHARED, tile = s->staging == KILN__STAGING_TILE;
    RULE(kiln__is_power_of_two(s->vector_width) && s->vector_width <= 16);
    RULE(s->steps >= 1 && s->batch >= 1 && s->batch <= s->steps);
    RULE(s->staged_steps >= 0 && s->staged_steps <= s->steps);
    IMPLIES(shared && !s->persistent, s->staged_steps == s->steps);
    IMPLIES(shared,
            s->staged_steps <= device->shared_per_block / s->threads); /* they are unrolled: no more than have room */
    IMPLIES(s->persistent, shared);
    IMPLIES(s->staging == KILN__STAGING_REGISTERS, s->batch == s->steps);
    IMPLIES(s->peeled, s->layout == KILN__LAYOUT_INNER && (s->staging == KILN__STAGING_REGISTERS || s->rows_in_flight));
    IMPLIES(s->peeled, !s->masked && !s->ordered && s->threads_per_row >= 2 * s->vector_width);
    RULE(s->batch * s->vector_width <= KILN__MOST_REGISTER_ELEMENTS); /* in registers these are all steps */
    RULE(s->shared_bytes >= 0 && s->shared_bytes <= device->shared_per_block);
    IMPLIES(!shared && !tile && !s->prefetch, s->shared_bytes == 0);
    return NULL;
}

/* What a row's threads, blocks and chunks cover of its columns: all of them, and nothing sits out. */
static const char *cover_fault(const kiln__schedule *s, const kiln__problem *p) {
    bool outer = s->layout == KILN__LAYOUT_OUTER, inner = s->layout == KILN__LAYOUT_INNER;
    RULE(s->splits >= 1 && s->splits <= 4096);
    IMPLIES(s->splits > 1, s->staging == KILN__STAGING_NONE && s->blocks_per_row == 1);
    if (s->transposes) {
        const int64_t run = p->outer[p->outer_rank - 1], behind = s->threads / s->threads_per_row * s->steps;
        RULE(s->transposed_dim >= 0 && s->transposed_dim < p->outer_rank - 1 && run % s->vector_width == 0);
        IMPLIES(!s->masked, p->outer[s->transposed_dim] % s->steps == 0);
        IMPLIES(s->threads_per_row > 1, (int64_t)s->threads_per_row / 2 * s->vector_width < run);
        /* Where threads are pinned, or more than the least, some may sit out, but not most of a small block. */
        IMPLIES(s->threads_per_row < s->threads, behind / 8 < p->outer[s->transposed_dim] || s->threads > 64);
    }
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const bool long_enough = p->outer_rank == 1 || p->outer[p->outer_rank - (p->outer_rank > 0)] >= s->vector_width;
        IMPLIES(s->crossing[o],
                s->layout == KILN__LAYOUT_FLAT && !s->transposes && !p->operands[o].linear && long_enough);
    }
    if (s->layout == KILN__LAYOUT_FLAT) return NULL;
    /* Of the largest rows the last chunk may end behind the last number. */
    wide step = (wide)s->threads_per_row * (outer ? 1 : s->vector_width), chunk = step * s->steps;
    wide columns = (wide)p->cols + (s->masked && inner ? s->vector_width - 1 : 0);
    if (s->peeled) columns = (p->cols / s->vector_width - 1) * s->vector_width; /* those in packs */
    RULE(s->splits * chunk >= columns);
    IMPLIES(p->cols, (s->splits - 1) * chunk < columns);
    IMPLIES(p->cols && s->splits == 1, step * (s->steps - (s->transpose_width ? s->transpose_width : 1)) < columns);
    IMPLIES(!s->masked && !s->peeled && inner, p->cols % s->vector_width == 0);
    IMPLIES(s->ordered && inner, !s->masked);
    return NULL;
}

/* How each operand is accessed. */
static const char *access_fault(const kiln__schedule *s, const kiln__problem *p) {
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        int size = (int)kiln_type_size(operand->type), vector = s->access[o];
        RULE(vector >= 0 && vector * size <= 16);
        IMPLIES(vector, kiln__is_power_of_two(vector) && vector <= operand->alignment);
        IMPLIES(vector, (!s->transposed[o]    ? s->vector_width
                         : s->transpose_width ? s->transpose_width
                                              : s->steps) %
                                vector ==
                            0);
        IMPLIES(s->transposed[o] && !s->transpose_width,
                s->transposes && !operand->output && operand->outer_strides[s->transposed_dim] == 1);
        IMPLIES(s->transposed[o] && s->transpose_width, operand->output && operand->per_element && vector > 1);
        for (int d = 0; d < p->outer_rank && s->transposes && vector && !s->shifted[o]; d++)
            IMPLIES(d != (s->transposed[o] ? s->transposed_dim : p->outer_rank - 1),
                    operand->outer_strides[d] % vector == 0);
        IMPLIES(vector && !s->masked && !s->peeled && operand->linear,
                operand->row_stride % vector == 0 || operand->row_stride == 1);
        RULE(s->tile_offset[o] >= 0 && s->tile_offset[o] <= s->shared_bytes && s->tile_offset[o] % 16 == 0);
    }
    return NULL;
}

const char *schedule_fault(const kiln__schedule *schedule, const kiln__problem *problem, const kiln__device *device) {
    const char *fault = group_fault(schedule, device);
    RULE(schedule->reason && *schedule->reason && *schedule->text);
    RULE(strlen(schedule->text) + 1 < sizeof schedule->text);
    if (!fault) fault = staging_fault(schedule, device);
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
    int64_t bytes = 0, warps = s->threads / 32;
    if (s->group == KILN__GROUP_CLUSTER) /* where there are many, those of a block first, then blocks */
        warps = warps * s->blocks_per_row > 32 ? warps + s->blocks_per_row : warps * s->blocks_per_row;
    for (uint32_t i = 0; i < ir->count; i++)
        bytes += (int64_t)kiln__reduction_values(ir->insts[i].op) * (ir->insts[i].type == KILN__F64 ? 8 : 4);
    IMPLIES(s->final_threads > 32,
            bytes * (s->final_block_threads / 32) * (s->run_rows ? s->vector_width : 1) <= 49152);
    if (s->misaligned || s->tile_rows) {
        const int sharing = s->threads_per_row / s->blocks_per_row / (s->tile_rows ? s->ranks_per_thread : 1);
        const int slots = s->tile_rows && sharing == 1 ? 0 : sharing + (s->blocks_per_row > 1 ? s->blocks_per_row : 0);
        int64_t padded = 0;
        for (uint32_t i = 0; i < ir->count; i++)
            padded += kiln__op_is_arg(ir->insts[i].op) ? 16 : 8 * kiln__reduction_values(ir->insts[i].op);
        bool mixed = false;
        for (uint32_t i = 0; i < ir->count; i++)
            mixed |= kiln__reduction_values(ir->insts[i].op) > 0 &&
                     (ir->insts[i].type == KILN__F64 || ir->insts[i].type == KILN__I64);
        RULE((mixed ? padded : bytes) * slots * s->rows_per_block <= 49152);
    }
    if (s->group == KILN__GROUP_LANES || s->group == KILN__GROUP_COLUMNS) return NULL;
    RULE(bytes * warps * (s->persistent && s->group != KILN__GROUP_GRID ? 2 : 1) <= 49152);
    return NULL;
}

const char *launch_fault(const kiln__prepared *prepared) {
    const kiln__schedule *s = &prepared->schedule;
    const kiln__problem *p = &prepared->problem;
    int64_t workspace = kiln__schedule_workspace(s, prepared->ir, p->rows);
    int launches = kiln__schedule_launches(s, prepared->ir);
    kiln__grid grid = {0, 0, 0};
    RULE(launches >= 1 && launches <= KILN__MAX_KERNELS);
    IMPLIES(s->splits == 1, launches == 1);
    const int64_t rows = kiln__schedule_rows(s, p);
    RULE(rows >= p->rows);
    IMPLIES(!s->misaligned && !s->transposes && !s->tile_rows, rows == p->rows);
    IMPLIES(s->tile_rows && rows < INT64_MAX, p->rows <= rows / s->rows_per_block * s->tile_rows);
    const int64_t run = kiln__schedule_run(s, p);
    RULE(run <= rows);
    if (kiln__schedule_grid(s, rows, run, &grid)) {
        bool flat = s->layout == KILN__LAYOUT_FLAT;
        const bool few = s->rows_in_flight && rows <= s->few_rows;
        int64_t each = flat ? s->threads * s->steps * s->vector_width : few ? 1 : s->rows_per_block;
        int64_t apart = s->rows_in_flight && !few ? s->row_spacing : 1;
        wide blocks = (wide)kiln__divide_up(rows, each * apart) * apart * s->splits * s->blocks_per_row;
        RULE(grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535 && grid.x % (unsigned)s->blocks_per_row == 0);
        RULE((wide)grid.x * grid.y * grid.z >= blocks);
        IMPLIES(grid.y, (wide)grid.x * (grid.y - 1) < blocks);
        IMPLIES(s->splits > 1 && s->layout == KILN__LAYOUT_OUTER && rows, grid.y == (unsigned)s->splits);
        IMPLIES(s->layout != KILN__LAYOUT_OUTER || s->splits == 1, grid.z == 1);
        RULE(workspace >= 0);
        IMPLIES(p->rows, (workspace > 0) == kiln__schedule_exchanges(s));
    }
    const char *fault = exchange_fault(prepared);
    return fault ? fault : argument_fault(prepared);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a schedule for its launches: their number, their blocks and clusters, what they exchange. */
#include "base/checked.h"
#include "schedule/schedule.h"

bool kiln__schedule_clusters(const kiln__schedule *schedule) {
    return schedule->team.blocks_per_row > 1 && schedule->team.group != KILN__GROUP_GRID;
}

int kiln__cluster_senders(const kiln__schedule *schedule) {
    const int warps = schedule->team.threads / 32;
    return schedule->team.blocks_per_row * warps > 32 ? 1 : warps;
}

int kiln__schedule_turns(const kiln__schedule *s) { return 1 + (kiln__row_of(s)->persistent | s->passes.selects); }

bool kiln__schedule_exchanges(const kiln__schedule *schedule) {
    const bool chunks =
        schedule->split.chunks > 1 && !kiln__slots_plan_of(schedule)->bytes; /* of blocks alone, nothing is shared */
    return chunks || schedule->team.group == KILN__GROUP_GRID || kiln__schedule_adds_up(schedule);
}

bool kiln__schedule_has_workspace(const kiln__schedule *schedule) {
    const bool any = schedule->strategy == KILN__ANY_SHAPE && (schedule->any.sorted.bytes > 0 || schedule->any.stages);
    return kiln__schedule_exchanges(schedule) || kiln__slots_plan_of(schedule)->blocks > 0 || any;
}

int64_t kiln__schedule_exchanged(const kiln__schedule *schedule, const kiln__ir *ir) {
    int64_t values = schedule->passes.online >= 0; /* a count of elements */
    for (uint32_t i = 0; i < ir->count; i++) values += kiln__reduction_values(ir->insts[i].op);
    return values * 8;
}

int64_t kiln__schedule_workspace(const kiln__schedule *schedule, const kiln__ir *ir, int64_t rows) {
    int64_t bytes = kiln__schedule_exchanged(schedule, ir);
    const kiln__slots_plan *slots = kiln__slots_plan_of(schedule);
    if (slots->blocks) return kiln__times(kiln__least(rows, slots->blocks), slots->row_bytes);
    if (!kiln__schedule_exchanges(schedule)) return 0;
    if (kiln__across_plan_of(schedule)->blocks)
        return kiln__times(kiln__across_plan_of(schedule)->blocks, kiln__across_plan_of(schedule)->bytes);
    if (schedule->team.group == KILN__GROUP_GRID)
        return KILN__COUNTER_BYTES + 2 * schedule->team.blocks_per_row * bytes;
    if (kiln__layout_of(schedule) == KILN__LAYOUT_OUTER)
        rows = kiln__times(kiln__divide_up(rows, schedule->vector_width), schedule->vector_width);
    return kiln__times(kiln__times(rows, schedule->split.chunks + schedule->split.combines), bytes);
}

int kiln__schedule_launches(const kiln__schedule *schedule, const kiln__ir *ir) {
    if (kiln__schedule_adds_up(schedule)) return 2;
    if (schedule->split.chunks == 1) return 1;
    const int phases = (int)ir->phase_count - (schedule->passes.online >= 0);
    if (schedule->split.combines) return 2 * phases + schedule->split.columns_last + schedule->split.separate_launch;
    return phases + 1 + schedule->split.separate_launch;
}

/* Passes over the columns and combinations alternate; a launch without columns, or a separate one, is the last of an
 * even number. */
bool kiln__schedule_ends(const kiln__schedule *schedule, const kiln__ir *ir, int k) {
    return schedule->split.combines ? k % 2 == 1 : k > 0 && k + 1 == kiln__schedule_launches(schedule, ir);
}

int64_t kiln__schedule_last_shared(const kiln__schedule *schedule) {
    return kiln__schedule_adds_up(schedule) ? 0 : schedule->staging.bytes;
}

int64_t kiln__schedule_rows(const kiln__schedule *s, const kiln__problem *problem) {
    if (s->edges == KILN__EDGES_SHIFTED && problem->rows)
        return kiln__times(kiln__divide_up(problem->rows, s->vector_width) + 1, s->vector_width);
    if (!problem->rows ||
        (s->edges != KILN__EDGES_MISALIGNED && s->strategy != KILN__TRANSPOSE && !kiln__column_of(s)->tile.rows))
        return problem->rows;
    if (kiln__column_of(s)->tile.rows)
        return kiln__times(kiln__divide_up(problem->rows, kiln__column_of(s)->tile.rows), s->team.rows_per_block);
    const int64_t run = problem->outer[problem->outer_rank - 1];
    if (s->edges == KILN__EDGES_MISALIGNED) {
        const int64_t blocks = kiln__times(problem->rows / run, kiln__divide_up(run, s->team.rows_per_block));
        return kiln__times(blocks, s->team.rows_per_block);
    }
    const int64_t across = problem->outer[s->transpose.dim], along = s->team.threads_per_row * s->vector_width;
    const int64_t behind = s->team.threads / s->team.threads_per_row * s->steps;
    const int64_t blocks = kiln__divide_up(run, along) * kiln__divide_up(across, behind);
    return kiln__times(kiln__times(problem->rows / run / across, blocks), along * behind);
}

int64_t kiln__schedule_run(const kiln__schedule *s, const kiln__problem *problem) {
    const int64_t rows = kiln__schedule_rows(s, problem);
    if (kiln__layout_of(s) != KILN__LAYOUT_OUTER || problem->outer_rank < 2 || !problem->rows) return rows;
    return rows / (problem->rows / problem->outer[problem->outer_rank - 1]);
}

/* Runs that are no whole tiles are one. */
static bool split_grid(const kiln__schedule *schedule, int64_t rows, int64_t run, kiln__grid *grid) {
    const int64_t tile = schedule->team.rows_per_block;
    if (run % tile || rows / run > 65535) run = rows;
    const int64_t across = kiln__times(kiln__divide_up(run, tile), schedule->team.blocks_per_row);
    const int64_t groups = kiln__greatest(kiln__column_of(schedule)->groups, 1);
    const int64_t chunks = kiln__divide_up(schedule->split.chunks, groups);
    *grid = (kiln__grid){(unsigned)across, (unsigned)chunks, (unsigned)(rows / run)};
    return across <= 2147483647 && schedule->split.chunks <= 65535;
}

/* Blocks that go through the rows: values of no rows are stored, too. */
static int64_t across_grid(const kiln__schedule *schedule, int64_t blocks) {
    return kiln__least(kiln__greatest(blocks, 1), kiln__across_plan_of(schedule)->blocks);
}

bool kiln__schedule_grid(const kiln__schedule *schedule, int64_t rows, int64_t run, kiln__grid *grid) {
    int64_t per_block = schedule->team.rows_per_block;
    if (kiln__row_of(schedule)->rows_in_flight) {
        /* Groups begin at row_spacing rows one behind the other. */
        rows = kiln__times(kiln__divide_up(rows, per_block * kiln__row_of(schedule)->row_spacing),
                           kiln__row_of(schedule)->row_spacing);
        per_block = 1;
    }
    if (kiln__layout_of(schedule) == KILN__LAYOUT_FLAT)
        per_block = schedule->team.threads * schedule->steps * schedule->vector_width;
    if (kiln__layout_of(schedule) == KILN__LAYOUT_OUTER && schedule->split.chunks > 1 && rows)
        return split_grid(schedule, rows, run, grid);
    int64_t together = schedule->split.chunks * schedule->team.blocks_per_row,
            blocks = kiln__times(kiln__divide_up(rows, per_block), together);
    if (kiln__across_plan_of(schedule)->blocks) blocks = across_grid(schedule, blocks);
    if (kiln__slots_plan_of(schedule)->blocks) blocks = kiln__least(blocks, kiln__slots_plan_of(schedule)->blocks);
    if (schedule->team.group == KILN__GROUP_GRID)
        blocks = kiln__least(blocks, together); /* for one row after another */
    int64_t limit = 2147483647 / schedule->team.blocks_per_row * schedule->team.blocks_per_row;
    int64_t layers = kiln__divide_up(blocks, limit);
    *grid = (kiln__grid){(unsigned)kiln__least(blocks, limit), (unsigned)layers, 1};
    return layers <= 65535;
}

unsigned kiln__schedule_last_grid(const kiln__schedule *schedule, const kiln__problem *problem, kiln__grid *grid) {
    if (kiln__schedule_adds_up(schedule)) {
        const int64_t columns = kiln__greatest(problem->cols, 1);
        *grid = (kiln__grid){(unsigned)kiln__divide_up(columns, KILN__TOTAL_COLUMNS), 1, 1};
        return KILN__TOTAL_WARPS * 32;
    }
    kiln__schedule last = *schedule;
    int64_t rows = kiln__schedule_rows(schedule, problem);
    if (last.split.final_threads) { /* which share the chunks of a row, or of a vector of them */
        const int together = kiln__layout_of(schedule) == KILN__LAYOUT_OUTER ? last.vector_width : 1;
        rows = problem->rows;
        last.split.chunks = 1;
        last.team.threads = last.split.final_block_threads;
        last.team.rows_per_block = last.split.final_block_threads / last.split.final_threads * together;
    }
    kiln__schedule_grid(&last, rows, kiln__schedule_run(&last, problem), grid);
    return (unsigned)last.team.threads;
}

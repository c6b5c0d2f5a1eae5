/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a schedule for its launches: their number, their blocks and clusters, what they exchange. */
#include "base/checked.h"
#include "schedule/schedule.h"

bool kiln__schedule_clusters(const kiln__schedule *schedule) {
    return schedule->blocks_per_row > 1 && schedule->group != KILN__GROUP_GRID;
}

bool kiln__schedule_balances(const kiln__schedule *s) {
    if (!kiln__schedule_clusters(s)) return false;
    if (s->persistent) return s->online >= 0;
    if (s->blocks_per_row == 4) return true;
    return s->layout == KILN__LAYOUT_INNER && s->staging == KILN__STAGING_SHARED && s->blocks_per_row <= 8 &&
           s->steps <= 4 && !s->rows_in_flight && !s->masked;
}

bool kiln__schedule_exchanges(const kiln__schedule *schedule) {
    return schedule->splits > 1 || schedule->group == KILN__GROUP_GRID;
}

int64_t kiln__schedule_exchanged(const kiln__schedule *schedule, const kiln__ir *ir) {
    int64_t values = schedule->online >= 0; /* a count of elements */
    for (uint32_t i = 0; i < ir->count; i++) values += kiln__reduction_values(ir->insts[i].op);
    return values * 8;
}

int64_t kiln__schedule_workspace(const kiln__schedule *schedule, const kiln__ir *ir, int64_t rows) {
    int64_t bytes = kiln__schedule_exchanged(schedule, ir);
    if (!kiln__schedule_exchanges(schedule)) return 0;
    if (schedule->group == KILN__GROUP_GRID) return 16 + 2 * schedule->blocks_per_row * bytes;
    if (schedule->layout == KILN__LAYOUT_OUTER)
        rows = kiln__times(kiln__divide_up(rows, schedule->vector_width), schedule->vector_width);
    return kiln__times(kiln__times(rows, schedule->splits), bytes);
}

int kiln__schedule_launches(const kiln__schedule *schedule, const kiln__ir *ir) {
    if (schedule->splits == 1) return 1;
    return (int)ir->phase_count + 1 - (schedule->online >= 0) + schedule->separate_launch;
}

int64_t kiln__schedule_rows(const kiln__schedule *s, const kiln__problem *problem) {
    if (!problem->rows || (!s->misaligned && !s->transposes && !s->tile_rows)) return problem->rows;
    if (s->tile_rows) return kiln__times(kiln__divide_up(problem->rows, s->tile_rows), s->rows_per_block);
    const int64_t run = problem->outer[problem->outer_rank - 1];
    if (s->misaligned) {
        const int64_t blocks = kiln__times(problem->rows / run, kiln__divide_up(run, s->rows_per_block));
        return kiln__times(blocks, s->rows_per_block);
    }
    const int64_t across = problem->outer[s->transposed_dim], along = s->threads_per_row * s->vector_width;
    const int64_t behind = s->threads / s->threads_per_row * s->steps;
    const int64_t blocks = kiln__divide_up(run, along) * kiln__divide_up(across, behind);
    return kiln__times(kiln__times(problem->rows / run / across, blocks), along * behind);
}

int64_t kiln__schedule_run(const kiln__schedule *s, const kiln__problem *problem) {
    const int64_t rows = kiln__schedule_rows(s, problem);
    if (s->layout != KILN__LAYOUT_OUTER || problem->outer_rank < 2 || !problem->rows) return rows;
    return rows / (problem->rows / problem->outer[problem->outer_rank - 1]);
}

/* Runs that are no whole tiles are one. */
static bool split_grid(const kiln__schedule *schedule, int64_t rows, int64_t run, kiln__grid *grid) {
    const int64_t tile = schedule->rows_per_block;
    if (run % tile || rows / run > 65535) run = rows;
    const int64_t across = kiln__times(kiln__divide_up(run, tile), schedule->blocks_per_row);
    *grid = (kiln__grid){(unsigned)across, (unsigned)schedule->splits, (unsigned)(rows / run)};
    return across <= 2147483647 && schedule->splits <= 65535;
}

bool kiln__schedule_grid(const kiln__schedule *schedule, int64_t rows, int64_t run, kiln__grid *grid) {
    int64_t per_block = schedule->rows_per_block;
    if (schedule->rows_in_flight) {
        if (rows > schedule->few_rows) /* groups begin at row_spacing rows one behind the other */
            rows = kiln__times(kiln__divide_up(rows, per_block * schedule->row_spacing), schedule->row_spacing);
        per_block = 1;
    }
    if (schedule->layout == KILN__LAYOUT_FLAT) per_block = schedule->threads * schedule->steps * schedule->vector_width;
    if (schedule->layout == KILN__LAYOUT_OUTER && schedule->splits > 1 && rows)
        return split_grid(schedule, rows, run, grid);
    int64_t together = schedule->splits * schedule->blocks_per_row,
            blocks = kiln__times(kiln__divide_up(rows, per_block), together);
    int64_t limit = 2147483647 / schedule->blocks_per_row * schedule->blocks_per_row;
    int64_t layers = kiln__divide_up(blocks, limit);
    *grid = (kiln__grid){(unsigned)(blocks < limit ? blocks : limit), (unsigned)layers, 1};
    return layers <= 65535;
}

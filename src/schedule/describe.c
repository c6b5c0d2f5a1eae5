/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in words: those that can be pinned are read back by pins.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schedule/schedule.h"

KILN_PRINTF(2, 3) static void add(kiln__schedule *s, const char *format, ...) {
    size_t used = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + used, sizeof s->text - used, format, arguments);
    va_end(arguments);
}

/* "block 256", "cluster 4, block 256": who works on a row. */
static void add_group(kiln__schedule *s) {
    static const char *const groups[] = {"lanes", "block", "columns", "cluster", "grid", "cub"};
    if (s->team.group == KILN__GROUP_GRID || kiln__schedule_clusters(s))
        add(s, "%s %d, block %d", s->team.group == KILN__GROUP_GRID ? "grid" : "cluster", s->team.blocks_per_row,
            s->team.threads);
    else if (kiln__layout_of(s) == KILN__LAYOUT_FLAT)
        add(s, "threads %d", s->team.threads);
    else
        add(s, "%s %d", groups[s->team.group], s->team.threads_per_row);
}

/* What is told with its number, where there is something to tell. */
static void add_numbers(kiln__schedule *s) {
    const int rows = kiln__column_of(s)->tile.rows ? kiln__column_of(s)->tile.rows : s->team.rows_per_block;
    const kiln__column_schedule *column = kiln__column_of(s);
    const struct {
        bool is;
        const char *before, *behind;
        int number;
    } numbers[] = {
        {rows > 1, "", " rows per block", rows},
        {column->groups > 1, "", " chunks per block", column->groups},
        {s->strategy == KILN__COLUMN && column->run_rows != s->vector_width && !column->groups, "runs of ", "",
         column->run_rows},
        {s->staging.kind == KILN__STAGING_NONE && s->batch < s->steps, "batch ", "", s->batch},
        {s->strategy == KILN__COLUMN_TILE && column->rank_groups > 1, "ranks in ", " groups", column->rank_groups},
        {s->split.chunks > 1, "splits ", "", s->split.chunks},
        {kiln__across_plan_of(s)->blocks > 0, "across rows in ", " blocks", kiln__across_plan_of(s)->blocks},
        {s->strategy == KILN__TRANSPOSE, "transpose, ", " side by side", s->team.threads_per_row},
        {column->transpose_width > 1, "transposed by ", "", column->transpose_width},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].is) add(s, ", %s%d%s", numbers[i].before, numbers[i].number, numbers[i].behind);
}

void kiln__schedule_describe(kiln__schedule *s) {
    static const char *const stagings[] = {"registers", "shared", "stream", "tile"};
    static const char *const layouts[] = {"flat", "inner", "outer"};
    static const char *const inlining[] = {"", ", calls", ", outlined", ", loops"};
    const struct {
        bool is;
        const char *word;
    } words[] = {
        {s->passes.keep_weight > 0, "keeping"},
        {kiln__row_of(s)->prefetch, "prefetch"},
        {kiln__row_of(s)->persistent, "persistent"},
        {s->passes.online >= 0, "online"},
        {kiln__has_masks(s), "masked"},
        {s->edges == KILN__EDGES_PEELED, "peeled"},
        {s->edges == KILN__EDGES_MISALIGNED, "misaligned"},
        {s->edges == KILN__EDGES_WRAPPED, "wrapped"},
        {s->edges == KILN__EDGES_SHIFTED || kiln__schedule_shifts(s), "shifted"},
        {s->passes.ordered, "ordered"},
        {kiln__slots_plan_of(s)->blocks > 0, "in the workspace"},
    };
    s->text[0] = '\0';
    if (s->strategy == KILN__ANY_SHAPE) add(s, "any shape, ");
    add_group(s);
    add(s, ", %s, %s, vector %d x %lld", stagings[s->staging.kind], layouts[kiln__layout_of(s)], s->vector_width,
        (long long)s->steps);
    add_numbers(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].is) add(s, ", %s", words[i].word);
    add(s, "%s", inlining[s->code.inlining]);
}

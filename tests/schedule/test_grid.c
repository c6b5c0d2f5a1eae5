/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of blocks that a schedule is launched with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule/schedule.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void the_grid_covers_the_rows_and_no_more(void **state) {
    (void)state;
    static const int64_t rows[] = {1,          2,          15,         16,          17,          1000,
                                   2147483647, 2147483648, 4294967296, 34359738353, 34359738368, 1099511627776};
    static const kiln__schedule schedules[] = {
        {.strategy = KILN__ROW,
         .team = {.rows_per_block = 1, .threads = 128, .blocks_per_row = 1},
         .split = {.chunks = 1}},
        {.strategy = KILN__ROW,
         .team = {.rows_per_block = 16, .threads = 128, .blocks_per_row = 1},
         .split = {.chunks = 1}},
        {.strategy = KILN__POINTWISE,
         .team = {.rows_per_block = 1, .threads = 256, .blocks_per_row = 1},
         .split = {.chunks = 1},
         .steps = 4,
         .vector_width = 8},
    };
    for (size_t s = 0; s < COUNT(schedules); s++) {
        int64_t per_block = s == 2 ? 256 * 4 * 8 : schedules[s].team.rows_per_block;
        for (size_t i = 0; i < COUNT(rows); i++) {
            kiln__grid grid = {0, 0, 0};
            assert_true(kiln__schedule_grid(&schedules[s], rows[i], rows[i], &grid));
            int64_t blocks = rows[i] / per_block + (rows[i] % per_block != 0);
            assert_in_range(grid.x, 1, 2147483647);
            assert_in_range(grid.y, 1, 65535);
            assert_int_equal(grid.z, 1);
            assert_true((int64_t)grid.x * grid.y >= blocks);
            assert_true((int64_t)grid.x * (grid.y - 1) < blocks); /* no layer without work */
            if (grid.y == 1) assert_int_equal(grid.x, blocks);
        }
    }
    const int64_t most = INT64_C(2147483647) * 65535;
    kiln__grid grid;
    assert_false(kiln__schedule_grid(&schedules[0], most + 1, most + 1, &grid));
    assert_true(kiln__schedule_grid(&schedules[0], most, most, &grid));
}

static void blocks_of_split_rows_follow_memory(void **state) {
    (void)state;
    static const kiln__schedule schedule = {.strategy = KILN__COLUMN,
                                            .team = {.rows_per_block = 64, .threads = 1024, .blocks_per_row = 1},
                                            .split = {.chunks = 256}};
    static const struct {
        int64_t rows, run;
        kiln__grid grid;
    } cases[] = {
        {1024, 1024, {16, 256, 1}},
        {1000, 1000, {16, 256, 1}},
        {1024, 64, {1, 256, 16}},
        {1024, 256, {4, 256, 4}},
        {1008, 72, {16, 256, 1}},          /* tiles cross from one run into the next */
        {64 * 65536, 64, {65536, 256, 1}}, /* more runs than a grid has layers */
        {0, 0, {0, 0, 1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__grid grid;
        assert_true(kiln__schedule_grid(&schedule, cases[i].rows, cases[i].run, &grid));
        assert_memory_equal(&grid, &cases[i].grid, sizeof grid);
    }
    kiln__grid grid;
    assert_false(kiln__schedule_grid(&schedule, INT64_C(2147483648) * 64, INT64_C(2147483648) * 64, &grid));
}

/* A cooperative grid has as many blocks as run at once, and goes through any number of rows. */
static void a_cooperative_grid_is_launched_once_for_all_rows(void **state) {
    (void)state;
    static const kiln__schedule schedule = {
        .strategy = KILN__SPLIT_ROW,
        .team = {.group = KILN__GROUP_GRID, .rows_per_block = 1, .threads = 256, .blocks_per_row = 132},
        .split = {.chunks = 1}};
    static const struct {
        int64_t rows;
        unsigned blocks;
    } cases[] = {{0, 0}, {1, 132}, {100, 132}, {INT64_C(1) << 40, 132}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__grid grid = {0, 0, 0};
        assert_true(kiln__schedule_grid(&schedule, cases[i].rows, cases[i].rows, &grid));
        assert_int_equal(grid.x, cases[i].blocks);
        assert_int_equal(grid.z, 1);
        if (cases[i].rows) assert_int_equal(grid.y, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grid_covers_the_rows_and_no_more),
        cmocka_unit_test(blocks_of_split_rows_follow_memory),
        cmocka_unit_test(a_cooperative_grid_is_launched_once_for_all_rows),
    };
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}

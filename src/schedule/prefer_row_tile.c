/* SPDX-License-Identifier: Apache-2.0 */
/* Preferred tiles of short and odd rows. */
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/prefer.h"

/* What works best on an H100, softmax of f16; rows of the table are tried in order. Programs that read what all rows
 * share, element by element, take lanes that keep it in registers, and more rows for what they keep. Long rows take
 * many lanes whatever their vectors. */
static const struct {
    int64_t max_vectors; /* of a row; columns, where those are more than 256 */
    int lanes, rows;     /* fewer rows where the tile would be large, more where it would be small */
    int sharing_lanes, sharing_rows;
} table[] = {{48, 1, 128, 1, 256},  {80, 1, 64, 16, 128},  {129, 1, 64, 32, 64},       {208, 2, 32, 32, 64},
             {320, 32, 48, 32, 64}, {416, 32, 16, 32, 48}, {INT64_MAX, 32, 16, 32, 32}};

#define LEAST_PAIRED_COLUMNS 15 /* of a lane */
#define TILE_BYTES 8192         /* at least, where rows are tiny */
#define GOOD_TILE_BYTES 40960   /* at most, where rows can be fewer: five blocks on a multiprocessor of an H100 */

/* Whether rows of an odd number of halves are worked on two elements at a time, with masks at their ends: where lanes
 * have enough between them, and do not keep what all rows share. */
static bool is_in_pairs(const kiln__problem *problem, const kiln__pins *pins, int lanes, const kiln__schedule *s) {
    if (pins->vector_width == 1 || pins->rows_per_block % 2) return false;
    if (problem->cols % 2 == 0 || s->passes.ordered || problem->cols < LEAST_PAIRED_COLUMNS * lanes) return false;
    if (s->row.invariant_inputs && (lanes < 32 || problem->cols <= KILN__MOST_HELD_COLUMNS * 32)) return false;
    return kiln__row_tile_pairs(problem);
}

/* Twice as many rows as long as a tile is small, half as many as long as it is large. */
static int64_t rows_of(const kiln__problem *problem, int64_t rows) {
    int64_t bytes = kiln__row_tile_bytes(problem, rows);
    while (bytes < TILE_BYTES && rows < 4096) bytes = kiln__row_tile_bytes(problem, rows *= 2);
    while (bytes > GOOD_TILE_BYTES && rows > 8) bytes = kiln__row_tile_bytes(problem, rows /= 2);
    return rows;
}

kiln__pins kiln__prefer_row_tile(const kiln__given *g, const kiln__pins *pins, const kiln__schedule *s) {
    const int64_t cols = g->problem->cols;
    const int full_vector = kiln__widest_vector(g->problem);
    kiln__pins point = *pins;
    int width = full_vector, row = 0;
    while (cols % width) width /= 2;
    const int64_t vectors = cols / width;
    while (table[row].max_vectors < (cols > 256 ? cols : vectors)) row++;
    const bool sharing = s->row.invariant_inputs && width == 1;
    int lanes = sharing ? table[row].sharing_lanes : table[row].lanes;
    /* Whole vectors of 16 bytes are free of bank conflicts where as many lanes read neighbours as divide the row; words
     * of 4 bytes suffer none. */
    if (lanes == 1 && vectors > 80 && full_vector <= 4) lanes = 2;
    while (width == full_vector && lanes < 32 && vectors % (lanes * 2) == 0) lanes *= 2;
    point.staging = KILN__STAGING_TILE;
    point.group = KILN__GROUP_LANES;
    point.threads = pins->threads ? pins->threads : lanes;
    point.vector_width = is_in_pairs(g->problem, pins, point.threads, s) ? 2 : width;
    const int usual = sharing ? table[row].sharing_rows : table[row].rows;
    point.rows_per_block = pins->rows_per_block ? pins->rows_per_block : (int)rows_of(g->problem, usual);
    return point;
}

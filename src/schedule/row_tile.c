/* SPDX-License-Identifier: Apache-2.0 */
/* The tile staging: rows that do not begin at multiples of a vector, several in one block's shared memory. */
#include "base/types.h"
#include "schedule/access.h"

/* What works best on an H100, softmax of f16; rows of the table are tried in order. Programs that read what all rows
 * share, element by element, take lanes that keep it in registers, and more rows for what they keep (layer_norm of
 * bf16: 33 columns 0.937, 128 rows 0.921; 65 0.868, one lane 0.842; 127 0.945, 16 lanes 0.934, one that reads it for
 * each row 0.798; 131 in tiles of 48 rows 0.993, of 64 0.980, of 32 0.946; 197 0.995, 0.984 and 0.994; 255 0.978, 0.986
 * and 0.975; 257 0.992, 0.977 and 0.991; 511 0.938, 16 rows 0.901). Long rows take many lanes whatever their vectors
 * (e4m3, 1,000 columns: 32 lanes 0.426, one 0.221). */
/* Half as fast again a memory takes more: softmax of 255 columns, H200: 32 lanes and 48 rows 0.949, sixteen and 32
 * 0.880; layer_norm of 197 columns 64 rows 0.864, 48 0.848; of 401 48 rows 0.927, 32 0.873. */
static const struct {
    int64_t max_vectors; /* of a row; columns, where those are more than 256 */
    int lanes, rows;     /* fewer rows where the tile would be large, more where it would be small */
    int sharing_lanes, sharing_rows;
} table[] = {{48, 1, 128, 1, 256},  {80, 1, 64, 16, 128},  {129, 1, 64, 32, 64},
             {208, 2, 32, 32, 64}, /* 131 columns: 0.994, sixteen lanes 0.946; 197: 0.987 and 0.927 */
             {320, 32, 48, 32, 64}, {416, 32, 16, 32, 48}, {INT64_MAX, 32, 16, 32, 32}};

#define LEAST_PAIRED_COLUMNS 15 /* of a lane */
#define MOST_HELD_COLUMNS 16    /* of a lane, of what all rows share, in registers */
#define TILE_BYTES 8192         /* at least, where rows are tiny */
#define GOOD_TILE_BYTES 40960   /* at most, where rows can be fewer: five blocks on a multiprocessor of an H100 */
#define MOST_TILE_BYTES 65536   /* at most: three blocks on a multiprocessor of an H100 */

/* Places for every tensor of the tile; an output takes that of an input whose elements are as large, which its threads
 * have read by then. */
static int64_t place(const kiln__problem *problem, int64_t rows, kiln__schedule *s) {
    int64_t bytes = 0;
    bool taken[KILN_MAX_TENSORS] = {false};
    if (problem->cols > MOST_TILE_BYTES) return problem->cols;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        int size = (int)kiln_type_size(operand->type), shared = -1;
        if (!operand->per_element) continue;
        int64_t elements = operand->follows_rows || operand->output ? rows * problem->cols : problem->cols;
        for (int i = 0; operand->output && i < problem->input_count && shared < 0; i++)
            if (problem->operands[i].per_element && problem->operands[i].follows_rows && !taken[i] &&
                (int)kiln_type_size(problem->operands[i].type) == size)
                shared = i;
        if (shared >= 0) taken[shared] = true;
        s->tensors[o].offset = shared >= 0 ? s->tensors[shared].offset : (int)bytes;
        if (shared < 0) bytes += kiln__divide_up(elements * size, 128) * 128;
        if (bytes > MOST_TILE_BYTES) return bytes;
        int access = 16 / size;
        if (operand->alignment < access) access = operand->alignment;
        while (operand->follows_rows && rows * problem->cols % access) access /= 2;
        s->tensors[o].copy_width = kiln__is_contiguous(problem, operand) ? access : 0;
    }
    return bytes;
}

/* Whether rows of an odd number of halves are worked on two elements at a time, with masks at their ends: where lanes
 * have enough between them, and do not keep what all rows share (layer_norm of 1,023 columns of bf16: 0.937, by single
 * elements 0.923; of 127 columns, one lane, 0.963 and 0.986). */
static bool is_in_pairs(const kiln__problem *problem, const kiln__schedule *s) {
    if (problem->cols % 2 == 0 || s->passes.ordered || problem->cols < LEAST_PAIRED_COLUMNS * s->team.threads_per_row)
        return false;
    if (s->row.invariant_inputs && (s->team.threads_per_row < 32 || problem->cols <= MOST_HELD_COLUMNS * 32))
        return false;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (operand->per_element && (operand->follows_rows || operand->output) && kiln_type_size(operand->type) != 2)
            return false;
    }
    return true;
}

bool kiln__tile_choose(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                       kiln__schedule *s) {
    int64_t cols = problem->cols, vectors, rows, bytes;
    int full_vector = s->vector_width;
    while (cols % s->vector_width) s->vector_width /= 2;
    vectors = cols / s->vector_width;
    int row = 0;
    while (table[row].max_vectors < (cols > 256 ? cols : vectors)) row++;
    const bool sharing = s->row.invariant_inputs && s->vector_width == 1;
    int lanes = sharing ? table[row].sharing_lanes : table[row].lanes;
    /* Whole vectors of 16 bytes are free of bank conflicts where as many lanes read neighbours as divide the row; words
     * of 4 bytes suffer none (softmax of 127 columns of f32: two lanes 0.969, one 0.931). */
    if (lanes == 1 && vectors > 80 && full_vector <= 4) lanes = 2;
    while (s->vector_width == full_vector && lanes < 32 && vectors % (lanes * 2) == 0) lanes *= 2;
    s->team.threads_per_row = pins->threads ? pins->threads : lanes;
    const bool pairs = pins->vector_width != 1 && pins->rows_per_block % 2 == 0 && is_in_pairs(problem, s);
    s->edges = pairs ? KILN__EDGES_MASKED : KILN__EDGES_ALIGNED;
    s->row.row_phase = pairs;
    rows = pins->rows_per_block ? pins->rows_per_block : sharing ? table[row].sharing_rows : table[row].rows;
    /* Twice as many rows as long as a tile is small, half as many as long as it is large. */
    bytes = place(problem, rows, s);
    while (!pins->rows_per_block && bytes < TILE_BYTES && rows < 4096) bytes = place(problem, rows *= 2, s);
    while (!pins->rows_per_block && bytes > GOOD_TILE_BYTES && rows > 8) bytes = place(problem, rows /= 2, s);
    for (int o = 0; o < problem->input_count; o++) s->tensors[o].staged = problem->operands[o].per_element;
    s->team.group = KILN__GROUP_LANES;
    s->strategy = KILN__ROW_TILE;
    s->staging.kind = KILN__STAGING_TILE;
    if (pairs) s->vector_width = 2, vectors = (cols + 1) / 2;
    s->steps = kiln__divide_up(vectors > 1 ? vectors : 1, s->team.threads_per_row);
    s->batch = 1;
    s->staging.steps = s->row.invariant_inputs && s->steps * s->vector_width <= MOST_HELD_COLUMNS ? s->steps : 0;
    s->team.threads = (int)(rows * s->team.threads_per_row < 256 ? rows * s->team.threads_per_row : 256);
    s->team.rows_per_block = (int)rows;
    s->staging.bytes = (int)bytes;
    s->reason = "rows begin anywhere: a tile of them is one flat array, copied in aligned pieces";
    bool right = s->team.threads_per_row <= 32 && kiln__is_power_of_two(s->team.threads_per_row);
    return right && s->team.threads >= 32 && s->team.threads <= 1024 && s->team.threads % 32 == 0 &&
           bytes <= MOST_TILE_BYTES && bytes + 1024 <= device->shared_per_block;
}

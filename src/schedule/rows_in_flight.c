/* SPDX-License-Identifier: Apache-2.0 */
/* Several rows in flight: a group that works on several rows at once reads what all rows share once for them. */
#include "base/types.h"
#include "problem/online.h"
#include "schedule/schedule.h"

/* For rows of up to so many vectors of 16 bytes, all staged inputs together, and of at least so many inputs that all
 * rows share: who works on how many rows. */
typedef struct team {
    int64_t vectors;
    int threads, cluster, rows;
    int sharing;
} team;

/* Up to seven vectors for each thread, and blocks as small as can be (layer_norm of 65,536 columns, H200: sixteen
 * blocks of 128 threads 0.970, eight of 256 0.953, four of 512 0.943; of 57,344 eight of 128 0.981, sixteen 0.878, but
 * rms_norm 0.960 and 0.998). */
static const team aligned[] = {
    {448, 64, 1, 2, 1},   {768, 128, 1, 2, 1},    {1536, 128, 2, 2, 1},   {3072, 128, 4, 2, 1},   {6144, 128, 8, 2, 1},
    {7168, 128, 8, 2, 2}, {14336, 128, 16, 2, 1}, {16384, 256, 16, 3, 1}, {20480, 256, 16, 2, 1}, {0}};

/* Norms of vectors of one tensor, of 2-byte elements (of f32 and of two tensors, H200: as fast, or slower). What all
 * rows share is shifted before the rows are looked at: half as many instructions again, so that shorter rows are better
 * alone (layer_norm of 8,193 columns 0.942, in_flight 0.902), and wider blocks than these (rms_norm of 50,257 columns:
 * eight blocks of 256 threads 0.954, sixteen of 128 0.931, one row at a time 0.907; layer_norm of 65,537 0.858, 0.840
 * and 0.816, but of 73,001 0.774, 0.791 and 0.819). */
static const team unaligned[] = {{3072, 0, 0, 0, 2},     {3586, 256, 2, 3, 2},   {4098, 256, 4, 2, 2},
                                 {5122, 128, 8, 3, 2},   {6146, 256, 4, 3, 2},   {7170, 128, 8, 3, 2},
                                 {8194, 256, 8, 2, 2},   {10242, 0, 0, 0, 2},    {12290, 256, 8, 3, 2},
                                 {14338, 128, 16, 3, 2}, {16386, 256, 16, 2, 2}, {0}};
static const team unaligned_of_one[] = {{3392, 0, 0, 0, 1},   {3586, 256, 2, 2, 1},  {5122, 256, 4, 2, 1},
                                        {6146, 128, 8, 2, 1}, {14338, 256, 8, 2, 1}, {0}};

/* Exponentials of them are computed twice: these gain from fewer columns on (softmax(x * w + m) of f16, H200, one row
 * at a time and in_flight: 1,501 columns 0.654 and 0.868, 3,001 0.638 and 0.872, 12,001 0.444 and 0.815, 24,577 0.483
 * and 0.802, 32,769 0.295 and 0.746). Four vectors for each thread take registers for three rows; of f64 they spill. */
static const team unaligned_others[] = {{128, 0, 0, 0, 1},
                                        {194, 64, 1, 3, 1},
                                        {514, 128, 1, 3, 1},
                                        {1026, 128, 2, 3, 1},
                                        {1538, 128, 4, 2, 1},
                                        {2050, 256, 2, 3, 1},
                                        {3074, 256, 4, 2, 1},
                                        {4098, 256, 4, 3, 1},
                                        {6146, 256, 8, 2, 1},
                                        {8194, 256, 8, 3, 1},
                                        {12290, 256, 16, 2, 1},
                                        {16386, 256, 16, 3, 1},
                                        {0}};

/* The shortest aligned rows that gain: norms whose vectors are of 2-byte elements, of two such tensors and of one;
 * others. */
#define NORMS_FROM 193
#define NORMS_OF_ONE_FROM 449
#define NORMS_OF_ONE_TO 12288
#define NORMS_OF_SMALL_VECTORS_FROM 1025
#define OTHERS_FROM 769

#define MOST_EXCHANGED 16384 /* bytes of what warps and blocks exchange, of all rows */
#define MOST_SHARED 256      /* bytes of a thread's vectors of what all rows share */

/* So many rows, in registers that let most blocks run: more rows make up for fewer blocks. */
static bool fit(const kiln__ir *ir, const kiln__device *device, int rows, int registers, int bytes, kiln__schedule *s) {
    const int64_t each = kiln__schedule_exchanged(s, ir) + 16;
    const int64_t exchanged = (s->team.threads / 32 + s->team.blocks_per_row + 1) * each * rows;
    const int64_t held = s->steps * s->team.threads * bytes * rows;
    if (held > device->shared_per_block - MOST_EXCHANGED || exchanged > MOST_EXCHANGED) return false;
    s->team.rows_per_block = rows;
    s->staging.bytes = (int)held;
    s->team.min_blocks_per_sm = device->registers_per_sm / registers / s->team.threads;
    while (s->team.min_blocks_per_sm > 1 &&
           s->team.min_blocks_per_sm * (held + exchanged + 1024) > device->shared_per_sm)
        s->team.min_blocks_per_sm--;
    return true;
}

/* Unaligned rows: whole vectors of the rows', or, of what all rows share, two that are shifted into place. */
static bool suits_unaligned(const kiln__operand *operand, int vector_width) {
    const int size = (int)kiln_type_size(operand->type), widest = 16 / size < vector_width ? 16 / size : vector_width;
    return operand->contiguous_columns &&
           (operand->follows_rows || (operand->alignment >= widest && vector_width * size >= 8));
}

bool kiln__rows_in_flight_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                 const kiln__pins *pins, int64_t load, int bytes, int attempt, kiln__schedule *s) {
    int shared = 0;
    if (!s->row.invariant_inputs || !bytes || s->passes.ordered || !ir->phase_count || !problem->columns_out)
        return false;
    if (pins->staging >= 0 || pins->persistent > 0 || pins->rows_per_block == 1) return false;
    if (pins->rows_per_block ? pins->group > KILN__GROUP_BLOCK : pins->group >= 0 || pins->threads || pins->cluster)
        return false;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element) return false; /* it would be read once more, when its place may be taken */
        if (s->edges == KILN__EDGES_MASKED && !suits_unaligned(operand, s->vector_width)) return false;
        if (!operand->follows_rows) shared += s->vector_width * (int)kiln_type_size(operand->type);
    }
    if (s->edges == KILN__EDGES_MASKED && kiln__finds_columns(ir)) return false;
    const bool norms = kiln__online_phase(ir) < 0 || kiln__online_squares(ir);
    const int least = !norms                        ? OTHERS_FROM
                      : s->vector_width < 8         ? NORMS_OF_SMALL_VECTORS_FROM
                      : s->row.invariant_inputs > 1 ? NORMS_FROM
                                                    : NORMS_OF_ONE_FROM;
    bool suits = load >= least && (!norms || s->row.invariant_inputs > 1 || load <= NORMS_OF_ONE_TO);
    if (s->edges == KILN__EDGES_MASKED)
        suits = norms ? s->vector_width == 8 && bytes <= 16 : s->vector_width == 4 || s->vector_width == 8;
    if (!suits && !pins->rows_per_block) return false;
    const team *of = s->edges != KILN__EDGES_MASKED || pins->rows_per_block ? aligned
                     : !norms                                               ? unaligned_others
                     : s->row.invariant_inputs > 1                          ? unaligned
                                                                            : unaligned_of_one;
    while (of->vectors && (load > of->vectors || s->row.invariant_inputs < of->sharing)) of++;
    int rows = pins->rows_per_block ? pins->rows_per_block : of->rows;
    s->team.threads = pins->threads ? pins->threads : of->threads;
    s->team.blocks_per_row = pins->cluster ? pins->cluster : pins->threads ? 1 : of->cluster;
    if (s->team.threads < 32 || s->team.threads > 1024 || !kiln__is_power_of_two(s->team.threads) ||
        !kiln__cluster_fits(s->team.blocks_per_row, device))
        return false;
    s->team.group = s->team.blocks_per_row > 1 ? KILN__GROUP_CLUSTER : KILN__GROUP_BLOCK;
    s->staging.kind = KILN__STAGING_SHARED;
    s->row.rows_in_flight = s->row.prefetch = true;
    s->team.threads_per_row = s->team.threads * s->team.blocks_per_row;
    s->staging.steps = s->steps =
        kiln__divide_up(problem->cols / s->vector_width - (s->edges == KILN__EDGES_MASKED), s->team.threads_per_row);
    s->row.row_spacing = s->edges == KILN__EDGES_MASKED ? s->vector_width : 1;
    while (s->row.row_spacing > 1 && s->row.row_phase * (s->row.row_spacing / 2) % s->vector_width == 0)
        s->row.row_spacing /= 2;
    if (s->edges == KILN__EDGES_MASKED && s->team.threads_per_row < 2 * s->vector_width)
        return false; /* a thread for each single element */
    for (int o = 0; o < problem->input_count; o++) s->tensors[o].staged = true;
    s->reason =
        "several rows in flight, which read what all rows share once (layer_norm of 8,192 columns, H200: 0.981, one by "
        "one 0.956)";
    s->batch = 1;
    if (s->steps < 1 || s->steps * shared > MOST_SHARED) return false;
    if (!pins->rows_per_block) rows += attempt;
    const int registers = 32 + (int)s->steps * shared / 4;
    if (!fit(ir, device, rows, (registers < 64 ? 64 : registers) + (rows > 2 ? 16 * (rows - 2) : 0), bytes, s))
        return false;
    if (!pins->rows_per_block)
        s->row.few_rows =
            kiln__device_typical(device->arch).sm_count * s->team.min_blocks_per_sm / s->team.blocks_per_row;
    return true;
}

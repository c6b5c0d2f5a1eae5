/* SPDX-License-Identifier: Apache-2.0 */
/* Several rows in flight: a group that works on several rows at once reads what all rows share once for them. */
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define MOST_INVARIANT_BYTES 256 /* bytes of a thread's vectors of what all rows share */

/* Unaligned rows: whole vectors of the rows', or, of what all rows share, two that are shifted into place. */
static bool suits_unaligned(const kiln__operand *operand, int vector_width) {
    return operand->contiguous_columns && (operand->follows_rows || kiln__shifted_width(operand, vector_width));
}

/* An input of one value per row would be read once more, when an output may have taken its place. */
static bool suits_inputs(const kiln__given *g, const kiln__schedule *s) {
    const bool masked = s->edges == KILN__EDGES_MASKED;
    for (int o = 0; o < g->problem->input_count; o++) {
        const kiln__operand *operand = &g->problem->operands[o];
        if (!operand->own_columns || (masked && !suits_unaligned(operand, s->vector_width))) return false;
    }
    return !masked || !g->traits.finds_columns;
}

static bool suits(const kiln__given *g, int bytes, const kiln__schedule *s) {
    if (!s->row.invariant_inputs || !bytes || !g->traits.plain) return false;
    if (g->problem->across || g->problem->packed || g->problem->lengths) return false;
    return g->ir->phase_count > 0 && g->problem->columns_out && suits_inputs(g, s);
}

static bool set_team(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const int cluster = (int)kiln__greatest(point->cluster, 1);
    s->team.group = cluster > 1 ? KILN__GROUP_CLUSTER : KILN__GROUP_BLOCK;
    s->team.threads = point->threads;
    s->team.blocks_per_row = cluster;
    s->team.threads_per_row = point->threads * cluster;
    s->team.rows_per_block = point->rows_per_block;
    return point->threads >= 32 && point->threads <= KILN__MOST_THREADS && kiln__is_power_of_two(point->threads) &&
           kiln__cluster_fits(cluster, g->device);
}

/* Registers that a thread takes: for what all rows share, and for each row more than two. */
static int64_t registers_of(int64_t shared_bytes, int rows) {
    const int64_t registers = 32 + shared_bytes / 4;
    return (registers < 64 ? 64 : registers) + (rows > 2 ? 16 * (rows - 2) : 0);
}

/* Room for the rows in shared memory, and as many blocks as have registers and room. */
static bool fit(const kiln__given *g, int bytes, int64_t registers, kiln__schedule *s) {
    const kiln__device *device = g->device;
    const int64_t each = kiln__schedule_exchanged(s, g->ir) + 16, rows = s->team.rows_per_block;
    const int64_t exchanged = (s->team.threads / 32 + s->team.blocks_per_row + 1) * each * rows;
    const int64_t held = s->steps * s->team.threads * bytes * rows;
    if (held > device->shared_per_block - KILN__ROW_STATIC_BYTES || exchanged > KILN__ROW_STATIC_BYTES) return false;
    s->staging.bytes = (int)held;
    s->team.min_blocks_per_sm = (int)(device->registers_per_sm / registers / s->team.threads);
    while (s->team.min_blocks_per_sm > 1 &&
           s->team.min_blocks_per_sm * (held + exchanged + KILN__RESERVED_BYTES) > device->shared_per_sm)
        s->team.min_blocks_per_sm--;
    if (s->team.min_blocks_per_sm == 1) s->team.min_blocks_per_sm = 0; /* of one block, the compiler may think better */
    return true;
}

/* So many rows lie from one of a group to its next, which begins at the same place of a vector. */
static int spacing_of(const kiln__schedule *s) {
    int spacing = s->edges == KILN__EDGES_MASKED ? s->vector_width : 1;
    while (spacing > 1 && s->row.row_phase * (spacing / 2) % s->vector_width == 0) spacing /= 2;
    return spacing;
}

bool kiln__rows_in_flight_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    if (!kiln__row_set_vectors(g, point->vector_width, s)) return false;
    const int bytes = kiln__row_stage(g->problem, s);
    const bool masked = s->edges == KILN__EDGES_MASKED;
    if (!suits(g, bytes, s) || !set_team(g, point, s)) return false;
    if (masked && s->team.threads_per_row < 2 * s->vector_width) return false; /* a thread for each single element */
    s->staging.kind = KILN__STAGING_SHARED;
    s->row.rows_in_flight = s->row.prefetch = true;
    s->steps = kiln__divide_up(g->problem->cols / s->vector_width - masked, s->team.threads_per_row);
    s->staging.steps = s->steps;
    s->batch = 1;
    s->row.row_spacing = spacing_of(s);
    for (int o = 0; o < g->problem->input_count; o++) s->tensors[o].staged = true;
    const int64_t shared = s->steps * s->vector_width * g->traits.invariant_bytes;
    if (s->steps < 1 || shared > MOST_INVARIANT_BYTES) return false;
    if (!fit(g, bytes, registers_of(shared, s->team.rows_per_block), s)) return false;
    kiln__row_finish(g, point, s);
    if (masked) s->edges = KILN__EDGES_PEELED;
    return kiln__row_has_blocks(g->problem, s);
}

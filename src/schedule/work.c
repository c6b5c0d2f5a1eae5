/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/work.h"

#include <math.h>

#include "base/types.h"

#define MOST_REGISTERS 255

/* ---- registers, and the blocks that a multiprocessor has ---- */

/* Vectors of the inputs that a thread has at a time: those whose loads are issued together, or, from shared memory, the
 * two that an unrolled loop overlaps. */
static double vectors_at_once(const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_REGISTERS || s->staging.kind == KILN__STAGING_NONE) return s->batch;
    return fmin((double)s->unroll, 2);
}

/* A linear rule, fitted to the registers that the compiler took for some thousand kernels: what a thread holds of its
 * inputs, of what all rows share and of outputs, what it carries, and what it knows of its place.
 */
static double registers_of(const kiln__traits *t, const kiln__schedule *s) {
    const bool column = kiln__layout_of(s) == KILN__LAYOUT_OUTER, flat = kiln__layout_of(s) == KILN__LAYOUT_FLAT;
    const double shared_vectors = kiln__row_of(s)->prefetch ? (double)s->steps : 1;
    double registers = flat ? 12 : 16;
    registers += vectors_at_once(s) * s->vector_width * t->input_bytes / 4.0;
    registers += 0.9 * shared_vectors * s->vector_width * t->invariant_bytes / 4.0;
    registers += 0.9 * s->vector_width * t->outputs;
    registers += 0.7 * t->carried * (column ? s->vector_width : 1);
    if (column) registers += 8;
    if (s->staging.kind == KILN__STAGING_TILE) registers += 5;
    if (kiln__has_masks(s)) registers += 5;
    if (t->reduce_weight + t->output_weight > 60) registers += 10; /* functions of many instructions */
    return registers + (kiln__row_of(s)->rows_in_flight ? 3.5 * s->team.rows_per_block : 0);
}

int kiln__schedule_allowed_registers(const kiln__device *device, const kiln__schedule *s) {
    const int blocks = (int)kiln__greatest(s->team.min_blocks_per_sm, 1);
    const int each = device->registers_per_sm / (s->team.threads * blocks) / 8 * 8;
    return (int)kiln__least(each, MOST_REGISTERS);
}

static int most_blocks_of(const kiln__device *device, const kiln__schedule *s) {
    const int by_threads = device->threads_per_sm / s->team.threads;
    const int by_shared = (int)(device->shared_per_sm / (s->staging.bytes + 2048));
    return (int)kiln__least(by_shared, by_threads);
}

static void find_residents(kiln__work *w) {
    const kiln__device *device = w->g->device;
    const int allowed = kiln__schedule_allowed_registers(device, w->s);
    w->registers = (int)registers_of(&w->g->traits, w->s);
    w->tight = w->registers + KILN__REGISTERS_OFF > allowed;
    const int taken = (int)kiln__least(w->registers, allowed), used = (int)kiln__greatest((taken + 7) / 8 * 8, 8);
    const int by_registers = device->registers_per_sm / (used * w->s->team.threads),
              most = most_blocks_of(device, w->s);
    w->resident = (int)kiln__greatest(kiln__least(by_registers, most), 1);
}

/* ---- how much there is ---- */

double kiln__work_elements(const kiln__problem *p, const kiln__operand *operand) {
    double count = 1;
    if (operand->linear && operand->row_stride) count = (double)p->rows;
    for (int d = 0; d < p->outer_rank && !operand->linear; d++)
        if (operand->outer_strides[d]) count *= (double)p->outer[d];
    for (int d = 0; d < p->inner_rank && operand->per_element; d++)
        if (operand->contiguous_columns || operand->inner_strides[d]) count *= (double)p->inner[d];
    return count;
}

static double bytes_of(const kiln__problem *p) {
    double bytes = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++)
        bytes += kiln__work_elements(p, &p->operands[o]) * (double)kiln_type_size(p->operands[o].type);
    return bytes;
}

static double blocks_of(const kiln__problem *p, const kiln__schedule *s) {
    kiln__grid grid = {0, 0, 0};
    if (s->team.group == KILN__GROUP_GRID) return (double)p->rows * s->team.blocks_per_row; /* once for each row */
    if (!kiln__schedule_grid(s, kiln__schedule_rows(s, p), kiln__schedule_run(s, p), &grid)) return 1e12;
    return (double)grid.x * grid.y * grid.z;
}

static double slots_of(const kiln__work *w) {
    const kiln__schedule *s = w->s;
    const double of_thread = (double)s->steps * s->vector_width;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER)
        return w->rows * s->team.threads_per_row * of_thread * s->split.chunks;
    return w->blocks * s->team.threads * of_thread * fmax(kiln__column_of(s)->tile.ranks_per_thread, 1);
}

static double unstaged_part(const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_NONE) return 1;
    if (s->staging.kind != KILN__STAGING_SHARED || s->steps == 0) return 0;
    return 1 - (double)s->staging.steps / (double)s->steps;
}

kiln__work kiln__work_of(const kiln__given *g, const kiln__schedule *s) {
    const kiln__problem *p = g->problem;
    kiln__work w = {.g = g, .s = s, .rows = (double)p->rows, .cols = fmax((double)p->cols, 1)};
    w.elements = w.rows * w.cols;
    w.phases = (double)g->traits.passes - (s->passes.online >= 0);
    w.passes = fmax(w.phases + p->columns_out, 1);
    w.unstaged = unstaged_part(s);
    w.bytes = bytes_of(p);
    w.blocks = blocks_of(p, s);
    w.slots = slots_of(&w);
    w.vectors = w.slots / s->vector_width;
    find_residents(&w);
    /* A group that stays goes through its rows one after another, like blocks that follow each other. */
    const double blocks = kiln__row_of(s)->persistent ? w.rows * s->team.blocks_per_row : w.blocks;
    const double each = blocks / g->device->sm_count;
    w.turns = each / w.resident;
    w.at_once = fmin(each, w.resident);
    return w;
}

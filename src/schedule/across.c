/* SPDX-License-Identifier: Apache-2.0 */
/* Values of all rows: the room that their sums take, and the blocks that add them up. */
#include "base/types.h"
#include "schedule/build.h"

#define MOST_BLOCKS_PER_SM 4     /* more only lengthen what the second launch reads */
#define MOST_COLUMNS (1LL << 28) /* beyond all shared memory, and nothing overflows */

/* A bool is a word, as blocks add them. */
static int64_t bytes_of_one(const kiln__inst *inst) { return kiln__greatest(kiln__ctype_bytes(inst->type), 4); }

/* Of whole vectors, whatever their width. */
static int64_t bytes_of(const kiln__problem *problem, const kiln__inst *inst) {
    const int64_t columns = problem->cols > 1 && inst->per_element ? kiln__least(problem->cols, MOST_COLUMNS) : 1;
    return kiln__divide_up(columns, KILN__PADDED_COLUMNS) * KILN__PADDED_COLUMNS * bytes_of_one(inst);
}

void kiln__across_before(const kiln__ir *ir, uint32_t inst, int *columns, int *beside) {
    *columns = *beside = 0;
    for (uint32_t i = 0; i < inst; i++) {
        if (ir->insts[i].op != KILN__OP_ACROSS_REDUCE) continue;
        if (ir->insts[i].per_element)
            *columns += (int)bytes_of_one(&ir->insts[i]);
        else
            *beside += KILN__PADDED_COLUMNS * (int)bytes_of_one(&ir->insts[i]);
    }
}

int64_t kiln__across_place(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < inst; i++)
        if (ir->insts[i].op == KILN__OP_ACROSS_REDUCE) bytes += bytes_of(problem, &ir->insts[i]);
    return bytes;
}

bool kiln__row_add_across(const kiln__given *g, kiln__schedule *s) {
    if (!g->problem->across) return true;
    const kiln__device typical = kiln__device_typical(g->device->arch);
    const bool alone = s->team.blocks_per_row == 1 && s->split.chunks == 1; /* a block has its rows to itself */
    s->row.across.offset = (int)kiln__divide_up(s->staging.bytes, 16) * 16;
    const int64_t each = kiln__across_place(g->ir, g->problem, g->ir->count);
    const int64_t bytes = s->row.across.offset + each * s->team.rows_per_block;
    const int64_t room =
        kiln__least(typical.shared_per_sm / (bytes + KILN__ROW_STATIC_BYTES), typical.threads_per_sm / s->team.threads);
    /* There may be no room on the typical device, where this one has more than its like. */
    const bool fits = room > 0 && bytes + KILN__ROW_STATIC_BYTES <= g->device->shared_per_block;
    if (!alone || s->row.persistent || s->passes.ordered || !fits) return false;
    s->row.across.blocks = typical.sm_count * (int)kiln__least(room, MOST_BLOCKS_PER_SM);
    s->row.across.bytes = (int)each;
    s->staging.bytes = (int)bytes;
    return true;
}

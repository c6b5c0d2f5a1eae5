/* SPDX-License-Identifier: Apache-2.0 */
/* What the builders of all strategies share. */
#include "schedule/build.h"

#include <string.h>

kiln__schedule kiln__schedule_blank(const kiln__ir *ir, const kiln__problem *problem) {
    static const kiln__strategy strategies[] = {
        [KILN__LAYOUT_FLAT] = KILN__POINTWISE, [KILN__LAYOUT_INNER] = KILN__ROW, [KILN__LAYOUT_OUTER] = KILN__COLUMN};
    kiln__schedule s;
    memset(&s, 0, sizeof s);
    s.strategy = strategies[problem->layout];
    s.team.blocks_per_row = s.split.chunks = 1;
    s.passes.online = -1;
    s.passes.ordered = problem->ordered;
    s.passes.selects = kiln__ir_selects(ir);
    s.passes.scans = kiln__ir_scans(ir);
    s.passes.one_launch = s.passes.selects | s.passes.scans;
    return s;
}

void kiln__schedule_split(const kiln__ir *ir, int chunks, kiln__schedule *s) {
    s->split.chunks = 1;
    if (s->passes.one_launch) chunks = 1;
    if (ir->phase_count == 0 || s->staging.kind != KILN__STAGING_NONE || s->team.blocks_per_row > 1 || chunks <= 1)
        return;
    const int64_t steps = kiln__divide_up(s->steps, chunks);
    s->split.chunks = (int)kiln__divide_up(s->steps, steps);
    s->steps = steps;
    s->batch = (int)kiln__least(s->batch, s->steps);
}

bool kiln__fits_registers(const kiln__schedule *s) {
    return s->staging.kind != KILN__STAGING_REGISTERS || s->steps <= KILN__MOST_REGISTER_ELEMENTS / s->vector_width;
}

void kiln__schedule_batch(const kiln__pins *point, int usual, kiln__schedule *s) {
    const int most = KILN__MOST_REGISTER_ELEMENTS / s->vector_width, pinned = (int)kiln__least(point->batch, most);
    s->batch = point->batch ? pinned : usual;
    s->batch = (int)(s->staging.kind == KILN__STAGING_REGISTERS ? s->steps : kiln__least(s->batch, s->steps));
}

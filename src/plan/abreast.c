/* Rows abreast: a group that works on several rows at once reads what all rows share once for them. */
#include "base/types.h"
#include "plan/online.h"
#include "plan/schedule.h"

/* For rows of up to so many packs of 16 bytes, all kept inputs together: up to seven for each thread, and blocks as small as
 * can be (layer_norm of 65,536 columns, H200: sixteen blocks of 128 threads 0.970, eight of 256 0.953, four of 512 0.943; of
 * 57,344 eight of 128 0.981, sixteen 0.878, but rms_norm 0.960 and 0.998). */
static const struct {
    int64_t packs;
    int threads, cluster, rows;
    int sharing; /* inputs that all rows share, at least */
} groups[] = {{448, 64, 1, 2, 1},     {768, 128, 1, 2, 1},    {1536, 128, 2, 2, 1},
              {3072, 128, 4, 2, 1},   {6144, 128, 8, 2, 1},   {7168, 128, 8, 2, 2},
              {14336, 128, 16, 2, 1}, {16384, 256, 16, 3, 1}, {20480, 256, 16, 2, 1}};

/* The shortest rows that gain: norms whose packs are of 2-byte elements, of two such tensors and of one; others. */
#define NORMS_FROM 193
#define NORMS_OF_ONE_FROM 449
#define NORMS_OF_ONE_TO 12288
#define OTHERS_FROM 1025

#define MOST_EXCHANGED 16384 /* bytes of what warps and blocks exchange, of all rows */
#define MOST_SHARED 256      /* bytes of a thread's packs of what all rows share */

/* So many rows, in registers that let most blocks run: more rows make up for fewer blocks. */
static bool fit(const kiln__ir *ir, const kiln__device *device, int rows, int registers, int bytes, kiln__schedule *s) {
    const int64_t each = kiln__schedule_exchanged(s, ir) + 16;
    const int64_t exchanged = (s->threads / 32 + s->blocks_per_row + 1) * each * rows;
    const int64_t held = s->steps * s->threads * bytes * rows;
    if (held > device->shared_per_block - MOST_EXCHANGED || exchanged > MOST_EXCHANGED) return false;
    s->rows_per_block = rows;
    s->shared_bytes = (int)held;
    s->resident = device->registers_per_sm / registers / s->threads;
    while (s->resident > 1 && s->resident * (held + exchanged + 1024) > device->shared_per_sm) s->resident--;
    return true;
}

bool kiln__abreast_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          const kiln__pins *pins, int64_t load, int bytes, int attempt, kiln__schedule *s) {
    int shared = 0;
    if (!s->sharing || !bytes || s->masked || s->ordered || !ir->phase_count || !problem->columns_out) return false;
    if (pins->residency >= 0 || pins->persistent > 0 || pins->rows_per_block == 1) return false;
    if (pins->rows_per_block ? pins->group > KILN__GROUP_BLOCK : pins->group >= 0 || pins->threads || pins->cluster)
        return false;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element) return false; /* it would be read once more, when its place may be taken */
        if (!operand->follows_rows) shared += s->pack_size * (int)kiln_type_size(operand->type);
    }
    const bool norms = kiln__online_phase(ir) < 0 || kiln__online_squares(ir);
    const int least = !norms || s->pack_size < 8 ? OTHERS_FROM : s->sharing > 1 ? NORMS_FROM : NORMS_OF_ONE_FROM;
    const int64_t most = norms && s->sharing == 1 ? NORMS_OF_ONE_TO : INT64_MAX;
    if ((load < least || load > most) && !pins->rows_per_block) return false;
    int rows = pins->rows_per_block ? pins->rows_per_block : 2;
    s->threads = pins->threads;
    s->blocks_per_row = pins->cluster ? pins->cluster : 1;
    for (size_t i = sizeof groups / sizeof *groups; i-- > 0 && !pins->threads;) {
        if (load > groups[i].packs || s->sharing < groups[i].sharing) continue;
        s->threads = groups[i].threads;
        s->blocks_per_row = groups[i].cluster;
        if (!pins->rows_per_block) rows = groups[i].rows;
    }
    if (s->threads < 32 || s->threads > 1024 || !kiln__is_power_of_two(s->threads) ||
        !kiln__cluster_fits(s->blocks_per_row, device))
        return false;
    s->group = s->blocks_per_row > 1 ? KILN__GROUP_CLUSTER : KILN__GROUP_BLOCK;
    s->residency = KILN__RESIDENCY_SHARED;
    s->abreast = s->ahead = true;
    s->threads_per_row = s->threads * s->blocks_per_row;
    s->held = s->steps = kiln__divide_up(problem->cols / s->pack_size, s->threads_per_row);
    for (int o = 0; o < problem->input_count; o++) s->kept[o] = true;
    s->reason = "rows abreast, which read what all rows share once (layer_norm of 8,192 columns, H200: 0.981, one by "
                "one 0.956)";
    s->batch = 1;
    if (s->steps < 1 || s->steps * shared > MOST_SHARED) return false;
    rows += pins->rows_per_block ? 0 : attempt;
    const int registers = 32 + (int)s->steps * shared / 4;
    if (!fit(ir, device, rows, (registers < 64 ? 64 : registers) + (rows > 2 ? 16 * (rows - 2) : 0), bytes, s))
        return false;
    if (!pins->rows_per_block)
        s->few_rows = kiln__device_typical(device->arch).sm_count * s->resident / s->blocks_per_row;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tile where neighbouring rows lie side by side: all of them, with all their columns, are one flat array, which a
 * block copies to shared memory in aligned pieces, whoever works on a row. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"

#define GOOD_THREADS 256 /* of several runs of rows, at most ... */
#define LEAST_THREADS 96
#define GOOD_BYTES 32768 /* ... and their bytes */
#define FEW_CONFLICTS 2
#define MOST_ROWS 8192   /* of a tile */
#define MOST_SLOTS 40960 /* bytes through which ranks exchange */
#define MOST_CARRIED 256 /* bytes that a thread carries through its columns */

/* Whether the operand's rows that lie side by side are one array with their columns. */
static bool is_dense(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    return operand->outer_strides[last] == 1 && operand->inner_strides[0] == problem->outer[last];
}

/* Whether the runs of such rows are one behind the other, too. */
static bool is_one_array(const kiln__problem *problem, const kiln__operand *operand) {
    int64_t behind = kiln__times(problem->cols, problem->outer[problem->outer_rank - 1]);
    bool one = true;
    for (int d = problem->outer_rank - 2; d >= 0; behind = kiln__times(behind, problem->outer[d--]))
        one = one && operand->outer_strides[d] == behind;
    return one;
}

/* What the choice of threads starts from. */
typedef struct tile_facts {
    int widest;        /* bytes of the widest input */
    bool again;        /* columns are needed after the first reductions */
    bool loose;        /* lanes need not be those of whole runs */
    int64_t exchanged; /* bytes of what each rank exchanges */
} tile_facts;

/* Whether an operand is in the tile. */
static bool is_in_tile(const kiln__problem *problem, const kiln__schedule *s, int o) {
    return o < problem->input_count ? s->tensors[o].staged : problem->operands[o].per_element;
}

/* Places for `elements` of every tensor of the tile, and 16 bytes for where they begin; an output takes that of an
 * input which lies alike. */
static int64_t place(const kiln__problem *problem, int64_t elements, kiln__schedule *s) {
    int64_t bytes = 0;
    bool taken[KILN_MAX_TENSORS] = {false};
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type);
        int of = -1;
        if (!is_in_tile(problem, s, o)) continue;
        for (int i = 0; operand->output && i < problem->input_count && of < 0; i++) {
            const kiln__operand *input = &problem->operands[i];
            bool alike = s->tensors[i].staged && !taken[i] && (int)kiln_type_size(input->type) == size &&
                         operand->alignment * size >= 16 && input->alignment * size >= 16;
            for (int d = 0; d < problem->outer_rank; d++)
                alike = alike && (operand->outer_strides[d] - input->outer_strides[d]) * size % 16 == 0;
            if (alike) of = i;
        }
        if (of >= 0) taken[of] = true;
        s->tensors[o].offset = of >= 0 ? s->tensors[of].offset : (int)bytes;
        if (of < 0) bytes += kiln__divide_up(kiln__times(elements, size) + 16, 128) * 128;
        if (bytes > INT32_MAX / 2) return INT32_MAX / 2;
    }
    return bytes;
}

/* How many words of one bank of shared memory the first warp's threads read at once: of neighbouring rows first, then
 * of ranks, then of runs. */
static int conflicts_of(const kiln__problem *problem, int64_t kept, int64_t lanes, int sharing, int parts, int size) {
    const int64_t together = lanes % kept ? lanes : kept;
    int64_t words[32];
    int counts[32] = {0}, most = 0;
    for (int t = 0; t < 32; t++) {
        const int64_t rank = t / together % sharing, lane = t / (together * sharing) * together + t % together;
        words[t] = ((lane / kept * problem->cols + rank * parts) * kept + lane % kept) * size / 4;
        int other = 0;
        while (words[other] != words[t]) other++;
        if (other == t && ++counts[words[t] % 32] > most) most = counts[words[t] % 32];
    }
    return most;
}

/* The threads of a tile of so many runs of rows. False where they are too many, or it has no room. */
static bool work_out(const kiln__problem *problem, const kiln__device *device, const tile_facts *f, int64_t runs,
                     kiln__schedule *s) {
    const int64_t kept = problem->outer[problem->outer_rank - 1], rows = kiln__times(runs, kept);
    const int elements = (f->again ? 128 : 64) / f->widest; /* of a thread */
    const int most = elements < 32 ? elements : 32;         /* of them in a row */
    int fewest = INT32_MAX;
    if (rows > MOST_ROWS) return false;
    s->column.tile_rows = (int)rows;
    s->staging.bytes = (int)place(problem, kiln__times(rows, problem->cols), s);
    /* Neighbouring ranks rather than several rows: their values are combined without an exchange. */
    for (int parts = s->team.threads_per_row / s->column.rank_groups; parts > 0 && fewest > FEW_CONFLICTS; parts /= 2) {
        const int sharing = s->team.threads_per_row / parts, warps = sharing < 32 ? 32 / sharing : 1;
        if (parts > 1 && parts * s->steps > most && rows * sharing * 2 <= 1024) continue; /* half as many will do */
        int64_t lanes, unit = warps; /* lanes that make whole warps, and whole runs */
        while (kept < 32 && runs > 1 && !f->loose && unit % kept) unit += warps;
        int vector = 1;
        for (;; vector *= 2) {
            lanes = kiln__divide_up(kiln__divide_up(rows, vector), unit) * unit;
            const bool enough =
                2 * vector * s->steps * parts > elements || 2 * vector * parts * f->exchanged > MOST_CARRIED;
            if (vector == 8 || (enough && lanes * sharing <= 1024)) break;
        }
        const int64_t slots = sharing > 1 ? lanes * vector * sharing * f->exchanged : 0;
        if (lanes * sharing > 1024 || slots > MOST_SLOTS) continue;
        if (parts > 1 && parts * vector * f->exchanged > MOST_CARRIED) continue;
        if (s->staging.bytes + slots + 1024 > device->shared_per_sm / 2) continue;
        const int conflicts = conflicts_of(problem, kept, lanes, sharing, parts, f->widest);
        if (conflicts >= fewest) continue;
        fewest = conflicts;
        s->column.ranks_per_thread = parts;
        s->vector_width = vector;
        s->team.threads = (int)(lanes * sharing);
        s->team.rows_per_block = (int)(lanes * vector);
    }
    return fewest < INT32_MAX;
}

/* The same, of several runs if they are few and small. */
static bool suits(const kiln__problem *problem, const kiln__device *device, const tile_facts *f, int64_t runs,
                  kiln__schedule *s) {
    kiln__schedule more = *s;
    if (!work_out(problem, device, f, runs, &more)) return false;
    if (runs > 1 && (more.staging.bytes > GOOD_BYTES || more.team.threads > GOOD_THREADS)) return false;
    *s = more;
    return true;
}

/* As many runs as suit, from one on; false where not even that does. */
static bool find_runs(const kiln__problem *problem, const kiln__device *device, const tile_facts *f, bool one_array,
                      kiln__schedule *s) {
    int64_t runs = 1, more = 1;
    if (!suits(problem, device, f, runs, s)) return false;
    for (; one_array && suits(problem, device, f, runs + more, s); more *= 2) runs += more;
    for (; one_array && more > 0; more /= 2)
        if (suits(problem, device, f, runs + more, s)) runs += more;
    return true;
}

/* Blocks that a multiprocessor should have registers for: of 40 for a thread, of 64 where it has many rows. It runs 32
 * at most, 16 of 8.6, 24 of 8.9 and of the small ones since (CUDA programming guide, compute capabilities). */
static int min_blocks_of(const kiln__device *device, const kiln__schedule *s) {
    const int arch = device->arch, small = arch == 86 || arch == 87 ? 16 : arch == 89 || arch >= 110 ? 24 : 32;
    int blocks = (s->vector_width > 4 ? 1024 : 1536) / s->team.threads;
    if (s->team.threads > 768 && s->team.threads <= 800) blocks = 2; /* of 32: their warps are allotted in fours */
    if (blocks > small) blocks = small;
    return blocks > device->threads_per_sm / s->team.threads ? device->threads_per_sm / s->team.threads : blocks;
}

/* Where vectors of rows do as well: runs of them are multiples of a sector of memory. Of what is read once, vectors
 * that are misaligned do, too, but for those of elements of 2 bytes, and few rows do not. */
static bool suits_vectors(const kiln__problem *problem, const tile_facts *f) {
    const int64_t kept = problem->outer[problem->outer_rank - 1], bytes = kiln__times(kept, f->widest);
    if (bytes % 32 == 0) return true;
    return !f->again && bytes >= 32 && (f->widest > 2 || kept % 2 == 0);
}

bool kiln__tile_outer_choose(const kiln__problem *problem, const kiln__device *device, bool asked, bool again,
                             int64_t exchanged, kiln__schedule *s) {
    tile_facts f = {.again = again, .exchanged = exchanged};
    bool one_array = problem->outer_rank > 1;
    if (problem->inner_rank != 1 || problem->outer_rank == 0 || s->passes.ordered) return false;
    if (problem->cols < 2 || problem->rows == 0) return false;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type);
        if (!is_in_tile(problem, s, o)) continue;
        if (!is_dense(problem, operand)) return false;
        one_array = one_array && is_one_array(problem, operand);
        if (!operand->output && size > f.widest) f.widest = size;
    }
    if (!f.widest || (!asked && suits_vectors(problem, &f))) return false;
    s->strategy = KILN__COLUMN_TILE;
    s->staging.kind = KILN__STAGING_TILE;
    s->column.rank_groups = s->team.blocks_per_row;
    s->team.threads_per_row *= s->team.blocks_per_row;
    s->column.run_rows = s->batch = s->team.blocks_per_row = 1;
    s->steps = kiln__divide_up(problem->cols, s->team.threads_per_row);
    if (!find_runs(problem, device, &f, one_array, s)) return false;
    f.loose = true; /* a block of few threads costs more than waiting for banks */
    if (s->team.threads < LEAST_THREADS) find_runs(problem, device, &f, one_array, s);
    s->team.min_blocks_per_sm = min_blocks_of(device, s);
    s->reason =
        "neighbouring rows lie side by side, few or unaligned: with their columns they are one flat array, copied in "
        "aligned pieces";
    return true;
}

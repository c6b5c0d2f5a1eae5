/* SPDX-License-Identifier: Apache-2.0 */
/* The tile where neighbouring rows lie side by side: all of them, with all their columns, are one flat array, which a
 * block copies to shared memory in aligned pieces, whoever works on a row. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/build.h"

#define GOOD_THREADS 256 /* of several runs of rows, at most */
#define LEAST_THREADS 96
#define FEW_CONFLICTS 2
#define MOST_CARRIED 256 /* bytes that a thread carries through its columns: a quarter of its registers */

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
    bool one_array;    /* runs lie one behind the other */
    int64_t exchanged; /* bytes of what each rank exchanges */
} tile_facts;

/* Elements that are enough for a thread. */
static int elements_of(const tile_facts *f) { return (f->again ? 128 : 64) / f->widest; }

/* Whether both begin equally far behind 16 bytes in every run. */
static bool begin_alike(const kiln__problem *problem, const kiln__operand *a, const kiln__operand *b, int size) {
    bool alike = kiln__least(a->alignment, b->alignment) * size >= KILN__ACCESS_BYTES;
    for (int d = 0; d < problem->outer_rank; d++)
        alike = alike && (a->outer_strides[d] - b->outer_strides[d]) * size % 16 == 0;
    return alike;
}

/* The input whose place an output takes; -1: none. */
static int input_before(const kiln__problem *problem, const kiln__schedule *s, int o,
                        const bool taken[KILN_MAX_TENSORS]) {
    const kiln__operand *operand = &problem->operands[o];
    const int size = (int)kiln_type_size(operand->type);
    for (int i = 0; operand->output && i < problem->input_count; i++) {
        const kiln__operand *input = &problem->operands[i];
        const bool fits = s->tensors[i].staged && !taken[i] && (int)kiln_type_size(input->type) == size;
        if (fits && begin_alike(problem, operand, input, size)) return i;
    }
    return -1;
}

/* Places for `elements` of every tensor of the tile, and 16 bytes for where they begin. */
static int64_t place(const kiln__problem *problem, int64_t elements, kiln__schedule *s) {
    int64_t bytes = 0;
    bool taken[KILN_MAX_TENSORS] = {false};
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const int64_t size = (int64_t)kiln_type_size(problem->operands[o].type);
        if (!kiln__column_moves(problem, s, o)) continue;
        const int of = input_before(problem, s, o, taken);
        s->tensors[o].offset = of >= 0 ? s->tensors[of].offset : (int)bytes;
        if (of >= 0)
            taken[of] = true;
        else
            bytes += kiln__divide_up(kiln__times(elements, size) + 16, 128) * 128;
        if (bytes > INT32_MAX / 2) return INT32_MAX / 2;
    }
    return bytes;
}

/* Where lanes are of several runs of rows, those of one run and all its ranks follow one another, as elements of the
 * tile do, so that banks of shared memory are different ones. */
static int64_t run_lanes_of(int64_t lanes, int64_t kept) { return lanes % kept ? lanes : kept; }

/* How many words of one bank of shared memory the first warp's threads read at once: of neighbouring rows first, then
 * of ranks, then of runs. */
static int conflicts_of(const kiln__problem *problem, int64_t kept, int64_t lanes, int sharing, int parts, int size) {
    const int64_t together = run_lanes_of(lanes, kept);
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

/* Lanes that make whole warps, and whole runs where those are short. */
static int64_t lane_unit(const tile_facts *f, int64_t kept, int64_t runs, int sharing) {
    const int64_t warps = sharing < 32 ? 32 / sharing : 1;
    int64_t unit = warps;
    while (kept < 32 && runs > 1 && !f->loose && unit % kept) unit += warps;
    return unit;
}

/* The threads of a tile: `parts` ranks of a row are one thread's, and `sharing` threads share a row. */
typedef struct tile_threads {
    int parts, sharing, vector;
    int64_t lanes;
} tile_threads;

/* As few rows for a thread as leave it enough to do, in at most 1,024 threads. */
static tile_threads find_threads(const tile_facts *f, int64_t rows, int64_t unit, int parts, const kiln__schedule *s) {
    tile_threads t = {.parts = parts, .sharing = s->team.threads_per_row / parts, .vector = 1};
    for (;; t.vector *= 2) {
        t.lanes = kiln__divide_up(kiln__divide_up(rows, t.vector), unit) * unit;
        const int64_t ranks = 2 * (int64_t)t.vector * parts;
        const bool enough = ranks * s->steps > elements_of(f) || ranks * f->exchanged > MOST_CARRIED;
        if (t.vector == 4 || (enough && t.lanes * t.sharing <= KILN__MOST_THREADS)) return t;
    }
}

/* Whether there is room for what they carry, keep and exchange. */
static bool have_room(const kiln__device *device, const tile_facts *f, const tile_threads *t, int64_t bytes) {
    const int64_t slots = t->sharing > 1 ? t->lanes * t->vector * t->sharing * f->exchanged : 0;
    if (t->lanes * t->sharing > KILN__MOST_THREADS || slots > KILN__COLUMN_STATIC_BYTES) return false;
    if (t->parts > 1 && t->parts * t->vector * f->exchanged > MOST_CARRIED) return false;
    return bytes + slots + KILN__RESERVED_BYTES <= device->shared_per_sm / 2;
}

static void take_threads(const tile_threads *t, int64_t kept, kiln__schedule *s) {
    s->column.tile.run_lanes = (int)run_lanes_of(t->lanes, kept);
    s->column.tile.ranks_per_thread = t->parts;
    s->vector_width = t->vector;
    s->team.threads = (int)(t->lanes * t->sharing);
    s->team.rows_per_block = (int)(t->lanes * t->vector);
}

/* The threads of a tile of so many runs of rows. False where they are too many, or it has no room. Neighbouring ranks
 * rather than several rows: their values are combined without an exchange. */
static bool work_out(const kiln__given *g, const tile_facts *f, int64_t runs, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const int64_t kept = problem->outer[problem->outer_rank - 1], rows = kiln__times(runs, kept);
    const int64_t most = kiln__least(elements_of(f), 32); /* of a thread's elements in a row */
    int fewest = INT32_MAX;
    if (rows > INT32_MAX) return false;
    s->column.tile.rows = (int)rows;
    s->staging.bytes = (int)place(problem, kiln__times(rows, problem->cols), s);
    for (int parts = s->team.threads_per_row / s->column.rank_groups; parts > 0 && fewest > FEW_CONFLICTS; parts /= 2) {
        const int sharing = s->team.threads_per_row / parts;
        if (parts > 1 && parts * s->steps > most && rows * sharing * 2 <= KILN__MOST_THREADS)
            continue; /* half as many will do */
        const tile_threads t = find_threads(f, rows, lane_unit(f, kept, runs, sharing), parts, s);
        if (!have_room(g->device, f, &t, s->staging.bytes)) continue;
        const int conflicts = conflicts_of(problem, kept, t.lanes, sharing, parts, f->widest);
        if (conflicts < fewest) take_threads(&t, kept, s);
        fewest = (int)kiln__least(fewest, conflicts);
    }
    return fewest < INT32_MAX;
}

/* The same, of several runs if those are few threads. */
static bool suits(const kiln__given *g, const tile_facts *f, int64_t runs, kiln__schedule *s) {
    kiln__schedule more = *s;
    if (!work_out(g, f, runs, &more)) return false;
    if (runs > 1 && more.team.threads > GOOD_THREADS) return false;
    *s = more;
    return true;
}

/* As many runs as suit, from one on; false where not even that does. */
static bool find_runs(const kiln__given *g, const tile_facts *f, kiln__schedule *s) {
    int64_t runs = 1, more = 1;
    if (!suits(g, f, runs, s)) return false;
    for (; f->one_array && suits(g, f, runs + more, s); more *= 2) runs += more;
    for (; f->one_array && more > 0; more /= 2)
        if (suits(g, f, runs + more, s)) runs += more;
    return true;
}

/* Whether tiles can be, and of what: facts. */
static bool find_facts(const kiln__given *g, const kiln__column_facts *columns, const kiln__schedule *s,
                       tile_facts *f) {
    const kiln__problem *problem = g->problem;
    *f = (tile_facts){.again = columns->again, .exchanged = columns->slot_bytes, .one_array = problem->outer_rank > 1};
    if (!kiln__column_is_regular(problem) || problem->rows == 0) return false;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type);
        if (!kiln__column_moves(problem, s, o)) continue;
        if (!kiln__column_is_dense(problem, operand)) return false;
        f->one_array = f->one_array && is_one_array(problem, operand);
        if (!operand->output) f->widest = (int)kiln__greatest(f->widest, size);
    }
    return f->widest > 0;
}

/* Lanes of a warp, as many as there are threads for, that share the slots of a row in each group of ranks. */
static int combine_lanes_of(const kiln__schedule *s) {
    const int slots = kiln__column_slots(s) / s->column.rank_groups;
    const int threads = s->team.threads / (s->team.rows_per_block * s->column.rank_groups);
    int lanes = (int)kiln__least(slots, 32);
    while (lanes > 1 && lanes > threads) lanes /= 2;
    return lanes;
}

/* The point says how many ranks a row has, as it has them in vectors: its bits are the same. */
bool kiln__column_tile_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    const kiln__column_facts columns = kiln__column_find(g, s);
    const int blocks = (int)kiln__greatest(point->cluster, 1);
    tile_facts f;
    if (!kiln__is_power_of_two(point->threads) || !find_facts(g, &columns, s, &f)) return false;
    s->strategy = KILN__COLUMN_TILE;
    s->staging.kind = KILN__STAGING_TILE;
    s->team.group = KILN__GROUP_COLUMNS;
    s->column.rank_groups = blocks;
    s->team.threads_per_row = point->threads * blocks;
    s->column.run_rows = s->batch = s->team.blocks_per_row = 1;
    s->steps = kiln__divide_up(g->problem->cols, s->team.threads_per_row);
    if (!find_runs(g, &f, s)) return false;
    f.loose = true; /* a block of few threads costs more than waiting for banks */
    if (s->team.threads < LEAST_THREADS) find_runs(g, &f, s);
    s->column.tile.combine_lanes = combine_lanes_of(s);
    return true;
}

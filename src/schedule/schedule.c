/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a row of the schedule table. */
#include "schedule/schedule.h"

#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/cost.h"
#include "problem/online.h"
#include "schedule/table.h"

#define MOST_TILE_COLUMNS 2048
#define MOST_APART_BYTES 256 /* of a thread: f64 spills with more */
/* Vectors; of fewer the ends are too many (sums of 127 of 128 columns: 0.566, pairs 1.036). */
#define LEAST_OVERHANGING 97
#define LONG_ROW_VECTORS 65536 /* of a streamed row: longer ones are split among blocks */
#define CHUNK_VECTORS 8192
#define READ_VECTORS 2048 /* the same of a row that is read once, all inputs together */

static void choose_vector(const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    s->vector_width = kiln__widest_vector(problem);
    while (pins->vector_width && s->vector_width > pins->vector_width) s->vector_width /= 2;
    if (kiln__layout_of(s) == KILN__LAYOUT_FLAT || problem->cols % s->vector_width == 0) return;
    int64_t phase = -2; /* of all the tensors that a vector covers in one access */
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element || !operand->follows_rows || !operand->contiguous_columns) continue;
        int64_t own = kiln__row_phase(problem, operand, s->vector_width);
        phase = phase == -2 || phase == own ? own : -1;
    }
    if (phase >= 0 && problem->cols >= 4 * s->vector_width && !s->passes.ordered) s->edges = KILN__EDGES_MASKED;
    s->row.row_phase = s->edges == KILN__EDGES_MASKED ? (int)phase : 0;
    while (s->edges != KILN__EDGES_MASKED && problem->cols % s->vector_width) s->vector_width /= 2;
}

/* Whether all rows share an input's elements. */
static bool is_shared(const kiln__operand *operand) { return operand->per_element && !operand->follows_rows; }

/* Which inputs stay with the row, and the bytes of one vector of them. */
static int choose_staged(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->tensors[o].staged = operand->per_element && operand->follows_rows;
        if (problem->layout == KILN__LAYOUT_INNER) s->row.invariant_inputs += is_shared(operand);
        if (s->tensors[o].staged) bytes += s->vector_width * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

/* What all rows share is loaded with a row in registers rather than when it is used, where three blocks have registers
 * for both: few rows wait for memory once (rms_norm of 128 rows of 4,096 columns: 4.8 us, 6.1 without). Clusters load
 * it for several vectors at a time in norms, whose reductions leave registers for it, and where threads have many
 * vectors or there is one such tensor (rms_norm of 524,288 columns: 0.828, 0.668 without; layer_norm 0.733 and 0.593,
 * of 65,536 columns 0.988 and 0.970; rms_norm of 131,071 0.964 and 0.947), but for two tensors and more that take two
 * loads for a vector (layer_norm of 65,537 columns: 0.826, 0.881 without). */
static void prefetch_invariants(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                                int bytes, bool norms, kiln__schedule *s) {
    if (!s->row.invariant_inputs || ((s->edges == KILN__EDGES_MASKED) && s->row.invariant_inputs > 1)) return;
    for (int o = 0; o < problem->input_count; o++)
        if (is_shared(&problem->operands[o])) bytes += s->vector_width * (int)kiln_type_size(problem->operands[o].type);
    s->row.prefetch = s->staging.kind == KILN__STAGING_REGISTERS && s->edges != KILN__EDGES_MASKED &&
                      (pins->prefetch || (s->steps * bytes / 4 + 24) * s->team.threads * 3 <= device->registers_per_sm);
    s->row.batched = s->staging.kind == KILN__STAGING_SHARED && s->team.group == KILN__GROUP_CLUSTER &&
                     ((s->edges == KILN__EDGES_MASKED) ? norms && s->team.threads <= 256
                                                       : norms || s->row.invariant_inputs == 1 || s->steps >= 16);
    for (int o = 0; o < problem->input_count; o++)
        s->tensors[o].staged |= (s->row.prefetch || s->row.batched) && problem->operands[o].per_element;
}

/* Blocks of a cluster reach each other's shared memory from 9.0 on; sixteen on whole data-center parts. */
bool kiln__cluster_fits(int cluster, const kiln__device *device) {
    if (cluster == 1) return true;
    int most = device->arch < 90 ? 1 : device->arch < 110 && device->sm_count >= 100 ? 16 : 8;
    return kiln__is_power_of_two(cluster) && cluster <= most;
}

#define MOST_STATIC_BYTES 49152 /* of shared memory, whatever the architecture */

/* Of static shared memory: what a row's warps exchange, every other row beside the one before it; of clusters what
 * those of a block and then its blocks do, where they are many. */
static int64_t exchange_bytes(const kiln__ir *ir, bool persistent, const kiln__schedule *s) {
    bool wide = ir->float_type == KILN__F64;
    for (uint32_t i = 0; i < ir->count; i++) wide |= ir->insts[i].type == KILN__I64;
    int64_t values = kiln__schedule_exchanged(s, ir) / 8 + 1, warps = s->team.threads / 32;
    if (s->team.group == KILN__GROUP_CLUSTER)
        warps = warps * s->team.blocks_per_row > 32 ? warps + s->team.blocks_per_row : warps * s->team.blocks_per_row;
    int64_t bytes = warps * (persistent ? 2 : 1) * kiln__divide_up(values * (wide ? 8 : 4), 16) * 16;
    return bytes > 8192 ? bytes : 8192;
}

/* How much of the row stays in shared memory, and whether a group goes through several rows. */
static bool hold(const kiln__ir *ir, const kiln__choice *c, const kiln__pins *pins, const kiln__device *device,
                 int bytes, kiln__schedule *s) {
    bool grid = s->team.group == KILN__GROUP_GRID;
    bool persistent = s->team.group != KILN__GROUP_LANES && ir->phase_count > 0 &&
                      (pins->persistent ? pins->persistent > 0 : c->persistent);
    int64_t exchange = s->team.group == KILN__GROUP_LANES ? 8192 : exchange_bytes(ir, persistent, s);
    int64_t step = (int64_t)s->team.threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES);
    const int64_t room = device->shared_per_block - exchange;
    s->staging.steps = 0;
    s->team.min_blocks_per_sm = 1;
    s->staging.bytes = 0;
    s->row.persistent = false;
    if (exchange > MOST_STATIC_BYTES) return false;
    if (s->staging.kind != KILN__STAGING_SHARED) return true;
    /* Better two clusters side by side, one exchanging while the other loads, than all of a row. */
    int64_t half = device->shared_per_sm / 2 - 5120, all = kiln__times(s->steps, step), most = room;
    if (s->team.blocks_per_row == 16 && persistent && all > half && all - all / 4 <= half) most = half;
    s->staging.steps = all <= most ? s->steps : most / step;
    if (s->staging.steps < s->steps && !grid && (!persistent || s->staging.steps < s->steps - s->steps / 4))
        return false;
    s->staging.bytes = (int)(s->staging.steps * s->team.threads * bytes);
    if (s->team.threads == 1024 && device->threads_per_sm >= 2048 &&
        2 * (s->staging.bytes + 2048) <= device->shared_per_sm)
        s->team.min_blocks_per_sm = 2;
    s->row.persistent = grid || persistent;
    return !(c->only & SHARING) || s->team.threads < 1024 || s->team.min_blocks_per_sm == 2; /* alone it is too slow */
}

/* Whether one block has the row in up to five vectors for each thread, of which each takes two loads of several
 * weights: two phases fit 64 registers, and are as fast as one pass that takes fewer (layer_norm of 16,383 columns:
 * 0.957 and 0.943). */
static bool is_short_of_registers(const kiln__schedule *s) {
    return s->edges == KILN__EDGES_MASKED && s->row.invariant_inputs > 1 &&
           s->staging.kind == KILN__STAGING_REGISTERS && s->team.blocks_per_row == 1 && s->team.threads >= 256 &&
           s->steps <= 5;
}

/* How many blocks of norms a multiprocessor should have registers for, where blocks share rows: the more threads wait
 * for what all rows share, the better, above all where a vector takes two loads of it (layer_norm of 65,537 columns: 64
 * registers for each of 1,024 threads 0.928, 72 for 896 0.893; of 262,144 in three blocks of 512 0.948, in two 0.922).
 */
static int min_blocks_of(const kiln__device *device, const kiln__schedule *s) {
    const bool twice = s->edges == KILN__EDGES_MASKED && s->row.invariant_inputs > 1,
               one = s->team.blocks_per_row == 1 && !is_short_of_registers(s);
    const int blocks = !s->row.invariant_inputs || one || s->team.group == KILN__GROUP_GRID ? 1
                       : s->staging.kind == KILN__STAGING_REGISTERS ? twice ? 1024 / s->team.threads : 1
                       : s->team.threads == 512                     ? 3
                       : s->team.threads == 256 && twice            ? 6
                                                                    : 1;
    return blocks * (s->staging.bytes + 1024) <= device->shared_per_sm ? blocks : 1;
}

/* One row of the table, as pinned, worked out for the problem. False where it does not fit the device. */
static bool work_out(const kiln__ir *ir, const kiln__choice *c, const kiln__pins *pins, const kiln__device *device,
                     int64_t vectors, int bytes, kiln__schedule *s) {
    s->staging.kind = pins->staging >= 0 ? (kiln__staging_kind)pins->staging : c->staging;
    s->reason = pins->staging >= 0 || pins->threads ? "the caller pinned it" : c->reason;
    bool grid = pins->group >= 0 ? pins->group == KILN__GROUP_GRID : !pins->cluster && c->cluster == WHOLE_GRID;
    s->team.blocks_per_row = grid                                                ? device->sm_count
                             : pins->cluster                                     ? pins->cluster
                             : pins->group >= 0 || s->staging.kind != c->staging ? 1
                                                                                 : c->cluster;
    int threads = pins->threads ? pins->threads : c->threads ? c->threads : kiln__power_of_two_from(vectors, 32);
    /* The row of the table that all others end in has fewer warps where they would exchange too much. */
    while (!pins->threads && c->staging == KILN__STAGING_NONE && threads > 32 &&
           threads / 32 * kiln__schedule_exchanged(s, ir) > MOST_STATIC_BYTES - 1024)
        threads /= 2;
    s->team.threads_per_row = threads * s->team.blocks_per_row;
    s->steps = kiln__divide_up(vectors, s->team.threads_per_row);
    s->team.group = grid                         ? KILN__GROUP_GRID
                    : s->team.blocks_per_row > 1 ? KILN__GROUP_CLUSTER
                    : pins->group >= 0           ? (kiln__group)pins->group
                    : threads <= 32              ? KILN__GROUP_LANES
                                                 : KILN__GROUP_BLOCK;
    s->team.threads = s->team.group == KILN__GROUP_LANES ? 128 : threads;
    s->team.rows_per_block = s->team.group == KILN__GROUP_LANES ? 128 / threads : 1;
    if (s->staging.kind == KILN__STAGING_REGISTERS &&
        (s->steps > KILN__MOST_REGISTER_ELEMENTS / s->vector_width || grid))
        return false;
    if ((s->staging.kind == KILN__STAGING_NONE || ir->phase_count == 0) && grid) return false;
    if (!kiln__is_power_of_two(threads) || threads > 1024 || (grid && s->passes.ordered)) return false;
    if (!grid && !kiln__cluster_fits(s->team.blocks_per_row, device)) return false;
    if (s->team.group == KILN__GROUP_LANES ? threads > 32 : threads < 32) return false;
    return hold(ir, c, pins, device, bytes, s);
}

void kiln__schedule_split(const kiln__ir *ir, const kiln__pins *pins, int64_t splits, int64_t most, kiln__schedule *s) {
    s->split.chunks = 1;
    if (ir->phase_count == 0 || s->staging.kind != KILN__STAGING_NONE || s->team.blocks_per_row > 1) return;
    if (splits > most) splits = most;
    if (pins->splits) splits = pins->splits;
    if (splits <= 1) return;
    int64_t steps = kiln__divide_up(s->steps, splits);
    s->split.chunks = (int)kiln__divide_up(s->steps, steps);
    s->steps = steps;
    if (s->batch > s->steps) s->batch = (int)s->steps;
}

void kiln__schedule_batch(const kiln__pins *pins, int usual, kiln__schedule *s) {
    const int most = KILN__MOST_REGISTER_ELEMENTS / s->vector_width;
    s->batch = !pins->batch ? usual : pins->batch < most ? pins->batch : most;
    if (s->batch > s->steps || s->staging.kind == KILN__STAGING_REGISTERS) s->batch = (int)s->steps;
}

/* Vectors of 16 bytes that so many vectors are, all staged inputs together. */
static int64_t load_of(int64_t vectors, int bytes) {
    int64_t all;
    return kiln__mul_i64(vectors, bytes > 16 ? bytes : 16, &all) ? all / 16 : INT64_MAX;
}

/* How many chunks a streamed row is cut into. At most 1,024 where every block of the next phase reads the partial
 * results of all. A row that is read in one pass is cut so that each thread has two vectors (sums of f32,
 * 256x262144: 1.006, unsplit 0.965; 64x1048576: 0.999, with eight vectors 0.955). */
static void split_row(const kiln__ir *ir, int64_t vectors, const kiln__pins *pins, int bytes, bool pass,
                      kiln__schedule *s) {
    int64_t load = load_of(vectors, bytes), splits = 1;
    if (pass && load > 2 * READ_VECTORS) splits = kiln__divide_up(load, READ_VECTORS);
    if (!pass && vectors > LONG_ROW_VECTORS) splits = kiln__divide_up(vectors, CHUNK_VECTORS);
    kiln__schedule_split(ir, pins, splits, pass ? 4096 : 1024, s);
}

/* How the tensors that have rows of their own lie. */
typedef struct lie {
    bool contiguous; /* rows one behind the other, the first aligned to a whole vector: a tile of them can be copied
                        flat */
    bool whole;      /* vectors of 16 bytes, or of as many elements as the widest output has in them */
    int least;       /* elements that all of them can move in one access */
} lie;

static lie find_lie(const kiln__problem *problem, const kiln__schedule *s) {
    lie found = {true, true, s->vector_width};
    const int most = kiln__most_stored(problem);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type), widest = 16 / size < most ? 16 / size : most;
        const int access = kiln__access_width(problem, operand, s);
        if (!operand->per_element || (!operand->output && !operand->follows_rows)) continue;
        found.contiguous &= kiln__is_contiguous(problem, operand) && operand->alignment >= widest;
        found.whole &= access == widest;
        if (access < found.least) found.least = access;
    }
    return found;
}

/* Whether rows lie neither so that a tile of them can be copied flat nor in vectors that are worth masks at their ends.
 * Then vectors become as small as what can be moved in one access, so that neighbouring lanes' lie side by side (200 of
 * 201 columns: vectors of two 0.932, of eight 0.867). */
static bool lie_apart(const kiln__problem *problem, const lie *rows_lie, kiln__schedule *s) {
    const bool overhangs =
        s->edges == KILN__EDGES_MASKED && problem->cols < LEAST_OVERHANGING * kiln__widest_vector(problem);
    int least = rows_lie->least;
    if (rows_lie->contiguous || (rows_lie->whole && !overhangs) || s->passes.ordered) return false;
    if (overhangs) {
        s->edges = KILN__EDGES_ALIGNED;
        s->row.row_phase = 0;
        while (problem->cols % s->vector_width) s->vector_width /= 2;
        least = find_lie(problem, s).least;
    }
    while (s->edges != KILN__EDGES_MASKED && s->vector_width > 2 && s->vector_width > least) s->vector_width /= 2;
    return true;
}

/* Whether the program computes with the numbers of columns. */
static bool is_indexed(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_INDEX && ir->insts[i].per_element) return true;
    return false;
}

/* Whether rows that are one behind the other are worked on in tiles: odd ones, but for those of the table; and short
 * ones that would leave lanes without a vector (softmax of 40 columns: tiles 1.000, lanes 0.873; of 88: 0.940). */
static bool suits_tile(const kiln__problem *problem, int kind, int staged, const kiln__schedule *s) {
    const int full_vector = kiln__widest_vector(problem);
    const int64_t few = problem->cols / full_vector;
    const bool halves = full_vector > 4; /* or smaller: a tile's single elements cost more */
    const int least = kind & READING_ODD   ? 7
                      : kind & INDEXED     ? 24
                      : kind & SHARING_ODD ? halves && staged == 1 ? 56 : 300
                      : !halves            ? full_vector == 4 ? 48 : 127
                      : staged > 1         ? 25
                      : full_vector == 8   ? 32
                                           : 96;
    if (((s->edges == KILN__EDGES_MASKED) && few >= least) || (kind & TAKING && few >= 8 && !s->passes.ordered))
        return false;
    /* What is read alone leaves few lanes without a vector, if they have two (sums of 96 columns of f32, H200: 1.000,
     * tiles 0.969; of 100 0.981 and 0.924). */
    if (kind & READING && problem->cols % full_vector == 0 && few >= 12 && !s->passes.ordered) return false;
    return (problem->cols % full_vector && problem->cols <= MOST_TILE_COLUMNS) ||
           (few > 0 && few < 32 && !kiln__is_power_of_two(few));
}

/* What is read once is one class, anything else another; rows that vectors overhang have one of their own. */
static int class_of_rows(bool read_once, bool overhang) {
    if (read_once) return overhang ? READING_ODD : READING;
    return overhang ? ODD : EVEN;
}

static kiln_status choose_row(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                              const kiln__pins *pins, int attempt, kiln__schedule *s) {
    const lie rows_lie = find_lie(problem, s);
    const bool pass = ir->phase_count <= 1 && !problem->columns_out; /* the row is read once: nothing of it need stay */
    const bool apart = lie_apart(problem, &rows_lie, s), tile = pins->staging == KILN__STAGING_TILE;
    int bytes = choose_staged(problem, s), staged = 0;
    for (int o = 0; o < problem->input_count; o++) staged += s->tensors[o].staged;
    int kind = class_of_rows(pass, (s->edges == KILN__EDGES_MASKED));
    if (kind == EVEN && staged > 1 && bytes <= 48) kind |= SEVERAL;
    if (s->row.invariant_inputs)
        kind = (kind & ~(ODD | EVEN | SEVERAL)) | ((s->edges == KILN__EDGES_MASKED) ? SHARING | SHARING_ODD : SHARING);
    const bool norms = kiln__online_phase(ir) < 0 || kiln__online_squares(ir);
    if (s->row.invariant_inputs && s->edges != KILN__EDGES_MASKED && staged == 1) kind |= SHARING_ALONE;
    if (kind & SHARING_ODD && s->row.invariant_inputs == 1) kind |= norms ? SHARING_ONE : SHARING_ONE | SHARING_EXP;
    if (kind & SHARING_ODD && norms) kind |= s->row.invariant_inputs > 1 ? NORMS | NORMS_MORE : NORMS;
    if (kind == ODD && staged == 1 && bytes <= 16 && s->vector_width >= 4 && is_indexed(ir)) kind |= INDEXED;
    if (pass && kiln__finds_columns(ir)) kind |= TAKING;
    if (apart) kind |= APART;
    const bool suits = (rows_lie.contiguous || s->passes.ordered) && !apart && suits_tile(problem, kind, staged, s);
    if (tile && attempt > 0) return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    if (tile || (suits && pins->staging < 0 && pins->group < 0 && attempt == 0)) {
        kiln__schedule other = *s;
        other.vector_width = kiln__widest_vector(problem);
        if (kiln__tile_choose(problem, device, pins, &other)) {
            *s = other;
            return KILN_OK;
        }
        if (tile)
            return kiln__fail(KILN_E_UNSUPPORTED,
                              "no pinned tile fits rows of %lld columns: expected lanes N and "
                              "rows N of up to 64 KB, 32 to 1024 threads",
                              (long long)problem->cols);
    }
    int64_t vectors = kiln__divide_up(problem->cols - (s->edges == KILN__EDGES_MASKED), s->vector_width) +
                      (s->edges == KILN__EDGES_MASKED);
    if (vectors < 1) vectors = 1;
    int64_t load = apart ? kiln__times(vectors, staged > 1 ? staged : 1) : load_of(vectors, bytes);
    /* Masks are of elements: lanes take twice as many vectors of bytes (any of 511 bools: 0.986, else 0.394; of 1,501
     * as fast). */
    if (kind == READING_ODD && s->vector_width == 16 && load <= 65) load /= 2;
    for (int i = 0; i < 2 && !apart; i++) {
        kiln__schedule in_flight = *s;
        if (!kiln__rows_in_flight_choose(ir, problem, device, pins, load, bytes, i, &in_flight) || attempt-- > 0)
            continue;
        *s = in_flight;
        return KILN_OK;
    }
    const kiln__choice *row = kiln__table;
    for (; row->reason; row++) {
        const int64_t size =
            row->only & TAKING ? vectors : load; /* columns are combined, however many inputs they have */
        bool pinned = pins->staging >= 0 || pins->group >= 0 || pins->cluster;
        bool shifts = s->edges == KILN__EDGES_MASKED && row->staging == KILN__STAGING_REGISTERS && row->only & SHARING;
        if (row->only && (!(row->only & kind) || pinned || shifts)) continue;
        if (pass && row->staging == KILN__STAGING_SHARED && !pinned) continue;
        if (vectors < (int64_t)row->threads * row->cluster && row->cluster > 1 && !pinned) continue;
        if (size > row->max_vectors || (size < row->min_vectors && !pinned)) continue;
        if (!work_out(ir, row, pins, device, vectors, bytes, s)) continue;
        if (row->only & APART && s->steps * bytes > MOST_APART_BYTES) continue;
        const int min_blocks = norms ? min_blocks_of(device, s) : 1;
        if (min_blocks > s->team.min_blocks_per_sm && attempt-- == 0) {
            s->team.min_blocks_per_sm = min_blocks;
            break;
        }
        if (attempt-- == 0) break; /* or with as many registers as it takes */
    }
    if (!row->reason)
        return kiln__fail(KILN_E_UNSUPPORTED, "no %s schedule fits rows of %lld columns",
                          pins->staging >= 0 || pins->threads ? "pinned" : "further", (long long)problem->cols);
    /* 1,024 threads with 32 bytes each under way fill the memory system; fewer that wait for other blocks, too, need
     * more (1,048,576 columns of f16: eight vectors 0.893, two 0.852; of f32 four 0.762 and 0.755; one row of 2^28
     * halves, whole grid: four 0.666, two 0.640). */
    const bool cluster = s->team.group == KILN__GROUP_CLUSTER;
    kiln__schedule_batch(pins,
                         !s->row.persistent     ? 2
                         : !cluster             ? (s->row.invariant_inputs ? 2 : 4)
                         : s->vector_width >= 8 ? 8
                                                : 4,
                         s);
    prefetch_invariants(problem, device, pins, bytes, norms, s);
    split_row(ir, vectors, pins, bytes, pass, s);
    return KILN_OK;
}

/* How the launches of split rows follow one another. */
static void choose_launches(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    bool rows_in = false, rows_out = false;
    if (s->split.chunks == 1) return;
    for (int o = 0; o < problem->input_count; o++) rows_in |= !problem->operands[o].per_element;
    for (int o = 0; o < problem->output_count; o++)
        rows_out |= !problem->operands[problem->input_count + o].per_element;
    s->split.separate_launch = problem->columns_out && rows_in && rows_out;
    if (problem->columns_out && !s->split.separate_launch) return;
    /* From the chunks alone, like the bits of a row. */
    const bool outer = kiln__layout_of(s) == KILN__LAYOUT_OUTER;
    const int most = outer ? 256 : 1024;
    s->split.final_threads =
        s->split.chunks <= (outer ? 32 : 128) ? 32 : kiln__power_of_two_from(s->split.chunks, most);
    const int64_t exchanged = kiln__schedule_exchanged(s, ir) * (outer ? s->vector_width : 1);
    while (s->split.final_threads > 32 &&
           (s->split.final_threads > 128 ? s->split.final_threads : 128) / 32 * exchanged > MOST_STATIC_BYTES)
        s->split.final_threads /= 2;
    s->split.final_block_threads = s->split.final_threads > 128 ? s->split.final_threads : 128;
}

/* Whether each of the operand's elements belongs to one row alone. */
static bool is_apart(const kiln__problem *problem, const kiln__operand *operand) {
    bool apart = operand->per_element && operand->follows_rows && (!operand->linear || operand->row_stride);
    for (int d = 0; d < problem->inner_rank; d++) apart = apart && operand->inner_strides[d];
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++) apart = apart && operand->outer_strides[d];
    return apart;
}

/* Up to so many times the size of the L2 what is read gains from leaving it first. */
static int sizes_of_l2(const kiln__schedule *s) {
    if (s->edges == KILN__EDGES_MISALIGNED) return 3;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) return 8;
    return s->split.chunks > 1 ? 32 : 6;
}

/* What is read once and written nowhere leaves the L2 first, so that what others left there to be written need not be
 * written meanwhile (sums of f32, 16384x4096: 0.991, without 0.961; of f16 over 128 of 512x128x1024 0.939 and 0.868).
 * Of much, all of that is written anyway, and better at once (H200, 4096x65536: 1.063, with evict_normal 0.982; the
 * first launch of split rows that lie side by side gains up to 1.6 GB). The size of the architecture's typical L2 is
 * good enough, so that all its devices share a kernel. */
static void choose_policy(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          kiln__schedule *s) {
    const int64_t most = sizes_of_l2(s) * kiln__device_typical(device->arch).l2_bytes;
    const bool one_phase = ir->phase_count - (s->passes.online >= 0) == 1;
    const bool once = one_phase ? s->staging.kind != KILN__STAGING_TILE : s->staging.kind == KILN__STAGING_REGISTERS;
    int64_t bytes = 0;
    if (!once || ir->phase_count == 0 || problem->columns_out || !problem->cols) return;
    for (int o = 0; o < problem->input_count; o++) {
        s->tensors[o].evict_first = is_apart(problem, &problem->operands[o]) && s->tensors[o].width;
        if (s->tensors[o].evict_first) bytes += (int64_t)kiln_type_size(problem->operands[o].type);
    }
    s->evict_first_rows = bytes ? most / problem->cols / bytes : 0;
    for (int o = 0; o < problem->input_count; o++)
        s->tensors[o].evict_first = s->tensors[o].evict_first && s->evict_first_rows;
}

/* A flat operand that whole vectors cannot move: the places of a vector's elements follow from two, rather than each
 * from a division (a column of 8,192 factors, H200: 0.997 and 0.858). Where they lie side by side in runs in which most
 * warps lie wholly, aligned vectors are shifted into place (a row of 1,023 biases: 1.016, element by element 0.880;
 * masks of 250 halves 0.697, pairs 0.977). */
static void cross(const kiln__problem *problem, const kiln__operand *operand, int o, kiln__schedule *s) {
    const int size = (int)kiln_type_size(operand->type),
              widest = 16 / size < s->vector_width ? 16 / size : s->vector_width;
    s->tensors[o].shifted = !operand->output && operand->outer_strides[problem->outer_rank - 1] == 1 &&
                            s->tensors[o].width < widest && operand->alignment >= widest &&
                            s->vector_width * size >= 4 &&
                            problem->outer[problem->outer_rank - 1] >= 64 * s->vector_width;
    if (s->tensors[o].shifted) s->tensors[o].width = widest;
    if (s->tensors[o].shifted || !s->tensors[o].width) s->tensors[o].kind = KILN__ACCESS_CROSSING;
}

/* What is shifted comes to shared memory with the row, so that nobody waits for it later, where blocks share a row and
 * the tensor is alone: two take the place of rows (layer_norm of 65,537 columns: 0.772, 0.920 without). A block that
 * has a row to itself finds it in its L1. */
static void prefetch_shifted(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                             kiln__schedule *s) {
    int64_t bytes = 0;
    if (s->edges != KILN__EDGES_MASKED || s->staging.kind != KILN__STAGING_REGISTERS ||
        s->team.group == KILN__GROUP_LANES)
        return;
    for (int o = 0; o < problem->input_count; o++) {
        if (!s->tensors[o].shifted) continue;
        s->tensors[o].offset = (int)bytes;
        bytes +=
            s->steps * (s->team.threads + 1) * s->vector_width * (int64_t)kiln_type_size(problem->operands[o].type);
        bytes = kiln__divide_up(bytes, 128) * 128;
    }
    const int64_t fit = bytes ? device->shared_per_sm / (bytes + 2048) : 0;
    const bool alone = s->row.invariant_inputs == 1 && s->team.blocks_per_row > 1;
    if (!fit || bytes > device->shared_per_block - 8192 || !(alone || pins->prefetch)) return;
    s->row.prefetch = true;
    s->staging.bytes = (int)bytes;
    if (s->team.min_blocks_per_sm > fit) s->team.min_blocks_per_sm = (int)fit;
}

bool kiln__finds_columns(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (kiln__op_is_arg(ir->insts[i].op)) return true;
    return false;
}

/* The ends of rows in registers that begin anywhere in a vector. Masks are work for whole warps, which were 40 % of the
 * instructions of a layer_norm of 1,023 columns (H200: 0.84, peeled 0.92; of 2,047 0.86 and 0.95, of 16,383 0.83 and
 * 0.88). Of more threads few have them (softmax of 50,257 columns of f16, 1,024 threads: 1.00, peeled 0.98), and of
 * many elements a thread has no registers for its vectors apart (of e4m3, 7 vectors of 16: 168, masked 96). */
static void peel(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    const int least = 2 * s->vector_width; /* a thread for each single element */
    const bool peels = s->edges == KILN__EDGES_MASKED && s->staging.kind == KILN__STAGING_REGISTERS &&
                       !s->row.prefetch && !kiln__finds_columns(ir);
    if (s->row.rows_in_flight && s->edges == KILN__EDGES_MASKED) s->edges = KILN__EDGES_PEELED;
    if (!peels || s->team.threads_per_row < least || s->team.threads_per_row > 512 || s->steps * s->vector_width > 72)
        return;
    s->edges = KILN__EDGES_PEELED;
    s->steps = kiln__divide_up(problem->cols / s->vector_width - 1, s->team.threads_per_row);
    s->batch = (int)s->steps;
}

/* What follows from who works on a row, and how. */
static kiln_status conclude(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                            kiln__schedule *s) {
    if (s->strategy == KILN__ROW && (s->split.chunks > 1 || s->team.group == KILN__GROUP_GRID))
        s->strategy = KILN__SPLIT_ROW;
    choose_launches(ir, problem, s);
    s->split.dependent = s->split.chunks > 1 && device->arch >= 90;
    choose_policy(ir, problem, device, s);
    kiln__schedule_details(ir, problem, s);
    kiln_status status = kiln__schedule_keeping(ir, problem, s);
    if (!status) status = kiln__inlining_choose(ir, problem, s);
    kiln__schedule_describe(s);
    return status;
}

/* Where nothing else is found to suit better. */
static kiln__strategy strategy_of(const kiln__problem *problem) {
    if (problem->layout == KILN__LAYOUT_FLAT) return KILN__POINTWISE;
    return problem->layout == KILN__LAYOUT_INNER ? KILN__ROW : KILN__COLUMN;
}

kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out) {
    memset(out, 0, sizeof *out);
    out->strategy = strategy_of(problem);
    out->team.blocks_per_row = out->split.chunks = 1;
    out->passes.online = -1;
    out->code.inlining = (kiln__inlining)pins->inlining;
    for (uint32_t i = 0; i < ir->count; i++) out->passes.ordered |= ir->insts[i].op == KILN__OP_REDUCE_USER;
    if (problem->layout == KILN__LAYOUT_OUTER) {
        kiln_status status = kiln__schedule_outer(ir, problem, device, pins, attempt, out);
        return status ? status : conclude(ir, problem, device, out);
    }
    choose_vector(problem, pins, out);
    kiln_status status = problem->layout == KILN__LAYOUT_FLAT
                             ? kiln__schedule_flat(ir, problem, pins, choose_staged(problem, out), attempt, out)
                             : choose_row(ir, problem, device, pins, attempt, out);
    if (status) return status;
    /* A second exchange takes long where it is between blocks, a second reading anywhere. */
    bool once = out->staging.kind == KILN__STAGING_NONE || out->team.blocks_per_row > 1 || out->row.rows_in_flight;
    /* One pass takes fewer registers than two (layer_norm of 12,001 columns: 61, two spill with 64: 0.985 and 0.914).
     */
    once |= out->edges == KILN__EDGES_MASKED && out->row.invariant_inputs && out->team.threads >= 256 &&
            !is_short_of_registers(out) && kiln__online_squares(ir);
    if (problem->layout == KILN__LAYOUT_INNER && out->staging.kind != KILN__STAGING_TILE && !out->passes.ordered &&
        (pins->online ? pins->online > 0 : once))
        out->passes.online = kiln__online_phase(ir);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        int size = (int)kiln_type_size(operand->type), widest = 16 / size;
        if (!operand->per_element || out->strategy == KILN__TRANSPOSE) continue;
        out->tensors[o].width = kiln__access_width(problem, operand, out);
        if (out->tensors[o].width) out->tensors[o].kind = KILN__ACCESS_VECTOR;
        out->tensors[o].run = kiln__run_of(problem, operand, out);
        if (kiln__crosses(problem, operand, out)) cross(problem, operand, o, out);
        if (out->edges != KILN__EDGES_MASKED || operand->follows_rows || !operand->contiguous_columns ||
            out->vector_width * size < 8)
            continue;
        if (widest > out->vector_width) widest = out->vector_width;
        out->tensors[o].shifted = out->tensors[o].width == 0 && operand->alignment >= widest;
        if (out->tensors[o].shifted) out->tensors[o].width = widest, out->tensors[o].kind = KILN__ACCESS_VECTOR;
    }
    if (kiln__layout_of(out) == KILN__LAYOUT_INNER) prefetch_shifted(problem, device, pins, out);
    if (kiln__layout_of(out) == KILN__LAYOUT_INNER) peel(ir, problem, out);
    return conclude(ir, problem, device, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a row of the schedule table. */
#include "plan/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "plan/access.h"
#include "plan/cost.h"
#include "plan/online.h"
#include "plan/table.h"

#define MOST_TILE_COLUMNS 2048
#define MOST_APART_BYTES 256 /* of a thread: f64 spills with more */
/* Packs; of fewer the ends are too many (sums of 127 of 128 columns: 0.566, pairs 1.036). */
#define LEAST_OVERHANGING 97
#define LONG_ROW_PACKS 65536 /* of a streamed row: longer ones are split among blocks */
#define CHUNK_PACKS 8192
#define READ_PACKS 2048 /* the same of a row that is read once, all inputs together */

static void choose_pack(const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    s->pack_size = kiln__widest_pack(problem);
    while (pins->pack_size && s->pack_size > pins->pack_size) s->pack_size /= 2;
    if (s->layout == KILN__LAYOUT_FLAT || problem->cols % s->pack_size == 0) return;
    int64_t phase = -2; /* of all the tensors that a pack covers in one access */
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element || !operand->follows_rows || !operand->packed) continue;
        int64_t own = kiln__row_phase(problem, operand, s->pack_size);
        phase = phase == -2 || phase == own ? own : -1;
    }
    s->masked = phase >= 0 && problem->cols >= 4 * s->pack_size && !s->ordered;
    s->row_phase = s->masked ? (int)phase : 0;
    while (!s->masked && problem->cols % s->pack_size) s->pack_size /= 2;
}

/* Whether all rows share an input's elements. */
static bool is_shared(const kiln__operand *operand) { return operand->per_element && !operand->follows_rows; }

/* Which inputs stay with the row, and the bytes of one pack of them. */
static int choose_kept(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->kept[o] = operand->per_element && operand->follows_rows;
        s->sharing += problem->layout == KILN__LAYOUT_INNER && is_shared(operand);
        if (s->kept[o]) bytes += s->pack_size * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

/* What all rows share is loaded with a row in registers rather than when it is used, where three blocks have registers
 * for both: few rows wait for memory once (rms_norm of 128 rows of 4,096 columns: 4.8 us, 6.1 without). Clusters load it
 * for several packs at a time in norms, whose reductions leave registers for it, and where threads have many packs or there
 * is one such tensor (rms_norm of 524,288 columns: 0.828, 0.668 without; layer_norm 0.733 and 0.593, of 65,536
 * columns 0.988 and 0.970; rms_norm of 131,071 0.964 and 0.947), but for two tensors and more that take two loads for a
 * pack (layer_norm of 65,537 columns: 0.826, 0.881 without). */
static void load_ahead(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins, int bytes,
                       bool norms, kiln__schedule *s) {
    if (!s->sharing || (s->masked && s->sharing > 1)) return;
    for (int o = 0; o < problem->input_count; o++)
        if (is_shared(&problem->operands[o])) bytes += s->pack_size * (int)kiln_type_size(problem->operands[o].type);
    s->ahead = s->residency == KILN__RESIDENCY_REGISTERS && !s->masked &&
               (pins->ahead || (s->steps * bytes / 4 + 24) * s->threads * 3 <= device->registers_per_sm);
    s->beside = s->residency == KILN__RESIDENCY_SHARED && s->group == KILN__GROUP_CLUSTER &&
                (s->masked ? norms && s->threads <= 256 : norms || s->sharing == 1 || s->steps >= 16);
    for (int o = 0; o < problem->input_count; o++)
        s->kept[o] |= (s->ahead || s->beside) && problem->operands[o].per_element;
}

KILN_PRINTF(2, 3) static void add(kiln__schedule *s, const char *format, ...) {
    size_t used = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + used, sizeof s->text - used, format, arguments);
    va_end(arguments);
}

static void describe(kiln__schedule *s) {
    static const char *const residencies[] = {"registers", "shared", "stream", "tile"};
    static const char *const groups[] = {"lanes", "block", "columns"};
    static const char *const layouts[] = {"flat", "inner", "outer"};
    static const char *const inlining[] = {"", ", calls", ", outlined", ", loops"};
    if (s->group == KILN__GROUP_GRID || kiln__schedule_clusters(s))
        add(s, "%s %d, block %d", s->group == KILN__GROUP_GRID ? "grid" : "cluster", s->blocks_per_row, s->threads);
    else
        add(s, "%s %d", s->layout == KILN__LAYOUT_FLAT ? "threads" : groups[s->group],
            s->layout == KILN__LAYOUT_FLAT ? s->threads : s->threads_per_row);
    add(s, ", %s, %s, pack %d x %lld", residencies[s->residency], layouts[s->layout], s->pack_size,
        (long long)s->steps);
    const int rows = s->tile_rows ? s->tile_rows : s->rows_per_block;
    if (rows > 1) add(s, ", %d rows per block", rows);
    if (s->row_vector && !s->tile_rows && s->row_vector != s->pack_size) add(s, ", vector %d", s->row_vector);
    if (s->splits > 1) add(s, ", splits %d", s->splits);
    if (s->ahead) add(s, ", ahead");
    if (s->persistent) add(s, ", persistent");
    if (s->online >= 0) add(s, ", online");
    if (s->squares) add(s, ", squares, %d side by side", s->threads_per_row);
    if (s->masked) add(s, ", masked");
    if (s->peeled) add(s, ", peeled");
    if (s->line) add(s, ", lines of %d", s->line);
    if (s->drifts) add(s, ", drifting");
    if (s->ordered) add(s, ", ordered");
    add(s, "%s", inlining[s->inlining]);
}

/* Blocks of a cluster reach each other's shared memory from 9.0 on; sixteen on whole data-center parts. */
bool kiln__cluster_fits(int cluster, const kiln__device *device) {
    if (cluster == 1) return true;
    int most = device->arch < 90 ? 1 : device->arch < 110 && device->sm_count >= 100 ? 16 : 8;
    return kiln__is_power_of_two(cluster) && cluster <= most;
}

#define MOST_STATIC_BYTES 49152 /* of shared memory, whatever the architecture */

/* Of static shared memory: what a row's warps exchange, every other row beside the one before it; of clusters what those
 * of a block and then its blocks do, where they are many. */
static int64_t exchange_bytes(const kiln__ir *ir, bool persistent, const kiln__schedule *s) {
    bool wide = ir->float_type == KILN__F64;
    for (uint32_t i = 0; i < ir->count; i++) wide |= ir->insts[i].type == KILN__I64;
    int64_t values = kiln__schedule_exchanged(s, ir) / 8 + 1, warps = s->threads / 32;
    if (s->group == KILN__GROUP_CLUSTER)
        warps = warps * s->blocks_per_row > 32 ? warps + s->blocks_per_row : warps * s->blocks_per_row;
    int64_t bytes = warps * (persistent ? 2 : 1) * kiln__divide_up(values * (wide ? 8 : 4), 16) * 16;
    return bytes > 8192 ? bytes : 8192;
}

/* How much of the row stays in shared memory, and whether a group goes through several rows. */
static bool hold(const kiln__ir *ir, const kiln__choice *c, const kiln__pins *pins, const kiln__device *device,
                 int bytes, kiln__schedule *s) {
    bool grid = s->group == KILN__GROUP_GRID;
    bool persistent = s->group != KILN__GROUP_LANES && ir->phase_count > 0 &&
                      (pins->persistent ? pins->persistent > 0 : c->persistent);
    int64_t exchange = s->group == KILN__GROUP_LANES ? 8192 : exchange_bytes(ir, persistent, s);
    int64_t step = (int64_t)s->threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES);
    const int64_t room = device->shared_per_block - exchange;
    s->held = 0;
    s->resident = 1;
    s->shared_bytes = 0;
    s->persistent = false;
    if (exchange > MOST_STATIC_BYTES) return false;
    if (s->residency != KILN__RESIDENCY_SHARED) return true;
    /* Better two clusters side by side, one exchanging while the other loads, than all of a row. */
    int64_t half = device->shared_per_sm / 2 - 5120, all = kiln__times(s->steps, step), most = room;
    if (s->blocks_per_row == 16 && persistent && all > half && all - all / 4 <= half) most = half;
    s->held = all <= most ? s->steps : most / step;
    if (s->held < s->steps && !grid && (!persistent || s->held < s->steps - s->steps / 4)) return false;
    s->shared_bytes = (int)(s->held * s->threads * bytes);
    if (s->threads == 1024 && device->threads_per_sm >= 2048 && 2 * (s->shared_bytes + 2048) <= device->shared_per_sm)
        s->resident = 2;
    s->persistent = grid || persistent;
    return !(c->only & SHARING) || s->threads < 1024 || s->resident == 2; /* alone it is too slow */
}

/* Whether one block has the row in up to five packs for each thread, of which each takes two loads of several weights: two
 * phases fit 64 registers, and are as fast as one pass that takes fewer (layer_norm of 16,383 columns: 0.957 and 0.943). */
static bool is_short_of_registers(const kiln__schedule *s) {
    return s->masked && s->sharing > 1 && s->residency == KILN__RESIDENCY_REGISTERS && s->blocks_per_row == 1 &&
           s->threads >= 256 && s->steps <= 5;
}

/* How many blocks of norms a multiprocessor should have registers for, where blocks share rows: the more threads wait for
 * what all rows share, the better, above all where a pack takes two loads of it (layer_norm of 65,537 columns: 64 registers
 * for each of 1,024 threads 0.928, 72 for 896 0.893; of 262,144 in three blocks of 512 0.948, in two 0.922). */
static int crowd_of(const kiln__device *device, const kiln__schedule *s) {
    const bool twice = s->masked && s->sharing > 1, one = s->blocks_per_row == 1 && !is_short_of_registers(s);
    const int blocks = !s->sharing || one || s->group == KILN__GROUP_GRID ? 1
                       : s->residency == KILN__RESIDENCY_REGISTERS        ? twice ? 1024 / s->threads : 1
                       : s->threads == 512                                ? 3
                       : s->threads == 256 && twice                       ? 6
                                                                          : 1;
    return blocks * (s->shared_bytes + 1024) <= device->shared_per_sm ? blocks : 1;
}

/* One row of the table, as pinned, worked out for the problem. False where it does not fit the device. */
static bool work_out(const kiln__ir *ir, const kiln__choice *c, const kiln__pins *pins, const kiln__device *device,
                     int64_t packs, int bytes, kiln__schedule *s) {
    s->residency = pins->residency >= 0 ? (kiln__residency)pins->residency : c->residency;
    s->reason = pins->residency >= 0 || pins->threads ? "the caller pinned it" : c->reason;
    bool grid = pins->group >= 0 ? pins->group == KILN__GROUP_GRID : !pins->cluster && c->cluster == WHOLE_GRID;
    s->blocks_per_row = grid                                               ? device->sm_count
                        : pins->cluster                                    ? pins->cluster
                        : pins->group >= 0 || s->residency != c->residency ? 1
                                                                           : c->cluster;
    int threads = pins->threads ? pins->threads : c->threads ? c->threads : kiln__power_of_two_from(packs, 32);
    /* The row of the table that all others end in has fewer warps where they would exchange too much. */
    while (!pins->threads && c->residency == KILN__RESIDENCY_STREAM && threads > 32 &&
           threads / 32 * kiln__schedule_exchanged(s, ir) > MOST_STATIC_BYTES - 1024)
        threads /= 2;
    s->threads_per_row = threads * s->blocks_per_row;
    s->steps = kiln__divide_up(packs, s->threads_per_row);
    s->group = grid                    ? KILN__GROUP_GRID
               : s->blocks_per_row > 1 ? KILN__GROUP_CLUSTER
               : pins->group >= 0      ? (kiln__group)pins->group
               : threads <= 32         ? KILN__GROUP_LANES
                                       : KILN__GROUP_BLOCK;
    s->threads = s->group == KILN__GROUP_LANES ? 128 : threads;
    s->rows_per_block = s->group == KILN__GROUP_LANES ? 128 / threads : 1;
    if (s->residency == KILN__RESIDENCY_REGISTERS && (s->steps > KILN__MOST_REGISTER_ELEMENTS / s->pack_size || grid))
        return false;
    if ((s->residency == KILN__RESIDENCY_STREAM || ir->phase_count == 0) && grid) return false;
    if (!kiln__is_power_of_two(threads) || threads > 1024 || (grid && s->ordered)) return false;
    if (!grid && !kiln__cluster_fits(s->blocks_per_row, device)) return false;
    if (s->group == KILN__GROUP_LANES ? threads > 32 : threads < 32) return false;
    return hold(ir, c, pins, device, bytes, s);
}

void kiln__schedule_split(const kiln__ir *ir, const kiln__pins *pins, int64_t splits, int64_t most, kiln__schedule *s) {
    s->splits = 1;
    if (ir->phase_count == 0 || s->residency != KILN__RESIDENCY_STREAM || s->blocks_per_row > 1) return;
    if (splits > most) splits = most;
    if (pins->splits) splits = pins->splits;
    if (splits <= 1) return;
    int64_t steps = kiln__divide_up(s->steps, splits);
    s->splits = (int)kiln__divide_up(s->steps, steps);
    s->steps = steps;
    if (s->batch > s->steps) s->batch = (int)s->steps;
}

void kiln__schedule_batch(const kiln__pins *pins, int usual, kiln__schedule *s) {
    const int most = KILN__MOST_REGISTER_ELEMENTS / s->pack_size;
    s->batch = !pins->batch ? usual : pins->batch < most ? pins->batch : most;
    if (s->batch > s->steps || s->residency == KILN__RESIDENCY_REGISTERS) s->batch = (int)s->steps;
}

/* Packs of 16 bytes that so many packs are, all kept inputs together. */
static int64_t load_of(int64_t packs, int bytes) {
    int64_t all;
    return kiln__mul_i64(packs, bytes > 16 ? bytes : 16, &all) ? all / 16 : INT64_MAX;
}

/* How many chunks a streamed row is cut into. At most 1,024 where every block of the next phase reads the partial results
 * of all. A row that is read in one pass is cut so that each thread has two packs (sums of f32, 256x262144: 1.006,
 * unsplit 0.965; 64x1048576: 0.999, with eight packs 0.955). */
static void split_row(const kiln__ir *ir, int64_t packs, const kiln__pins *pins, int bytes, bool pass,
                      kiln__schedule *s) {
    int64_t load = load_of(packs, bytes), splits = 1;
    if (pass && load > 2 * READ_PACKS) splits = kiln__divide_up(load, READ_PACKS);
    if (!pass && packs > LONG_ROW_PACKS) splits = kiln__divide_up(packs, CHUNK_PACKS);
    kiln__schedule_split(ir, pins, splits, pass ? 4096 : 1024, s);
}

/* How the tensors that have rows of their own lie. */
typedef struct lie {
    bool
        contiguous; /* rows one behind the other, the first aligned to a whole pack: a tile of them can be copied flat */
    bool whole;     /* packs of 16 bytes, or of as many elements as the widest output has in them */
    int least;      /* elements that all of them can move in one access */
} lie;

static lie find_lie(const kiln__problem *problem, const kiln__schedule *s) {
    lie found = {true, true, s->pack_size};
    const int most = kiln__most_stored(problem);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type), widest = 16 / size < most ? 16 / size : most;
        const int vector = kiln__vector_of(problem, operand, s);
        if (!operand->per_element || (!operand->output && !operand->follows_rows)) continue;
        found.contiguous &= kiln__is_contiguous(problem, operand) && operand->alignment >= widest;
        found.whole &= vector == widest;
        if (vector < found.least) found.least = vector;
    }
    return found;
}

/* Whether rows lie neither so that a tile of them can be copied flat nor in packs that are worth masks at their ends. Then
 * packs become as small as what can be moved in one access, so that neighbouring lanes' lie side by side (200 of 201
 * columns: packs of two 0.932, of eight 0.867). */
static bool lie_apart(const kiln__problem *problem, const lie *rows_lie, kiln__schedule *s) {
    const bool overhangs = s->masked && problem->cols < LEAST_OVERHANGING * kiln__widest_pack(problem);
    int least = rows_lie->least;
    if (rows_lie->contiguous || (rows_lie->whole && !overhangs) || s->ordered) return false;
    if (overhangs) {
        s->masked = false;
        s->row_phase = 0;
        while (problem->cols % s->pack_size) s->pack_size /= 2;
        least = find_lie(problem, s).least;
    }
    while (!s->masked && s->pack_size > 2 && s->pack_size > least) s->pack_size /= 2;
    return true;
}

/* Whether the program computes with the numbers of columns. */
static bool is_indexed(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_INDEX && ir->insts[i].per_element) return true;
    return false;
}

/* Whether rows that are one behind the other are worked on in tiles: odd ones, but for those of the table; and short ones
 * that would leave lanes without a pack (softmax of 40 columns: tiles 1.000, lanes 0.873; of 88: 0.940). */
static bool suits_tile(const kiln__problem *problem, int kind, int kept, const kiln__schedule *s) {
    const int full_pack = kiln__widest_pack(problem);
    const int64_t few = problem->cols / full_pack;
    const bool halves = full_pack > 4; /* or smaller: a tile's single elements cost more */
    const int least = kind & READING_ODD   ? 7
                      : kind & INDEXED     ? 24
                      : kind & SHARING_ODD ? halves && kept == 1 ? 56 : 300
                      : !halves            ? full_pack == 4 ? 48 : 127
                      : kept > 1           ? 25
                      : full_pack == 8     ? 32
                                           : 96;
    if ((s->masked && few >= least) || (kind & TAKING && few >= 8 && !s->ordered)) return false;
    /* What is read alone leaves few lanes without a pack, if they have two (sums of 96 columns of f32, H200: 1.000, tiles
     * 0.969; of 100 0.981 and 0.924). */
    if (kind & READING && problem->cols % full_pack == 0 && few >= 12 && !s->ordered) return false;
    return (problem->cols % full_pack && problem->cols <= MOST_TILE_COLUMNS) ||
           (few > 0 && few < 32 && !kiln__is_power_of_two(few));
}

static kiln_status choose_row(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                              const kiln__pins *pins, int attempt, kiln__schedule *s) {
    const lie rows_lie = find_lie(problem, s);
    const bool pass = ir->phase_count <= 1 && !problem->columns_out; /* the row is read once: nothing of it need stay */
    const bool apart = lie_apart(problem, &rows_lie, s), tile = pins->residency == KILN__RESIDENCY_TILE;
    int bytes = choose_kept(problem, s), kept = 0;
    for (int o = 0; o < problem->input_count; o++) kept += s->kept[o];
    int kind = pass ? s->masked ? READING_ODD : READING : s->masked ? ODD : EVEN;
    if (kind == EVEN && kept > 1 && bytes <= 48) kind |= SEVERAL;
    if (s->sharing) kind = (kind & ~(ODD | EVEN | SEVERAL)) | (s->masked ? SHARING | SHARING_ODD : SHARING);
    const bool norms = kiln__online_phase(ir) < 0 || kiln__online_squares(ir);
    if (s->sharing && !s->masked && kept == 1) kind |= SHARING_ALONE;
    if (kind & SHARING_ODD && s->sharing == 1) kind |= norms ? SHARING_ONE : SHARING_ONE | SHARING_EXP;
    if (kind & SHARING_ODD && norms) kind |= s->sharing > 1 ? NORMS | NORMS_MORE : NORMS;
    if (kind == ODD && kept == 1 && bytes <= 16 && s->pack_size >= 4 && is_indexed(ir)) kind |= INDEXED;
    if (pass && kiln__finds_columns(ir)) kind |= TAKING;
    if (apart) kind |= APART;
    const bool suits = (rows_lie.contiguous || s->ordered) && !apart && suits_tile(problem, kind, kept, s);
    if (tile && attempt > 0) return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    if (tile || (suits && pins->residency < 0 && pins->group < 0 && attempt == 0)) {
        kiln__schedule other = *s;
        other.pack_size = kiln__widest_pack(problem);
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
    int64_t packs = kiln__divide_up(problem->cols - s->masked, s->pack_size) + s->masked;
    if (packs < 1) packs = 1;
    int64_t load = apart ? kiln__times(packs, kept > 1 ? kept : 1) : load_of(packs, bytes);
    /* Masks are of elements: lanes take twice as many packs of bytes (any of 511 bools: 0.986, else 0.394; of 1,501
     * as fast). */
    if (kind == READING_ODD && s->pack_size == 16 && load <= 65) load /= 2;
    for (int i = 0; i < 2 && !apart; i++) {
        kiln__schedule abreast = *s;
        if (!kiln__abreast_choose(ir, problem, device, pins, load, bytes, i, &abreast) || attempt-- > 0) continue;
        *s = abreast;
        return KILN_OK;
    }
    const kiln__choice *row = kiln__table;
    for (; row->reason; row++) {
        const int64_t size =
            row->only & TAKING ? packs : load; /* columns are combined, however many inputs they have */
        bool pinned = pins->residency >= 0 || pins->group >= 0 || pins->cluster;
        bool shifts = s->masked && row->residency == KILN__RESIDENCY_REGISTERS && row->only & SHARING;
        if (row->only && (!(row->only & kind) || pinned || shifts)) continue;
        if (pass && row->residency == KILN__RESIDENCY_SHARED && !pinned) continue;
        if (packs < (int64_t)row->threads * row->cluster && row->cluster > 1 && !pinned) continue;
        if (size > row->max_packs || (size < row->min_packs && !pinned)) continue;
        if (!work_out(ir, row, pins, device, packs, bytes, s)) continue;
        if (row->only & APART && s->steps * bytes > MOST_APART_BYTES) continue;
        const int crowd = norms ? crowd_of(device, s) : 1;
        if (crowd > s->resident && attempt-- == 0) {
            s->resident = crowd;
            break;
        }
        if (attempt-- == 0) break; /* or with as many registers as it takes */
    }
    if (!row->reason)
        return kiln__fail(KILN_E_UNSUPPORTED, "no %s schedule fits rows of %lld columns",
                          pins->residency >= 0 || pins->threads ? "pinned" : "further", (long long)problem->cols);
    /* 1,024 threads with 32 bytes each under way fill the memory system; fewer that wait for other blocks, too, need more
     * (1,048,576 columns of f16: eight packs 0.893, two 0.852; of f32 four 0.762 and 0.755; one row of 2^28 halves, whole
     * grid: four 0.666, two 0.640). */
    const bool cluster = s->group == KILN__GROUP_CLUSTER;
    kiln__schedule_batch(pins, !s->persistent ? 2 : !cluster ? (s->sharing ? 2 : 4) : s->pack_size >= 8 ? 8 : 4, s);
    load_ahead(problem, device, pins, bytes, norms, s);
    split_row(ir, packs, pins, bytes, pass, s);
    return KILN_OK;
}

/* How the launches of split rows follow one another. */
static void choose_launches(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    bool rows_in = false, rows_out = false;
    if (s->splits == 1) return;
    for (int o = 0; o < problem->input_count; o++) rows_in |= !problem->operands[o].per_element;
    for (int o = 0; o < problem->output_count; o++)
        rows_out |= !problem->operands[problem->input_count + o].per_element;
    s->rows_apart = problem->columns_out && rows_in && rows_out;
    if (problem->columns_out && !s->rows_apart) return;
    /* From the chunks alone, like the bits of a row. */
    const bool outer = s->layout == KILN__LAYOUT_OUTER;
    const int most = outer ? 256 : 1024;
    s->enders = s->splits <= (outer ? 32 : 128) ? 32 : kiln__power_of_two_from(s->splits, most);
    const int64_t exchanged = kiln__schedule_exchanged(s, ir) * (outer ? s->pack_size : 1);
    while (s->enders > 32 && (s->enders > 128 ? s->enders : 128) / 32 * exchanged > MOST_STATIC_BYTES) s->enders /= 2;
    s->end_threads = s->enders > 128 ? s->enders : 128;
}

/* Whether each of the operand's elements belongs to one row alone. */
static bool is_apart(const kiln__problem *problem, const kiln__operand *operand) {
    bool apart = operand->per_element && operand->follows_rows && (!operand->linear || operand->row_stride);
    for (int d = 0; d < problem->inner_rank; d++) apart = apart && operand->inner_strides[d];
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++) apart = apart && operand->outer_strides[d];
    return apart;
}

/* What is read once and written nowhere leaves the L2 first, so that what others left there to be written need not be
 * written meanwhile (sums of f32, 16384x4096: 0.991, without 0.961; of f16 over 128 of 512x128x1024 0.939 and 0.868). Of
 * much, all of that is written anyway, and better at once (H200, 4096x65536: 1.063, with evict_normal 0.982; the first
 * launch of split rows that lie side by side gains up to 1.6 GB). The size of the architecture's typical L2 is good enough,
 * so that all its devices share a kernel. */
static void choose_policy(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                          kiln__schedule *s) {
    const int times = s->drifts ? 3 : s->layout == KILN__LAYOUT_INNER ? 8 : s->splits > 1 ? 32 : 6;
    int64_t most = times * kiln__device_typical(device->arch).l2_bytes, bytes = 0;
    bool once = ir->phase_count - (s->online >= 0) == 1 ? s->residency != KILN__RESIDENCY_TILE
                                                        : s->residency == KILN__RESIDENCY_REGISTERS;
    if (!once || ir->phase_count == 0 || problem->columns_out || !problem->cols) return;
    for (int o = 0; o < problem->input_count; o++) {
        s->once[o] = is_apart(problem, &problem->operands[o]) && s->vector[o];
        if (s->once[o]) bytes += (int64_t)kiln_type_size(problem->operands[o].type);
    }
    s->once_rows = bytes ? most / problem->cols / bytes : 0;
    for (int o = 0; o < problem->input_count; o++) s->once[o] = s->once[o] && s->once_rows;
}

/* A flat operand that whole packs cannot move: the places of a pack's elements follow from two, rather than each from a
 * division (a column of 8,192 factors, H200: 0.997 and 0.858). Where they lie side by side in runs in which most warps lie
 * wholly, aligned packs are shifted into place (a row of 1,023 biases: 1.016, element by element 0.880; masks of 250 halves
 * 0.697, pairs 0.977). */
static void bend(const kiln__problem *problem, const kiln__operand *operand, int o, kiln__schedule *s) {
    const int size = (int)kiln_type_size(operand->type), widest = 16 / size < s->pack_size ? 16 / size : s->pack_size;
    s->shifted[o] = !operand->output && operand->outer_strides[problem->outer_rank - 1] == 1 && s->vector[o] < widest &&
                    operand->alignment >= widest && s->pack_size * size >= 4 &&
                    problem->outer[problem->outer_rank - 1] >= 64 * s->pack_size;
    if (s->shifted[o]) s->vector[o] = widest;
    s->bent[o] = s->shifted[o] || !s->vector[o];
}

/* What is shifted comes to shared memory with the row, so that nobody waits for it later, where blocks share a row and the
 * tensor is alone: two take the place of rows (layer_norm of 65,537 columns: 0.772, 0.920 without). A block that has a
 * row to itself finds it in its L1. */
static void shift_ahead(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                        kiln__schedule *s) {
    int64_t bytes = 0;
    if (!s->masked || s->residency != KILN__RESIDENCY_REGISTERS || s->group == KILN__GROUP_LANES) return;
    for (int o = 0; o < problem->input_count; o++) {
        if (!s->shifted[o]) continue;
        s->tile_offset[o] = (int)bytes;
        bytes += s->steps * (s->threads + 1) * s->pack_size * (int64_t)kiln_type_size(problem->operands[o].type);
        bytes = kiln__divide_up(bytes, 128) * 128;
    }
    const int64_t fit = bytes ? device->shared_per_sm / (bytes + 2048) : 0;
    const bool alone = s->sharing == 1 && s->blocks_per_row > 1;
    if (!fit || bytes > device->shared_per_block - 8192 || !(alone || pins->ahead)) return;
    s->ahead = true;
    s->shared_bytes = (int)bytes;
    if (s->resident > fit) s->resident = (int)fit;
}

bool kiln__finds_columns(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (kiln__op_is_arg(ir->insts[i].op)) return true;
    return false;
}

/* The ends of rows in registers that begin anywhere in a pack. Masks are work for whole warps, which were 40 % of the
 * instructions of a layer_norm of 1,023 columns (H200: 0.84, peeled 0.92; of 2,047 0.86 and 0.95, of 16,383 0.83 and 0.88). Of
 * more threads few have them (softmax of 50,257 columns of f16, 1,024 threads: 1.00, peeled 0.98), and of many elements a
 * thread has no registers for its packs apart (of e4m3, 7 packs of 16: 168, masked 96). */
static void peel(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    const int least = 2 * s->pack_size; /* a thread for each single element */
    const bool peels = s->masked && s->residency == KILN__RESIDENCY_REGISTERS && !s->ahead && !kiln__finds_columns(ir);
    if (s->abreast) s->peeled = s->masked, s->masked = false;
    if (!peels || s->threads_per_row < least || s->threads_per_row > 512 || s->steps * s->pack_size > 72) return;
    s->peeled = true;
    s->masked = false;
    s->steps = kiln__divide_up(problem->cols / s->pack_size - 1, s->threads_per_row);
    s->batch = (int)s->steps;
}

/* What follows from who works on a row, and how. */
static kiln_status conclude(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                            kiln__schedule *s) {
    s->arrivals = kiln__schedule_clusters(s) && ir->phase_count > 0;
    choose_launches(ir, problem, s);
    s->dependent = s->splits > 1 && device->arch >= 90;
    choose_policy(ir, problem, device, s);
    kiln_status status = kiln__inlining_choose(ir, problem, s);
    describe(s);
    return status;
}

kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out) {
    memset(out, 0, sizeof *out);
    out->layout = problem->layout;
    out->blocks_per_row = out->splits = 1;
    out->online = -1;
    out->inlining = (kiln__inlining)pins->inlining;
    for (uint32_t i = 0; i < ir->count; i++) out->ordered |= ir->insts[i].op == KILN__OP_REDUCE_USER;
    if (problem->layout == KILN__LAYOUT_OUTER) {
        kiln_status status = kiln__schedule_outer(ir, problem, device, pins, attempt, out);
        return status ? status : conclude(ir, problem, device, out);
    }
    choose_pack(problem, pins, out);
    kiln_status status = problem->layout == KILN__LAYOUT_FLAT
                             ? kiln__schedule_flat(ir, problem, pins, choose_kept(problem, out), attempt, out)
                             : choose_row(ir, problem, device, pins, attempt, out);
    if (status) return status;
    /* A second exchange takes long where it is between blocks, a second reading anywhere. */
    bool once = out->residency == KILN__RESIDENCY_STREAM || out->blocks_per_row > 1 || out->abreast;
    /* One pass takes fewer registers than two (layer_norm of 12,001 columns: 61, two spill with 64: 0.985 and 0.914). */
    once |=
        out->masked && out->sharing && out->threads >= 256 && !is_short_of_registers(out) && kiln__online_squares(ir);
    if (problem->layout == KILN__LAYOUT_INNER && out->residency != KILN__RESIDENCY_TILE && !out->ordered &&
        (pins->online ? pins->online > 0 : once))
        out->online = kiln__online_phase(ir);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        int size = (int)kiln_type_size(operand->type), widest = 16 / size;
        if (!operand->per_element || out->squares) continue;
        out->vector[o] = kiln__vector_of(problem, operand, out);
        out->run[o] = kiln__run_of(problem, operand, out);
        if (kiln__bends(problem, operand, out)) bend(problem, operand, o, out);
        if (!out->masked || operand->follows_rows || !operand->packed || out->pack_size * size < 8) continue;
        if (widest > out->pack_size) widest = out->pack_size;
        out->shifted[o] = out->vector[o] == 0 && operand->alignment >= widest;
        if (out->shifted[o]) out->vector[o] = widest;
    }
    if (out->layout == KILN__LAYOUT_INNER) shift_ahead(problem, device, pins, out);
    if (out->layout == KILN__LAYOUT_INNER) peel(ir, problem, out);
    return conclude(ir, problem, device, out);
}

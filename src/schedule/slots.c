/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of columns that are reduced in shared memory, and rows that are sorted there or in the workspace: the room
 * that they take, and the points that are tried. */
#include <limits.h>
#include <math.h>

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/build.h"

#define MOST_COLUMNS (1LL << 28) /* beyond all shared memory, and nothing overflows */
#define CHUNK_COLUMNS \
    8192 /* of a row in which blocks alone are reduced: longer ones are split among blocks of threads */
#define MOST_CHUNKS 65535 /* of a grid's second dimension */
#define MOST_THREADS 512
#define STREAMED_VECTORS 4   /* of a thread under way, where rows are read again */
#define REGISTER_ELEMENTS 64 /* of a thread */
#define LANE_ELEMENTS 16     /* of a lane, where several rows are in a block */
#define CHOSEN_ELEMENTS 16   /* of a thread at a time, where a row's largest are chosen: each has code of its own */
#define MOST_FAILURES 4      /* of guesses: each is a pass over the row */
#define GUESSED_PART 2   /* of the room beyond what is chosen that a guess fills: halfway from too few to too many */
#define WIDER_PART 4     /* of what a guess wants, by which the next one is wider */
#define COUNTED_VALUES 2 /* of a thread, that are brought into order by counting; more are merged ... */
#define FEW_VALUES 64    /* ... unless they are no more than these in all */
#define SORTED_WORDS 32  /* registers of a thread for what is sorted and merged there, and for one more value */

/* How many blocks so many columns are. */
static int64_t slots_of(const kiln__problem *problem, int64_t columns, int64_t block) {
    const int64_t axis = problem->uneven_columns > 0 ? kiln__least(problem->uneven_columns, columns) : columns;
    return axis > 0 ? columns / axis * kiln__divide_up(axis, block) : 0;
}

/* So few that all threads have one, as far as there are columns. */
int kiln__slots_lanes(const kiln__problem *problem, const kiln__schedule *s, int64_t block) {
    const int64_t blocks = slots_of(problem, problem->cols, block);
    int lanes = 1;
    while (lanes < 32 && 2 * lanes <= block && blocks * lanes < s->team.threads) lanes *= 2;
    return lanes;
}

static int64_t in_sixteens(int64_t bytes) { return kiln__divide_up(bytes, 16) * 16; }

/* So many values wait to be among the `first` largest that few rows have more of them; where these are many, room is
 * dear. */
static int64_t waiting(int64_t first) { return kiln__greatest(first + kiln__least(3 * first, 2048), 64); }

/* Of an ORDER or a SORTED. */
static int64_t values_in_order(const kiln__ir *ir, int64_t columns, uint32_t inst) {
    const kiln__inst *order = &ir->insts[inst];
    if (order->op == KILN__OP_SORTED) order = &ir->insts[order->args[1]];
    return order->u.order.first ? kiln__least(columns, waiting(order->u.order.first)) : columns;
}

static int64_t bytes_in_order(const kiln__ir *ir, int64_t columns, uint32_t inst) {
    return in_sixteens(values_in_order(ir, columns, inst) * kiln__ctype_bytes(ir->insts[ir->insts[inst].args[0]].type));
}

/* The bits of a key that tell the values of a tensor's type apart: of floats, which are widened, sign, exponent and
 * their own digits; of integers as many as they have, in whose order the sign is turned round. */
static const struct {
    uint8_t bits;
    bool is_float, is_signed;
} narrow_keys[KILN_TYPE_COUNT] = {
    [KILN_F16] = {1 + 8 + 10, true, false}, [KILN_BF16] = {1 + 8 + 7, true, false},
    [KILN_E4M3] = {1 + 8 + 3, true, false}, [KILN_E5M2] = {1 + 8 + 2, true, false},
    [KILN_I16] = {16, false, true},         [KILN_I8] = {8, false, true},
    [KILN_U16] = {16, false, false},        [KILN_U8] = {8, false, false},
};

static void find_key(const kiln__ir *ir, const kiln__problem *problem, uint32_t value, kiln__order_room *room) {
    const kiln__inst *inst = &ir->insts[value];
    room->key_bits = 8 * kiln__ctype_bytes(inst->type);
    if (inst->op != KILN__OP_INPUT || room->key_bits > 32) return;
    const kiln_type type = problem->operands[inst->u.input].type;
    const int bits = narrow_keys[type].bits;
    if (!bits) return;
    room->key_shift = narrow_keys[type].is_float ? room->key_bits - bits : 0;
    room->key_flip = narrow_keys[type].is_signed ? 1u << (bits - 1) : 0;
    room->key_bits = bits;
}

/* Bits that number so many columns, and one number more. */
static int number_bits(int64_t columns) {
    int bits = 1;
    while ((int64_t)1 << bits <= columns) bits++;
    return bits;
}

/* Of one thread, of those that are chosen: brought into order by counting, if there are no more. */
static int counted_by(int64_t room, int threads) {
    return (int)kiln__least(kiln__divide_up(room, threads), room <= FEW_VALUES ? FEW_VALUES : COUNTED_VALUES);
}

/* What a thread has of a tile, of composites of so many bytes: an odd number, so that threads begin in all banks. */
static int most_own(int composite_bytes) { return SORTED_WORDS / (composite_bytes / 4) | 1; }

/* Of rows of any number of columns: places are bytes of each of them, and two arrays of composites follow the values.
 */
static kiln__order_room any_order_room(const kiln__ir *ir, const kiln__problem *problem, int threads, uint32_t order) {
    const uint32_t value = ir->insts[order].args[0];
    kiln__order_room room = {.composites = kiln__ctype_bytes(ir->insts[value].type)};
    find_key(ir, problem, value, &room);
    room.composite_bytes = room.key_bits > 32 ? 16 : 8;
    room.own = most_own(room.composite_bytes);
    room.bytes = room.composites + 2 * room.composite_bytes;
    room.tile_bytes = (int64_t)room.own * threads * room.composite_bytes + threads * (int64_t)sizeof(int);
    return room;
}

int64_t kiln__sorted_before(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < inst; i++) {
        if (ir->insts[i].op == KILN__OP_ORDER) bytes += any_order_room(ir, problem, 0, i).bytes;
        if (kiln__carries(ir, &ir->insts[i])) bytes += kiln__ctype_bytes(ir->insts[i].type);
    }
    return bytes;
}

kiln__order_room kiln__order_room_of(const kiln__ir *ir, const kiln__problem *problem, int64_t columns, int threads,
                                     uint32_t order) {
    if (problem->any_shape) return any_order_room(ir, problem, threads, order);
    const bool chosen = ir->insts[order].u.order.first;
    kiln__order_room room = {.columns = values_in_order(ir, columns, order),
                             .composites = bytes_in_order(ir, columns, order)};
    find_key(ir, problem, ir->insts[order].args[0], &room);
    room.composite_bytes = room.key_bits > 32 ? 16 : 8;
    if (!chosen && room.key_bits + number_bits(room.columns) <= 32) room.composite_bytes = 4;
    const int composite = room.composite_bytes;
    const int64_t each = kiln__divide_up(room.columns, threads);
    room.own = (int)kiln__least(each | 1, most_own(composite));
    const int64_t tile = (int64_t)room.own * threads;
    const bool counts = chosen && room.columns <= (int64_t)counted_by(room.columns, threads) * threads;
    room.tiles = counts ? 1 : kiln__divide_up(room.columns, tile);
    room.tile_bytes = tile * composite + threads * (int64_t)sizeof(int); /* and where tiles begin in runs */
    const int64_t merged = counts ? 0 : kiln__times(room.tiles * tile, room.tiles > 1 ? 2 : 1);
    const int64_t counted =
        chosen ? kiln__divide_up(kiln__least(room.columns, COUNTED_VALUES * KILN__MOST_THREADS), 4) * 4 : 0;
    room.columns_at = room.composites + in_sixteens(kiln__greatest(merged, counted) * composite);
    room.state = room.columns_at + (chosen ? in_sixteens(room.columns * (int64_t)sizeof(uint32_t)) : 0);
    room.bytes = room.state + (chosen ? 16 : 0);
    return room;
}

/* How many of a row's values reach what k of some groups' largest values reach, where a group has many: of as large a
 * share of a row a group has none by exp(-values / groups). */
static double reaching(double k, double groups) { return k < groups ? -groups * log1p(-k / groups) : INFINITY; }

/* What k of some groups' largest values reach is a floor where there is room for all that reach it; it is no use of a
 * row of so few columns that all may as well be sorted. */
kiln__choosing kiln__choosing_of(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *s,
                                 uint32_t order) {
    const int64_t first = ir->insts[order].u.order.first, enough = kiln__greatest(2 * first, 4);
    const int threads = s->team.threads_per_row;
    const int64_t room = values_in_order(ir, s->row.slots.columns, order);
    const int64_t wanted = first + (room - first) / GUESSED_PART;
    int groups = (int)kiln__greatest(threads / 32, 1);
    while (groups < enough && groups < threads) groups *= 2;
    const bool looks = reaching((double)first, groups) <= (double)room && problem->cols > 2 * (int64_t)groups;
    const bool rounds = s->row.slots.round < s->steps; /* come to their floors while a row's vectors are at hand */
    return (kiln__choosing){.groups = groups,
                            .looks = looks,
                            .guesses = !looks && !rounds && problem->cols > room,
                            .failures = MOST_FAILURES,
                            .sampled = (int)room / 2,
                            .wanted = (int)wanted,
                            .wider = (int)wanted / WIDER_PART,
                            .counted = counted_by(room, threads)};
}

/* What one instruction has: a slot for each block; values, and what is merged of them. */
static int64_t room_of(const kiln__ir *ir, const kiln__problem *problem, int64_t columns, int threads, uint32_t i) {
    const kiln__inst *inst = &ir->insts[i];
    if (inst->op == KILN__OP_BLOCK_REDUCE)
        return in_sixteens(slots_of(problem, columns, inst->domain) * kiln__ctype_bytes(inst->type));
    if (inst->op == KILN__OP_ORDER) return kiln__order_room_of(ir, problem, columns, threads, i).bytes;
    return kiln__carries(ir, inst) ? bytes_in_order(ir, columns, i) : 0;
}

int64_t kiln__slots_place(const kiln__ir *ir, const kiln__problem *problem, int64_t columns, int threads,
                          uint32_t inst) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < inst; i++) bytes += room_of(ir, problem, columns, threads, i);
    return bytes;
}

/* A value for each column, of the widest type that a reduction takes. */
static int64_t bytes_of_values(const kiln__ir *ir, int64_t values) {
    int64_t widest = 0;
    for (uint32_t i = 0; i < ir->count; i++) {
        const int64_t bytes = kiln__ctype_bytes(ir->insts[ir->insts[i].args[0]].type);
        if (ir->insts[i].op == KILN__OP_BLOCK_REDUCE) widest = kiln__greatest(widest, bytes);
    }
    return in_sixteens(values * widest);
}

/* ---- chunks ---- */

/* The fewest columns that are whole steps of the threads, and whole blocks. */
static int64_t unit_of(const kiln__problem *problem, int threads, int width) {
    int64_t unit = (int64_t)threads * width;
    for (int i = 0; i < problem->block_count; i++) unit = kiln__common_multiple(unit, problem->blocks[i]);
    return unit;
}

/* Where nothing is reduced but blocks, a row's chunks know nothing of each other. */
static bool may_be_cut(const kiln__given *g) {
    return g->ir->phase_count == 0 && !g->problem->sorted && g->problem->cols > CHUNK_COLUMNS;
}

static void split(const kiln__given *g, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const int64_t unit = unit_of(problem, s->team.threads, s->vector_width), cols = problem->cols;
    const bool one_axis = problem->uneven_columns == 0 || problem->uneven_columns == cols;
    const bool streams = s->staging.kind == KILN__STAGING_NONE && s->edges == KILN__EDGES_ALIGNED;
    if (!may_be_cut(g) || !one_axis || !streams || unit >= cols) return;
    int64_t chunk = unit < CHUNK_COLUMNS ? CHUNK_COLUMNS / unit * unit : unit;
    const int64_t fewest = kiln__divide_up(cols, MOST_CHUNKS);
    if (chunk < fewest) chunk = kiln__times(kiln__divide_up(fewest, unit), unit);
    const int64_t chunks = kiln__divide_up(cols, chunk);
    s->split.chunks = (int)chunks;
    s->steps = chunk / s->team.threads / s->vector_width;
    s->batch = (int)kiln__least(s->batch, s->steps);
    s->strategy = KILN__SPLIT_ROW;
}

/* How many of a row's largest are chosen at most; 0: none are. */
static int most_chosen(const kiln__ir *ir) {
    int most = 0;
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_ORDER) most = (int)kiln__greatest(most, ir->insts[i].u.order.first);
    return most;
}

/* Whether all of a row is brought into order. */
static bool sorts_all(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_ORDER && !ir->insts[i].u.order.first) return true;
    return false;
}

/* Whether lanes may have the row: what blocks are reduced to, and whole rows in order, are the work of blocks. */
static bool suits_lanes(const kiln__given *g) {
    return g->problem->sorted && !g->problem->block_count && !sorts_all(g->ir);
}

/* Whether at most half of what waits is of earlier rounds, so that a new one is never left without room, and what waits
 * is brought into order by counting: each round may ask for it. */
static bool suits_rounds(const kiln__ir *ir, int64_t columns, int threads) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op != KILN__OP_ORDER || !inst->u.order.first) continue;
        const int64_t room = values_in_order(ir, columns, i);
        if (kiln__least(columns, 2 * (int64_t)inst->u.order.first + 2) > room) return false;
        if (room > COUNTED_VALUES * (int64_t)threads) return false;
    }
    return true;
}

/* Rows that are read again are gone over batch by batch, unless what is chosen of runs along them. */
static int64_t round_of(const kiln__given *g, const kiln__schedule *s) {
    if (!g->problem->sorted || !most_chosen(g->ir)) return 0;
    const bool batches = s->staging.kind == KILN__STAGING_NONE && !s->passes.ordered &&
                         suits_rounds(g->ir, g->problem->cols, s->team.threads_per_row);
    return batches ? kiln__least(s->batch, s->steps) : s->steps;
}

/* How many places outputs of columns have, where all of them are of the row's order alone; else 0. */
static int64_t ends_in(const kiln__ir *ir, const kiln__problem *problem) {
    int64_t places = 0;
    for (int o = 0; o < problem->output_count && problem->sorted; o++) {
        const kiln__operand *operand = &problem->operands[problem->input_count + o];
        if (!operand->per_element) continue;
        if (!operand->first || !ir->insts[ir->outputs[o]].in_order) return 0;
        places = kiln__greatest(places, operand->first);
    }
    return places;
}

/* Of what a row is brought into order by, which takes most. */
typedef struct tiles {
    int64_t count, bytes;
} tiles;

static tiles tiles_of(const kiln__given *g, int64_t columns, int threads) {
    tiles most = {1, 0};
    for (uint32_t i = 0; i < g->ir->count; i++) {
        if (g->ir->insts[i].op != KILN__OP_ORDER) continue;
        const kiln__order_room room = kiln__order_room_of(g->ir, g->problem, columns, threads, i);
        most.count = kiln__greatest(most.count, room.tiles);
        most.bytes = kiln__greatest(most.bytes, room.tile_bytes);
    }
    return most;
}

/* What is sorted of a row, where shared memory has no room for it, or its threads have none in registers: in the
 * workspace, of as many rows as blocks may run at once. */
static bool put_in_workspace(const kiln__given *g, int64_t bytes, int64_t tile_bytes, kiln__schedule *s) {
    const int64_t offset = in_sixteens(s->staging.bytes), shared = offset + tile_bytes;
    if (!g->problem->sorted || g->problem->block_count || bytes > INT_MAX) return false;
    if (shared + KILN__ROW_STATIC_BYTES > g->device->shared_per_block) return false;
    const int64_t resident = kiln__least(g->device->threads_per_sm / s->team.threads,
                                         g->device->shared_per_sm / (shared + KILN__RESERVED_BYTES));
    s->staging.bytes = (int)shared;
    s->row.slots = (kiln__slots_plan){.columns = (int)g->problem->cols,
                                      .offset = (int)offset,
                                      .bytes = (int)bytes,
                                      .row_bytes = (int)bytes,
                                      .blocks = (int)(g->device->sm_count * kiln__greatest(resident, 1)),
                                      .round = round_of(g, s),
                                      .ends_in = ends_in(g->ir, g->problem)};
    return true;
}

bool kiln__row_add_slots(const kiln__given *g, kiln__schedule *s) {
    const bool lanes = s->team.group == KILN__GROUP_LANES && suits_lanes(g);
    const bool alone = (s->team.group == KILN__GROUP_BLOCK || lanes) && s->split.chunks == 1 && !s->row.persistent;
    if (!alone || g->problem->across || s->edges == KILN__EDGES_PEELED || g->problem->cols > MOST_COLUMNS * 128)
        return false;
    if (most_chosen(g->ir) > 0 && s->team.threads_per_row % 4 != 0)
        return false; /* values are compared four at a time */
    split(g, s);
    const int64_t columns = s->split.chunks > 1 ? s->steps * s->team.threads * s->vector_width : g->problem->cols;
    if (columns > MOST_COLUMNS) return false;
    const int64_t offset = in_sixteens(s->staging.bytes);
    const int64_t stride = kiln__divide_up(columns, s->vector_width) | 1; /* odd: in all banks */
    const int64_t slots = offset + bytes_of_values(g->ir, stride * s->vector_width);
    const int64_t row = kiln__slots_place(g->ir, g->problem, columns, s->team.threads_per_row, g->ir->count);
    const int64_t bytes = slots + kiln__times(row, s->team.rows_per_block);
    const tiles sorted = tiles_of(g, columns, s->team.threads_per_row);
    if (sorted.count > 1 || bytes + KILN__ROW_STATIC_BYTES > g->device->shared_per_block)
        return !lanes && put_in_workspace(g, row, sorted.bytes, s);
    s->row.slots = (kiln__slots_plan){.columns = (int)columns,
                                      .value_stride = (int)stride,
                                      .offset = (int)offset,
                                      .slots = (int)slots,
                                      .bytes = (int)(bytes - offset),
                                      .row_bytes = lanes ? (int)row : 0,
                                      .round = round_of(g, s),
                                      .ends_in = ends_in(g->ir, g->problem)};
    s->staging.bytes = (int)bytes;
    return true;
}

/* ---- points ---- */

/* Vectors of a thread under way, of rows that are read again. */
static int streamed_vectors(const kiln__given *g, int width) {
    return most_chosen(g->ir) ? (int)kiln__greatest(kiln__least(STREAMED_VECTORS, CHOSEN_ELEMENTS / width), 1)
                              : STREAMED_VECTORS;
}

static kiln__pins point_of(const kiln__given *g, const kiln__pins *pins, int threads, int width, int staging) {
    const kiln__pins usual = {.group = KILN__GROUP_BLOCK,
                              .staging = staging,
                              .threads = threads,
                              .splits = 1,
                              .cluster = 1,
                              .persistent = -1};
    kiln__pins point = kiln__pins_complete(pins, &usual);
    if (!point.batch && point.staging == KILN__STAGING_NONE) point.batch = streamed_vectors(g, width);
    point.vector_width = width;
    point.rows_per_block = 1;
    return point;
}

/* Long rows in which blocks alone are reduced: chunks that are not much longer than they should be. */
static int add_chunks(const kiln__given *g, const kiln__pins *pins, int widest, kiln__pins *out) {
    int count = 0;
    if (!may_be_cut(g)) return 0;
    const int width = kiln__dividing(g->problem->cols, widest);
    for (int threads = 256; threads >= 32; threads /= 2)
        if (unit_of(g->problem, threads, width) <= 2 * CHUNK_COLUMNS)
            out[count++] = point_of(g, pins, threads, width, KILN__STAGING_NONE);
    return count;
}

/* So few that each has in registers what it can of a row that is sorted; of longer rows, tiles, several blocks' at a
 * time. */
static int sorting_threads(const kiln__given *g) {
    int threads = 32;
    while (threads < MOST_THREADS && tiles_of(g, g->problem->cols, threads).count > 1) threads *= 2;
    return threads;
}

/* As many as vectors keep busy, or merges; where some of many are chosen, a quarter more than these, so that a floor
 * can be looked for among what the threads have. */
static int most_threads(const kiln__given *g, int width) {
    const int64_t cols = g->problem->cols, vectors = streamed_vectors(g, width), chosen = most_chosen(g->ir);
    if (g->problem->sorted && sorts_all(g->ir)) return sorting_threads(g);
    if (!chosen) return kiln__power_of_two_from(kiln__divide_up(cols, vectors * width), MOST_THREADS);
    const int of_columns = kiln__power_of_two_from(kiln__divide_up(cols, 2 * CHOSEN_ELEMENTS), MOST_THREADS);
    const int of_chosen = kiln__power_of_two_from(chosen + chosen / 4, KILN__MOST_THREADS);
    return cols > 2 * (int64_t)of_chosen ? (int)kiln__greatest(of_columns, of_chosen) : of_columns;
}

/* Whether a row's columns are asked for once, when they are put down to be sorted. */
static bool is_read_once(const kiln__given *g) {
    int times = 0;
    for (uint32_t i = 0; i < g->ir->count; i++)
        times += kiln__op_is_order(g->ir->insts[i].op) && kiln__keeps_row(g->ir, &g->ir->insts[i]);
    for (uint32_t o = 0; o < g->ir->output_count; o++)
        if (!g->ir->insts[g->ir->outputs[o]].in_order) return false;
    return times == 1 && !most_chosen(g->ir) && !g->traits.passes && !g->problem->block_count;
}

/* Elements of a thread that registers hold, where it is of use. */
static int64_t most_in_registers(const kiln__given *g) {
    if (is_read_once(g)) return 0;
    return most_chosen(g->ir) ? 2 * CHOSEN_ELEMENTS : REGISTER_ELEMENTS;
}

/* Whether all threads have a value: those without do nothing, and are no groups to look for a floor among. */
static bool all_have_one(const kiln__given *g, const kiln__pins *pins, int threads, int width) {
    return width == 1 || width == pins->vector_width || g->problem->cols >= (int64_t)threads * width;
}

/* Few columns are chosen of by lanes, of several rows in a block: twice as many as are chosen, as far as a warp has
 * them, and all of their places taken. */
static bool lanes_suit(const kiln__given *g, const kiln__pins *pins, int lanes, int width) {
    const int64_t cols = g->problem->cols, chosen = kiln__least(cols, most_chosen(g->ir));
    const int64_t places = kiln__divide_up(cols, lanes * width) * lanes * width;
    if ((2 * chosen > lanes && lanes < 32) || chosen > lanes || !all_have_one(g, pins, lanes, width)) return false;
    const bool free = width > 1 && width != pins->vector_width;
    return cols <= (int64_t)LANE_ELEMENTS * lanes && (!free || places == cols);
}

static int add_lanes(const kiln__given *g, const kiln__pins *pins, int widest, kiln__pins *out) {
    int count = 0;
    const bool others = pins->group != KILN__GROUP_LANES && pins->group >= 0;
    if (!suits_lanes(g) || others || pins->staging > KILN__STAGING_REGISTERS) return 0;
    for (int lanes = 8; lanes <= 32; lanes *= 2)
        for (int width = widest; width > 0; width /= 2) {
            if (!lanes_suit(g, pins, lanes, width) || (pins->threads && pins->threads != lanes)) continue;
            out[count] = point_of(g, pins, lanes, width, KILN__STAGING_REGISTERS);
            out[count++].group = KILN__GROUP_LANES;
        }
    return count;
}

static int add_blocks(const kiln__given *g, const kiln__pins *pins, int widest, kiln__pins *out) {
    int count = 0;
    const int most = (int)kiln__greatest(most_threads(g, widest), 32);
    const int fewest = sorts_all(g->ir) ? most : 32;
    for (int threads = most; threads >= fewest; threads /= 4) /* few have chunks of few columns */
        for (int width = widest; width > 0; width /= 2) {
            if (g->problem->sorted && !all_have_one(g, pins, threads, width)) continue;
            if (g->problem->cols <= most_in_registers(g) * threads)
                out[count++] = point_of(g, pins, threads, width, KILN__STAGING_REGISTERS);
            out[count++] = point_of(g, pins, threads, width, KILN__STAGING_NONE);
        }
    return count;
}

int kiln__slots_points(const kiln__given *g, const kiln__pins *pins, kiln__pins *out) {
    int widest = kiln__widest_vector(g->problem);
    while (pins->vector_width && widest > pins->vector_width) widest /= 2;
    int count = add_lanes(g, pins, widest, out);
    count += add_chunks(g, pins, widest, out + count);
    return count + add_blocks(g, pins, widest, out + count);
}

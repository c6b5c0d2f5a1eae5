/* SPDX-License-Identifier: Apache-2.0 */
/* Points that a strategy can have, by what the hardware allows, and by numbers that were measured. */
#include "schedule/candidates.h"

#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"

#define MOST_REGISTER_BYTES 256   /* of a thread's vectors: a quarter of its registers */
#define MOST_SHARED_STEPS 32      /* of a thread's vectors in shared memory: more threads could have them */
#define LEAST_CHUNK_STEPS 2       /* of a thread, where a row is cut into chunks */
#define MOST_CHUNKS 1024          /* the next launch reads the results of all */
#define MOST_TILE_ROWS 2048       /* rows that a tile has at once */
#define LEAST_SHARING_THREADS 128 /* of each of several blocks that share rows: they wait for one another */

/* What a member of the pins may be. */
typedef struct choices {
    int count;
    int of[16];
} choices;

typedef struct lister {
    const kiln__given *g;
    const kiln__traits *traits;
    const kiln__problem *problem;
    const kiln__device *device;
    const kiln__pins *pins;
    kiln__pins *out;
    int count, most_chunks;
    bool for_orders; /* few of those that combine a row's columns alike */
    bool any;        /* also what is never the fastest, as pins may want it */
} lister;

/* ---- choices ---- */

/* What is pinned, or powers. */
static choices powers_of(int base, int pinned, int from, int to) {
    choices c = {.count = 0};
    if (pinned) return (choices){1, {pinned}};
    for (int n = from; n <= to && c.count < (int)(sizeof c.of / sizeof *c.of); n *= base) c.of[c.count++] = n;
    return c;
}
static choices powers(int pinned, int from, int to) { return powers_of(2, pinned, from, to); }

/* A yes or no that is -1 or 1 in pins; where it cannot be, no. */
static choices whether(int pinned, bool possible) {
    if (pinned) return (choices){1, {pinned}};
    return possible ? (choices){2, {-1, 1}} : (choices){1, {-1}};
}

static bool has(const choices *c, int value) {
    for (int i = 0; i < c->count; i++)
        if (c->of[i] == value) return true;
    return false;
}

static void include(choices *c, int value) {
    if (!has(c, value)) c->of[c->count++] = value;
}

static choices clusters(const lister *l) {
    choices c = powers(l->pins->cluster, 1, 16), fit = {.count = 0};
    for (int i = 0; i < c.count; i++)
        if (kiln__cluster_fits(c.of[i], l->device)) fit.of[fit.count++] = c.of[i];
    return fit;
}

/* ---- points ---- */

/* One block for each row, which it does not share; the rest of the pins is as they have it. */
static kiln__pins point(const lister *l, int group, int staging, int threads, int width) {
    kiln__pins p = *l->pins;
    p.group = group;
    p.staging = staging;
    p.threads = threads;
    p.vector_width = width;
    p.cluster = p.splits = p.rows_per_block = 1;
    p.persistent = -1;
    return p;
}

static void add(lister *l, kiln__pins p) {
    if (l->count < KILN__MOST_CANDIDATES && kiln__pins_agree(l->pins, &p)) l->out[l->count++] = p;
}

/* Others than these are never the fastest. */
static void add_if(lister *l, kiln__pins p, bool worthwhile) {
    if (worthwhile || l->any) add(l, p);
}

/* ---- rows ---- */

/* Vectors of 16 bytes of the narrowest tensor and of half as many; the widest of which a row is a whole number; the
 * widest that some tensor moves in one access, so that neighbouring lanes' lie side by side; and where tensors are not
 * aligned, those of 16 bytes that are shifted into place. */
static choices row_widths(const lister *l) {
    const int widest = kiln__widest_vector(l->problem), shifted = kiln__widest_unaligned(l->problem);
    const int pinned = l->pins->vector_width, most = (int)kiln__least(pinned ? pinned : widest, widest);
    kiln__schedule s = kiln__schedule_blank(l->g->ir, l->problem);
    choices c = {1, {most}};
    int whole = kiln__dividing(l->problem->cols, most), least = most;
    s.vector_width = whole;
    for (int o = 0; o < l->problem->input_count + l->problem->output_count; o++) {
        const kiln__operand *operand = &l->problem->operands[o];
        const int access = kiln__access_width(l->problem, operand, &s);
        if (operand->per_element && (operand->output || operand->follows_rows) && access < least) least = access;
    }
    if (pinned > most && pinned <= shifted) include(&c, pinned);
    if (pinned) return c;
    if (most > 1) include(&c, most / 2);
    include(&c, whole);
    include(&c, (int)kiln__greatest(least, l->problem->least_vector));
    if (shifted > most) {
        include(&c, shifted);
        include(&c, shifted / 2);
    }
    return c;
}

static int64_t vectors_of(const lister *l, int width) { return kiln__divide_up(l->problem->cols, width); }

/* Bytes of so many vectors of what differs from row to row. */
static int64_t bytes_of(const lister *l, int64_t vectors, int width) {
    return kiln__times(vectors, width * l->traits->input_bytes);
}

/* Whether so many threads have the row in registers, at least every other one of them a vector. */
static bool fits_registers(const lister *l, int64_t threads, int width) {
    const int64_t vectors = vectors_of(l, width), steps = kiln__divide_up(vectors, threads);
    const bool fits = bytes_of(l, steps, width) <= MOST_REGISTER_BYTES && (vectors > threads / 2 || threads == 1);
    return steps <= KILN__MOST_REGISTER_ELEMENTS / width && (fits || l->any);
}

/* In shared memory, if it is more than one vector for each, which is as well in registers. */
static bool fits_shared(const lister *l, int64_t threads, int64_t blocks, int width) {
    const int64_t steps = kiln__divide_up(vectors_of(l, width), threads * blocks);
    const bool fits = steps >= 2 && (steps <= MOST_SHARED_STEPS || threads == KILN__MOST_THREADS);
    return (fits || l->any) &&
           bytes_of(l, kiln__times(steps, threads), width) < KILN__STAGED_PART * l->device->shared_per_block;
}

/* With phases reduced together, where they can be, and one after another. */
static void add_passes(lister *l, kiln__pins p) {
    const choices online = whether(l->pins->online, l->traits->online >= 0);
    for (int i = 0; i < online.count; i++) {
        p.online = online.of[i];
        add(l, p);
    }
}

static void list_lanes(lister *l, int width) {
    const choices lanes = powers(l->pins->threads, 1, 32);
    for (int i = 0; i < lanes.count; i++) {
        const kiln__pins p = point(l, KILN__GROUP_LANES, KILN__STAGING_REGISTERS, lanes.of[i], width);
        if (fits_registers(l, lanes.of[i], width)) add_passes(l, p);
    }
}

/* Blocks and clusters; those that stay and go through many rows have what is on its way to the next in shared memory.
 */
static void list_block(lister *l, int threads, int cluster, int width) {
    kiln__pins p = point(l, KILN__GROUP_BLOCK, KILN__STAGING_REGISTERS, threads, width);
    const choices persistent = whether(l->pins->persistent, l->traits->phases > 0 && l->traits->plain);
    p.cluster = cluster;
    if (fits_registers(l, (int64_t)threads * cluster, width)) add_passes(l, p);
    p.staging = KILN__STAGING_SHARED;
    for (int i = 0; i < persistent.count && fits_shared(l, threads, cluster, width); i++) {
        p.persistent = persistent.of[i];
        add_passes(l, p);
    }
}

static void list_blocks(lister *l, int width) {
    const choices threads = powers(l->pins->threads, 32, KILN__MOST_THREADS), blocks = clusters(l);
    for (int i = 0; i < threads.count; i++)
        for (int j = 0; j < blocks.count; j++) list_block(l, threads.of[i], blocks.of[j], width);
}

/* Rows that are read again in each phase, as few times as can be, and cut into chunks where they are long. */
static void list_stream(lister *l, kiln__group group, int threads, int width) {
    const int64_t steps = kiln__divide_up(vectors_of(l, width), threads);
    const choices splits = powers(l->pins->splits, 1, l->most_chunks);
    kiln__pins p = point(l, (int)group, KILN__STAGING_NONE, threads, width);
    p.online = l->pins->online ? l->pins->online : 1;
    for (int i = 0; i < splits.count; i++) {
        p.splits = splits.of[i];
        add_if(l, p, p.splits == 1 || steps >= LEAST_CHUNK_STEPS * (int64_t)p.splits);
    }
}

/* By whole warps, or of short rows by as many lanes as have vectors. */
static void list_streams(lister *l, int width) {
    const int least = l->any ? 1 : kiln__power_of_two_from(vectors_of(l, width), 32);
    const choices threads = powers(l->pins->threads, least, KILN__MOST_THREADS);
    for (int i = 0; i < threads.count; i++) {
        if (threads.of[i] <= 32) list_stream(l, KILN__GROUP_LANES, threads.of[i], width);
        if (threads.of[i] >= 32) list_stream(l, KILN__GROUP_BLOCK, threads.of[i], width);
    }
}

static void list_rows_in_flight(lister *l, int width) {
    const choices threads = powers(l->pins->threads, 32, 512), blocks = clusters(l);
    const int pinned = l->pins->rows_per_block;
    const choices rows = pinned > 1 ? (choices){1, {pinned}} : (choices){3, {2, 3, 4}};
    for (int i = 0; i < threads.count * blocks.count && l->traits->invariants; i++) {
        kiln__pins p = point(l, KILN__GROUP_BLOCK, KILN__STAGING_SHARED, threads.of[i % threads.count], width);
        p.cluster = blocks.of[i / threads.count];
        if (vectors_of(l, width) < (int64_t)p.threads * p.cluster && !l->any) continue;
        for (int r = 0; r < rows.count; r++) {
            p.rows_per_block = rows.of[r];
            add(l, p);
        }
    }
}

/* Rows of an odd number of 2-byte elements also in pairs. */
static void list_tile(lister *l, int lanes, int rows) {
    const int whole = kiln__dividing(l->problem->cols, kiln__widest_unaligned(l->problem));
    const int most = l->pins->vector_width ? l->pins->vector_width : whole;
    kiln__pins p = point(l, KILN__GROUP_LANES, KILN__STAGING_TILE, lanes, (int)kiln__least(most, whole));
    p.rows_per_block = rows;
    const bool pairs = whole == 1 && l->pins->vector_width != 1 && kiln__row_tile_pairs(l->problem);
    if (!pairs || !l->pins->vector_width) add(l, p);
    p.vector_width = 2;
    if (pairs) add(l, p);
}

static void list_tiles(lister *l) {
    const choices lanes = powers(l->pins->threads, 1, 32), rows = powers(l->pins->rows_per_block, 4, MOST_TILE_ROWS);
    for (int i = 0; i < lanes.count * rows.count; i++) {
        const int lane = lanes.of[i % lanes.count], row = rows.of[i / lanes.count];
        if (l->problem->cols >= lane || l->any) list_tile(l, lane, row);
    }
}

static void list_grid(lister *l, int width) {
    const choices threads = powers(l->pins->threads, 256, KILN__MOST_THREADS);
    for (int i = 0; i < threads.count; i++) {
        const bool many = vectors_of(l, width) >= (int64_t)l->device->sm_count * threads.of[i];
        if (many || l->any) add_passes(l, point(l, KILN__GROUP_GRID, KILN__STAGING_SHARED, threads.of[i], width));
    }
}

static void list_row(lister *l) {
    const choices widths = row_widths(l);
    for (int i = 0; i < widths.count; i++) {
        list_lanes(l, widths.of[i]);
        list_blocks(l, widths.of[i]);
        list_streams(l, widths.of[i]);
    }
    list_rows_in_flight(l, widths.of[0]);
    list_grid(l, widths.of[0]);
    list_tiles(l);
}

/* ---- elementwise ---- */

static void list_pointwise(lister *l) {
    const choices threads = powers(l->pins->threads, 64, 512), steps = powers(l->pins->steps, 1, 32);
    const int widest = kiln__pointwise_widest(l->problem);
    choices widths = powers(l->pins->vector_width, widest > 1 ? widest / 2 : 1, widest);
    if (!l->pins->vector_width) include(&widths, kiln__widest_vector(l->problem)); /* needs no shifting */
    for (int i = 0; i < threads.count * steps.count * widths.count; i++) {
        kiln__pins p = *l->pins;
        p.threads = threads.of[i % threads.count];
        p.steps = steps.of[i / threads.count % steps.count];
        p.vector_width = widths.of[i / threads.count / steps.count];
        const int64_t bytes = (int64_t)p.steps * p.vector_width * (l->traits->input_bytes + l->traits->output_bytes);
        add_if(l, p, bytes <= MOST_REGISTER_BYTES || p.steps == 1);
    }
}

/* ---- columns ---- */

static int64_t column_steps(const lister *l, const kiln__pins *p) {
    return kiln__divide_up(l->problem->cols, (int64_t)p->threads * p->cluster);
}

/* Only streamed columns are reduced online: a pin of it has no other candidate, where it means anything. */
static int one_after_another(const lister *l) {
    return l->pins->online && l->traits->online < 0 ? l->pins->online : -1;
}

/* Columns that stay in a block's registers or its shared memory, or those of a cluster. */
static void list_kept(lister *l, kiln__pins p, int lanes) {
    const choices blocks = clusters(l);
    p.online = one_after_another(l);
    for (int i = 0; i < blocks.count; i++) {
        p.cluster = blocks.of[i];
        const int64_t steps = column_steps(l, &p), slab = kiln__times(steps, (int64_t)p.threads * lanes);
        const bool registers = bytes_of(l, steps, p.vector_width) <= MOST_REGISTER_BYTES;
        const bool shares = lanes * p.threads >= LEAST_SHARING_THREADS && steps >= LEAST_CHUNK_STEPS;
        if (p.cluster > 1 && !shares && !l->any) return;
        p.staging = KILN__STAGING_REGISTERS;
        add_if(l, p, registers);
        p.staging = KILN__STAGING_SHARED;
        if (registers && l->for_orders) continue;
        if (bytes_of(l, slab, p.vector_width) < l->device->shared_per_block) add_if(l, p, steps > 1);
    }
}

/* Columns that are read again in each phase, by one block or in chunks; together where they can be. Clusters that keep
 * nothing are as well chunks. */
static void list_read(lister *l, kiln__pins p) {
    const choices splits = powers_of(4, l->pins->splits, 1, l->most_chunks);
    const int joined = l->traits->online >= 0 ? 1 : -1;
    p.staging = KILN__STAGING_NONE;
    p.online = l->pins->online ? l->pins->online : joined;
    for (int i = 0; i < splits.count; i++) {
        p.splits = splits.of[i];
        add_if(l, p, p.splits == 1 || column_steps(l, &p) >= LEAST_CHUNK_STEPS * (int64_t)p.splits);
    }
    p.splits = 1;
    p.cluster = l->pins->cluster;
    if (p.cluster > 1) add(l, p);
}

/* Lanes of a block whose vectors are misaligned, up to so many: as many for each block that has a part of the rows that
 * lie side by side, in whole warps, and one more for what overhangs. */
static int misaligned_lanes(const lister *l, int most, int width, int ranks) {
    const int64_t vectors = kiln__divide_up(l->problem->outer[l->problem->outer_rank - 1], width);
    const int warps = ranks < 32 ? 32 / ranks : 1;
    if (most < 2 || vectors < 1) return most;
    const int64_t blocks = kiln__divide_up(vectors, most - 1);
    const int64_t lanes = kiln__divide_up(kiln__divide_up(vectors, blocks) + 1, warps) * warps;
    return (int)kiln__least(lanes, most);
}

/* Threads of a block: two of the numbers that are mostly the best tell what a way to combine is good for. */
static bool is_usual(int threads) { return threads == 256 || threads == 512; }

/* Vectors of so many rows, which lie side by side or in runs, or are misaligned. */
static void list_lanes_of_rows(lister *l, int width, int ranks, int begin) {
    const choices most = powers(0, 1, 256);
    const bool misaligned = begin == KILN__BEGIN_ALIGNED;
    for (int i = 0; i < most.count; i++) {
        const int lanes = misaligned ? misaligned_lanes(l, most.of[i], width, ranks) : most.of[i];
        kiln__pins p = point(l, -1, 0, ranks, width);
        p.rows_per_block = (misaligned ? lanes - 1 : lanes) * width;
        p.vectors_begin = begin;
        const int threads = lanes * ranks;
        if (p.rows_per_block < 1 || (threads < 32 && !l->any) || threads > KILN__MOST_THREADS) continue;
        if (l->for_orders && !is_usual(most.of[i] * ranks)) continue;
        list_kept(l, p, lanes);
        list_read(l, p);
        if (lanes < most.of[i] && !l->any) return;
    }
}

/* Vectors that go on from column to column, of all rows that lie side by side. */
static void list_wrapped(lister *l, int width, int ranks) {
    kiln__pins p = point(l, -1, KILN__STAGING_REGISTERS, ranks, width);
    p.rows_per_block = (int)l->problem->outer[l->problem->outer_rank - 1];
    p.vectors_begin = KILN__BEGIN_WRAPPED;
    p.online = one_after_another(l);
    add_if(l, p, bytes_of(l, column_steps(l, &p), width) <= MOST_REGISTER_BYTES);
    list_read(l, p);
}

/* Rows of a thread: up to as many as lie side by side, or more in several runs, misaligned or wrapped. */
static void list_columns(lister *l, int ranks) {
    const int widest = l->traits->narrowest ? KILN__ACCESS_BYTES / l->traits->narrowest : 1;
    const int most = widest < 8 && l->problem->cols > 1 ? widest : 8;
    const int least = l->for_orders ? most : 1;
    const choices widths = powers(l->pins->vector_width, least, most);
    kiln__schedule s = kiln__schedule_blank(l->g->ir, l->problem);
    (void)kiln__column_find(l->g, &s); /* marks what is staged, which kiln__column_misaligns asks for */
    s.team.threads_per_row = ranks;
    for (int i = 0; i < widths.count; i++) {
        const int width = widths.of[i], together = l->problem->outer_rank ? kiln__column_run(l->problem, width) : 1;
        const bool pinned = l->pins->vectors_begin != 0;
        const bool misaligns = (together < width || pinned) && kiln__column_misaligns(l->g, width, &s);
        const bool wraps = (together < width || pinned) && kiln__column_wraps(l->g, width, ranks, &s);
        list_lanes_of_rows(l, width, ranks, KILN__BEGIN_WITH_ROWS);
        if (misaligns) list_lanes_of_rows(l, width, ranks, KILN__BEGIN_ALIGNED);
        if (wraps) list_wrapped(l, width, ranks);
    }
}

static void add_column_tile(lister *l, int ranks, int blocks) {
    const int before = l->count;
    kiln__pins p = *l->pins;
    p.staging = KILN__STAGING_TILE;
    p.threads = ranks;
    p.cluster = blocks;
    p.splits = 1;
    p.online = -1;
    add(l, p);
    if (l->count > before) l->out[before].splits = l->out[before].online = 0; /* a tile knows no such words */
}

/* A tile's threads stand for the ranks and blocks that would have the row without it, one phase after another: bits do
 * not tell. */
static void list_column_tiles(lister *l) {
    const choices ranks = powers(l->pins->threads, 1, 64), blocks = clusters(l);
    for (int i = 0; i < ranks.count * blocks.count; i++) {
        const int rank = ranks.of[i % ranks.count], block = blocks.of[i / ranks.count];
        if ((int64_t)rank * block <= l->problem->cols || l->any) add_column_tile(l, rank, block);
    }
}

static void list_column(lister *l) {
    const choices ranks = powers(l->pins->threads, 1, 256);
    for (int i = 0; i < ranks.count; i++)
        if (ranks.of[i] <= l->problem->cols || ranks.of[i] == 1 || l->any) list_columns(l, ranks.of[i]);
    list_column_tiles(l);
}

static lister lister_of(const kiln__given *g, const kiln__pins *pins, kiln__pins *out) {
    return (lister){.g = g,
                    .traits = &g->traits,
                    .problem = g->problem,
                    .device = g->device,
                    .pins = pins,
                    .out = out,
                    .most_chunks = g->traits.one_launch ? 1 : MOST_CHUNKS};
}

int kiln__candidates_of_orders(const kiln__given *g, const kiln__pins *pins, kiln__pins out[KILN__MOST_CANDIDATES]) {
    lister l = lister_of(g, pins, out);
    l.for_orders = true;
    list_column(&l);
    return l.count;
}

/* What a block would have alone, pinned to be combined by CUB. */
static int list_cub(const kiln__given *g, const kiln__pins *pins, bool any, kiln__pins out[KILN__MOST_CANDIDATES]) {
    kiln__pins blocks = *pins;
    int count = 0;
    blocks.group = KILN__GROUP_BLOCK;
    const int listed = kiln__candidates_list(g, &blocks, any, out);
    for (int i = 0; i < listed; i++) {
        if (out[i].cluster > 1 || out[i].splits > 1 || out[i].rows_per_block > 1 || out[i].persistent > 0) continue;
        out[count] = out[i];
        out[count++].group = KILN__GROUP_CUB;
    }
    return count;
}

int kiln__candidates_list(const kiln__given *g, const kiln__pins *pins, bool any,
                          kiln__pins out[KILN__MOST_CANDIDATES]) {
    if (pins->group == KILN__GROUP_CUB) return list_cub(g, pins, any, out);
    lister l = lister_of(g, pins, out);
    l.any = any;
    if (kiln__needs_slots(g->problem)) return kiln__slots_points(g, pins, out);
    switch (g->problem->layout) {
    case KILN__LAYOUT_FLAT: list_pointwise(&l); break;
    case KILN__LAYOUT_INNER: list_row(&l); break;
    case KILN__LAYOUT_OUTER: list_column(&l); break;
    }
    return l.count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Preferred points where neighbouring rows lie side by side. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/prefer.h"

typedef struct kiln__column_facts facts;

#define ALONE_BYTES 40960  /* of rows 64 bytes wide, of 2-byte elements, that one block keeps alone */
#define SPLIT_COLUMNS 8192 /* of a streamed row: more are divided among blocks */
/* Columns of a chunk of what is read once: four vectors for each thread, for which two blocks of 1,024 threads have
 * registers. Half as many of several tensors, twice as many where phases are reduced together. At most 1,024 chunks. */
#define FINE_CHUNK_COLUMNS 256
#define MOST_FINE_CHUNKS 1024
#define MOST_LONG_CHUNKS 2048 /* of 4 bytes and more, over four times as many chunks */
#define MOST_CHUNKS_AGAIN 256

/* The same of what is read again: each block reads the partial results of all chunks. */
static int64_t chunk_again(int64_t cols) {
    int64_t chunk = 256, least = kiln__divide_up(cols, MOST_CHUNKS_AGAIN);
    while (chunk < 65536 && chunk * chunk / 8 < cols) chunk *= 2;
    return chunk > least ? chunk : least;
}

static int power_of_two_in(int64_t n) {
    int p = 1;
    while (p <= n / 2 && p < 1024) p *= 2;
    return p;
}

/* Bytes of the columns of as many rows as are worth reading together: memory fills in pieces of 64. */
static int64_t least_slab(const facts *f) {
    return f->side_bytes ? kiln__times(f->cols, f->side_bytes * (64 / f->side_narrowest)) : 0;
}

/* Threads that share a row. Up to 8 columns each stay in registers, four where 65 to 128 are read once. A row that is
 * read once is streamed by 16 threads, by 64 where it is long, by 32 where it has 2 bytes a column and 64 would have
 * more than six vectors of a chunk. One that is read again is staged in shared memory by 64; cut into chunks it takes
 * 32, more where those are long. */
static int choose_ranks(const facts *f, bool cut, bool fits_shared) {
    int ranks = 1;
    while (ranks < 16 && ranks * 8 < f->cols) ranks *= 2;
    if (f->again && f->cols > 128 && fits_shared) ranks = f->cols <= 256 ? 32 : 64;
    if (f->again && cut)
        for (ranks = 32; ranks < 128 && ranks * 64 < chunk_again(f->cols);) ranks *= 2;
    if (!f->again && f->cols > 64 && f->cols <= 128) ranks = 32;
    if (!f->again && f->cols > 768) ranks = f->side_narrowest == 2 && f->cols > MOST_FINE_CHUNKS * 6 * 64 ? 32 : 64;
    return ranks;
}

/* How many blocks share rows, how many threads of each block a row, and how many bytes of a row's neighbours a block
 * reads together. */
typedef struct sharing {
    int64_t blocks;
    int ranks, piece;
} sharing;

/* Blocks that share rows which are read once: few vectors for each thread, and few rows have many blocks. What a thread
 * has should be under way at once, in eight vectors, or be many times that. */
static const struct {
    int64_t more_than, up_to; /* columns */
    int bytes;                /* of one */
    sharing how;
} reading[] = {{768, 1536, 2, {8, 16, 256}},
               {1536, 3072, 2, {8, 32, 128}},
               {3072, 3584, 2, {8, 64, 64}},
               {3584, 4096, 2, {16, 32, 128}},
               {4096, SPLIT_COLUMNS - 1, 2, {8, 32, 128}},
               {768, 1536, 4, {4, 32, 256}},
               {1536, 2048, 4, {4, 16, 256}},
               {3584, 4096, 4, {8, 32, 128}},
               {4096, SPLIT_COLUMNS - 1, 4, {16, 16, 256}}};

/* Blocks that share rows which are read again. Pieces of 64 bytes that begin anywhere waste a third of their sectors,
 * and short ones the memory's pages: from ALONE_BYTES on, of one tensor, up to eight blocks keep 32 KB of rows 256
 * bytes wide, more columns 64 KB. Of several tensors each keeps 64 KB of rows 128 bytes wide, if rows 64 bytes wide
 * leave no room for a second block on a multiprocessor. */
static bool cluster_works(const facts *f, const kiln__device *device, const sharing *how, int64_t exchanged) {
    int64_t rows = how->piece / f->side_narrowest;
    if (how->piece == 128 && rows > 64) rows = 64; /* worth sharing, where there is no room for all */
    return how->blocks <= 16 && kiln__cluster_fits((int)how->blocks, device) &&
           rows * (8 + how->blocks) * exchanged <= KILN__COLUMN_STATIC_BYTES;
}
static int64_t blocks_for(int64_t bytes, int64_t each) {
    int64_t blocks = 1;
    while (blocks <= 16 && blocks * each < bytes) blocks *= 2;
    return blocks;
}
static const sharing alone = {1, 0, 0};

/* What carries more has fewer rows in a block, and pieces too short to be read by many. */
static sharing cluster_that_reads_once(const facts *f, const kiln__device *device, int64_t exchanged) {
    if (f->side_narrowest != f->side_bytes || f->state_bytes > 8) return alone;
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) {
        const bool within = f->cols > reading[i].more_than && f->cols <= reading[i].up_to;
        if (within && f->side_bytes == reading[i].bytes && cluster_works(f, device, &reading[i].how, exchanged))
            return reading[i].how;
    }
    return alone;
}

static sharing cluster_that_keeps(const facts *f, const kiln__device *device, int64_t exchanged) {
    const int64_t slab = least_slab(f), fits_twice = device->shared_per_sm / 2 - 5120;
    const bool one = f->side_narrowest == f->side_bytes;
    if (slab <= (one ? ALONE_BYTES : fits_twice)) return alone;
    int64_t wide = blocks_for(kiln__times(4, slab), 32768);
    const bool large = wide > 8;
    if (large) wide = blocks_for(kiln__times(4, slab), 65536);
    const bool narrow = f->transposed || (large && f->side_narrowest <= 2);
    const sharing of_256 = {wide, 16, 256}, of_128 = {blocks_for(kiln__times(2, slab), 65536), 32, 128};
    if (one && !narrow && cluster_works(f, device, &of_256, exchanged)) return of_256;
    return (one || slab > fits_twice) && cluster_works(f, device, &of_128, exchanged) ? of_128 : alone;
}

static sharing choose_cluster(const facts *f, const kiln__device *device, const kiln__pins *pins, int64_t exchanged) {
    const int pinned = pins->threads | pins->splits | pins->rows_per_block | pins->vector_width | pins->cluster;
    if (pinned || pins->staging >= 0) return alone;
    return f->again ? cluster_that_keeps(f, device, exchanged) : cluster_that_reads_once(f, device, exchanged);
}

/* ---- vectors of rows ---- */

/* What a preference starts from. */
typedef struct columns {
    const kiln__given *g;
    const kiln__pins *pins;
    facts f;
    sharing how;
    bool cut;         /* columns are cut into chunks, a block for each */
    bool fits_shared; /* a cluster keeps a row's columns */
    kiln__schedule s; /* as far as it is chosen */
} columns;

/* Whether vectors of so many rows are misaligned rather than in runs of `together`. Ends are stored row by row: few
 * rows are mostly ends, and few columns of 2 bytes do as well row by row altogether. The last launch's vectors are of
 * any rows. */
static bool suits_misaligned(const columns *c, int together, int width) {
    const kiln__problem *problem = c->g->problem;
    const bool splits = c->pins->splits || c->f.cols >= SPLIT_COLUMNS;
    if (c->f.transposed || together >= width || problem->outer_rank == 0) return false;
    if (problem->outer[problem->outer_rank - 1] < 4 * width) return false;
    if (problem->columns_out && c->f.cols <= 64 && c->f.side_narrowest <= 2) return false;
    if (splits && (problem->outer_rank > 1 || c->f.again)) return false;
    return kiln__column_misaligns(c->g, width, &c->s);
}

/* The rows of a thread: 16 bytes of the narrowest tensor, fewer where much is staged or carried for each. */
static int most_rows(const columns *c) {
    const int most = c->f.cols == 1 ? 16 : 8, pinned = c->pins->vector_width;
    const int threads = c->s.team.threads_per_row > 256 ? c->s.team.threads_per_row : 256;
    int rows = c->f.narrowest ? 16 / c->f.narrowest : 1;
    if (rows > most) rows = most;
    if (pinned) rows = power_of_two_in(pinned < 16 ? pinned : 16);
    while (rows > 1 && rows * c->f.staged_bytes > 32 && !pinned) rows /= 2;
    while (rows > 1 && rows * c->f.state_bytes * threads > 32768) rows /= 2;
    return rows;
}

/* Where there are few rows in all, more of them would leave lanes without work, of which long columns need fewer. One
 * column's number of rows is no more than that: its kernel serves any. */
static int fewer_rows(const columns *c, int rows) {
    const int64_t all = c->g->problem->rows;
    if (c->f.cols > 1)
        while (rows > 1 && rows * (c->cut ? 2 : 8) > all) rows /= 2;
    const bool corrected = c->cut && (c->f.again || c->s.passes.online >= 0);
    return corrected && all <= 64 && rows > 4 ? 4 : rows;
}

/* Runs of single rows gain nothing; of one column two accesses make a vector. */
static int rows_in_runs(const columns *c, int rows, int together) {
    const int last = c->g->problem->outer_rank - 1;
    if (last <= 0) rows = fewer_rows(c, rows);
    if (together > rows) together = rows;
    if (last < 0) return 1;
    if (rows > 4 * together) rows = 4 * together;
    if (c->pins->vector_width) return rows;
    if (together == 1) return 1;
    return c->f.cols == 1 && rows == together && rows < 16 ? 2 * rows : rows;
}

static void choose_rows(columns *c) {
    const int rows = most_rows(c), together = kiln__column_run(c->g->problem, rows);
    kiln__schedule *s = &c->s;
    s->vector_width = s->column.run_rows = rows;
    s->edges = KILN__EDGES_ALIGNED;
    if (suits_misaligned(c, together, rows)) {
        s->edges = KILN__EDGES_MISALIGNED;
        return;
    }
    s->vector_width = rows_in_runs(c, rows, together);
    s->column.run_rows = together < s->vector_width ? together : s->vector_width;
    if (c->g->problem->outer_rank == 0) s->column.run_rows = 1;
}

/* So many lanes for each rank; where rows are misaligned, up to so many: a block has all rows that lie side by side, if
 * it can, else as many as the others, and a lane more than they have vectors. */
static void set_lanes(const kiln__problem *problem, int lanes, int ranks, kiln__schedule *s) {
    if (s->edges == KILN__EDGES_MISALIGNED) {
        const int warps = ranks < 32 ? 32 / ranks : 1; /* lanes that make whole warps */
        const int64_t vectors = kiln__divide_up(problem->outer[problem->outer_rank - 1], s->vector_width);
        const int most = (lanes < 2 ? 2 : lanes + warps - 1) / warps * warps;
        const int64_t blocks = kiln__divide_up(vectors, most - 1);
        int64_t step = warps; /* of the numbers of lanes, so that there are few kernels */
        while (step * 8 < most) step *= 2;
        lanes = (int)(kiln__divide_up(kiln__divide_up(vectors, blocks) + 1, step) * step);
        if (lanes > most) lanes = most;
    }
    s->team.threads = lanes * ranks;
    s->team.rows_per_block = (lanes - (s->edges == KILN__EDGES_MISALIGNED)) * s->vector_width;
}
/* The vectors at both ends of a block's rows are read by its neighbours, too, and stored row by row: 250 bytes where
 * they are staged, or all rows that lie side by side. Fewer where there would be a block for every fourth
 * multiprocessor at most. */
static int lanes_of_misaligned(const facts *f, const kiln__problem *problem, const kiln__device *device, int lanes,
                               const kiln__schedule *s) {
    const int64_t vectors = kiln__divide_up(problem->outer[problem->outer_rank - 1], s->vector_width);
    if (s->staging.kind == KILN__STAGING_SHARED) lanes = 16;
    const int64_t threads = kiln__times(vectors + 1, s->team.threads_per_row);
    if (vectors + 1 <= 2 * lanes && threads <= 1024 && threads * s->vector_width * f->slot_bytes <= 40000)
        lanes = (int)vectors + 1;
    /* One kernel serves any number of runs, so that only of a single run its rows count. */
    if (s->team.blocks_per_row > 1 || f->cols >= SPLIT_COLUMNS || problem->outer_rank > 1) return lanes;
    while (lanes > 4 && problem->rows / ((lanes - 1) * s->vector_width) < device->sm_count / 4) lanes /= 2;
    return lanes;
}

/* The values that threads of so many lanes put into shared memory: where they have the same rows a warp's are one. */
static int places_of(int lanes, int ranks, const kiln__schedule *s) {
    const int alike = lanes < 32 && s->edges != KILN__EDGES_MISALIGNED ? 32 / lanes : 1;
    return lanes * ranks / (alike < ranks ? alike : ranks) * s->vector_width;
}

/* Bytes of a row's neighbours that a warp should read. */
static int least_piece(const facts *f, const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_SHARED) return 64;
    if (s->staging.kind != KILN__STAGING_NONE) return 128;
    const bool again = f->again && f->narrowest >= 4;
    return s->team.threads_per_row >= 64 || s->column.run_rows == 1 || again ? 256 : 128;
}

/* Blocks of 256 threads, more where that would make a warp read less in a row. */
static int lanes_that_read(const facts *f, int piece, const kiln__schedule *s) {
    const int ranks = s->team.threads_per_row, bytes = s->column.run_rows * (f->narrowest ? f->narrowest : 1);
    const int least = piece ? piece : least_piece(f, s), most = least == 256 ? 1024 : 512;
    int lanes = ranks < 256 ? 256 / ranks : 1;
    while (lanes * bytes < least && lanes * ranks < most) lanes *= 2;
    while (s->column.transpose_width && lanes * bytes > 128 && lanes * ranks > 64)
        lanes /= 2; /* a warp has more of each row's columns */
    return lanes;
}

/* As many rows as lie side by side, where that leaves enough threads. */
static int lanes_of_run(const facts *f, const kiln__problem *problem, int lanes, const kiln__schedule *s) {
    const int ranks = s->team.threads_per_row;
    const bool enough = ranks >= 32 && s->team.blocks_per_row == 1 && s->staging.kind == KILN__STAGING_NONE;
    const bool one = problem->outer_rank <= 1;
    const int64_t run = one ? problem->rows : problem->outer[problem->outer_rank - 1];
    if ((!one && !enough) || f->cols == 1) return lanes;
    while (lanes > 1 && (lanes / 2) * s->vector_width >= run && (lanes / 2) * ranks >= 32) lanes /= 2;
    return lanes;
}

/* As many blocks as can overlap, rather than long runs of rows. */
static void shorten_vectors(const facts *f, const kiln__device *device, kiln__schedule *s) {
    const int64_t third = device->shared_per_sm / 3 - 8192;
    const int64_t vector = kiln__times(s->steps, s->team.threads * f->staged_bytes);
    while (s->vector_width > s->column.run_rows && kiln__times(vector, s->vector_width) > third) s->vector_width /= 2;
}

/* Neighbouring threads. */
static void choose_lanes(const columns *c, kiln__schedule *s) {
    const facts *f = &c->f;
    const int ranks = s->team.threads_per_row, rows = c->pins->rows_per_block;
    const bool misaligned = s->edges == KILN__EDGES_MISALIGNED;
    int lanes = lanes_that_read(f, c->how.piece, s);
    lanes = misaligned ? lanes_of_misaligned(f, c->g->problem, c->g->device, lanes, s)
                       : lanes_of_run(f, c->g->problem, lanes, s);
    if (rows >= s->vector_width) lanes = power_of_two_in(rows / s->vector_width);
    const int state_bytes = misaligned ? f->slot_bytes : f->state_bytes;
    while (lanes > 1 && (lanes * ranks > 1024 || places_of(lanes, ranks, s) * state_bytes > 40000)) lanes /= 2;
    while (lanes * ranks < 32) lanes *= 2;
    s->team.threads = lanes * ranks;
    if (s->staging.kind == KILN__STAGING_SHARED) shorten_vectors(f, c->g->device, s);
    set_lanes(c->g->problem, lanes, ranks, s);
}

static kiln__staging_kind staging_of(const facts *f, const kiln__pins *pins, bool fits_shared,
                                     const kiln__schedule *s) {
    const int64_t bytes = f->staged_bytes * s->vector_width;
    /* Shared memory leaves registers for more blocks. */
    const int most = f->again && fits_shared && f->cols > 64 ? 64 : 256;
    if (pins->staging >= 0) return (kiln__staging_kind)pins->staging;
    if (s->steps <= (bytes || !f->again ? 8 : 16) && s->steps * bytes <= most) return KILN__STAGING_REGISTERS;
    return fits_shared && f->staged_bytes ? KILN__STAGING_SHARED : KILN__STAGING_NONE;
}

/* ---- tiles ---- */

/* Where vectors of rows do as well as a tile: runs of them are multiples of a sector of memory. Of what is read once,
 * vectors that are misaligned do, too, but for those of elements of 2 bytes, and few rows do not. */
static bool suits_vectors(const columns *c) {
    const kiln__problem *problem = c->g->problem;
    int64_t widest = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const int64_t size = (int64_t)kiln_type_size(problem->operands[o].type);
        if (c->s.tensors[o].staged && size > widest) widest = size;
    }
    const int64_t kept = problem->outer[problem->outer_rank - 1], bytes = kiln__times(kept, widest);
    if (bytes % 32 == 0) return true;
    return !c->f.again && bytes >= 32 && (widest > 2 || kept % 2 == 0);
}

/* Whether rows are worked on in a tile of all that lie side by side. A single run of them has more than one block
 * otherwise. */
static bool suits_tile(const columns *c) {
    const kiln__pins *pins = c->pins;
    if (pins->threads | pins->splits | pins->rows_per_block | pins->vector_width | pins->cluster) return false;
    if (pins->staging >= 0 || c->g->problem->outer_rank < 2) return false;
    return (c->f.cols < SPLIT_COLUMNS || c->fits_shared) && !suits_vectors(c);
}

static int add_tile(const columns *c, kiln__preference *out) {
    kiln__preference p = {.point = {.group = -1, .staging = KILN__STAGING_TILE},
                          .reason = "neighbouring rows lie side by side, few or unaligned: with their columns they are "
                                    "one flat array, copied in aligned pieces"};
    p.point.threads = c->s.team.threads_per_row;
    p.point.cluster = c->s.team.blocks_per_row;
    p.point.inlining = c->pins->inlining;
    out[0] = out[1] = p;
    out[1].point.min_blocks = 1; /* with as many registers as it takes */
    return 2;
}

/* ---- points ---- */

/* From columns and types alone, like the bits of a row. More chunks would only lengthen the partial results. */
static int splits_of(const columns *c) {
    const bool joined = c->s.passes.online >= 0;
    const bool several = !joined && c->f.side_bytes > c->f.side_narrowest && c->f.state_bytes <= 8;
    const int64_t fine = FINE_CHUNK_COLUMNS * (joined ? 2 : 1) / (several ? 2 : 1);
    const bool many = c->f.side_narrowest >= 4 && c->f.cols >= 4 * fine * MOST_FINE_CHUNKS;
    const int64_t once = many ? MOST_LONG_CHUNKS : MOST_FINE_CHUNKS, most = c->f.again ? MOST_CHUNKS_AGAIN : once;
    if (c->pins->splits) return c->pins->splits;
    if (!c->cut) return 1;
    const int64_t splits = kiln__divide_up(c->f.cols, c->f.again ? chunk_again(c->f.cols) : fine);
    return (int)kiln__least(splits, most);
}

/* Fewer lanes, where clusters exchange or keep more than there is room for. */
static void shrink_cluster(const columns *c, kiln__schedule *s) {
    const int64_t room = c->g->device->shared_per_block - KILN__COLUMN_STATIC_BYTES,
                  misaligned = s->edges == KILN__EDGES_MISALIGNED;
    const int64_t each = misaligned ? c->f.slot_bytes : kiln__schedule_exchanged(s, c->g->ir);
    const int64_t row = s->steps * c->f.staged_bytes * s->vector_width;
    while (
        s->team.threads > 32 && kiln__column_lanes(s) > 1 + misaligned &&
        ((c->f.again && row * s->team.threads > room) ||
         s->team.rows_per_block * (kiln__column_slots(s) + s->team.blocks_per_row) * each > KILN__COLUMN_STATIC_BYTES))
        set_lanes(c->g->problem, kiln__column_lanes(s) / 2, s->team.threads_per_row, s);
}

static void stage(const columns *c, kiln__schedule *s) {
    const bool clusters = c->how.blocks > 1;
    s->staging.kind = staging_of(&c->f, c->pins, c->fits_shared, s);
    if (clusters && c->f.again) s->staging.kind = KILN__STAGING_SHARED;
    if (clusters && !c->f.again) s->staging.kind = s->steps <= 12 ? KILN__STAGING_REGISTERS : KILN__STAGING_NONE;
}

/* Columns that turn out to be too many for a block are read again. */
static void stage_again(const columns *c, kiln__schedule *s) {
    const int64_t room = c->g->device->shared_per_block - KILN__COLUMN_STATIC_BYTES;
    const int64_t slab = kiln__column_slab(&c->f, s);
    if (s->staging.kind == KILN__STAGING_SHARED && slab > room && c->pins->staging < 0)
        s->staging.kind = KILN__STAGING_NONE;
}

/* Vectors of as many rows as the schedule has. */
static kiln__preference vectors_of(const columns *with, int joint) {
    columns c = *with;
    kiln__schedule *s = &c.s;
    stage(&c, s);
    if (joint >= 0 && c.f.again && s->staging.kind == KILN__STAGING_NONE) kiln__column_join(c.g, &c.f, s);
    choose_lanes(&c, s);
    if (c.how.blocks > 1) shrink_cluster(&c, s);
    stage_again(&c, s);
    if (s->staging.kind == KILN__STAGING_SHARED) s->passes.online = -1;
    kiln__preference p = {.point = *c.pins,
                          .reason = "neighbouring rows lie side by side: each thread works on a vector "
                                    "of them, and the threads of a block share the columns"};
    if (c.f.cols == 1) p.reason = "rows of one column lie side by side: each thread works on a vector of them";
    p.point.staging = (int)s->staging.kind;
    p.point.threads = s->team.threads_per_row;
    p.point.cluster = s->team.blocks_per_row;
    p.point.vector_width = s->vector_width;
    p.point.misaligned = s->edges == KILN__EDGES_MISALIGNED ? 1 : -1;
    p.point.rows_per_block = s->team.rows_per_block;
    p.point.online = s->passes.online >= 0 ? 1 : -1;
    p.point.splits = splits_of(&c);
    return p;
}

static columns find_columns(const kiln__given *g, const kiln__pins *pins, int *joint) {
    columns c = {.g = g, .pins = pins, .s = kiln__schedule_blank(g->ir, g->problem)};
    const int64_t room = g->device->shared_per_block - KILN__COLUMN_STATIC_BYTES;
    c.f = kiln__column_find(g, &c.s);
    c.how = choose_cluster(&c.f, g->device, pins, kiln__schedule_exchanged(&c.s, g->ir));
    const int cluster = pins->cluster ? pins->cluster : (int)c.how.blocks;
    c.fits_shared = c.f.again && least_slab(&c.f) / cluster <= room;
    c.cut = c.f.cols >= SPLIT_COLUMNS && !c.fits_shared;
    /* What is cut is read once, if that is possible. */
    *joint = !c.cut || c.s.passes.ordered || pins->online < 0 ? -1 : g->traits.online;
    if (*joint >= 0 && g->ir->phase_count == 2 && !g->problem->columns_out) kiln__column_join(g, &c.f, &c.s);
    const int usual = c.how.blocks > 1 ? c.how.ranks : choose_ranks(&c.f, c.cut, c.fits_shared);
    c.s.team.group = KILN__GROUP_COLUMNS;
    c.s.team.threads_per_row = pins->threads ? pins->threads : usual;
    c.s.team.blocks_per_row = cluster;
    c.s.steps = kiln__divide_up(c.f.cols, c.s.team.threads_per_row * cluster);
    return c;
}

/* A tile; vectors of ever fewer rows, which changes no row's bits; last a row that is shared by a cluster is left to
 * one block, which does. */
int kiln__prefer_columns(const kiln__given *g, const kiln__pins *pins, kiln__preference *out) {
    const kiln__pins open = KILN__PINS_NONE;
    const bool asked = pins->staging == KILN__STAGING_TILE;
    int joint, count = 0;
    columns c = find_columns(g, asked ? &open : pins, &joint);
    if (asked || suits_tile(&c)) count = add_tile(&c, out);
    if (asked || pins->group >= 0) return asked ? count : 0;
    kiln__column_transpose(&c.f, &c.s);
    for (choose_rows(&c);; c.s.vector_width /= 2) {
        if (c.s.column.run_rows > c.s.vector_width) c.s.column.run_rows = c.s.vector_width;
        if (c.s.vector_width == 1 && c.s.edges == KILN__EDGES_MISALIGNED) c.s.edges = KILN__EDGES_ALIGNED;
        out[count++] = vectors_of(&c, joint);
        if (c.s.vector_width == 1 || pins->vector_width) break;
    }
    if (c.how.blocks == 1) return count;
    kiln__pins of_one_block = *pins;
    of_one_block.cluster = 1;
    return count + kiln__prefer_columns(g, &of_one_block, out + count);
}

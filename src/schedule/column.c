/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule where neighbouring rows lie side by side: each thread works on a vector of rows, and a row's columns are
 * divided among threads of different warps, then among blocks. */
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "problem/online.h"
#include "schedule/schedule.h"

/* What the choice starts from. Everything but the problem's strides, alignments and kept extents follows from the
 * columns and the types, and it alone decides in which order a row's columns are combined. */
typedef struct facts {
    int64_t cols;
    bool again;         /* the inputs are needed after the first reductions */
    bool cut;           /* columns are cut into chunks, a block for each */
    bool transposed;    /* outputs have their columns side by side, not the rows */
    int staged_bytes;   /* of one row at one column, all staged inputs together */
    int side_bytes;     /* the same of those that differ between neighbouring rows: of one run as of many ... */
    int side_narrowest; /* ... and the narrowest of them */
    int narrowest;      /* bytes of the narrowest tensor whose rows lie side by side; 0: none */
    int state_bytes;    /* what a row's reductions carry, all phases together, at most */
    int slot_bytes;     /* the same, all values as wide as the widest: what lies between them counts, too */
    int count_bytes;    /* what phases that are reduced together carry beside that */
} facts;

#define STATIC_BYTES 40960 /* of shared memory, for what the reductions exchange */
#define ALONE_BYTES 40960  /* of rows 64 bytes wide, of 2-byte elements, that one block keeps alone */
#define SPLIT_COLUMNS 8192 /* of a streamed row: more are divided among blocks */
/* Columns of a chunk of what is read once: four vectors for each thread, for which two blocks of 1,024 threads have
 * registers (H200, sums of f32, 65,536x4,096 in chunks of 128 0.953, 256 0.980, 512 0.982, of vectors that are
 * misaligned, 100,000x1,001, 0.628, 0.916 and 0.792; of f16 65,536x256 in chunks of 192 0.927, 256 0.970, 512 0.872).
 * Half as many of several tensors (sums of products of f16, 16,384x4,096: 0.916, in chunks of 256 0.841), twice as many
 * where phases are reduced together (var of f16 over 65,536 0.917, in chunks of 256 0.830; of f32 0.919 and 0.916). At
 * most 1,024 chunks (f32 1,048,576x64 0.946, in 2,048 0.943). */
#define FINE_CHUNK_COLUMNS 256
#define MOST_FINE_CHUNKS 1024
#define MOST_LONG_CHUNKS \
    2048 /* of 4 bytes and more, over four times as many chunks (1,048,576x64, H200: 0.970 and 0.918) */
#define MOST_CHUNKS_AGAIN 256

/* The same of what is read again: each block reads the partial results of all chunks (softmax of f16 over 10,007
 * columns in chunks of 256 0.591, of 512 0.582, of 1,024 0.456, over 20,000 0.392, 0.542 and 0.512, over 65,536 0.300,
 * 0.494 and 0.575). */
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

static int power_of_two_dividing(int64_t n, int limit) {
    while (n % limit) limit /= 2;
    return limit;
}

/* How many rows, up to limit, the operand has side by side wherever a vector of them starts; 0: none. */
static int rows_together(const kiln__problem *problem, const kiln__operand *operand, int limit) {
    int last = problem->outer_rank - 1, size = (int)kiln_type_size(operand->type);
    int64_t step = last < 0 || operand->linear ? operand->row_stride : operand->outer_strides[last];
    if (step != 1 || !operand->follows_rows) return 0;
    if (operand->alignment * size < 16 && operand->alignment < limit) limit = operand->alignment;
    for (int d = 0; d < last && !operand->linear; d++) limit = power_of_two_dividing(operand->outer_strides[d], limit);
    for (int d = 0; d < problem->inner_rank && operand->per_element; d++)
        limit = power_of_two_dividing(operand->inner_strides[d], limit);
    return limit;
}

/* Elements per access of an output whose columns lie side by side, and not its rows, so many columns at a time; 0: it
 * is none. */
static int along_columns(const kiln__problem *problem, const kiln__operand *operand, int line) {
    const int widest = 16 / (int)kiln_type_size(operand->type);
    const bool side = operand->contiguous_columns || (problem->inner_rank == 1 && operand->inner_strides[0] == 1);
    if (!operand->output || !operand->per_element || !side || !problem->outer_rank ||
        rows_together(problem, operand, 1))
        return 0;
    if (line > widest) line = widest;
    if (line > operand->alignment) line = operand->alignment;
    if (operand->linear) return power_of_two_dividing(operand->row_stride, line);
    for (int d = 0; d < problem->outer_rank; d++) line = power_of_two_dividing(operand->outer_strides[d], line);
    return line;
}

static facts find_facts(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s) {
    facts f = {.cols = problem->cols > 1 ? problem->cols : 1, .again = ir->phase_count > 1 || problem->columns_out};
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        int size = (int)kiln_type_size(operand->type);
        s->tensors[o].staged = !operand->output && operand->per_element && operand->follows_rows;
        if (s->tensors[o].staged) f.staged_bytes += size;
        const int last = problem->outer_rank - 1;
        const bool side = s->tensors[o].staged &&
                          (last < 0 || operand->linear ? operand->row_stride : operand->outer_strides[last]) != 0;
        if (side) f.side_bytes += size;
        if (side && (!f.side_narrowest || size < f.side_narrowest)) f.side_narrowest = size;
        f.transposed |= !s->passes.ordered && f.cols > 1 && along_columns(problem, operand, 8) > 1;
        if (rows_together(problem, operand, 1) && (!f.narrowest || size < f.narrowest)) f.narrowest = size;
    }
    int widest = 0, values = 0;
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        const bool wide = inst->type == KILN__F64 || inst->type == KILN__I64;
        const int bytes = kiln__op_is_arg(inst->op) ? 16 : !kiln__op_is_reduction(inst->op) ? 0 : wide ? 8 : 4;
        f.state_bytes += bytes;
        values += bytes > 0;
        if (bytes > widest) widest = bytes;
    }
    f.slot_bytes = values * widest;
    f.count_bytes = kiln__online_squares(ir) ? widest : 0;
    return f;
}

/* Bytes of the columns of as many rows as are worth reading together: memory fills in pieces of 64. */
static int64_t least_slab(const facts *f) {
    return f->side_bytes ? kiln__times(f->cols, f->side_bytes * (64 / f->side_narrowest)) : 0;
}

/* Threads that share a row. Up to 8 columns each stay in registers, four where 65 to 128 are read once (sums over 128
 * of f16, H200: 0.951, two 0.931). A row that is read once is streamed by 16 threads, by 64 where it is long, by 32
 * where it has 2 bytes a column and 64 would have more than six vectors of a chunk (sums of f16 over 1,048,576: 0.884,
 * 64 threads 0.807; over 300,000 0.901 and 0.948). One that is read again is staged in shared memory by 64; cut into
 * chunks it takes 32, more where those are long (l2_normalize of f16 over 159x224x224 columns of three rows: 128
 * threads 0.37, 16 0.08). */
static int choose_ranks(const facts *f, bool fits_shared) {
    int ranks = 1;
    while (ranks < 16 && ranks * 8 < f->cols) ranks *= 2;
    if (f->again && f->cols > 128 && fits_shared) ranks = f->cols <= 256 ? 32 : 64;
    if (f->again && f->cut)
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

/* Blocks that share rows which are read once: few vectors for each thread, and few rows have many blocks (sums of f16
 * over 1,000 rows of 2,000 bytes 0.997, one block 0.895; over 4,096 of 65,536 0.935 and 0.980, but of 2,048 1.083 and
 * 0.433, of 512 1.150 and 0.304. Of f32 over 1,000 0.966 and 0.940; over 4,096 of 65,536 1.004 and 1.007, of 512 1.116
 * and 0.795; but over 1,600 of 65,536 0.817 and 0.967, of 512 1.171 and 0.950). What a thread has should be under way
 * at once, in eight vectors, or be many times that (64 runs of 256 rows, f32: over 6,000 in 16 blocks of 16 threads for
 * a row 0.975, of 32 0.862; over 3,136 0.875 and 0.904; f16: over 4,096 in 16 blocks of 32 threads 0.941, in 8 0.871;
 * over 3,136 in 8 of 64 0.945, of 32 0.927). An H200, f32 over 3,136 of 512, 2,048, 8,192 and 65,536 rows: one block
 * 0.710, 0.851, 0.949 and 0.927, 16 of 32 threads 1.063, 0.724, 0.685 and 0.655; over 2,000 4 of 16 0.947, 0.825, 0.834
 * and 0.929, one 0.707, 0.695, 0.906 and 0.904. */
static const struct {
    int64_t more_than, up_to; /* columns */
    int bytes;                /* of one */
    sharing how;
} reading[] = {{768, 1536, 2, {8, 16, 256}},
               {1536, 3072, 2, {8, 32, 128}},
               {3072, 3584, 2, {8, 64, 64}}, /* 64 runs of 256 rows, H200: 0.916, 128 bytes 0.868 */
               {3584, 4096, 2, {16, 32, 128}},
               {4096, SPLIT_COLUMNS - 1, 2, {8, 32, 128}},
               {768, 1536, 4, {4, 32, 256}},
               {1536, 2048, 4, {4, 16, 256}},
               {3584, 4096, 4, {8, 32, 128}}, /* H200, 512 and 65,536 rows: 1.086, 0.934, 16 blocks 1.059, 0.878 */
               {4096, SPLIT_COLUMNS - 1, 4, {16, 16, 256}}};

/* Blocks that share rows which are read again. Pieces of 64 bytes that begin anywhere waste a third of their sectors,
 * and short ones the memory's pages: from ALONE_BYTES on, of one tensor, up to eight blocks keep 32 KB of rows 256
 * bytes wide (softmax over 1,000 rows of 2,000 bytes: 0.905, 128 bytes wide 0.713, one block 0.577; of f32, 4,000
 * bytes: 0.964, one block 0.914), more columns 64 KB (over 4,096 of f32: 0.936; of 2-byte elements 128 bytes wide: over
 * 2,000 0.968, 256 bytes 0.915, over 4,096 0.881). Of several tensors each keeps 64 KB of rows 128 bytes wide, if rows
 * 64 bytes wide leave no room for a second block on a multiprocessor (layer_norm of bf16 over 1,536: 0.863, one block
 * 0.876). */
static bool cluster_works(const facts *f, const kiln__device *device, const sharing *how, int64_t exchanged) {
    int64_t rows = how->piece / f->side_narrowest;
    if (how->piece == 128 && rows > 64) rows = 64; /* worth sharing, where there is no room for all */
    return how->blocks <= 16 && kiln__cluster_fits((int)how->blocks, device) &&
           rows * (8 + how->blocks) * exchanged <= STATIC_BYTES;
}
static int64_t blocks_for(int64_t bytes, int64_t each) {
    int64_t blocks = 1;
    while (blocks <= 16 && blocks * each < bytes) blocks *= 2;
    return blocks;
}
static sharing choose_cluster(const facts *f, const kiln__device *device, const kiln__pins *pins, int64_t exchanged) {
    const sharing alone = {1, 0, 0};
    const int pinned = pins->threads | pins->splits | pins->rows_per_block | pins->vector_width | pins->cluster;
    const int64_t slab = least_slab(f), fits_twice = device->shared_per_sm / 2 - 5120;
    const bool one = f->side_narrowest == f->side_bytes;
    if (pinned || pins->staging >= 0) return alone;
    if (!f->again) {
        /* What carries more has fewer rows in a block, and pieces too short to be read by many. */
        for (size_t i = 0; one && f->state_bytes <= 8 && i < sizeof reading / sizeof *reading; i++)
            if (f->cols > reading[i].more_than && f->cols <= reading[i].up_to && f->side_bytes == reading[i].bytes &&
                cluster_works(f, device, &reading[i].how, exchanged))
                return reading[i].how;
        return alone;
    }
    if (slab <= (one ? ALONE_BYTES : fits_twice)) return alone;
    int64_t wide = blocks_for(kiln__times(4, slab), 32768);
    const bool large = wide > 8;
    if (large) wide = blocks_for(kiln__times(4, slab), 65536);
    const bool narrow = f->transposed || (large && f->side_narrowest <= 2);
    const sharing of_256 = {wide, 16, 256}, of_128 = {blocks_for(kiln__times(2, slab), 65536), 32, 128};
    if (one && !narrow && cluster_works(f, device, &of_256, exchanged)) return of_256;
    return (one || slab > fits_twice) && cluster_works(f, device, &of_128, exchanged) ? of_128 : alone;
}

/* Whether an operand's rows lie side by side, in whole vectors from where memory is aligned, and what a vector
 * overhangs by belongs to the tensor in all columns but the last. */
static bool may_be_misaligned(const kiln__problem *problem, const kiln__operand *operand, int vector) {
    bool may = rows_together(problem, operand, 1) && operand->per_element && operand->inner_strides[0] >= vector &&
               (operand->alignment >= vector || operand->alignment * (int)kiln_type_size(operand->type) >= 16);
    for (int d = 0; d < problem->outer_rank; d++) may = may && operand->outer_strides[d] >= 0;
    return may;
}

/* Whether two operands' columns begin at the same places of vectors. */
static bool misaligned_alike(const kiln__problem *problem, const kiln__operand *a, const kiln__operand *b, int vector) {
    bool alike = (a->inner_strides[0] - b->inner_strides[0]) % vector == 0;
    for (int d = 0; d < problem->outer_rank - 1; d++)
        alike = alike && (a->outer_strides[d] - b->outer_strides[d]) % vector == 0;
    return alike;
}

/* Rows that begin at other places of a vector in each column, so that `together` of them, fewer than a vector, share an
 * access. Where a rank's columns are a multiple of the vector apart, all of them begin alike. */
static bool are_misaligned(const facts *f, const kiln__problem *problem, const kiln__pins *pins, int together,
                           kiln__schedule *s) {
    const kiln__operand *first = NULL;
    const bool splits = pins->splits || f->cols >= SPLIT_COLUMNS;
    if (together >= s->vector_width || f->cols == 1 || s->passes.ordered || problem->inner_rank != 1 ||
        problem->outer_rank == 0 || s->team.threads_per_row > 512 ||
        s->team.threads_per_row * s->team.blocks_per_row % s->vector_width)
        return false;
    /* Ends are stored row by row: few rows are mostly ends, and few columns of 2 bytes do as well row by row altogether
     * (softmax of f16 over 64 columns, 1,001 rows: 0.92, in vectors 0.70). */
    if (problem->outer[problem->outer_rank - 1] < 4 * s->vector_width) return false;
    if (problem->columns_out && f->cols <= 64 && f->side_narrowest <= 2) return false;
    if (splits && (problem->outer_rank > 1 || f->again)) return false; /* the last launch's vectors are of any rows */
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (operand->output ? !operand->per_element : !s->tensors[o].staged) continue;
        if (!may_be_misaligned(problem, operand, s->vector_width)) return false;
        if (first && !misaligned_alike(problem, first, operand, s->vector_width)) return false;
        if (!first) first = operand;
    }
    return first != NULL;
}

/* The rows of a thread: 16 bytes of the narrowest tensor, fewer where much is staged or carried for each. */
static void choose_rows(const facts *f, const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    int last = problem->outer_rank - 1, most = f->cols == 1 ? 16 : 8;
    int rows = f->narrowest ? 16 / f->narrowest : 1;
    if (rows > most) rows = most;
    if (pins->vector_width) rows = power_of_two_in(pins->vector_width < 16 ? pins->vector_width : 16);
    while (rows > 1 && rows * f->staged_bytes > 32 && !pins->vector_width) rows /= 2;
    while (rows > 1 && rows * f->state_bytes * (s->team.threads_per_row > 256 ? s->team.threads_per_row : 256) > 32768)
        rows /= 2;
    int together = rows;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        int own = rows_together(problem, &problem->operands[o], together);
        if (own) together = own;
    }
    if (last > 0) together = power_of_two_dividing(problem->outer[last], together);
    s->vector_width = s->column.run_rows = rows;
    s->edges = KILN__EDGES_ALIGNED;
    if (!f->transposed && are_misaligned(f, problem, pins, together, s)) {
        s->edges = KILN__EDGES_MISALIGNED;
        return;
    }
    /* Where there are few rows in all, more of them would leave lanes without work, of which long columns need fewer
     * (f16, 2,000,000x10 over axis 0: sum of single halves 0.48, of four 0.81; 312,000x64: var of eight 0.55, of four
     * 0.67). One column's number of rows is no more than that: its kernel serves any. */
    if (last <= 0 && f->cols > 1)
        while (rows > 1 && rows * (f->cut ? 2 : 8) > problem->rows) rows /= 2;
    if (f->cut && (f->again || s->passes.online >= 0) && last <= 0 && problem->rows <= 64 && rows > 4) rows = 4;
    if (together > rows) together = rows;
    if (last < 0) together = rows = 1;
    if (rows > 4 * together) rows = 4 * together;
    if (together == 1 && !pins->vector_width) rows = 1; /* runs of single rows gain nothing */
    if (f->cols == 1 && rows == together && rows > 1 && rows < 16 && !pins->vector_width) rows *= 2; /* two accesses */
    s->vector_width = rows;
    s->column.run_rows = together;
    if (together > 1 && last <= 0 && (f->cols == 1 || problem->rows % together)) s->edges = KILN__EDGES_MASKED;
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
static int lanes_of(const kiln__schedule *s) {
    return s->team.rows_per_block / s->vector_width + (s->edges == KILN__EDGES_MISALIGNED);
}

/* Places in shared memory for each row's value: of every warp, or of every rank where their rows differ. */
static int slots_of(const kiln__schedule *s) {
    int lanes = lanes_of(s);
    return s->team.threads / (lanes < 32 && s->edges != KILN__EDGES_MISALIGNED ? 32 : lanes);
}

/* The vectors at both ends of a block's rows are read by its neighbours, too, and stored row by row: 250 bytes where
 * they are staged (softmax of f32 over 600 columns: 0.73, 120 bytes 0.59; over 197 0.88, 500 bytes 0.78), or all rows
 * that lie side by side. Fewer where there would be a block for every fourth multiprocessor at most. */
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

/* Neighbouring threads: blocks of 256 threads, more where that would make a warp read less than 128 bytes in a row. */
static void choose_lanes(const facts *f, const kiln__problem *problem, const kiln__device *device,
                         const kiln__pins *pins, int piece, kiln__schedule *s) {
    int ranks = s->team.threads_per_row, lanes = ranks < 256 ? 256 / ranks : 1;
    int bytes = s->column.run_rows * (f->narrowest ? f->narrowest : 1),
        least = s->staging.kind == KILN__STAGING_SHARED ? 64 : 128;
    if ((ranks >= 64 || s->column.run_rows == 1 || (f->again && f->narrowest >= 4)) &&
        s->staging.kind == KILN__STAGING_NONE)
        least = 256;
    if (piece) least = piece;
    while (lanes * bytes < least && lanes * ranks < (least == 256 ? 1024 : 512)) lanes *= 2;
    while (s->column.transpose_width && lanes * bytes > 128 && lanes * ranks > 64)
        lanes /= 2; /* a warp has more of each row's columns */
    if (s->edges == KILN__EDGES_MISALIGNED) lanes = lanes_of_misaligned(f, problem, device, lanes, s);
    /* As many rows as lie side by side, where that leaves enough threads (sums of f16 16x65536x64 over axis 1: 0.901,
     * 0.864). */
    const bool enough = ranks >= 32 && s->team.blocks_per_row == 1 && s->staging.kind == KILN__STAGING_NONE;
    const bool one = problem->outer_rank <= 1;
    const int64_t run = one ? problem->rows : problem->outer[problem->outer_rank - 1];
    if ((one || enough) && f->cols > 1 && s->edges != KILN__EDGES_MISALIGNED)
        while (lanes > 1 && (lanes / 2) * s->vector_width >= run && (lanes / 2) * ranks >= 32) lanes /= 2;
    if (pins->rows_per_block >= s->vector_width) lanes = power_of_two_in(pins->rows_per_block / s->vector_width);
    const int state_bytes = s->edges == KILN__EDGES_MISALIGNED ? f->slot_bytes : f->state_bytes;
    while (lanes > 1 && (lanes * ranks > 1024 || places_of(lanes, ranks, s) * state_bytes > 40000)) lanes /= 2;
    while (lanes * ranks < 32) lanes *= 2;
    s->team.threads = lanes * ranks;
    if (s->staging.kind == KILN__STAGING_SHARED) { /* as many blocks as can overlap, rather than long runs of rows */
        int64_t third = device->shared_per_sm / 3 - 8192,
                vector = kiln__times(s->steps, s->team.threads * f->staged_bytes);
        while (s->vector_width > s->column.run_rows && kiln__times(vector, s->vector_width) > third)
            s->vector_width /= 2;
    }
    set_lanes(problem, lanes, ranks, s);
}

static void choose_staging(const facts *f, const kiln__pins *pins, bool fits_shared, kiln__schedule *s) {
    int64_t bytes = f->staged_bytes * s->vector_width;
    /* Shared memory leaves registers for more blocks (softmax over 128 rows of 524,288 halves: 0.962 and 0.942). */
    const int most = f->again && fits_shared && f->cols > 64 ? 64 : 256;
    bool registers = s->steps <= (bytes || !f->again ? 8 : 16) && s->steps * bytes <= most;
    s->staging.kind = pins->staging >= 0               ? (kiln__staging_kind)pins->staging
                      : registers                      ? KILN__STAGING_REGISTERS
                      : fits_shared && f->staged_bytes ? KILN__STAGING_SHARED
                                                       : KILN__STAGING_NONE;
}

/* Whether rows are worked on in a tile of all that lie side by side. A single run of them has more than one block
 * otherwise. */
static bool takes_tile(const facts *f, const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                       bool asked, bool fits_shared, kiln__schedule *s) {
    const int pinned = pins->threads | pins->splits | pins->rows_per_block | pins->vector_width | pins->cluster;
    if (!asked && (pinned || pins->staging >= 0 || problem->outer_rank < 2)) return false;
    if (f->cols >= SPLIT_COLUMNS && !fits_shared) return false;
    return kiln__tile_outer_choose(problem, device, asked, f->again, f->slot_bytes, s);
}

/* As many columns as make 16 bytes of halves, fewer where threads would have more than 1.6 times as many steps. */
static void choose_transpose_width(const facts *f, kiln__schedule *s) {
    if (!f->transposed) return;
    for (s->column.transpose_width = 8; s->column.transpose_width > 1; s->column.transpose_width /= 2)
        if (kiln__times(kiln__divide_up(s->steps, s->column.transpose_width), 5 * s->column.transpose_width) <=
            kiln__times(s->steps, 8))
            break;
    s->steps = kiln__divide_up(s->steps, s->column.transpose_width) * s->column.transpose_width;
    if (s->column.transpose_width == 1) s->column.transpose_width = 0;
}

/* Phases reduced together carry a count of elements, too. */
static void join(int phase, facts *f, kiln__schedule *s) {
    s->passes.online = phase;
    f->state_bytes += f->count_bytes;
    f->slot_bytes += f->count_bytes;
}

kiln_status kiln__schedule_outer(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                 const kiln__pins *pins, int attempt, kiln__schedule *s) {
    facts f = find_facts(ir, problem, s);
    const int64_t room = device->shared_per_block - STATIC_BYTES;
    const int64_t exchanged = kiln__schedule_exchanged(s, ir);
    const kiln__pins none = {.group = -1, .staging = -1}, tiles = {.group = -1, .staging = KILN__STAGING_TILE};
    const bool asked = pins->staging == KILN__STAGING_TILE;
    if (asked && memcmp(pins, &tiles, sizeof tiles))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "the pinned schedule is none for rows that lie side by side: expected no "
                          "other words beside 'tile', whose threads and rows follow from the tensors");
    if (asked) pins = &none;
    const sharing how = choose_cluster(&f, device, pins, exchanged);
    const bool clusters = how.blocks > 1;
    const int cluster = pins->cluster ? pins->cluster : (int)how.blocks;
    kiln__pins alone = *pins;
    alone.cluster = 1;
    bool fits_shared = f.again && least_slab(&f) / cluster <= room;
    f.cut = f.cols >= SPLIT_COLUMNS && !fits_shared;
    /* What is cut is read once, if that is possible (var of f16 over 65,536 rows of 1,024: 0.917, twice 0.411; what
     * fits is as fast: over 1,000 0.716 and 0.855, of f32 0.886 and 0.935). */
    const int joint = !f.cut || s->passes.ordered || pins->online < 0 ? -1 : kiln__online_phase(ir);
    if (joint >= 0 && ir->phase_count == 2 && !problem->columns_out) join(joint, &f, s);
    f.again = f.again && s->passes.online < 0;
    s->team.group = KILN__GROUP_COLUMNS;
    s->team.threads_per_row = pins->threads ? pins->threads : clusters ? how.ranks : choose_ranks(&f, fits_shared);
    s->steps = kiln__divide_up(f.cols, s->team.threads_per_row * cluster);
    s->team.blocks_per_row = cluster;
    kiln__schedule tile = *s;
    choose_transpose_width(&f, s);
    if (takes_tile(&f, problem, device, pins, asked, fits_shared, &tile)) {
        const int tries = tile.team.min_blocks_per_sm > 1 ? 2 : 1; /* the second with as many registers as it takes */
        if (attempt < tries) {
            if (attempt > 0) tile.team.min_blocks_per_sm = 1;
            *s = tile;
            return KILN_OK;
        }
        attempt -= tries;
    }
    if (asked)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "no pinned tile fits rows that lie side by side: expected tensors whose rows "
                          "and columns are one array, and runs of them that fit a block");
    choose_rows(&f, problem, pins, s);
    for (; attempt > 0 && s->vector_width > 1; attempt--) s->vector_width /= 2;
    if (s->column.run_rows > s->vector_width) s->column.run_rows = s->vector_width;
    if (s->vector_width == 1 && s->edges == KILN__EDGES_MISALIGNED) s->edges = KILN__EDGES_ALIGNED;
    /* Given up last, because that changes a row's bits. */
    if (attempt > 0 && clusters) return kiln__schedule_outer(ir, problem, device, &alone, attempt - 1, s);
    if (attempt > 0) return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    choose_staging(&f, pins, fits_shared, s);
    if (clusters && f.again) s->staging.kind = KILN__STAGING_SHARED;
    if (clusters && !f.again) s->staging.kind = s->steps <= 12 ? KILN__STAGING_REGISTERS : KILN__STAGING_NONE;
    if (joint >= 0 && f.again && s->staging.kind == KILN__STAGING_NONE) join(joint, &f, s);
    choose_lanes(&f, problem, device, pins, how.piece, s);
    const int64_t each = s->edges == KILN__EDGES_MISALIGNED ? f.slot_bytes : exchanged;
    while (clusters && s->team.threads > 32 && lanes_of(s) > 1 + (s->edges == KILN__EDGES_MISALIGNED) &&
           ((f.again && s->steps * s->team.threads * f.staged_bytes * s->vector_width > room) ||
            s->team.rows_per_block * (slots_of(s) + cluster) * each > STATIC_BYTES))
        set_lanes(problem, lanes_of(s) / 2, how.ranks, s);
    const int64_t bytes = f.staged_bytes * s->vector_width;
    const int64_t slab = kiln__times(s->steps, s->team.threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES));
    if (s->staging.kind == KILN__STAGING_SHARED && slab > room && pins->staging < 0)
        s->staging.kind = KILN__STAGING_NONE;
    if (s->staging.kind == KILN__STAGING_SHARED)
        s->staging.bytes = bytes ? (int)slab : 0, s->staging.steps = s->steps, s->passes.online = -1;
    s->team.threads_per_row *= cluster;
    s->column.rank_groups = cluster;
    /* From columns and types alone, like the bits of a row. More chunks would only lengthen the partial results. */
    const bool several = s->passes.online < 0 && f.side_bytes > f.side_narrowest && f.state_bytes <= 8;
    const int64_t fine = FINE_CHUNK_COLUMNS * (s->passes.online >= 0 ? 2 : 1) / (several ? 2 : 1);
    const int64_t chunk = f.again ? chunk_again(f.cols) : fine;
    kiln__schedule_split(ir, pins, f.cut ? kiln__divide_up(f.cols, chunk) : 1,
                         f.again                                                          ? MOST_CHUNKS_AGAIN
                         : f.side_narrowest >= 4 && f.cols >= 4 * fine * MOST_FINE_CHUNKS ? MOST_LONG_CHUNKS
                                                                                          : MOST_FINE_CHUNKS,
                         s);
    if (s->column.transpose_width) { /* whole lines */
        s->steps = kiln__divide_up(s->steps, s->column.transpose_width) * s->column.transpose_width;
        if (s->split.chunks > 1) s->split.chunks = (int)kiln__divide_up(f.cols, s->steps * s->team.threads_per_row);
    }
    /* Four vectors leave registers for as many threads as there can be, if the compiler is asked for it. */
    if (s->split.chunks > 1 && s->team.threads >= 512 && s->steps <= 4 && !f.again &&
        f.side_bytes == f.side_narrowest && f.state_bytes <= 8 && s->vector_width * f.state_bytes <= 32 &&
        device->threads_per_sm >= 2048)
        s->team.min_blocks_per_sm = 2048 / s->team.threads;
    /* Vectors that are misaligned take registers for where they lie, too (sums of f16 over 640 rows of 100,003: 0.826,
     * eight 0.785). What is corrected batch by batch has them from the types alone, like the bits of a row. */
    const bool crowded =
        s->passes.online < 0 ? bytes > 16 || s->edges == KILN__EDGES_MISALIGNED : f.side_bytes > f.side_narrowest;
    kiln__schedule_batch(pins, crowded ? 4 : 8, s);
    if (s->column.transpose_width)
        s->batch = (int)kiln__divide_up(s->batch, s->column.transpose_width) * s->column.transpose_width;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        int widest = 16 / (int)kiln_type_size(problem->operands[o].type);
        const kiln__operand *operand = &problem->operands[o];
        const bool misaligned =
            s->edges == KILN__EDGES_MISALIGNED && (operand->output ? operand->per_element : s->tensors[o].staged);
        int together = misaligned                           ? s->vector_width
                       : s->edges == KILN__EDGES_MISALIGNED ? 0
                                                            : rows_together(problem, operand, s->column.run_rows);
        s->tensors[o].width = together < widest ? together : widest;
        s->tensors[o].kind = s->tensors[o].width ? KILN__ACCESS_VECTOR : KILN__ACCESS_ELEMENT;
        if (s->column.transpose_width && along_columns(problem, operand, s->column.transpose_width) > 1) {
            s->tensors[o].kind = KILN__ACCESS_TRANSPOSED;
            s->tensors[o].width = along_columns(problem, operand, s->column.transpose_width);
        }
    }
    s->reason = f.cols == 1
                    ? "rows of one column lie side by side: each thread works on a vector of them"
                    : "neighbouring rows lie side by side: each thread works on a vector of them, and the threads "
                      "of a block share the columns";
    /* What the reductions exchange: a slot for every warp's rows, and for those of each block. */
    const int slots = slots_of(s) + cluster;
    if (cluster > 1 && (!kiln__cluster_fits(cluster, device) || (s->staging.kind == KILN__STAGING_NONE && f.again) ||
                        s->team.rows_per_block * slots * each > STATIC_BYTES))
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "rows that lie side by side have no pinned schedule in clusters of %d: "
                          "expected registers or shared, and blocks of fewer rows",
                          cluster);
    if (pins->group >= 0 || !kiln__is_power_of_two(s->team.threads_per_row) || s->team.threads > 1024 ||
        (s->staging.kind == KILN__STAGING_REGISTERS && s->steps > KILN__MOST_REGISTER_ELEMENTS / s->vector_width) ||
        (s->staging.kind == KILN__STAGING_SHARED && slab > room))
        return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for rows that lie side by side: expected "
                                              "threads 1 to 1024, and registers (up to 256 elements a thread), shared "
                                              "(where a block's rows fit) or stream");
    return KILN_OK;
}

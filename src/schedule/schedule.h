/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule: who works on a row, where the row stays between phases, and the numbers compiled into the kernel. */
#ifndef KILN_SCHEDULE_SCHEDULE_H
#define KILN_SCHEDULE_SCHEDULE_H

#include "lang/ir.h"
#include "schedule/device.h"
#include "problem/problem.h"

/* How a kernel works. */
typedef enum kiln__strategy {
    KILN__POINTWISE,   /* no reduction: vectors of the whole array in its order */
    KILN__TRANSPOSE,   /* the same, where an input is contiguous in another dimension than the outputs */
    KILN__ROW,         /* lanes, a block or a cluster have a row of contiguous columns, or several in flight */
    KILN__ROW_TILE,    /* short and odd rows, which a block copies as one flat array */
    KILN__SPLIT_ROW,   /* blocks of several launches, or a whole grid, share a row */
    KILN__COLUMN,      /* adjacent rows are contiguous: a thread has a vector of them */
    KILN__COLUMN_TILE, /* the same, few or unaligned, which a block copies with their columns as one flat array */
    KILN__ANY_SHAPE    /* extents and strides are arguments of the kernel, as is who works on a row */
} kiln__strategy;

typedef enum kiln__group {
    KILN__GROUP_LANES,
    KILN__GROUP_BLOCK,
    KILN__GROUP_COLUMNS,
    KILN__GROUP_CLUSTER,
    KILN__GROUP_GRID,
    KILN__GROUP_CUB /* a block, whose threads' values CUB combines: a yardstick, which is pinned and never chosen */
} kiln__group;

/* Who works on a row. */
typedef struct kiln__team {
    kiln__group group;
    int threads;           /* per block */
    int threads_per_row;   /* pointwise: threads; transpose: those along the last dimension */
    int rows_per_block;    /* pointwise, transpose: 1 */
    int blocks_per_row;    /* that run together: of a cluster or a grid; else 1 */
    int min_blocks_per_sm; /* blocks that a multiprocessor must have registers for; 0: the compiler has as few registers
                            * as let most threads run, if need be by waiting for each load before the next */
    bool whole_warps;      /* rows that share a warp have its lanes to the end, which all exchange at once */
} kiln__team;

typedef enum kiln__staging_kind {
    KILN__STAGING_REGISTERS,
    KILN__STAGING_SHARED,
    KILN__STAGING_NONE,
    KILN__STAGING_TILE
} kiln__staging_kind;

/* Where a row stays between phases. */
typedef struct kiln__staging {
    kiln__staging_kind kind;
    int64_t steps;       /* of a thread's vectors, those in shared memory */
    int bytes;           /* of dynamic shared memory, per block */
    int64_t whole_steps; /* columns: steps inside for all ranks, for which columns are not asked; split: of all chunks
                          * but the last ... */
    int last_batch;      /* ... whose last steps have so many vectors under way */
} kiln__staging;

/* Where rows, or columns of neighbouring rows, begin beside the vectors of memory. */
typedef enum kiln__edges {
    KILN__EDGES_ALIGNED,
    KILN__EDGES_MASKED,  /* row: vectors overhang at both ends */
    KILN__EDGES_PARTIAL, /* column: the last run of rows may be partial; transpose: the last tile may */
    KILN__EDGES_PEELED, /* vectors begin behind the row's start: columns before and behind are elements of their own, of
                         * the first threads; any_shape: where a launch's strides allow vectors */
    KILN__EDGES_MISALIGNED, /* column: a rank's vectors begin where memory is aligned, before its columns; a lane more
                             */
    KILN__EDGES_WRAPPED, /* column: vectors go on from a column's rows into the next column's: the rows of all ranks are
                          * one array */
    KILN__EDGES_SHIFTED  /* pointwise: vectors begin where the first output's memory is aligned, which the kernel finds
                          * out; tensors that begin elsewhere are shifted into place */
} kiln__edges;

typedef enum kiln__access_kind {
    KILN__ACCESS_PLAIN,    /* each access, of so many contiguous elements, has an address of its own */
    KILN__ACCESS_CROSSING, /* pointwise: a vector's elements are in at most two runs, whose places are found once */
    KILN__ACCESS_SAME,     /* the same, of runs of one value each; row: of columns, as weights of channels have them */
    KILN__ACCESS_TRANSPOSED, /* transpose: an input whose vectors are along the other dimension; column: an output whose
                              * accesses are along the columns */
    KILN__ACCESS_WRAPPED     /* column: a vector is of the rows of one column, and of the next */
} kiln__access_kind;

/* Of a tile's copy through registers, accesses that a thread has under way at once. */
#define KILN__TILE_ACCESSES 4

/* How a tensor is read or written. */
typedef struct kiln__access {
    kiln__access_kind kind;
    int width;    /* elements per access; 0: each element has an address of its own */
    int run;      /* of width 0: neighbouring elements that share an access all the same */
    bool shifted; /* aligned accesses are shifted into place wherever they must be: row: what all rows share, at other
                   * places than the rows', and what begins at others than the reference; pointwise, transpose: at
                   * others than multiples of a vector */
    bool staged;  /* an input that is loaded before it is used: with the row, or beside it */
    bool evict_first;   /* an input whose lines the L2 can give up first */
    int offset;         /* where its part of the tile, or its staged vectors, begin in shared memory, bytes */
    bool overhangs;     /* row, masked: vectors are read whole, with the elements of the rows before and behind */
    bool reduced_whole; /* the largest and smallest, any and all of it are found of several elements at a time, as they
                         * are stored */
    int copy_width;     /* of a row tile, elements per access in which it is copied; 0: it has no part in the tile */
    bool copy_shifted;  /* ... which are shifted into place: tiles begin at any element of one */
} kiln__access;

/* How the first phase is reduced where it is reduced together with the next one. */
typedef enum kiln__online_pass {
    KILN__ONLINE_LATER,     /* it is not: a later phase is, or none */
    KILN__ONLINE_CORRECTED, /* chunk by chunk, sums corrected where their centre moves */
    KILN__ONLINE_SETTLED /* squares about a first vector's mean, corrected once, when the thread has all of its own */
} kiln__online_pass;

/* What the passes over a row compute. */
typedef struct kiln__passes {
    int online; /* this phase is reduced together with the next one; -1: none is */
    kiln__online_pass online_pass;
    bool ordered;    /* a user's combine: columns are combined in their order */
    bool selects;    /* a phase's pass is repeated */
    bool scans;      /* each thread has what is before it: a block has the row */
    int scanned;     /* vectors of a thread that a pass scans together, in each pass anew, so that a thread's need not
                      * be neighbours; 0: phases of their own scan */
    bool one_launch; /* has all passes over a row: of selections and scans */
    bool rematerialise;   /* the last pass computes again what the passes before computed of the row */
    bool stores;          /* the pass that reduces stores outputs of columns, too: there is no last one */
    int keep_weight;      /* registers: values that take so many instructions are kept for later passes; 0: none is */
    bool branching_means; /* online: means are divided by the count with a branch */
    bool splits_masks;    /* masked rows: reductions have a body for whole vectors, and one with masks for the others */
} kiln__passes;

/* Rows that are cut into chunks, a block for each; every phase is a launch of its own. */
typedef struct kiln__split {
    int chunks;           /* 1: rows are not cut */
    bool dependent;       /* each launch begins while the one before ends, and waits for it in the kernel */
    bool separate_launch; /* one value per row is stored in a launch after that of the columns: it may take the place of
                           * an input that blocks read there */
    bool columns_last; /* the last launch, but for a separate one, goes over the columns, by the blocks of all chunks */
    bool alternates;   /* column: each second launch goes over the columns from the last block to the first: what was
                        * read last is in the L2 */
    bool combines; /* column: a launch behind that of a phase combines what its chunks come to, once for all blocks that
                    * need it; else each of them does */
    int final_threads; /* of such launches, and of the last one where it stores one value per row: threads that share
                        * the chunks of a row, column: of a vector of rows; 0: there is none */
    int final_block_threads; /* per block of those launches */
    int access_bytes; /* column: per access of a run's partial results of 4 bytes in the workspace; 4: each alone */
} kiln__split;

/* Reductions across rows: each block strides over the rows and accumulates in shared memory; a second launch combines
 * what the blocks have, always in the same order. */
#define KILN__TOTAL_WARPS 32   /* of a block of that launch, which add up what different blocks have ... */
#define KILN__TOTAL_COLUMNS 32 /* ... of as many columns as a warp has lanes ... */
#define KILN__TOTAL_UNROLL 8   /* ... loads of so many of those blocks under way at once */
typedef struct kiln__across_plan {
    int blocks; /* at most; of the architecture's typical device, so that it decides the bits alone; 0: there are none
                 */
    int offset; /* of dynamic shared memory, where the sums of the block's first row are ... */
    int bytes;  /* ... and how many those of each of its rows take */
} kiln__across_plan;

/* Blocks of columns that are no lanes of a warp: what a reduction takes is in dynamic shared memory, a value for each
 * column of a row or of its chunk; what it comes to has a slot for each block, of each reduction. */
typedef struct kiln__slots_plan {
    int columns;      /* of the row, or of its chunk */
    int value_stride; /* of the values of a vector's neighbouring columns, so that those that a warp puts down are
                         neighbours */
    int offset;       /* of the values, or of a tile of the row in the workspace, bytes ... */
    int slots;        /* ... and of the slots */
    int bytes;        /* of all; 0: there are no such blocks */
    int row_bytes;    /* of those of each of a block's rows; 0: it has one row */
    int blocks;       /* what is sorted of a row has no room in shared memory: it lies in the workspace, where so many
                       * blocks have a part each, and go through the rows; else 0 */
    int64_t round; /* vectors of a thread that a row's largest values are chosen of at a time: all steps, or those that
                      are loaded together; 0: none are chosen */
    int64_t ends_in; /* outputs of columns are of the row's order alone, of so many places: the last pass goes over
                        these; 0: over the row */
} kiln__slots_plan;

/* What of a kernel is compiled where it is used, and what once, as a function that is called: by the next, less is. */
typedef enum kiln__inlining {
    KILN__INLINE_ALL,
    KILN__INLINE_LIGHT,    /* functions of many instructions are called */
    KILN__INLINE_OUTLINED, /* the work on a vector of elements, too, and that on a row's values */
    KILN__INLINE_NOTHING   /* in which elements follow one another in a loop */
} kiln__inlining;

typedef struct kiln__code {
    kiln__inlining inlining;
    int64_t instructions; /* of the kernel, estimated: what it takes to compile */
    bool wide_columns;    /* numbers of columns take 64 bits */
    bool sines_first;     /* those of a vector are taken together, before the loop over its elements */
} kiln__code;

/* Of strategies row, row_tile and split_row. */
typedef struct kiln__row_schedule {
    int invariant_inputs; /* how many inputs have elements that all rows share */
    int whole_runs;       /* runs of a multiple of so many columns are whole vectors, which compute what such a run
                           * shares once; 0: none are */
    int row_phase;        /* masked, peeled: row r starts r * row_phase elements (modulo the vector) behind one */
    int reference;   /* masked: the tensor in whose memory vectors are aligned, which the kernel finds out; those that
                      * begin elsewhere are shifted into place. -1: all begin as row_phase says */
    bool persistent; /* as many groups as run at once go through all rows */
    bool rows_in_flight; /* a group works on rows_per_block rows, and reads what all rows share once for them ... */
    int row_spacing; /* rows in flight: the distance of a group's consecutive rows, which begin at the same place of a
                        vector */
    bool prefetch;   /* registers: row-invariant inputs are loaded with the row, not when they are used */
    kiln__across_plan across;
    kiln__slots_plan slots;
} kiln__row_schedule;

/* Bytes of what a row's ranks exchanged that a thread combines at a time, in 32 registers. */
#define KILN__COMBINED_BYTES 128

/* Rows whose columns a block copies, whole runs of contiguous ones. */
typedef struct kiln__column_tile_plan {
    int rows;             /* 0: none are copied */
    int run_lanes;        /* neighbouring lanes whose ranks, all of them, follow one another */
    int ranks_per_thread; /* of a row, one after the other */
    int combine_lanes;    /* neighbouring lanes that combine what the ranks of a row exchanged */
} kiln__column_tile_plan;

/* Of strategies column and column_tile. */
typedef struct kiln__column_schedule {
    int run_rows;        /* contiguous rows of a vector, which is in vector_width / run_rows runs */
    int transpose_width; /* consecutive columns of a thread, where outputs have contiguous columns; else 0 */
    int rank_groups;     /* groups of ranks whose values are combined one after the other, as blocks' are */
    kiln__column_tile_plan tile;
    bool conditional_stores; /* stores ask whether all rows of a run are there */
    int reference;           /* misaligned: the tensor whose strides tell where vectors begin, in all tensors alike */
    int groups;              /* wrapped: of a block, each of which has all ranks of a chunk; else 0 ... */
    int exchanged_rows;      /* ... and how many rows' values their ranks exchange at a time */
} kiln__column_schedule;

typedef struct kiln__transpose_schedule {
    int dim; /* in which inputs are contiguous, and a thread's vectors consecutive: it transposes them in registers */
} kiln__transpose_schedule;

/* Runs of whole blocks: the lanes of a warp that have one, and its columns, along their axis. 0: there are no blocks.
 */
typedef struct kiln__any_blocks {
    int lanes;
    int64_t run;
} kiln__any_blocks;

/* Values of all rows: what they take of the workspace for each column, and beside that. */
typedef struct kiln__any_sums {
    bool some;
    int bytes, beside;
} kiln__any_sums;

/* What is sorted of a row: bytes of the workspace for each column (0: nothing), and the largest tile that is sorted at
 * a time, in columns and in bytes of shared memory. */
typedef struct kiln__any_sorted {
    int64_t bytes;
    int tile, tile_bytes;
} kiln__any_sorted;

/* What a kernel of any shape is made with; its rows' layout and who works on them is told at a launch. */
typedef struct kiln__any_schedule {
    uint32_t columns;       /* bit t: tensor t has a value for each column */
    int reference;          /* of these the one that vectors are aligned for; -1: there is none */
    bool lanes_can_be_rows; /* there is room for what each thread exchanges */
    bool shares_rows;       /* several blocks may work on a row: nothing is reduced, and no row has one value */
    int stages;             /* launches of long rows that several blocks work on, one for each phase; 0: one does all */
    kiln__any_blocks blocks;
    kiln__any_sums sums;
    kiln__any_sorted sorted;
} kiln__any_schedule;

/* How a row's columns are combined is chosen from the columns, the types, the memory layout and the device, never from
 * the number of rows: a row's result has the same bits however many other rows there are. */
typedef struct kiln__schedule {
    kiln__strategy strategy;
    kiln__team team;
    int vector_width; /* elements per vector, a power of two: columns of a row; column: rows at one column */
    int64_t steps;    /* vectors per thread and row (pointwise: per thread) */
    int batch;        /* vectors whose loads are issued together; registers: all steps */
    int64_t unroll;   /* shared memory, tiles: vectors of a thread whose work is written out, one after the other */
    kiln__staging staging;
    kiln__edges edges;
    bool in_runs; /* pointwise, transpose: all elements of a vector are in one run of the last dimension */
    kiln__access tensors[KILN_MAX_TENSORS];
    int64_t evict_first_rows; /* evict_first holds where there are no more rows than this; 0: for no input */
    kiln__passes passes;
    kiln__split split;
    kiln__code code;
    char text[160];     /* "lanes 32, registers, inner, vector 8 x 4, 4 rows per block" */
    const char *reason; /* one sentence, static */
    union {             /* by the strategy */
        kiln__transpose_schedule transpose;
        kiln__row_schedule row;
        kiln__column_schedule column;
        kiln__any_schedule any;
    };
} kiln__schedule;

/* Which way the strategy works through a problem. */
static inline kiln__layout kiln__layout_of(const kiln__schedule *s) {
    if (s->strategy <= KILN__TRANSPOSE) return KILN__LAYOUT_FLAT;
    const bool inner = s->strategy <= KILN__SPLIT_ROW || s->strategy == KILN__ANY_SHAPE;
    return inner ? KILN__LAYOUT_INNER : KILN__LAYOUT_OUTER;
}

/* The strategy's own part; where it has none of the kind, one of zeros. */
static inline const kiln__row_schedule *kiln__row_of(const kiln__schedule *s) {
    static const kiln__row_schedule none;
    return kiln__layout_of(s) == KILN__LAYOUT_INNER && s->strategy != KILN__ANY_SHAPE ? &s->row : &none;
}
static inline const kiln__across_plan *kiln__across_plan_of(const kiln__schedule *s) {
    return &kiln__row_of(s)->across;
}
static inline const kiln__slots_plan *kiln__slots_plan_of(const kiln__schedule *s) { return &kiln__row_of(s)->slots; }
static inline const kiln__column_schedule *kiln__column_of(const kiln__schedule *s) {
    static const kiln__column_schedule none;
    return kiln__layout_of(s) == KILN__LAYOUT_OUTER ? &s->column : &none;
}

/* Whether a row's vectors begin where the memory of some tensor is aligned. */
static inline bool kiln__schedule_shifts(const kiln__schedule *s) {
    const bool rows = s->strategy == KILN__ROW || s->strategy == KILN__SPLIT_ROW;
    return rows && s->edges != KILN__EDGES_ALIGNED && kiln__row_of(s)->reference >= 0;
}

/* Whether a vector's elements may be in two runs. */
static inline bool kiln__access_crosses(const kiln__access *access) {
    return access->kind == KILN__ACCESS_CROSSING || access->kind == KILN__ACCESS_SAME;
}

/* Whether some vectors have elements that are nobody's. */
static inline bool kiln__has_masks(const kiln__schedule *s) {
    return s->edges == KILN__EDGES_MASKED || s->edges == KILN__EDGES_PARTIAL;
}

static inline bool kiln__stages_in_shared_memory(const kiln__schedule *s) {
    return s->staging.kind == KILN__STAGING_SHARED || s->staging.kind == KILN__STAGING_TILE;
}

/* Of the hardware, the same on every architecture. */
#define KILN__MOST_THREADS 1024   /* of a block */
#define KILN__RESERVED_BYTES 1024 /* of shared memory, which each block takes for the system, from 8.0 on */
#define KILN__ACCESS_BYTES 16     /* the most that a thread loads or stores at once */

/* How many elements of a type are one access at most. */
static inline int kiln__elements_of_access(kiln_type type) { return KILN__ACCESS_BYTES / (int)kiln_type_size(type); }

#define KILN__MOST_REGISTER_ELEMENTS 256 /* of a thread: more take the compiler seconds, and spill */
/* What a thread's step in shared memory counts as where it keeps nothing, as in rows that are one element over and
 * over: steps are unrolled all the same. */
#define KILN__LEAST_STEP_BYTES 16

/* Where a thread's vectors of rows that lie side by side begin. */
typedef enum kiln__vectors_begin {
    KILN__BEGIN_WITH_ROWS = -1, /* with a block's rows, in runs of them */
    KILN__BEGIN_ALIGNED = 1,    /* where memory is aligned, before a column's rows: misaligned */
    KILN__BEGIN_WRAPPED         /* one behind the other, whatever column their rows are of */
} kiln__vectors_begin;

/* What a caller pins of a schedule, for tests and tuning; 0 or -1: as the model has it. */
typedef struct kiln__pins {
    int group, staging; /* -1, or a kiln__group, a kiln__staging_kind */
    int threads;        /* per row (flat: per block) */
    int vector_width;
    int rows_per_block; /* outer; inner: tiles, and several rows in flight */
    int steps;          /* flat alone: vectors per thread */
    int batch;          /* stream alone: vectors in flight per thread */
    int splits;
    int cluster;       /* blocks per row */
    int online;        /* 1: phases together where possible, -1: one after another */
    int persistent;    /* 1: yes, -1: a group for each row */
    int inlining;      /* at least this kiln__inlining */
    int vectors_begin; /* columns: a kiln__vectors_begin */
} kiln__pins;

/* Nothing is pinned. */
#define KILN__PINS_NONE ((kiln__pins){.group = -1, .staging = -1})
bool kiln__pins_any(const kiln__pins *pins);
/* Whether a member, which begins so many bytes from the start, is pinned. */
bool kiln__pins_has(const kiln__pins *pins, size_t member);
/* Whether a point has what is pinned; of widths the pins have the largest. */
bool kiln__pins_agree(const kiln__pins *pins, const kiln__pins *point);
/* The pins, and what they leave open as others have it. */
kiln__pins kiln__pins_complete(const kiln__pins *pins, const kiln__pins *others);

/* Parses "block 256, shared, vector 8", the words of kiln__schedule's text: lanes N, block N, cub N, threads N,
 * registers, shared, stream, tile, vector N, rows N, steps N, batch N, splits N, cluster N, grid, online, phased,
 * persistent, single, misaligned, wrapped, runs, calls, outlined, loops. NULL or "": nothing pinned. KILN_E_ARGUMENT
 * quotes the word it does not know. */
kiln_status kiln__pins_parse(const char *text, kiln__pins *out);

/* Writes them in these words; a buffer of KILN__PINS_SIZE bytes. */
#define KILN__PINS_SIZE 160
void kiln__pins_write(const kiln__pins *pins, char *buffer);

/* The first choice for the problem. `attempt` 0; 1, 2, ... give the next candidates after one that spilled registers.
 * KILN_E_UNSUPPORTED where there is no (further) candidate, or what is pinned cannot be. */
kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out);
const char *kiln__reason_of_model(const kiln__problem *problem); /* of attempt 0; static */
/* The same; *point: the chosen candidate, as pins that leave nothing open. */
kiln_status kiln__schedule_choose_point(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                        const kiln__pins *pins, int attempt, kiln__schedule *out, kiln__pins *point);
/* What of it is kept for other numbers of rows: all, or of neighbouring rows how columns are combined. */
kiln__pins kiln__kept_of_point(const kiln__problem *problem, const kiln__pins *point);

/* Whether both combine a row's columns in the same order, so that it has the same bits. */
bool kiln__schedule_combines_alike(const kiln__schedule *a, const kiln__schedule *b);

/* Fills s->text. */
void kiln__schedule_describe(kiln__schedule *s);

/* Which values are kept from pass to pass: before the inlining is chosen, which depends on it. KILN_E_MEMORY. */
kiln_status kiln__schedule_keeping(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s);

/* Sets what follows from all else of the schedule. */
void kiln__schedule_details(const kiln__ir *ir, const kiln__problem *problem, kiln__schedule *s);

/* Where the sums of one ACROSS_REDUCE are among those of a row, and bytes of all of them: of instruction number
 * ir->count. */
int64_t kiln__across_place(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst);
/* The same of any number of columns: bytes for each of these, and bytes beside them; columns are padded to multiples of
 * KILN__PADDED_COLUMNS. */
#define KILN__PADDED_COLUMNS 16
void kiln__across_before(const kiln__ir *ir, uint32_t inst, int *columns, int *beside);

/* Where the slots of one BLOCK_REDUCE are among those of all, in rows or chunks of so many columns that so many threads
 * have; of instruction number ir->count: bytes of all. */
int64_t kiln__slots_place(const kiln__ir *ir, const kiln__problem *problem, int64_t columns, int threads,
                          uint32_t inst);
/* What an ORDER has in its row's memory: values, and composites of their keys and numbers, which are merged; where some
 * are chosen also the columns that they are of and what the row's threads tell each other. */
typedef struct kiln__order_room {
    int64_t columns;         /* values that there is room for: all, or more than are chosen */
    int key_bits, key_shift; /* of a value's key all bits, or those that tell its tensor's values apart, ... */
    uint32_t key_flip;       /* ... with these turned round */
    int composite_bytes;     /* key and number: 4, 8 or 16 */
    int own;                 /* values that a thread has in registers, while they are brought into order or merged */
    int64_t tiles;           /* that its threads sort one after the other, and merge; 1: all at once */
    int64_t composites, columns_at, state, bytes; /* where these begin behind the values, and bytes of all */
    int64_t tile_bytes;                           /* of shared memory, where the row's memory is the workspace */
} kiln__order_room;
kiln__order_room kiln__order_room_of(const kiln__ir *ir, const kiln__problem *problem, int64_t columns, int threads,
                                     uint32_t order);
/* Of rows of any number of columns: bytes of each of these that are before an instruction's, in the row's memory. */
int64_t kiln__sorted_before(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst);
/* How a row's largest values are chosen. */
typedef struct kiln__choosing {
    int groups;   /* of the row's threads ... */
    bool looks;   /* ... whose largest values have the first floor; else a sample has */
    bool guesses; /* floors are guessed from samples of the row, which is gone over once more for each */
    int failures; /* of guesses at most, one after another: then floors rise as what is there says */
    int sampled;  /* about so many values are a sample */
    int wanted;   /* so many values are to reach a floor that is guessed ... */
    int wider;    /* ... and after each failure so many more */
    int counted;  /* values that a thread has when they are brought into order by counting what stands before each; of
                   * more they are merged */
} kiln__choosing;
kiln__choosing kiln__choosing_of(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                                 uint32_t order);
/* Lanes of a warp that share a block of so many columns. */
int kiln__slots_lanes(const kiln__problem *problem, const kiln__schedule *schedule, int64_t block);

/* For a >= 0, b > 0: up to INT64_MAX, so not by (a + b - 1) / b. */
static inline int64_t kiln__divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static inline int64_t kiln__least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t kiln__greatest(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int kiln__power_of_two_from(int64_t n, int most) {
    int p = 1;
    while (p < n && p < most) p *= 2;
    return p;
}
/* The largest power of two up to `most`, which is one, that divides n. */
static inline int kiln__dividing(int64_t n, int most) {
    while (n % most) most /= 2;
    return most;
}
/* The same for all of some strides. */
static inline int kiln__dividing_all(int count, const int64_t *strides, int most) {
    for (int d = 0; d < count; d++) most = kiln__dividing(strides[d], most);
    return most;
}
static inline bool kiln__is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/* Whether the blocks that work on a row are a cluster, and whether a device has clusters of so many. */
bool kiln__schedule_clusters(const kiln__schedule *schedule);
/* Between so many places in shared memory exchanges of a phase alternate, where a group has one row after the other or
 * repeats a pass. */
int kiln__schedule_turns(const kiln__schedule *schedule);
bool kiln__cluster_fits(int blocks, const kiln__device *device);
/* What the compiler may use for a thread, so that there is room for as many blocks as are asked for. */
int kiln__schedule_allowed_registers(const kiln__device *device, const kiln__schedule *schedule);
/* What exchanges take places in shared memory for: of a cluster, the warps of each block that send to all, one where
 * there are many; of columns, the values of each row: of every warp, or of every rank where a warp's have other rows.
 */
int kiln__cluster_senders(const kiln__schedule *schedule);
int kiln__column_slots(const kiln__schedule *schedule);

/* Whether blocks exchange their results through a workspace; whether there is one: for these, or for what
 * is sorted of rows. */
/* Whether a second launch combines what blocks have of values of all rows. */
static inline bool kiln__schedule_adds_up(const kiln__schedule *s) {
    return kiln__across_plan_of(s)->blocks > 0 || (s->strategy == KILN__ANY_SHAPE && s->any.sums.some);
}
bool kiln__schedule_exchanges(const kiln__schedule *schedule);
bool kiln__schedule_has_workspace(const kiln__schedule *schedule);

#define KILN__COUNTER_BYTES KILN__ACCESS_BYTES /* of a grid's counter: what follows is aligned for any access */

/* The bytes of that workspace: 8 for each value that a phase combines in a block; of a grid for two rows, and a
 * counter; what is sorted of the rows that are worked on at a time. */
int64_t kiln__schedule_exchanged(const kiln__schedule *schedule, const kiln__ir *ir); /* by a block for each row */
int64_t kiln__schedule_workspace(const kiln__schedule *schedule, const kiln__ir *ir, int64_t rows);

/* How many launches a run takes: one for each pass over split rows, and for each combination of their chunks. */
int kiln__schedule_launches(const kiln__schedule *schedule, const kiln__ir *ir);
/* Whether launch number k, of several, combines chunks, adds up blocks or stores one value per row: its grid is that of
 * kiln__schedule_last_grid. */
bool kiln__schedule_ends(const kiln__schedule *schedule, const kiln__ir *ir, int k);
/* Dynamic shared memory of a block of the last of several launches: one that adds up values of all rows has none. */
int64_t kiln__schedule_last_shared(const kiln__schedule *schedule);

/* The rows of a problem that blocks have places for (flat: elements): those that are misaligned begin a new block in
 * each run of neighbours, and tiles to transpose overhang. */
int64_t kiln__schedule_rows(const kiln__schedule *schedule, const kiln__problem *problem);

/* Blocks to launch for so many rows (flat: elements). Where split rows are contiguous, x tiles of rows, y chunks of
 * columns, z runs of `run` rows: consecutive blocks read adjacent memory. False where the grid would be too large. */
typedef struct kiln__grid {
    unsigned x, y, z;
} kiln__grid;
bool kiln__schedule_grid(const kiln__schedule *schedule, int64_t rows, int64_t run, kiln__grid *grid);
/* The same of launches that combine chunks or add up blocks; of the last of several, where it does neither, that of the
 * others: how many threads their blocks have. */
unsigned kiln__schedule_last_grid(const kiln__schedule *schedule, const kiln__problem *problem, kiln__grid *grid);
/* How many rows of kiln__schedule_rows are contiguous. */
int64_t kiln__schedule_run(const kiln__schedule *schedule, const kiln__problem *problem);

#endif

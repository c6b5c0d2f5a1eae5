/* SPDX-License-Identifier: Apache-2.0 */
/* Builders: one for each strategy, in a file of its name. */
#ifndef KILN_SCHEDULE_BUILD_H
#define KILN_SCHEDULE_BUILD_H

#include "schedule/schedule.h"
#include "schedule/traits.h"

/* What a schedule is chosen for. */
typedef struct kiln__given {
    const kiln__ir *ir;
    const kiln__problem *problem;
    const kiln__device *device;
    kiln__traits traits;
} kiln__given;

/* Each works a point out, pins that leave open no more than details: *s is one of kiln__schedule_blank and gets all
 * that kiln__schedule_conclude does not add. False where the point is none: too many threads, no room. *s is then
 * spoilt. */
/* The widest vector: where outputs are the array in its order, tensors may begin anywhere. */
int kiln__pointwise_widest(const kiln__problem *problem);
bool kiln__pointwise_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);
bool kiln__row_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);
bool kiln__rows_in_flight_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);
bool kiln__row_tile_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);
bool kiln__column_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);
bool kiln__column_tile_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);

/* ---- what builders of rows share: row.c ---- */

/* Vectors of a width that does not divide the columns overhang the rows at both ends. False where they cannot. */
bool kiln__row_set_vectors(const kiln__given *g, int width, kiln__schedule *s);

/* Marks the inputs that stay with the row, and counts those that all rows share; the bytes of one vector of the
 * former. */
int kiln__row_stage(const kiln__problem *problem, kiln__schedule *s);

/* Whether each block of columns that is reduced within rows is whole vectors of some neighbouring lanes of a warp. */
bool kiln__row_has_blocks(const kiln__problem *problem, const kiln__schedule *s);

/* One part of so many of a row is kept in shared memory at least, or none. */
#define KILN__STAGED_PART 2

/* Of static shared memory: what threads exchange of a row, at least so much, since a kernel has room for other things.
 */
#define KILN__ROW_STATIC_BYTES 8192

/* Room for blocks that are reduced in shared memory, and rows cut into chunks that are whole blocks where nothing else
 * is reduced. True where there are no such blocks, false where there is no room. */
bool kiln__row_add_slots(const kiln__given *g, kiln__schedule *s);

/* Room for values of all rows, where there are such. False where there is none. */
bool kiln__row_add_across(const kiln__given *g, kiln__schedule *s);

/* Which phases are reduced together, how tensors are read, and what follows from it. */
void kiln__row_finish(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);

/* Whether all tensors of a tile have elements of 2 bytes, which are worked on in pairs: row_tile.c. */
bool kiln__row_tile_pairs(const kiln__problem *problem);

/* ---- what builders of columns share: column.c ---- */

/* What follows from the columns and the types, which alone decide in which order a row's columns are combined, and from
 * the strides. */
typedef struct kiln__column_facts {
    int64_t cols;
    bool again;       /* the inputs are needed after the first reductions */
    int line;         /* elements per access of outputs that have contiguous columns, not rows; 0: there is none */
    int staged_bytes; /* of one row at one column, all staged inputs together */
    int narrowest;    /* bytes of the narrowest tensor whose rows are contiguous; 0: none */
    int slot_bytes;   /* the same, all values as wide as the widest: padding counts, too */
    int count_bytes;  /* what phases that are reduced together carry beside that */
} kiln__column_facts;

/* Marks the staged inputs, too. */
kiln__column_facts kiln__column_find(const kiln__given *g, kiln__schedule *s);

/* Whether rows and columns are a dimension or more each, of columns one, which are several and combined in any order.
 */
bool kiln__column_is_regular(const kiln__problem *problem);

/* Whether threads have vectors of the tensor at each column; kiln__column_find has marked what is staged. */
bool kiln__column_moves(const kiln__problem *problem, const kiln__schedule *s, int tensor);

/* How many contiguous rows, up to limit, all tensors have wherever a vector of them starts. */
int kiln__column_run(const kiln__problem *problem, int limit);

/* Whether vectors of `width` rows, more than are contiguous, can be misaligned: begin where memory is aligned. */
bool kiln__column_misaligns(const kiln__given *g, int width, const kiln__schedule *s);
/* Whether the rows of so many ranks are whole vectors of `width`, which go on from one column into the next. */
bool kiln__column_wraps(const kiln__given *g, int width, int ranks, const kiln__schedule *s);
/* Whether the operand's rows that lie side by side are one array with their columns. */
bool kiln__column_is_dense(const kiln__problem *problem, const kiln__operand *operand);

/* Neighbouring threads, which have neighbouring rows. */
int kiln__column_lanes(const kiln__schedule *s);

#define KILN__COLUMN_STATIC_BYTES 40960 /* of shared memory, for what the reductions exchange */

/* ---- blocks of columns, sorted rows: slots.c ---- */

/* Where blocks of columns are reduced in shared memory: points in the order in which they are tried, at most
 * KILN__MOST_SLOTS_POINTS. */
#define KILN__MOST_SLOTS_POINTS 128
int kiln__slots_points(const kiln__given *g, const kiln__pins *pins, kiln__pins *out);

/* ---- the whole of it: schedule.c ---- */

/* Works a whole point out, as kiln__candidates_list lists them, with all that follows from it but what is inlined and
 * the description. False where it is none; *s is then spoilt. */
bool kiln__schedule_sketch(const kiln__given *g, const kiln__pins *point, kiln__schedule *s);

/* What a sketch lacks. KILN_E_MEMORY. */
kiln_status kiln__schedule_conclude(const kiln__given *g, kiln__schedule *s);

/* ---- what all share: build.c ---- */

/* A schedule of which nothing is chosen but what follows from the layout and the operators. */
kiln__schedule kiln__schedule_blank(const kiln__ir *ir, const kiln__problem *problem);

/* Cuts streamed rows into at most so many chunks, a block for each. */
void kiln__schedule_split(const kiln__ir *ir, int chunks, kiln__schedule *s);

/* Whether what a thread keeps in registers, if that is where it keeps it, are not too many elements. */
bool kiln__fits_registers(const kiln__schedule *s);

/* How many vectors are loaded together: as pinned, if they fit the registers, else the usual number; in registers all.
 */
void kiln__schedule_batch(const kiln__pins *point, int usual, kiln__schedule *s);

#define KILN__MOST_STATIC_BYTES 49152 /* of shared memory that is not asked for, on every architecture */

#endif

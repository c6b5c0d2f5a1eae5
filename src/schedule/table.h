/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule table: who works on a row, and where it stays, for rows of so many vectors. */
#ifndef KILN_SCHEDULE_TABLE_H
#define KILN_SCHEDULE_TABLE_H

#include "schedule/schedule.h"

#define WHOLE_GRID 0        /* blocks: one on each multiprocessor */
#define SHARING 1           /* programs that read what all rows share */
#define SHARING_ODD 2       /* the same, of rows that vectors overhang */
#define READING 4           /* programs that read each element once, and write one value per row */
#define READING_ODD 8       /* the same, of rows that vectors overhang */
#define EVEN 16             /* other programs that share nothing, of rows that vectors do not overhang */
#define ODD 32              /* the same, of rows that they overhang */
#define SEVERAL 64          /* programs that keep several inputs, of even rows */
#define APART 128           /* rows that some tensor has neither one behind the other nor in whole vectors */
#define SHARING_ONE 256     /* SHARING_ODD, and one such tensor */
#define SHARING_EXP 512     /* SHARING_ONE, and exponentials about a maximum: what is shared is read in each pass */
#define NORMS 1024          /* SHARING_ODD, and no such exponentials */
#define NORMS_MORE 2048     /* NORMS, and several such tensors */
#define TAKING 4096         /* READING or READING_ODD programs that look for a column: argmax */
#define INDEXED 8192        /* ODD programs of one input that compute with columns' numbers: causal masks */
#define SHARING_ALONE 16384 /* SHARING of even rows, and one input beside what they share */

typedef struct kiln__choice {
    int64_t min_vectors, max_vectors; /* of 16 bytes a row, all staged inputs together; of rows APART: of any size */
    int threads;     /* of a block that work on a row; 0: as many lanes as vectors, rounded up to a power of two */
    int cluster;     /* blocks */
    bool persistent; /* a group goes through many rows */
    int only;        /* alone for programs that are one of these; 0: for all */
    kiln__staging_kind staging;
    const char *reason;
} kiln__choice;

/* Rows are tried in order: those that a problem's vectors lie within, and after one that spills the next. The last one
 * has no reason. */
extern const kiln__choice kiln__table[];

#endif

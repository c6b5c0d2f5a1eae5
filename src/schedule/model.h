/* SPDX-License-Identifier: Apache-2.0 */
/* How much longer than the fastest candidate a schedule is expected to take: what an ensemble of small regression trees
 * makes of its features. tools/tune/ fits the trees to measurements. Features are the times that one resource or one
 * kind of waiting alone would take, as multiples of memory's, and counts that mean the same on every device. */
#ifndef KILN_SCHEDULE_MODEL_H
#define KILN_SCHEDULE_MODEL_H

#include <stddef.h>

#include "schedule/build.h"

typedef enum kiln__feature {
    KILN__FEATURE_MEMORY, /* what must be moved, at the memory's speed: microseconds */

    /* Of that time: */
    KILN__FEATURE_REREAD,   /* what is read again because it does not stay */
    KILN__FEATURE_QUEUE,    /* memory that waits because too few bytes are under way */
    KILN__FEATURE_PIECES,   /* short pieces of neighbouring rows: memory fills in longer ones */
    KILN__FEATURE_SECTORS,  /* what is moved in whole sectors of 32 bytes, for each access of a warp */
    KILN__FEATURE_LINES,    /* lines of 128 bytes that warps touch ... */
    KILN__FEATURE_REQUESTS, /* ... and their accesses */
    KILN__FEATURE_ISSUE,    /* instructions, at the rate at which multiprocessors issue them */
    KILN__FEATURE_BANKS,    /* what passes through shared memory, by the banks' conflicts */
    KILN__FEATURE_CHAIN,    /* loads that wait for one another, as often as blocks take turns */
    KILN__FEATURE_SERIAL,   /* a thread's own instructions, one after another, likewise */
    KILN__FEATURE_EXCHANGE, /* threads that wait for one another, likewise */
    KILN__FEATURE_ALONE,    /* memory that nobody asks while a block computes: there are few beside it */
    KILN__FEATURE_CODE,     /* machine code that is long to fetch */
    KILN__FEATURE_LAUNCH,   /* launches after the first, and what they hand on */
    KILN__TIMES,

    KILN__FEATURE_STRATEGY = KILN__TIMES,
    KILN__FEATURE_STAGING,
    KILN__FEATURE_BLOCKS_PER_ROW,
    KILN__FEATURE_TURNS,        /* how often a multiprocessor's blocks are followed by others */
    KILN__FEATURE_RESIDENT,     /* blocks that a multiprocessor has room for */
    KILN__FEATURE_REGISTERS,    /* of a thread, before they are limited */
    KILN__FEATURE_STEPS,        /* vectors of a thread ... */
    KILN__FEATURE_BATCH,        /* ... of which so many are loaded together ... */
    KILN__FEATURE_STAGED_STEPS, /* ... and so many stay in shared memory */
    KILN__FEATURE_THREADS_PER_ROW,
    KILN__FEATURE_ROWS_PER_BLOCK,
    KILN__FEATURE_RANK_GROUPS, /* columns: groups of ranks whose values are combined one after the other */
    KILN__FEATURE_PASSES,      /* over a row */
    KILN__FEATURE_SLOTS,       /* elements that threads go through, for each that there is */
    KILN__FEATURE_COLUMNS,
    KILN__FEATURE_ROW_BYTES,     /* of a row, of the widest tensor */
    KILN__FEATURE_NEIGHBOURS,    /* rows that lie side by side */
    KILN__FEATURE_REDUCE_WEIGHT, /* instructions for an element: of all reductions ... */
    KILN__FEATURE_OUTPUT_WEIGHT, /* ... and of outputs */
    KILN__FEATURES
} kiln__feature;

extern const char *const kiln__feature_names[KILN__FEATURES];

typedef struct kiln__estimate {
    int registers; /* of a thread, before they are limited */
    bool tight;    /* whether there may be no room for them */
    int resident;  /* blocks on a multiprocessor at a time */
    float features[KILN__FEATURES];
} kiln__estimate;

/* Of a schedule that is sketched or whole, for the problem's number of rows. */
void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out);

/* log2 of the time that a candidate takes, but for what is the same for all of a problem: only differences mean
 * anything; 0 for most problems' fastest. By the first so many trees, which tell the most, or all. */
#define KILN__FIRST_TREES 16
#define KILN__ALL_TREES 65535
double kiln__model_slowdown(const kiln__estimate *estimate, size_t trees);

/* What one of the times would take alone: microseconds. */
double kiln__model_time(const kiln__estimate *estimate, int time);

/* A node of a tree: what is at most the limit goes to the first child, all else to the second. Children below
 * KILN__TREE_LEAF are nodes of the same tree, counted from its root; the others are its leaves. */
#define KILN__TREE_LEAF 128
typedef struct kiln__tree_node {
    unsigned char feature, child[2];
    float limit;
} kiln__tree_node;

#endif

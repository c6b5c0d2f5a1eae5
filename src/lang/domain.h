/* SPDX-License-Identifier: Apache-2.0 */
/* What the reductions of a program run over, as far as its text says it. */
#ifndef KILN_LANG_DOMAIN_H
#define KILN_LANG_DOMAIN_H

#include "lang/ir.h"

#define KILN__MAX_BLOCKS 3

typedef struct kiln__domains {
    bool has_rows;           /* some reduction runs over whole rows, or across them, or columns or rows are chosen: */
    const kiln__domain *row; /* of these axes; NULL: the program's */
    int other_count;         /* others run over these axes, which may be the rows', or across them */
    const kiln__domain *others[KILN__MAX_ACROSS];
    int64_t blocks[KILN__MAX_BLOCKS]; /* sizes of blocks that others run over, or inputs have a value for, ascending */
    int block_count;
    int64_t reduced_block;             /* the largest that a reduction runs over; 0: none does */
    int64_t found_block;               /* the smallest that argmax or argmin runs over; 0: none does */
    bool lengths;                      /* rows have lengths of their own */
    uint32_t offsets;                  /* 1 + the input that says where rows begin and end, where they have; 0: none */
    uint32_t tables;                   /* bit i: tensor i has rows of its own: rows(t, i) reads them, put writes them */
    int64_t repeats[KILN_MAX_TENSORS]; /* of each input: how many columns a value is for; 0: one */
} kiln__domains;

/* Whether blocks are reduced, and nothing of more columns than they have: then they are the rows. */
static inline bool kiln__domains_are_blocks(const kiln__domains *domains) {
    return domains->reduced_block && !domains->has_rows;
}

/* The largest blocks that lie within blocks of both sizes, of an axis of so many columns: of single columns where
 * neither size divides the other. A block of all columns has all others in it. */
int64_t kiln__common_block(int64_t a, int64_t b, int64_t columns);

/* Of the reductions that outputs need. KILN_E_LIMIT with line and column for too many sets of axes, or sizes of
 * blocks. A program whose text says nothing has rows of the program's axes. */
kiln_status kiln__domains_find(const kiln__graph *graph, const kiln__signature *signature, kiln__domains *out);

#endif

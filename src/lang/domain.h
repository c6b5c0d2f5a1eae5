/* SPDX-License-Identifier: Apache-2.0 */
/* What the reductions of a program run over, as far as its text says it. */
#ifndef KILN_LANG_DOMAIN_H
#define KILN_LANG_DOMAIN_H

#include "lang/ir.h"

#define KILN__MAX_BLOCKS 3

typedef struct kiln__domains {
    bool has_rows;                    /* some reduction runs over whole rows: */
    const kiln__domain *row;          /* over these axes; NULL: the program's */
    int64_t blocks[KILN__MAX_BLOCKS]; /* sizes of blocks that others run over, ascending */
    int block_count;
} kiln__domains;

/* Of the reductions that outputs need. KILN_E_UNSUPPORTED with line and column where two run over different axes,
 * KILN_E_LIMIT for too many sizes of blocks. A program whose text says nothing has rows of the program's axes. */
kiln_status kiln__domains_find(const kiln__graph *graph, const kiln__signature *signature, kiln__domains *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are any of some: x=f16[*,1..8192] asks for the kernels that serve these columns, each a range of them
 * (kiln_range_end). Tensors of one program have the same ones. */
#ifndef KILN_TOOL_COLUMN_RANGE_H
#define KILN_TOOL_COLUMN_RANGE_H

#include <stdbool.h>

#include "kiln/kiln.h"

typedef struct column_range {
    int64_t least, most; /* 0: there is none */
} column_range;

/* A tensor's size that stands for such a range, and back: false of any other. */
int64_t column_range_size(const column_range *range);
bool column_range_read(int64_t size, column_range *out);

/* That of the tensors. KILN_E_ARGUMENT where two differ. */
kiln_status column_range_find(const kiln_tensor *tensors, size_t count, column_range *out);
/* Whether a kernel of columns `cols`, which serves a range up to most_cols (0: none), is of those asked for. A sentence
 * about the program: KILN_E_UNSUPPORTED where it serves none, KILN_E_ARGUMENT where other columns. */
kiln_status column_range_check(const char *program, int64_t asked, int64_t cols, int64_t most_cols);
/* One of their numbers of columns for each such size. */
void column_range_set(int64_t columns, kiln_tensor *tensors, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are read as rows(t, i): row i of t, which is one of t's axis 0, for each row of the program. What is left
 * without that axis lies over the program's axes like any other input. */
#ifndef KILN_PROBLEM_TABLES_H
#define KILN_PROBLEM_TABLES_H

#include "base/extent.h"
#include "lang/domain.h"
#include "problem/space.h"

/* *out: the same tensors, without axis 0 of tables; it points into own. tables: of each input. KILN_E_SHAPE for a table
 * that has no axis 0, or no rows. */
kiln_status kiln__tables_view(const kiln__domains *domains, const kiln__tensors *tensors,
                              kiln_tensor own[KILN_MAX_TENSORS], kiln__indexed_rows tables[KILN_MAX_TENSORS],
                              kiln__tensors *out);

#endif

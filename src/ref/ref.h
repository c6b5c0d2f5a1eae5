/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU reference: a typed program interpreted in double precision, integers exactly. The oracle of the tests. */
#ifndef KILN_REF_REF_H
#define KILN_REF_REF_H

#include "base/extent.h"
#include "lang/ir.h"

/* tables: of each input, whose tensor then has no axis of rows. Tensors in host memory (inputs, then outputs), any
 * shapes that broadcast, any strides (zero, negative); outputs may have any type, f64 to see the result unrounded.
 * reduced[i]: axis i of the iteration space is reduced. An output that is not per element may keep its reduced axes as
 * 1 or drop them. An output may share memory with inputs. Shapes are checked by the caller. KILN_E_MEMORY; KILN_E_SIZE
 * for a space of more than 2^63 - 1 elements; KILN_E_SHAPE for max and min of no elements (names the axis). */
kiln_status kiln__ref_run(const kiln__ir *ir, const kiln_tensor *tensors, const kiln__indexed_rows *tables,
                          const kiln_scalar *scalars, int rank, const int64_t *sizes, const bool *reduced);
/* The same in the program's own types: each operation on f32 is rounded to f32, and sums and products are added up as a
 * tree of pairs. Functions are computed in double and rounded once. */
kiln_status kiln__ref_run_own_types(const kiln__ir *ir, const kiln_tensor *tensors, const kiln__indexed_rows *tables,
                                    const kiln_scalar *scalars, int rank, const int64_t *sizes, const bool *reduced);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that stand for tensors on the command line: f16[*,1024], f32[], a.npy:bf16; and scalars and axes. */
#ifndef KILN_TOOL_TENSOR_SPEC_H
#define KILN_TOOL_TENSOR_SPEC_H

#include "base/status.h"

/* All return KILN_E_ARGUMENT with a sentence where the text is not what it should be. */

/* "f16[*,1024]": a contiguous view without data; sizes[0] is -1 for '*'. "f16[8,64]{128,1}@4" has strides of its own
 * and is aligned to 4 bytes alone (to 16 where there is no '@'). */
kiln_status tensor_spec_parse(const char *text, kiln_tensor *out);
/* The same, and any size may be '*' or "1..8192": open_shapes.h, column_range.h. */
kiln_status tensor_spec_parse_open(const char *text, kiln_tensor *out);
kiln_status tensor_spec_type(const char *text, kiln_type *out);

/* "a.npy:bf16": shortens file to the path; *typed tells whether a type followed. What follows the last ':' is a part of
 * the path where it holds a '.' or a '/'. */
kiln_status tensor_spec_file(char *file, kiln_type *type, int *typed);

/* "1e-5", "3", "2:f64". With types: "f64", "i64" or "i32" alone are accepted, for where no value is needed. */
kiln_status tensor_spec_scalar(const char *text, int types, kiln_scalar *out);

/* "-1", "0,2", "all". axes has room for KILN_MAX_RANK. */
kiln_status tensor_spec_axes(const char *text, int *axes, size_t *count, int *all);

/* "sm_90", "90": 90 and no PTX; "compute_90": 90 and PTX. */
kiln_status tensor_spec_arch(const char *text, int *arch, int *ptx);

#define TENSOR_SPEC_SIZE 192
/* "f16[*,1024]" again. */
void tensor_spec_format(const kiln_tensor *tensor, char text[TENSOR_SPEC_SIZE]);

/* Makes strides those of a row-major contiguous tensor; a size of -1 may come first. KILN_E_SIZE where the sizes do not
 * fit 64 bits. */
kiln_status tensor_spec_contiguous(kiln_tensor *tensor);

#endif

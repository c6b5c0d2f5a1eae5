/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of blocks, axes of the text and values of all rows: what fuzz_case_draw_any draws besides. */
#ifndef KILN_TESTS_FUZZ_AXES_H
#define KILN_TESTS_FUZZ_AXES_H

#include "fuzz_draw.h"

/* Program, text, axes and extents. */
void fuzz_axes_draw(fuzz_random *structure, fuzz_random *instance, fuzz_case *c);

/* An input of the space's shape, if it is read by repeat(), gets a value for several columns. */
void fuzz_axes_shrink(const fuzz_case *c, int input, kiln_tensor *tensor);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How far a kernel's result may be from the CPU reference. */
#ifndef KILN_TESTS_GPU_COMPARE_H
#define KILN_TESTS_GPU_COMPARE_H

#include "kiln/kiln.h"

/* The distance of a stored result from the reference, in the units of gpu_limit: units in the last place for f16, bf16
 * and fp8, for f32 and f64 the error over `largest`, the largest magnitude of the row; 0 or infinite for integers. */
double gpu_distance(kiln_type type, const void *got, double reference, double largest);

/* The largest distance that is right. fp8 has so few values that one computed next to a tie may go either way. */
double gpu_limit(kiln_type type);

#endif

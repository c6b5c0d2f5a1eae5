/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that row programs and the program around them both read and write, for the examples: managed memory of the GPU
 * where the example is built with the CUDA runtime (WITH_CUDA) and a GPU is there, else host memory and Kiln's CPU
 * reference. An application that has device memory already needs none of this: runtime_api.cpp shows that. */
#ifndef KILN_EXAMPLES_ARRAYS_H
#define KILN_EXAMPLES_ARRAYS_H

#include <kiln/kiln.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether arrays are on a GPU. The answer never changes while the program runs. */
bool arrays_on_gpu(void);

/* Zeroed memory, NULL where there is none left. Ownership: the caller passes it to array_destroy, which takes NULL. */
void *array_create(size_t bytes);
void array_destroy(void *array);

/* Runs the program on arrays and returns when the results are there. The status of Kiln's call, or KILN_E_LAUNCH where
 * the GPU reports that a kernel failed. */
kiln_status arrays_run(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                       const kiln_scalar_binding *scalars, size_t scalar_count);

/* Prints what Kiln says of the calling thread's last call. Returns 1, for `return report(...)` in main. */
int report(const char *what, kiln_status status);

#endif

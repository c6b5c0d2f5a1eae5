/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the core share: programs bound to tensors that are written as text, without memory behind them. */
#ifndef KILN_TESTS_BOUND_H
#define KILN_TESTS_BOUND_H

#include "runtime/context.h"

typedef struct bound {
    kiln_context *context;
    kiln_program *program;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    size_t tensor_count;
    kiln_scalar scalars[KILN_MAX_SCALARS];
    size_t scalar_count;
} bound;

/* Tensors as words: "f16[4,*]", "f32[2,3]{1,2}" with strides, "f32[8]@4" at an address that is a multiple of 4 bytes
 * and of no larger power of two; without @ the address is NULL. "*" is -1. Returns how many. Fails the test on other
 * text. */
size_t bound_tensors(const char *text, kiln_tensor tensors[KILN_MAX_TENSORS]);

/* axes: NULL for the default, "all", "" for none, else numbers: "-2,-1". scalars: names, each bound to 1.0, or NULL.
 * Returns the program's status; the context (no cache, no log) is there in any case. */
kiln_status bound_create(bound *b, const char *text, const char *axes, const char *scalars, const char *tensors);
/* The same with the outputs named: "m,y". */
kiln_status bound_create_outputs(bound *b, const char *text, const char *outputs, const char *axes, const char *scalars,
                                 const char *tensors);
void bound_destroy(bound *b);

/* All stages up to the source, for an architecture's typical device. */
kiln_status bound_prepare(const bound *b, int arch, kiln__prepared *out);

/* A program, its axes and tensors as for bound_create, and what bound_prepare comes to. */
typedef struct bound_refusal {
    const char *program, *axes, *tensors;
    kiln_status status;
    const char *sentence;
} bound_refusal;

/* Fails the test unless each is refused with that status and sentence, and has no source. */
void bound_expect_refusals(const bound_refusal *refusals, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose tensors have fixed types, and random shapes, strides and alignments of each. */
#ifndef KILN_TESTS_ANY_SHAPES_H
#define KILN_TESTS_ANY_SHAPES_H

#include "fuzz_draw.h"

#define ANY_SHAPES_TENSORS 6
#define ANY_SHAPES_PROGRAMS 23

typedef struct any_shapes_program {
    const char *text, *outputs;          /* NULL: the program's own order */
    const char *axes;                    /* "0", "0,-1", "all"; NULL: the last one */
    kiln_type types[ANY_SHAPES_TENSORS]; /* of inputs, then of outputs */
    double tolerance;                    /* of results beside numbers of their size, and 1 */
} any_shapes_program;

extern const any_shapes_program any_shapes_programs[ANY_SHAPES_PROGRAMS];

/* The program in a context. */
kiln_status any_shapes_create(kiln_context *context, const any_shapes_program *program, kiln_program **out);

/* Tensors with `most` elements in the space, or a few more; their data pointers are what they are aligned like, and no
 * memory. Each lies in [low, high) elements of its data pointer. */
typedef struct any_shapes_case {
    kiln_tensor tensors[ANY_SHAPES_TENSORS];
    int64_t low[ANY_SHAPES_TENSORS], high[ANY_SHAPES_TENSORS];
    size_t count, inputs;
} any_shapes_case;

kiln_status any_shapes_draw(const any_shapes_program *of, const kiln_program *program, uint64_t seed, int64_t most,
                            any_shapes_case *out);

#endif
